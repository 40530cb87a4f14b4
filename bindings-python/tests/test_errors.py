"""The error classes, and what they carry."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import brimful
import pytest
from support import fills, paint

CLASSES = {
    brimful.LimitError: ("limit", ValueError),
    brimful.ShortError: ("short", EOFError),
    brimful.LongError: ("long", ValueError),
    brimful.ContractError: ("contract", Exception),
    brimful.NoProgressError: ("no_progress", Exception),
    brimful.Cancelled: ("cancelled", Exception),
    brimful.BudgetError: ("budget", MemoryError),
    brimful.StateError: ("state", Exception),
    brimful.EncodingError: ("encoding", UnicodeError),
    brimful.WouldBlock: ("pending", BlockingIOError),
}


@pytest.mark.parametrize("error_class", CLASSES)
def test_every_class_is_one_of_ours_and_a_built_in_one(error_class: type[brimful.Error]) -> None:
    status, base = CLASSES[error_class]
    assert issubclass(error_class, brimful.Error) and issubclass(error_class, base)
    error = error_class("what happened", received=7, partial=b"partial")
    assert (error.status, error.received, error.partial, str(error)) == (status, 7, b"partial", "what happened")


@pytest.mark.parametrize("error_class", CLASSES)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_class_can_be_pickled(error_class: type[brimful.Error], protocol: int) -> None:
    facts: dict[str, Any] = {"received": 3, "partial": brimful.collect_pooled(b"abc")}
    if error_class is brimful.LimitError:
        facts["limit"] = 2
    if error_class in (brimful.ShortError, brimful.LongError):
        facts["expected"] = 4
    if error_class is brimful.WouldBlock:
        facts["collector"] = brimful.Collector()
    error = error_class("what happened", **facts)
    error.add_note("a note")
    same = pickle.loads(pickle.dumps(error, protocol))
    assert type(same) is error_class
    assert (str(same), same.args, same.status, same.received) == (str(error), error.args, error.status, 3)
    assert same.partial == b"abc"
    assert same.__notes__ == ["a note"]
    assert getattr(same, "limit", None) == facts.get("limit")
    assert getattr(same, "expected", None) == facts.get("expected")
    assert getattr(same, "collector", None) is None


def test_a_large_partial_is_not_pickled_and_a_released_one_neither() -> None:
    error = brimful.ShortError("short", partial=brimful.collect_pooled(bytes(64 * 1024)))
    assert len(pickle.loads(pickle.dumps(error)).partial) == 64 * 1024
    error = brimful.ShortError("short", partial=brimful.collect_pooled(bytes(64 * 1024 + 1)))
    assert pickle.loads(pickle.dumps(error)).partial is None
    error.partial.release()
    assert pickle.loads(pickle.dumps(error)).partial is None
    assert copy.copy(error).status == "short"


def test_a_pooled_buffer_and_a_collector_refuse_to_be_pickled() -> None:
    for thing in (brimful.collect_pooled(b"abc"), brimful.Collector(), brimful.Pool()):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(thing)


def test_limit_error_says_what_was_allowed_what_came_and_has_the_first_bytes() -> None:
    with pytest.raises(brimful.LimitError) as caught:
        brimful.collect(fills(paint(100)), limit=60)
    error = caught.value
    assert (error.status, error.limit, error.received) == ("limit", 60, 61)
    assert error.partial.tobytes() == paint(60)
    assert "60" in str(error) and "61" in str(error)


def test_short_error_says_what_was_announced_what_came_and_has_it() -> None:
    with pytest.raises(brimful.ShortError) as caught:
        brimful.collect(fills(paint(100)), length=101)
    error = caught.value
    assert (error.status, error.expected, error.received) == ("short", 101, 100)
    assert error.partial.tobytes() == paint(100)


def test_long_error_has_the_announced_bytes() -> None:
    with pytest.raises(brimful.LongError) as caught:
        brimful.collect([paint(100)], length=99)
    assert (caught.value.status, caught.value.expected) == ("long", 99)
    assert caught.value.received >= 100
    assert caught.value.partial.tobytes() == paint(99)


def test_where_the_caller_holds_the_collector_the_collector_has_the_partial() -> None:
    collector = brimful.Collector(limit=10)
    with pytest.raises(brimful.LimitError) as caught:
        brimful.collect(fills(paint(100)), collector=collector)
    assert caught.value.partial is None
    with pytest.raises(brimful.LimitError):
        collector.finish()
    with pytest.raises(brimful.LimitError):
        _ = collector.complete
    assert collector.take_partial().tobytes() == paint(10)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": -1},
        {"length": -5},
        {"length": 2**64},
        {"size_hint": 2**70},
        {"end": "end"},
        {"max_window": 2**31},
        {"max_window": 4095},
        {"first_block": 0},
        {"first_block": 2**30 + 1},
    ],
)
def test_an_option_out_of_range_is_a_value_error_that_says_what_it_may_be(options: dict[str, Any]) -> None:
    name = next(iter(options))
    for call in (lambda: brimful.collect(b"abc", **options), lambda: brimful.Collector(**options)):
        with pytest.raises(ValueError, match=name):
            call()
    with pytest.raises(ValueError, match=name):
        brimful.Collector().reset(**options)


@pytest.mark.parametrize("name", ["limit", "length", "size_hint", "max_prealloc", "first_block", "max_window"])
def test_a_size_that_is_no_number_is_a_type_error(name: str) -> None:
    for value in (True, 1.5, "10"):
        with pytest.raises(TypeError, match=name):
            brimful.collect(b"abc", **{name: value})


def test_other_arguments_that_are_wrong_say_what_they_may_be() -> None:
    with pytest.raises(ValueError, match="pooled"):
        brimful.Collector("list")
    with pytest.raises(ValueError, match="auto"):
        brimful.Pool(memory="heap")
    with pytest.raises(ValueError, match="idle"):
        brimful.Pool(idle=-1)
    with pytest.raises(TypeError, match="reset.*no option"):
        brimful.Collector().reset(pool=None)
    with pytest.raises(TypeError, match="collector's own"):
        brimful.collect(b"", limit=3, collector=brimful.Collector())
    with pytest.raises(TypeError):
        brimful.Collector().commit(1.0)
