"""The binary interface is that of abi/brimful.abi: the types, their layout, the functions and their parameters.

`make abi BLESS=1` writes the description anew. It is made from the header, of which another test knows that it is what
the library's source says: each function is defined, empty, in a library with debug information. The library itself would
describe what is inside the handles too, which is nobody's business and changes with every release.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from interface import HEADER, ROOT, declarations

DESCRIPTION = ROOT / "abi" / "brimful.abi"

# What abidiff's exit status says in its bits.
CHANGED, INCOMPATIBLE = 4, 8


def definition(declaration: str) -> str:
    answers_nothing = re.match(r"void \w", declaration)
    return f"{declaration} {{ {'' if answers_nothing else 'return 0; '}}}\n"


@pytest.fixture
def library(tmp_path) -> Path:
    if shutil.which("abidiff") is None:
        pytest.skip("the binary interface (abidiff is not installed)")
    source = tmp_path / "interface.c"
    source.write_text("#include <brimful.h>\n" + "".join(map(definition, declarations())))
    command = ["gcc", "-std=c11", "-g", "-w", "-fPIC", "-shared", f"-I{HEADER.parent}", "-Wl,-soname,libbrimful.so.0"]
    subprocess.run([*command, "interface.c", "-o", "libbrimful.so"], cwd=tmp_path, check=True)
    return tmp_path / "libbrimful.so"


def describe(library: Path) -> str:
    options = "--no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash".split()
    return subprocess.run(["abidw", *options, library], check=True, capture_output=True, text=True).stdout


def test_every_exported_function_is_found_in_the_header():
    found = {re.search(r"(brimful_\w+)\(", declaration)[1] for declaration in declarations()}
    assert found == set((ROOT / "ffi" / "exports.txt").read_text().split())


def test_the_binary_interface_is_the_described_one(library):
    if os.environ.get("BLESS"):
        DESCRIPTION.parent.mkdir(exist_ok=True)
        DESCRIPTION.write_text(describe(library))
    done = subprocess.run(["abidiff", DESCRIPTION, library], capture_output=True, text=True)
    kind = "breaks programs that were compiled before" if done.returncode & INCOMPATIBLE else "differs"
    assert done.returncode == 0, f"the interface {kind}; where that is meant: make abi BLESS=1\n{done.stdout}{done.stderr}"


def test_a_field_that_moves_and_a_function_that_is_gone_are_seen(library, tmp_path):
    """That abidiff does its work: it would also be silent without debug information."""
    spoilt = DESCRIPTION.read_text()
    moved = spoilt.replace("data-member access='public' layout-offset-in-bits='64'", "data-member access='public' layout-offset-in-bits='96'", 1)
    assert moved != spoilt
    (tmp_path / "moved.abi").write_text(moved)
    assert subprocess.run(["abidiff", tmp_path / "moved.abi", library], capture_output=True).returncode & CHANGED

    source = (tmp_path / "interface.c").read_text()
    fewer = source.replace(definition(next(d for d in declarations() if "brimful_pool_trim(" in d)), "")
    assert fewer != source
    (tmp_path / "fewer.c").write_text(fewer)
    subprocess.run(["gcc", "-g", "-w", "-fPIC", "-shared", f"-I{HEADER.parent}", "fewer.c", "-o", "fewer.so"], cwd=tmp_path, check=True)
    assert subprocess.run(["abidiff", DESCRIPTION, tmp_path / "fewer.so"], capture_output=True).returncode & INCOMPATIBLE
