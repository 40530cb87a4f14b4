"""A view of a window that is kept can neither change a result nor reach another body."""

from __future__ import annotations

import gc
import threading
from typing import Any

import brimful
import pytest
from support import fills, paint


def scribble(views: list[memoryview]) -> None:
    for view in views:
        view[:] = b"\xee" * len(view)


@pytest.mark.parametrize("collect", ["bytes", "pooled", "list"])
@pytest.mark.parametrize("length", [None, 1_000_000])
def test_a_kept_slice_of_every_window_changes_nothing(collect: str, length: int | None) -> None:
    body, kept = paint(1_000_000), []
    fill = fills(body, 70_000)

    def source(window: memoryview) -> int:
        kept.append(window[:])
        scribble(kept[:-1])
        filled = fill(window)
        return filled

    pool = brimful.Pool(memory="list" if collect == "list" else "auto")
    if collect == "bytes":
        result: Any = brimful.collect(source, length=length, pool=pool)
    else:
        result = brimful.collect_pooled(source, length=length, pool=pool)
    scribble(kept)
    assert bytes(result) == body
    with brimful.collect_pooled(fills(body), pool=pool) as another:
        scribble(kept)
        assert bytes(another) == body
    scribble(kept)  # their memory is still there, and theirs alone
    assert all(set(view) == {0xEE} for view in kept)
    kept.clear()


def test_the_window_itself_is_of_no_use_after_its_call() -> None:
    kept = []

    def source(window: memoryview) -> int:
        kept.append(window)
        return 0 if len(kept) > 1 else 5

    brimful.collect(source)
    for window in kept:
        with pytest.raises(ValueError, match="released"):
            window[0] = 1


def test_a_kept_window_costs_no_copy_and_a_kept_slice_does() -> None:
    def copied(keep: Any) -> int:
        kept, fill = [], fills(paint(100_000), 10_000)

        def source(window: memoryview) -> int:
            kept.append(keep(window))
            return fill(window)

        collector = brimful.Collector("pooled", length=100_000)
        collector.read(source)
        return collector.info().copied

    assert copied(lambda window: None) == 0
    assert copied(lambda window: window) == 0
    assert copied(lambda window: window[1:]) >= 100_000


def test_a_view_cannot_be_made_from_its_owner() -> None:
    owners = []

    def source(window: memoryview) -> int:
        owners.append(window.obj)
        with pytest.raises(BufferError, match="belongs to the call"):
            memoryview(window.obj)
        return 0 if len(owners) > 1 else 5

    assert brimful.collect(source) == bytes(5)
    for owner in owners:
        with pytest.raises(BufferError):
            memoryview(owner)
        with pytest.raises(TypeError):
            type(owner)()


def test_a_slice_kept_in_a_traceback_changes_nothing() -> None:
    def source(window: memoryview) -> int:
        window[:3] = b"abc"
        inner = memoryview(window)[1:]
        error = OSError(5, "mine")
        error.characters_written = 3
        raise error if inner else AssertionError

    collector = brimful.Collector()
    try:
        collector.read(source)
    except OSError as error:
        inner = error.__traceback__.tb_next.tb_frame.f_locals["inner"]
        inner[:2] = b"zz"
        assert collector.take_partial().tobytes() == b"abc"


def test_windows_begin_small_and_grow_with_what_has_come() -> None:
    asked, fill = [], fills(paint(2_000_000))

    def source(window: memoryview) -> int:
        asked.append(len(window))
        assert not any(window[:100]) and not any(window[-100:])
        return fill(window)

    brimful.collect(source)
    assert asked[0] == 16_384
    assert max(asked) <= 1 << 20


def test_a_reserved_window_is_the_same_until_it_is_committed() -> None:
    collector = brimful.Collector("pooled")
    window = collector.reserve()
    assert collector.reserve() is window
    assert not window.readonly and not any(window)
    with pytest.raises(brimful.StateError):
        collector.write(b"x")
    with pytest.raises(brimful.StateError):
        collector.take_partial()
    window[:3] = b"abc"
    collector.commit(3)
    with pytest.raises(ValueError, match="released"):
        window[0] = 1
    with pytest.raises(brimful.StateError):
        collector.commit(0)
    with collector.reserve() as window:
        window[:3] = b"def"
    again = collector.reserve()  # its user released it
    assert again[:3] == b"def"
    collector.commit(3)
    collector.reserve()
    collector.commit(0)
    collector.end()
    assert collector.finish().tobytes() == b"abcdef"


