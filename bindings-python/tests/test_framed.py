"""Values over many packets (examples/python/framed.py): wherever they are cut and stopped, what was put in comes out.

The model is the list of values that went in. Hazards H1 to H11; E27 to E30, E40.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import brimful
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "python"))

from framed import MISSING, UNKNOWN, BrokenConnection, Connection, Decoder, packets, value  # noqa: E402

RESULTS = ["bytes", "pooled"]


def content(seed: int, length: int) -> bytes:
    """Bytes that come again at no interval that a packet or block could have, others for each seed."""
    return hashlib.shake_128(seed.to_bytes(8, "little")).digest(length)


def taken(decoder: Decoder) -> bytes | None:
    got = decoder.take()
    if got is None or isinstance(got, bytes):
        return got
    with got:
        return got.tobytes()


def read(stream: bytes, stops: Any, decoder: Decoder | None = None, piecewise: Any = None) -> list[bytes | None]:
    """The values of a connection whose bytes come up to each stop in turn."""
    decoder = decoder or Decoder()
    view, at, values = memoryview(stream), 0, []
    for stop in [*stops, len(stream)]:
        while at < stop:
            at += decoder.feed(view[at:stop])
            if piecewise:
                piecewise(decoder)
            if decoder.ended:
                values.append(taken(decoder))
    assert decoder.between
    return values


def two_chunks(data: bytes, cut: int, tells: bool) -> bytes:
    total = (len(data) if tells else UNKNOWN).to_bytes(8, "little")
    halves = [half for half in (data[:cut], data[cut:]) if half]
    return b"".join([total, *(len(half).to_bytes(4, "little") + half for half in halves), bytes(4)])


@pytest.mark.parametrize("packet", [15, 31, 32767])
def test_each_value_of_up_to_64_bytes_cut_anywhere_and_stopped_anywhere_is_what_was_put_in(packet: int) -> None:
    decoders = [Decoder("bytes"), Decoder("pooled", pool=brimful.Pool(memory="list"))]
    for length in range(65):
        data, next_one = content(length, length), content(100, 3)
        for cut in range(length + 1):
            stream = packets([two_chunks(data, cut, cut % 2 == 0), value(next_one), value(None)], packet)
            # With the smaller packets every third stop, another third for each cut.
            for stop in range(0 if packet > 64 else cut % 3, len(stream), 1 if packet > 64 else 3):
                decoder = decoders[stop % 2]
                decoder._packets = 0
                assert read(stream, [stop], decoder) == [data, next_one, None], (length, cut, stop)


@pytest.mark.parametrize("length", [0, 1, 7, 64])
def test_two_stops_anywhere_lose_nothing(length: int) -> None:
    """H2."""
    data = content(1, length)
    stream = packets([value(data, chunk=20), value(b"abc", total=UNKNOWN)], 40)
    for stops in combinations(range(len(stream)), 2):
        assert read(stream, stops) == [data, b"abc"], stops


def test_headers_totals_and_chunk_lengths_may_be_cut_at_each_byte_and_at_every_set_of_them() -> None:
    """H8."""
    stream, wide = packets([value(b"12345", chunk=2), value(None)], 19), 9
    for begin in range(0, len(stream) - wide, 5):
        for chosen in range(1 << wide):
            stops = [begin + bit for bit in range(wide) if chosen >> bit & 1]
            assert read(stream, stops) == [b"12345", None], stops


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("memory", ["auto", "list"])
def test_random_values_of_up_to_5_MiB_over_packets_of_any_size_are_what_was_put_in(result: str, memory: Any) -> None:
    chance = random.Random(f"{result} {memory}")
    pool = brimful.Pool(memory=memory)
    for turn in range(44):
        most = 5 << 20 if turn >= 40 else 3000
        values: list[bytes | None] = []
        framed = []
        for index in range(3 if turn >= 40 else 20):
            data = content(turn * 100 + index, chance.choice([0, 1, chance.randrange(most), most]))
            if chance.random() < 0.1:
                values.append(None)
                framed.append(value(None))
            else:
                values.append(data)
                told = chance.choice([None, UNKNOWN])
                framed.append(value(data, chunk=chance.randrange(50, len(data) + 60), total=told))
        packet = chance.choice([512, 4096, 8000, 32767, 65535] if turn >= 40 else [9, 20, 100, 8000])
        stream = packets(framed, packet)
        stops, at = [], 0
        while at < len(stream):
            stops.append(at)
            at += chance.choice([1, 1 + chance.randrange(40_000)])
        offset = 0

        def on_in_pieces(decoder: Decoder) -> None:
            """What has come is there, from the caller's own offset on."""
            nonlocal offset
            index, piece = decoder.values - decoder.ended, bytearray(1 + 2 * chance.randrange(3000))
            model = values[index] or b""
            while got := decoder.collector.copy(offset, piece):
                assert piece[:got] == model[offset : offset + got]
                offset += got
            if decoder.ended:
                assert offset == len(model)
                offset = 0

        assert read(stream, stops, Decoder(result, pool=pool), on_in_pieces) == values


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("memory", ["auto", "list"])
@pytest.mark.parametrize("total", [None, UNKNOWN])
def test_a_value_that_stops_after_every_packet_costs_the_same_as_one_that_does_not(
    result: str, memory: Any, total: int | None
) -> None:
    """E27."""
    data = content(10, 5 << 20)
    stream = packets([value(data, chunk=16384, total=total)], 8000)
    costs = []
    for each in (len(stream), 8000):
        decoder = Decoder(result, pool=brimful.Pool(memory=memory))
        assert read(stream, range(0, len(stream), each), decoder) == [data]
        info = decoder.collector.info()
        costs.append((info.allocations, info.allocated_bytes, info.copied, info.rents, info.peak_held))
    assert costs[0] == costs[1]
    if total is None:
        assert info.copied == 0
    else:
        assert info.copied <= (len(data) if result == "bytes" else 0) + (1 << 20)


