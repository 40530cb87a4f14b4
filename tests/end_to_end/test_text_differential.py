"""The engine's decoders beside Python's, byte for byte: every sequence of one and two bytes, every four of gb18030 that is
a character of the basic plane, and random text with faults. Where the two differ, it is written below with the reason; a
difference that is not there fails.

    BRIMFUL_FUZZ_SECONDS=600 python -m pytest tests/end_to_end/test_text_differential.py     for as long, with new inputs
"""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import time
from pathlib import Path

import brimful
import pytest

LIBRARY = ctypes.CDLL(str(Path(__file__).resolve().parents[2] / "dist" / "prefix" / "lib" / "libbrimful.so"))
SECONDS = float(os.environ.get("BRIMFUL_FUZZ_SECONDS", "0"))
REPLACE = 1

# Of the standard's encoding, Python's codec that is nearest, and what means something else there.
DIFFERENCES: dict[str, tuple[str, dict[bytes, str]]] = {
    "UTF-8": ("utf-8", {}),
    "UTF-16LE": ("utf-16-le", {}),
    "UTF-16BE": ("utf-16-be", {}),
    # The standard leaves no byte undefined; Python refuses five.
    "windows-1252": ("cp1252", {bytes([byte]): chr(byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}),
    # The standard has no private characters of one byte.
    "Shift_JIS": ("cp932", dict.fromkeys((b"\xa0", b"\xfd", b"\xfe", b"\xff"), "")),
    "EUC-KR": ("cp949", {}),
    # Python's table is that of 2000: its private characters have numbers of their own since (2005 and 2022), and so has
    # the ideographic space. The standard also takes GBK's euro sign.
    "gb18030": (
        "gb18030",
        {
            b"\x80": "€",
            b"\xa3\xa0": "\u3000",
            b"\x81\x35\xf4\x37": "\ue7c7",
            **{bytes([0xA6, 0xD9 + index]): chr(number) for index, number in enumerate(
                (0xFE10, 0xFE12, 0xFE11, 0xFE13, 0xFE14, 0xFE15, 0xFE16))},
            b"\xa6\xec": "\ufe17",
            b"\xa6\xed": "\ufe18",
            b"\xa6\xf3": "\ufe19",
            b"\xa8\xbc": "\u1e3f",
            b"\xfe\x59": "\u9fb4",
            b"\xfe\x61": "\u9fb5",
            b"\xfe\x66": "\u9fb6",
            b"\xfe\x67": "\u9fb7",
            b"\xfe\x6d": "\u9fb8",
            b"\xfe\x7e": "\u9fb9",
            b"\xfe\x90": "\u9fba",
            b"\xfe\xa0": "\u9fbb",
        },
    ),
}  # fmt: skip
SENTENCES = "line\r\nby line, déjà vu ÿ€ “quoted” – 日本語のテキスト、かなカナ 한국어 문장 简体中文的句子 😀𠀀\U0010ffff"


def ours(data: bytes, encoding: str, replace: bool = False) -> str | int:
    """The text by the C library, or the offset of its first fault."""
    collector, body, text = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    length, offset = ctypes.c_size_t(), ctypes.c_uint64()
    assert LIBRARY.brimful_collector_new(None, None, ctypes.byref(collector)) == 0
    assert LIBRARY.brimful_collector_write(collector, data, ctypes.c_size_t(len(data)), None) == 0
    assert LIBRARY.brimful_collector_end(collector) == 0
    assert LIBRARY.brimful_collector_finish(collector, ctypes.byref(body)) == 0
    flags = ctypes.c_uint32(REPLACE if replace else 0)
    where = (ctypes.byref(text), ctypes.byref(length), ctypes.byref(offset))
    status = LIBRARY.brimful_buffer_decode(body, encoding.encode(), flags, None, *where)
    came: str | int = ctypes.string_at(text, length.value).decode() if status == 0 else offset.value
    LIBRARY.brimful_memory_free(text)
    LIBRARY.brimful_buffer_release(body)
    LIBRARY.brimful_collector_free(collector)
    return came


def python(data: bytes, codec: str) -> str | int:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        return error.start


def is_unicode(encoding: str) -> bool:
    return encoding.startswith("UTF")


def without_mark(data: bytes, encoding: str) -> tuple[bytes, int]:
    """The engine drops a mark that matches (E42); Python's codecs of these names do not."""
    mark = "\ufeff".encode(DIFFERENCES[encoding][0]) if is_unicode(encoding) else b"\0"
    return (data[len(mark) :], len(mark)) if is_unicode(encoding) and data.startswith(mark) else (data, 0)


def check(data: bytes, encoding: str) -> bool:
    """Fails on a difference that is not written down; says whether there was none."""
    codec, differences = DIFFERENCES[encoding]
    rest, mark = without_mark(data, encoding)
    expected, came = python(rest, codec), ours(data, encoding)
    if isinstance(expected, int):
        expected += mark
    if came != expected:
        assert any(known in data for known in differences), (encoding, data.hex(), came, expected)
        return False
    if isinstance(came, str):
        assert ours(data, encoding, replace=True) == came
    elif is_unicode(encoding):
        assert ours(data, encoding, replace=True) == rest.decode(codec, "replace"), (encoding, data.hex())
    else:
        # Which bytes a fault takes with it differs; what is before the first does not.
        replaced = ours(data, encoding, replace=True)
        before = ours(data[:came], encoding)
        assert isinstance(replaced, str) and isinstance(before, str), (encoding, data.hex())
        assert replaced.startswith(before + "\ufffd"), (encoding, data.hex())
    return True


@pytest.mark.parametrize("encoding", DIFFERENCES)
def test_every_sequence_of_one_and_two_bytes_is_python_s_or_a_difference_that_is_written_down(encoding: str) -> None:
    codec, differences = DIFFERENCES[encoding]
    for known, text in differences.items():
        assert ours(known, encoding) == (text or 0)
        assert python(known, codec) != (text or 0)
    for first in range(256):
        check(bytes([first]), encoding)
        seconds = range(256) if first >= 0x80 or encoding == "UTF-16BE" else (0, 0x41, 0x80, 0xD8, 0xDC, 0xFF)
        for second in seconds:
            check(bytes([first, second]), encoding)


def test_every_four_bytes_of_gb18030_in_the_basic_plane_are_python_s_but_for_one() -> None:
    sequences = []
    for pointer in range(39_420):
        rest, last = divmod(pointer, 10)
        rest, third = divmod(rest, 126)
        first, second = divmod(rest, 10)
        sequences.append(bytes([0x81 + first, 0x30 + second, 0x81 + third, 0x30 + last]))
    sequences.remove(b"\x81\x35\xf4\x37")
    data = b"".join(sequences)
    assert ours(data, "gb18030") == data.decode("gb18030")


def mutated(random: random.Random, encoding: str) -> bytes:
    """A sentence's part in the encoding, with a few bytes changed, taken away or put in."""
    codec = DIFFERENCES[encoding][0]
    begin = random.randrange(len(SENTENCES))
    data = bytearray(SENTENCES[begin : begin + random.randrange(12)].encode(codec, "ignore"))
    for _ in range(random.choice((0, 0, 1, 1, 2, 5))):
        at = random.randrange(len(data) + 1)
        match random.randrange(4):
            case 0:
                data[at : at + 1] = b""
            case 1:
                data[at:at] = bytes([random.randrange(256)])
            case 2:
                data[at : at + 1] = bytes([random.randrange(128, 256)])
            case _:
                data[at:at] = bytes(random.choice((b"\xed\xa0\x80", b"\xf4\x90", b"\xc0\x80", b"\x00\xd8", b"\xdc\x00", b"\x81\x30", b"\xe2\x82")))
    return bytes(data)


@pytest.mark.parametrize("encoding", DIFFERENCES)
def test_random_text_with_faults_is_python_s_too(encoding: str) -> None:
    source = random.Random(time.time_ns() if SECONDS else encoding)
    end = time.monotonic() + SECONDS / len(DIFFERENCES)
    same = 0
    for turn in itertools.count(1):
        data = mutated(source, encoding)
        same += check(data, encoding)
        if is_unicode(encoding):
            cut = source.randrange(len(data) + 1)
            try:
                text = brimful.collect_text([data[:cut], data[cut:]], encoding=encoding)
            except brimful.EncodingError as error:
                assert error.offset == ours(data, encoding)
            else:
                assert text == ours(data, encoding)
        if turn >= 20_000 and time.monotonic() >= end:
            break
    # The differences that are written down hide few of the inputs.
    assert same > turn * 0.85, (same, turn)
    print(f"{encoding}: {turn} inputs, {turn - same} with a known difference")
