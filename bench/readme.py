"""Keeps README's table of targets equal to results/latest.json.

    readme.py            writes it
    readme.py --check    exit status 1 if it is not what the results say
"""

import sys
from pathlib import Path

import targets
from results import Results

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- targets: written by bench/readme.py -->", "<!-- end of targets -->"


def targets_table(lines):
    """A row for each target: how many of its lines are reached, and the worst of them."""
    rows = ["| target | what | reached | the worst line | measured | to be |", "| --- | --- | --- | --- | --- | --- |"]
    for target, of in targets.of_target(lines).items():
        if not of:
            rows.append(f"| {target} | {targets.TITLES[target]} | not measured | | | |")
            continue
        reached, worst = sum(each["reached"] for each in of), targets.worst(of)
        count = f"{reached} of {len(of)}" if reached == len(of) else f"**{reached} of {len(of)}**"
        beside = worst["ours"].split(":")[0] + (" / " + worst["other"].split(":")[0] if worst["other"] else "")
        rows.append(f"| {target} | {targets.TITLES[target]} | {count} | {worst['case']}{': ' + beside if beside else ''} "
                    f"| {worst['value']} | {worst['bound']} |")
    return "\n".join(rows) + "\n"


def block(results):
    made = results.all["machine"]
    what = "the headline rows, `make bench-quick`" if results.all["quick"] else "everything, `make bench`"
    return (f"{BEGIN}\nMeasured on {results.all['date']} ({what}) on {made['cores']} cores of an {made['cpu']}, Linux "
            f"{made['kernel'].split('-')[0]}, {made['libc']}. Values are ours / other, so smaller is better, unless they say what they are.\n\n"
            f"{targets_table(targets.held(results))}{END}")


def renewed(text, results):
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        sys.exit(f"readme.py: {README} has no {BEGIN} and {END}")
    return before + block(results) + after


def write():
    README.write_text(renewed(README.read_text(), Results(HERE / "results" / "latest.json")))


def main():
    if sys.argv[1:] == ["--check"]:
        text = README.read_text()
        if text != renewed(text, Results(HERE / "results" / "latest.json")):
            sys.exit("README's table of targets is not what bench/results/latest.json says; python3 bench/readme.py writes it")
        print("README's table of targets is what bench/results/latest.json says")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        write()


if __name__ == "__main__":
    main()
