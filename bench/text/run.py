"""Measures text of whole bodies side by side, in Python and in Node, and writes bench/results/text.json and text.md.

    python bench/text/run.py --python PYTHON --node FOLDER [--nodes FOLDER] [--quick]

PYTHON has brimful, requests and httpx; FOLDER has node_modules with brimful and get-stream. Node is the one in PATH and,
without 100 MB and memory, each that --nodes has as node_modules/node*/bin/node. The ways take turns within one process, in
another order each time; what is told is the median of each, and the median of ours / other within a turn. Memory is the most
that was resident beyond the start, in a new process that reads one body; the smallest of three.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
TEXTS = ("ASCII", "mixed", "CJK")
SIZES = {"1 kB": 1_000, "100 kB": 100_000, "10 MB": 10_000_000, "100 MB": 100_000_000}
PEAKS = ("10 MB", "100 MB")
# Ours / the best other way of the source: at most so much (None: only told).
TARGETS = {"1 kB": 1.0, "10 MB": 0.7}


def said(command: list[str], folder: Path = HERE) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout.strip()


def run(command: list[str], folder: Path) -> list[dict]:
    return [json.loads(line) for line in said(command, folder).splitlines()]


def versions(nodes: Path | None) -> dict[str, tuple[str, str]]:
    """Of each line of Node its version and its program; the first is the one in PATH, also where there is another of that line."""
    found = {}
    for program in ["node", *(sorted(map(str, nodes.glob("node_modules/node*/bin/node"))) if nodes else [])]:
        version = said([program, "--version"]).removeprefix("v")
        found.setdefault(f"Node {version.split('.')[0]}", (version, program))
    return found


def measure(language: str, command: list[str], folder: Path, short: bool) -> list[dict]:
    rows = []
    for text in TEXTS:
        for size, count in SIZES.items():
            if short and size == "100 MB":
                continue
            found = {row["way"]: row["seconds"] for row in run([*command, "time", text, str(count)], folder)}
            for way, seconds in found.items():
                source = way.split(": ")[0]
                ours = found[f"{source}: brimful"]
                row = {
                    "language": language, "text": text, "size": size, "source": source, "way": way.split(": ", 1)[1],
                    "seconds": statistics.median(seconds),
                    "ratio": statistics.median(own / other for own, other in zip(ours, seconds)),
                }
                if size in PEAKS and not short:
                    row["peak"] = min(run([*command, "peak", text, str(count), way], folder)[0]["peak"] for _ in range(3))
                rows.append(row)
            print(language, text, size, flush=True)
    return rows


def time_of(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(data: dict) -> str:
    lines = [
        "# Text of whole bodies, side by side", "",
        f"{data['date']}, {data['machine']}. Chunks of 64 KiB, decoded as UTF-8; the ways take turns, in another order each time. Time: the median of a body; ours / other: the median of "
        "the ratios within a turn, below 1 ours is faster. Most memory: resident beyond the start, in a new process that reads one "
        "body (of `requests` and `httpx` with what the client keeps; of Node with its young objects).", "",
        "## Against the targets", "",
        "At 10 MB at most 0.7 times the best other way of the same source, at 1 kB no slower.", "",
        "| language | source | text | bytes | best other way | ours / it | to be |", "| --- | --- | --- | --- | --- | ---: | ---: |",
    ]
    keys = dict.fromkeys((row["language"], row["source"], row["text"], row["size"]) for row in data["rows"])
    for key in keys:
        target = TARGETS.get(key[3])
        others = [row for row in data["rows"] if (row["language"], row["source"], row["text"], row["size"]) == key and row["way"] != "brimful"]
        best = max(others, key=lambda row: row["ratio"])
        if target is not None:
            came = f"{best['ratio']:.2f}"
            missed = best["ratio"] > target * 1.005
            lines.append(f"| {' | '.join(key)} | {best['way']} | {f'**{came}**' if missed else came} | {target:g} |")
    lines.append("")
    for language in dict.fromkeys(row["language"] for row in data["rows"]):
        for text in TEXTS:
            lines += [f"## {language}, {text}", "", "| source | bytes | way | time | ours / it | most memory |", "| --- | --- | --- | ---: | ---: | ---: |"]
            for row in data["rows"]:
                if (row["language"], row["text"]) == (language, text):
                    peak = f"{row['peak'] / 1e6:.1f} MB" if "peak" in row else ""
                    ratio = "" if row["way"] == "brimful" else f"{row['ratio']:.2f}"
                    lines.append(f"| {row['source']} | {row['size']} | {row['way']} | {time_of(row['seconds'])} | {ratio} | {peak} |")
            lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--node", type=Path, required=True)
    parser.add_argument("--nodes", type=lambda folder: Path(folder).resolve())
    parser.add_argument("--quick", action="store_true", help="without 100 MB and memory; nothing is written")
    arguments = parser.parse_args()
    arguments.python = os.path.abspath(arguments.python)
    # Node finds packages from the folder where the program lies.
    shutil.copy(HERE / "worker.mjs", arguments.node / "worker.mjs")
    rows = measure("Python", [arguments.python, str(HERE / "worker.py")], HERE, arguments.quick)
    nodes = versions(arguments.nodes)
    for line, (_, program) in nodes.items():
        rows += measure(line, [program, "worker.mjs"], arguments.node, arguments.quick or program != "node")
    python = said([arguments.python, "--version"]).split()[1]
    data = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, CPython {python}, Node {', '.join(version for version, _ in nodes.values())}",
        "rows": rows,
    }
    text = table(data)
    if arguments.quick:
        print(text)
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "text.json").write_text(json.dumps(data, indent=1) + "\n")
    (RESULTS / "text.md").write_text(text + "\n")
    print(RESULTS / "text.md")


if __name__ == "__main__":
    main()
