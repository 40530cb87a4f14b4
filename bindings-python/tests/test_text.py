"""Text as a user meets it: which codec a name means, error handlers, limits and lengths, where it comes from, and that it
is made without a bytes object of the whole (E16, E36, E41 to E43). The table that all languages share: test_text_cases.py."""

from __future__ import annotations

import asyncio
import codecs
import gc
import io
import pickle
import socket
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import brimful
import pytest
from support import Reads, ReadsInto, chunks, fills, resident

# Each width of Python's strings, NUL and lines of each kind among them; no length is a multiple of the others.
TEXTS = {
    "ASCII": "line\r\nby line\0\n" * 40_000,
    "Latin-1": "déjà vu\0ÿ " * 40_000,
    "two bytes": "a€日本\0é" * 40_000,
    "four bytes": "a€😀é\0" * 40_000,
}


def text_of(length: int, unit: str) -> str:
    return (unit * (length // len(unit) + 1))[:length]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_of_each_width_comes_from_every_kind_of_source(text: str) -> None:
    data = text.encode()
    left, right = socket.socketpair()
    left.settimeout(10)
    sending = threading.Thread(target=lambda: (right.sendall(data), right.close()))
    sending.start()
    sources: list[Any] = [
        data,
        bytearray(data),
        memoryview(data),
        [data],
        list(chunks(data, 1001)),
        tuple(chunks(data, 65_536)),
        chunks(data, 1001),
        io.BytesIO(data),
        ReadsInto(data, 1001),
        Reads(data, 70_001),
        fills(data, 1001),
        left,
    ]
    for source in sources:
        assert brimful.collect_text(source) == text, type(source)
    sending.join()
    for source in (fills(data, 3001), chunks(data, 3001)):
        with brimful.collect_pooled(source) as body:
            assert body.text() == text
            assert body[3:-3].text(errors="ignore") == data[3:-3].decode(errors="ignore")
    left.close()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_string_is_like_one_of_the_interpreter_s_own(text: str) -> None:
    made, own = brimful.collect_text(chunks(text.encode(), 999)), text.encode().decode()
    assert type(made) is str
    assert sys.getsizeof(made) == sys.getsizeof(own)
    assert hash(made) == hash(own)
    assert made.isascii() == own.isascii()
    assert {made: 1}[own] == 1
    assert made + "x" == own + "x"
    assert pickle.loads(pickle.dumps(made)) == own
    assert made.encode("utf-16") == own.encode("utf-16")
    assert made.upper() == own.upper()


@pytest.mark.parametrize("length", [0, 1, 2, 127, 128, 129, 4095, 4096, 4097, 16_384, 65_537, 1_000_003])
@pytest.mark.parametrize("unit", ["x", "é", "€", "😀", "xé€😀"])
def test_text_of_every_length_is_right(length: int, unit: str) -> None:
    text = text_of(length, unit)
    for encoding in ("utf-8", "utf-16-le", "UTF-16BE", "utf_32_le", "utf-32be"):
        data = text.encode(encoding)
        assert brimful.collect_text(data, encoding=encoding) == text
        assert brimful.collect_text(fills(data, 10_007), encoding=encoding) == text


def test_a_name_that_python_knows_means_python_s_codec_and_another_label_the_standard_s() -> None:
    every = bytes(range(256))
    for name in ("latin-1", "cp1252", "windows-1252", "cp437", "koi8-r", "ascii", "mac-roman", "shift_jis", "gb18030", "euc-kr"):
        data = every if name in ("latin-1", "cp437", "koi8-r", "mac-roman") else bytes(range(128))
        assert brimful.collect_text(data, encoding=name) == data.decode(name), name
        assert brimful.collect_text(every, encoding=name, errors="replace") == every.decode(name, "replace"), name
    assert brimful.collect_text(b"\x80\x85", encoding="latin-1") == "\x80\x85"
    assert brimful.collect_text(b"\xb1\xdf", encoding="x-user-defined") == "\uf7b1\uf7df"
    assert brimful.collect_text(b"\x80", encoding="x-sjis") == "\x80", "a label that Python does not know"
    assert brimful.collect_text(b"a+AOk-b", encoding="utf-7") == "aéb"
    assert brimful.collect_text(chunks(b"a+AOk-b" * 100, 3), encoding="utf-7") == "aéb" * 100


def test_a_mark_is_dropped_where_it_matches_and_overrides_nothing_that_was_given() -> None:
    assert brimful.collect_text("\ufeffa".encode()) == "a"
    assert brimful.collect_text("\ufeffa".encode("utf-16-be")) == "a"
    assert brimful.collect_text("\ufeffa".encode("utf-32-le")) == "a"
    assert brimful.collect_text("\ufeffa".encode(), encoding="utf-8") == "a"
    assert brimful.collect_text("\ufeff\ufeffa".encode(), encoding="utf-8") == "\ufeffa"
    assert brimful.collect_text("\ufeffa".encode(), encoding="utf-8-sig") == "a"
    assert brimful.collect_text("a".encode("utf-16"), encoding="utf-16") == "a"
    assert brimful.collect_text("\ufeffa".encode("utf-16-be"), encoding="utf-16") == "a"
    assert brimful.collect_text("a".encode("utf-16-le"), encoding="utf-16") == "a"
    assert brimful.collect_text("\ufeffa".encode(), encoding="latin-1") == "ï»¿a"


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore", "backslashreplace", "surrogateescape", "surrogatepass"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be", "ascii", "cp1252", "shift_jis"])
@pytest.mark.parametrize("each", [1, 3, 4096])
def test_error_handlers_do_what_they_do_in_python(encoding: str, errors: str, each: int) -> None:
    data = "aé".encode("utf-8") + b"\xff\xed\xa0\x80\x81\xf0\x9f\x98" + "é".encode("utf-8") + b"\x00\xd8ab\xe2\x82"

    def outcome(decode: Callable[[], str]) -> str | int | None:
        try:
            return decode()
        except UnicodeDecodeError as error:
            return error.start
        except brimful.EncodingError as error:
            return error.offset

    expected = outcome(lambda: data.decode(encoding, errors))
    assert outcome(lambda: brimful.collect_text(chunks(data, each), encoding=encoding, errors=errors)) == expected
    with brimful.collect_pooled(chunks(data, each)) as body:
        assert outcome(lambda: body.text(encoding, errors)) == expected
    # The same behind a block's end.
    before = 4096 - 4 * (len(data) // 8)
    long = "a".encode(encoding) * (before // len("a".encode(encoding))) + data
    expected = outcome(lambda: long.decode(encoding, errors))
    with brimful.collect_pooled(iter([long]), pool=brimful.Pool(memory="list"), first_block=4096) as body:
        assert len(body.segments()) > 1
        assert outcome(lambda: body.text(encoding, errors)) == expected


@pytest.mark.parametrize(
    ("encoding", "errors", "data"),
    [
        ("utf-8-sig", "strict", b"\xef\xbb"),
        ("utf-8-sig", "replace", b"\xef\xbb"),
        ("gb18030", "surrogateescape", b"a\x8f1]"),
        ("euc-jp", "surrogateescape", b"\xa5\xca\x8f "),
        ("unicode-escape", "strict", rb"\7b0\u4f53\304b"),
        ("iso2022_jp", "strict", "a日本b".encode("iso2022_jp")),
        ("hz", "ignore", "a简体b".encode("hz") + b"~"),
        ("utf-7", "backslashreplace", b"a+AOk-\xff"),
        ("utf-8", "brimful-offsets", b"a\xffb\xff"),
        ("shift_jis", "brimful-offsets", b"a\x81\xffb\x81"),
    ],
)
def test_no_cut_changes_what_python_s_codecs_and_handlers_make_of_a_body(encoding: str, errors: str, data: bytes) -> None:
    codecs.register_error("brimful-offsets", lambda error: (f"<{error.start}>", error.end))  # type: ignore[attr-defined]

    def outcome(decode: Callable[[], str]) -> str | int | None:
        try:
            return decode()
        except UnicodeDecodeError as error:
            return error.start
        except brimful.EncodingError as error:
            return error.offset

    expected = outcome(lambda: data.decode(encoding, errors))
    for cut in range(len(data) + 1):
        for second in range(cut, len(data) + 1):
            pieces = [data[:cut], data[cut:second], data[second:]]
            assert outcome(lambda: brimful.collect_text(pieces, encoding=encoding, errors=errors)) == expected, pieces


def test_an_error_handler_of_the_caller_s_own_is_asked() -> None:
    codecs.register_error("brimful-test", lambda error: (f"<{error.start}>", error.end))
    assert brimful.collect_text([b"a\xff", b"b"], errors="brimful-test") == "a<1>b"
    with pytest.raises(LookupError, match="no such handler"):
        brimful.collect_text(pytest.fail, errors="no such handler")
    with pytest.raises(ValueError, match="strict"):
        brimful.collect_text(b"", encoding="x-user-defined", errors="ignore")


def test_a_fault_is_an_error_that_tells_where_and_keeps_the_body() -> None:
    collector = brimful.Collector()
    for keywords in ({}, {"collector": collector}):
        with pytest.raises(brimful.EncodingError) as caught:
            brimful.collect_text([b"ab", b"c\xff", b"d"], **keywords)  # type: ignore[arg-type]
        error = caught.value
        assert isinstance(error, (brimful.Error, UnicodeError, ValueError))
        assert (error.offset, error.encoding, error.status, error.received) == (3, "UTF-8", "encoding", 5)
        assert error.partial.tobytes() == b"abc\xffd"
        assert "offset 3" in str(error) and "UTF-8" in str(error)
        assert pickle.loads(pickle.dumps(error)).offset == 3
    with brimful.collect_pooled([b"\xe2\x82"]) as body:
        with pytest.raises(brimful.EncodingError) as caught:
            body.text()
        assert (caught.value.offset, caught.value.partial) == (0, None)
        assert body.text(errors="replace") == "\ufffd"


def asked(window: memoryview) -> int:
    pytest.fail("the source was asked")


@pytest.mark.parametrize("name", ["no such encoding", "rot13", "hex", "base64", "zlib", "", "utf-8;", "utf\0-8", "é", '"'])
def test_a_name_of_nothing_is_a_lookup_error_before_the_source_is_asked(name: str) -> None:
    with pytest.raises(brimful.UnknownEncodingError) as caught:
        brimful.collect_text(asked, encoding=name)
    assert isinstance(caught.value, (LookupError, ValueError))
    assert caught.value.status == "invalid"
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(("keyword", "value"), [("encoding", b"utf-8"), ("encoding", 8), ("errors", None.__class__), ("errors", 1)])
def test_what_is_no_name_is_a_type_error(keyword: str, value: Any) -> None:
    with pytest.raises(TypeError, match=keyword):
        brimful.collect_text(asked, **{keyword: value})
    with pytest.raises(TypeError):
        brimful.collect_text(asked, encodign="utf-8")  # type: ignore[call-arg]


def test_limits_lengths_and_truncation_count_bytes_as_for_a_body() -> None:
    data = "é€😀".encode()  # 9 bytes
    assert brimful.collect_text(data, limit=9) == "é€😀"
    for source in (data, chunks(data, 2), fills(data)):
        with pytest.raises(brimful.LimitError) as limit:
            brimful.collect_text(source, limit=8)
        assert (limit.value.limit, limit.value.partial.tobytes()) == (8, data[:8])
    with pytest.raises(brimful.ShortError) as short:
        brimful.collect_text(chunks(data, 4), length=10)
    assert (short.value.expected, short.value.received, short.value.partial.tobytes()) == (10, 9, data)
    with pytest.raises(brimful.LongError):
        brimful.collect_text([data, b"x"], length=9)
    assert brimful.collect_text(fills(data), length=9) == "é€😀"
    assert brimful.collect_text(data, limit=5, truncate=True) == "é€"
    with pytest.raises(brimful.EncodingError) as cut:
        brimful.collect_text(data, limit=6, truncate=True)
    assert cut.value.offset == 5
    assert brimful.collect_text(data, limit=6, truncate=True, errors="replace") == "é€\ufffd"


def test_every_cut_and_limit_gives_one_outcome_for_text_as_for_bytes() -> None:
    data = "a€😀".encode() + b"\xff" + "é".encode()

    def outcome(source: Any, **keywords: Any) -> Any:
        try:
            return brimful.collect_text(source, **keywords)
        except brimful.Error as error:
            return type(error), error.received if not isinstance(error, brimful.LimitError) else None, getattr(error, "offset", None)

    for errors in ("strict", "replace"):
        for limit in [None, *range(len(data) + 2)]:
            expected = outcome(data, limit=limit, errors=errors)
            for cut in range(len(data) + 1):
                assert outcome([data[:cut], data[cut:]], limit=limit, errors=errors) == expected
                assert outcome(chunks(data, cut + 1), limit=limit, errors=errors) == expected
                assert outcome(fills(data, cut + 1), limit=limit, errors=errors) == expected


def test_a_source_with_nothing_yet_goes_on_where_it_was() -> None:
    answers: list[bytes | None] = [b"a\xe2\x82", None, b"\xac", None]
    with pytest.raises(brimful.WouldBlock) as caught:
        brimful.collect_text(answers)
    collector = caught.value.collector
    with pytest.raises(brimful.WouldBlock):
        brimful.collect_text([b"\xac", None], collector=collector)
    assert brimful.collect_text([b"b"], collector=collector) == "a€b"


def test_progress_is_told_and_an_exception_of_a_source_comes_out_unchanged() -> None:
    seen: list[tuple[int, int | None]] = []
    text = text_of(300_000, "a€")
    data = text.encode()
    keywords: Any = {"on_progress": lambda *told: seen.append(told), "length": len(data)}
    assert brimful.collect_text(list(chunks(data, 50_000)), **keywords) == text
    assert seen[-1] == (len(data), len(data)) and len(seen) > 5

    def broken() -> Iterator[bytes]:
        yield b"abc"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        brimful.collect_text(broken())


async def arriving(data: bytes, each: int) -> AsyncIterator[bytes]:
    for chunk in chunks(data, each):
        await asyncio.sleep(0)
        yield chunk


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_awaited_text_is_the_same(text: str) -> None:
    async def main() -> None:
        data = text.encode()
        assert await brimful.collect_text_async(arriving(data, 20_011)) == text
        assert await brimful.collect_text_async(arriving(text.encode("utf-16"), 20_011)) == text
        with pytest.raises(brimful.EncodingError) as caught:
            await brimful.collect_text_async(arriving(data + b"\xff", 20_011))
        assert (caught.value.offset, caught.value.partial.tobytes()) == (len(data), data + b"\xff")
        with pytest.raises(brimful.LimitError):
            await brimful.collect_text_async(arriving(data, 20_011), limit=len(data) - 1)
        with pytest.raises(brimful.UnknownEncodingError):
            await brimful.collect_text_async(arriving(data, 20_011), encoding="nothing")

    asyncio.run(main())


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_bytes_object_of_the_whole_is_made(text: str) -> None:
    data = text.encode()
    brimful.collect_text(fills(data))  # the pool is warm
    size = sys.getsizeof(text)
    for decode in (lambda: brimful.collect_text(fills(data)), lambda: brimful.collect_text(list(chunks(data, 10_001)))):
        pieces = [data]  # what the sources themselves cut
        tracemalloc.start()
        made = decode()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert made == text
        # The string, and pieces of a list; a bytes of the whole would be as much again.
        assert peak < size + len(pieces[0]) * (1.1 if "list" in decode.__code__.co_names else 0) + 60_000, (peak, size)


def test_ten_thousand_texts_leak_nothing() -> None:
    data, fault = TEXTS["four bytes"].encode()[:20_000], b"a" * 5_000 + b"\xff"

    def round_of_texts() -> None:
        for _ in range(1000):
            brimful.collect_text(chunks(data, 7_000), errors="replace")
            brimful.collect_text(data[:100], encoding="cp437")
            with pytest.raises(brimful.EncodingError):
                brimful.collect_text([fault])

    round_of_texts()
    gc.collect()
    before = resident()
    for _ in range(9):
        round_of_texts()
    gc.collect()
    assert resident() - before < 2 << 20


def test_a_released_buffer_has_no_text() -> None:
    body = brimful.collect_pooled(b"abc")
    body.release()
    with pytest.raises(ValueError, match="released"):
        body.text()
    with pytest.raises(ValueError, match="released"):
        body.json()


def test_headers_of_peers_leave_nothing_in_python_s_table_of_codecs() -> None:
    import encodings

    for known in ("utf-8", "cp437", "ibm437", "latin-1", "x-user-defined", "windows-1252", "koi8_r"):
        assert brimful.charset(f"text/plain; charset={known}") == known
    before = len(encodings._cache)  # type: ignore[attr-defined]
    for turn in range(1000):
        assert brimful.charset(f"text/plain; charset=no-such-charset-{turn}") is None
    assert len(encodings._cache) == before  # type: ignore[attr-defined]


def test_a_replaced_getsizeof_changes_nothing() -> None:
    program = """
import sys
sys.getsizeof = lambda object, default=0: 10_000_000
import brimful
assert brimful._brimful._fill_strings(True)
assert brimful.collect_text([("é€" * 200_000).encode()]) == "é€" * 200_000
"""
    subprocess.run([sys.executable, "-c", program], check=True)
