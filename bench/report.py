"""Writes results/latest.md and the plots from results/latest.json."""

import argparse
import statistics
from pathlib import Path

import plots
import readme
import targets
from reasons import REASONS
from results import Results, has, ns, ratio, size


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def about(results):
    made = results.all["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items() if version)
    quick = "the headline rows (`make bench-quick`)" if results.all["quick"] else "everything (`make bench`)"
    return (f"{results.all['date']}; {quick}; {results.all['minutes']} minutes. {made['cpu']}, {made['cores']} cores, Linux "
            f"{made['kernel']}, {made['libc']}, huge pages: {made['huge_pages']}; load when it began: "
            f"{made['load_at_start']:.1f}" + (" (**busy: other programs ran beside; figures are rough**)"
                                              if made["load_at_start"] > 0.5 else "") + f".\n{versions}.\n")


def times(cases, title, key):
    """One table: a row for each way, a column for each case; times, and ours against each peer is in the next."""
    if not cases:
        return ""
    labels = [label for label in dict.fromkeys(label for case in cases for label in case["rows"])]
    rows = [[label] + [ns(case["rows"][label]["ns"]) if has(case, label) else "-" for case in cases] for label in labels]
    return f"### {title}\n\n" + table(["", *(key(case) for case in cases)], rows) + "\n"


def against(cases, ours, title, key):
    cases = [case for case in cases if has(case, ours)]
    if not cases:
        return ""
    labels = [label for label in dict.fromkeys(label for case in cases for label in case["rows"]) if label != ours]
    rows = [[label] + [f"{ratio(case, ours, label):.2f}" if has(case, label) else "-" for case in cases] for label in labels]
    return f"### {title}\n\n" + table([f"{ours} /", *(key(case) for case in cases)], rows) + "\n"


def by_size(case):
    return size(case["n"])


def sizes(results):
    out = "## By size\n\nThe source fills any window at once. Heap fresh: a new process; heap freed: after a large free.\n\n"
    for heap in ("freed", "fresh"):
        cases = results.of("sizes", heap=heap)
        out += times(cases, f"Time, heap {heap}", by_size)
        for ours in ("pooled 256 MiB", "exact", "exact known"):
            out += against(cases, ours, f"{ours}, ratios, heap {heap}", by_size)
    return out


def sources(results):
    out = ""
    for most in sorted({case["most"] for case in results.of("sources")}):
        cases = results.of("sources", most=most)
        out += times(cases, f"Time, at most {most} bytes at once, heap freed", by_size)
        for ours in ("pooled 256 MiB", "exact"):
            out += against(cases, ours, f"{ours}, ratios, at most {most} bytes at once", by_size)
    return out and "## Sources that give little at once\n\n" + out


def simple(results, group, title, key, note=""):
    cases = results.of(group)
    return f"## {title}\n\n{note}" + times(cases, "Time", key) if cases else ""


def real_io(results):
    out = ""
    for kind in ("pipe", "unix", "tcp", "file"):
        cases = results.of("io", kind=kind)
        out += times(cases, f"{kind}: median", by_size)
        for ours in ("pooled", "exact", "exact known"):
            out += against(cases, ours, f"{kind}: ratios", by_size)
        rows = [[label, size(case["n"]), *(ns(value) for value in spread(case["rows"][label]["samples"]))]
                for case in cases for label in case["rows"]]
        out += f"### {kind}: spread\n\n" + table(["", "", "least", "quarter", "median", "three quarters", "most"], rows) + "\n" \
            if rows else ""
    return out and "## Real I/O by descriptor\n\nOne thread writes, the other reads to the end.\n\n" + out


def spread(samples):
    quarters = statistics.quantiles(samples, n=4, method="inclusive")
    return [min(samples), *quarters, max(samples)]


def memory(results):
    seen = results.all["memory"]
    if not seen:
        return ""
    rows = [[each["row"], size(each["n"]), f"{each['peak'] / each['n']:.3f}", size(each["held"]), ns(each["ns"])] for each in seen]
    return "## Peak memory\n\nBeyond what the process had at its start; a process per row, the first body.\n\n" + \
        table(["", "N", "peak / N", "still resident after it", "time"], rows) + "\n"


AXES = ("allocated", "peak", "copied", "waste")


def axes(results):
    seen = results.all["axes"]
    if not seen:
        return ""
    out = ("## The four axes\n\nCounted from outside by a preloaded library (bench/c/counts.h says how): a realloc that stays in "
           "place, or whose pages the kernel moves, counts what it grows by; address space counts as it becomes writable. Of "
           "what open_memstream copies only fwrite's share is seen. Go's allocations are its runtime's own count; its copies and "
           "what it holds follow from where the source's windows lay, without garbage. The first body of a process, and one "
           "after others; the source gives at most 65536 bytes. Least of those of unknown length in bold.\n\n")
    for n in sorted({each["n"] for each in seen}):
        first = {each["row"]: each for each in seen if each["n"] == n and not each["warm"]}
        after = {each["row"]: each for each in seen if each["n"] == n and each["warm"]}
        unknown = [each for row, each in first.items() if "known" not in row]
        least = {axis: min(each[axis] for each in unknown) for axis in AXES}
        rows = [[row, each["allocations"], *(f"**{size(each[axis])}**" if each[axis] == least[axis] and "known" not in row
                                             else size(each[axis]) for axis in AXES),
                 *(size(after[row][axis]) if row in after else "-" for axis in ("allocated", "copied"))]
                for row, each in first.items()]
        out += f"### {size(n)}\n\n" + table(["", "allocations", "allocated", "peak held", "copied", "waste",
                                           "allocated, after others", "copied, after others"], rows) + "\n"
    seed = []
    for n in sorted({each["n"] for each in seen if each["n"] >= 10_000}):
        case = next(iter(results.of("sizes", heap="freed", n=n)), None)
        base = results.axes(".NET MemoryStream", n, True)
        for row in (".NET MemoryStream", ".NET one pooled", ".NET list exact", "exact", "exact known", "pooled 256 MiB"):
            counted = results.axes(row, n, True)
            if case and base and counted and has(case, row):
                seed.append([row, size(n), f"{ratio(case, row, '.NET MemoryStream'):.2f}", size(counted["allocated"]),
                             f"{counted['allocated'] / base['allocated']:.2f}"])
    return out + "### Beside .NET's ways, made again in C\n\nAfter others; the columns of dotnet/runtime#109642.\n\n" + \
        table(["", "N", "time ratio", "allocated", "allocation ratio"], seed) + "\n"


def states(results):
    seen = results.all["states"]
    out = ""
    rows = [[name.removeprefix("mixed "), ns(each["ns"]), each["blocks_after_warm_up"], size(each["bytes_after_warm_up"]),
             size(min(each["rss"][1:])), size(max(each["rss"][1:]))] for name, each in seen.items() if name.startswith("mixed")]
    if rows:
        out += "### Bodies of mixed sizes\n\nFrom 1 B to 4 MiB, one after the other; after a tenth of them.\n\n" + \
            table(["", "time of a body", "blocks from the system", "bytes from the system", "resident, least", "resident, most"],
                  rows) + "\n"
    rows = [[name.removeprefix("push "), ns(each["ns"]), ns(each["least"])] for name, each in seen.items() if name.startswith("push")]
    if rows:
        out += "### Pushes of one byte\n\nA million of them, each.\n\n" + table(["", "median", "least"], rows) + "\n"
    rows = [[name.removeprefix("burst "), ns(statistics.median(each["ns"])), ns(max(each["ns"])), each["faults"],
             size(each["allocated_bytes"]), size(each["freed_bytes"]),
             *(f"{size(each[f'retained_{moment}'])} / {size(each[f'rss_{moment}'])}" if f"retained_{moment}" in each else "-"
               for moment in ("0s", "idle", "trim"))] for name, each in seen.items() if name.startswith("burst")]
    if rows:
        rounds = max(len(each["ns"]) for name, each in seen.items() if name.startswith("burst"))
        out += (f"### A burst\n\n200 bodies of 5 MiB held at once, then released, {rounds} times with a pause between; then idle, "
                "then trimmed. Touched: fresh memory taken for them, by the pool's own statistics; dropped: given back again. A pool of 64 MiB.\n\n") + \
            table(["", "time of a body", "worst round", "page faults", "touched", "dropped", "retained / resident at once",
                   "after idle", "after trim"], rows) + "\n"
    rows = [[name, ns(each["ns"]), size(each["resident_each"]), size(each["held_each"])] for name, each in seen.items()
            if name == "stalls" or name.startswith("liars")]
    if rows:
        out += ("### Bodies that stall, announcements that lie\n\n10,000 open bodies after 100 B; 1000 that announced so much and "
                "sent 1 byte.\n\n") + table(["", "time of each", "resident, each", "held by its statistics, each"], rows) + "\n"
    return out and "## Whole processes\n\n" + out


def curl(results):
    cases = results.of("curl")
    if not cases:
        return ""
    out = ("## libcurl\n\nFrom an HTTP server on loopback, one connection. `realloc` is libcurl's own example getinmemory.c; ours "
           "are pushes in the same write callback. `limit`: libcurl with a callback that drops all.\n\n") + times(cases, "Time", by_size)
    for ours in ("pooled", "exact", "exact known"):
        out += against(cases, ours, f"{ours}, ratios", by_size)
    return out


def held_targets(lines):
    """How the targets stand, why those that are missed are, and all lines."""
    out = "## Targets\n\n" + readme.targets_table(lines) + "\n"
    missed = [target for target, of in targets.of_target(lines).items() if any(not each["reached"] for each in of)]
    if missed:
        out += "### Missed, and why\n\n" + "".join(
            f"- **{target}** {REASONS.get(target, 'no reason is written in bench/reasons.py yet.')}\n" for target in missed) + "\n"
    rows = [[each["target"], each["case"], each["ours"], each["other"], each["value"], each["bound"],
             "reached" if each["reached"] else "**missed**"] for each in lines]
    return out + "### All lines\n\n" + table(["target", "case", "ours", "other", "measured", "to be", ""], rows) + "\n"


def write(results, folder):
    drawn = plots.draw(results, folder)
    lines = targets.held(results)
    text = "# What was measured\n\n" + about(results) + "\n"
    text += ("Every ratio is ours / other, so smaller is better; taken round by round and then the median. Times are medians. "
             "`pooled` is the default pool, `exact` memory of exactly the body's length from malloc.\n\n")
    text += "".join(f"![{name}]({name}.svg)\n" for name in drawn) + "\n"
    text += held_targets(lines)
    text += sizes(results) + sources(results)
    text += simple(results, "hints", "Hints, right and wrong", by_size, "At most 65536 bytes at once.\n\n")
    text += simple(results, "cold", "Cold: the first body of a process", by_size)
    text += simple(results, "threads", "Threads", by_size, "ns of one round in which each thread reads one body.\n\n")
    text += simple(results, "suspended", "Suspended", lambda case: f"{size(case['n'])} / {case['most']}")
    text += simple(results, "pushes", "Pushes", lambda case: f"1 MB by {case['each']}")
    text += real_io(results) + curl(results) + memory(results) + axes(results) + states(results)
    text += simple(results, "choices", "Choices", lambda case: f"{size(case['n'])}, {case['of']}")
    if results.all["skipped"]:
        text += "## Skipped\n\n" + "".join(f"- {each}\n" for each in results.all["skipped"])
    (folder / "latest.md").write_text(text.rstrip() + "\n")
    reached = sum(each["reached"] for each in lines)
    print(f"{reached} target lines reached, {len(lines) - reached} missed; {folder / 'latest.md'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", default=Path(__file__).resolve().parent / "results", type=Path, help="the folder")
    folder = parser.parse_args().results
    write(Results(folder / "latest.json"), folder)
    if folder == parser.get_default("results"):
        readme.write()


if __name__ == "__main__":
    main()
