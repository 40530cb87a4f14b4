"""Measures the example client for PostgreSQL beside libpq; writes results/postgres.json and postgres.md.

Each figure is a process of its own, which reads one value of `size` bytes (a bytea, in binary) once and then some times
more. Each round runs every reader once, in an order that turns, and a ratio is taken within a round; then the median.
"""

import argparse
import datetime
import json
import mmap
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "tests/end_to_end")]

import postgres_server  # noqa: E402
from machine import machine  # noqa: E402

RESULTS = HERE.parent / "results"
TIMES = {1_000_000: 40, 16_000_000: 8, 64_000_000: 4, 256_000_000: 2}
READERS = {  # label: program, how
    "libpq blocking": ("libpq", "blocking"),
    "libpq single-row": ("libpq", "single"),
    "exact": ("brimful", "exact"),
    "pooled": ("brimful", "pooled"),
}
OURS, OTHERS = ("exact", "pooled"), ("libpq blocking", "libpq single-row")
SERVERS = {
    "postgres": "PostgreSQL",
    "replay": "A server that only sends what PostgreSQL answered, out of memory",
}
FIGURES = {"next": "time", "first": "time of the first", "processor": "processor time", "peak": "peak memory"}


def touch(size: int) -> None:
    """Uses memory in small and in huge pages and gives it back, so that every reader finds memory that the machine has
    at hand: a virtual machine's first use of a page is its host's work, ten times as slow (256 MB in huge pages: 460 ms
    once, then 45), and whoever comes first would pay."""
    for huge in (False, True):
        with mmap.mmap(-1, 2 * size + (8 << 20), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            if huge and hasattr(mmap, "MADV_HUGEPAGE"):
                memory.madvise(mmap.MADV_HUGEPAGE)
            for at in range(0, len(memory), mmap.PAGESIZE):
                memory[at] = 1


def once(program: Path, port: int, how: str, size: int) -> dict:
    query = f"SELECT bytes FROM pieces WHERE size = {size}"
    command = [program, str(port), "reader", postgres_server.DATABASE, how, query, str(TIMES[size])]
    touch(size)
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told["bytes"] == size, told
    return told


def measure(programs: dict[str, Path], ports: dict[str, int], rounds: int) -> list[dict]:
    cases = []
    for server, port in ports.items():
        for size in TIMES:
            samples: dict[str, list[dict]] = {label: [] for label in READERS}
            for number in range(rounds):
                order = list(READERS)
                order = order[number % len(order) :] + order[: number % len(order)]
                for label in order:
                    program, how = READERS[label]
                    samples[label].append(once(programs[program], port, how, size))
            cases.append({"server": server, "size": size, "samples": samples})
            print(f"{server} {size}", flush=True)
    return cases


def median(case: dict, label: str, figure: str) -> float:
    return statistics.median(sample[figure] for sample in case["samples"][label])


def ratio(case: dict, ours: str, other: str, figure: str) -> list[float]:
    """Least, median, most of the rounds' ratios."""
    pairs = zip(case["samples"][ours], case["samples"][other])
    ratios = sorted(one[figure] / two[figure] for one, two in pairs)
    return [ratios[0], statistics.median(ratios), ratios[-1]]


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def report(all_of_it: dict) -> str:
    made = all_of_it["machine"]
    busy = "**busy: other programs ran beside; figures are rough**" if made["load_at_start"] > 0.5 else "nothing beside"
    parts = [
        "# Values from PostgreSQL, beside libpq\n",
        f"{all_of_it['date']}, `make bench-postgres`; {all_of_it['server']}, libpq of the same; {made['cpu']}, "
        f"{made['cores']} cores, Linux {made['kernel']}; load when it began: {made['load_at_start']:.1f} ({busy}).\n",
        "One bytea in binary over TCP on loopback, by the client of `examples/c/postgres`: `exact` is memory of just "
        "its length from malloc, `pooled` a buffer of the default pool. `libpq blocking` is PQexecParams, `libpq "
        "single-row` PQsendQueryParams in single-row mode on a connection that does not block. A process for each "
        "figure; times are of a value after the first, or of the first; processor time is the reader's own; peak memory "
        "is the most that was resident of the whole process. "
        f"Ratios are ours / libpq, smaller is better: median of {all_of_it['rounds']} rounds (least to most).\n",
    ]
    for server, title in SERVERS.items():
        cases = [case for case in all_of_it["cases"] if case["server"] == server]
        parts.append(f"## {title}\n")
        rows = []
        for case in cases:
            for label in READERS:
                times = [f"{median(case, label, figure) * 1e3:.2f} ms" for figure in ("next", "first", "processor")]
                peak = f"{median(case, label, 'peak') / 1e6:.1f} MB"
                rows.append([f"{case['size'] // 10**6} MB", label, *times, peak])
        parts.append(table(["value", "reader", *FIGURES.values()], rows))
        rows = []
        for case in cases:
            for ours in OURS:
                for other in OTHERS:
                    cells = []
                    for figure in FIGURES:
                        least, middle, most = ratio(case, ours, other, figure)
                        cells.append(f"{middle:.2f} ({least:.2f} to {most:.2f})")
                    rows.append([f"{case['size'] // 10**6} MB", f"{ours} / {other}", *cells])
        parts.append(table(["value", "ratio", *FIGURES.values()], rows))
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    installation = postgres_server.Installation.find()
    if installation is None:
        print("skipped - values from PostgreSQL (no server is installed)")
        return 0
    made = machine()
    server = postgres_server.Server(installation)
    with tempfile.TemporaryDirectory() as scratch:
        programs = {
            "brimful": postgres_server.build_brimful(Path(scratch)),
            "libpq": postgres_server.build_libpq(Path(scratch), installation),
        }
        if programs["libpq"] is None:
            print("skipped - values from PostgreSQL (libpq's header is not installed)")
            return 0
        replay = None
        try:
            server.start()
            server.fill(list(TIMES), words_up_to=0)
            command = [sys.executable, HERE / "replay.py", str(server.port)]
            replay = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            ports = {"postgres": server.port, "replay": int(replay.stdout.readline())}
            version = server.sql("SHOW server_version").split()[0]
            all_of_it = {
                "date": datetime.date.today().isoformat(), "server": f"PostgreSQL {version}", "rounds": rounds,
                "times": TIMES, "machine": made, "cases": measure(programs, ports, rounds),
            }  # fmt: skip
        finally:
            if replay is not None:
                replay.kill()
                replay.wait()
            server.stop()
    RESULTS.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in all_of_it.pop("cases"))
    (RESULTS / "postgres.json").write_text(json.dumps(all_of_it)[:-1] + f', "cases": [\n{lines}\n]}}\n')
    cases = json.loads((RESULTS / "postgres.json").read_text())
    (RESULTS / "postgres.md").write_text(report(cases))
    print(RESULTS / "postgres.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
