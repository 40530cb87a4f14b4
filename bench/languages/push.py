"""A million pushes of one byte, in Python: ns of each, the least and the median of several bodies.

    python push.py PUSHES      prints one JSON object
"""

import json
import statistics
import sys
import time

import brimful


def body(pushes):
    collector = brimful.Collector()
    write = collector.write
    started = time.perf_counter_ns()
    for _ in range(pushes):
        write(b"x")
    took = time.perf_counter_ns() - started
    collector.end()
    if len(collector.finish()) != pushes:
        sys.exit("bytes are missing")
    return took / pushes


def main():
    pushes = int(sys.argv[1])
    took = [body(pushes) for _ in range(9)]
    print(json.dumps({"ns": round(statistics.median(took), 2), "least": round(min(took), 2)}))


if __name__ == "__main__":
    main()
