"""The examples of the README are files of this repository, word for word, and each of them runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFIX = ROOT / "dist" / "prefix"
SIZE = 300_000  # more than a first block


def run(command: list[object], **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, timeout=120, **options)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def url():
    """A body of SIZE bytes on the demo's server."""
    server = subprocess.Popen(
        [sys.executable, ROOT / "examples/demo/server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    yield f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/chunked/{SIZE}"
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=10)


def test_every_example_in_the_readme_is_its_file():
    readme = (ROOT / "README.md").read_text()
    found = re.findall(r"\[`(\S+)`\]\(\1\)\n\n```\w+\n(.*?)```", readme, re.DOTALL)
    assert [Path(name).suffix for name, _ in found] == [".c", ".cpp", ".py", ".mjs", ".rs"]
    for name, shown in found:
        assert shown == (ROOT / name).read_text(), f"the README shows another {name}"


def test_the_c_example_runs(tmp_path):
    program = tmp_path / "whole_body"
    compiler = os.environ.get("CC", "cc")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{PREFIX}/include", f"-L{PREFIX}/lib", f"-Wl,-rpath,{PREFIX}/lib"]
    run([compiler, ROOT / "examples/c/whole_body.c", "-o", program, *flags, "-lbrimful"])
    assert run([program], input=bytes(SIZE)) == f"{SIZE} bytes in one piece\n"


def test_the_python_example_runs(url):
    assert run([sys.executable, ROOT / "examples/python/whole_body.py", url]) == f"{SIZE} bytes\n"


def test_the_node_example_runs(url):
    # Node finds the package from where the program lies: make lays a copy of it beside the installed package.
    assert run(["node", ROOT / "build/node/examples/whole_body.mjs", url]) == f"{SIZE} bytes\n"


def test_the_rust_example_runs():
    command = ["cargo", "run", "--quiet", "--release", "-p", "brimful", "--example", "whole_body"]
    assert run(command, input=bytes(SIZE), cwd=ROOT) == f"{SIZE} bytes in one piece\n"
