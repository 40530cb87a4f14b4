"""Values that arrive over many packets, decoded without ever starting again: the target of a value is a collector, which
survives between packets, so whatever has come is used at once and never looked at a second time.

The format. Numbers are little-endian and unsigned.

    connection   packets, one after the other
    packet       kind (1 byte, always 4), flags (1 byte, ignored), length of the whole packet (2 bytes, 8 or more), number
                 of the packet (4 bytes: 0, 1, 2 and so on, 0 again after 2**32 - 1); then length - 8 bytes of payload
    payloads     put together they are values, one after the other; a packet may end at any byte of them
    value        total (8 bytes), then chunks, then a chunk of length 0; of a missing value there is the total alone
    total        the bytes of all its chunks together, or UNKNOWN, or MISSING
    chunk        length (4 bytes), then so many bytes

An empty value and a missing one are two things. Bytes reach the decoder cut at any place, also within a number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

import brimful

KIND = 4
UNKNOWN = 2**64 - 2
MISSING = 2**64 - 1


class BrokenConnection(ValueError):
    """The connection is not in this format: no byte after it means anything."""


class Decoder:
    """Takes a connection's bytes as they come. One collector serves all its values.

    `ended` says whether a value has ended with the last feed(); until the next one, take() gives it. `values` counts those
    that have ended. What has come of a value can be read before its end: `collector.copy(offset, target)`.
    """

    def __init__(self, result: Any = "bytes", *, pool: brimful.Pool | None = None, **options: Any) -> None:
        self.collector = brimful.Collector(result, pool=pool, **options)
        self.values = 0
        self.ended = False
        self._options = options
        self._missing = False
        self._error: Exception | None = None  # of the value; its bytes are passed over
        self._cancels_next = False
        self._header = bytearray()
        self._field = bytearray()
        self._packets = 0
        self._payload = 0  # bytes left of this packet
        self._chunk: int | None = None  # bytes left of this chunk; None: its length has not come
        self._in_value = False  # its total has come

    def feed(self, data: Any) -> int:
        """Takes bytes up to the end of a value and returns how many; the rest is for the next call.

        Raises BrokenConnection, from then on. Raises MemoryError or brimful.BudgetError, having taken nothing, where the
        next byte finds no memory: the same call may be made again.
        """
        view = memoryview(data)
        used = 0
        if self.ended:  # nothing of the last value is to be seen in the next, not even while its total comes
            self.collector.reset(**self._options)
            self._error = brimful.Cancelled("this value was not wanted") if self._cancels_next else None
            self.ended = self._missing = self._cancels_next = False
        try:
            while used < len(view) and not self.ended:
                if self._payload == 0:
                    used += self._take_header(view[used:])
                else:
                    took = self._take_payload(view[used : used + self._payload])
                    self._payload -= took
                    used += took
        except MemoryError:
            if used == 0:
                raise
        return used

    def take(self) -> Any:
        """The value that has ended: as the collector's `result` says, or None for a missing one.

        Raises what ended it otherwise: LimitError, ShortError, LongError, Cancelled. The next value is in step all the same.
        """
        if not self.ended:
            raise brimful.StateError("no value has ended", status="state")
        if self._error is not None:
            raise self._error
        return None if self._missing else self.collector.finish()

    def cancel(self) -> None:
        """The value that ends next is not wanted: what came of it is dropped, and what is still to come is passed over."""
        if self.ended:
            self._cancels_next = True
        elif not isinstance(self._error, brimful.Cancelled):
            self._error = brimful.Cancelled("this value was not wanted")
            self.collector.reset(**self._options)

    @property
    def between(self) -> bool:
        """Whether a connection that ends here ends between two values."""
        return not (self._payload or self._header or self._field or self._in_value)

    def _take_header(self, data: memoryview) -> int:
        took = _gather(self._header, 8, data)
        if len(self._header) == 8:
            kind, size, number = self._header[0], _number(self._header[2:4]), _number(self._header[4:])
            if kind != KIND or size < 8 or number != self._packets % 2**32:
                raise BrokenConnection(f"no packet: {self._header.hex(' ')}")  # the header stays, and so does the error
            self._header.clear()
            self._packets += 1
            self._payload = size - 8
        return took

    def _take_payload(self, data: memoryview) -> int:
        if self._chunk is not None:
            return self._take_bytes(data[: self._chunk])
        want = 4 if self._in_value else 8
        took = _gather(self._field, want, data)
        if len(self._field) == want:
            try:
                self._take_length() if self._in_value else self._take_total()
            except MemoryError:
                del self._field[want - took :]  # not taken: they come again
                raise
            self._field.clear()
        return took

    def _take_total(self) -> None:
        total = _number(self._field)
        if self._error is None and total != MISSING:
            self.collector.reset(**{**self._options, "length": None if total == UNKNOWN else total})
        self._in_value = True
        if total == MISSING:
            self._missing = True
            self._end()

    def _take_length(self) -> None:
        length = _number(self._field)
        if length > 0:
            self._chunk = length
        else:
            if self._error is None:
                self._do(self.collector.end)
            self._end()

    def _take_bytes(self, data: memoryview) -> int:
        if self._error is None:
            self._do(self.collector.write, data)
        self._chunk -= len(data)
        if self._chunk == 0:
            self._chunk = None
        return len(data)

    def _do(self, step: Any, *arguments: Any) -> None:
        """What is wrong with a value fails this value alone; that there is no memory now fails nothing."""
        try:
            step(*arguments)
        except MemoryError:
            raise
        except brimful.Error as error:
            self._error = error.with_traceback(None)

    def _end(self) -> None:
        self.values += 1
        self.ended = True
        self._in_value = False


class Connection:
    """The values of an asyncio stream, in the order in which they are asked for, by any number of tasks."""

    def __init__(self, reader: asyncio.StreamReader, decoder: Decoder) -> None:
        self.decoder = decoder
        self._reader = reader
        self._rest = memoryview(b"")
        self._asked = 0
        self._turn = asyncio.Lock()

    def value(self) -> Coroutine[Any, Any, Any]:
        """To be awaited: the next value that nobody has asked for. It is asked for by the call, not by the await, so a task
        that is cancelled before its first step has asked too. When the await is cancelled, the value is passed over."""
        mine = self._asked
        self._asked += 1
        return self._value(mine)

    async def _value(self, mine: int) -> Any:
        async with self._turn:
            try:
                while self.decoder.values <= mine:
                    if self.decoder.values < mine:
                        self.decoder.cancel()  # it is that of a task which was cancelled
                    if not self._rest:
                        self._rest = memoryview(await self._reader.read(65536))
                        if not self._rest:
                            raise EOFError("the connection ended before the value")
                    used = self.decoder.feed(self._rest)
                    self._rest = self._rest[used:]
                return self.decoder.take()
            except asyncio.CancelledError:
                if self.decoder.values == mine:
                    self.decoder.cancel()  # gives its memory back now
                raise


def _gather(field: bytearray, want: int, data: memoryview) -> int:
    """Takes what `field` lacks of `want` bytes."""
    before = len(field)
    field += data[: want - before]
    return len(field) - before


def _number(field: bytearray) -> int:
    return int.from_bytes(field, "little")


def value(data: bytes | None, *, chunk: int = 2**32 - 1, total: int | None = None) -> bytes:
    """A value as it goes into packets, in chunks of so many bytes; None is the missing one. `total`: another than is right."""
    if data is None:
        return MISSING.to_bytes(8, "little")
    parts = [(len(data) if total is None else total).to_bytes(8, "little")]
    for at in range(0, len(data), chunk):
        piece = data[at : at + chunk]
        parts += [len(piece).to_bytes(4, "little"), piece]
    return b"".join([*parts, bytes(4)])


def packets(values: Iterable[bytes], size: int) -> bytes:
    """A whole connection of these values, in packets of `size` bytes."""
    payload = b"".join(values)
    parts = []
    for number, at in enumerate(range(0, len(payload), size - 8)):
        piece = payload[at : at + size - 8]
        head = bytes([KIND, 0]) + (len(piece) + 8).to_bytes(2, "little") + (number % 2**32).to_bytes(4, "little")
        parts += [head, piece]
    return b"".join(parts)
