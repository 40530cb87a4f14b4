"""The targets of the project, each held against what was measured. Those that are missed are told with the rest."""

import statistics

from results import best, beyond, has, ns, ratio, size

# What each target is about. T10 and T11 are the bindings' own, beside what their languages have.
TITLES = {
    "T1": "C, length unknown, pooled, warm: beside copies into memory that is there",
    "T2": "C, exact, length known: beside malloc, read, free",
    "T3": "C, exact, length unknown: beside the best of the peers in C and Rust",
    "T4": "beside Go",
    "T5": "beside .NET's ways, made again in C",
    "T6": "suspended after every piece: beside the same calls unsuspended, and beside replay",
    "T7": "a million pushes of one byte",
    "T8": "two threads, one pool",
    "T9": "most resident memory, 256 MiB",
    "T12": "bodies of mixed sizes in a loop: no memory from the system, resident memory flat",
    "T13": "real I/O by descriptor: pipe, Unix socket, TCP, file",
    "T14": "the four axes: bytes allocated, peak held, bytes copied, waste",
    "T15": "bodies that stall, and announcements that lie: resident memory of each",
    "burst": "200 bodies of 5 MiB at once, again and again, then idle",
}

MIB = 1 << 20
SMALL, LARGE = 10_000, 100_000
EXACT_PEERS = ["realloc", "realloc, mimalloc", "read_to_end", "open_memstream", "GByteArray", "evbuffer exact", "BytesMut",
               "http-body-util"]


def line(target, what, ours, other, value, bound, unit="x"):
    """One line of the table: the value is to be at most `bound` (at least it, where the unit begins with a +)."""
    at_least = unit.startswith("+")
    unit = unit.lstrip("+")
    reached = value >= bound if at_least else value <= bound
    shown = (lambda each: (ns(each) if each >= 0 else "-" + ns(-each)) + unit[2:]) if unit.startswith("ns") else \
        size if unit == "B" else (lambda each: f"{each:.4g} {unit}".strip())
    return {"target": target, "case": what, "ours": ours, "other": other, "value": shown(value),
            "bound": ("at least " if at_least else "at most ") + shown(bound), "reached": bool(reached),
            "beyond": bound / max(value, 1e-9) if at_least else value / bound if bound > 0 else 1 + value}


def times(target, case, ours, other, bound, what):
    return line(target, what, f"{ours}: {ns(case['rows'][ours]['ns'])}", f"{other}: {ns(case['rows'][other]['ns'])}",
                ratio(case, ours, other), bound)


def more(target, case, ours, other, bound, what):
    return line(target, what, f"{ours}: {ns(case['rows'][ours]['ns'])}", f"{other}: {ns(case['rows'][other]['ns'])}",
                beyond(case, ours, other), bound, "ns more")


def held(results):
    """All lines, in the order of the targets."""
    lines = []
    for part in (pooled_warm, exact_known, exact_unknown, against_go, against_dotnet, suspended, pushes, threads, peaks,
                 mixed, real_io, axes, stalls, burst):
        lines += part(results)
    return lines


def worst(lines):
    """The line that is furthest from what it is to be, or nearest to it where all are reached."""
    return max(lines, key=lambda each: (not each["reached"], each["beyond"]))


def of_target(lines):
    """Target -> its lines, for all targets."""
    return {target: [each for each in lines if each["target"] == target] for target in TITLES}


def sizes(results, heap=None):
    for case in results.of("sizes"):
        if heap is None or case["heap"] == heap:
            yield case, case["n"], f"{size(case['n'])}, heap {case['heap']}"


def pooled_warm(results):
    for case, n, what in sizes(results, "freed"):
        if n >= LARGE:
            yield times("T1", case, "pooled 256 MiB", "limit", 1.15, what)
            if n <= 64 * MIB:  # what the default pool keeps
                yield times("T1", case, "pooled", "limit", 1.15, what)
        elif n <= SMALL:
            yield more("T1", case, "pooled 256 MiB", "limit", 80, what)


