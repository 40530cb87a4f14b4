"""Run under LD_PRELOAD of tests/interposer: prints for each scenario what the library says it cost and what was counted
from outside, as JSON lines. Not a test file; test_interposer.py runs it.

The sources read a file by read(2) straight into the window, so that they themselves copy nothing; where bytes are
pushed, each lands by one copy, which counts as `landed`.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections.abc import Callable
from typing import Any

import brimful

MB = 1_000_000
MIB = 1 << 20


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("allocations", "allocated_bytes", "copies", "copied_bytes")]


read_counts = ctypes.CDLL(None).interpose_read


def counted() -> tuple[int, int]:
    counts = Counts()
    read_counts(ctypes.byref(counts))
    return counts.allocations, counts.copied_bytes


def pull(file: Any, size: int, result: Any, each: int | None = None, **options: Any) -> Callable[[brimful.Pool], brimful.Info]:
    """Reads `size` bytes of the file, at most `each` a call, with a stop after each of them."""

    def run(pool: brimful.Pool) -> brimful.Info:
        file.seek(file_size - size)
        collector = brimful.Collector(result, pool=pool, **options)
        if each is None:
            collector.read(file.readinto)
        else:
            given = False

            def source(window: memoryview) -> int | None:
                nonlocal given
                given = not given
                return file.readinto(window[:each]) if given else None

            while not collector.read(source):
                pass
        body = collector.finish()
        assert len(body) == size
        return collector.info()

    return run


def push(chunk: bytes, count: int, result: Any, **options: Any) -> Callable[[brimful.Pool], brimful.Info]:
    def run(pool: brimful.Pool) -> brimful.Info:
        collector = brimful.Collector(result, pool=pool, **options)
        for _ in range(count):
            collector.write(chunk)
        collector.end()
        collector.finish()
        return collector.info()

    return run


def join(file: Any, size: int) -> Callable[[brimful.Pool], brimful.Info]:
    """A view of a body that lies in several blocks: joined, which is a copy."""

    def run(pool: brimful.Pool) -> brimful.Info:
        file.seek(file_size - size)
        body = brimful.collect_pooled(file.readinto, pool=pool)
        assert len(body.segments()) > 1
        memoryview(body).release()
        return body.info()

    return run


with open(sys.argv[1], "rb", buffering=0) as file:
    file_size = file.seek(0, 2)
    chunk = bytes(64 * 1024)
    scenarios: list[tuple[str, str, int, Callable[[brimful.Pool], brimful.Info]]] = [
        # name, memory, bytes that land by a copy, scenario
        ("pooled, unknown, 100 kB", "auto", 0, pull(file, 100_000, "pooled")),
        ("pooled, unknown, 10 MB", "auto", 0, pull(file, 10 * MB, "pooled")),
        ("pooled, unknown, 10 MB, list", "list", 0, pull(file, 10 * MB, "pooled")),
        ("pooled, known, 1 MB", "auto", 0, pull(file, MB, "pooled", length=MB)),
        ("bytes, known, 1 MB", "auto", 0, pull(file, MB, "bytes", length=MB)),
        ("bytes, known, 16 MiB", "auto", 0, pull(file, 16 * MIB, "bytes", length=16 * MIB)),
        ("bytes, known, 48 MiB, staged", "auto", 0, pull(file, 48 * MIB, "bytes", length=48 * MIB)),
        ("bytes, unknown, 1 MB", "auto", 0, pull(file, MB, "bytes")),
        ("bytes, unknown, 10 MB, list", "list", 0, pull(file, 10 * MB, "bytes")),
        ("bytes, known, stopped every 8000 bytes", "auto", 0, pull(file, 5 * MIB, "bytes", 8000, length=5 * MIB)),
        ("pooled, unknown, stopped every 8000 bytes", "auto", 0, pull(file, 5 * MIB, "pooled", 8000)),
        ("pooled, pushed, 5 MiB", "auto", 80 * len(chunk), push(chunk, 80, "pooled")),
        ("bytes, pushed, known, 5 MiB", "auto", 80 * len(chunk), push(chunk, 80, "bytes", length=80 * len(chunk))),
        ("pooled, joined, 5 MiB, list", "list", 0, join(file, 5 * MIB)),
    ]
    for name, memory, landed, scenario in scenarios:
        scenario(brimful.Pool(memory=memory))  # what the interpreter itself takes once is taken
        pool = brimful.Pool(memory=memory)
        gc.collect()
        gc.disable()
        before = counted()
        info = scenario(pool)
        after = counted()
        gc.enable()
        line = {
            "name": name,
            "allocations": info.allocations,
            "counted_allocations": after[0] - before[0],
            "copied": info.copied + landed,
            "counted_copied": after[1] - before[1],
        }
        print(json.dumps(line), flush=True)
