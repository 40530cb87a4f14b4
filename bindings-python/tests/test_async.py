"""Awaited sources: the limit, cancelling, the collector while it waits, and windows that are kept over an await."""

from __future__ import annotations

import asyncio
import gc
import io
import threading
from collections.abc import AsyncIterator
from typing import Any

import brimful
import pytest
from everything import RESULTS, ReadsIntoAsync, chunks_async, collect_async, fills_async
from support import fills, paint, resident

BODY = paint(1_000_000)


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("kind", ["generator", "callable", "reader"])
def test_an_endless_source_is_stopped_at_the_limit_and_memory_stays_small_on_the_way(result: str, kind: str) -> None:
    """H20: at most the limit and one chunk are taken; nothing is gathered first."""
    limit, chunk = 4 << 20, 64 << 10
    piece, given, held = bytes(chunk), [0], [0]
    pool = brimful.Pool()
    before = resident()

    def count(length: int) -> None:
        given[0] += length
        held[0] = max(held[0], resident() - before)

    async def generator() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0)
            count(chunk)
            yield piece

    async def fill(window: memoryview) -> int:
        await asyncio.sleep(0)
        length = min(len(window), chunk)
        window[:length] = piece[:length]
        count(length)
        return length

    class Reader:
        async def read(self, size: int) -> bytes:
            await asyncio.sleep(0)
            count(min(size, chunk))
            return piece[:size]

    source = {"generator": generator, "callable": lambda: fill, "reader": Reader}[kind]()
    outcome = asyncio.run(collect_async(result, source, limit + 1 if result == "into" else 0, limit=limit, pool=pool))
    assert outcome.status == "limit" and len(outcome.body) == limit
    assert given[0] <= limit + chunk
    # Growing moves what has come into a block of twice the size, at the most.
    assert held[0] <= 3 * limit + (4 << 20)
    assert pool.stats().peak_bytes <= 3 * limit


@pytest.mark.parametrize("result", ["bytes", "pooled"])
def test_a_cancelled_await_loses_nothing_and_reading_goes_on(result: Any) -> None:
    async def run() -> None:
        reader, collector = asyncio.StreamReader(), brimful.Collector(result)
        for at in range(0, len(BODY), 100_000):
            reader.feed_data(BODY[at : at + 100_000])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(collector.read_async(reader), 0.001)
            assert collector.info().received == at + 100_000
            assert collector.complete is False
        reader.feed_eof()
        assert await collector.read_async(reader) is True
        assert bytes(collector.finish()) == BODY

    asyncio.run(run())


def test_a_cancelled_call_leaves_what_came_in_the_collector_it_was_given() -> None:
    async def run() -> None:
        reader, collector = asyncio.StreamReader(), brimful.Collector()
        reader.feed_data(b"abc")
        call = asyncio.create_task(brimful.collect_async(reader, collector=collector))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        reader.feed_data(b"def")
        reader.feed_eof()
        assert await brimful.collect_async(reader, collector=collector) == b"abcdef"

    asyncio.run(run())


def test_an_asynchronous_iterator_goes_on_after_a_cancel_and_a_generator_that_ended_by_it_is_no_complete_body() -> None:
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    class Iterator:
        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> bytes:
            if (chunk := await queue.get()) == b"end":
                raise StopAsyncIteration
            return chunk

    async def generator() -> AsyncIterator[bytes]:
        while (chunk := await queue.get()) != b"end":
            yield chunk

    async def run(source: Any) -> brimful.Collector:
        collector = brimful.Collector()
        queue.put_nowait(b"abc")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(collector.read_async(source), 0.01)
        queue.put_nowait(b"def")
        queue.put_nowait(b"end")
        try:
            assert await collector.read_async(source) is True
        except brimful.Error as error:
            assert error.status == "source"
        return collector

    assert asyncio.run(run(Iterator())).finish() == b"abcdef"
    queue = asyncio.Queue()
    collector = asyncio.run(run(generator()))
    assert collector.info().state == "failed"
    assert collector.take_partial().tobytes() == b"abc"


