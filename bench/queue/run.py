"""Measures queues of bytes side by side and writes bench/results/queue.json and queue.md.

    python3 bench/queue/run.py --build DIR [--pairs N]

DIR has the programs queue-c and queue-rust. The queues take turns, so that what else the machine does falls on all of
them alike; what is told is the median of each, and the median of the ratios within a turn. Memory is the most that was
resident beyond the start, the smallest of all turns.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "results"

# name, rounds, bytes that go through the queue in a round, what happens
WORKS = [
    ("small", 2_000_000, 16, "16 bytes in, 16 out; nothing else waits"),
    ("backlog", 2_000_000, 100, "100 bytes in, 100 out; 64 KiB wait"),
    ("chunks", 20_000, 16384, "16 KiB in, 16 KiB out; 1 MiB waits"),
    ("windows", 50_000, 16384, "16 KiB by a window, out in pieces of 1 KiB"),
    ("flood", 3, 64 << 20, "64 MiB in by pieces of 4 KiB, then out by pieces of 64 KiB"),
    ("handoff", 1_000, 1 << 20, "1 MiB in by pieces of 4 KiB, then handed on as a body"),
]
LONG = ("small", 10_000_000, "10 000 000 times 16 bytes in, 16 out")


def queues(build: Path) -> dict[str, tuple[str, Path]]:
    found = {}
    for language, program in (("C", build / "queue-c"), ("Rust", build / "queue-rust")):
        if not program.exists():
            print(f"skipped - queues in {language} ({program} was not built)")
            continue
        for name in subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n"):
            if name:
                found[name] = (language, program)
    return found


def run(program: Path, queue: str, work: str, rounds: int) -> tuple[float, int]:
    done = subprocess.run([program, queue, work, str(rounds)], capture_output=True, text=True, check=True)
    took, memory = done.stdout.split()
    return float(took), max(int(memory), 0)


def time_of(ns: float) -> str:
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def memory_of(count: int) -> str:
    return f"{count / (1 << 20):.2f} MiB" if count >= 1 << 20 else f"{count // 1024} KiB"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=9)
    arguments = parser.parse_args()
    found = queues(arguments.build)
    ours = {"C": "brimful", "Rust": "brimful-rust"}
    rows = []
    for work, rounds, size, what in WORKS:
        seen = {name: [] for name in found}
        for _ in range(arguments.pairs):
            for name, (_, program) in found.items():
                seen[name].append(run(program, name, work, rounds))
        for name, (language, _) in found.items():
            mine = seen[ours[language]]
            ratios = [times[0] / own[0] for times, own in zip(seen[name], mine)]
            rows.append({
                "work": work, "what": what, "bytes": size, "language": language, "queue": name,
                "ns": statistics.median(times[0] for times in seen[name]),
                "ratio": statistics.median(ratios),
                "memory": min(times[1] for times in seen[name]),
            })
            print(work, name, f"{rows[-1]['ns']:.1f} ns, {rows[-1]['ratio']:.2f}", flush=True)
    work, rounds, what = LONG
    long = []
    for name in ours.values():
        if name in found:
            took, memory = run(found[name][1], name, work, rounds)
            long.append({"what": what, "queue": name, "seconds": took * rounds / 1e9, "memory": memory})
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, {platform.machine()}"
    date = datetime.date.today().isoformat()
    RESULTS.mkdir(exist_ok=True)
    data = {"date": date, "machine": machine, "pairs": arguments.pairs, "rows": rows, "long": long}
    (RESULTS / "queue.json").write_text(json.dumps(data, indent=1) + "\n")
    (RESULTS / "queue.md").write_text(report(data))


def report(data: dict) -> str:
    lines = [
        "# Queues of bytes, side by side", "",
        f"{data['date']}, {data['machine']}; {data['pairs']} turns. Time: the median for one round. Ratio: that queue's time over "
        "brimful's in the same language and turn, the median; above 1, brimful is faster. Memory: the most that was resident "
        "beyond the start, in the turn with the least.", "",
        "C: `brimful` by its C interface, libevent's `evbuffer` without its locks. Rust: `brimful-rust` by its Rust "
        "interface, `BytesMut` and a `VecDeque` of `Bytes` of the bytes crate, the standard library's `VecDeque<u8>`. "
        "`BytesMut` and `VecDeque<u8>` lie in one piece of memory that grows by moving, and give nothing back before "
        "their end.", "",
    ]
    for work, _, _, what in WORKS:
        lines += [f"## {what}", "", "| language | queue | time | ratio | memory |", "| --- | --- | ---: | ---: | ---: |"]
        for row in data["rows"]:
            if row["work"] == work:
                lines.append(
                    f"| {row['language']} | {row['queue']} | {time_of(row['ns'])} | {row['ratio']:.2f} | {memory_of(row['memory'])} |"
                )
        lines.append("")
    lines += ["## Constant memory", "", "| what | queue | time | memory |", "| --- | --- | ---: | ---: |"]
    for row in data["long"]:
        lines.append(f"| {row['what']} | {row['queue']} | {row['seconds']:.2f} s | {memory_of(row['memory'])} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