def test_a_value_whose_last_bytes_end_at_a_stop_is_whole_when_its_end_comes_alone() -> None:
    """H1."""
    for total in (None, UNKNOWN):
        data = content(1, 1000)
        stream = packets([value(data, total=total)], 32767)
        decoder = Decoder()
        assert decoder.feed(stream[:-4]) == len(stream) - 4
        assert not decoder.ended and decoder.collector.info().length == 1000
        assert decoder.feed(stream[-4:]) == 4
        assert decoder.ended and decoder.take() == data


@pytest.mark.parametrize("result", RESULTS)
def test_two_thousand_values_that_share_packets_leave_nothing_behind_and_take_no_more_memory(result: str) -> None:
    """H3, E40."""
    sizes = [0, 1, 3, 100, 5000, None, 17, 70_000, 300, 1000, 12, 250_000]
    values = [None if sizes[i % 12] is None else content(i, sizes[i % 12]) for i in range(2000)]
    framed = [value(data, chunk=900 + i, total=UNKNOWN if data and i % 3 == 0 else None) for i, data in enumerate(values)]
    stream, at, seen = memoryview(packets(framed, 4096)), 0, []
    pool = brimful.Pool()
    decoder = Decoder(result, pool=pool)
    while at < len(stream):
        at += decoder.feed(stream[at : at + 1500])
        if decoder.ended:
            assert taken(decoder) == values[decoder.values - 1]
            if decoder.values in (200, 2000):
                stats = pool.stats()
                seen.append((stats.allocated, stats.allocated_bytes, stats.peak_bytes))
    assert decoder.values == 2000
    assert seen[0] == seen[1]
    del decoder
    assert pool.stats().outstanding == 0


def test_a_value_that_nobody_took_is_not_seen_when_the_next_one_begins() -> None:
    """H3."""
    stream = packets([value(b"first"), value(None), value(b"next")], 32767)
    decoder, byte = Decoder(), bytearray(1)
    at = decoder.feed(stream)
    assert decoder.collector.copy(0, byte) == 1
    while decoder.values < 3:
        at += decoder.feed(stream[at : at + 1])
        assert not decoder.collector.copy(0, byte) or byte == b"n"


