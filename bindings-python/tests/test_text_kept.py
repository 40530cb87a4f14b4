"""Text of an iterator's chunks, which are kept as they are until its end: outcomes are those of chunks that are not."""

import gc
import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

import brimful
import pytest

WORDS = ["a line of text; ", "déjà vu, ", "日本語文字 ", "a😀€é ", "ÿ\x80 "]


def text_of(length: int) -> str:
    """Position-dependent, with characters of every length."""
    parts = (f"{index} {WORDS[index * 7 % len(WORDS)]}" for index in itertools.count())
    text = ""
    for part in parts:
        text += part
        if len(text) >= length:
            return text[:length]
    raise AssertionError


def cut(data: bytes, each: int) -> list[bytes]:
    return [data[at : at + each] for at in range(0, len(data), each)]


class Counted:
    """An iterator that says how often it was asked."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks, self.asked = iter(chunks), 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.asked += 1
        return next(self.chunks)


@pytest.mark.parametrize("each", [1, 2, 3, 15, 100, 1023, 1024, 5000, 70_000, 1_200_000])
@pytest.mark.parametrize("length", [0, 1, 2, 63, 64, 65, 1000, 40_000])
def test_chunks_of_any_size_in_any_number_make_the_text(length: int, each: int) -> None:
    text = text_of(length)
    for whole in (text, text.encode("ascii", "replace").decode(), text.encode("latin-1", "replace").decode("latin-1")):
        data = whole.encode()
        assert brimful.collect_text(chunk for chunk in cut(data, each)) == whole
        assert brimful.collect_text(cut(data, each)) == whole
        assert brimful.collect_text(tuple(cut(data, each))) == whole
        assert brimful.collect_text(iter(cut(data, each)), limit=len(data)) == whole


@pytest.mark.parametrize("at", [0, 1, 15, 16_383, 16_384, 65_535, 65_536, 99_998])
@pytest.mark.parametrize("character", ["é", "€", "😀"])
def test_one_character_that_is_not_ascii_is_found_wherever_it_is(at: int, character: str) -> None:
    ascii_text = "".join(str(index) for index in range(30_000))[:100_000]
    text = ascii_text[:at] + character + ascii_text[at:]
    for each in (len(text) + 9, 65_536, 16_384, 999):
        assert brimful.collect_text(cut(text.encode(), each)) == text
        assert brimful.collect_text(iter(cut(text.encode(), each))) == text
    fault = ascii_text.encode()[:at] + b"\xff" + ascii_text.encode()[at:]
    for each in (len(fault), 65_536, 999):
        with pytest.raises(brimful.EncodingError) as caught:
            brimful.collect_text(iter(cut(fault, each)))
        assert caught.value.offset == at
        assert bytes(caught.value.partial or b"") == fault
        assert caught.value.received == len(fault)


@pytest.mark.parametrize(
    "other", [bytearray(b"x\xc3\xa9"), memoryview(b"x\xc3\xa9"), b"", type("Sub", (bytes,), {})(b"x\xc3\xa9")], ids=type
)
@pytest.mark.parametrize("before", [0, 1, 2, 20])
def test_what_is_no_plain_chunk_takes_its_place_among_those_that_are(before: int, other: Any) -> None:
    head, tail = [f"{index}: é ".encode() * 99 for index in range(before)], [b"behind it", "€".encode()]
    assert brimful.collect_text(iter([*head, other, *tail])) == b"".join([*head, bytes(other), *tail]).decode()


@pytest.mark.parametrize("before", [0, 1, 2, 20])
def test_a_source_that_has_nothing_yet_goes_on_with_all_it_gave_before(before: int) -> None:
    head = [f"{index}: é ".encode() * 99 for index in range(before)]
    source = iter([*head, None, b"rest", None, b"end"])
    with pytest.raises(brimful.WouldBlock) as caught:
        brimful.collect_text(source)
    collector = caught.value.collector
    assert caught.value.received == sum(map(len, head))
    with pytest.raises(brimful.WouldBlock):
        brimful.collect_text(source, collector=collector)
    assert brimful.collect_text(source, collector=collector) == b"".join(head).decode() + "restend"


def test_what_is_no_chunk_and_what_a_source_raises_come_out() -> None:
    with pytest.raises(TypeError, match="not str"):
        brimful.collect_text(iter([b"abc" * 500, "str"]))  # type: ignore[arg-type]
    for raised in (KeyError("mine"), KeyboardInterrupt()):

        def broken(raised: BaseException = raised) -> Iterator[bytes]:
            yield b"abc" * 500
            yield b"def" * 500
            raise raised

        with pytest.raises(type(raised)) as came:
            brimful.collect_text(broken())
        assert came.value is raised


@pytest.mark.parametrize("where", ["options", "pool"])
def test_beyond_the_limit_the_source_is_not_asked_again_and_what_came_is_kept(where: str) -> None:
    chunks = [bytes([65 + index]) * 2000 for index in range(9)]
    keywords: Any = {"limit": 5000} if where == "options" else {"pool": brimful.Pool(limit=5000)}
    source = Counted(chunks)
    with pytest.raises(brimful.LimitError) as caught:
        brimful.collect_text(source, **keywords)
    assert source.asked == 3
    assert bytes(caught.value.partial or b"") == b"".join(chunks)[:5000]
    source = Counted(chunks)
    assert brimful.collect_text(source, truncate=True, **keywords) == b"".join(chunks)[:5000].decode()
    assert source.asked == 3
    source = Counted(chunks[:2])
    assert brimful.collect_text(source, **keywords) == b"".join(chunks[:2]).decode()
    assert source.asked == 3


def test_a_pool_with_a_budget_has_what_an_iterator_gives_in_its_own_memory() -> None:
    with pytest.raises(brimful.BudgetError):
        brimful.collect_text((b"x" * 100_000 for _ in range(100)), pool=brimful.Pool(budget=1 << 20))


def test_small_chunks_are_not_kept_one_by_one() -> None:
    small = [b"%03d" % (index % 1000) for index in range(300_000)]
    most = 0

    def given() -> Iterator[bytes]:
        nonlocal most
        for index, chunk in enumerate(small):
            yield chunk[:2] + chunk[2:]  # an object of its own
            if index == len(small) - 1:
                most = sys.getallocatedblocks()

    gc.collect()
    before = sys.getallocatedblocks()
    assert brimful.collect_text(given()) == b"".join(small).decode()
    assert most - before < 10_000


def test_nothing_that_was_kept_stays_behind() -> None:
    chunk = b"position " * 1000
    held = sys.getrefcount(chunk)
    source: Any
    for source in ([chunk, chunk], iter([chunk, chunk]), iter([chunk, b"\xff"]), iter([chunk, 5]), iter([chunk, None])):
        try:
            brimful.collect_text(source)
        except (brimful.Error, TypeError):
            pass
    del source
    gc.collect()
    assert sys.getrefcount(chunk) == held


def test_json_of_kept_chunks_is_the_same() -> None:
    value = {"text": text_of(50_000), "numbers": list(range(5000))}
    data = json.dumps(value, ensure_ascii=False).encode()
    assert brimful.collect_json(iter(cut(data, 10_001))) == value
    assert brimful.collect_json(cut(data, 10_001)) == value
