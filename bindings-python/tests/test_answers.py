"""A source's answers are taken strictly, and nothing of a wrong one counts."""

from __future__ import annotations

import signal
import ssl
import threading
from collections.abc import Callable
from typing import Any

import brimful
import pytest
from support import fills, paint


class Index:
    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def answering(answer: Any) -> Callable[[memoryview], Any]:
    """Gives five bytes, then this answer."""
    calls = []

    def source(window: memoryview) -> Any:
        calls.append(1)
        if len(calls) == 1:
            window[:5] = b"12345"
            return 5
        return answer(window) if callable(answer) else answer

    return source


TOO_MUCH = {
    "room and one": lambda window: len(window) + 1,
    "the largest size": 2**63 - 1,
    "above the address space": 2**64,
    "far above": 10**40,
    "negative": -1,
    "very negative": -(2**70),
}


@pytest.mark.parametrize("name", TOO_MUCH)
@pytest.mark.parametrize("result", ["bytes", "pooled"])
def test_a_claim_that_cannot_be_is_a_contract_error_and_counts_no_byte(name: str, result: Any) -> None:
    collector = brimful.Collector(result)
    with pytest.raises(brimful.ContractError) as caught:
        collector.read(answering(TOO_MUCH[name]))
    assert caught.value.status == "contract"
    assert caught.value.received == 5
    assert collector.info().received == 5
    assert collector.take_partial().tobytes() == b"12345"


@pytest.mark.parametrize("answer", [True, False, 1.0, "1", b"1", [1], object()])
def test_an_answer_of_the_wrong_type_is_a_type_error_and_counts_no_byte(answer: Any) -> None:
    collector = brimful.Collector()
    with pytest.raises(TypeError):
        collector.read(answering(answer))
    assert collector.info().status == "contract"
    assert collector.take_partial().tobytes() == b"12345"
    with pytest.raises(TypeError):
        brimful.collect(answering(answer))


def test_the_same_holds_for_readinto() -> None:
    class Lies:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def readinto(self, window: memoryview) -> Any:
            return self.answer(window) if callable(self.answer) else self.answer

    for answer in TOO_MUCH.values():
        with pytest.raises(brimful.ContractError):
            brimful.collect(Lies(answer))
    for answer in (True, 2.0, "3"):
        with pytest.raises(TypeError):
            brimful.collect(Lies(answer))


def test_read_that_gives_more_than_asked_for_is_a_contract_error() -> None:
    class Lies:
        def read(self, size: int) -> bytes:
            return bytes(size + 1)

    with pytest.raises(brimful.ContractError) as caught:
        brimful.collect(Lies())
    assert len(caught.value.partial) == 0


def test_what_says_it_is_an_integer_by_index_is_one() -> None:
    answers = iter([Index(3), Index(0)])
    assert brimful.collect(lambda window: next(answers)) == bytes(3)


def test_an_exception_in_index_comes_out_unchanged() -> None:
    class Raises:
        def __index__(self) -> int:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        brimful.collect(lambda window: Raises())


def test_bytes_claimed_but_not_written_are_zero() -> None:
    pool = brimful.Pool()
    brimful.collect_pooled(fills(b"secret" * 10_000), pool=pool).release()
    answers = iter([16_384, 20_000, 20_000, 0])
    with brimful.collect_pooled(lambda window: min(next(answers), len(window)), pool=pool) as body:
        assert not any(body.tobytes())
    assert pool.stats().reused > 0


@pytest.mark.parametrize("kind", ["callable", "readinto", "read", "iterable"])
def test_exceptions_of_the_source_come_out_unchanged_and_the_collector_has_what_came(kind: str) -> None:
    mine = RuntimeError("mine")
    given = []

    def fill(window: memoryview) -> int:
        if given:
            raise mine
        given.append(1)
        window[:100] = paint(100)
        return 100

    class Source:
        readinto = staticmethod(fill)

    class Reads:
        def read(self, size: int) -> bytes:
            chunk = bytearray(size)
            return bytes(chunk[: fill(memoryview(chunk))])

    def generator() -> Any:
        yield paint(100)
        raise mine

    source = {"callable": fill, "readinto": Source(), "read": Reads(), "iterable": generator()}[kind]
    collector = brimful.Collector()
    with pytest.raises(RuntimeError) as caught:
        brimful.collect(source, collector=collector)
    assert caught.value is mine
    info = collector.info()
    assert (info.status, info.received, info.source_error) == ("source", 100, -1)
    assert len(collector.take_partial()) == 100


def test_an_exception_before_anything_came_comes_out_unchanged() -> None:
    mine = KeyError("mine")

    def generator() -> Any:
        raise mine
        yield b""

    with pytest.raises(KeyError) as caught:
        brimful.collect(generator())
    assert caught.value is mine


