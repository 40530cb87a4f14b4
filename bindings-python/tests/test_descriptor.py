"""Bodies from file descriptors: no Python code runs meanwhile, signals are seen, and the GIL is free."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import brimful
import pytest
from support import fills, paint

BODY = paint(1_000_000)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            pass  # the test closed it


def write_all(end: int, body: bytes) -> threading.Thread:
    def write() -> None:
        view = memoryview(body)
        try:
            while view:
                view = view[os.write(end, view) :]
        except BrokenPipeError:
            pass
        os.close(end)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize("options", [{}, {"size_hint": 10}, {"length": len(BODY)}, {"limit": len(BODY)}])
def test_a_pipe_a_socket_and_a_file_are_read_whole(pipe: tuple[int, int], options: Any) -> None:
    thread = write_all(pipe[1], BODY)
    assert brimful.collect_fd(pipe[0], **options) == BODY
    thread.join()
    near, far = socket.socketpair()
    with near, far:
        thread = threading.Thread(target=lambda: (far.sendall(BODY), far.shutdown(socket.SHUT_WR)))
        thread.start()
        with brimful.collect_fd_pooled(near, **options) as body:
            assert bytes(body) == BODY
        thread.join()
    with tempfile.TemporaryFile() as file:
        file.write(BODY)
        file.seek(0)
        assert brimful.collect_fd(file, **options) == BODY
        os.lseek(file.fileno(), 999_000, os.SEEK_SET)
        assert brimful.collect_fd(file.fileno()) == BODY[999_000:]


def test_a_file_is_read_into_memory_of_its_size_and_its_end_is_asked_for() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(BODY)
        file.seek(0)
        collector = brimful.Collector()
        assert brimful.collect_fd(file, collector=collector) == BODY
        info = collector.info()
        assert (info.allocated_bytes, info.copied) == (len(BODY), 0)
        for length, error in ((len(BODY) - 1, brimful.LongError), (len(BODY) + 1, brimful.ShortError)):
            file.seek(0)
            with pytest.raises(error) as caught:
                brimful.collect_fd(file, length=length)
            assert caught.value.partial.tobytes() == BODY[:length]  # type: ignore[attr-defined]


def test_a_pipe_is_not_asked_for_a_byte_beyond_the_length_and_one_beyond_the_limit(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"0123456789")
    assert brimful.collect_fd(pipe[0], length=4) == b"0123"
    with pytest.raises(brimful.LimitError) as caught:
        brimful.collect_fd(pipe[0], limit=2)
    assert caught.value.partial.tobytes() == b"45"  # type: ignore[union-attr]
    assert os.read(pipe[0], 100) == b"789"


def test_a_descriptor_that_has_nothing_now_is_would_block_and_goes_on(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[0], False)
    os.write(pipe[1], b"abc")
    with pytest.raises(brimful.WouldBlock, match="collect_fd") as caught:
        brimful.collect_fd(pipe[0])
    os.write(pipe[1], b"def")
    os.close(pipe[1])
    assert brimful.collect_fd(pipe[0], collector=caught.value.collector) == b"abcdef"


def test_errors_of_the_descriptor_are_os_errors_of_their_kind() -> None:
    closed, other = os.pipe()
    os.close(closed)
    os.close(other)
    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        brimful.collect_fd(closed)
    assert caught.value.errno == 9
    folder = os.open("/", os.O_RDONLY)
    try:
        with pytest.raises(IsADirectoryError):
            brimful.collect_fd_pooled(folder)
    finally:
        os.close(folder)
    for wrong in ("0", None, 1.5):
        with pytest.raises(TypeError):
            brimful.collect_fd(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative"):
        brimful.collect_fd(-1)


def test_other_threads_run_while_a_descriptor_is_waited_for(pipe: tuple[int, int]) -> None:
    counted = []

    def work() -> None:
        for _ in range(20):
            time.sleep(0.001)
            counted.append(1)
        os.write(pipe[1], b"abc")
        os.close(pipe[1])

    thread = threading.Thread(target=work)
    thread.start()
    assert brimful.collect_fd(pipe[0]) == b"abc"
    assert len(counted) == 20
    thread.join()


def test_progress_of_a_descriptor_is_told(pipe: tuple[int, int]) -> None:
    told: list[Any] = []
    thread = write_all(pipe[1], BODY)
    assert brimful.collect_fd(pipe[0], on_progress=lambda *facts: told.append(facts)) == BODY
    thread.join()
    assert told[-1] == (len(BODY), None) and len(told) > 2


# ---- Ctrl-C


def interrupted_within(seconds: float, call: Callable[[], Any]) -> None:
    """Ctrl-C comes after 100 ms, and KeyboardInterrupt within so many seconds."""
    sent = []

    def interrupt() -> None:
        time.sleep(0.1)
        sent.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    took = time.perf_counter() - sent[0]
    thread.join()
    assert took < seconds


def endless_callback(window: memoryview) -> int:
    return min(len(window), 1000)


@pytest.mark.parametrize("collector", [brimful.Collector("bytes"), brimful.Collector("pooled")])
def test_control_c_on_a_quiet_pipe_raises_and_what_came_is_in_the_collector(
    collector: brimful.Collector, pipe: tuple[int, int]
) -> None:
    for quiet_from_the_start in (False, True):
        if not quiet_from_the_start:
            os.write(pipe[1], b"abc")
        interrupted_within(0.05, lambda: brimful.collect_fd(pipe[0], collector=collector))
    os.write(pipe[1], b"def")
    os.close(pipe[1])
    assert brimful.collect_fd(pipe[0], collector=collector) == b"abcdef"  # it goes on


def test_control_c_just_before_a_pipe_goes_quiet_is_not_lost() -> None:
    """The signal that comes between two reads interrupts none."""
    in_time: list[bool] = []
    for _ in range(60):
        near, far = os.pipe()
        raised = threading.Event()

        def last_bytes(far: int = far, raised: threading.Event = raised) -> None:
            for _ in range(20):
                os.write(far, bytes(10_000))
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]
            in_time.append(raised.wait(0.5))
            os.close(far)  # so that the body ends where the signal was lost

        thread = threading.Thread(target=last_bytes)
        with pytest.raises(KeyboardInterrupt):
            try:
                thread.start()
                brimful.collect_fd_pooled(near)
                raised.wait(0.1)
            except KeyboardInterrupt:
                raised.set()
                raise
        thread.join()
        os.close(near)
        assert all(in_time)


def test_control_c_while_data_keeps_coming_raises() -> None:
    collector = brimful.Collector("pooled", limit=1 << 40)
    with open("/dev/zero", "rb", buffering=0) as zeros:
        interrupted_within(0.05, lambda: brimful.collect_fd(zeros, collector=collector))
    assert collector.info().received > 0
    with collector.take_partial() as partial:
        assert len(partial) > 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: endless_callback,
        lambda: itertools.repeat(bytes(1000)),
        lambda: itertools.repeat(b""),
        lambda: (bytes(1000) for _ in itertools.count()),
        lambda: open("/dev/zero", "rb", buffering=0),
    ],
    ids=["callback", "iterable in C", "empty chunks in C", "generator", "built-in file"],
)
def test_control_c_in_an_endless_source_raises_and_what_came_is_in_the_collector(make: Any) -> None:
    source, collector = make(), brimful.Collector("pooled")
    interrupted_within(0.05, lambda: brimful.collect_pooled(source, collector=collector))
    if hasattr(source, "close"):
        source.close()
    received = collector.info().received
    with collector.take_partial() as partial:
        assert len(partial) == received


def test_control_c_in_an_endless_awaited_source_raises_and_what_came_is_in_the_collector() -> None:
    import asyncio

    collector = brimful.Collector("pooled")

    async def endless(window: memoryview) -> int:
        await asyncio.sleep(0)
        return min(len(window), 1000)

    interrupted_within(0.05, lambda: asyncio.run(brimful.collect_pooled_async(endless, collector=collector)))
    assert collector.info().received > 0
    collector.take_partial().release()


def test_a_body_that_was_interrupted_between_calls_goes_on() -> None:
    fill, collector = fills(BODY, 1000), brimful.Collector()
    handled: list[int] = []

    class Interrupt(Exception):
        pass

    def source(window: memoryview) -> int:
        if len(handled) < 1:
            handled.append(1)
            signal.raise_signal(signal.SIGUSR1)
        return fill(window)

    def handler(*_: Any) -> None:
        raise Interrupt

    # Built in C, so that the signal is seen after the call and not inside.
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        assert collector.read(source)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert collector.finish() == BODY
    before = signal.signal(signal.SIGALRM, handler)
    try:
        collector.reset(limit=1 << 40)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(Interrupt):
            collector.read(chunks := itertools.repeat(b"x"))
        received = collector.info().received
        assert collector.info().state == "open"
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(Interrupt):
            collector.read(chunks)
        assert collector.info().received > received
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
