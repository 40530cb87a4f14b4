"""What run.py wrote, and how ratios are taken from it: pair by pair, then their median."""

import json
import statistics
from pathlib import Path


class Results:
    def __init__(self, path):
        self.all = json.loads(Path(path).read_text())
        self.cases = self.all["cases"]

    def of(self, group, **keys):
        """The cases of a group, those that have these keys."""
        return [case for case in self.cases
                if case["group"] == group and all(case.get(key) == value for key, value in keys.items())]

    def peak(self, row):
        """The most memory resident, as a share of the body's size, or None."""
        for seen in self.all["memory"]:
            if seen["row"] == row:
                return seen["peak"] / seen["n"]
        return None

    def axes(self, row, n, warm):
        for seen in self.all["axes"]:
            if (seen["row"], seen["n"], seen["warm"]) == (row, n, warm):
                return seen
        return None


def has(case, *rows):
    return all(row in case["rows"] for row in rows)


def ratio(case, ours, other):
    pairs = zip(case["rows"][ours]["samples"], case["rows"][other]["samples"])
    return statistics.median(one / max(two, 0.1) for one, two in pairs)


def beyond(case, ours, other):
    """ns more than the other."""
    pairs = zip(case["rows"][ours]["samples"], case["rows"][other]["samples"])
    return statistics.median(one - two for one, two in pairs)


def best(case, ours, others):
    """The peer that ours compares worst with, which is the best of them here."""
    there = [other for other in others if other in case["rows"]]
    return max(there, key=lambda other: ratio(case, ours, other)) if there else None


def ns(value):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 100 * size else f"{value / size:.0f} {unit}"
    return f"{value:.3g} ns" if value < 100 else f"{value:.0f} ns"


def size(value):
    if value is None:
        return "-"
    sign = 1 << 20
    if value > 0 and abs(value - 16 * sign) == 1:
        return f"16 MiB {'+' if value > 16 * sign else '-'} 1"
    if value >= sign and value % sign == 0:
        return f"{value // sign} MiB"
    for unit, each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= each:
            return f"{value / each:.3g} {unit}"
    return f"{value:.0f} B"