def test_a_collector_that_waits_is_busy_but_can_be_asked_and_cancelled() -> None:
    """H24, H44."""

    async def run() -> None:
        collector, reached, go_on = brimful.Collector("pooled"), asyncio.Event(), asyncio.Event()
        collector.write(b"before ")

        async def source(window: memoryview) -> int:
            reached.set()
            await go_on.wait()
            window[:5] = b"after"
            return 5

        task = asyncio.create_task(collector.read_async(source))
        await reached.wait()
        for call in (
            lambda: collector.read(b"x"),
            lambda: collector.write(b"x"),
            collector.end,
            collector.reserve,
            lambda: collector.commit(0),
            collector.finish,
            collector.take_partial,
            collector.reset,
            lambda: brimful.collect_into(b"x", bytearray(10), collector=collector),
        ):
            with pytest.raises(brimful.StateError) as caught:
                call()
            assert caught.value.status == "busy"
        with pytest.raises(brimful.StateError):
            await collector.read_async(source)
        assert collector.copy(0, bytearray(3)) == 0 and collector.segments() == ()
        assert collector.info().received == 7
        assert collector.complete is False
        collector.cancel()
        go_on.set()
        with pytest.raises(brimful.Cancelled):
            await task
        assert collector.take_partial().tobytes() == b"before after"
        collector.reset()
        assert await collector.read_async(b"a cancel does not reach the body after a reset") is True

    asyncio.run(run())


def test_a_coroutine_that_nobody_awaits_any_more_gives_its_window_back() -> None:
    async def forever(window: memoryview) -> int:
        await asyncio.get_running_loop().create_future()
        return 0

    async def run() -> None:
        collector = brimful.Collector()
        collector.write(b"abc")
        coroutine = collector.read_async(forever)
        coroutine.send(None)  # it waits now
        assert collector.info().state == "window_out"
        del coroutine
        gc.collect()
        collector.write(b"def")
        collector.end()
        assert collector.finish() == b"abcdef"
        never = collector.read_async(forever)
        never.close()

    asyncio.run(run())


@pytest.mark.parametrize("result", RESULTS)
def test_exceptions_of_an_awaited_source_come_out_unchanged_and_the_collector_has_what_came(result: str) -> None:
    mine = KeyError("mine")

    async def run(source: Any) -> None:
        collector = brimful.Collector()
        with pytest.raises(KeyError) as caught:
            if result == "into":
                await brimful.collect_into_async(source, bytearray(100), collector=collector)
            elif result == "pooled":
                await brimful.collect_pooled_async(source, collector=collector)
            else:
                await brimful.collect_async(source, collector=collector)
        assert caught.value is mine and caught.value.__cause__ is None
        assert collector.info().status == "source"
        assert collector.take_partial().tobytes() == b"abc"

    def calls() -> Any:
        given: list[bytes] = []

        async def source(window: memoryview) -> int:
            await asyncio.sleep(0)
            if given:
                raise mine
            given.append(b"abc")
            window[:3] = b"abc"
            return 3

        return source

    async def generator() -> AsyncIterator[bytes]:
        yield b"abc"
        raise mine

    asyncio.run(run(calls()))
    asyncio.run(run(generator()))


@pytest.mark.parametrize("answer", [-1, 2**70, True, 1.5, "3"])
def test_answers_that_are_awaited_are_taken_as_strictly(answer: Any) -> None:
    """H21, H26."""

    async def source(window: memoryview) -> Any:
        await asyncio.sleep(0)
        return answer

    expected = brimful.ContractError if type(answer) is int else TypeError
    with pytest.raises(expected):
        asyncio.run(brimful.collect_async(source))
    with pytest.raises(expected):
        asyncio.run(brimful.collect_async(fills_then(answer)))


def fills_then(answer: Any) -> Any:
    class Source:
        async def readinto(self, window: memoryview) -> Any:
            return answer

    return Source()


def test_nothing_now_of_an_awaited_source_is_would_block_with_the_collector_to_go_on_with() -> None:
    async def run() -> None:
        answers: list[Any] = [b"abc", None, b"def", BlockingIOError(), b""]

        class Reader:
            async def read(self, size: int) -> Any:
                answer = answers.pop(0)
                if isinstance(answer, Exception):
                    raise answer
                return answer

        reader = Reader()
        with pytest.raises(brimful.WouldBlock, match="read_async") as caught:
            await brimful.collect_async(reader)
        collector = caught.value.collector
        assert await collector.read_async(reader) is False
        assert await collector.read_async(reader) is True
        assert collector.finish() == b"abcdef"

    asyncio.run(run())


def test_a_synchronous_call_says_that_an_awaited_source_has_to_be_awaited() -> None:
    async def source(window: memoryview) -> int:
        return 0

    for wrong in (source, ReadsIntoAsync(b"", 1), chunks_async(b"", 1), brimful_reader()):
        with pytest.raises(TypeError, match="await"):
            brimful.collect(wrong)


def brimful_reader() -> Any:
    class Reader:
        async def read(self, size: int) -> bytes:
            return b""

    return Reader()


