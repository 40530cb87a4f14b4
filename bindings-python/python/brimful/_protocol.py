"""A body that asyncio's transports write straight into the collector's windows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

from ._brimful import Collector

_DISCARD = 64 * 1024  # bytes; what comes after the body's end is only counted


class BufferedProtocol(asyncio.BufferedProtocol):
    """Collects what a connection receives, without a copy between the socket and the body.

    Give it a `Collector`, or the arguments of one::

        transport, protocol = await loop.create_connection(lambda: BufferedProtocol(length=n, limit=m), host, port)
        body = await protocol.wait()

    The body is complete at its length, or when the peer has sent its end. What comes after that is dropped, and
    ``surplus`` counts it in bytes. A body that fails (limit, length) pauses the transport, which stays open: nothing more
    is read, and an answer can still be written. Close the transport when you have done with it.

    Views of ``collector.segments()`` are to be released before the event loop goes on: a packet that arrives while one
    is alive ends the body with BufferError, and is lost.

    To be used from the event loop's thread. ``collector`` is the collector.
    """

    def __init__(
        self, collector: Collector | None = None, result: Literal["bytes", "pooled"] | None = None, **options: Any
    ) -> None:
        if collector is not None and (options or result is not None):
            raise TypeError("with a collector its own options hold, and its kind of result; give no others")
        self.collector = Collector(result or "bytes", **options) if collector is None else collector
        self.surplus = 0
        self._transport: asyncio.BaseTransport | None = None
        self._window: memoryview | None = None
        self._filled = 0  # bytes of the window that its reader has not let go of yet
        self._discard: bytearray | None = None
        self._eof = False
        self._paused = False
        self._ended = False
        self._failure: BaseException | None = None
        self._taken = False
        self._result: Any = None
        self._waiters: list[asyncio.Future[None]] = []

    async def wait(self) -> Any:
        """The complete body: `bytes` or a `PooledBuffer`, as the collector's ``result`` says.

        Raises what ended it: LimitError, LongError, ShortError (a length was given, and the peer ended before),
        Cancelled, the transport's own error, or ConnectionAbortedError where the transport was closed before the end.
        Cancelling the wait loses nothing; it can be called again, and gives the same result."""
        if not self._ended:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                self._waiters.remove(waiter)
        if self._failure is not None:
            raise self._failure
        if not self._taken:
            self._result = self.collector.finish()
            self._taken = True
        return self._result

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop with the transport whose bytes are the body."""
        self._transport = transport
        self._settle()  # a body of length 0, or one that its collector has already

    def get_buffer(self, sizehint: int) -> memoryview | bytearray:
        """The collector's window of about ``sizehint`` bytes, or memory for what comes after the body."""
        self._commit()
        if not self._ended:
            try:
                # The same one while it is out, as often as it is asked for.
                self._window = self.collector.reserve(sizehint if sizehint > 0 else None)
                return self._window
            except Exception as error:  # noqa: BLE001 - it is raised where the body is waited for
                self._end(error)
        if self._discard is None:
            self._discard = bytearray(_DISCARD)
        return self._discard

    def buffer_updated(self, nbytes: int) -> None:
        """Takes the first ``nbytes`` bytes of the last buffer into the body, or counts them as surplus."""
        if self._ended or self._window is None:
            self.surplus += nbytes
            self._pause_if_failed()
            return
        self._filled = nbytes
        self._when_let_go(self._updated)

    def _updated(self) -> None:
        self._commit()
        self._pause_if_failed()

    def eof_received(self) -> bool:
        """Ends the body where the peer has. True keeps the transport open for an answer, which TLS cannot."""
        self._eof = True
        self._when_let_go(self._finish)
        # As asyncio's streams do.
        return self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def connection_lost(self, error: Exception | None) -> None:
        """Ends the body that has not ended yet: with the transport's error, or ConnectionAbortedError."""
        if self._eof:
            self._finish()
        else:
            self._commit(last=True)
        self._transport = None
        if not self._ended:
            self._end(error or ConnectionAbortedError("the connection was closed before the body's end"))

    def _when_let_go(self, then: Callable[[], None]) -> None:
        """A transport (uvloop's) may let its view of the window go only when the call to this protocol returns. Before
        that it would be taken for a view that is kept, and the body be moved."""
        if self._window is not None:
            try:
                self._window.release()
            except BufferError:
                asyncio.get_running_loop().call_soon(then)
                return
        then()

    def _finish(self) -> None:
        self._commit(last=True)
        self._settle()  # a cancel since the last bytes
        if self._ended:
            return
        try:
            self.collector.end()
        except Exception as error:  # noqa: BLE001 - it is raised where the body is waited for
            self._end(error)
        else:
            self._settle()

    def _commit(self, last: bool = False) -> None:
        """Takes the window back, where bytes are in it, or none will come."""
        if self._window is None or self._filled == 0 and not last:
            return
        filled, self._filled, self._window = self._filled, 0, None
        try:
            self.collector.commit(filled)
        except Exception as error:  # noqa: BLE001 - it is raised where the body is waited for
            self._end(error)
        else:
            self._settle()

    def _settle(self) -> None:
        """Sees whether the body has ended."""
        if self._ended:
            return
        try:
            if self.collector.complete:
                self._end(None)
            else:
                self.collector._see_cancel()
        except Exception as error:  # noqa: BLE001 - it is raised where the body is waited for
            self._end(error)

    def _end(self, failure: BaseException | None) -> None:
        self._ended = True
        self._failure = failure
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _pause_if_failed(self) -> None:
        """Not from within get_buffer, where pausing crashes uvloop (0.23)."""
        # Not by its type: uvloop's transports are of classes of their own.
        pause = getattr(self._transport, "pause_reading", None)
        if self._failure is not None and not self._paused and pause is not None:
            self._paused = True
            pause()