@pytest.mark.parametrize("n", [-1, 2**70, None])
def test_a_commit_of_more_than_the_window_is_a_contract_error(n: int | None) -> None:
    collector = brimful.Collector()
    collector.write(b"abc")
    window = collector.reserve()
    with pytest.raises(brimful.ContractError):
        collector.commit(len(window) + 1 if n is None else n)
    assert collector.take_partial().tobytes() == b"abc"


@pytest.mark.parametrize("result", ["bytes", "pooled"])
@pytest.mark.parametrize("length", [None, 100_000])
def test_a_kept_slice_of_a_reserved_window_changes_nothing(result: Any, length: int | None) -> None:
    body, kept = paint(100_000), []
    collector = brimful.Collector(result, length=length)
    at = 0
    while at < len(body):
        window = collector.reserve()
        kept.append(window[:])
        filled = min(len(window), len(body) - at)
        window[:filled] = body[at : at + filled]
        collector.commit(filled)
        scribble(kept)
        at += filled
    collector.end()
    result = collector.finish()
    scribble(kept)
    assert bytes(result) == body


def test_a_kept_slice_survives_reset_and_the_end_of_the_collector() -> None:
    collector = brimful.Collector()
    first = collector.reserve()[:]
    collector.reset()
    second = collector.reserve()[:]
    del collector
    gc.collect()
    scribble([first, second])
    body = paint(50_000)
    with brimful.collect_pooled(fills(body)) as other:
        scribble([first, second])
        assert bytes(other) == body


def test_a_body_that_is_read_while_another_thread_writes_into_kept_slices_is_right() -> None:
    kept: list[memoryview] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            scribble(kept[:])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(20):
            body, later = paint(300_000), []
            fill = fills(body, 50_000)

            def source(window: memoryview) -> int:
                kept.extend(later)
                later[:] = [window[:]]
                return fill(window)

            pooled = brimful.collect_pooled(source)
            kept.extend(later)
            assert bytes(pooled) == body
            pooled.release()
    finally:
        stop.set()
        thread.join()


def test_a_reserve_that_is_refused_keeps_the_window_that_is_out() -> None:
    body, late, foreign = paint(5), b"\xee" * 5, paint(17, 100)
    collector = brimful.Collector("pooled")
    collector.write(paint(8))
    window = collector.reserve(100)
    segments = collector.segments()
    with pytest.raises(BufferError, match="segments"):
        collector.reserve(100)
    for view in segments:
        view.release()
    assert collector.reserve(100) is window
    window[:5] = body
    collector.commit(5)
    with pytest.raises(ValueError, match="released"):
        window[:5] = late
    collector.end()
    result = collector.finish()
    assert bytes(result) == paint(8) + body
    result.release()
    with brimful.collect_pooled([foreign]) as another:
        with pytest.raises(ValueError, match="released"):
            bytes(window[:9])
        assert bytes(another) == foreign


def test_a_slice_kept_over_a_refused_reserve_changes_nothing() -> None:
    collector = brimful.Collector("pooled")
    collector.write(paint(8))
    window = collector.reserve(100)
    kept = window[:]
    segments = collector.segments()
    with pytest.raises(BufferError, match="segments"):
        collector.reserve(100)
    for view in segments:
        view.release()
    window[:5] = paint(5)
    collector.commit(5)
    collector.end()
    result = collector.finish()
    scribble([kept])
    assert bytes(result) == paint(8) + paint(5)


def test_a_reserved_window_whose_view_was_released_is_given_anew_also_while_a_slice_lives() -> None:
    collector = brimful.Collector("pooled")
    window = collector.reserve(100)
    kept = window[:3]
    window.release()
    again = collector.reserve(100)
    again[:4] = paint(4)
    assert collector.reserve() is again
    collector.commit(4)
    collector.end()
    result = collector.finish()
    scribble([kept])
    assert bytes(result) == paint(4)
