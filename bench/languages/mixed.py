"""Bodies of mixed sizes in a loop, in Python: blocks from the system after a tenth of them, and resident memory.

    python mixed.py BODIES      prints one JSON object, as bench/c/states.c does
"""

import json
import os
import sys
import time

import brimful

PERIOD, MOST, LARGEST = 251, 65536, 4 << 20
BLOCK = memoryview(bytes(i % PERIOD for i in range(MOST + PERIOD)))


class Source:
    """Fills windows from memory that stays warm, at most 64 KiB at once."""

    def __init__(self, n):
        self.n, self.given = n, 0

    def readinto(self, window):
        count = min(len(window), self.n - self.given, MOST)
        start = self.given % PERIOD
        window[:count] = BLOCK[start:start + count]
        self.given += count
        return count


def sizes(bodies):
    """The sequence of bench/c/states.c: log-uniform from 1 B to 4 MiB."""
    state = 1
    for _ in range(bodies):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        power = (state >> 33) % 23
        yield min((1 << power) + ((state >> 40) & ((1 << power) - 1)), LARGEST)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def main():
    bodies = int(sys.argv[1])
    pool, rss, started = brimful.Pool(), [], time.perf_counter_ns()
    warm = None
    for i, n in enumerate(sizes(bodies)):
        with brimful.collect_pooled(Source(n), pool=pool) as body:
            if len(body) != n:
                sys.exit(f"{len(body)} bytes of {n}")
        if i == bodies // 10:
            warm = pool.stats()
        if (i + 1) % (bodies // 10) == 0:
            rss.append(resident())
    took, now = time.perf_counter_ns() - started, pool.stats()
    print(json.dumps({"ns": round(took / bodies, 1), "blocks_after_warm_up": now.allocated - warm.allocated,
                      "bytes_after_warm_up": now.allocated_bytes - warm.allocated_bytes, "rss": rss[:10]}))


if __name__ == "__main__":
    main()
