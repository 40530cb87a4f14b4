"""What `make demo` runs ends well: every body from a real server through every client as it is expected."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_body_of_the_demo_ends_as_expected():
    done = subprocess.run(
        [sys.executable, ROOT / "examples/demo/demo.py"], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(" as expected, 0 not")
