"""Every constant of the engine that holds a number has its row in a page of docs/design.

    python3 tests/constants.py     exit status 1 if one has none, or a row has no date
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ["growth", "pool", "options", "collector", "body", "queue", "memory/mod", "memory/heap", "memory/huge", "memory/system"]
FILES += [f"text/{noun}" for noun in ("mod", "charset", "encoding", "legacy", "fetch", "measure", "units", "utf8", "utf16", "utf32", "writer")]
NUMBER = re.compile(r"^(?:pub(?:\(crate\)|\(super\))? )?(?:    pub )?const ([A-Z_]+): (?:usize|u32|u64)\b", re.MULTILINE)
# Marks, limits of types and sizes of processors, not choices.
NO_CHOICE = {"IS_RANGE", "ADDRESS_SPACE", "LINE"}


def main():
    pages = "".join(page.read_text() for page in (ROOT / "docs/design").glob("*.md"))
    rows = [line for line in pages.splitlines() if line.startswith("|")]
    missing = []
    for file in FILES:
        path = ROOT / f"core/src/{file}.rs"
        text = path.read_text().split("#[cfg(test)]")[0] if path.exists() else ""
        for name in NUMBER.findall(text):
            row = next((row for row in rows if re.search(rf"`(?:Options::)?{name}`", row.split("|")[1])), None)
            if name not in NO_CHOICE and (row is None or not re.search(r"\b20\d\d-\d\d-\d\d\b", row)):
                missing.append(f"{path.relative_to(ROOT)}: {name} has no row with a date in docs/design")
    sys.exit("\n".join(missing) or 0)


if __name__ == "__main__":
    main()