@pytest.mark.parametrize("result", RESULTS)
def test_a_caller_who_reads_on_in_ever_smaller_pieces_never_gets_nothing_before_the_end(result: str) -> None:
    """H4 (the caller's own offset), H7 (smaller and smaller, and odd)."""
    data = content(2, 1_000_000)
    stream = memoryview(packets([value(data, chunk=70_001, total=UNKNOWN)], 8000))
    decoder, at, offset, size = Decoder(result), 0, 0, 65_521
    while offset < len(data):
        piece = bytearray(min(size, len(data) - offset))
        while (got := decoder.collector.copy(offset, piece)) < len(piece) and not decoder.ended:
            at += decoder.feed(stream[at : at + 8000])
        assert got == len(piece) and piece == data[offset : offset + got]
        offset += got
        size = max(101, size * 2 // 3 | 1)
    assert decoder.collector.copy(offset, bytearray(1)) == 0


def test_the_pieces_from_before_a_stop_are_still_there_after_it() -> None:
    """H5."""
    data = content(3, 500_000)
    stream = memoryview(packets([value(data, total=UNKNOWN)], 4096))
    decoder, most = Decoder("pooled", pool=brimful.Pool(memory="list")), 0
    for at in range(0, len(stream), 4096):
        decoder.feed(stream[at : at + 4096])
        segments = decoder.collector.segments()
        arrived = decoder.collector.info().length
        assert b"".join(segments) == data[:arrived]
        most = max(most, len(segments))
        del segments  # they would be in the way of the next feed
    assert decoder.ended and arrived == len(data) and most > 3


def test_an_empty_value_and_a_missing_one_stay_two_things() -> None:
    """H6."""
    values = [b"", None, b"", None, None, b"x", None]
    stream = packets([value(data, total=UNKNOWN if data == b"" and i else None) for i, data in enumerate(values)], 11)
    for each in range(1, len(stream)):
        assert read(stream, range(0, len(stream), each)) == values


def test_a_thousand_stops_without_a_byte_change_nothing() -> None:
    """H10."""
    data = content(4, 64)
    stream, decoder = packets([value(data, chunk=20)], 31), Decoder()
    for at in range(len(stream)):
        for _ in range(1000 if at % 8 == 0 else 1):
            assert decoder.feed(b"") == 0
        assert decoder.feed(stream[at : at + 1]) == 1
    assert decoder.take() == data


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("packet", [251 + 8, 502 + 8, 4096, 4096 + 8, 16384 + 8])
def test_no_byte_is_turned_or_cleared_at_the_interval_of_a_packet_or_block(result: str, packet: int) -> None:
    """H11: the content comes again at none of these intervals."""
    data = content(5, 600_000)
    for memory in ("auto", "list"):
        stream = packets([value(data, chunk=packet * 3, total=UNKNOWN)], packet)
        assert read(stream, range(0, len(stream), packet), Decoder(result, pool=brimful.Pool(memory=memory))) == [data]


def test_100_tasks_that_cancel_a_value_each_get_the_next_ten_in_step_with_nothing_of_the_first() -> None:
    """H9: each connection has, ten times, a value that is given up somewhere on its way, and one that is wanted."""

    async def one(task: int, pool: brimful.Pool) -> int:
        chance = random.Random(task)
        unwanted = [content(task * 100 + i, 30_000) for i in range(10)]
        wanted = [content(task * 100 + 50 + i, i * 997) for i in range(10)]
        each = [data for pair in zip(unwanted, wanted) for data in pair]
        stream = packets([value(data, chunk=5000, total=chance.choice([None, UNKNOWN])) for data in each], 4096)
        at = 0
        reader = asyncio.StreamReader()
        connection = Connection(reader, Decoder(chance.choice(RESULTS), pool=pool))

        async def send(length: int) -> None:
            nonlocal at
            reader.feed_data(stream[at : at + length])
            at += length
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)

        right = 0
        for second in wanted:
            given_up = asyncio.create_task(connection.value())
            await send(chance.randrange(1, 25_000))
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                if isinstance(await given_up, (bytes, brimful.PooledBuffer)):
                    raise AssertionError("less than all of it had come")
            follow_up = asyncio.create_task(connection.value())
            while not follow_up.done() and at < len(stream):
                await send(chance.randrange(1, 3000))
            got = bytes(await follow_up)
            assert got == second
            right += 1
            reader.feed_data(b"")
        return right

    async def all_of_them() -> list[int]:
        pool = brimful.Pool()
        return await asyncio.gather(*(one(task, pool) for task in range(100)))

    assert asyncio.run(all_of_them()) == [10] * 100