def exact_known(results):
    for case, n, what in sizes(results):
        if n >= 64 * MIB:
            yield times("T2", case, "exact known", "malloc known", 0.4, what)
        elif n >= LARGE:
            yield times("T2", case, "exact known", "malloc known", 1.05, what)
        else:
            yield more("T2", case, "exact known", "malloc known", 80, what)


def exact_unknown(results):
    for case, n, what in sizes(results):
        other = best(case, "exact", EXACT_PEERS)
        if n >= LARGE:
            yield times("T3", case, "exact", other, 0.4 if n >= 64 * MIB else 1.0, what)
        else:
            yield more("T3", case, "exact", other, 80, what)


def against_go(results):
    for case, n, what in sizes(results, "freed"):
        if not has(case, "io.ReadAll", "bytes.Buffer", "io.ReadFull known"):
            continue
        bound = 0.25 if n >= SMALL else 1.0
        if n >= 100:
            yield times("T4", case, "exact", "io.ReadAll", bound, what)
            yield times("T4", case, "exact", "bytes.Buffer", bound, what)
            yield times("T4", case, "exact known", "io.ReadFull known", 0.5, what)


def against_dotnet(results):
    for case, n, what in sizes(results, "freed"):
        if n == 100_000_000:
            yield times("T5", case, "pooled 256 MiB", ".NET MemoryStream", 0.10, what)
        if n >= LARGE:
            yield times("T5", case, "exact", ".NET list exact", 0.8, what)
    for n in sorted({seen["n"] for seen in results.all["axes"]}):
        exact, pooled = results.axes("exact", n, True), results.axes("pooled 256 MiB", n, True)
        yield line("T5", f"{size(n)}, bytes allocated by a body after others", "exact", "", exact["allocated"], n + 65536, "B")
        yield line("T5", f"{size(n)}, bytes allocated by a body after others", "pooled 256 MiB", "", pooled["allocated"], 0, "B")


def suspended(results):
    flat = {}
    for case in results.of("suspended"):
        what = f"{size(case['n'])} in pieces of {case['most']}"
        for way in ("pooled known", "exact known", "pooled", "exact", "by windows"):
            bound = 1.15 if case["most"] >= 4096 else 1.3
            yield times("T6", case, f"{way}, suspended", way, bound, what)
            flat.setdefault((way, case["most"]), []).append(ratio(case, f"{way}, suspended", way))
        if case["n"] == 10 * MIB and case["most"] == 8000 and has(case, "replay"):
            yield times("T6", case, "exact known, suspended", "replay, cached target", 0.01, what)
            yield line("T6", what + "; .NET's own 3.6, where fresh arrays cost more: here the kernel "
                                                       "clears only what is touched", "replay", "replay, cached target",
                       ratio(case, "replay", "replay, cached target"), 3.6, "+x")
    for (way, most), ratios in flat.items():
        yield line("T6", f"the ratio over all sizes, pieces of {most}: largest / smallest", f"{way}, suspended", way,
                   max(ratios) / min(ratios), 1.1)


def pushes(results):
    for case in results.of("pushes", each=1):
        for row in ("pooled", "exact"):
            yield line("T7", "C: 1e6 pushes of 1 byte, each", row, "", case["rows"][row]["ns"] / case["n"], 10, "ns")
    for language, bound in (("Python", 50), ("Node", 20)):
        seen = results.all["states"].get(f"push {language}")
        if seen:
            yield line("T7", f"{language}: 1e6 pushes of 1 byte, each", "Collector.write", "", seen["ns"], bound, "ns")