def test_bytes_that_come_with_an_os_error_count() -> None:
    def source(window: memoryview) -> int:
        window[:7] = b"partial"
        error = OSError(104, "reset by peer")
        error.characters_written = 7
        raise error

    collector = brimful.Collector()
    with pytest.raises(OSError, match="reset by peer"):
        collector.read(source)
    assert collector.info().source_error == -104
    assert collector.take_partial().tobytes() == b"partial"
    assert brimful.collect(source, length=7) == b"partial"


@pytest.mark.parametrize("nothing", [None, BlockingIOError(), ssl.SSLWantReadError()])
def test_nothing_now_is_would_block_with_the_collector_to_go_on_with(nothing: Any) -> None:
    def source(window: memoryview) -> int | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if answer:
            window[: len(answer)] = answer
        return answer if answer is None else len(answer)

    answers = [b"abc", nothing, b"def", nothing, b""]
    with pytest.raises(brimful.WouldBlock) as caught:
        brimful.collect(source)
    assert isinstance(caught.value, BlockingIOError)
    assert caught.value.received == 3
    collector = caught.value.collector
    with pytest.raises(brimful.WouldBlock) as again:
        brimful.collect(source, collector=collector)
    assert again.value.collector is collector
    assert collector.read(source) is True
    assert collector.finish() == b"abcdef"


@pytest.mark.parametrize("make", [list, tuple, iter])
def test_an_iterable_goes_on_behind_the_chunk_it_had_nothing_after(make: Any) -> None:
    source = make([b"abc", None, b"def", None, None, b"ghi" * 10_000])
    collector = brimful.Collector()
    assert [collector.read(source) for _ in range(4)] == [False, False, False, True]
    assert collector.finish() == b"abcdef" + b"ghi" * 10_000
    assert collector.info().pendings == 3
    with pytest.raises(brimful.WouldBlock) as caught:
        brimful.collect(source := make([None, b"abc"]))
    assert caught.value.collector.read(source)
    assert caught.value.collector.finish() == b"abc"


def test_a_reader_that_gives_none_has_nothing_now() -> None:
    class Reads:
        answers = [b"abc", None, b"d", b""]

        def read(self, size: int) -> bytes | None:
            return self.answers.pop(0)

    collector = brimful.Collector()
    assert collector.read(source := Reads()) is False
    assert collector.read(source) is True
    assert collector.finish() == b"abcd"


def test_interrupted_without_an_end_is_no_progress() -> None:
    calls = []

    def source(window: memoryview) -> int:
        calls.append(1)
        raise InterruptedError

    with pytest.raises(brimful.NoProgressError):
        brimful.collect(source)
    assert len(calls) == 1001


def test_cancelling_from_inside_and_from_another_thread_keeps_what_came() -> None:
    collector = brimful.Collector()

    def inside(window: memoryview) -> int:
        window[:3] = b"abc"
        collector.cancel()
        return 3

    with pytest.raises(brimful.Cancelled):
        collector.read(inside)
    assert collector.take_partial().tobytes() == b"abc"

    collector.reset()
    reached, cancelled = threading.Event(), threading.Event()

    def generator() -> Any:
        yield b"abc"
        reached.set()
        cancelled.wait(10)
        yield b"def"

    def cancel() -> None:
        reached.wait(10)
        collector.cancel()
        cancelled.set()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(brimful.Cancelled):
        collector.read(generator())
    thread.join()
    assert collector.take_partial().tobytes() == b"abcdef"
    collector.reset()
    assert collector.read(b"after a reset") and collector.finish() == b"after a reset"


def test_a_signal_is_seen_between_calls_of_a_source_without_python_code() -> None:
    class Interrupt(Exception):
        pass

    def handler(number: int, frame: Any) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with open("/dev/zero", "rb", buffering=0) as endless, pytest.raises(Interrupt):
            brimful.collect_pooled(endless.readinto, limit=1 << 40)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_calls_from_inside_the_source_are_busy_and_info_works() -> None:
    collector = brimful.Collector()
    seen = []

    def source(window: memoryview) -> int:
        for call in (
            lambda: collector.read(b"x"),
            lambda: collector.write(b"x"),
            collector.end,
            collector.reserve,
            lambda: collector.commit(0),
            collector.finish,
            collector.take_partial,
            collector.reset,
        ):
            with pytest.raises(brimful.StateError) as caught:
                call()
            seen.append(caught.value.status)
        assert collector.copy(0, bytearray(3)) == 0
        assert collector.segments() == ()
        assert collector.complete is False
        assert brimful.collect(b"another body") == b"another body"
        return 0 if collector.info().source_calls == 2 else 1

    assert collector.read(source)
    assert set(seen) == {"busy"}
    assert collector.finish() == b"\0"
