//! Statistics of one body and of a pool as plain Python objects (E47, E51).

use brimful_core as core;
use pyo3::prelude::*;

/// Statistics of one body. Sizes are in bytes. Immutable.
#[pyclass(frozen, get_all, eq, module = "brimful", name = "Info")]
#[derive(PartialEq)]
pub(crate) struct Info {
    /// "ok", or the name of what ended the body, for example "limit".
    status: &'static str,
    /// The source's own error: a negative errno for an OSError, -1 for any other exception, 0 for none.
    source_error: i32,
    /// Whether the result was cut at the limit.
    truncated: bool,
    /// What the collector is doing: "open", "window_out", "complete", "failed" or "taken".
    state: &'static str,
    /// Bytes that the source delivered, those beyond a limit or length included.
    received: u64,
    /// The announced length, or None.
    expected: Option<u64>,
    /// Bytes of the result, or of what can be taken so far.
    length: u64,
    /// Calls to the source.
    source_calls: u64,
    /// How often the source had nothing.
    pendings: u64,
    /// Bytes that were moved again after they had landed.
    copied: u64,
    /// Blocks rented from the pool.
    rents: u64,
    /// Pieces of memory obtained fresh.
    allocations: u64,
    /// Bytes of fresh memory.
    allocated_bytes: u64,
    /// The most bytes held at once.
    peak_held: u64,
    /// Bytes that the result holds beyond its length.
    waste: u64,
}

impl From<core::Info> for Info {
    fn from(info: core::Info) -> Info {
        Info {
            status: info.error.map_or("ok", core::Error::name),
            source_error: info.source_error,
            truncated: info.truncated,
            state: match info.state {
                core::State::Open => "open",
                core::State::WindowOut => "window_out",
                core::State::Complete => "complete",
                core::State::Failed => "failed",
                core::State::Taken => "taken",
            },
            received: info.received,
            expected: info.expected,
            length: info.length,
            source_calls: info.source_calls,
            pendings: info.pendings,
            copied: info.copied,
            rents: info.rents,
            allocations: info.allocations,
            allocated_bytes: info.allocated_bytes,
            peak_held: info.peak_held,
            waste: info.waste,
        }
    }
}

#[pymethods]
impl Info {
    fn __repr__(&self) -> String {
        let expected = self.expected.map_or("None".into(), |expected| expected.to_string());
        format!(
            "Info(status={:?}, state={:?}, length={}, received={}, expected={expected}, truncated={}, source_calls={}, \
             pendings={}, copied={}, rents={}, allocations={}, allocated_bytes={}, peak_held={}, waste={})",
            self.status,
            self.state,
            self.length,
            self.received,
            if self.truncated { "True" } else { "False" },
            self.source_calls,
            self.pendings,
            self.copied,
            self.rents,
            self.allocations,
            self.allocated_bytes,
            self.peak_held,
            self.waste
        )
    }
}

/// Statistics of a pool, counts of blocks and the same in bytes. Exact when no call is in progress; then
/// allocated - freed = outstanding + retained. Immutable.
#[pyclass(frozen, get_all, eq, module = "brimful", name = "PoolStats")]
#[derive(PartialEq, Debug)]
pub(crate) struct PoolStats {
    /// Blocks given to bodies.
    rented: u64,
    /// Bytes of those blocks as they were given.
    rented_bytes: u64,
    /// Blocks given back.
    released: u64,
    /// Bytes of those blocks as they came back.
    released_bytes: u64,
    /// Rents that were served by a recycled block.
    reused: u64,
    /// Bytes of those blocks.
    reused_bytes: u64,
    /// Blocks obtained from the system.
    allocated: u64,
    /// Bytes obtained from the system, growth in place included.
    allocated_bytes: u64,
    /// Blocks given back to the system.
    freed: u64,
    /// Bytes given back to the system, cuts included.
    freed_bytes: u64,
    /// Blocks that bodies hold.
    outstanding: u64,
    /// Bytes that bodies hold.
    outstanding_bytes: u64,
    /// Blocks that lie in the pool.
    retained: u64,
    /// Bytes that lie in the pool.
    retained_bytes: u64,
    /// The most bytes owned at once, outstanding and retained together.
    peak_bytes: u64,
    /// Rents that could not be served.
    refused: u64,
}

impl From<core::PoolStats> for PoolStats {
    fn from(stats: core::PoolStats) -> PoolStats {
        let core::PoolStats {
            rented,
            rented_bytes,
            released,
            released_bytes,
            reused,
            reused_bytes,
            allocated,
            allocated_bytes,
            freed,
            freed_bytes,
            outstanding,
            outstanding_bytes,
            retained,
            retained_bytes,
            peak_bytes,
            refused,
        } = stats;
        PoolStats {
            rented,
            rented_bytes,
            released,
            released_bytes,
            reused,
            reused_bytes,
            allocated,
            allocated_bytes,
            freed,
            freed_bytes,
            outstanding,
            outstanding_bytes,
            retained,
            retained_bytes,
            peak_bytes,
            refused,
        }
    }
}

#[pymethods]
impl PoolStats {
    fn __repr__(&self) -> String {
        format!("{self:?}")
            .replace(": ", "=")
            .replace(" { ", "(")
            .replace(" }", ")")
    }
}
