"""JSON of a whole body: by the standard library from text, by orjson and msgspec from the block itself."""

from __future__ import annotations

import asyncio
import functools
import json
import unittest.mock
from collections.abc import AsyncIterator, Callable
from typing import Any

import brimful
import msgspec
import orjson
import pytest
from support import chunks, fills

VALUE = {"name": "déjà vu €😀", "list": list(range(5000)), "nested": [{"a": None, "b": True}] * 100, "nul": "\0"}
DATA = json.dumps(VALUE, ensure_ascii=False).encode()
PARSERS: list[Any] = [
    None,
    json.loads,
    orjson.loads,
    msgspec.json.decode,
    msgspec.json.Decoder().decode,
    functools.partial(json.loads, parse_float=str),
    functools.partial(msgspec.json.decode, strict=True),
]


@pytest.mark.parametrize("loads", PARSERS)
def test_a_body_is_parsed_from_every_kind_of_source_and_result(loads: Any) -> None:
    for source in (DATA, [DATA], list(chunks(DATA, 99)), chunks(DATA, 7001), fills(DATA, 999)):
        assert brimful.collect_json(source, loads=loads) == VALUE
    pool = brimful.Pool(memory="list")
    with brimful.collect_pooled(iter([DATA]), pool=pool, first_block=4096) as body:
        assert len(body.segments()) > 1
        assert body.json(loads) == VALUE
        assert body.json() == VALUE

    async def arriving() -> AsyncIterator[bytes]:
        for chunk in chunks(DATA, 999):
            await asyncio.sleep(0)
            yield chunk

    assert asyncio.run(brimful.collect_json_async(arriving(), loads=loads)) == VALUE


def test_what_a_parser_is_given_is_a_str_or_the_block_itself() -> None:
    seen: list[Any] = []

    def own(document: Any) -> Any:
        seen.append(document)
        return json.loads(document)

    assert brimful.collect_json(fills(DATA), loads=own) == VALUE
    assert type(seen[0]) is str
    # A raw value of msgspec keeps what it was made of.
    raw = brimful.collect_json(fills(b'{"a": [1, 2, 3]}'), loads=msgspec.json.Decoder(dict[str, msgspec.Raw]).decode)
    for _ in range(20):
        brimful.collect_pooled(fills(b"x" * 1000)).release()
    assert bytes(raw["a"]) == b"[1, 2, 3]"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
def test_a_mark_says_the_encoding(encoding: str) -> None:
    text = json.dumps(VALUE, ensure_ascii=False)
    data = ("\ufeff" + text).encode(encoding) if encoding.endswith("be") else text.encode(encoding)
    assert brimful.collect_json(chunks(data, 1001)) == VALUE
    with brimful.collect_pooled(data) as body:
        assert body.json() == VALUE


@pytest.mark.parametrize(("loads", "error"), [(None, json.JSONDecodeError), (orjson.loads, orjson.JSONDecodeError), (msgspec.json.decode, msgspec.DecodeError)])
def test_what_is_no_json_is_the_parser_s_own_error(loads: Any, error: type[Exception]) -> None:
    for data in (b"", b"{", b"[1,]"):
        with pytest.raises(error):
            brimful.collect_json(data, loads=loads)
        with brimful.collect_pooled(data) as body:
            with pytest.raises(error):
                body.json(loads)
            assert body.tobytes() == data


def test_a_parser_s_exception_and_limits_come_out_and_nothing_is_asked_in_vain() -> None:
    def broken(document: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        brimful.collect_json(b"{}", loads=broken)
    with pytest.raises(brimful.LimitError):
        brimful.collect_json(chunks(DATA, 99), limit=1000)
    with pytest.raises(brimful.ShortError):
        brimful.collect_json(DATA, length=len(DATA) + 1)
    with pytest.raises(brimful.EncodingError) as caught:
        brimful.collect_json([b'"a', b'\xff"'])
    assert (caught.value.offset, caught.value.partial.tobytes()) == (2, b'"a\xff"')
    asked: Callable[[memoryview], int] = lambda window: pytest.fail("the source was asked")
    with pytest.raises(TypeError, match="loads"):
        brimful.collect_json(asked, loads="json")  # type: ignore[call-overload]

    async def awaited() -> AsyncIterator[bytes]:
        pytest.fail("the source was asked")
        yield b""

    with pytest.raises(TypeError, match="loads"):
        asyncio.run(brimful.collect_json_async(awaited(), loads="json"))  # type: ignore[call-overload]


def test_a_parser_with_attributes_of_every_name_is_just_called() -> None:
    parser = unittest.mock.Mock(return_value=5)
    assert brimful.collect_json(b"{}", loads=parser) == 5
    parser.assert_called_once_with("{}")
