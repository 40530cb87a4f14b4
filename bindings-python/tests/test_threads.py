"""Threads and processes: pools are shared, a collector is one thread's at a time, a forked child goes on."""

from __future__ import annotations

import os
import threading
from typing import Any

import brimful
from support import fills, paint


def run(*works: Any) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_share_a_pool() -> None:
    pool, wrong, left = brimful.Pool(), [], []

    def work(seed: int) -> None:
        for index in range(100):
            body = paint((seed * 7919 + index * 9973) % 300_000, seed)
            buffer = brimful.collect_pooled(fills(body, 20_000), pool=pool)
            if bytes(buffer) != body or brimful.collect(fills(body), pool=pool) != body:
                wrong.append((seed, index))
            left.append(buffer)
            left.pop(0).release()  # perhaps another thread's

    run(*(lambda seed=seed: work(seed) for seed in range(6)))
    left.clear()
    stats = pool.stats()
    assert not wrong
    assert stats.outstanding == 0
    assert stats.allocated - stats.freed == stats.retained
    assert stats.allocated_bytes - stats.freed_bytes == stats.retained_bytes


def test_a_collector_in_use_by_another_thread_is_busy_and_unharmed() -> None:
    collector = brimful.Collector()
    inside, done = threading.Event(), threading.Event()
    statuses = []

    def source(window: memoryview) -> int:
        if done.is_set():
            return 0
        inside.set()
        done.wait(10)
        window[:3] = b"abc"
        return 3

    def other() -> None:
        inside.wait(10)
        try:
            collector.write(b"x")
        except brimful.StateError as error:
            statuses.append(error.status)
        statuses.append(collector.info().source_calls)
        done.set()

    run(lambda: collector.read(source), other)
    assert statuses == ["busy", 1]
    assert collector.finish() == b"abc"


def test_a_large_result_is_copied_while_other_threads_run() -> None:
    body = paint(50_000_000)
    collectors = [brimful.Collector() for _ in range(2)]
    for collector in collectors:
        collector.read(fills(body))
    results = []
    infos = []
    run(*(lambda collector=collector: results.append(collector.finish()) for collector in collectors),
        lambda: infos.extend(collectors[0].info() for _ in range(1000)))  # fmt: skip
    assert all(result == body for result in results)
    assert {info.received for info in infos} == {len(body)}


def test_a_child_that_was_forked_inside_a_source_goes_on() -> None:
    pool = brimful.Pool()
    body = paint(100_000)
    fill, children = fills(body, 10_000), []

    def source(window: memoryview) -> int:
        if len(children) == 0:
            children.append(os.fork())
        return fill(window)

    with brimful.collect_pooled(source, pool=pool) as buffer:
        right = bytes(buffer) == body and brimful.collect(fills(body)) == body
    if children[0] == 0:
        os._exit(0 if right else 1)
    assert right
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
