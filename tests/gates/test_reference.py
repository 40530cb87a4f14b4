"""Doxygen makes the reference without a warning, and would say it where something is not documented."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def complaints(headers: Path, output: Path) -> str:
    if shutil.which("doxygen") is None:
        pytest.skip("the reference (doxygen is not installed)")
    settings = (ROOT / "docs/Doxyfile").read_text() + f"INPUT = {headers}\nSTRIP_FROM_PATH = {headers}\nOUTPUT_DIRECTORY = {output}\n"
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True)
    assert bool(done.stderr) == bool(done.returncode), done.stderr
    return done.stderr


@pytest.fixture
def headers(tmp_path) -> Path:
    return Path(shutil.copytree(ROOT / "include", tmp_path / "include"))


def test_the_reference_is_made_without_a_warning(headers, tmp_path):
    assert complaints(headers, tmp_path) == ""
    page = (tmp_path / "html" / "brimful_8h.html").read_text()
    for name in (ROOT / "ffi/exports.txt").read_text().split():
        assert re.search(rf"<h2 class=\"memtitle\">.*{name}\(\)</h2>", page), name


def test_it_warns_of_what_has_no_comment_in_cpp(headers, tmp_path):
    header = headers / "brimful.hpp"
    text = header.read_text()
    assert "/// Whether there is memory." in text
    header.write_text(text.replace("/// Whether there is memory.", ""))
    assert re.search(r"operator bool\(\).* is not documented", complaints(headers, tmp_path))


@pytest.mark.parametrize("what", ["uint64_t peak_held;", "#define BRIMFUL_PENDING 1", "uint64_t brimful_queue_length("])
def test_it_warns_of_what_has_no_comment(headers, tmp_path, what):
    header = headers / "brimful.h"
    text = header.read_text()
    before, after = text.split(what)
    comment = before.rindex("/**")
    header.write_text(before[:comment] + what + after)
    name = re.findall(r"\w+", what)[-1 if what[0] != "#" else 1]
    assert re.search(rf"{name}.* is not documented", complaints(headers, tmp_path))
