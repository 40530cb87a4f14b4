"""The errors of brimful. Plain Python classes, so that they combine with the built-in ones."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._brimful import Collector, PooledBuffer

_LARGEST_PICKLED_PARTIAL = 64 * 1024


class Error(Exception):
    """A body that did not become a result, or a call that does not fit.

    ``status`` is the status' name (as in the C interface, for example ``"limit"``), ``received`` the number of bytes
    that the source delivered, ``partial`` what came before the error as a `PooledBuffer`. ``partial`` is None where
    nothing can be taken, and where the caller holds the collector: then `Collector.take_partial` gives it.

    Errors can be pickled; ``partial`` then becomes `bytes` if it has at most 64 KiB, else None.
    """

    status: str = "error"
    received: int
    partial: PooledBuffer | bytes | None

    def __init__(
        self,
        message: str = "",
        *,
        status: str | None = None,
        received: int = 0,
        partial: PooledBuffer | bytes | None = None,
    ) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status
        self.received = received
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self._facts())

    def _facts(self) -> dict[str, Any]:
        """What is kept of this error when it is pickled."""
        facts = dict(self.__dict__)
        partial = facts.get("partial")
        if partial is not None and not isinstance(partial, bytes):
            facts["partial"] = _bytes_of(partial)
        return facts


class LimitError(Error, ValueError):
    """The body has more bytes than its limit, ``limit``, allows. The first ``limit`` bytes are in ``partial``."""

    status = "limit"
    limit: int | None

    def __init__(self, message: str = "", *, limit: int | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.limit = limit


class ShortError(Error, EOFError):
    """The source ended before the announced length, ``expected``. What came is in ``partial``."""

    status = "short"
    expected: int | None

    def __init__(self, message: str = "", *, expected: int | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.expected = expected


class LongError(Error, ValueError):
    """The source delivered more than the announced length, ``expected``; so many bytes are in ``partial``."""

    status = "long"
    expected: int | None

    def __init__(self, message: str = "", *, expected: int | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.expected = expected


class ContractError(Error):
    """The source claimed more bytes than its window has, or a negative number. None of that call counts."""

    status = "contract"


class NoProgressError(Error):
    """The source asked to be called again more than 1000 times in a row without a byte."""

    status = "no_progress"


class Cancelled(Error):
    """The body was cancelled. What came before is in ``partial``."""

    status = "cancelled"


class BudgetError(Error, MemoryError):
    """The pool's budget is used up. Nothing changed; the same call may be made again."""

    status = "budget"


class StateError(Error):
    """The call does not fit what the object is doing (``status`` is ``"state"``), or the object is in use by a call
    that has not returned, for example from inside its own source (``"busy"``). Nothing was done."""

    status = "state"


class EncodingError(Error, UnicodeError):
    """The bytes are not text in the encoding. ``offset`` is where they stop being it, in bytes from the start of the body
    (None where a codec of Python's does not tell), ``encoding`` what they were read as, ``reason`` what is wrong.
    ``partial`` is the whole body, from a collecting call also with ``collector=``; None from `PooledBuffer`'s methods."""

    status = "encoding"
    offset: int | None
    encoding: str | None
    reason: str | None

    def __init__(
        self,
        message: str = "",
        *,
        offset: int | None = None,
        encoding: str | None = None,
        reason: str | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(message, **facts)
        self.offset = offset
        self.encoding = encoding
        self.reason = reason


class UnknownEncodingError(Error, LookupError, ValueError):
    """The name is that of no encoding of text. Nothing was read."""

    status = "invalid"


class WouldBlock(Error, BlockingIOError):
    """The source has nothing more now. ``collector`` has what came: go on with ``collector.read(source)``.

    ``collector`` is None after unpickling."""

    status = "pending"
    collector: Collector | None

    def __init__(self, message: str = "", *, collector: Collector | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.errno = errno.EAGAIN
        self.collector = collector

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "collector": None}


def _bytes_of(partial: PooledBuffer) -> bytes | None:
    try:
        return partial.tobytes() if len(partial) <= _LARGEST_PICKLED_PARTIAL else None
    except ValueError:  # released already
        return None


def _restore(error_class: type[Error], args: tuple[Any, ...], facts: dict[str, Any]) -> Error:
    error = error_class()
    error.args = args
    error.__dict__.update(facts)
    return error
