"""Every kind of source there is, and every way of collecting one, for tests of what all of them have in common."""

from __future__ import annotations

import array
import asyncio
import contextlib
import http.client
import io
import os
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import brimful
import httpx
import requests
from starlette.requests import Request
from support import Reads, ReadsInto, chunks, fills

CHUNK = 30_000


@dataclass
class Outcome:
    """What a collecting call came to: its status, and the bytes that were collected or can be taken."""

    status: str
    body: bytes


class Owner:
    """Has what a source needs while it is read, and lets it go afterwards."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.stack = contextlib.ExitStack()
        self.later: list[Callable[[], Any]] = []

    def hold(self, thing: Any) -> Any:
        return self.stack.enter_context(thing)

    def pair(self, body: bytes) -> socket.socket:
        """A socket that the body comes from."""
        near, far = socket.socketpair()

        def send() -> None:
            with far, contextlib.suppress(OSError):  # a reader that has had enough
                far.sendall(body)

        thread = threading.Thread(target=send)
        thread.start()
        self.stack.callback(thread.join)
        return self.hold(near)

    def file(self, body: bytes, buffering: int) -> Any:
        file = self.hold(tempfile.TemporaryFile(buffering=0))
        file.write(body)
        file.seek(0)
        return self.hold(open(os.dup(file.fileno()), "rb", buffering=buffering))

    def http(self, body: bytes, mode: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.server)
        self.stack.callback(connection.close)
        connection.request("GET", f"/{mode}/{len(body)}")
        return connection.getresponse()


# ---- sources: each is made of an Owner and a body

SOURCES: dict[str, Callable[[Owner, bytes], Any]] = {
    "bytes": lambda owner, body: body,
    "memoryview": lambda owner, body: memoryview(body),
    "array": lambda owner, body: array.array("B", body),
    "list": lambda owner, body: list(chunks(body, CHUNK)),
    "generator": lambda owner, body: chunks(body, CHUNK),
    "BytesIO": lambda owner, body: io.BytesIO(body),
    "FileIO": lambda owner, body: owner.file(body, 0),
    "BufferedReader": lambda owner, body: owner.file(body, -1),
    "socket": lambda owner, body: owner.pair(body),
    "recv_into": lambda owner, body: Receives(owner.pair(body)),
    "makefile": lambda owner, body: owner.hold(owner.pair(body).makefile("rb")),
    "callable": lambda owner, body: fills(body, CHUNK),
    "readinto": lambda owner, body: ReadsInto(body, CHUNK),
    "read": lambda owner, body: Reads(body, CHUNK),
    "http.client chunked": lambda owner, body: owner.http(body, "chunked"),
    "http.client until the close": lambda owner, body: owner.http(body, "close"),
    "requests": lambda owner, body: owner.hold(
        requests.get(f"http://{owner.server}/chunked/{len(body)}", stream=True)
    ),
    "httpx": lambda owner, body: owner.hold(
        httpx.stream("GET", f"http://{owner.server}/chunked/{len(body)}", verify=False)
    ),
}


class Receives:
    """Only recv_into(), as a Python class."""

    def __init__(self, near: socket.socket) -> None:
        self.recv_into = near.recv_into


# ---- sources that are awaited


def fills_async(body: bytes, each: int) -> Any:
    fill = fills(body, each)

    async def source(window: memoryview) -> int:
        await asyncio.sleep(0)
        return fill(window)

    return source


class ReadsIntoAsync:
    def __init__(self, body: bytes, each: int) -> None:
        self.readinto = fills_async(body, each)


class ReadsAsync:
    def __init__(self, body: bytes, each: int) -> None:
        self.reads = Reads(body, each)

    async def read(self, size: int) -> bytes:
        await asyncio.sleep(0)
        return self.reads.read(size)


async def chunks_async(body: bytes, each: int) -> AsyncIterator[bytes]:
    for chunk in chunks(body, each):
        await asyncio.sleep(0)
        yield chunk


class IteratesAsync:
    """An asynchronous iterator that is no generator."""

    def __init__(self, body: bytes, each: int) -> None:
        self.chunks = chunks(body, each)

    def __aiter__(self) -> IteratesAsync:
        return self

    async def __anext__(self) -> bytes:
        await asyncio.sleep(0)
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration


def stream_reader(body: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(body)
    reader.feed_eof()
    return reader


def request(body: bytes, headers: dict[str, str] | None = None) -> Request:
    """A request as Starlette gives it to an application."""
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks(body, CHUNK)]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        await asyncio.sleep(0)
        return messages.pop(0)

    raw = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": raw}, receive)


@contextlib.asynccontextmanager
async def plain(source: Any) -> AsyncIterator[Any]:
    yield source


@contextlib.asynccontextmanager
async def aiohttp_get(url: str) -> AsyncIterator[Any]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        yield response


@contextlib.asynccontextmanager
async def httpx_get(url: str) -> AsyncIterator[Any]:
    async with httpx.AsyncClient(verify=False) as client, client.stream("GET", url) as response:
        yield response


ASYNC_SOURCES: dict[str, Callable[[Owner, bytes], Any]] = {
    "async callable": lambda owner, body: plain(fills_async(body, CHUNK)),
    "async readinto": lambda owner, body: plain(ReadsIntoAsync(body, CHUNK)),
    "async read": lambda owner, body: plain(ReadsAsync(body, CHUNK)),
    "async generator": lambda owner, body: plain(chunks_async(body, CHUNK)),
    "async iterator": lambda owner, body: plain(IteratesAsync(body, CHUNK)),
    "StreamReader": lambda owner, body: plain(stream_reader(body)),
    "Starlette": lambda owner, body: plain(request(body)),
    "aiohttp": lambda owner, body: aiohttp_get(f"http://{owner.server}/chunked/{len(body)}"),
    "httpx async": lambda owner, body: httpx_get(f"http://{owner.server}/chunked/{len(body)}"),
}
for name, make in SOURCES.items():
    ASYNC_SOURCES[f"awaited {name}"] = lambda owner, body, make=make: plain(make(owner, body))


# ---- ways of collecting

UNTOUCHED = 0xEE
RESULTS = ["bytes", "pooled", "into"]


def collect(result: str, source: Any, room: int, **options: Any) -> Outcome:
    """`room`: how large the target of "into" is."""
    target = bytearray([UNTOUCHED]) * room
    try:
        if result == "bytes":
            return Outcome("ok", brimful.collect(source, **options))
        if result == "pooled":
            with brimful.collect_pooled(source, **options) as body:
                return Outcome("ok", bytes(body))
        return landed(target, brimful.collect_into(source, target, **options))
    except brimful.Error as error:
        return failed(error, target if result == "into" else None)


async def collect_async(result: str, source: Any, room: int, **options: Any) -> Outcome:
    target = bytearray([UNTOUCHED]) * room
    try:
        if result == "bytes":
            return Outcome("ok", await brimful.collect_async(source, **options))
        if result == "pooled":
            with await brimful.collect_pooled_async(source, **options) as body:
                return Outcome("ok", bytes(body))
        return landed(target, await brimful.collect_into_async(source, target, **options))
    except brimful.Error as error:
        return failed(error, target if result == "into" else None)


def landed(target: bytearray, length: int) -> Outcome:
    assert set(target[length:]) <= {UNTOUCHED}, "bytes beyond the body were touched"
    return Outcome("ok", bytes(target[:length]))


def failed(error: brimful.Error, target: bytearray | None) -> Outcome:
    partial = bytes(error.partial)  # type: ignore[arg-type]
    if target is not None:
        assert target[: len(partial)] == partial
        assert set(target[len(partial) :]) <= {UNTOUCHED}, "bytes beyond the body were touched"
    return Outcome(error.status, partial)


def lengths(size: int) -> Iterator[dict[str, int]]:
    yield {}
    for hint in (1, size, 10 * size):
        yield {"size_hint": hint}
    yield {"length": size}
