"""Reads a whole body (an HTTP response, an upload, a file, chunks) into memory: into memory that is recycled, looked at
in place (`collect_pooled`), or into `bytes` (`collect`); step by step with a `Collector`; with limits on every path."""

from ._brimful import Collector, Info, Pool, PooledBuffer, PoolStats, __version__, collect, collect_pooled
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
    WouldBlock,
)

__all__ = [
    "BudgetError",
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
    "WouldBlock",
    "__version__",
    "collect",
    "collect_pooled",
]
