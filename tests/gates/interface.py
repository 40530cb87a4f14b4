"""What brimful.h declares, for the gates that look at all of it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "brimful.h"


def declarations() -> list[str]:
    """Each function, on one line, without the semicolon."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", HEADER.read_text(), flags=re.DOTALL)
    text = text[text.index('extern "C" {') : text.rindex("#ifdef __cplusplus")]
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    declared = re.findall(r"[\w\s*]+?\bbrimful_\w+\([^;]*\)(?=;)", text)
    return [re.sub(r"\s+", " ", declaration).strip() for declaration in declared]


def functions() -> dict[str, list[tuple[str, str]]]:
    """Each function's parameters: type and name."""
    found = {}
    for declaration in declarations():
        name, parameters = re.fullmatch(r".*?\b(brimful_\w+)\((.*)\)", declaration).groups()
        split = [re.fullmatch(r"(.*?)(\w+)", parameter.strip()) for parameter in parameters.split(",") if parameter != "void"]
        found[name] = [(part[1].replace("struct ", "").strip(), part[2]) for part in split]
    return found


def statuses() -> list[str]:
    """The names of all statuses: OK, PENDING, ERR_LIMIT."""
    text = HEADER.read_text()
    results = re.findall(r"^#define BRIMFUL_(OK|PENDING|RETRY|MORE|ERR_\w+) \(?-?\d+\)?$", text, re.MULTILINE)
    assert len(results) >= 18
    return results


def named_tests(files: list[Path]) -> dict[str, str]:
    """The text of each test, by its name."""
    found = {}
    for file in files:
        found |= re.findall(r"^TEST\((\w+)\)\n\{\n(.*?)^\}", file.read_text(), re.MULTILINE | re.DOTALL)
    return found
