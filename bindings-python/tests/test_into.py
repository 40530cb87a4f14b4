"""Bodies in memory of the caller's own."""

from __future__ import annotations

import array
import gc
import mmap
import os
import weakref
from typing import Any

import brimful
import pytest
from support import fills, paint

BODY = paint(100_000)


def test_any_writable_buffer_is_a_target_counted_in_bytes() -> None:
    targets: list[Any] = [
        bytearray(100_000),
        memoryview(bytearray(100_000)),
        memoryview(bytearray(200_000))[50_000:150_000],
        array.array("d", bytes(100_000)),
        mmap.mmap(-1, 100_000),
        memoryview(bytearray(100_000)).cast("B", shape=[10, 100, 100]),
    ]
    for target in targets:
        assert brimful.collect_into(fills(BODY), target) == 100_000
        assert bytes(memoryview(target)) == BODY


def test_what_cannot_be_written_to_is_refused_by_type_with_what_was_expected() -> None:
    for target in (b"abc", memoryview(b"abc"), "abc", [1, 2], None, 5, object()):
        calls: list[int] = []
        with pytest.raises(TypeError, match="writable buffer"):
            brimful.collect_into(lambda window, calls=calls: calls.append(1), target)  # type: ignore[arg-type]
        assert not calls
    with pytest.raises(BufferError, match="one range"):
        brimful.collect_into(b"abc", memoryview(bytearray(100))[::2])
    with pytest.raises(TypeError, match="no option lenght"):
        brimful.collect_into(b"abc", bytearray(3), lenght=3)  # type: ignore[call-arg]


def test_nothing_is_allocated_and_nothing_copied_and_the_probe_for_the_end_stays_outside() -> None:
    target = bytearray(100_000)
    collector = brimful.Collector()
    assert brimful.collect_into(fills(BODY), target, collector=collector) == 100_000
    info = collector.info()
    assert (info.copied, info.length, info.state) == (0, 100_000, "taken")
    assert info.allocated_bytes <= 4096 and info.peak_held <= 4096
    target.extend(b"x")  # it is not held any more
    with pytest.raises(brimful.LimitError) as caught:
        brimful.collect_into(fills(BODY + b"!"), memoryview(target)[:100_000])
    assert caught.value.limit == 100_000
    assert target[-1:] == b"x"


def test_a_target_is_held_while_its_body_has_not_ended_and_reset_lets_it_go() -> None:
    target = bytearray(10)
    answers: list[Any] = [b"abc", None, b"def", b""]

    def source(window: memoryview) -> int | None:
        answer = answers.pop(0)
        if answer:
            window[: len(answer)] = answer
        return None if answer is None else len(answer)

    with pytest.raises(brimful.WouldBlock) as caught:
        brimful.collect_into(source, target)
    collector = caught.value.collector
    assert collector is not None
    with pytest.raises(BufferError):
        target.append(1)
    assert bytes(target[:3]) == b"abc"
    assert brimful.collect_into(source, target, collector=collector) == 6
    assert target == b"abcdef" + bytes(4)
    target.append(1)

    collector = brimful.Collector("pooled")
    with pytest.raises(brimful.WouldBlock):
        brimful.collect_into([b"xy", None], target, collector=collector)
    with pytest.raises(brimful.StateError, match="elsewhere"):
        brimful.collect_into(b"", bytearray(5), collector=collector)
    collector.reset()
    target.append(1)
    assert collector.read(b"123") and bytes(collector.finish()) == b"123"
    assert target.startswith(b"xycdef")


def test_finish_of_a_body_in_a_target_is_its_length_and_a_partial_is_a_copy() -> None:
    for take in (True, False):
        target = bytearray(10)
        with pytest.raises(brimful.WouldBlock) as caught:
            brimful.collect_into(iter([b"abc", None]), target)
        collector = caught.value.collector
        assert collector is not None
        if take:
            with collector.take_partial() as partial:
                target[0] = 0
                assert bytes(partial) == b"abc"
        else:
            collector.end()
            assert collector.finish() == 3
        target.append(1)


def test_a_collector_that_has_begun_elsewhere_is_refused_and_keeps_what_it_has() -> None:
    collector, target = brimful.Collector(), bytearray(10)
    collector.write(b"abc")
    with pytest.raises(brimful.StateError, match="begun elsewhere"):
        brimful.collect_into(b"def", target, collector=collector)
    target.append(1)
    collector.end()
    assert collector.finish() == b"abc"


def test_windows_show_the_targets_own_bytes_and_a_view_kept_of_one_is_a_view_of_the_target() -> None:
    target, kept = bytearray(b"?" * 20), []

    def source(window: memoryview) -> int:
        kept.append(window[:])
        if len(kept) > 1:
            return 0
        assert bytes(window[:20]) == b"?" * 20
        window[:3] = b"abc"
        return 3

    assert brimful.collect_into(source, target) == 3
    with pytest.raises(BufferError):
        target.append(1)
    kept[0][:3] = b"xyz"
    assert target[:3] == b"xyz"
    with brimful.collect_pooled(fills(BODY)) as other:
        kept[-1][:] = b"!" * len(kept[-1])
        assert bytes(other) == BODY
    kept.clear()
    target.append(1)


