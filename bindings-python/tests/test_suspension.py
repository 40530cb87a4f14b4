"""A body that stops goes on where it stopped, and costs no more for it."""

from __future__ import annotations

from typing import Any

import brimful
import pytest
from support import fills, paint

SIZE = 5 << 20
PACKET = 8000
STOPS = -(-SIZE // PACKET)


def packets(body: bytes, stops: bool) -> Any:
    """Gives at most one packet a call, and nothing in between where it `stops`."""
    fill, given = fills(body, PACKET), [False]

    def source(window: memoryview) -> int | None:
        given[0] = not given[0]
        return fill(window[: PACKET]) if given[0] or not stops else None

    return source


@pytest.mark.parametrize("result", ["bytes", "pooled"])
@pytest.mark.parametrize("length", [None, SIZE])
@pytest.mark.parametrize("memory", ["auto", "list"])
def test_656_stops_cost_the_same_allocations_and_copies_as_none(result: Any, length: int | None, memory: Any) -> None:
    body = paint(SIZE)
    costs = []
    for stops in (False, True):
        collector = brimful.Collector(result, length=length, pool=brimful.Pool(memory=memory))
        source, pendings = packets(body, stops), 0
        while not collector.read(source):
            pendings += 1
        assert bytes(collector.finish()) == body
        info = collector.info()
        assert info.pendings == pendings
        # With a length the body is complete with its last packet; else there is one more stop before its end, and one
        # for each packet that a window had not room enough for.
        assert pendings >= STOPS if stops and not length else pendings == (STOPS - 1 if stops else 0)
        costs.append((info.allocations, info.allocated_bytes, info.copied, info.rents, info.peak_held))
    assert STOPS == 656
    assert costs[0] == costs[1]
    if length:
        assert costs[0][0] == 1 and costs[0][2] == 0


@pytest.mark.parametrize("result", ["bytes", "pooled"])
def test_what_has_arrived_can_be_looked_at_before_the_end(result: Any) -> None:
    body = paint(100_000)
    fill = fills(body, 30_000)
    calls = []

    def source(window: memoryview) -> int | None:
        calls.append(1)
        return fill(window) if len(calls) % 3 else None

    collector = brimful.Collector(result)
    seen = 0
    while not collector.read(source):
        target = bytearray(1000)
        arrived = collector.info().length
        assert arrived > seen
        assert collector.copy(arrived - 1000, target) == 1000
        assert bytes(target) == body[arrived - 1000 : arrived]
        assert collector.copy(arrived, target) == 0
        segments = collector.segments()
        assert b"".join(segments) == body[:arrived]
        for segment in segments:
            assert segment.readonly
            segment.release()
        seen = arrived
    assert bytes(collector.finish()) == body


def test_the_body_does_not_move_while_what_has_arrived_is_looked_at() -> None:
    collector = brimful.Collector("pooled")
    collector.write(paint(100))
    (segment,) = collector.segments()
    for call in (
        lambda: collector.write(b"x"),
        lambda: collector.read(b"x"),
        collector.end,
        collector.reserve,
        collector.take_partial,
        collector.reset,
    ):
        with pytest.raises(BufferError, match="segments"):
            call()
    with pytest.raises(BufferError):
        memoryview(segment.obj)
    assert bytes(segment) == paint(100)
    assert collector.info().length == 100
    segment.release()
    collector.write(paint(1_000_000, 100))
    collector.end()
    assert collector.finish().tobytes() == paint(1_000_100)


def test_a_segment_outlives_its_collector() -> None:
    collector = brimful.Collector()
    collector.write(paint(100))
    (segment,) = collector.segments()
    del collector
    brimful.collect_pooled(fills(bytes(1000)))
    assert bytes(segment) == paint(100)


def test_states_are_kept() -> None:
    collector = brimful.Collector()
    assert collector.complete is False
    for call in (collector.finish, lambda: collector.commit(0)):
        with pytest.raises(brimful.StateError):
            call()
    collector.write(b"abc")
    collector.end()
    assert collector.complete is True
    assert collector.read(lambda window: 1 / 0) is True  # the source is not called again
    with pytest.raises(brimful.StateError):
        collector.write(b"x")
    with pytest.raises(brimful.StateError):
        collector.reserve()
    assert collector.finish() == b"abc"
    assert collector.info().state == "taken"
    for call in (collector.finish, collector.take_partial, lambda: collector.read(b""), lambda: collector.write(b"x")):
        with pytest.raises(brimful.StateError):
            call()


def test_a_collector_can_be_used_again_with_the_same_options_or_with_others() -> None:
    collector = brimful.Collector("pooled", limit=5)
    for _ in range(3):
        assert collector.read(fills(b"12345"))
        assert collector.finish().tobytes() == b"12345"
        collector.reset()
    with pytest.raises(brimful.LimitError):
        collector.read(fills(b"123456"))
    collector.reset(length=6)
    assert collector.read(fills(b"123456"))
    collector.reset(truncate=True, limit=2, end="eof", size_hint=None)
    assert collector.read(fills(b"123456"))
    assert collector.finish().tobytes() == b"12"
    assert collector.info().truncated


def test_a_length_that_a_source_announced_is_not_kept_for_the_next_body() -> None:
    collector = brimful.Collector(length=3)
    assert collector.read([b"abc"])
    collector.reset()
    with pytest.raises(brimful.LongError):
        collector.read([b"abcd"])
    collector.reset()
    assert collector.read(fills(b"abcd"))  # a stream is not asked for more than the length
    assert collector.finish() == b"abc"


def test_a_partial_can_be_taken_while_the_body_is_open() -> None:
    collector = brimful.Collector(length=1000)
    collector.write(paint(100))
    partial = collector.take_partial()
    assert partial.tobytes() == paint(100)
    assert len(partial.segments()) == 1
    assert memoryview(partial).nbytes == 100


def test_a_collector_is_a_writable_file() -> None:
    import io
    import shutil

    collector = brimful.Collector()
    shutil.copyfileobj(io.BytesIO(paint(1_000_000)), collector, 10_000)
    collector.end()
    assert collector.finish() == paint(1_000_000)
