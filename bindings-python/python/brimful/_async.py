"""The loops that await: the native part says what is to be awaited, and is told what came of it. They need no event loop
of a certain kind; whatever runs the coroutine does."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, TypeVar, overload

from ._brimful import _Decoding, _Loads, _Step

if TYPE_CHECKING:
    from typing_extensions import Buffer, Unpack

    from ._brimful import PooledBuffer, _CallOptions, _Source

    _Loaded = TypeVar("_Loaded")

    class _ReadsIntoAsync(Protocol):
        def readinto(self, buffer: memoryview, /) -> Awaitable[int | None]: ...

    class _ReadsAsync(Protocol):
        def read(self, size: int, /) -> Awaitable[Buffer | None]: ...

    class _HasContent(Protocol):
        @property
        def content(self) -> _ReadsAsync: ...

    class _Streams(Protocol):
        def stream(self) -> AsyncIterable[Buffer]: ...

    _AsyncSource: TypeAlias = (
        _Source
        | _ReadsIntoAsync
        | _ReadsAsync
        | Callable[[memoryview], Awaitable[SupportsIndex | None]]
        | AsyncIterable[Buffer | None]
        | _HasContent
        | _Streams
    )


async def collect_async(source: _AsyncSource, **options: Unpack[_CallOptions]) -> bytes:
    """Reads a whole body from a source that is awaited, and returns it as bytes.

    Sources are those of `collect`, and: asynchronous callables f(window), objects whose readinto() or read(n) give
    something to await (asyncio's StreamReader), asynchronous iterables, responses of aiohttp and of httpx's AsyncClient,
    requests of Starlette. A source that blocks, blocks the event loop.

    Options and errors are those of `collect`. Reading stops at the limit. When the await is cancelled, what came is in
    the collector that was given by ``collector=``, and reading can go on (but from a generator, which ends by it).
    """
    step = _Step(source, "bytes", None, options)
    await read(step)
    body: bytes = step.finish("bytes")
    return body


async def collect_pooled_async(source: _AsyncSource, **options: Unpack[_CallOptions]) -> PooledBuffer:
    """As `collect_async`, into memory that is recycled; gives a `PooledBuffer`, to be released, best by ``with``."""
    step = _Step(source, "pooled", None, options)
    await read(step)
    body: PooledBuffer = step.finish("pooled")
    return body


async def collect_into_async(source: _AsyncSource, target: Buffer, **options: Unpack[_CallOptions]) -> int:
    """As `collect_async`, into ``target``, a writable buffer; gives the number of bytes. See `collect_into`."""
    step = _Step(source, "into", target, options)
    await read(step)
    length: int = step.finish("into")
    return length


async def collect_text_async(
    source: _AsyncSource, *, encoding: str | None = None, errors: str = "strict", **options: Unpack[_CallOptions]
) -> str:
    """As `collect_async`; gives the body as text. See `collect_text` for ``encoding`` and ``errors``."""
    decoding = _Decoding(source, encoding, errors)
    step = _Step(source, "text", None, options)
    await read(step)
    return decoding.text(step.finish("text"))


@overload
async def collect_json_async(source: _AsyncSource, *, loads: None = None, **options: Unpack[_CallOptions]) -> Any: ...
@overload
async def collect_json_async(
    source: _AsyncSource, *, loads: Callable[[Any], _Loaded], **options: Unpack[_CallOptions]
) -> _Loaded: ...
async def collect_json_async(
    source: _AsyncSource, *, loads: Callable[[Any], Any] | None = None, **options: Unpack[_CallOptions]
) -> Any:
    """As `collect_async`; gives what the body means as JSON. See `collect_json` for ``loads``."""
    parser = _Loads(loads)
    step = _Step(source, "json", None, options)
    await read(step)
    return parser.json(step.finish("json"))


async def read(step: Any) -> bool:
    """Runs one asynchronous call to its end, or until its source has nothing more now."""
    awaitable = step.start()
    while awaitable is not None:
        try:
            given = await awaitable
        except BaseException as raised:
            awaitable = step.throw(raised)
        else:
            awaitable = step.send(given)
    complete: bool = step.complete
    return complete
