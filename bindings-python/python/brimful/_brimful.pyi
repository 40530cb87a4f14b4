from collections.abc import Callable, Coroutine, Iterable, Iterator
from types import TracebackType
from typing import (
    Any,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    Unpack,
    final,
    overload,
    type_check_only,
)

from typing_extensions import Buffer

from ._async import _AsyncSource

__all__ = [
    "PooledBuffer",
    "collect",
    "collect_into",
    "collect_pooled",
    "Collector",
    "collect_fd",
    "collect_fd_pooled",
    "Info",
    "PoolStats",
    "Pool",
    "_Step",
    "__version__",
]

__version__: str

@type_check_only
class _ReadsInto(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...

@type_check_only
class _Reads(Protocol):
    def read(self, size: int, /) -> Buffer | None: ...

@type_check_only
class _ReceivesInto(Protocol):
    def recv_into(self, buffer: memoryview, /) -> int: ...

@type_check_only
class _IteratesContent(Protocol):
    def iter_content(self, chunk_size: int, /) -> Iterator[Any]: ...

@type_check_only
class _IteratesBytes(Protocol):
    def iter_bytes(self) -> Iterator[bytes]: ...

@type_check_only
class _HasFileno(Protocol):
    def fileno(self) -> int: ...

_Source: TypeAlias = (
    Buffer
    | _ReadsInto
    | _ReceivesInto
    | _Reads
    | _IteratesContent
    | _IteratesBytes
    | Callable[[memoryview], SupportsIndex | None]
    | Iterable[Buffer | None]
)
_Progress: TypeAlias = Callable[[int, int | None], object]
_End: TypeAlias = Literal["auto", "length", "eof"]

@type_check_only
class _Options(TypedDict, total=False):
    length: SupportsIndex | None
    size_hint: SupportsIndex | None
    end: _End
    limit: SupportsIndex | None
    truncate: bool
    max_prealloc: SupportsIndex | None
    first_block: SupportsIndex | None
    max_window: SupportsIndex | None

@type_check_only
class _CallOptions(_Options, total=False):
    pool: Pool | None
    on_progress: _Progress | None
    collector: Collector | None

def collect(
    source: _Source,
    *,
    length: SupportsIndex | None = None,
    size_hint: SupportsIndex | None = None,
    end: _End = "auto",
    limit: SupportsIndex | None = None,
    truncate: bool = False,
    max_prealloc: SupportsIndex | None = None,
    first_block: SupportsIndex | None = None,
    max_window: SupportsIndex | None = None,
    pool: Pool | None = None,
    on_progress: _Progress | None = None,
    collector: Collector | None = None,
) -> bytes: ...
def collect_pooled(
    source: _Source,
    *,
    length: SupportsIndex | None = None,
    size_hint: SupportsIndex | None = None,
    end: _End = "auto",
    limit: SupportsIndex | None = None,
    truncate: bool = False,
    max_prealloc: SupportsIndex | None = None,
    first_block: SupportsIndex | None = None,
    max_window: SupportsIndex | None = None,
    pool: Pool | None = None,
    on_progress: _Progress | None = None,
    collector: Collector | None = None,
) -> PooledBuffer: ...
def collect_into(source: _Source, target: Buffer, **options: Unpack[_CallOptions]) -> int: ...
def collect_fd(fd: int | _HasFileno, **options: Unpack[_CallOptions]) -> bytes: ...
def collect_fd_pooled(fd: int | _HasFileno, **options: Unpack[_CallOptions]) -> PooledBuffer: ...
@final
class Collector:
    def __new__(
        cls,
        result: Literal["bytes", "pooled"] = "bytes",
        *,
        length: SupportsIndex | None = None,
        size_hint: SupportsIndex | None = None,
        end: _End = "auto",
        limit: SupportsIndex | None = None,
        truncate: bool = False,
        max_prealloc: SupportsIndex | None = None,
        first_block: SupportsIndex | None = None,
        max_window: SupportsIndex | None = None,
        pool: Pool | None = None,
    ) -> Collector: ...
    @property
    def complete(self) -> bool: ...
    def read(self, source: _Source) -> bool: ...
    def read_async(self, source: _AsyncSource) -> Coroutine[Any, Any, bool]: ...
    def write(self, chunk: Buffer) -> int: ...
    def end(self) -> None: ...
    def reserve(self, want: SupportsIndex | None = None) -> memoryview: ...
    def commit(self, n: SupportsIndex) -> None: ...
    def copy(self, offset: SupportsIndex, target: Buffer) -> int: ...
    def segments(self) -> tuple[memoryview, ...]: ...
    def finish(self) -> Any: ...
    def take_partial(self) -> PooledBuffer: ...
    def info(self) -> Info: ...
    def cancel(self) -> None: ...
    def reset(self, **options: Unpack[_Options]) -> None: ...

@final
class PooledBuffer:
    @property
    def truncated(self) -> bool: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> PooledBuffer: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def segments(self) -> tuple[memoryview, ...]: ...
    def tobytes(self) -> bytes: ...
    def info(self) -> Info: ...
    def release(self) -> None: ...
    def __enter__(self) -> PooledBuffer: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        _exception: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None: ...

@final
class Pool:
    def __new__(
        cls,
        *,
        max_retained: SupportsIndex | None = None,
        budget: SupportsIndex | None = None,
        limit: SupportsIndex | None = None,
        idle: float | None = None,
        scrub: bool = False,
        memory: Literal["auto", "list"] = "auto",
    ) -> Pool: ...
    def stats(self) -> PoolStats: ...
    def trim(self, keep: SupportsIndex | None = None) -> int: ...
    def close(self) -> None: ...

@final
class _Step:
    def __new__(
        cls, source: _AsyncSource, result: str, target: Buffer | None, options: _CallOptions
    ) -> _Step: ...
    @property
    def complete(self) -> bool: ...
    def start(self) -> Any: ...
    def send(self, given: Any) -> Any: ...
    def throw(self, raised: Any) -> Any: ...
    def finish(self, result: str) -> Any: ...

@final
class Info:
    @property
    def status(self) -> str: ...
    @property
    def source_error(self) -> int: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def state(self) -> str: ...
    @property
    def received(self) -> int: ...
    @property
    def expected(self) -> int | None: ...
    @property
    def length(self) -> int: ...
    @property
    def source_calls(self) -> int: ...
    @property
    def pendings(self) -> int: ...
    @property
    def copied(self) -> int: ...
    @property
    def rents(self) -> int: ...
    @property
    def allocations(self) -> int: ...
    @property
    def allocated_bytes(self) -> int: ...
    @property
    def peak_held(self) -> int: ...
    @property
    def waste(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class PoolStats:
    @property
    def rented(self) -> int: ...
    @property
    def rented_bytes(self) -> int: ...
    @property
    def released(self) -> int: ...
    @property
    def released_bytes(self) -> int: ...
    @property
    def reused(self) -> int: ...
    @property
    def reused_bytes(self) -> int: ...
    @property
    def allocated(self) -> int: ...
    @property
    def allocated_bytes(self) -> int: ...
    @property
    def freed(self) -> int: ...
    @property
    def freed_bytes(self) -> int: ...
    @property
    def outstanding(self) -> int: ...
    @property
    def outstanding_bytes(self) -> int: ...
    @property
    def retained(self) -> int: ...
    @property
    def retained_bytes(self) -> int: ...
    @property
    def peak_bytes(self) -> int: ...
    @property
    def refused(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