def test_a_source_may_be_a_view_of_the_target() -> None:
    target = bytearray(BODY)
    assert brimful.collect_into([memoryview(target)[1:], memoryview(target)[:1]], target) == len(BODY)
    collector = brimful.Collector()
    with pytest.raises(brimful.WouldBlock):
        brimful.collect_into([None], target, collector=collector)
    expected = bytes(target[10:50_010])
    assert collector.write(memoryview(target)[10:50_010]) == 50_000
    collector.end()
    assert collector.finish() == 50_000
    assert target[:50_000] == expected


def test_a_source_that_fails_leaves_what_came_in_the_target() -> None:
    def source() -> Any:
        yield b"abc"
        raise KeyError("mine")

    target, collector = bytearray(b"?" * 10), brimful.Collector()
    with pytest.raises(KeyError):
        brimful.collect_into(source(), target, collector=collector)
    assert target == b"abc" + b"?" * 7
    assert collector.info().length == 3
    assert bytes(collector.take_partial()) == b"abc"
    target.append(1)


def test_progress_is_told_and_its_exceptions_come_out_with_what_came_kept() -> None:
    for call in (
        lambda **options: brimful.collect(fills(BODY, 30_000), **options),
        lambda **options: brimful.collect_pooled(fills(BODY, 30_000), **options).release(),
        lambda **options: brimful.collect_into(fills(BODY, 30_000), bytearray(100_000), **options),
    ):
        told: list[Any] = []
        call(on_progress=lambda *facts: told.append(facts))
        assert told[-1] == (100_000, None) and len(told) > 3
        told.clear()
        call(length=100_000, on_progress=lambda *facts: told.append(facts))
        assert told[-1] == (100_000, 100_000)
        collector, mine = brimful.Collector(), RuntimeError("mine")

        def stop(received: int, expected: int | None) -> None:
            assert collector.info().received == received
            with pytest.raises(brimful.StateError):
                collector.write(b"x")
            if received > 50_000:
                raise mine

        with pytest.raises(RuntimeError) as caught:
            call(on_progress=stop, collector=collector)
        assert caught.value is mine
        received = collector.info().received
        assert 50_000 < received < 100_000
        assert bytes(collector.take_partial()) == BODY[:received]
    with pytest.raises(TypeError, match="on_progress must be a callable"):
        brimful.collect(b"abc", on_progress=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", ["collect", "collect_pooled", "collect_fd", "collect_fd_pooled"])
def test_another_call_that_takes_a_body_out_of_a_target_lets_the_target_go(call: str) -> None:
    target, collector = bytearray(10), brimful.Collector()
    with pytest.raises(brimful.WouldBlock):
        brimful.collect_into(iter([paint(3), None]), target, collector=collector)
    if call.startswith("collect_fd"):
        near, far = os.pipe()
        os.close(far)
        result = getattr(brimful, call)(near, collector=collector)
        os.close(near)
    else:
        result = getattr(brimful, call)([], collector=collector)
    assert bytes(result) == paint(3)
    target.extend(b"more")
    target[:3] = b"\xee" * 3
    assert bytes(result) == paint(3)


class Owner(bytearray):
    """A target that can refer to its collector."""

    collector: Any


@pytest.mark.parametrize("reserved", [False, True])
def test_a_target_and_the_collector_that_it_refers_to_are_collected_as_garbage(reserved: bool) -> None:
    def make() -> weakref.ref[Owner]:
        target = Owner(10)
        target.collector = brimful.Collector()
        with pytest.raises(brimful.WouldBlock):
            brimful.collect_into(iter([paint(3), None]), target, collector=target.collector)
        if reserved:
            target.collector.reserve()
            target.collector.commit(0)
        return weakref.ref(target)

    gone = make()
    gc.collect()
    assert gone() is None


def test_a_view_of_a_window_in_a_target_outlives_the_garbage_around_it() -> None:
    def make() -> tuple[memoryview, weakref.ref[Owner]]:
        target = Owner(10)
        target.collector = brimful.Collector()
        with pytest.raises(brimful.WouldBlock):
            brimful.collect_into(iter([paint(3), None]), target, collector=target.collector)
        return target.collector.reserve()[:], weakref.ref(target)

    view, owner = make()
    gc.collect()
    view[:4] = paint(4)
    target = owner()
    assert target is not None
    assert bytes(target[3:7]) == paint(4)
    target.collector.commit(0)


@pytest.mark.parametrize("wrong", [{"truncate": 1}, {"truncate": "no"}, {"truncate": None}, {"end": 5}])
def test_every_call_refuses_the_same_options(wrong: dict[str, Any]) -> None:
    collector, calls = brimful.Collector(), []
    calls.append(lambda: brimful.collect([b"x"], **wrong))
    calls.append(lambda: brimful.collect_pooled([b"x"], **wrong))
    calls.append(lambda: brimful.collect_into([b"x"], bytearray(3), **wrong))
    calls.append(lambda: brimful.collect_fd(0, **wrong))
    calls.append(lambda: brimful.Collector(**wrong))
    calls.append(lambda: collector.reset(**wrong))
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_an_end_of_none_is_the_default_in_every_call() -> None:
    collector = brimful.Collector(end=None)
    collector.reset(end=None)
    assert collector.read([b"x"])
    assert brimful.collect([b"x"], end=None) == b"x"
    assert bytes(brimful.collect_pooled([b"x"], end=None)) == b"x"
    assert brimful.collect_into([b"x"], bytearray(3), end=None) == 1
