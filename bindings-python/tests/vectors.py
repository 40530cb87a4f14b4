"""Runs conformance vectors through the public Python API: python vectors.py DIR (all *.json in DIR).

A line for each case that fails says what was expected and what came; the last line is `python: A passed, B failed`, and
the exit status is 1 if any failed. The format is that of tests/vectors/README.md. A pull is `Collector.read` with a
callable, a push is `write`, a window is `reserve` and `commit`; results are `bytes` ("exact") and pooled buffers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import brimful

PERIODS = 251 * 1024
PAINT = bytes(range(251)) * (2 * PERIODS // 251)
OPTIONS = {"length", "end", "size_hint", "limit", "max_prealloc", "max_window", "truncate"}
STATUSES = {"ok", "invalid", "limit", "short", "long", "source", "contract", "no_progress", "cancelled"}
STEPS = {"give": {"each", "then"}, "pend": set(), "retry": set(), "error": set(), "over": set(), "cancel": set(), "end": set()}
EXPECTATIONS = {
    "status", "length", "partial", "received", "min_received", "source_error", "pendings", "truncated",
    "max_calls", "max_asked", "max_copied", "max_allocated",
}  # fmt: skip


class Mismatch(Exception):
    """What was expected and what came."""


class SourceFailure(OSError):
    """The source's own error of a vector."""

    def __init__(self, number: int) -> None:
        super().__init__(-number, "the source's own error")
        self.number = number


def painted(offset: int, length: int) -> bytes:
    """The body's bytes from `offset` on: byte i is i mod 251."""
    if length <= PERIODS:
        return PAINT[offset % 251 : offset % 251 + length]
    return b"".join(painted(at, min(PERIODS, offset + length - at)) for at in range(offset, offset + length, PERIODS))


def fill(target: memoryview, offset: int) -> None:
    for at in range(0, len(target), PERIODS):
        piece = target[at : at + PERIODS]
        piece[:] = painted(offset + at, len(piece))


def check_paint(segments: list[memoryview]) -> None:
    offset = 0
    for segment in segments:
        for at in range(0, len(segment), PERIODS):
            piece = bytes(segment[at : at + PERIODS])
            expected = painted(offset + at, len(piece))
            if piece != expected:
                wrong = next(i for i in range(len(piece)) if piece[i] != expected[i])
                raise Mismatch(f"byte {offset + at + wrong} is {piece[wrong]}, expected {expected[wrong]}")
        offset += len(segment)


def known(what: str, given: dict[str, Any], keys: set[str]) -> None:
    if unknown := given.keys() - keys:
        raise Mismatch(f"unknown key in {what}: {', '.join(sorted(unknown))}")


def number(value: Any) -> Any:
    """Counts above 2^53 - 1 are written as strings of digits."""
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value


class Script:
    """A callable source that plays the steps of a vector."""

    def __init__(self, steps: list[dict[str, Any]], cancel: Callable[[], None]) -> None:
        self.steps = list(steps)
        self.cancel = cancel
        self.done = self.given = self.calls = self.asked = 0
        self.failure: SourceFailure | None = None
        self.cancel_if_next()

    def cancel_if_next(self) -> None:
        """Cancel is asked for as the previous call returns; as the first step, before the first."""
        while self.steps and "cancel" in self.steps[0]:
            self.cancel()
            self.steps.pop(0)

    def step_done(self) -> None:
        self.steps.pop(0)
        self.done = 0
        self.cancel_if_next()

    def __call__(self, window: memoryview) -> int | None:
        self.calls += 1
        self.asked += len(window)
        if not self.steps or "end" in self.steps[0]:
            return 0
        step = self.steps[0]
        if "give" in step:
            count = number(step["give"])
            filled = min(len(window), count - self.done, number(step.get("each", count)))
            fill(window[:filled], self.given)
            self.given += filled
            self.done += filled
            if self.done < count:
                return filled
            self.step_done()
            return self.answer(step.get("then"), filled)
        if "over" in step:
            self.step_done()
            return len(window) + int(number(step["over"]))
        kind = next(kind for kind in ("pend", "retry", "error") if kind in step)
        self.done += 1
        if kind == "error" or self.done >= number(step[kind]):
            self.step_done()
        return self.answer(step["error"] if kind == "error" else kind, 0)

    def answer(self, then: str | int | None, filled: int) -> int | None:
        """Bytes and what came with them; an OSError says by characters_written how many bytes came."""
        answer: OSError
        match then:
            case None:
                return filled
            case "pend" if filled == 0:
                return None
            case "pend":
                answer = BlockingIOError(11, "nothing more now")
            case "retry":
                answer = InterruptedError(4, "interrupted")
            case _:
                answer = self.failure = SourceFailure(int(then))
        answer.characters_written = filled
        raise answer


@dataclass
class Outcome:
    status: str = "ok"
    length: int | None = None
    partial: int | None = None
    pendings: int = 0
    calls: int = 0
    asked: int = 0
    source_error: int | None = None
    info: brimful.Info | None = None


def gives(steps: list[dict[str, Any]]) -> Iterator[tuple[int, int, int]]:
    """Each give step's length, its pieces' length and where it begins; the other steps say nothing to a push."""
    given = 0
    for step in steps:
        if "end" in step:
            return
        if "give" in step:
            count = number(step["give"])
            yield count, number(step.get("each", count)), given
            given += count


def push(collector: brimful.Collector, steps: list[dict[str, Any]]) -> None:
    for count, each, start in gives(steps):
        at = start
        while at < start + count and not collector.complete:
            length = min(each, start + count - at)
            written = collector.write(painted(at, length))
            if written != length:
                raise Mismatch(f"write: expected {length}, came {written}")
            at += length
    collector.end()


