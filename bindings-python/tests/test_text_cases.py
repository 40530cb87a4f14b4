"""What every language's text is held against: tests/text/cases.json and labels.json. Where Python's codecs know the name,
it means Python's codec, which then says what is right."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import brimful
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "text"
UNICODE = {"UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"}
# Python's codecs of these names are the engine's own decoders, so that marks are dropped as everywhere.
UNICODE_CODECS = {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"}
LONGEST_CUT_EVERYWHERE = 14


class Case(NamedTuple):
    why: str
    encoding: str | None
    data: bytes
    errors: str
    expected: str | int | None  # the text, the offset of the fault, or None: invalid


def bare(name: str) -> str:
    name = name.strip(" \t\n\r\f")
    if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1].strip(" \t\n\r\f")
    return name


def python_codec(name: str | None) -> codecs.CodecInfo | None:
    """Python's own codec that a name means, if it is not one of the engine's."""
    if name is None or not all(c.isascii() and (c.isalnum() or c in "-_.:() ") for c in bare(name)):
        return None
    try:
        info = codecs.lookup(bare(name))
    except LookupError:
        return None
    return info if info.name not in UNICODE_CODECS else None


def by_python(info: codecs.CodecInfo, data: bytes, errors: str) -> str | int:
    try:
        return info.decode(data, errors)[0]
    except UnicodeDecodeError as error:
        return error.start


def read() -> Iterator[Case]:
    for case in json.loads((FOLDER / "cases.json").read_text()):
        name, data, errors = case["encoding"], bytes.fromhex(case["bytes"]), case["errors"]
        expected: str | int | None
        if (info := python_codec(name)) is not None and case.get("applies") not in UNICODE:
            expected = by_python(info, data, errors)
        elif case["status"] == "invalid":
            expected = data.decode(name) if name in ("utf", "utf_8") else None  # names that only Python knows
        elif case["status"] == "ok":
            expected = bytes.fromhex(case["utf8"]).decode()
        else:
            expected = case["offset"]
        yield Case(case["why"], name, data, errors, expected)


CASES = list(read())


def outcome(call: Any, *arguments: Any, **keywords: Any) -> str | int | None:
    try:
        text = call(*arguments, **keywords)
    except brimful.EncodingError as error:
        return error.offset
    except brimful.UnknownEncodingError:
        return None
    assert type(text) is str
    return text


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """The bytes singly, and of those that are not long in two pieces cut at every place, of short ones in three."""
    for cut in range(1, len(data) if len(data) <= 64 else 0):
        yield [data[:cut], data[cut:]]
        if len(data) <= LONGEST_CUT_EVERYWHERE:
            yield from ([data[:cut], data[cut:second], data[second:]] for second in range(cut + 1, len(data)))
    yield [data[at : at + 1] for at in range(len(data))]


@pytest.fixture(params=["filled", "stable interface"])
def strings(request: pytest.FixtureRequest) -> Iterator[None]:
    filled = request.param == "filled"
    assert brimful._brimful._fill_strings(filled) == filled  # type: ignore[attr-defined]
    yield
    brimful._brimful._fill_strings(True)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("strings")
def test_every_case_is_decoded_alike_from_one_piece_and_from_pieces_cut_anywhere() -> None:
    for case in CASES:
        keywords = {"encoding": case.encoding, "errors": case.errors}
        assert outcome(brimful.collect_text, case.data, **keywords) == case.expected, case
        with brimful.collect_pooled(case.data) as body:
            assert outcome(body.text, **keywords) == case.expected, case
        for pieces in cuts(case.data):
            assert outcome(brimful.collect_text, pieces, **keywords) == case.expected, (case, pieces)


@pytest.mark.usefixtures("strings")
def test_every_case_is_decoded_alike_wherever_blocks_begin() -> None:
    before = 4096  # the first block, filled by what is text in one byte in every encoding
    pool = brimful.Pool(memory="list")
    singles = [case for case in CASES if case.encoding not in (None, "replacement") and isinstance(case.expected, (str, int))]
    for case in singles[::7]:
        try:
            space = " ".encode(python_name(case.encoding))
        except LookupError:
            space = b" "
        for cut in range(1, min(len(case.data), 8)):
            # The case's first `cut` bytes end the first block.
            fill = space * ((before - cut) // len(space))
            body = b" " * ((before - cut) % len(space)) + fill + case.data
            if len(fill) % before == 0 or (before - cut) % len(space):
                continue
            whole = outcome(brimful.collect_text, body, encoding=case.encoding, errors=case.errors)
            with brimful.collect_pooled(iter([body]), first_block=before, pool=pool) as pooled:
                assert len(pooled.segments()) > 1
                assert outcome(pooled.text, case.encoding, case.errors) == whole, (case, cut)


def python_name(label: str | None) -> str:
    names = {"UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be", "UTF-32LE": "utf-32-le", "UTF-32BE": "utf-32-be"}
    return names.get((label or "").upper(), "ascii")


def test_every_label_of_the_standard_names_an_encoding() -> None:
    labels = [label for labels in json.loads((FOLDER / "labels.json").read_text()).values() for label in labels]
    assert len(labels) == 228
    for label in labels:
        for written in (label, label.upper(), f" \t{label}\n", f'"{label}"', f"' {label} '"):
            assert brimful.collect_text(b"", encoding=written) == "", written
            assert brimful.charset(f"text/plain; charset={label}") == label
