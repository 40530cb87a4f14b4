"""The plots, each as PNG and SVG: time against size, ratios per peer, peak memory, suspended against unsuspended."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FormatStrFormatter, FuncFormatter, NullFormatter

from results import has, ns, ratio, size

OURS = {"pooled 256 MiB": "#005f9e", "exact": "#d1495b", "exact known": "#2e8b57"}
PEERS = {"realloc": "#444444", "read_to_end": "#b07d2b", "open_memstream": "#8a6fb0", "io.ReadAll": "#55a6b8",
         ".NET MemoryStream": "#c0a000"}


def draw(results, folder):
    plt.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "figure.dpi": 120, "svg.hashsalt": "bench"})
    plots = {"time": time, "ratios": ratios, "memory": memory, "suspended": suspended}
    drawn = []
    for name, plot in plots.items():
        figure = plot(results)
        if figure is not None:
            figure.savefig(folder / f"{name}.png", bbox_inches="tight", metadata={"Software": None})
            figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)
            drawn.append(name)
    return drawn


def time(results):
    cases = sorted((case for case in results.of("sizes", heap="freed") if case["n"] > 0), key=lambda case: case["n"])
    if not cases:
        return None
    figure, axes = plt.subplots(figsize=(8, 5))
    for row, style in {"limit": "black", **OURS, **PEERS}.items():
        points = [(case["n"], case["rows"][row]["ns"]) for case in cases if has(case, row)]
        if points:
            axes.plot(*zip(*points), marker="o", markersize=3, color=style, label=row, linewidth=2 if row in OURS else 1.2,
                      linestyle=":" if row == "limit" else "-" if row in OURS else "--")
    axes.set(xscale="log", yscale="log", xlabel="bytes of the body", ylabel="time of a body",
             title="Time to read a whole body, source fills any window (limit: into warm memory)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: ns(value)))
    axes.legend(fontsize=8)
    return figure


def ratios(results):
    wanted = [n for n in (100_000, 1_000_000, 10_000_000, 100_000_000) if results.of("sizes", heap="freed", n=n)]
    if not wanted:
        return None
    cases = [results.of("sizes", heap="freed", n=n)[0] for n in wanted]
    peers = [row for row in dict.fromkeys(row for case in cases for row in case["rows"])
             if row not in {*OURS, "limit", "pooled", "pooled list", "pooled known"} and "known" not in row]
    figure, all_axes = plt.subplots(1, len(wanted), figsize=(3.6 * len(wanted), 6), sharey=True, squeeze=False)
    for axes, case in zip(all_axes[0], cases):
        for at, (row, color) in enumerate((row, OURS[row]) for row in ("pooled 256 MiB", "exact")):
            values = [ratio(case, row, peer) if has(case, row, peer) else 1 for peer in peers]
            axes.barh([i + 0.4 * at - 0.2 for i in range(len(peers))], [value - 1 for value in values],
                      left=1, height=0.38, color=color, label=row)
        axes.set(yticks=range(len(peers)), yticklabels=peers, xscale="log", title=size(case["n"]), xlabel="ours / peer (time)")
        axes.set_xlim(min(0.05, axes.get_xlim()[0]), max(5, axes.get_xlim()[1]))  # so that 0.1, 1 are on each axis
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.axvline(1, color="black", linewidth=1)
    all_axes[0][0].invert_yaxis()
    figure.legend(*all_axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=2, fontsize=8, bbox_to_anchor=(0.5, -0.03))
    figure.suptitle("Left of the line ours is faster; length unknown")
    return figure


def memory(results):
    seen = sorted(results.all["memory"], key=lambda each: each["peak"])
    seen = [each for each in seen if each["row"] != "limit"]
    if not seen:
        return None
    figure, axes = plt.subplots(figsize=(7, 0.25 * len(seen) + 1.2))
    ours = {*OURS, "pooled", "pooled list", "pooled known"}
    axes.barh([each["row"] for each in seen], [each["peak"] / each["n"] for each in seen],
              color=["#005f9e" if each["row"] in ours else "#999999" for each in seen])
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xlabel="most memory resident / bytes of the body", title=f"Peak memory, {size(seen[0]['n'])}, a process each")
    axes.invert_yaxis()
    return figure


def suspended(results):
    mosts = sorted({case["most"] for case in results.of("suspended")})
    if not mosts:
        return None
    figure, all_axes = plt.subplots(1, len(mosts), figsize=(3.6 * len(mosts), 4), sharey=True, squeeze=False)
    for axes, most in zip(all_axes[0], mosts):
        cases = sorted(results.of("suspended", most=most), key=lambda case: case["n"])
        for row, color, style in (("exact known", "#2e8b57", "--"), ("exact known, suspended", "#2e8b57", "-"),
                                  ("pooled", "#005f9e", "--"), ("pooled, suspended", "#005f9e", "-"),
                                  ("replay, cached target", "#b07d2b", "-"), ("replay", "#444444", "-")):
            points = [(case["n"] / 2**20, case["rows"][row]["ns"] / case["n"]) for case in cases if has(case, row)]
            if points:
                axes.plot(*zip(*points), marker="o", markersize=3, color=color, linestyle=style, label=row)
        axes.set(yscale="log", xlabel="MiB", title=f"a pause after every {most} B")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(FixedLocator(sorted({case["n"] / 2**20 for case in cases})))
    all_axes[0][0].set(ylabel="ns per byte")
    handles = {label: handle for axes in all_axes[0] for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="upper center", ncols=3, fontsize=8, bbox_to_anchor=(0.5, 0))
    return figure
