"""The pooled buffer: read in place, given back once, never while somebody looks at it."""

from __future__ import annotations

import gc
import io
import threading
import weakref
from typing import Any

import brimful
import pytest
from support import fills, paint


@pytest.fixture(params=["auto", "list"])
def pool(request: Any) -> brimful.Pool:
    return brimful.Pool(memory=request.param)


def test_it_is_read_in_place(pool: brimful.Pool) -> None:
    body = paint(300_000)
    buffer = brimful.collect_pooled(fills(body), pool=pool)
    view = memoryview(buffer)
    assert (view.readonly, view.format, view.ndim, view.nbytes) == (True, "B", 1, 300_000)
    assert view == body and view[100:200] == body[100:200]
    assert buffer.tobytes() == bytes(buffer) == body
    assert len(buffer) == 300_000 and buffer
    assert b"".join(buffer.segments()) == body
    with pytest.raises(TypeError, match="read-only"):
        view[0] = 1
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"x").readinto(buffer)


def test_a_body_in_one_range_has_one_segment_and_in_a_list_several() -> None:
    for memory, joined in (("auto", 0), ("list", 300_000)):
        buffer = brimful.collect_pooled(fills(paint(300_000)), pool=brimful.Pool(memory=memory))
        before = buffer.info().copied
        assert (len(buffer.segments()) == 1) == (memory == "auto")
        for _ in range(3):
            memoryview(buffer)
        assert buffer.info().copied == before + joined  # joined once at most


def test_an_empty_body_is_a_buffer_too(pool: brimful.Pool) -> None:
    with brimful.collect_pooled(b"", pool=pool) as buffer:
        assert (len(buffer), bytes(buffer), buffer.tobytes(), buffer.segments()) == (0, b"", b"", ())
        assert not buffer


def test_releasing_gives_the_memory_back_and_releasing_twice_is_fine(pool: brimful.Pool) -> None:
    buffer = brimful.collect_pooled(fills(paint(300_000)), pool=pool)
    assert pool.stats().outstanding > 0
    buffer.release()
    assert pool.stats().outstanding == 0
    assert pool.stats().retained_bytes > 0
    released = pool.stats().released
    buffer.release()
    assert pool.stats().released == released
    for call in (lambda: len(buffer), buffer.tobytes, buffer.segments, buffer.info, lambda: memoryview(buffer), lambda: buffer.truncated):
        with pytest.raises(ValueError, match="released"):
            call()


def test_a_buffer_that_is_dropped_gives_its_memory_back(pool: brimful.Pool) -> None:
    buffer = brimful.collect_pooled(fills(paint(300_000)), pool=pool)
    gone = weakref.ref(buffer)
    view = memoryview(buffer)
    del buffer
    assert gone() is not None and view[5] == 5
    del view
    assert gone() is None
    assert pool.stats().outstanding == 0


@pytest.mark.parametrize("look", [memoryview, lambda buffer: buffer.segments()[-1]])
def test_it_is_not_released_while_a_view_is_alive(pool: brimful.Pool, look: Any) -> None:
    buffer = brimful.collect_pooled(fills(paint(300_000)), pool=pool)
    view = look(buffer)
    with pytest.raises(BufferError, match="alive"):
        buffer.release()
    with pytest.raises(BufferError, match="alive"), buffer:
        pass
    assert bytes(view) == paint(300_000)[300_000 - len(view) :]
    view.release()
    buffer.release()
    assert pool.stats().outstanding == 0


def test_an_exception_is_not_hidden_by_a_view_that_is_alive(pool: brimful.Pool) -> None:
    buffer = brimful.collect_pooled(fills(paint(300_000)), pool=pool)
    with pytest.raises(KeyError), buffer:
        view = memoryview(buffer)
        raise KeyError
    assert bytes(view) == paint(300_000)
    with pytest.raises(ValueError, match="released"):
        memoryview(buffer)
    buffer.release()
    assert pool.stats().outstanding > 0
    del view
    assert pool.stats().outstanding == 0


def test_it_can_be_read_and_released_by_any_number_of_threads(pool: brimful.Pool) -> None:
    body = paint(2_000_000)
    for _ in range(10):
        buffer = brimful.collect_pooled(fills(body), pool=pool)
        wrong = []

        def read() -> None:
            for _ in range(5):
                try:
                    if buffer.tobytes() != body or memoryview(buffer)[-1] != body[-1]:
                        wrong.append(1)
                    buffer.release()
                except (ValueError, BufferError):
                    pass  # released by another thread, or looked at by one

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        buffer.release()
    assert pool.stats().outstanding == 0


def test_a_pool_may_be_closed_first(pool: brimful.Pool) -> None:
    buffer = brimful.collect_pooled(fills(paint(300_000)), pool=pool)
    pool.close()
    pool.close()
    assert bytes(buffer) == paint(300_000)
    buffer.release()
    stats = pool.stats()
    assert (stats.outstanding, stats.retained_bytes) == (0, 0)
    assert brimful.collect(fills(b"still works"), pool=pool) == b"still works"


def test_a_pool_keeps_and_gives_back_what_it_was_told() -> None:
    pool = brimful.Pool(max_retained=1 << 20)
    for size in (5_000, 500_000, 5_000_000):
        brimful.collect_pooled(fills(paint(size)), pool=pool).release()
        stats = pool.stats()
        assert stats.retained_bytes <= 1 << 20
        assert stats.allocated - stats.freed == stats.outstanding + stats.retained
        assert stats.allocated_bytes - stats.freed_bytes == stats.outstanding_bytes + stats.retained_bytes
    before = pool.stats().retained_bytes
    assert pool.trim() == before
    assert pool.stats().retained_bytes == 0


def test_statistics_are_plain_values() -> None:
    info = brimful.collect_pooled(fills(b"abc")).info()
    assert info == brimful.collect_pooled(fills(b"abc")).info() or info.received == 3
    assert repr(info).startswith('Info(status="ok", state="taken", length=3')
    assert repr(brimful.Pool().stats()).startswith("PoolStats(rented=0, ")
    with pytest.raises(AttributeError):
        info.received = 4  # type: ignore[misc]


def test_buffers_in_cycles_are_collected() -> None:
    pool = brimful.Pool()
    collector = brimful.Collector("pooled", pool=pool)

    def source() -> Any:
        yield b"abc"
        yield None
        yield collector

    assert collector.read([b"abc", None, b"x"]) is False
    generator = source()
    collector.reset()
    assert collector.read(iter([b"abc", None, generator])) is False
    gone = weakref.ref(generator)
    del collector, generator, source
    gc.collect()
    assert gone() is None
