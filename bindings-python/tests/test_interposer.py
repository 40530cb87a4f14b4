"""What the library says of itself agrees with what an interposer counts from outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import paint

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def interposer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    library = tmp_path_factory.mktemp("interposer") / "libinterpose.so"
    source = ROOT / "tests" / "interposer" / "interpose.c"
    subprocess.run([compiler, "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def test_allocations_agree_exactly_and_copies_within_one_percent(interposer: Path, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(paint(50_400_000))
    run = subprocess.run(
        [sys.executable, Path(__file__).with_name("interposed.py"), body],
        env=os.environ | {"LD_PRELOAD": str(interposer)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(lines) >= 10
    wrong = [
        line
        for line in lines
        if line["allocations"] != line["counted_allocations"]
        or abs(line["copied"] - line["counted_copied"]) > max(line["copied"], line["counted_copied"]) / 100
    ]
    assert not wrong, "\n".join(map(str, wrong))