def test_tasks_that_wait_for_the_same_connection_get_their_own_values_whoever_of_them_is_cancelled() -> None:
    """H9: also values whose readers gave up before the first byte came."""

    async def run(cancelled: set[int]) -> None:
        reader = asyncio.StreamReader()
        connection = Connection(reader, Decoder())
        values = [content(i, 5000) for i in range(6)]
        tasks = [asyncio.create_task(connection.value()) for _ in values]
        await asyncio.sleep(0)
        for index in cancelled:
            tasks[index].cancel()
        reader.feed_data(packets(map(value, values), 512))
        reader.feed_eof()
        got = await asyncio.gather(*tasks, return_exceptions=True)
        for index, (came, put_in) in enumerate(zip(got, values)):
            assert isinstance(came, asyncio.CancelledError) if index in cancelled else came == put_in
        with pytest.raises(EOFError):
            await connection.value()

    for count in range(7):
        for cancelled in combinations(range(6), count):
            asyncio.run(run(set(cancelled)))


def test_a_cancelled_value_gives_its_memory_back_before_the_rest_of_it_comes() -> None:
    stream, pool = packets([value(content(6, 5_000_000), total=UNKNOWN), value(b"next")], 32767), brimful.Pool()
    decoder = Decoder("pooled", pool=pool)
    at = decoder.feed(stream[:4_500_000])
    assert pool.stats().outstanding_bytes > 4_000_000
    decoder.cancel()
    assert pool.stats().outstanding_bytes <= 1 << 20
    at += decoder.feed(memoryview(stream)[at:])
    assert decoder.ended and pool.stats().outstanding_bytes <= 1 << 20
    with pytest.raises(brimful.Cancelled):
        decoder.take()
    at += decoder.feed(stream[at:])
    assert taken(decoder) == b"next"


def test_a_value_whose_reader_gave_up_before_its_first_byte_takes_no_memory() -> None:
    async def run() -> None:
        pool, reader = brimful.Pool(), asyncio.StreamReader()
        connection = Connection(reader, Decoder("pooled", pool=pool))
        given_up = asyncio.create_task(connection.value())
        given_up.cancel()
        follow_up = asyncio.create_task(connection.value())
        stream = packets([value(content(6, 5_000_000)), value(b"next")], 32767)
        for at in range(0, len(stream), 100_000):
            reader.feed_data(stream[at : at + 100_000])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert pool.stats().outstanding_bytes <= 1 << 20
        with await follow_up as body:
            assert body.tobytes() == b"next"

    asyncio.run(run())


def test_bytes_of_a_number_that_finds_no_memory_come_again() -> None:
    """E30: what a total or an end needs is refused once each, wherever their bytes are cut."""

    class Refuses:
        def __init__(self, collector: brimful.Collector) -> None:
            self.collector, self.refused = collector, {"reset": 0, "end": 0}

        def __getattr__(self, name: str) -> Any:
            if name in self.refused and self.refused[name] % 2 == 0:
                self.refused[name] += 1

                def refuse(**options: Any) -> None:
                    raise MemoryError

                return refuse
            if name in self.refused:
                self.refused[name] += 1
            return getattr(self.collector, name)

    stream = packets([value(b"first", chunk=3), value(b"", total=UNKNOWN), value(b"third")], 15)
    for each in range(1, len(stream)):
        decoder, at, came = Decoder(), 0, []
        decoder.collector = Refuses(decoder.collector)  # type: ignore[assignment]
        while at < len(stream):
            try:
                at += decoder.feed(stream[at : at + each])
            except MemoryError:
                continue
            if decoder.ended:
                came.append(decoder.take())
        assert came == [b"first", b"", b"third"]


