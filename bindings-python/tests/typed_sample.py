"""Checked by mypy --strict: what type checkers make of programs that use brimful."""

from __future__ import annotations

import io
import urllib.request
from collections.abc import Iterator
from typing import assert_type

import brimful


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
