"""One outcome for each column, whatever the source is, what the result is, and whether it is awaited (E13 to E16)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import everything
import pytest
from everything import ASYNC_SOURCES, RESULTS, SOURCES, Outcome, Owner
from support import paint

SIZE = 100_000
BODY = paint(SIZE)


def columns() -> Iterator[tuple[dict[str, int], Outcome]]:
    for announced in everything.lengths(SIZE):
        for limit in (None, 0, SIZE - 1, SIZE, SIZE + 1):
            options = announced if limit is None else announced | {"limit": limit}
            if limit is None or limit >= SIZE:
                expected = Outcome("ok", BODY)
            elif "length" in announced:
                expected = Outcome("limit", b"")  # refused before the source is asked (E14)
            else:
                expected = Outcome("limit", BODY[:limit])
            yield options, expected


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_has_one_outcome_for_each_column(name: str, result: str, server: str) -> None:
    for options, expected in columns():
        owner = Owner(server)
        with owner.stack:
            outcome = everything.collect(result, SOURCES[name](owner, BODY), SIZE + 10, **options)
        assert outcome == expected, f"{options}: {outcome.status}, {len(outcome.body)} bytes"


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("name", ASYNC_SOURCES)
def test_an_awaited_source_has_the_same_outcomes(name: str, result: str, server: str) -> None:
    async def run() -> None:
        for options, expected in columns():
            owner = Owner(server)
            with owner.stack:
                async with ASYNC_SOURCES[name](owner, BODY) as source:
                    outcome = await everything.collect_async(result, source, SIZE + 10, **options)
            assert outcome == expected, f"{options}: {outcome.status}, {len(outcome.body)} bytes"

    asyncio.run(run())


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_length_that_is_wrong_has_one_outcome_for_all_sources_that_are_asked_for_their_end(
    result: str, wrong: int, server: str
) -> None:
    expected = Outcome("long", BODY[:-1]) if wrong < 0 else Outcome("short", BODY)

    async def run() -> None:
        for name, make in ASYNC_SOURCES.items():
            owner = Owner(server)
            with owner.stack:
                async with make(owner, BODY) as source:
                    options: dict[str, Any] = {"length": SIZE + wrong, "end": "eof"}
                    outcome = await everything.collect_async(result, source, SIZE + 10, **options)
            assert outcome == expected, f"{name}: {outcome.status}, {len(outcome.body)} bytes"

    asyncio.run(run())


@pytest.mark.parametrize("memory", ["auto", "list"])
def test_the_end_of_the_target_is_a_limit(memory: Any) -> None:
    import brimful

    pool = brimful.Pool(memory=memory)
    for room in (0, 1, 4096, SIZE - 1, SIZE, SIZE + 1):
        for name, make in SOURCES.items():
            if "http" in name or name == "requests":
                continue
            owner = Owner("")
            with owner.stack:
                outcome = everything.collect("into", make(owner, BODY), room, pool=pool)
            expected = Outcome("ok", BODY) if room >= SIZE else Outcome("limit", BODY[:room])
            assert outcome == expected, f"{name}, {room}: {outcome.status}, {len(outcome.body)} bytes"