def test_a_cancel_between_two_values_is_for_the_next_one() -> None:
    stream = packets([value(b"first"), value(b"second"), value(b"third")], 32767)
    decoder = Decoder()
    at = decoder.feed(stream)
    decoder.cancel()
    assert decoder.take() == b"first"
    at += decoder.feed(stream[at:])
    with pytest.raises(brimful.Cancelled):
        decoder.take()
    decoder.feed(stream[at:])
    assert decoder.take() == b"third"


@pytest.mark.parametrize("result", RESULTS)
def test_a_value_that_is_too_large_or_not_what_its_total_said_fails_alone(result: str) -> None:
    """H18: the limit holds for each value."""
    data = content(7, 100)
    cases = {100: None, 101: brimful.ShortError, 99: brimful.LongError, 151: brimful.LimitError, 0: brimful.LongError,
             UNKNOWN: None, 1 << 62: brimful.LimitError}  # fmt: skip
    stream = packets([value(data, chunk=33, total=total) for total in cases] + [value(content(8, 151), total=UNKNOWN)], 64)
    for each in (1, 7, 64, len(stream)):
        decoder, at, outcomes = Decoder(result, limit=150), 0, []
        while at < len(stream):
            at += decoder.feed(stream[at : at + each])
            if decoder.ended:
                try:
                    assert taken(decoder) == data
                    outcomes.append(None)
                except brimful.Error as error:
                    partial = decoder.collector.take_partial().tobytes()
                    assert (data + content(8, 151)).find(partial) in (0, 100)
                    outcomes.append(type(error))
        assert outcomes == [*cases.values(), brimful.LimitError]


def test_a_value_that_finds_no_memory_within_the_budget_goes_on_when_there_is_some() -> None:
    """E30."""
    data = content(9, 300_000)
    stream, pool = packets([value(data, total=UNKNOWN)], 8000), brimful.Pool(budget=600_000)
    holds = brimful.collect_pooled(bytes(500_000), pool=pool)
    decoder, at = Decoder("pooled", pool=pool), 0
    with pytest.raises(brimful.BudgetError):
        while at < len(stream):
            at += decoder.feed(stream[at:])
    with pytest.raises(brimful.BudgetError):
        decoder.feed(stream[at:])
    holds.release()
    while at < len(stream):
        at += decoder.feed(stream[at:])
    assert taken(decoder) == data


def test_a_connection_that_is_not_in_the_format_says_so_from_then_on() -> None:
    good = packets([value(b"12345", chunk=2), value(b"abc")], 30)
    for wrong in (0, 4, 5, 6, 7):
        bad = bytearray(good)
        bad[30 + wrong] ^= 0x80
        decoder, at = Decoder(), 0
        with pytest.raises(BrokenConnection, match="no packet"):
            while at < len(bad):
                at += decoder.feed(bad[at:])
        for _ in range(2):
            with pytest.raises(BrokenConnection):
                decoder.feed(good)
    assert value(None) == MISSING.to_bytes(8, "little")


@pytest.mark.parametrize("result", RESULTS)
def test_of_a_body_s_tail_and_the_next_one_s_head_in_one_chunk_each_collector_takes_its_own(result: str) -> None:
    """What C does by `taken`: a window is never larger than what a body of known length lacks."""
    chance = random.Random(result)
    bodies = [content(i, chance.choice([0, 1, chance.randrange(3000)])) for i in range(300)]
    everything, at = b"".join(bodies), 0
    chunk = memoryview(b"")
    collector = brimful.Collector(result)
    for body in bodies:
        collector.reset(length=len(body))
        while not collector.complete:
            if not chunk:
                size = chance.randrange(1, 5000)
                chunk, at = memoryview(everything)[at : at + size], at + size
            if chance.random() < 0.5:
                window = collector.reserve()
                took = min(len(window), len(chunk))
                window[:took] = chunk[:took]
                del window
                collector.commit(took)
                chunk = chunk[took:]
            else:

                def source(window: memoryview) -> int | None:
                    nonlocal chunk
                    took = min(len(window), len(chunk))
                    window[:took] = chunk[:took]
                    chunk = chunk[took:]
                    return took or None

                collector.read(source)
        assert bytes(collector.finish()) == body
    assert not chunk
