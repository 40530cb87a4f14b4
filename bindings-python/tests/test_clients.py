"""Real HTTP clients and servers: requests, httpx, aiohttp, Starlette under uvicorn; no import of them by brimful."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import aiohttp
import brimful
import httpx
import pytest
import requests
import uvicorn
from everything import request
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support import chunks, paint

BODY = paint(300_000)


class Compressed(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = gzip.compress(BODY)
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def compressed() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Compressed) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/"
        httpd.shutdown()


async def upload(request: Request) -> Response:
    limit = int(request.query_params["limit"])
    try:
        with await brimful.collect_pooled_async(request, limit=limit) as body:
            return JSONResponse({"length": len(body), "right": bytes(body) == BODY[: len(body)]})
    except brimful.LimitError as error:
        return JSONResponse({"received": error.received}, status_code=413)


async def streamed(request: Request) -> Response:
    with await brimful.collect_pooled_async(request.stream()) as body:
        return JSONResponse({"length": len(body)})


@pytest.fixture(scope="module")
def application() -> Iterator[str]:
    """The address of a real uvicorn with a Starlette application."""
    routes = [Route("/upload", upload, methods=["POST"]), Route("/streamed", streamed, methods=["POST"])]
    config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("mode", ["plain", "chunked", "close", "slow"])
def test_responses_of_each_client_are_read_whole(mode: str, server: str) -> None:
    url = f"http://{server}/{mode}/{len(BODY)}"
    with requests.get(url, stream=True) as response:
        assert brimful.collect(response) == BODY
    with requests.get(url) as response:  # its content was read by requests
        assert brimful.collect(response) == BODY
    with httpx.Client(verify=False) as client:
        with client.stream("GET", url) as response:
            assert brimful.collect(response) == BODY
        assert brimful.collect(client.get(url)) == BODY

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            async with session.get(url) as response:
                assert await brimful.collect_async(response) == BODY
            async with session.get(url) as response:
                collector = brimful.Collector("pooled")
                assert await collector.read_async(response)
                assert bytes(collector.finish()) == BODY
        async with httpx.AsyncClient(verify=False) as client:
            async with client.stream("GET", url) as response:
                assert await brimful.collect_async(response) == BODY
            assert await brimful.collect_async(await client.get(url)) == BODY
            assert brimful.collect(await client.get(url)) == BODY
        with httpx.stream("GET", url, verify=False) as response:  # of the synchronous client
            assert await brimful.collect_async(response) == BODY

    asyncio.run(run())


def test_a_length_that_http_announces_above_the_limit_is_refused_before_the_source_is_asked(server: str) -> None:
    url = f"http://{server}/plain/{len(BODY)}"

    def check(error: brimful.LimitError) -> None:
        assert (error.received, error.limit, len(error.partial)) == (0, 1000, 0)  # type: ignore[arg-type]

    with requests.get(url, stream=True) as response, pytest.raises(brimful.LimitError) as caught:
        brimful.collect(response, limit=1000, truncate=True)
    check(caught.value)
    with requests.get(url, stream=True) as response, pytest.raises(brimful.LimitError) as caught:
        brimful.collect(response.raw, limit=1000)
    check(caught.value)
    with httpx.stream("GET", url, verify=False) as response, pytest.raises(brimful.LimitError) as caught:
        brimful.collect(response, pool=brimful.Pool(limit=1000))
    check(caught.value)

    async def run() -> None:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            with pytest.raises(brimful.LimitError) as caught:
                await brimful.collect_async(response, limit=1000)
            check(caught.value)
        with pytest.raises(brimful.LimitError) as caught:
            await brimful.collect_async(request(BODY, {"content-length": str(len(BODY))}), limit=1000)
        check(caught.value)

    asyncio.run(run())


def test_an_announced_length_is_memory_taken_once(server: str) -> None:
    url = f"http://{server}/plain/{len(BODY)}"
    with requests.get(url, stream=True) as response:
        collector = brimful.Collector()
        assert brimful.collect(response, collector=collector) == BODY
    info = collector.info()
    assert (info.allocations, info.allocated_bytes, info.copied) == (1, len(BODY), 0)


def test_a_compressed_body_is_limited_by_what_it_decodes_to(compressed: str) -> None:
    """E18."""
    size = len(gzip.compress(BODY))
    with requests.get(compressed, stream=True) as response:
        assert brimful.collect(response, limit=len(BODY)) == BODY
    with requests.get(compressed, stream=True) as response, pytest.raises(brimful.LimitError) as caught:
        brimful.collect(response, limit=size)
    assert caught.value.partial.tobytes() == BODY[:size]  # type: ignore[union-attr]
    with httpx.stream("GET", compressed, verify=False) as response:
        assert brimful.collect(response, limit=len(BODY)) == BODY

    async def run() -> None:
        async with aiohttp.ClientSession() as session, session.get(compressed) as response:
            assert await brimful.collect_async(response, limit=len(BODY)) == BODY

    asyncio.run(run())


def test_an_answer_to_head_has_no_body_whatever_it_announces(compressed: str) -> None:
    with requests.head(compressed, stream=True) as response:
        assert brimful.collect(response, limit=10) == b""
    with httpx.stream("HEAD", compressed, verify=False) as response:
        assert brimful.collect(response, limit=10) == b""

    async def run() -> None:
        async with aiohttp.ClientSession() as session, session.head(compressed) as response:
            assert await brimful.collect_async(response, limit=10) == b""

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["cut", "cut-chunked"])
def test_a_response_that_is_cut_raises_what_its_client_raises_and_the_collector_has_what_came(
    mode: str, server: str
) -> None:
    url = f"http://{server}/{mode}/{len(BODY)}"
    collector = brimful.Collector()
    with requests.get(url, stream=True) as response, pytest.raises(requests.exceptions.ChunkedEncodingError):
        brimful.collect(response, collector=collector)
    collector.reset()
    with httpx.stream("GET", url, verify=False) as response, pytest.raises(httpx.RemoteProtocolError):
        brimful.collect(response, collector=collector)
    came = collector.take_partial().tobytes()
    assert came and BODY.startswith(came)

    async def run() -> None:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            with pytest.raises(aiohttp.ClientPayloadError):
                await brimful.collect_async(response)

    asyncio.run(run())


def test_a_synchronous_call_refuses_asynchronous_sources_and_says_what_to_call(server: str) -> None:
    async def run() -> None:
        async with aiohttp.ClientSession() as session, session.get(f"http://{server}/plain/10") as response:
            with pytest.raises(TypeError, match="collect_async"):
                brimful.collect(response)
            assert await brimful.collect_async(response) == BODY[:10]
        with pytest.raises(TypeError, match="collect_async"):
            brimful.collect_into(request(BODY), bytearray(10))

    asyncio.run(run())


@pytest.mark.parametrize("over", [1, 10_000_000])
def test_an_upload_that_is_too_large_is_answered_413_and_the_client_can_read_it(over: int, application: str) -> None:
    """H45."""
    url = f"{application}/upload?limit={len(BODY)}"
    assert requests.post(url, data=BODY).json() == {"length": len(BODY), "right": True}
    answer = requests.post(url, data=BODY + bytes(over))
    assert (answer.status_code, answer.json()) == (413, {"received": 0})  # announced, so refused at once

    def pieces() -> Iterator[bytes]:
        yield BODY
        yield from chunks(bytes(over), 100_000)

    if over == 1:  # of a long one sent in chunks, requests sees that the connection was closed
        answer = requests.post(url, data=pieces())
        assert (answer.status_code, answer.json()) == (413, {"received": len(BODY) + 1})


def test_an_upload_in_chunks_is_read_by_its_request_and_by_its_stream(application: str) -> None:
    for path in ("upload?limit=1000000", "streamed"):
        answer = requests.post(f"{application}/{path}", data=chunks(BODY, 7000))
        assert answer.json()["length"] == len(BODY)


def test_a_part_of_a_response_that_was_read_before_is_not_missed(server: str) -> None:
    with requests.get(f"http://{server}/plain/{len(BODY)}", stream=True) as response:
        head = response.raw.read(1000)
        assert head + brimful.collect(response) == BODY
    with requests.get(f"http://{server}/plain/{len(BODY)}", stream=True) as response:
        head = response.raw.read(1000)
        assert head + brimful.collect(response.raw) == BODY


def test_no_client_and_no_event_loop_is_imported_by_brimful() -> None:
    program = (
        "import sys, io, brimful; brimful.collect(io.BytesIO(b'abc')); brimful.collect([b'a', b'b'])\n"
        "print(sorted({'asyncio', 'requests', 'httpx', 'aiohttp', 'starlette', 'http.client', 'socket', 'ssl'} & set(sys.modules)))\n"
        "brimful.BufferedProtocol\n"
        "print('asyncio' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[:2] == ["[]", "True"]


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield bytes(65536)


def test_an_object_that_only_looks_like_a_client_is_read_as_what_it_looks_like() -> None:
    class Response:
        """Neither headers nor a request."""

        def iter_content(self, size: int) -> Any:
            return iter([b"abc", b"def"])

    assert brimful.collect(Response()) == b"abcdef"
    assert brimful.collect(Response(), limit=6, length=6) == b"abcdef"
