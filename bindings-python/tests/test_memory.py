"""What a body costs: allocations, copies, resident memory, page faults."""

from __future__ import annotations

import io
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brimful
import pytest
from support import Reads, chunks, fills, paint, resident

MIB = 1 << 20


@pytest.mark.parametrize("length", [1, 100, 4097, 16_384, 1_000_000, 16 * MIB - 1, 16 * MIB])
@pytest.mark.parametrize("drive", ["callable", "read", "generator", "write", "reserve"])
def test_bytes_of_known_length_are_one_allocation_and_no_copy(length: int, drive: str) -> None:
    body = paint(length)
    collector = brimful.Collector(length=length)
    if drive == "write":
        for chunk in chunks(body, 100_000):
            collector.write(chunk)
    elif drive == "reserve":
        at = 0
        while not collector.complete:
            window = collector.reserve()
            window[:] = body[at : at + len(window)]
            at += len(window)
            collector.commit(len(window))
    else:
        assert collector.read({"callable": fills(body), "read": Reads(body), "generator": chunks(body, 100_000)}[drive])
    assert collector.finish() == body
    info = collector.info()
    assert (info.allocations, info.allocated_bytes, info.copied, info.waste) == (1, length, 0, 0)


def test_a_pooled_body_of_100_mb_of_unknown_length_is_one_range_and_hardly_copied() -> None:
    body = paint(100_000_000)
    for source in (fills(body, 65_536), fills(body), chunks(body, 65_536)):
        with brimful.collect_pooled(source) as buffer:
            info = buffer.info()
            assert info.expected is None
            assert info.copied <= MIB
            (segment,) = buffer.segments()
            assert segment == body
            assert memoryview(buffer) == body
            assert buffer.info().copied == info.copied
            segment.release()


def test_bytes_of_unknown_length_are_copied_at_most_once_more() -> None:
    body = paint(10_000_000)
    collector = brimful.Collector()
    collector.read(fills(body))
    assert collector.finish() == body
    assert collector.info().copied <= 10_000_000 + MIB


def test_bytes_above_max_prealloc_are_copied_by_a_quarter_at_most() -> None:
    body = paint(48 * MIB)
    collector = brimful.Collector(length=len(body))
    collector.read(fills(body))
    assert collector.finish() == body
    assert collector.info().copied <= len(body) // 4


@pytest.mark.parametrize("collect", [brimful.collect, brimful.collect_pooled])
@pytest.mark.parametrize("options", [{"length": 1 << 40}, {"size_hint": 1 << 40}, {"length": 2**63 - 1}])
def test_an_announcement_takes_no_memory(collect: Any, options: Any) -> None:
    before = resident()
    grown = 0

    def source(window: memoryview) -> int:
        nonlocal grown
        grown = max(grown, resident() - before)
        length = min(10 - len(given), len(window))
        given.extend(bytes(length))
        return length

    given = bytearray()
    if "length" in options:
        with pytest.raises(brimful.ShortError) as caught:
            collect(source, **options)
        assert len(caught.value.partial) == 10
    else:
        assert len(collect(source, **options)) == 10
    assert grown < 20 * MIB
    assert resident() - before < 20 * MIB


def test_a_thousand_open_collectors_that_announced_16_mib_hold_little() -> None:
    pool = brimful.Pool()
    before = resident()
    collectors = []
    for _ in range(1000):
        collector = brimful.Collector("pooled", length=16 * MIB, pool=pool)
        collector.write(b"x")
        collectors.append(collector)
    assert (resident() - before) / 1000 < 64 * 1024
    assert {collector.info().received for collector in collectors} == {1}


def test_after_warming_up_10000_pooled_bodies_take_no_memory_from_the_system() -> None:
    pool = brimful.Pool()
    body = paint(4 * MIB)
    sizes = [1, 100, 5_000, 16_384, 16_385, 70_000, 300_000, MIB, 4 * MIB]
    file = io.BytesIO(body)

    def run(count: int) -> None:
        for index in range(count):
            size = sizes[index % len(sizes)]
            file.seek(4 * MIB - size)
            with brimful.collect_pooled(file.readinto, pool=pool) as buffer:
                assert len(buffer) == size

    run(len(sizes) * 3)
    before, resident_before = pool.stats(), resident()
    run(10_000)
    after = pool.stats()
    assert after.rented - before.rented >= 10_000
    assert (after.allocated, after.allocated_bytes, after.freed) == (before.allocated, before.allocated_bytes, before.freed)
    assert resident() - resident_before < MIB


def faults(call: Callable[[], Any]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_the_second_100_mb_body_on_a_pool_that_keeps_256_mib_takes_few_page_faults(tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(paint(100_000_000))
    pool = brimful.Pool(max_retained=256 * MIB)

    def collect() -> None:
        with open(path, "rb", buffering=0) as file, brimful.collect_pooled(file, pool=pool) as buffer:
            assert len(buffer) == 100_000_000

    first = faults(collect)
    assert faults(collect) < 100 < first


@pytest.mark.parametrize("result", ["bytes", "pooled"])
def test_a_hint_that_is_far_too_large_is_not_kept(result: Any) -> None:
    collector = brimful.Collector(result, size_hint=10 * MIB, pool=brimful.Pool())
    collector.read(fills(paint(100_000)))
    body = collector.finish()
    assert bytes(body) == paint(100_000)
    assert collector.info().waste <= 100_000 // 8 + 4096


def test_bytes_do_not_leak() -> None:
    body = paint(100_000)
    for round in range(2):
        before = resident()
        for _ in range(3000):
            brimful.collect(fills(body), length=len(body))
            brimful.collect(fills(body, 30_000))
            with pytest.raises(brimful.ShortError):
                brimful.collect(chunks(body, 30_000), length=len(body) + 1)
        if round:
            assert resident() - before < 2 * MIB
