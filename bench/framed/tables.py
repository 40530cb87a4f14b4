"""Writes results/framed.md and the plot from what measure.py measured."""

import statistics

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from report import table  # noqa: E402  the other benchmark's
from results import ns, size  # noqa: E402

COLORS = {"replay": "#444444", "cached": "#b07d2b", "pooled": "#005f9e", "exact": "#2e8b57", "exact-unknown": "#d1495b"}
NOTE = """A value of N bytes comes in packets of P bytes, in chunks of 16 KiB (`examples/*/framed.*` say the format).

- **Not suspended**: all packets are there when the value is asked for. **Suspended**: one packet comes after the other, and
  after each the decoder answers that it needs more.
- **Replay** cannot stop in the middle: each attempt begins at the first packet, with a new cleared target of the whole
  length; with **cached target** that is kept from attempt to attempt.
- **Ours** is one decoder that goes on, whose target is a collector: pooled, exact, and exact where the total is not told.
- **Whole**: the value is taken at its end. **In pieces**: the caller reads on at its own pace while the value comes, pieces of
  65521, 32749, 16381, 8191, 4093, 2039 and 1021 bytes and again. There a replay begins anew at the piece that is wanted, not at
  the first packet of the value: far cheaper than replay of a whole value, but it clears and copies more than once too.

`~`: of the attempts of a replay each so many-th was made and counts for those that were left out, since all of them would
take minutes; its counts are sums of the same kind. Times are medians, ratios medians of pairs that ran one after the other.
"""
SHORT = """To be: at most 1.15 for P of 4096 and more, at most 1.3 for 512, flat within 1.1; 100 or more. Where replay was met first, in
.NET, keeping the target made it 3.6 times faster (5 MiB in packets of 8000 bytes). Here the figure follows from what a fresh
cleared target costs: it is a new mapping, of which only the pages that the attempt reaches are touched and cleared, and in
Node also what its garbage collector has to do with targets that are dropped.
"""
COUNTS = """Of the first value of this size in a process, after 300 of 30 kB, counted from outside in all threads (`bench/c/counts.h`): requests for memory, bytes
asked for or made writable, bytes in copies of 64 bytes and more; of Node the least of three processes, since its own heap and threads are in it. The copies out of the packets are among them: a value
that is copied once and no more shows N. In pieces the bytes are copied to the caller once more, from the collector.
"""


class Cells:
    def __init__(self, result):
        self.cells = {(c["language"], c["use"], c["way"], c["suspended"], c["n"], c["packet"]): c for c in result["cases"]}
        self.languages = list(dict.fromkeys(c["language"] for c in result["cases"]))
        self.places = sorted({(c["n"], c["packet"]) for c in result["cases"]})

    def of(self, *key):
        return self.cells[key]

    def ratio(self, one, other):
        return statistics.median(a / b for a, b in zip(self.of(*one)["samples"], self.of(*other)["samples"]))


def about(cell):
    return "~" if cell["stride"] > 1 else ""


def times(cells, ways, language, use):
    shown = [way for way in ways if use == "whole" or not way.startswith("exact")]
    rows = []
    for n, packet in cells.places:
        row = [size(n), packet]
        for way in shown:
            cell = cells.of(language, use, way, 1, n, packet)
            row.append(about(cell) + ns(cell["ns"]))
        row += [ns(cells.of(language, use, way, 0, n, packet)["ns"]) for way in shown if way != "cached"]
        for way in shown:
            if way not in ("replay", "cached"):
                row.append(f"{cells.ratio((language, use, way, 1, n, packet), (language, use, way, 0, n, packet)):.2f}")
        best = min((way for way in shown if way not in ("replay", "cached", "exact-unknown")),
                   key=lambda way: cells.of(language, use, way, 1, n, packet)["ns"])
        row.append(f"{cells.of(language, use, 'cached', 1, n, packet)['ns'] / cells.of(language, use, best, 1, n, packet)['ns']:.3g}")
        rows.append(row)
    ours = [way for way in shown if way not in ("replay", "cached")]
    head = ["N", "P", *(f"suspended: {ways[way]}" for way in shown), *(f"not: {ways[way]}" for way in shown if way != "cached"),
            *(f"suspended / not: {ways[way]}" for way in ours), "cached target / ours"]
    return table(head, rows)


def counts(cells, ways, language, use):
    shown = [way for way in ways if use == "whole" or not way.startswith("exact")]
    rows = []
    for n, packet in cells.places:
        row = [size(n), packet]
        for way in shown:
            for stops in (1, 0) if way not in ("replay", "cached") else (1,):
                seen = cells.of(language, use, way, stops, n, packet)["counts"]
                row.append(f"{seen['allocations']} / {size(seen['allocated'])} / {size(seen['copied'])}")
        rows.append(row)
    head = ["N", "P"]
    for way in shown:
        head += [f"suspended: {ways[way]}"] + ([f"not: {ways[way]}"] if way not in ("replay", "cached") else [])
    return table(head, rows)


