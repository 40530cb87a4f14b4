"""Measures every way of reading a whole body beside every other, and writes results/latest.json.

    run.py                  everything, under an hour
    run.py --quick          the headline rows, under 3 minutes
    run.py --only io,sizes  these groups alone
    run.py --minutes 20     in less time: samples get shorter where there are too many for it, never fewer than 5

A case is one size, one kind of source and one state of the heap. Each of its rows is a worker, a process of its own; the
workers of a case live side by side and are asked in turn, round by round, so that ratios can be taken pair by pair.
Afterwards each row shows one body that is compared byte by byte; one that is wrong ends the run.
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from machine import machine
from worker import Skipped, Worker

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KIB, MIB = 1 << 10, 1 << 20
ANY = 0  # a source that fills any window at once
WORKERS = ["brimful", "hand", "dotnet", "libevent", "glib", "apr", "beast", "curl", "rust", "go"]
SIZES = [0, 1, 32, 100, 512, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 16 * MIB - 1, 16 * MIB, 16 * MIB + 1,
         64 * MIB, 100_000_000]
HEADLINE_SIZES = [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]

# What the report calls a row -> the worker's row and its options. A row with "mimalloc" runs with that preloaded.
ROWS = {
    "limit": ("limit", {}),
    "pooled": ("pooled", {}),
    "pooled 256 MiB": ("pooled-256", {}),
    "pooled list": ("pooled-list", {}),
    "exact": ("exact", {}),
    "pooled known": ("pooled-256", {"length": "known"}),
    "exact known": ("exact", {"length": "known"}),
    "malloc known": ("malloc-known", {"length": "known"}),
    "malloc known, mimalloc": ("malloc-known", {"length": "known", "mimalloc": True}),
    "realloc": ("realloc", {}),
    "realloc, mimalloc": ("realloc", {"mimalloc": True}),
    "realloc loose": ("realloc-loose", {}),
    "realloc by piece": ("realloc-by-piece", {}),
    "open_memstream": ("memstream", {}),
    "evbuffer": ("evbuffer", {}),
    "evbuffer exact": ("evbuffer-exact", {}),
    "GByteArray": ("gbytearray", {}),
    "APR brigade": ("apr-brigade", {}),
    "APR brigade exact": ("apr-brigade-exact", {}),
    "beast multi_buffer": ("beast-multi-buffer", {}),
    "beast multi_buffer exact": ("beast-multi-buffer-exact", {}),
    "read_to_end": ("read-to-end", {}),
    "read_to_end known": ("read-to-end", {"length": "known"}),
    "BytesMut": ("bytes-mut", {}),
    "BytesMut known": ("bytes-mut", {"length": "known"}),
    "http-body-util": ("http-body-util", {}),
    "io.ReadAll": ("go-readall", {}),
    "bytes.Buffer": ("go-buffer-copy", {}),
    "io.ReadFull known": ("go-readfull", {"length": "known"}),
    ".NET MemoryStream": ("dotnet-memory-stream", {}),
    ".NET one pooled": ("dotnet-one-pooled", {}),
    ".NET list exact": ("dotnet-list-exact", {}),
    ".NET list pooled": ("dotnet-list-pooled", {}),
}
OURS = ["pooled", "pooled 256 MiB", "pooled list", "exact", "pooled known", "exact known"]
QUICK_ROWS = [row for row in ROWS if row not in {
    "realloc loose", "realloc by piece", "evbuffer", "APR brigade", "beast multi_buffer", "BytesMut known",
    "malloc known, mimalloc", "pooled list"}]
HEAP_ROWS = {"limit", "pooled 256 MiB", "exact", "exact known", "malloc known", "realloc", "open_memstream", "evbuffer exact",
             "GByteArray", "read_to_end", "BytesMut", ".NET list exact"}
# What the headline leaves out of the largest bodies, so that it takes less than three minutes.
SLOW_ROWS = {"APR brigade exact", "beast multi_buffer exact", ".NET one pooled", ".NET list pooled", "read_to_end known",
             "pooled known", "realloc, mimalloc", "http-body-util"}


class Bench:
    def __init__(self, build, quick):
        self.build, self.quick = Path(build), quick
        self.where, self.skipped = {}, set()
        for worker in WORKERS:
            path = self.build / worker
            if not path.exists():
                self.skipped.add(f"the rows of {worker}: not installed")
                continue
            names = subprocess.run([path], capture_output=True, text=True, check=True).stdout.split()
            self.where.update(dict.fromkeys(names, path))
        found = sorted(glob.glob("/usr/lib/*/libmimalloc.so.2*") + glob.glob("/usr/local/lib/libmimalloc.so*"))
        self.mimalloc = found[0] if found else None
        self.cases, self.memory, self.axes, self.states = [], [], [], {}
        self.hurry = 1.0  # how long samples are, as a share of what they should be

    def start(self, row, options, preload=()):
        if row not in self.where:
            raise Skipped(f"{row}: its worker is not installed")
        options = dict(options)
        preload = list(preload)
        if options.pop("mimalloc", False):
            if self.mimalloc is None:
                raise Skipped("rows under mimalloc: libmimalloc.so is not installed")
            preload.append(self.mimalloc)
        return Worker(self.where[row], row, options, preload)

    # ---- one case: all its rows in turn

    def case(self, group, rows, keys, rounds=None, sample_ns=None, more=0, **options):
        """A case for the plan: rows is label -> (worker's row, options), keys what tells it from others of its group."""
        rounds = rounds or (5 if self.quick else 7)
        sample_ns = sample_ns or (3e6 if self.quick else 8e6)
        body = options["n"] * (0.5e-9 if options["n"] >= 4e6 else 0.1e-9)
        seconds = len(rows) * (0.03 + 5 * body + rounds * max(1.1e-9 * sample_ns, 1.2 * body)) + more
        what = f"{group} " + " ".join(f"{key}={value}" for key, value in keys.items())
        return what, seconds, partial(self.measure, group, rows, keys, rounds, sample_ns, **options)

    def measure(self, group, rows, keys, rounds, sample_ns, **options):
        if self.hurry < 1:
            rounds, sample_ns = min(rounds, 5), sample_ns * self.hurry
        case = {"group": group, **keys, "rows": {}}
        workers, bodies = {}, {}
        for label, (row, own) in rows.items():
            try:
                workers[label] = self.start(row, {**options, **own})
            except Skipped as skipped:
                self.skipped.add(str(skipped))
        for label, worker in workers.items():
            first = worker.run(0)[0]
            # Twice, since the first body also pays for what is not there yet; seldom, where it is slow.
            once = worker.run(1)[0] if first < 2e8 else first
            if once < 1e5:
                once = worker.run(20)[0]
            # Even 100 MB are warm after a body of the same row, so all have one before; but for what takes fresh memory of
            # that size each time or copies as long as that, which no body before makes faster.
            bodies[label] = 0 if once > 3e7 else max(1, min(200_000, int(sample_ns / max(once, 1))))
            case["rows"][label] = {"samples": [], "faults": [], "bodies": bodies[label] or 1}
        labels = list(workers)
        for turn in range(rounds):
            turned = labels[turn % len(labels):] + labels[:turn % len(labels)]
            for label in turned:
                took, faults = workers[label].run(bodies[label])
                case["rows"][label]["samples"].append(round(took, 1))
                case["rows"][label]["faults"].append(round(faults, 2))
        for label, worker in workers.items():
            if not label.startswith("replay") and worker.ask("check") != "right":
                sys.exit(f"bench: {label} gave wrong bytes in {group} {keys}")
            told = json.loads(worker.ask("tell"))
            if told:
                case["rows"][label]["told"] = told
            worker.end()
            seen = case["rows"][label]
            seen["ns"] = statistics.median(seen["samples"])
            seen["faults"] = statistics.median(seen["faults"])
        self.cases.append(case)

    def rows(self, wanted=None):
        wanted = wanted or (QUICK_ROWS if self.quick else list(ROWS))
        return {label: ROWS[label] for label in wanted}

    # ---- the groups

    def sizes(self):
        for n in HEADLINE_SIZES if self.quick else SIZES:
            for heap in ("fresh", "freed"):
                rows = self.rows()
                if self.quick and heap == "fresh":  # headline: those that the state of glibc's heap decides
                    rows = self.rows([row for row in QUICK_ROWS if row in HEAP_ROWS])
                elif self.quick and n >= 100_000_000:
                    rows = self.rows([row for row in QUICK_ROWS if row not in SLOW_ROWS])
                yield self.case("sizes", rows, {"n": n, "most": ANY, "heap": heap}, n=n, heap=heap)

    def sources(self):
        mosts = [8000] if self.quick else [1460, 8000, 16 * KIB, 64 * KIB]
        sizes = [100_000, 10_000_000] if self.quick else [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
        for most in mosts:
            for n in sizes:
                yield self.case("sources", self.rows(), {"n": n, "most": most, "heap": "freed"}, n=n, most=most, heap="freed")

    def hints(self):
        for n in [100_000] if self.quick else [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]:
            rows = self.rows(["limit", "pooled 256 MiB", "exact", "realloc"])
            for name, hint in (("right", n), ("a tenth", n // 10), ("ten times", n * 10)):
                rows[f"pooled, hint {name}"] = ("pooled-256", {"hint": hint})
                rows[f"exact, hint {name}"] = ("exact", {"hint": hint})
            yield self.case("hints", rows, {"n": n, "most": 65536, "heap": "freed"}, n=n, most=65536, heap="freed")

    def cold(self):
        for n in [100_000, 10_000_000] if self.quick else [100, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]:
            processes = 9 * (5 if self.quick else 9)
            yield f"cold n={n}", processes * (0.01 + 1e-9 * n), partial(self.first_bodies, n)

    def first_bodies(self, n):
        """The first body of a process, with an empty pool; every sample is a process of its own."""
        wanted = ["pooled", "exact", "exact known", "malloc known", "realloc", "read_to_end", "io.ReadAll",
                  ".NET MemoryStream", ".NET list exact"]
        case = {"group": "cold", "n": n, "most": ANY, "heap": "fresh", "rows": {}}
        for _ in range(5 if self.quick else 9):
            for label in wanted:
                row, own = ROWS[label]
                try:
                    worker = self.start(row, {"n": n, **own})
                except Skipped as skipped:
                    self.skipped.add(str(skipped))
                    continue
                took, faults = worker.run(0)
                worker.end()
                seen = case["rows"].setdefault(label, {"samples": [], "faults": []})
                seen["samples"].append(took)
                seen["faults"].append(faults)
        for seen in case["rows"].values():
            seen["ns"], seen["faults"] = statistics.median(seen["samples"]), statistics.median(seen["faults"])
        self.cases.append(case)

    def threads(self):
        rows = {}
        for label, row in (("limit", "limit-threads"), ("pooled 256 MiB", "pooled-256"), ("exact", "exact"),
                           ("realloc", "realloc")):
            for threads in (1, 2):
                rows[f"{label}, {threads} thread{'s' * (threads > 1)}"] = (row, {"threads": threads})
        for n in [1_000_000] if self.quick else [1000, 100_000, 1_000_000, 10_000_000]:
            yield self.case("threads", rows, {"n": n, "most": ANY, "heap": "freed"}, n=n, heap="freed", sample_ns=2e7)
        yield self.case("handed over", {"released on the other thread": ("handed-over", {})}, {"n": 1_000_000},
                        n=1_000_000, sample_ns=1e8 if self.quick else 1e9)

    def suspended(self):
        sizes, pieces = ([1, 5, 10], [512, 8000]) if self.quick else ([1, 5, 10, 20], [512, 4096, 8000, 32767])
        ways = {"pooled known": ("read-pooled", {"length": "known"}), "exact known": ("read-exact", {"length": "known"}),
                "pooled": ("read-pooled", {}), "exact": ("read-exact", {}), "by windows": ("window-pooled", {})}
        for size in sizes:
            for piece in pieces:
                n, rows = size * MIB, {}
                for label, (row, own) in ways.items():
                    rows[label] = (row, own)
                    rows[f"{label}, suspended"] = (row, {**own, "pends": 2})
                    rows[f"{label}, suspended by a call"] = (row, {**own, "pends": 1})
                # Replay copies n * n / (2 * piece) bytes; beyond this it takes minutes.
                again = n * n / (2 * piece)
                if again <= (8e9 if self.quick else 3e10):
                    rows["replay"] = ("replay", {"length": "known"})
                    rows["replay, cached target"] = ("replay-cached", {"length": "known"})
                else:
                    again = 0
                yield self.case("suspended", rows, {"n": n, "most": piece, "heap": "fresh"}, n=n, most=piece, rounds=5,
                                more=2 * 7 * again * 0.2e-9)

    def pushes(self):
        rows = {"pooled": ("push-pooled", {}), "exact": ("push-exact", {}), "realloc": ("realloc-push", {}),
                "open_memstream": ("memstream-push", {}), "evbuffer": ("evbuffer-push", {}),
                "GByteArray": ("gbytearray-push", {}), "Vec": ("vec-push", {}), "BytesMut": ("bytes-mut-push", {}),
                "bytes.Buffer": ("go-buffer-push", {})}
        for each in [1] if self.quick else [1, 16, 256, 4096, 65536]:
            yield self.case("pushes", rows, {"n": 1_000_000, "each": each, "heap": "fresh"}, n=1_000_000, each=each)

    def io(self):
        rows = {"limit": ("limit", {}), "pooled": ("fd-pooled", {}), "exact": ("fd-exact", {}),
                "pooled known": ("fd-pooled", {"length": "known"}), "exact known": ("fd-exact", {"length": "known"}),
                "realloc": ("realloc", {}), "realloc by piece": ("realloc-by-piece", {}),
                "malloc known": ("malloc-known", {"length": "known"}), "read_to_end": ("read-to-end", {}),
                "evbuffer exact": ("evbuffer-exact", {})}
        if self.quick:
            del rows["realloc by piece"], rows["evbuffer exact"]
        sizes = [1_000_000, 100_000_000] if self.quick else [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
        for kind in ("pipe", "unix", "tcp", "file"):
            for n in sizes[:1] if self.quick and kind == "file" else sizes:
                yield self.case("io", rows, {"n": n, "kind": kind, "heap": "fresh"}, n=n, io=kind,
                             path=self.build / f"body-{os.getpid()}", sample_ns=1e7, rounds=5 if self.quick else 15)

    def curl(self):
        """libcurl from an HTTP server on loopback: the usual realloc in its write callback, and brimful there."""
        rows = {"limit": ("curl-limit", {}), "realloc": ("curl-realloc", {}), "pooled": ("curl-pooled", {}),
                "exact": ("curl-exact", {}), "pooled known": ("curl-pooled", {"length": "known"}),
                "exact known": ("curl-exact", {"length": "known"})}
        for n in [10_000, 10_000_000] if self.quick else [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]:
            yield self.case("curl", rows, {"n": n, "heap": "fresh"}, n=n, sample_ns=1e7, rounds=5 if self.quick else 9)

    def choices(self):
        """Other values of the options that have a default: what docs/design says of them. Only where it is asked for."""
        blocks, windows = [4, 8, 16, 32, 64], [16, 64, 256, 1024, 4096]
        for n in [100, 10_000, 30_000, 100_000, 1_000_000]:
            rows = {f"pooled, first_block {kib} KiB": ("pooled-256", {"first_block": kib * KIB}) for kib in blocks}
            yield self.case("choices", rows, {"n": n, "of": "first_block", "heap": "freed"}, n=n, most=65536, heap="freed",
                            rounds=15)
        for n in [1_000_000, 10_000_000, 100_000_000]:
            for kind in ("pipe", "file"):
                rows = {f"pooled, max_window {kib} KiB": ("fd-pooled", {"max_window": kib * KIB}) for kib in windows}
                yield self.case("choices", rows, {"n": n, "of": f"max_window, {kind}", "heap": "fresh"}, n=n, io=kind,
                                path=self.build / f"body-{os.getpid()}", sample_ns=1e7, rounds=15)

    def peaks(self):
        rows = {label: row for label, row in self.rows().items() if not (self.quick and label in SLOW_ROWS - {"pooled known"})}
        yield "memory n=256 MiB", len(rows) * 0.5, partial(self.most_resident, rows)

    def most_resident(self, rows):
        """The most memory resident beyond what the process had at its start, one body, a process per row."""
        n = 256 * MIB
        for label, (row, own) in rows.items():
            try:
                worker = self.start(row, {"n": n, **own, "most": 65536})
            except Skipped as skipped:
                self.skipped.add(str(skipped))
                continue
            Path(f"/proc/{worker.process.pid}/clear_refs").write_text("5")
            before = worker.resident("VmRSS")
            took, _ = worker.run(0)
            peak = worker.resident("VmHWM") - before
            self.memory.append({"row": label, "n": n, "peak": peak, "held": worker.resident("VmRSS") - before, "ns": took})
            worker.end()

    def counted(self):
        rows = {label: row for label, row in self.rows().items() if label != "limit" and not row[1].get("mimalloc")}
        for n in [10_000, 1_000_000, 100_000_000] if self.quick else [10**power for power in range(3, 9)]:
            some = {label: row for label, row in rows.items() if not (self.quick and n >= 100_000_000 and label in SLOW_ROWS)}
            yield f"axes n={n}", 2 * len(some) * (0.02 + 0.8e-9 * n), partial(self.count, n, some)

    def count(self, n, rows):
        """The four axes: bytes allocated, peak held, bytes copied, waste; of a first body and of one after others."""
        for label, (row, own) in rows.items():
            for warm in (False, True):
                try:
                    worker = self.start(row, {"n": n, "most": 65536, **own},
                                        [] if row.startswith("go-") else [self.build / "libcounts.so"])
                except Skipped as skipped:
                    self.skipped.add(str(skipped))
                    break
                if warm:
                    worker.run(0)
                self.axes.append({"row": label, "n": n, "warm": warm, **json.loads(worker.ask("count"))})
                worker.end()

    def whole_process(self):
        bodies, rounds, pause = ("20000", "3", "300") if self.quick else ("100000", "10", "1000")
        states, seconds = self.build / "states", int(rounds) * (0.6 + int(pause) / 1000)
        for way in ("brimful", "malloc", "realloc"):
            yield self.state(f"mixed {way}", 5e-5 * int(bodies), states, "mixed", way, bodies)
        python, languages, package = ROOT / ".venv/bin/python", HERE / "languages", ROOT / "build/node"
        yield self.state("mixed Python", 1e-4 * int(bodies), python, languages / "mixed.py", bodies)
        yield self.state("mixed Node", 1e-4 * int(bodies), "node", "--max-semi-space-size=1", languages / "mixed.mjs", bodies,
                         folder=package)
        yield self.state("push Python", 0.5, python, languages / "push.py", "1000000")
        yield self.state("push Node", 0.5, "node", languages / "push.mjs", "1000000", folder=package)
        for way in ("brimful", "malloc", "realloc"):
            yield self.state(f"burst {way}", seconds + 2.5 * (way == "brimful"), states, "burst", way, rounds, pause)
        yield self.state("stalls", 0.2, states, "stalls", "10000")
        for length in (16 * MIB, 1 << 30):
            for prefer in ("pooled", "exact"):
                yield self.state(f"liars {length >> 20} MiB {prefer}", 0.1, states, "liars", "1000", str(length), prefer)

    def state(self, name, seconds, *command, folder=None):
        return f"states {name}", seconds, partial(self.whole, name, command, folder)

    def whole(self, name, command, folder):
        """A program that shows a state of a whole process: one JSON object."""
        try:
            program = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        except OSError as error:
            self.skipped.add(f"{name}: {error}")
            return
        if program.returncode != 0:
            self.skipped.add(f"{name}: {(program.stderr.strip() or 'failed').splitlines()[-1]}")
            return
        self.states[name] = json.loads(program.stdout)


def say(*words):
    print(f"{time.strftime('%H:%M:%S')} ", *words, flush=True)


def duration(seconds):
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"


def follow(bench, plan, allowed):
    """Runs the plan, and says after each case how long the rest will take. The more is known the less is guessed."""
    started, done, whole = time.monotonic(), 0.0, sum(seconds for _, seconds, _ in plan)
    for i, (what, seconds, run) in enumerate(plan, 1):
        passed = time.monotonic() - started
        pace = (passed + 20) / (done + 20)  # how much slower this machine is than the guesses say
        left = pace * (whole - done)
        bench.hurry = min(1.0, max(0.1, (allowed - passed) / left))
        began = time.monotonic()
        run()
        done += seconds
        left = (time.monotonic() - started + 20) / (done + 20) * (whole - done)
        say(f"{i}/{len(plan)}", what, f"{time.monotonic() - began:.1f} s; {duration(left)} left")


def main():
    groups = {"sizes": Bench.sizes, "sources": Bench.sources, "hints": Bench.hints, "cold": Bench.cold,
              "threads": Bench.threads, "suspended": Bench.suspended, "pushes": Bench.pushes, "io": Bench.io,
              "curl": Bench.curl, "memory": Bench.peaks, "axes": Bench.counted, "states": Bench.whole_process}
    more = {"choices": Bench.choices}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the headline rows only")
    parser.add_argument("--only", default=",".join(groups), help="groups, with commas: " + ", ".join(groups | more))
    parser.add_argument("--minutes", type=float, help="how long it may take (default: 55, and 2.7 for the headline rows)")
    parser.add_argument("--build", default=ROOT / "build" / "bench", help="where the workers are")
    parser.add_argument("--results", default=HERE / "results", help="where latest.json goes")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    unknown = [group for group in wanted if group not in groups | more]
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(groups | more)}")
    bench, started, about = Bench(arguments.build, arguments.quick), time.time(), machine()
    plan = [case for group in wanted for case in (groups | more)[group](bench)]
    follow(bench, plan, 60 * (arguments.minutes or (2.7 if arguments.quick else 55)))
    for each in sorted(bench.skipped):
        say("skipped -", each)
    result = {"date": time.strftime("%Y-%m-%d"), "quick": arguments.quick, "minutes": round((time.time() - started) / 60, 1),
              "machine": about, "skipped": sorted(bench.skipped), "cases": bench.cases, "memory": bench.memory,
              "axes": bench.axes, "states": bench.states}
    path = Path(arguments.results) / "latest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, separators=(",", ":")).replace('{"group"', '\n{"group"') + "\n")
    say(path)


if __name__ == "__main__":
    main()