@pytest.mark.parametrize("result", ["bytes", "pooled"])
@pytest.mark.parametrize("length", [None, len(BODY)])
@pytest.mark.parametrize("memory", ["auto", "list"])
def test_a_view_kept_of_an_awaited_window_changes_nothing(result: Any, length: int | None, memory: Any) -> None:
    """H23: also while it is written to by another thread."""
    pool, kept, stop = brimful.Pool(memory=memory), [], threading.Event()
    fill = fills(BODY, 70_000)

    def scribble() -> None:
        for view in list(kept):
            view[:] = b"\xee" * len(view)

    def scribbles() -> None:
        while not stop.is_set():
            scribble()

    async def source(window: memoryview) -> int:
        await asyncio.sleep(0)
        later.append(window[:])
        filled = fill(window)
        return filled

    later: list[memoryview] = []

    async def run() -> Any:
        collector = brimful.Collector(result, length=length, pool=pool)

        async def keeping(window: memoryview) -> int:
            kept.extend(later)
            later.clear()
            return await source(window)

        await collector.read_async(keeping)
        kept.extend(later)
        assert collector.info().copied > 0
        return collector.finish()

    thread = threading.Thread(target=scribbles)
    thread.start()
    try:
        body = asyncio.run(run())
        assert bytes(body) == BODY
        with brimful.collect_pooled(fills(BODY), pool=pool) as other:
            scribble()
            assert bytes(other) == BODY
        assert bytes(body) == BODY
    finally:
        stop.set()
        thread.join()


def test_without_a_kept_view_nothing_is_copied_and_the_window_is_of_no_use_after_its_await() -> None:
    windows = []

    async def source(window: memoryview) -> int:
        windows.append(window)
        return await inner(window)

    inner = fills_async(BODY, 70_000)

    async def run() -> None:
        collector = brimful.Collector("pooled", length=len(BODY))
        await collector.read_async(source)
        assert collector.info().copied == 0

    asyncio.run(run())
    for window in windows:
        with pytest.raises(ValueError, match="released"):
            window[0] = 1


def test_a_thousand_stops_without_data_lose_nothing() -> None:
    """H10."""

    async def run() -> None:
        collector, answers = brimful.Collector(), iter([b"abc", *[None] * 1000, b"def", b""])

        class Reader:
            async def read(self, size: int) -> Any:
                return next(answers)

        reader, stops = Reader(), 0
        while not await collector.read_async(reader):
            stops += 1
        assert stops == 1000 and collector.finish() == b"abcdef"

    asyncio.run(run())


def test_a_hundred_bodies_at_once_share_a_pool_and_see_only_their_own_bytes() -> None:
    pool = brimful.Pool()

    async def one(seed: int) -> None:
        body = paint(20_000 + seed * 997, seed)
        with await brimful.collect_pooled_async(fills_async(body, 5000), pool=pool) as collected:
            await asyncio.sleep(0)
            assert bytes(collected) == body

    async def run() -> None:
        await asyncio.gather(*(one(seed) for seed in range(100)))

    asyncio.run(run())
    assert pool.stats().outstanding == 0


def test_a_chunk_that_is_the_whole_body_is_the_result_itself() -> None:
    chunk = paint(1000)

    async def generator() -> AsyncIterator[bytes]:
        yield chunk

    assert asyncio.run(brimful.collect_async(generator())) is chunk
    assert asyncio.run(brimful.collect_async([chunk], limit=1000)) is chunk


def test_progress_is_told_between_awaits() -> None:
    told: list[Any] = []
    run = brimful.collect_async(
        fills_async(BODY, 300_000), length=len(BODY), on_progress=lambda *facts: told.append(facts)
    )
    assert asyncio.run(run) == BODY
    assert told[-1] == (len(BODY), len(BODY))
    assert [received for received, _ in told] == sorted({received for received, _ in told})


@pytest.mark.parametrize("source", [lambda: [b"x"], lambda: io.BytesIO(b"x"), lambda: b"x"])
def test_more_than_a_length_of_0_is_found_by_every_way_to_collect(source: Any) -> None:
    collector = brimful.Collector(length=0)
    for call in (
        lambda: brimful.collect(source(), length=0),
        lambda: brimful.collect_pooled(source(), length=0),
        lambda: brimful.collect_into(source(), bytearray(3), length=0),
        lambda: asyncio.run(brimful.collect_async(source(), length=0)),
        lambda: asyncio.run(brimful.collect_pooled_async(source(), length=0)),
        lambda: asyncio.run(brimful.collect_into_async(source(), bytearray(3), length=0)),
        lambda: brimful.collect(source(), collector=brimful.Collector(length=0)),
        lambda: brimful.Collector(length=0).read(source()),
        lambda: collector.read(source()),
    ):
        with pytest.raises(brimful.LongError):
            call()
    collector.reset()
    assert collector.read([])
    assert collector.read([b"x"])  # complete: not asked again
    assert collector.finish() == b""
    assert asyncio.run(brimful.collect_async(fills(b"x"), length=0)) == b""  # a stream is not asked at all
