"""make demo: reads bodies from a real HTTP server through C, Python and Node, and prints one table.

The server is a process of its own and tells each body's SHA-256 on a second connection. Nothing but the URL is told to
a client, and a limit in the cases above it: a length that a client enforces it has from the server's own words. Exit
status 0 only if every outcome is the expected one.
"""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"1 kB": 1_000, "10 kB": 10_000, "100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000, "64 MB": 64_000_000}
LIMIT = 100_000


@dataclass(frozen=True)
class Case:
    name: str
    mode: str
    size: int
    outcome: str = "ok"
    limit: int | None = None

    @property
    def bytes(self) -> int:
        """How many bytes a client must end up with: the body, or what can be taken after the error."""
        match self.outcome:
            case "short":
                return self.size * 3 // 4  # where the server hangs up
            case "limit":
                return 0 if self.mode == "length" else LIMIT  # an announcement above the limit is refused unread
        return self.size

    @property
    def path(self) -> str:
        return f"{self.mode}/{self.size}"


CASES = [
    *(Case(f"Content-Length, {name}", "length", size) for name, size in SIZES.items()),
    *(Case(f"chunked, {name}", "chunked", size) for name, size in SIZES.items()),
    *(Case(f"until close, {name}", "close", SIZES[name]) for name in ("10 kB", "1 MB", "64 MB")),
    Case("slow pieces, 1 MB", "slow", SIZES["1 MB"]),
    Case("slow chunks, 1 MB", "slow-chunked", SIZES["1 MB"]),
    Case("cut short, 100 kB", "cut", SIZES["100 kB"], "short"),
    Case("cut short, 10 MB", "cut", SIZES["10 MB"], "short"),
    Case("above the limit, length", "length", SIZES["1 MB"], "limit", LIMIT),
    Case("above the limit, chunked", "chunked", SIZES["1 MB"], "limit", LIMIT),
    Case("above the limit, close", "close", SIZES["1 MB"], "limit", LIMIT),
]


@dataclass(frozen=True)
class Program:
    """One process that reads one URL with each of its clients, and prints a JSON line for each."""

    language: str
    clients: int
    command: list[str]
    reads_chunked: bool = True

    def read(self, url: str, limit: int | None) -> list[dict]:
        arguments = ["--limit", str(limit)] if limit is not None else []
        done = subprocess.run([*self.command, url, *arguments], capture_output=True, text=True, timeout=300, cwd=ROOT)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if len(lines) != self.clients:
            raise SystemExit(f"{self.language}: {self.clients} answers expected, {len(lines)} came\n{done.stdout}{done.stderr}")
        return lines


PROGRAMS = [
    Program("C", 1, [str(ROOT / "build/c/http_get")], reads_chunked=False),
    Program("Python", 2, [sys.executable, "examples/python/http_clients.py"]),
    Program("Node", 2, ["node", "build/node/examples/http_clients.mjs"]),
]


@contextmanager
def server() -> Iterator[str]:
    """The server in a process of its own; its address."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    finally:
        process.stdin.close()
        process.wait(timeout=10)


def hash_of(address: str, case: Case) -> str:
    with urllib.request.urlopen(f"{address}/sha256/{case.path}?first={case.bytes}") as answer:
        return answer.read().decode()


class Progress:
    """One line that is written over on a terminal; elsewhere a line now and then."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.told = time.monotonic()

    def step(self, what: str) -> None:
        self.done += 1
        line = f"[{self.done}/{self.total}] {what}"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.told > 2:
            self.told = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def size(count: float) -> str:
    for unit in ("B", "kB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1000
    return f"{count:.3g} MB" if count < 1000 else f"{count / 1000:.3g} GB"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"


HEADINGS = (
    "language", "client", "case", "outcome", "bytes", "hash", "copied", "allocations", "peak held", "time", "usual", "ratio",
)  # fmt: skip


def row(language: str, case: Case, answer: dict, expected_hash: str) -> tuple[list[str], bool]:
    outcome_right = answer["outcome"] == case.outcome
    bytes_right = answer["bytes"] == case.bytes
    hash_right = answer["sha256"] == expected_hash
    usual = answer.get("usual_seconds")
    cells = [
        language,
        answer["client"],
        case.name,
        answer["outcome"] if outcome_right else f"{answer['outcome']}, not {case.outcome}!",
        str(answer["bytes"]) if bytes_right else f"{answer['bytes']}, not {case.bytes}!",
        "right" if hash_right else "WRONG",
        size(answer["copied"]),
        str(answer["allocations"]),
        size(answer["peak_held"]),
        duration(answer["seconds"]),
        duration(usual),
        f"{answer['seconds'] / usual:.2f}" if usual else "-",
    ]
    return cells, outcome_right and bytes_right and hash_right


def print_table(rows: list[list[str]]) -> None:
    widths = [max(len(cells[column]) for cells in [list(HEADINGS), *rows]) for column in range(len(HEADINGS))]
    left = 4  # the first columns are words, the others figures
    for cells in [list(HEADINGS), ["-" * width for width in widths], *rows]:
        aligned = (
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        print("  ".join(aligned).rstrip())


def main() -> int:
    rows, wrong = [], 0
    plan = [
        (program, case)
        for program in PROGRAMS
        for case in CASES
        if program.reads_chunked or "chunked" not in case.mode
    ]
    with server() as address:
        progress = Progress(len(plan))
        for program, case in plan:
            progress.step(f"{program.language}: {case.name}")
            expected_hash = hash_of(address, case)  # before the clock runs, since the server makes a body on its first use
            for answer in program.read(f"{address}/{case.path}", case.limit):
                cells, right = row(program.language, case, answer, expected_hash)
                rows.append(cells)
                wrong += not right
        progress.end()
    print_table(rows)
    print()
    print('usual: realloc doubling in C, b"".join in Python, Buffer.concat in Node, from the same client')
    print(f"{len(rows)} bodies, {len(rows) - wrong} as expected, {wrong} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
