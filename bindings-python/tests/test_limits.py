"""Limits and lengths hold on every way that bytes can come."""

from __future__ import annotations

import io
from typing import Any

import brimful
import pytest
from support import Reads, ReadsInto, chunks, fills, paint

N = 70_001
WAYS = {
    "bytes": lambda body: body,
    "BytesIO": io.BytesIO,
    "readinto": lambda body: ReadsInto(body, 999),
    "read": lambda body: Reads(body, 999),
    "callable": fills,
    "callable in pieces": lambda body: fills(body, 999),
    "generator": lambda body: chunks(body, 999),
    "one chunk": lambda body: [body],
}
COLLECTS = {
    "bytes": lambda source, **options: brimful.collect(source, **options),
    "pooled": lambda source, **options: brimful.collect_pooled(source, **options).tobytes(),
    "list": lambda source, **options: brimful.collect_pooled(source, pool=brimful.Pool(memory="list"), **options).tobytes(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("collect", COLLECTS)
@pytest.mark.parametrize("limit", [0, N - 1, N, N + 1])
def test_a_limit_allows_just_so_many_bytes(way: str, collect: str, limit: int) -> None:
    body = paint(N)
    if limit >= N:
        assert COLLECTS[collect](WAYS[way](body), limit=limit) == body
        return
    with pytest.raises(brimful.LimitError) as caught:
        COLLECTS[collect](WAYS[way](body), limit=limit)
    assert caught.value.limit == limit
    assert caught.value.partial.tobytes() == body[:limit]
    assert COLLECTS[collect](WAYS[way](body), limit=limit, truncate=True) == body[:limit]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("collect", COLLECTS)
@pytest.mark.parametrize("end", ["length", "eof"])
@pytest.mark.parametrize("length", [0, 1, N - 1, N, N + 1, 2 * N])
def test_a_length_is_enforced(way: str, collect: str, end: Any, length: int) -> None:
    body = paint(N)
    pushed_too_long = way == "one chunk" and length not in (0, N) and length < N  # what is delivered counts
    if length > N:
        with pytest.raises(brimful.ShortError) as short:
            COLLECTS[collect](WAYS[way](body), length=length, end=end)
        assert short.value.partial.tobytes() == body
    elif end == "length" and way not in ("bytes", "one chunk", "generator"):
        assert COLLECTS[collect](WAYS[way](body), length=length, end=end) == body[:length]
    elif length == N or (end == "length" and length == 0):
        assert COLLECTS[collect](WAYS[way](body), length=length, end=end) == body[:length]
    elif end == "eof" or pushed_too_long:
        with pytest.raises(brimful.LongError) as long:
            COLLECTS[collect](WAYS[way](body), length=length, end=end)
        assert long.value.partial.tobytes() == body[:length]


@pytest.mark.parametrize("way", WAYS)
def test_a_length_above_the_limit_is_refused_before_the_source_is_asked(way: str) -> None:
    source = WAYS[way](paint(N))
    for truncate in (False, True):
        with pytest.raises(brimful.LimitError) as caught:
            brimful.collect(source, length=11, limit=10, truncate=truncate)
        assert caught.value.received == 0
    if way != "bytes":
        assert brimful.collect(source) == paint(N)  # nothing of it is gone


def test_a_pool_has_a_limit_for_bodies_that_name_none() -> None:
    pool = brimful.Pool(limit=5)
    assert brimful.collect(b"12345", pool=pool) == b"12345"
    for source in (b"123456", [b"123456"], iter([b"123", b"456"]), fills(b"123456")):
        with pytest.raises(brimful.LimitError) as caught:
            brimful.collect(source, pool=pool)
        assert caught.value.limit == 5
    assert brimful.collect(fills(b"123456"), pool=pool, limit=6) == b"123456"


def test_truncation_is_told() -> None:
    for size, truncated in ((10, False), (11, True)):
        body = brimful.collect_pooled(fills(bytes(size)), limit=10, truncate=True)
        assert (len(body), body.truncated, body.info().truncated) == (10, truncated, truncated)
    collector = brimful.Collector(limit=10, truncate=True)
    assert collector.write(bytes(11)) == 11
    assert collector.complete
    assert collector.write(b"later pushes are accepted") == 25
    assert collector.finish() == bytes(10)
    assert collector.info().truncated


def test_zero_is_a_limit_and_a_length() -> None:
    assert brimful.collect(b"", limit=0) == b""
    assert brimful.collect(lambda window: 0, limit=0) == b""
    assert brimful.collect(lambda window: 1 / 0, length=0) == b""


def test_a_limit_and_a_length_may_be_anything_with_an_index() -> None:
    class Five:
        def __index__(self) -> int:
            return 5

    assert brimful.collect(fills(b"12345"), length=Five(), limit=Five()) == b"12345"
