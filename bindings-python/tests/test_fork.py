"""A child that is forked at any moment can go on (H35, H43, E50)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# In a process of its own, which is small, so that a fork is quick. Each child reads with the pool of the parent, with
# the default one, and goes on with what was suspended.
PROGRAM = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
import brimful
from support import fills, paint

BODY = paint(30_000)
pool = brimful.Pool()
stop = threading.Event()

def in_the_pool():
    while not stop.is_set():
        for used in (pool, None):
            brimful.collect_pooled(fills(BODY, 10_000), pool=used).release()

def works(collector=None, source=None):
    right = brimful.collect(fills(BODY, 10_000)) == BODY
    with brimful.collect_pooled(fills(BODY, 10_000), pool=pool) as body:
        right &= bytes(body) == BODY
    if collector is not None:
        right &= collector.read(source) and bytes(collector.finish()) == BODY
    stats = pool.stats()
    return right and stats.rented >= stats.released

def forked(child):
    process = os.fork()
    if process == 0:
        right = False
        try:
            right = child()
        finally:
            os._exit(0 if right else 1)
    return process

def ended(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0

def in_the_middle(index):
    fill, calls = fills(BODY, 7000), []
    def source(window):
        calls.append(1)
        return fill(window) if len(calls) % 2 else None
    def rest(window):
        return fill(window)
    collector = brimful.Collector("pooled" if index % 2 else "bytes", length=len(BODY) if index % 3 else None, pool=pool)
    for _ in range(1 + index % 3):
        collector.read(source)
    process = forked(lambda: works(collector, rest))
    return ended(process) and collector.read(rest) and bytes(collector.finish()) == BODY

def inside_a_callback(index):
    fill, processes = fills(BODY, 7000), []
    def source(window):
        if not processes:
            processes.append(os.fork())
        return fill(window)
    right = False
    try:
        with brimful.collect_pooled(source, pool=pool) as body:
            right = bytes(body) == BODY and works()
    finally:
        if processes[0] == 0:
            os._exit(0 if right else 1)
    return right and ended(processes[0])

def while_another_is_in_the_pool(index):
    return ended(forked(works))

wrong = [0, 0, 0]
for index in range(300):
    wrong[0] += not in_the_middle(index)
    wrong[1] += not inside_a_callback(index)
threads = [threading.Thread(target=in_the_pool) for _ in range(2)]
for thread in threads:
    thread.start()
for index in range(400):
    wrong[2] += not while_another_is_in_the_pool(index)
stop.set()
for thread in threads:
    thread.join()
stats = pool.stats()
print(wrong, stats.outstanding, stats.allocated - stats.freed == stats.retained)
"""


def test_a_thousand_children_forked_in_the_middle_inside_a_callback_and_with_a_thread_in_the_pool_work() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[0, 0, 0] 0 True"
