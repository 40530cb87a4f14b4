"""Measures values over many packets: the decoder that never starts again beside replay, in C, Python and Node, and writes
results/framed.json, framed.md, framed.png and framed.svg.

    measure.py                                everything, about a quarter of an hour
    measure.py --sizes 1,10 --packets 8000    these sizes (MiB) and packets alone
    measure.py --report                       the table and the plot anew from framed.json

A value of N bytes comes in packets of P bytes, chunks of 16 KiB. Unsuspended, all packets are there when the value is asked
for; suspended, one packet comes after the other, and the decoder answers after each that it needs more. A worker for
each language is asked for the ways of a case by turns, round by round. Counts are of the first value of this size in a
process, after 300 of 30 kB, seen from outside by the counting library (bench/c/counts.h).
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from hashlib import shake_128
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "examples" / "python")]

MIB = 1 << 20
CHUNK = 16384
SMALL = 30_000
SIZES = [1, 5, 10, 20]
PACKETS = [512, 4096, 8000, 32767]
WAYS = {"replay": "replay", "cached": "replay, cached target", "pooled": "ours, pooled", "exact": "ours, exact",
        "exact-unknown": "ours, exact, total unknown"}
CASES = [(use, way) for use in ("whole", "pieces") for way in WAYS if use == "whole" or not way.startswith("exact")]
# About what a replay costs for each packet, in ns, and the longest that all its attempts may take: above it only each
# stride-th is made. Replay of 10 MiB in packets of 8000 bytes is always made in full.
PER_PACKET = {"C": 12, "Python": 900, "Node": 120}
LONGEST = 2.5e9


class Worker:
    def __init__(self, language, build, node, python, counts=False):
        command = {"C": [build / "worker"], "Python": [python, HERE / "worker.py"], "Node": ["node", node / "framed" / "worker.mjs"]}
        environment = dict(os.environ)
        if counts:
            environment["LD_PRELOAD"] = str(build / "libcounts.so")
            environment["COUNTS_ADDON"] = str(build / "counts.node")
        self.process = subprocess.Popen([str(part) for part in command[language]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"bench: the worker ended at {words}")
        return json.loads(answer)

    def end(self):
        # Not left to itself: Node 20 can wait for ever for a compiler thread of its own when it ends.
        self.process.kill()
        self.process.communicate()


def lay(folder, n, size):
    """The connection and what must come out of it, as files."""
    from framed import packets, value

    content, connection = folder / f"content-{n}", folder / f"packets-{n}-{size}"
    if not content.exists():
        content.write_bytes(shake_128(b"framed").digest(n))
    if not connection.exists():
        connection.write_bytes(packets([value(content.read_bytes(), chunk=CHUNK)], size))
    return connection, content


def stride_of(language, n, size):
    """Of the attempts of a replay, each how many-th is made."""
    packets = n // size
    cost = packets * packets / 2 * (PER_PACKET[language] + size * 0.35)
    return 1 if (n, size) == (10 * MIB, 8000) else max(1, math.ceil(cost / LONGEST))


def measure(arguments, n, size):
    connection, content = lay(arguments.build, n, size)
    small = lay(arguments.build, SMALL, size)
    for language in arguments.languages:
        rows = {(use, way, stops): {"samples": []} for use, way in CASES for stops in (0, 1)}
        worker = Worker(language, arguments.build, arguments.node, arguments.python)
        worker.ask("load", connection, content, size)
        plans = {}
        for use, way, stops in rows:
            if not worker.ask("check", way, use, stops)["right"]:
                sys.exit(f"bench: {way} gave wrong bytes: {language}, {use}, {n} bytes, packets of {size}")
            heavy = stops and way in ("replay", "cached") and use == "whole"
            stride = stride_of(language, n, size) if heavy else 1
            once = 0 if heavy else worker.ask("read", way, use, stops, stride, 1)["ns"]
            if not heavy and once < 3e8:  # what is compiled as it runs is compiled before it is measured
                once = worker.ask("read", way, use, stops, stride, max(2, int(1e8 // once)))["ns"]
            slow = heavy or once > 3e8
            plans[use, way, stops] = stride, 1 if slow else max(1, int(1e7 // once)), 1 if slow else arguments.rounds
        for turn in range(arguments.rounds):
            for (use, way, stops), (stride, repeats, rounds) in plans.items():
                if turn < rounds:
                    rows[use, way, stops]["samples"].append(worker.ask("read", way, use, stops, stride, repeats)["ns"])
        worker.end()
        for (use, way, stops), row in rows.items():
            # The counts of a replay are sums of equal parts, so a few attempts tell them.
            stride = max(plans[use, way, stops][0], n // size // 40) if plans[use, way, stops][2] == 1 else 1
            # Node's own threads and heap allocate too, now more, now less.
            seen = [count(arguments, language, way, use, stops, stride, small, connection, content, size)
                    for _ in range(3 if language == "Node" else 1)]
            row["counts"] = min(seen, key=lambda counts: counts["allocated"])
            yield {"language": language, "n": n, "packet": size, "use": use, "way": way, "suspended": stops,
                   "stride": plans[use, way, stops][0], "ns": statistics.median(row["samples"]), **row}
        print(time.strftime("%H:%M:%S"), language, f"{n // MIB} MiB, packets of {size}", flush=True)


def count(arguments, language, way, use, stops, stride, small, connection, content, size):
    worker = Worker(language, arguments.build, arguments.node, arguments.python, counts=True)
    # What compiles and starts by itself has done so before.
    worker.ask("load", *small, size)
    worker.ask("read", way, use, stops, 1, 300)
    worker.ask("load", connection, content, size)
    seen = worker.ask("count", way, use, stops, stride)
    worker.end()
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench" / "framed")
    parser.add_argument("--node", type=Path, default=ROOT / "build" / "node", help="where the package is installed")
    parser.add_argument("--python", default=ROOT / ".venv" / "bin" / "python", help="where the wheel is installed")
    parser.add_argument("--results", type=Path, default=HERE.parent / "results")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="in MiB, with commas")
    parser.add_argument("--packets", default=",".join(map(str, PACKETS)))
    parser.add_argument("--languages", default="C,Python,Node")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    arguments.languages = arguments.languages.split(",")
    path = arguments.results / "framed.json"
    if not arguments.report:
        from machine import machine

        about, started, cases = machine(), time.time(), []
        for n in map(int, arguments.sizes.split(",")):
            for size in map(int, arguments.packets.split(",")):
                cases += measure(arguments, n * MIB, size)
        result = {"date": time.strftime("%Y-%m-%d"), "minutes": round((time.time() - started) / 60, 1), "machine": about, "cases": cases}
        path.write_text(json.dumps(result, separators=(",", ":")).replace('{"language"', '\n{"language"') + "\n")
    import tables

    tables.write(json.loads(path.read_text()), WAYS, arguments.results)


if __name__ == "__main__":
    main()
