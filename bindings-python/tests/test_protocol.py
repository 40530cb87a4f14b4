"""asyncio's transports that write straight into a collector."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import brimful
import pytest
import uvloop
from support import fills, paint

BODY = paint(2_000_000)
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def run(coroutine: Any, loop: str = "asyncio") -> Any:
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(coroutine)


@contextlib.asynccontextmanager
async def serving(body: bytes, close: bool = True, tls: Any = None) -> AsyncIterator[int]:
    """The port of a server that sends the body to each client."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(body)
            await writer.drain()
            if close:
                writer.close()
            else:
                await reader.read()
                writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def connect(port: int, protocol: brimful.BufferedProtocol, **options: Any) -> asyncio.BaseTransport:
    transport, _ = await asyncio.get_running_loop().create_connection(lambda: protocol, "127.0.0.1", port, **options)
    return transport


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("result", ["bytes", "pooled"])
@pytest.mark.parametrize("length", [None, len(BODY)])
def test_a_connection_is_read_whole_and_nothing_is_copied(loop: str, result: Any, length: int | None) -> None:
    """H42: asyncio keeps the view of get_buffer beyond its call, uvloop also beyond that of buffer_updated."""

    async def main() -> None:
        async with serving(BODY) as port:
            protocol = brimful.BufferedProtocol(result=result, length=length)
            transport = await connect(port, protocol)
            body = await protocol.wait()
            assert bytes(body) == BODY
            assert await protocol.wait() is body
            assert protocol.surplus == 0
            if length:
                assert protocol.collector.info().copied == 0
            elif result == "pooled":
                assert protocol.collector.info().copied <= 1 << 20  # small blocks that the body outgrew
            transport.close()

    run(main(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_what_comes_after_the_length_is_surplus_and_goes_nowhere(loop: str) -> None:
    async def main() -> None:
        async with serving(BODY + bytes(100_000)) as port:
            protocol = brimful.BufferedProtocol(length=len(BODY))
            transport = await connect(port, protocol)
            assert await protocol.wait() == BODY
            while protocol.surplus < 100_000:
                await asyncio.sleep(0.001)
            assert protocol.surplus == 100_000
            transport.close()

    run(main(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_body_above_its_limit_fails_and_no_more_is_read(loop: str) -> None:
    async def main() -> None:
        async with serving(BODY * 20, close=False) as port:
            protocol = brimful.BufferedProtocol(result="pooled", limit=100_000)
            transport = await connect(port, protocol)
            with pytest.raises(brimful.LimitError):
                await protocol.wait()
            assert bytes(protocol.collector.take_partial()) == BODY[:100_000]
            await asyncio.sleep(0.02)
            assert protocol.surplus <= 65_536
            with pytest.raises(brimful.LimitError):
                await protocol.wait()
            transport.close()

    run(main(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_peer_that_ends_before_the_length_is_short(loop: str) -> None:
    async def main() -> None:
        async with serving(BODY) as port:
            protocol = brimful.BufferedProtocol(length=len(BODY) + 1)
            transport = await connect(port, protocol)
            with pytest.raises(brimful.ShortError) as caught:
                await protocol.wait()
            assert caught.value.received == len(BODY)
            assert bytes(protocol.collector.take_partial()) == BODY
            transport.close()

    run(main(), loop)


def test_get_buffer_may_be_called_twice_and_gives_the_same_window() -> None:
    protocol = brimful.BufferedProtocol()
    first = protocol.get_buffer(-1)
    assert protocol.get_buffer(1000) is first
    first[:3] = b"abc"
    protocol.buffer_updated(3)
    with pytest.raises(ValueError, match="released"):
        first[0] = 1
    protocol.get_buffer(-1)  # as asyncio does before it finds the end
    protocol.eof_received()
    assert run(protocol.wait()) == b"abc"
    assert len(protocol.get_buffer(-1)) > 0
    protocol.buffer_updated(7)
    assert protocol.surplus == 7


def test_a_view_kept_of_its_window_changes_nothing() -> None:
    async def main() -> None:
        fill, kept = fills(BODY, 70_000), []
        protocol = brimful.BufferedProtocol(result="pooled", length=len(BODY))
        while not protocol.collector.complete:
            window = protocol.get_buffer(-1)
            kept.append(window[:])
            protocol.buffer_updated(fill(window))
            await asyncio.sleep(0)  # after which nobody may still look at it
            for view in kept:
                view[:] = b"\xee" * len(view)
        body = await protocol.wait()
        with brimful.collect_pooled(fills(BODY)) as other:
            for view in kept:
                view[:] = b"\xdd" * len(view)
            assert bytes(other) == BODY
        assert bytes(body) == BODY

    run(main())


def test_the_transports_error_and_a_close_before_the_end_come_out_and_what_came_stays() -> None:
    async def main() -> None:
        mine = ConnectionResetError("mine")
        for error, expected in ((mine, ConnectionResetError), (None, ConnectionAbortedError)):
            protocol = brimful.BufferedProtocol()
            waits = asyncio.create_task(protocol.wait())
            await asyncio.sleep(0)
            window = protocol.get_buffer(-1)
            window[:3] = b"abc"
            protocol.buffer_updated(3)
            protocol.get_buffer(-1)
            protocol.connection_lost(error)
            with pytest.raises(expected):
                await waits
            assert bytes(protocol.collector.take_partial()) == b"abc"

    run(main())


def test_a_wait_that_is_cancelled_loses_nothing() -> None:
    async def main() -> None:
        async with serving(BODY[:1000], close=False) as port:
            protocol = brimful.BufferedProtocol(length=1000)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(protocol.wait(), 0.01)
            transport = await connect(port, protocol)
            assert await protocol.wait() == BODY[:1000]
            transport.close()

    run(main())


def test_a_collector_of_the_callers_is_used_and_cannot_have_other_options() -> None:
    collector = brimful.Collector("pooled", length=0)
    protocol = brimful.BufferedProtocol(collector)
    protocol.connection_made(asyncio.Transport())
    assert len(run(protocol.wait())) == 0
    with pytest.raises(TypeError, match="own options"):
        brimful.BufferedProtocol(collector, limit=3)
    assert isinstance(protocol, asyncio.BufferedProtocol)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_with_tls_is_read_whole(loop: str, tmp_path: Path) -> None:
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        + ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate")],
        capture_output=True,
        check=False,
    ) if _has_openssl() else None
    if made is None or made.returncode != 0:
        pytest.skip("openssl is not installed, which makes the certificate")
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    client = ssl.create_default_context(cafile=str(tmp_path / "certificate"))
    client.check_hostname = False

    async def main() -> None:
        async with serving(BODY, tls=server) as port:
            protocol = brimful.BufferedProtocol(result="pooled")
            transport = await connect(port, protocol, ssl=client)
            assert bytes(await protocol.wait()) == BODY
            transport.close()

    run(main(), loop)


def _has_openssl() -> bool:
    import shutil

    return shutil.which("openssl") is not None


def test_a_socketpair_in_pieces_is_read_whole() -> None:
    async def main() -> None:
        near, far = socket.socketpair()
        protocol = brimful.BufferedProtocol()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: protocol, sock=near)
        for at in range(0, 10_000, 7):
            far.send(BODY[at : min(at + 7, 10_000)])
            if at % 70 == 0:
                await asyncio.sleep(0)
        far.close()
        assert await protocol.wait() == BODY[:10_000]
        transport.close()

    run(main())


@pytest.mark.parametrize("then", ["packet", "end"])
def test_a_body_that_is_cancelled_ends_with_what_came(then: str) -> None:
    async def main() -> None:
        protocol = brimful.BufferedProtocol()
        protocol.get_buffer(-1)[:3] = b"abc"
        protocol.buffer_updated(3)
        protocol.collector.cancel()
        if then == "packet":
            protocol.get_buffer(-1)[:3] = b"def"
            protocol.buffer_updated(3)
        else:
            protocol.eof_received()
        with pytest.raises(brimful.Cancelled):
            await asyncio.wait_for(protocol.wait(), 5)
        assert bytes(protocol.collector.take_partial()) == (b"abcdef" if then == "packet" else b"abc")

    run(main())


@pytest.mark.parametrize("result", ["bytes", "pooled"])
def test_a_kind_of_result_beside_a_collector_is_refused(result: Any) -> None:
    with pytest.raises(TypeError, match="kind of result"):
        brimful.BufferedProtocol(brimful.Collector("pooled"), result)


def test_every_callback_of_the_protocol_says_what_it_does() -> None:
    for name in ("connection_made", "get_buffer", "buffer_updated", "eof_received", "connection_lost"):
        assert vars(brimful.BufferedProtocol)[name].__doc__
