"""Checked by mypy --strict: what type checkers make of programs that use brimful."""

from __future__ import annotations

import asyncio
import io
import socket
import urllib.request
from collections.abc import AsyncIterator, Iterator
from typing import assert_type

import aiohttp
import brimful
import httpx
import requests
import starlette.requests


def chunks() -> Iterator[bytes | None]:
    yield b"abc"
    yield None


def fill(window: memoryview) -> int | None:
    window[:1] = b"x"
    return None


assert_type(brimful.collect(b"abc"), bytes)
assert_type(brimful.collect(io.BytesIO(b"abc"), length=3, end="eof"), bytes)
assert_type(brimful.collect(fill, limit=1 << 20, truncate=True), bytes)
assert_type(brimful.collect(chunks(), pool=brimful.Pool(max_retained=1 << 20, memory="list")), bytes)
with open(__file__, "rb") as file:
    brimful.collect(file)
with urllib.request.urlopen("http://127.0.0.1/") as response:
    brimful.collect(response)

with brimful.collect_pooled([b"abc", bytearray(b"def")]) as body:
    assert_type(body, brimful.PooledBuffer)
    assert_type(memoryview(body)[0], int)
    assert_type(body.segments(), tuple[memoryview, ...])
    assert_type(len(body), int)
    assert_type(body.info().copied, int)

collector = brimful.Collector("pooled", length=3)
assert_type(collector.read(chunks()), bool)
assert_type(collector.write(b"abc"), int)
collector.commit(len(collector.reserve(100)))
assert_type(collector.take_partial(), brimful.PooledBuffer)
collector.reset(limit=3, end="length")
try:
    brimful.collect(fill)
except brimful.WouldBlock as pending:
    assert_type(pending.collector, brimful.Collector | None)
except brimful.LimitError as error:
    assert_type(error.limit, int | None)
    assert_type(error.partial, brimful.PooledBuffer | bytes | None)

brimful.collect("text")  # type: ignore[arg-type]
brimful.collect(b"", end="never")  # type: ignore[arg-type]
collector.reset(pool=None)  # type: ignore[call-arg]


async def fill_async(window: memoryview) -> int | None:
    return None


async def chunks_async() -> AsyncIterator[bytes]:
    yield b"abc"


def progress(received: int, expected: int | None) -> None: ...

def loads(document: str | memoryview | bytes) -> dict[str, int]:
    return {}


async def asynchronous(reader: asyncio.StreamReader, request: starlette.requests.Request) -> None:
    assert_type(await brimful.collect_async(reader, limit=1 << 20), bytes)
    assert_type(await brimful.collect_async(fill_async, on_progress=progress), bytes)
    assert_type(await brimful.collect_pooled_async(chunks_async(), pool=brimful.Pool(budget=1 << 30)), brimful.PooledBuffer)
    assert_type(await brimful.collect_into_async(request, bytearray(10)), int)
    assert_type(await brimful.Collector().read_async(chunks_async()), bool)
    assert_type(await brimful.collect_text_async(reader, encoding="utf-8", errors="replace", limit=1 << 20), str)
    assert_type(await brimful.collect_json_async(reader, loads=loads), dict[str, int])
    async with aiohttp.ClientSession() as session, session.get("http://127.0.0.1/") as response:
        assert_type(await brimful.collect_async(response), bytes)
    async with httpx.AsyncClient() as client, client.stream("GET", "http://127.0.0.1/") as answer:
        assert_type(await brimful.collect_async(answer), bytes)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(lambda: brimful.BufferedProtocol(length=3), "127.0.0.1", 80)
    assert_type(protocol, brimful.BufferedProtocol)
    await protocol.wait()
    assert_type(protocol.surplus, int)


assert_type(brimful.collect_into(b"abc", bytearray(3), length=3), int)
assert_type(brimful.collect_fd(0, limit=3), bytes)
with brimful.collect_fd_pooled(open(__file__)) as read:
    assert_type(read[1], int)
    assert_type(read[1:2], brimful.PooledBuffer)
    assert_type(read.text("utf-8"), str)
    assert_type(read.json(loads), dict[str, int])

assert_type(brimful.collect_text(b"abc", errors="ignore", length=3), str)
assert_type(brimful.collect_json(b"{}", loads=loads), dict[str, int])
assert_type(brimful.charset("text/plain; charset=utf-8"), str | None)
brimful.collect_text(b"abc", encoding=5)  # type: ignore[arg-type]
brimful.collect(socket.socket(), on_progress=progress)
brimful.collect(requests.get("http://127.0.0.1/", stream=True))
brimful.collect(httpx.get("http://127.0.0.1/"))
brimful.collect_into(b"abc", "text")  # type: ignore[arg-type]
brimful.collect_fd("0")  # type: ignore[arg-type]
brimful.nothing  # type: ignore[attr-defined]
