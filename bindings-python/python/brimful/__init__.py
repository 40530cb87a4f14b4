"""Reads a whole body (an HTTP response, an upload, a file, chunks) into memory: into memory that is recycled, looked at
in place (`collect_pooled`), into `bytes` (`collect`), or into memory of yours (`collect_into`); as text (`collect_text`)
or as what it means in JSON (`collect_json`); from sources that are awaited (`collect_async` and the like), from file
descriptors (`collect_fd`); step by step with a `Collector`; with limits on every path."""

from typing import TYPE_CHECKING

from ._async import (
    collect_async,
    collect_into_async,
    collect_json_async,
    collect_pooled_async,
    collect_text_async,
)
from ._brimful import (
    Collector,
    Info,
    Pool,
    PooledBuffer,
    PoolStats,
    __version__,
    charset,
    collect,
    collect_fd,
    collect_fd_pooled,
    collect_into,
    collect_json,
    collect_pooled,
    collect_text,
)
from ._errors import (
    BudgetError,
    Cancelled,
    ContractError,
    EncodingError,
    Error,
    LimitError,
    LongError,
    NoProgressError,
    ShortError,
    StateError,
    UnknownEncodingError,
    WouldBlock,
)

if TYPE_CHECKING:
    from ._protocol import BufferedProtocol
else:

    def __getattr__(name):
        """BufferedProtocol needs asyncio, which is not imported before."""
        if name == "BufferedProtocol":
            from ._protocol import BufferedProtocol

            globals()[name] = BufferedProtocol
            return BufferedProtocol
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BudgetError",
    "BufferedProtocol",
    "Cancelled",
    "Collector",
    "ContractError",
    "EncodingError",
    "Error",
    "Info",
    "LimitError",
    "LongError",
    "NoProgressError",
    "Pool",
    "PoolStats",
    "PooledBuffer",
    "ShortError",
    "StateError",
    "UnknownEncodingError",
    "WouldBlock",
    "__version__",
    "charset",
    "collect",
    "collect_async",
    "collect_fd",
    "collect_fd_pooled",
    "collect_into",
    "collect_into_async",
    "collect_json",
    "collect_json_async",
    "collect_pooled",
    "collect_pooled_async",
    "collect_text",
    "collect_text_async",
]
