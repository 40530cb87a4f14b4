"""Whatever is given away has this project's licences in it, and the notices that the code of others asks for."""

import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
NAMES = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY"]


def wheel() -> dict[str, str]:
    with zipfile.ZipFile(next(DIST.glob("*.whl"))) as archive:
        found = {name: archive.read(name).decode() for name in archive.namelist() if ".dist-info/licenses/" in name}
    return {Path(name).name: text for name, text in found.items()}


def package() -> dict[str, str]:
    with tarfile.open(next(DIST.glob("*.tgz"))) as archive:
        found = [member for member in archive.getmembers() if member.isfile() and Path(member.name).name in NAMES]
        return {Path(member.name).name: archive.extractfile(member).read().decode() for member in found}


def tree() -> dict[str, str]:
    return {path.name: path.read_text() for path in (DIST / "prefix/share/doc/brimful").iterdir()}


@pytest.mark.parametrize("given, crate, linked", [
    (tree, "brimful-ffi", {"encoding_rs", "libc", "simdutf8", "smallvec"}),
    (wheel, "brimful-python", {"encoding_rs", "libc", "pyo3", "pyo3-ffi"}),
    (package, "brimful-node", {"encoding_rs", "libc", "napi", "napi-sys"}),
])  # fmt: skip
def test_the_licences_are_in_what_is_given_away(given, crate, linked):
    files = given()
    assert sorted(files) == NAMES
    for name in NAMES[:2]:
        assert files[name] == (ROOT / name).read_text()
    notices = files["THIRD-PARTY"]
    assert "Neither the name of the copyright holder nor the names of its" in notices, "the tables of encodings are BSD-3-Clause"
    named = set(re.findall(r"^-{100}\n(\S+) \d+\.", notices, re.MULTILINE))
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe"]
    said = subprocess.run(["cargo", "tree", "--locked", "-p", crate, *edges], cwd=ROOT, check=True, capture_output=True, text=True)
    assert linked <= named == {line.split()[0] for line in said.stdout.splitlines() if "(/" not in line}