def threads(results):
    for case in results.of("threads", n=1_000_000):
        for row in ("limit", "pooled 256 MiB", "exact", "realloc"):
            if row in ("limit", "realloc"):
                continue
            speed = 2 * ratio(case, f"{row}, 1 thread", f"{row}, 2 threads")
            limit = 2 * ratio(case, "limit, 1 thread", "limit, 2 threads")
            yield line("T8", f"two threads, {size(case['n'])} (the limit itself: {limit:.2f} x)", row, "one thread", speed,
                       1.8, "+x")
    for case in results.of("handed over"):
        told = case["rows"]["released on the other thread"].get("told")
        if told:
            yield line("T8", "released on the other thread: blocks reused", "pooled 256 MiB", "",
                       100 * told["reused"] / told["rented"], 90, "+%")


def peaks(results):
    for row, bound in (("pooled 256 MiB", 1.02), ("pooled known", 1.02), ("exact known", 1.02), ("exact", 1.1)):
        peak = results.peak(row)
        if peak is not None:
            yield line("T9", "most resident memory, 256 MiB, times N", row, "", peak, bound + (4 / 256 if bound < 1.1 else 0))


def mixed(results):
    for name, language in (("mixed brimful", "C"), ("mixed Python", "Python"), ("mixed Node", "Node")):
        seen = results.all["states"].get(name)
        if seen:
            rss = seen["rss"][1:]
            yield line("T12", f"{language}: blocks from the system after a tenth of the bodies", "pooled", "",
                       seen["blocks_after_warm_up"], 0, "blocks")
            yield line("T12", f"{language}: resident memory after that, largest / smallest", "pooled", "", max(rss) / min(rss), 1.02)


def real_io(results):
    for case in results.of("io"):
        large = case["n"] >= 100_000_000
        bound = {"pipe": 0.75, "unix": 0.5, "tcp": 0.5}.get(case["kind"], 1.0) if large else 1.0
        what = f"{case['kind']}, {size(case['n'])}"
        for ours in ("pooled", "exact"):
            for other in ("realloc", "read_to_end"):
                if has(case, other):
                    yield times("T13", case, ours, other, bound, what)
        for ours in ("pooled known", "exact known"):
            yield times("T13", case, ours, "malloc known", bound, what)


def axes(results):
    for n in sorted({seen["n"] for seen in results.all["axes"]}):
        peers = [seen for seen in results.all["axes"] if seen["n"] == n and not seen["warm"]
                 and seen["row"] in {*EXACT_PEERS, ".NET list exact", "io.ReadAll", "bytes.Buffer"}]
        ours = results.axes("exact", n, False)
        for axis in ("allocated", "peak", "copied", "waste"):
            if peers:
                first = min(peers, key=lambda seen: seen[axis])
                yield line("T14", f"{size(n)}, {axis}, unknown length, empty pool", f"exact: {size(ours[axis])}",
                           f"{first['row']}: {size(first[axis])}", ours[axis], first[axis], "B")


def stalls(results):
    for name, seen in results.all["states"].items():
        if name == "stalls":
            yield line("T15", "10,000 bodies that stall after 100 B: resident, each", "pooled", "", seen["resident_each"],
                       5 * 1024, "B")
        elif name.startswith("liars"):
            yield line("T15", f"1000 {name} with 1 byte: resident, each", "", "", seen["resident_each"], 65536, "B")


def burst(results):
    states = results.all["states"]
    if "burst brimful" not in states:
        return
    ours = states["burst brimful"]
    for way in ("malloc", "realloc"):
        pairs = list(zip(ours["ns"], states[f"burst {way}"]["ns"]))
        yield line("burst", "200 bodies of 5 MiB at once: time of a body", f"pooled: {ns(statistics.median(ours['ns']))}",
                   f"{way}: {ns(statistics.median(states[f'burst {way}']['ns']))}",
                   statistics.median(one / two for one, two in pairs), 1.1)
    for moment in ("0s", "idle", "trim"):
        resident, said = ours[f"rss_{moment}"], ours[f"retained_{moment}"]
        yield line("burst", f"resident at {moment} {size(resident)}, the statistics say {size(said)}: apart", "pooled", "",
                   100 * abs(resident - said) / max(resident, said, 16 * MIB), 5, "%")
