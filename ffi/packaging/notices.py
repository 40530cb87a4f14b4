"""The notices that the licences of other people's code ask for, in a file for each thing that is given away.

    python3 ffi/packaging/notices.py             writes THIRD-PARTY for the C library, the wheel and the npm package
    python3 ffi/packaging/notices.py --check     exit status 1 where one is not what the crates of Cargo.lock say

Each names the crates that are linked in, with their own licence files. Of those that may be used under either licence it has
the MIT one, which asks for its text; build tools and procedural macros are no part of what is given away.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILES = {
    "brimful-ffi": (ROOT / "ffi/packaging/THIRD-PARTY", "libbrimful.so and libbrimful.a"),
    "brimful-python": (ROOT / "bindings-python/THIRD-PARTY", "the extension module of the Python package"),
    "brimful-node": (ROOT / "bindings-node/THIRD-PARTY", "the addon of the npm package"),
}
TEXTS = re.compile(r"licen[cs]e|copying|copyright|notice", re.IGNORECASE)
NOT_CHOSEN = re.compile(r"apache|unlicense", re.IGNORECASE)
# Crates of a repository whose licence file is not in the crates themselves: the owners that it names.
OWNERS = {"napi": ["2020 LongYinan", "2018 GitHub"], "napi-sys": ["2020 LongYinan", "2018 GitHub"]}
RULE = "-" * 100


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def linked(package: str) -> list[tuple[str, str]]:
    """The names and versions of the crates that are linked in, on Linux."""
    edges = ["--edges", "normal,no-proc-macro", "--target", "x86_64-unknown-linux-gnu", "--prefix", "none", "--no-dedupe"]
    lines = cargo("tree", "--locked", "--package", package, *edges).splitlines()
    return sorted({tuple(line.split()[:2]) for line in lines if "(/" not in line})


def mit(owners: list[str]) -> str:
    text = (ROOT / "LICENSE-MIT").read_text()
    ours = next(line for line in text.splitlines() if line.startswith("Copyright"))
    return text.replace(ours, "\n".join(f"Copyright (c) {owner}" for owner in owners))


def texts(crate: dict) -> list[str]:
    folder = Path(crate["manifest_path"]).parent
    files = sorted(file for file in folder.iterdir() if file.is_file() and TEXTS.search(file.name))
    chosen = [file.read_text().strip("\n") for file in files if not NOT_CHOSEN.search(file.name)]
    if not chosen and crate["name"] in OWNERS:
        chosen = [mit(OWNERS[crate["name"]]).strip("\n")]
    if not chosen:
        sys.exit(f"{crate['name']} {crate['version']} ({crate['license']}) has no licence file: its owners go into OWNERS")
    return chosen


def notice(package: str, what: str, crates: dict) -> str:
    parts = [f"Code of others that is linked into {what}, and the licences that it is used under.\n"]
    for name, version in linked(package):
        crate = crates[name, version.removeprefix("v")]
        head = f"{name} {crate['version']}, {crate['license'].replace('/', ' OR ')}, {crate['repository']}"
        parts += [f"{RULE}\n{head}\n", *(f"{text}\n" for text in texts(crate))]
    return "\n".join([*parts, RULE, (HERE / "rust-library.txt").read_text()])


def main() -> None:
    packages = json.loads(cargo("metadata", "--locked", "--format-version", "1"))["packages"]
    crates = {(crate["name"], crate["version"]): crate for crate in packages}
    stale = []
    for package, (file, what) in FILES.items():
        text = notice(package, what, crates)
        if sys.argv[1:] != ["--check"]:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            stale.append(f"{file.relative_to(ROOT)} is not what the crates say: python3 ffi/packaging/notices.py writes it anew")
    sys.exit("\n".join(stale) or 0)


if __name__ == "__main__":
    main()
