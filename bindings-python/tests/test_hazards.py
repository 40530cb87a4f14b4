"""Hazards that are known from other libraries, by their numbers in the list of reliability."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import brimful
import pytest
from everything import RESULTS
from support import fills, paint

BODY = paint(200_000)
SECRET = b"\xaasecret\xaa"


def both_memories() -> Iterator[brimful.Pool]:
    yield brimful.Pool(memory="auto")
    yield brimful.Pool(memory="list")


def collected(result: str, source: Any, **options: Any) -> bytes:
    if result == "bytes":
        return brimful.collect(source, **options)
    if result == "pooled":
        with brimful.collect_pooled(source, **options) as body:
            return bytes(body)
    target = bytearray(len(BODY) + 1)
    return bytes(target[: brimful.collect_into(source, target, **options)])


@pytest.mark.parametrize("result", ["bytes", "pooled"])
def test_h9_data_that_comes_late_after_a_cancel_does_not_reach_the_next_body(result: Any) -> None:
    async def main() -> None:
        for pool in both_memories():
            late: list[memoryview] = []

            async def source(window: memoryview, late: list[memoryview] = late) -> int:
                late.append(window[:])
                await asyncio.sleep(60)
                return 0

            collector = brimful.Collector(result, pool=pool)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(collector.read_async(source), 0.005)
            collector.cancel()
            with pytest.raises(brimful.Cancelled):
                collector.read(b"x")
            collector.reset()
            fill = fills(BODY, 50_000)

            def next_source(window: memoryview, late: list[memoryview] = late, fill: Any = fill) -> int:
                filled = fill(window)
                for view in late:
                    view[:] = b"\xee" * len(view)
                return filled

            assert collector.read(next_source)
            late[0][:] = b"\xee" * len(late[0])
            assert bytes(collector.finish()) == BODY

    asyncio.run(main())


@pytest.mark.parametrize("result", RESULTS)
def test_h18_a_limit_holds_after_stops_and_after_a_reset(result: str) -> None:
    def pieces() -> Iterator[bytes | None]:
        for _ in range(10):
            yield b"0123456789"
            yield None

    target, source = bytearray(1000), pieces()
    collector = brimful.Collector("pooled" if result == "pooled" else "bytes", limit=55)
    for again in range(3):
        stops = 0
        with pytest.raises(brimful.LimitError) as caught:
            while True:
                try:
                    if result == "into":
                        brimful.collect_into(source, target, collector=collector)
                    elif not collector.read(source):
                        stops += 1
                except brimful.WouldBlock:
                    stops += 1
        assert (caught.value.limit, stops, collector.info().length) == (55, 5, 55), again
        collector.reset()
        source = pieces()


def test_h22_bytes_that_are_claimed_but_not_written_are_zero_also_after_a_body_of_0xaa() -> None:
    for pool, result in itertools.product(both_memories(), ["bytes", "pooled"]):
        for size in (5000, 300_000, 3_000_000):
            brimful.collect_pooled(fills(b"\xaa" * size), pool=pool).release()
            left, seen = [size], []

            def claims(window: memoryview, left: list[int] = left, seen: list[int] = seen) -> int:
                seen.append(len(window))
                assert not any(window)
                claimed = min(len(window), left[0])
                left[0] -= claimed
                return claimed

            assert collected(result, claims, pool=pool) == bytes(size)
        assert pool.stats().reused > 0


@pytest.mark.parametrize("memory", ["auto", "list"])
@pytest.mark.parametrize("result", ["bytes", "pooled"])
@pytest.mark.parametrize("options", [{}, {"length": 100_000}, {"size_hint": 1 << 20}])
def test_a_hundred_thousand_answers_of_one_byte_clear_at_most_the_body_and_one_window(
    memory: Any, result: Any, options: dict[str, int]
) -> None:
    """H15, E49: what was shown before is not cleared again after a short answer."""
    size, cleared = 100_000, 0
    at = shown_to = 0  # where the window begins, and up to where the source has seen and marked the memory

    def source(window: memoryview) -> int:
        nonlocal at, shown_to, cleared
        if at == size:
            return 0
        end = at + len(window)
        if shown_to > at and window[0] != 0xAA:
            shown_to = at  # other memory: it was cleared anew
        if end > shown_to:
            fresh = window[shown_to - at :]
            assert not any(fresh)
            cleared += len(fresh)
            fresh[:] = b"\xaa" * len(fresh)
            shown_to = end
        elif shown_to > at:
            assert window[0] == 0xAA and window[-1] == 0xAA  # not cleared again
        window[0] = at % 251
        at += 1
        return 1

    collector = brimful.Collector(result, pool=brimful.Pool(memory=memory), **options)
    assert collector.read(source)
    assert bytes(collector.finish()) == paint(size)
    assert cleared <= size + (1 << 20)


def test_h24_what_is_freed_reset_or_finished_from_inside_goes_on_unharmed() -> None:
    held = [brimful.Collector("pooled")]

    def source(window: memoryview) -> int:
        for call in (held[0].reset, held[0].finish, held[0].take_partial) if held else ():
            with pytest.raises(brimful.StateError):
                call()
        held.clear()  # the caller's last reference
        gc.collect()
        window[:3] = b"abc"
        return 0 if calls.append(1) or len(calls) > 2 else 3

    calls: list[int] = []
    assert held[0].read(source)
    pool = brimful.Pool()

    def nested(depth: int) -> Callable[[memoryview], int]:
        def fill(window: memoryview) -> int:
            if depth and not done[depth]:
                done[depth] = True
                assert brimful.collect(nested(depth - 1), pool=pool) == BODY[:1000]
            return inner(window)

        inner = fills(BODY[:1000], 100)
        return fill

    done = [False] * 50
    assert brimful.collect(nested(49), pool=pool) == BODY[:1000]


def test_h25_every_kind_of_exception_comes_out_of_every_kind_of_source_unchanged() -> None:
    class Mine(BaseException):
        pass

    for error in (Mine(), MemoryError("mine"), SystemExit(3), GeneratorExit(), StopIteration(5), RecursionError()):

        def callback(window: memoryview, error: BaseException = error) -> int:
            raise error

        class Reads:
            def __init__(self, call: Any) -> None:
                self.read = call

        for source in (callback, Reads(callback)):
            for result in RESULTS:
                with pytest.raises(type(error)) as caught:
                    collected(result, source)
                assert caught.value is error


def test_h27_a_source_that_never_has_anything_stops_the_call_and_one_that_always_asks_again_is_no_progress() -> None:
    collector = brimful.Collector()
    assert not any(collector.read(lambda window: None) for _ in range(1000))

    def again(window: memoryview) -> int:
        raise InterruptedError

    with pytest.raises(brimful.NoProgressError):
        collector.read(again)

    class Empty:
        async def read(self, size: int) -> bytes:
            return b""

    assert asyncio.run(brimful.collect_async(Empty())) == b""


@pytest.mark.parametrize("result", RESULTS)
def test_h28_a_source_may_use_one_scratch_buffer_for_all_its_chunks(result: str) -> None:
    scratch = bytearray(7000)

    def pieces() -> Iterator[memoryview]:
        for at in range(0, len(BODY), 7000):
            piece = BODY[at : at + 7000]
            scratch[: len(piece)] = piece
            yield memoryview(scratch)[: len(piece)]

    class Reads:
        def __init__(self) -> None:
            self.at = 0

        def read(self, size: int) -> memoryview:
            piece = BODY[self.at : self.at + min(size, 7000)]
            scratch[: len(piece)] = piece
            self.at += len(piece)
            return memoryview(scratch)[: len(piece)]

    assert collected(result, pieces()) == BODY
    assert collected(result, Reads()) == BODY


def test_h29_releasing_twice_also_from_two_threads_gives_the_memory_back_once() -> None:
    pool = brimful.Pool()
    for _ in range(200):
        body = brimful.collect_pooled(fills(BODY[:5000]), pool=pool)
        threads = [threading.Thread(target=body.release) for _ in range(3)]
        for thread in threads:
            thread.start()
        body.release()
        for thread in threads:
            thread.join()
        with pytest.raises(ValueError, match="released"):
            len(body)
    stats = pool.stats()
    assert stats.outstanding == 0 and stats.rented == stats.released


def test_h30_views_keep_their_memory_and_a_release_under_them_is_refused() -> None:
    pool = brimful.Pool()
    body = brimful.collect_pooled(fills(BODY), pool=pool)
    view = memoryview(body)[100:]
    part = body[10:20]
    with pytest.raises(BufferError):
        body.release()
    with pytest.raises(KeyError), body:  # the exception is not hidden, and the release deferred
        raise KeyError("mine")
    with brimful.collect_pooled(fills(b"\xee" * len(BODY)), pool=pool):
        assert view == BODY[100:] and bytes(part) == BODY[10:20]
    view.release()
    with pytest.raises(ValueError, match="released"):
        memoryview(body)
    assert pool.stats().outstanding > 0  # the slice holds it
    with brimful.collect_pooled(fills(b"\xee" * len(BODY)), pool=pool):
        assert bytes(part) == BODY[10:20]
    part.release()
    assert pool.stats().outstanding == 0


def test_slices_share_the_memory_and_are_holders_of_their_own() -> None:
    """E39."""
    pool = brimful.Pool(memory="list")
    body = brimful.collect_pooled(fills(BODY), pool=pool)
    allocated = pool.stats().allocated
    assert len(body.segments()) > 1
    for part, expected in (
        (body[10:20], BODY[10:20]),
        (body[:], BODY),
        (body[-100:], BODY[-100:]),
        (body[100:50], b""),
        (body[10_000:150_000][5000:100_000], BODY[15_000:110_000]),
    ):
        assert b"".join(part.segments()) == expected == part.tobytes()
        assert len(part) == len(expected)
    assert pool.stats().allocated == allocated
    assert (body[0], body[-1], body[199_999]) == (BODY[0], BODY[-1], BODY[-1])
    assert list(body[5:8]) == [5, 6, 7]
    for wrong in (200_000, -200_001, 2**70):
        with pytest.raises((IndexError, TypeError)):
            body[wrong]
    with pytest.raises(ValueError, match="steps"):
        body[::2]
    with pytest.raises(TypeError, match="int or a slice"):
        body["x"]  # type: ignore[call-overload]
    part = body[50_000:60_000]
    del body
    gc.collect()
    brimful.collect_pooled(fills(b"\xee" * len(BODY)), pool=pool).release()
    assert bytes(part) == BODY[50_000:60_000]
    part.release()
    with pytest.raises(ValueError, match="released"):
        part[0]
    assert pool.stats().outstanding == 0


def test_h34_what_is_rented_on_one_thread_is_released_on_another_and_used_again() -> None:
    pool, handed = brimful.Pool(), []

    def rent() -> None:
        for seed in range(50):
            handed.append((seed, brimful.collect_pooled(fills(paint(20_000, seed)), pool=pool)))

    for _ in range(3):
        thread = threading.Thread(target=rent)
        thread.start()
        thread.join()
        for seed, body in handed:
            assert bytes(body) == paint(20_000, seed)
            body.release()
        handed.clear()
    stats = pool.stats()
    assert stats.outstanding == 0
    assert stats.reused > 0 and stats.allocated - stats.freed == stats.retained


def test_views_passed_to_other_threads_show_their_body_while_others_come_and_go() -> None:
    pool, stop, wrong = brimful.Pool(max_retained=1 << 20), threading.Event(), []

    def look(view: memoryview, expected: bytes) -> None:
        while not stop.is_set():
            if view != expected:
                wrong.append(view)
                return
            time.sleep(0)

    bodies = [brimful.collect_pooled(fills(paint(30_000, seed)), pool=pool) for seed in range(4)]
    threads = [
        threading.Thread(target=look, args=(view, paint(30_000, seed)[start : start + len(view)]))
        for seed, body in enumerate(bodies)
        for start, view in ((0, memoryview(body)), (100, memoryview(body[100:5000])))
    ]
    for thread in threads:
        thread.start()
    for seed in range(300):
        with brimful.collect_pooled(fills(b"\xee" * (seed * 200)), pool=pool):
            pass
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_h36_a_budget_that_is_used_up_is_an_error_at_once_and_the_same_call_may_be_made_again() -> None:
    for memory in ("auto", "list"):
        pool = brimful.Pool(budget=300_000, memory=memory)  # type: ignore[arg-type]
        held = brimful.collect_pooled(fills(BODY), length=len(BODY), pool=pool)
        collector, fill = brimful.Collector("pooled", pool=pool), fills(BODY[:90_000], 5000)
        began = time.perf_counter()
        with pytest.raises(brimful.BudgetError) as caught:
            collector.read(fill)
        assert time.perf_counter() - began < 1 and isinstance(caught.value, MemoryError)
        received = collector.info().received
        with pytest.raises(brimful.BudgetError):
            collector.read(fill)
        assert (collector.info().received, collector.info().state) == (received, "open")
        held.release()
        assert collector.read(fill)
        assert collector.finish().tobytes() == BODY[:90_000]  # a join would be charged too
        with pytest.raises(brimful.BudgetError):
            asyncio.run(brimful.collect_pooled_async(fills(BODY * 2), pool=pool))
        assert pool.stats().refused > 0


def test_a_budget_that_is_used_up_loses_no_chunk_of_an_iterable() -> None:
    pool = brimful.Pool(budget=300_000, memory="list")
    held = brimful.collect_pooled(fills(BODY), length=len(BODY), pool=pool)
    collector, pieces = brimful.Collector("pooled", pool=pool), iter([BODY[:20_000], BODY[20_000:150_000]])
    with pytest.raises(brimful.BudgetError):
        collector.read(pieces)
    held.release()
    assert collector.read(pieces)
    assert collector.finish().tobytes() == BODY[:150_000]


@pytest.mark.parametrize("scrub", [False, True])
def test_h37_a_secret_of_one_body_is_in_nothing_that_another_can_see(scrub: bool) -> None:
    class Fails(Exception):
        pass

    def looks(then: Any) -> Any:
        calls: list[int] = []

        def source(window: memoryview) -> int:
            assert SECRET not in bytes(window)
            calls.append(1)
            if len(calls) < 3:
                return min(len(window), 20_000)  # claimed, not written
            if isinstance(then, Exception):
                raise then
            return then(window)

        return source

    endings = [Fails(), OSError(5, "mine"), lambda window: 0, lambda window: len(window) + 1, lambda window: None]
    for pool in (brimful.Pool(scrub=scrub), brimful.Pool(scrub=scrub, memory="list")):
        for end, length in itertools.product(endings, (None, 1 << 20)):
            secret = SECRET * 20_000
            brimful.collect_pooled(fills(secret), pool=pool).release()
            collector = brimful.Collector("pooled", length=length, limit=1 << 20, pool=pool)
            try:
                collector.read(looks(end))
            except (Fails, OSError, brimful.Error):
                pass
            assert SECRET not in bytes(collector.take_partial())
            collector.reset()
            window = collector.reserve(1 << 20)
            assert SECRET not in bytes(window)
            collector.commit(0)

            async def waits(window: memoryview) -> int:
                assert SECRET not in bytes(window)
                return 0

            with pytest.raises(brimful.ShortError):
                asyncio.run(brimful.collect_async(waits, length=1 << 20, pool=pool))
            protocol = brimful.BufferedProtocol(result="pooled", pool=pool)
            assert SECRET not in bytes(protocol.get_buffer(-1))


def test_an_overridden_method_of_a_built_in_source_is_not_shown_memory_that_is_not_cleared() -> None:
    import io

    pool, seen = brimful.Pool(), []
    brimful.collect_pooled(fills(SECRET * 10_000), pool=pool).release()
    source = io.BytesIO(BODY)
    source.readinto = lambda window: seen.append(bytes(window)) or 0  # type: ignore[method-assign, assignment, func-returns-value]
    with brimful.collect_pooled(source, pool=pool) as body:
        assert bytes(body) == BODY
    assert not seen


def test_h44_a_cancel_and_the_end_at_one_moment_have_one_outcome_and_a_cancel_reaches_no_later_body() -> None:
    for round in range(300):
        collector, ready = brimful.Collector(), threading.Event()

        def cancel(collector: brimful.Collector = collector, ready: threading.Event = ready) -> None:
            ready.wait()
            collector.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        calls: list[int] = []

        def source(window: memoryview, ready: threading.Event = ready, calls: list[int] = calls) -> int:
            ready.set()
            calls.append(1)
            if len(calls) == 1 + round % 5:
                return 0
            window[0] = 65
            return 1

        try:
            collector.read(source)
            body = collector.finish()
        except brimful.Cancelled:
            body = collector.take_partial().tobytes()
        assert body == b"A" * len(body)
        thread.join()
        collector.reset()  # a cancel from before is forgotten
        assert collector.read(b"next") and collector.finish() == b"next"


def test_idle_memory_and_what_is_trimmed_go_back_and_a_closed_pool_keeps_nothing() -> None:
    """E46, E48."""
    pool = brimful.Pool(idle=0.01)
    brimful.collect_pooled(fills(BODY), pool=pool).release()
    assert pool.stats().retained_bytes > 0
    time.sleep(0.03)
    brimful.collect_pooled(fills(b"x"), pool=pool).release()
    assert pool.stats().retained_bytes < len(BODY)
    pool = brimful.Pool()
    brimful.collect_pooled(fills(BODY), pool=pool).release()
    assert pool.trim(keep=0) > 0 and pool.stats().retained_bytes == 0
    body = brimful.collect_pooled(fills(BODY), pool=pool)
    pool.close()
    assert bytes(body) == BODY
    body.release()
    assert (pool.stats().retained, pool.stats().outstanding) == (0, 0)