def short(cells, ways):
    """What the targets ask (T6), the worst of all cases."""
    ours = [(use, way) for use in ("whole", "pieces") for way in ways
            if way not in ("replay", "cached") and (use == "whole" or not way.startswith("exact"))]
    rows = []
    for language in cells.languages:
        ratios = {(use, way, n, packet): cells.ratio((language, use, way, 1, n, packet), (language, use, way, 0, n, packet))
                  for use, way in ours for n, packet in cells.places}
        flat = []
        for use, way in ours:
            for packet in {packet for _, packet in cells.places}:
                over = [ratio for (u, w, _, p), ratio in ratios.items() if (u, w, p) == (use, way, packet)]
                flat.append(max(over) / min(over))
        row = [language]
        for chosen in ([r for (*_, p), r in ratios.items() if p >= 4096], [r for (*_, p), r in ratios.items() if p < 4096], flat):
            row.append(f"{statistics.median(chosen):.2f}, {max(chosen):.2f}" if chosen else "-")
        for n, packet, slow, fast in ((10 * 2**20, 8000, "cached", "pooled"), (10 * 2**20, 8000, "cached", "exact"),
                                      (5 * 2**20, 8000, "replay", "cached")):
            keys = [(language, "whole", way, 1, n, packet) for way in (slow, fast)]
            there = all(key in cells.cells for key in keys)
            row.append(f"{cells.of(*keys[0])['ns'] / cells.of(*keys[1])['ns']:.3g}" if there else "-")
        rows.append(row)
    head = ["", "suspended / not, P of 4096 and more: median, worst", "P of 512: median, worst",
            "that ratio, largest / smallest over N: median, worst", "10 MiB at 8000: cached target / ours, pooled",
            "10 MiB at 8000: cached target / ours, exact", "5 MiB at 8000: replay / cached target"]
    return table(head, rows)


def write(result, ways, folder):
    cells = Cells(result)
    made = result["machine"]
    busy = " (**busy: other programs ran beside; times are rough, counts are exact**)" if made["load_at_start"] > 0.5 else ""
    out = (f"# Values over many packets\n\n{result['date']}, `make bench-framed`, {result['minutes']} minutes. {made['cpu']}, {made['cores']} "
           f"cores, Linux {made['kernel']}, {made['libc']}; load when it began: {made['load_at_start']:.1f}{busy}.\n\n{NOTE}\n"
           f"![Time per byte against N, suspended after every P bytes](framed.png)\n\n")
    out += f"## In short\n\n{SHORT}\n{short(cells, ways)}\n"
    for use, title in (("whole", "Whole"), ("pieces", "In pieces")):
        for language in cells.languages:
            out += f"## {title}, {language}\n\n" + times(cells, ways, language, use) + "\n"
    out += f"## Counts\n\n{COUNTS}\n"
    for use, title in (("whole", "Whole"), ("pieces", "In pieces")):
        for language in cells.languages:
            out += f"### {title}, {language}: allocations / bytes allocated / bytes copied\n\n"
            out += counts(cells, ways, language, use) + "\n"
    (folder / "framed.md").write_text(out)
    draw(cells, ways, folder)


def draw(cells, ways, folder):
    plt.rcParams.update({"font.size": 8, "axes.grid": True, "grid.alpha": 0.3, "figure.dpi": 120, "svg.hashsalt": "bench"})
    packets = sorted({packet for _, packet in cells.places})
    sizes = sorted({n for n, _ in cells.places})
    figure, all_axes = plt.subplots(len(cells.languages), len(packets), figsize=(3 * len(packets), 2.6 * len(cells.languages)),
                                    sharex=True, sharey=True, squeeze=False)
    for language, row in zip(cells.languages, all_axes):
        for packet, axes in zip(packets, row):
            for way, label in ways.items():
                for stops in (1, 0) if way in ("pooled", "exact") else (1,):
                    points = [(n / 2**20, cells.of(language, "whole", way, stops, n, packet)["ns"] / n)
                              for n in sizes if (n, packet) in cells.places]
                    axes.plot(*zip(*points), marker="o", markersize=3, color=COLORS[way], linestyle="-" if stops else ":",
                              label=label + ("" if stops else ", not suspended"))
            axes.set(yscale="log", title=f"{language}, packets of {packet} B")
    for axes in all_axes[-1]:
        axes.set(xlabel="MiB")
    for row in all_axes:
        row[0].set(ylabel="ns per byte")
    figure.legend(*all_axes[0][0].get_legend_handles_labels(), loc="upper center", ncols=4, bbox_to_anchor=(0.5, 0.03))
    figure.suptitle("A whole value, suspended after every packet")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(folder / "framed.png", bbox_inches="tight", metadata={"Software": None})
    figure.savefig(folder / "framed.svg", bbox_inches="tight", metadata={"Date": None})
