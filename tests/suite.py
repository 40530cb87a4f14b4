"""Runs the test suites one after the other and tells at the end what was skipped, and how each suite closed.

    python3 tests/suite.py test              every suite; all run, also when one has failed
    python3 tests/suite.py vectors DIR       the conformance vectors in DIR on every surface

The Makefile has built and installed everything before. Output is shown as it comes and kept in build/logs.
"""

import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
PYTHON = str(ROOT / ".venv" / "bin" / "python")
PREFIX = str(ROOT / "dist" / "prefix")
CPP = ["--no-print-directory", "-C", "tests/cpp", f"PREFIX={PREFIX}", f"BUILD={ROOT / 'build' / 'cpp'}"]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


@dataclass
class Suite:
    name: str
    command: list[str]
    closing: str  # which of its lines it closes with
    skipped: str = r"(?!)"  # which of its lines name a skipped test
    folder: Path = ROOT
    environment: dict[str, str] = field(default_factory=dict)

    def run(self) -> "Outcome":
        print(f"\n== {self.name}: {' '.join(self.command)}", flush=True)
        lines = []
        started = time.monotonic()
        with open(LOGS / f"{self.name}.log", "w") as log:
            process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            for line in process.stdout:
                sys.stdout.write(line)
                sys.stdout.flush()
                log.write(line)
                lines.append(line.rstrip("\n"))
        status = process.wait()
        print(f"== {self.name}: exit status {status} after {time.monotonic() - started:.0f} s", flush=True)
        closing = [line for line in lines if re.search(self.closing, line)]
        skipped = [line.strip() for line in lines if re.search(self.skipped, line)]
        # A suite that says nothing at its end did not run to its end.
        return Outcome(self.name, status == 0 and bool(closing), closing, skipped)


@dataclass
class Outcome:
    name: str
    passed: bool
    closing: list[str]
    skipped: list[str]


def vectors(folder: str) -> list[Suite]:
    runners = {
        "rust": [str(TARGET / "release" / "examples" / "vectors")],
        "c": [str(ROOT / "build" / "c" / "vectors")],
        "cpp": ["make", *CPP, "vectors"],
        "python": [PYTHON, "bindings-python/tests/vectors.py"],
        "node": ["node", "build/node/test/vectors.mjs"],
    }
    return [
        Suite(
            f"vectors-{name}",
            [*command, f"VECTORS={ROOT / folder}" if name == "cpp" else folder],
            rf"^{name}: \d+ passed, \d+ failed$",
            r"^skipped - ",
        )
        for name, command in runners.items()
    ]


def node(name: str, program: str) -> Suite:
    """The tests of Node under one of its versions, as many files at once as there are cores."""
    files = sorted(map(str, (ROOT / "build" / "node" / "test").glob("*.test.mjs")))
    return Suite(
        name,
        [program, "--test", f"--test-concurrency={os.cpu_count()}", "--test-reporter=tap", *files],
        r"^# (tests|pass|fail|skipped) \d+",
        r"^\s*ok .* # SKIP",
        ROOT / "build" / "node",
    )


def other_nodes() -> list[Suite]:
    """The same package under the other versions of Node, with the vectors; npm has those for one kind of machine."""
    chosen = []
    for name in json.loads((ROOT / "tests" / "nodes.json").read_text())["dependencies"]:
        program = str(ROOT / "build" / "nodes" / "node_modules" / name / "bin" / "node")
        if platform.machine() == "x86_64":
            run = [program, "build/node/test/vectors.mjs", "tests/vectors"]
            chosen += [Suite(f"vectors-{name}", run, r"^node: \d+ passed, \d+ failed$", r"^skipped - "), node(name, program)]
        else:
            left_out = f"skipped - {name} was left out: npm has it for x86_64 only"
            chosen.append(Suite(name, ["echo", left_out], r"^skipped - ", r"^skipped - "))
    return chosen


def suites() -> list[Suite]:
    return [
        Suite(
            "cargo",
            ["cargo", "test", "--workspace"],
            r"^test result: ",
            r"^test .* \.\.\. ignored",
        ),
        # The workspace's tests have simdutf, which the bindings ask for; the C library is without it.
        Suite(
            "cargo-plain",
            ["cargo", "test", "-p", "brimful", "--lib", "--test", "text", "--test", "vectors"],
            r"^test result: ",
            r"^test .* \.\.\. ignored",
        ),
        *vectors("tests/vectors"),
        Suite(
            "c",
            ["make", "--no-print-directory", "-C", "tests/c", "test", f"PREFIX={PREFIX}", f"BUILD={ROOT / 'build' / 'c'}"],
            r"^c( under valgrind)?: \d+ passed",
            r"^skipped - ",
        ),
        Suite("cpp", ["make", *CPP, "test"], r"^cpp: \d+ passed", r"^skipped - "),
        Suite(
            "sanitize",
            ["make", "--no-print-directory", "-C", "tests/sanitize", "test", f"PREFIX={PREFIX}", f"TARGET={TARGET}", f"PYTHON={PYTHON}"],
            r"^(c|cpp)\b.*: \d+ passed|^canaries of ",
            r"^skipped - ",
        ),
        Suite(
            "fuzz",
            ["make", "--no-print-directory", "-C", "tests/fuzz", "test", f"PREFIX={PREFIX}", f"TARGET={TARGET}"],
            r"^fuzz \w+: \d+ runs in ",
            r"^skipped - ",
        ),
        Suite(
            "install",
            [PYTHON, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "tests/install"],
            r"^=+ .*(passed|failed|error).* =+$",
            r"^SKIPPED ",
        ),
        Suite(
            "python",
            [PYTHON, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "bindings-python/tests", "tests/end_to_end"],
            r"^=+ .*(passed|failed|error).* =+$",
            r"^SKIPPED ",
        ),
        node("node", "node"),
        *other_nodes(),
    ]


def main(arguments: list[str]) -> int:
    match arguments:
        case ["test"]:
            chosen = suites()
        case ["vectors", folder]:
            chosen = vectors(folder)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    outcomes = [suite.run() for suite in chosen]

    skipped = [(outcome.name, line) for outcome in outcomes for line in outcome.skipped]
    print(f"\n== skipped tests: {len(skipped)}")
    for name, line in skipped:
        print(f"{name}: {line}")
    failed = [outcome.name for outcome in outcomes if not outcome.passed]
    print(f"\n== failed suites: {', '.join(failed) or 'none'}")
    for outcome in outcomes:
        print(f"-- {outcome.name}")
        print("\n".join(outcome.closing) or "did not run to its end")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