def commit(collector: brimful.Collector, steps: list[dict[str, Any]]) -> None:
    for count, each, start in gives(steps):
        at = start
        while at < start + count and not collector.complete:
            window = collector.reserve(start + count - at)
            length = min(len(window), each, start + count - at)
            fill(window[:length], at)
            collector.commit(length)
            at += length
    collector.end()


def run(case: dict[str, Any], drive: str, result: str, memory: str) -> Outcome:
    options = {key: number(value) for key, value in case.get("options", {}).items() if value is not None}
    outcome = Outcome()
    pool = brimful.Pool(memory="list" if memory == "list" else "auto")
    try:
        kind = "bytes" if result == "exact" else "pooled"
        collector = brimful.Collector(kind, pool=pool, **{"end": "length", **options})
    except ValueError:
        outcome.status = "invalid"
        return outcome
    script: Script | None = None
    try:
        if drive == "pull":
            script = Script(case["source"], collector.cancel)
            while not collector.read(script):
                outcome.pendings += 1
        else:
            (push if drive == "push" else commit)(collector, case["source"])
        body = collector.finish()
        outcome.info = collector.info()
        outcome.length = len(body)
        check_paint([memoryview(body)] if result == "exact" else body.segments())
        if result == "pooled" and body.info() != outcome.info:
            raise Mismatch(f"statistics of the buffer {body.info()} and of the collector {outcome.info} differ")
    except (brimful.Error, SourceFailure) as error:
        if isinstance(error, SourceFailure):
            if script is None or error is not script.failure:
                raise Mismatch("the source's exception came out changed") from error
            outcome.status, outcome.source_error = "source", error.number
        else:
            outcome.status = error.status
        outcome.info = collector.info()
        if outcome.info.status != outcome.status:
            raise Mismatch(f"info says {outcome.info.status}, the exception {outcome.status}") from None
        partial = collector.take_partial()
        outcome.partial = len(partial)
        check_paint(list(partial.segments()))
    if script is not None:
        outcome.calls, outcome.asked = script.calls, script.asked
    return outcome


def per_result(bound: Any, result: str) -> Any:
    if isinstance(bound, dict):
        known("a bound per result", bound, {"pooled", "exact"})
        return number(bound.get(result))
    return number(bound)


def compare(expect: dict[str, Any], drive: str, result: str, outcome: Outcome) -> None:
    def same(what: str, came: Any) -> None:
        expected = number(expect.get(what))
        if expected is not None and expected != came:
            raise Mismatch(f"{what}: expected {expected}, came {came}")

    def at_most(what: str, came: int) -> None:
        most = per_result(expect.get(what), result)
        if most is not None and came > most:
            raise Mismatch(f"{what}: expected at most {most}, came {came}")

    same("status", outcome.status)
    same("length", outcome.length)
    same("partial", outcome.partial)
    same("source_error", outcome.source_error)
    if drive == "pull":
        same("pendings", outcome.pendings)
        at_most("max_calls", outcome.calls)
        at_most("max_asked", outcome.asked)
    if outcome.info is not None:
        same("received", outcome.info.received)
        same("truncated", outcome.info.truncated)
        at_most("max_copied", outcome.info.copied)
        at_most("max_allocated", outcome.info.allocated_bytes)
        if outcome.info.received < number(expect.get("min_received", 0)):
            raise Mismatch(f"received: expected at least {expect['min_received']}, came {outcome.info.received}")


def check(case: dict[str, Any]) -> None:
    """Every way of running a case that it applies to."""
    known("the case", case, {"name", "why", "options", "drive", "results", "source", "expect"})
    known("options", case.get("options", {}), OPTIONS)
    known("expect", case["expect"], EXPECTATIONS)
    if case["expect"].get("status") not in STATUSES:
        raise Mismatch(f"unknown status {case['expect'].get('status')!r}")
    for step in case["source"]:
        kind = next((key for key in step if key in STEPS), None)
        if kind is None:
            raise Mismatch(f"unknown step {step}")
        known(f"step {kind}", step, {kind} | STEPS[kind])
        if not isinstance(step.get("then", -1), int) and step["then"] not in ("pend", "retry"):
            raise Mismatch(f"unknown answer {step['then']!r}")
    drives = case.get("drive", "all")
    if drives not in ("pull", "push", "window", "all"):
        raise Mismatch(f"unknown drive {drives!r}")
    for drive in ["pull", "push", "window"] if drives == "all" else [drives]:
        for result in case.get("results", ["pooled", "exact"]):
            if result not in ("pooled", "exact"):
                raise Mismatch(f"unknown result {result!r}")
            for memory in ("default", "list"):
                try:
                    compare(case["expect"], drive, result, run(case, drive, result, memory))
                except Exception as error:
                    what = str(error) if isinstance(error, Mismatch) else f"{type(error).__name__}: {error}"
                    raise Mismatch(f"{drive}, {result}, {memory} memory: {what}") from error


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: vectors.py DIR   (DIR holds *.json in the format of tests/vectors)", file=sys.stderr)
        return 2
    files = sorted(Path(arguments[0]).glob("*.json"))
    if not files:
        print(f"vectors: no *.json in {arguments[0]}", file=sys.stderr)
        return 2
    passed = failed = 0
    for file in files:
        for case in json.loads(file.read_text()):
            try:
                check(case)
                passed += 1
            except Exception as error:
                failed += 1
                what = str(error) if isinstance(error, Mismatch) else f"{type(error).__name__}: {error}"
                print(f"{case.get('name', '(no name)')}: {what}", flush=True)
    print(f"python: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
