"""What several test files share: painted bodies, and sources that say nothing of their size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

_PAINT = bytes(range(251)) * 4200


def paint(length: int, offset: int = 0) -> bytes:
    """Byte i is i mod 251."""
    start = offset % 251
    if start + length <= len(_PAINT):
        return _PAINT[start : start + length]
    return (_PAINT * (length // len(_PAINT) + 2))[start : start + length]


def fills(body: bytes, each: int = 1 << 62) -> Callable[[memoryview], int]:
    """A callable that fills windows with the body, at most `each` bytes a call."""
    source, at = memoryview(body), 0

    def fill(window: memoryview) -> int:
        nonlocal at
        length = min(len(window), each, len(source) - at)
        window[:length] = source[at : at + length]
        at += length
        return length

    return fill


def chunks(body: bytes, each: int) -> Iterator[bytes]:
    for at in range(0, len(body), each):
        yield body[at : at + each]


class ReadsInto:
    """Only readinto(), as a Python class."""

    def __init__(self, body: bytes, each: int = 1 << 62) -> None:
        self.readinto = fills(body, each)


class Reads:
    """Only read(n), as a Python class."""

    def __init__(self, body: bytes, each: int = 1 << 62) -> None:
        self.body, self.at, self.each = body, 0, each
        self.asked: list[int] = []

    def read(self, size: int) -> bytes:
        self.asked.append(size)
        chunk = self.body[self.at : self.at + min(size, self.each)]
        self.at += len(chunk)
        return chunk


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
