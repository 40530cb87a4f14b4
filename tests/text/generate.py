"""Writes cases.json: what bytes mean as text, for every language's tests. Nothing here asks this project's own decoder.

    python3 tests/text/generate.py            writes tests/text/cases.json
    python3 tests/text/generate.py --check    exit status 1 if what is there is not what would be written

UTF-8, UTF-16 and UTF-32 are Python's codecs, whose faults and offsets are those of the Encoding Standard. Encodings of
one byte are Python's tables with the standard's differences, which are written down below. Of the others, sentences are
Python's, in characters on which the tables agree, and what happens to faults is written out from the standard's text.
"""

import itertools
import json
import sys
from pathlib import Path

CASES = Path(__file__).with_name("cases.json")

# Encodings of Python that mean what the standard means, by the standard's names.
PYTHON = {
    "UTF-8": "utf-8",
    "UTF-16LE": "utf-16-le",
    "UTF-16BE": "utf-16-be",
    "UTF-32LE": "utf-32-le",
    "UTF-32BE": "utf-32-be",
}
MARKS = {name: "\ufeff".encode(codec) for name, codec in PYTHON.items()}

# One byte, one character: Python's table, and what the standard has instead. In windows-*, what is not assigned from
# 0x80 to 0x9F is a control character; from 0xA0 on it is a fault.
SINGLE = {
    "IBM866": ("cp866", {}),
    **{f"ISO-8859-{part}": (f"iso8859-{part}", {}) for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "ISO-8859-8-I": ("iso8859-8", {}),
    "KOI8-R": ("koi8-r", {}),
    "KOI8-U": ("koi8-u", {0xAE: 0x045E, 0xBE: 0x040E}),  # the Belarusian letter
    "macintosh": ("mac-roman", {}),
    "windows-874": ("cp874", {}),
    **{f"windows-{page}": (f"cp{page}", {}) for page in range(1250, 1259)},
    "windows-1255": ("cp1255", {0xCA: 0x05BA}),  # a point that Python's table does not have
    "x-mac-cyrillic": ("mac-cyrillic", {}),
}

# Sentences of characters on which Python's tables and the standard's agree.
SENTENCES = {
    "Shift_JIS": ("shift_jis", "日本語のテキスト、かなとカナ。ABC 123 ｱｲｳ"),
    "EUC-JP": ("euc_jp", "日本語のテキスト、かなとカナ。ABC 123 ｱｲｳ"),
    "ISO-2022-JP": ("iso2022_jp", "日本語のテキスト、かなとカナ。ABC 123"),
    "EUC-KR": ("euc_kr", "한국어 문장입니다. ABC 123 漢字"),
    "Big5": ("big5", "繁體中文的句子，還有標點。ABC 123"),
    "GBK": ("gbk", "简体中文的句子，还有标点。ABC 123 丄"),
    "gb18030": ("gb18030", "简体中文，𠀀 é 한국어 \U0010ffff ABC"),
}

# (encoding, bytes, text, offset of the first fault or None), from the standard's decoders. A byte below 0x80 that
# cannot follow is not part of the fault.
F = "\ufffd"
WRITTEN = [
    ("Shift_JIS", "82a0", "あ", None),
    ("Shift_JIS", "5c7e80", "\\~\x80", None),
    ("Shift_JIS", "b1", "\uff71", None),
    ("Shift_JIS", "f040f9fc", "\ue000\ue757", None),
    ("Shift_JIS", "a0", F, 0),
    ("Shift_JIS", "41fdfeff42", "A" + F * 3 + "B", 1),
    ("Shift_JIS", "418120", "A" + F + " ", 1),
    ("Shift_JIS", "41817f", "A" + F + "\x7f", 1),
    ("Shift_JIS", "4181fd42", "A" + F + "B", 1),
    ("Shift_JIS", "4182", "A" + F, 1),
    ("EUC-JP", "a4a2", "あ", None),
    ("EUC-JP", "8eb1", "\uff71", None),
    ("EUC-JP", "8fb0a1", "\u4e02", None),
    ("EUC-JP", "41a420", "A" + F + " ", 1),
    ("EUC-JP", "41ff42", "A" + F + "B", 1),
    ("EUC-JP", "418042", "A" + F + "B", 1),
    ("EUC-JP", "41a4", "A" + F, 1),
    ("EUC-JP", "418fb0", "A" + F, 1),
    ("EUC-JP", "418f20", "A" + F + " ", 1),
    ("EUC-JP", "418fb020", "A" + F + " ", 1),
    ("EUC-JP", "418e20", "A" + F + " ", 1),
    ("EUC-KR", "b0a1", "가", None),
    ("EUC-KR", "8141", "갂", None),
    ("EUC-KR", "41b020", "A" + F + " ", 1),
    ("EUC-KR", "41ff42", "A" + F + "B", 1),
    ("EUC-KR", "418042", "A" + F + "B", 1),
    ("EUC-KR", "41b0ff42", "A" + F + "B", 1),
    ("EUC-KR", "41b0", "A" + F, 1),
    ("Big5", "a440", "一", None),
    ("Big5", "8862886488a388a5", "\u00ca\u0304\u00ca\u030c\u00ea\u0304\u00ea\u030c", None),
    ("Big5", "41a420", "A" + F + " ", 1),
    ("Big5", "418042", "A" + F + "B", 1),
    ("Big5", "41ff42", "A" + F + "B", 1),
    ("Big5", "41a4ff42", "A" + F + "B", 1),
    ("Big5", "41a4", "A" + F, 1),
    ("GBK", "80", "€", None),
    ("GBK", "8141", "丄", None),
    ("GBK", "41ff42", "A" + F + "B", 1),
    ("GBK", "41a1", "A" + F, 1),
    ("GBK", "41a120", "A" + F + " ", 1),
    ("gb18030", "80", "€", None),
    ("gb18030", "81308130", "\x80", None),
    ("gb18030", "81308436", "\xa5", None),
    ("gb18030", "90308130", "\U00010000", None),
    ("gb18030", "e3329a35", "\U0010ffff", None),
    ("gb18030", "84319533", "\ufeff", None),
    ("gb18030", "8431a437", "\ufffd", None),  # a character, and no fault
    ("gb18030", "418130", "A" + F, 1),
    ("gb18030", "41813081", "A" + F, 1),
    ("gb18030", "4181304142", "A" + F + "0AB", 1),
    ("gb18030", "418130814142", "A" + F + "0丄B", 1),
    ("gb18030", "4181", "A" + F, 1),
    ("gb18030", "41ff42", "A" + F + "B", 1),
    ("gb18030", "418120", "A" + F + " ", 1),
    ("gb18030", "81ff42", F + "B", 0),
    ("ISO-2022-JP", "1b244224221b284241", "あA", None),
    ("ISO-2022-JP", "1b284a5c7e1b2842", "\u00a5\u203e", None),
    ("ISO-2022-JP", "1b2849311b2842", "\uff71", None),
    ("ISO-2022-JP", "418042", "A" + F + "B", 1),
    ("ISO-2022-JP", "410e42", "A" + F + "B", 1),
    ("ISO-2022-JP", "411b42", "A" + F + "B", 1),
    ("ISO-2022-JP", "411b2443", "A" + F + "$C", 1),
    ("ISO-2022-JP", "1b2442241b2842", F, 3),
    ("ISO-2022-JP", "411b24421b284242", "A" + F + "B", 1),  # an escape that nothing stands behind
    ("ISO-2022-JP", "411b", "A" + F, 1),
    ("x-user-defined", "41807fff", "A\uf780\x7f\uf7ff", None),
    ("replacement", "", "", None),
    ("replacement", "41", F, 0),
    ("replacement", "41424380", F, 0),
]

# What is wrong in UTF-8, by class.
FAULTS_8 = {
    "a lone continuation": "80 bf 8080 808080 80bf80bf",
    "a byte that never is": "c0 c1 f5 f8 fc fe ff feff",
    "overlong": "c080 c1bf e08080 e09fbf f0808080 f08fbfbf f8808080 fc80808080",
    "a surrogate": "eda080 edbfbf eda080edb080 edafbf",
    "beyond U+10FFFF": "f4908080 f4bfbfbf f5808080 f7bfbfbf",
    "cut off after one": "c3 e2 f0 df ef f4",
    "cut off after two": "e282 f09f f48f efbf",
    "cut off after three": "f09f98 f48fbf f0908d",
    "a continuation that cannot follow": "e080 ed a0 eda0 f080 f490 e282f0 f09f98e2 c3c3 e2e2 f0f0",
}

UNITS = {2: ["0041", "20ac", "d83d", "de00", "d800", "dfff", "fffe", "feff", "0000"], 4: []}


def decoded(name, data):
    """(text with faults replaced, offset of the first fault or None)."""
    text = data.decode(PYTHON[name], "replace")
    try:
        data.decode(PYTHON[name])
    except UnicodeDecodeError as error:
        return text, error.start
    return text, None


def table(name):
    """The text of each of the 256 bytes; None for a fault."""
    codec, differences = SINGLE[name]
    texts = []
    for byte in range(256):
        text = bytes([byte]).decode(codec, "replace")
        if byte in differences:
            text = chr(differences[byte])
        elif text == F and byte < 0xA0 and name.startswith("windows-"):
            text = chr(byte)
        texts.append(None if text == F else text)
    return texts


def cases():
    """(why, encoding or None, the one that applies, bytes, text, offset or None)."""
    # Every encoding that Python decodes alike, and every piece of "a€😀" in it.
    for name, codec in PYTHON.items():
        whole = "a€😀".encode(codec)
        for begin, end in itertools.combinations(range(len(whole) + 1), 2):
            data = whole[begin:end]
            if not data.startswith(MARKS[name]):
                yield f"bytes {begin} to {end} of a€😀", name, name, data, *decoded(name, data)
        for text in ("", "a", "\x00", "\x7f\x80\xff", "\u07ff\u0800", "\ud7ff\ue000", "\uffff\U00010000", "\U0010ffff", "é" * 20, "x" * 100 + "€"):
            data = text.encode(codec)
            yield "well-formed", name, name, data, *decoded(name, data)

    for kind, classes in FAULTS_8.items():
        for fault in classes.split():
            data = bytes.fromhex(fault)
            for before, after in ((b"", b""), (b"a", b"b"), ("é".encode(), "😀".encode()), (b"x" * 70, b"y" * 70)):
                yield kind, "utf-8", "UTF-8", before + data + after, *decoded("UTF-8", before + data + after)

    for order in ("LE", "BE"):
        for units in itertools.product(UNITS[2], repeat=2):
            data = b"".join(bytes.fromhex(unit)[:: 1 if order == "BE" else -1] for unit in units)
            if not data.startswith(MARKS["UTF-16" + order]):
                name = "UTF-16" + order
                yield "two units", name.lower(), name, data, *decoded(name, data)
        for tail in (b"\x41", b"\x3d\xd8\x00", b"\xd8\x3d\xde", b"\x41\x00\x41", b"\x00\x41\x00"):
            name = "UTF-16" + order
            yield "an odd number of bytes", name.lower(), name, tail, *decoded(name, tail)
        for number in (0, 0x41, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF, 0x10FFFF, 0x110000, 0x7FFFFFFF, 0xFFFFFFFF):
            name = "UTF-32" + order
            unit = number.to_bytes(4, "little" if order == "LE" else "big")
            for data in (unit, unit + "b".encode(PYTHON[name]), "a".encode(PYTHON[name]) + unit, unit + unit[:3], unit + unit[:1]):
                yield "one unit", name.lower(), name, data, *decoded(name, data)

    # Byte order marks: found where none is given, dropped where they match, text where they do not.
    for name, mark in MARKS.items():
        for text in ("", "a€😀", "\ufeff"):
            data = mark + text.encode(PYTHON[name])
            yield "its own mark", name, name, data, text, None
            if name != "UTF-32BE":  # which is not looked for
                yield "a mark, and no encoding", None, name, data, text, None
        for length in range(1, len(mark)):
            yield "a part of its mark", name, name, mark[:length], *decoded(name, mark[:length])
        for other, foreign in MARKS.items():
            data = foreign + "a".encode(PYTHON[name])
            if not data.startswith(mark):
                yield f"the mark of {other}", name, name, data, *decoded(name, data)
    yield "no mark that is looked for", None, "UTF-8", MARKS["UTF-32BE"], *decoded("UTF-8", MARKS["UTF-32BE"])
    for data in (b"", b"a", b"\xef", b"\xef\xbb", b"\xff", b"\xfe", b"\xef\xbba", "€".encode(), b"\x00\x00"):
        yield "no mark, and no encoding", None, "UTF-8", data, *decoded("UTF-8", data)
    data = b"\xff\xfe\x00"
    yield "UTF-16LE's mark and a part of UTF-32LE's", None, "UTF-16LE", data, F, 2
    faulty = b"\xef\xbb\xbfab\xff"
    yield "an offset counts the mark", None, "UTF-8", faulty, "ab" + F, 5
    yield "a mark of UTF-8 is text elsewhere", "windows-1252", "windows-1252", b"\xef\xbb\xbfa", "ï»¿a", None

    for name in SINGLE:
        texts = table(name)
        faults = [byte for byte, text in enumerate(texts) if text is None]
        yield "all bytes", name, name, bytes(range(256)), "".join(text or F for text in texts), faults[0] if faults else None
        good = bytes(byte for byte, text in enumerate(texts) if text is not None)
        yield "all bytes that are characters", name, name, good, "".join(filter(None, texts)), None

    for name, (codec, text) in SENTENCES.items():
        yield "a sentence", name, name, text.encode(codec), text, None
        yield "long", name, name, text.encode(codec) * 40, text * 40, None
    for name, data, text, offset in WRITTEN:
        yield "by the standard", name, name, bytes.fromhex(data), text, offset

    # Labels: any case, white space and quotes around them; what is none is invalid.
    for label in ("utf-8", "UTF8", " Utf-8\t", '"utf-8"', "'utf-8'", '" utf-8 "', "unicode-1-1-utf-8"):
        yield "a label", label, "UTF-8", b"a\xc3\xa9", "aé", None
    for label in ("latin1", "ISO-8859-1", "us-ascii", "'cp1252'"):
        yield "a label", label, "windows-1252", b"a\xe9\x80", "aé€", None
    for label, name in (("utf-16", "UTF-16LE"), ("unicode", "UTF-16LE"), ("unicodeFFFE", "UTF-16BE"), ("utf-32", "UTF-32LE")):
        yield "a label", label, name, "a😀".encode(PYTHON[name]), "a😀", None
    for label in ("", " ", "utf", "utf-9", '"utf-8', "utf-8'", "'utf-8\"", '""', '"', "ut f-8", "utf_8", "ｕtf-8", "utf-8;"):
        yield "no label", label, None, b"a", None, None


def written():
    """The file's text: a case on each line."""
    lines, seen = [], set()
    for why, encoding, applies, data, text, offset in cases():
        case = {"why": why, "encoding": encoding, "bytes": data.hex()}
        if applies is None:
            rows = [{**case, "errors": "strict", "status": "invalid"}]
        else:
            case["applies"] = applies
            fine = {"status": "ok", "utf8": text.encode().hex()}
            strict = fine if offset is None else {"status": "encoding", "offset": offset}
            rows = [{**case, "errors": "strict", **strict}, {**case, "errors": "replace", **fine}]
        for row in rows:
            key = (encoding, row["bytes"], row["errors"])
            if key not in seen:
                seen.add(key)
                lines.append(json.dumps(row))
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(CASES.read_text() != written() and "tests/text/cases.json is not what tests/text/generate.py writes")
    CASES.write_text(written())
