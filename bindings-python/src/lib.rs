//! The Python binding of brimful. It converts, and owns Python's objects; every rule about bytes, lengths, limits,
//! growth and errors is the engine's.
//!
//! ```text
//! collect ──▶ Call ─┐                             ┌─ source   what kind of object it is
//!                   ├─▶ Reading (drive) ─▶ Body ──┤─ window   its views, and what becomes of kept ones
//! Collector.read ───┘    loops, no borrow         ├─ chunk    bytes-like objects as slices
//!                        while Python runs        └─ answer   numbers and exceptions as answers
//! results: bytes (memory.rs: filled in place) or PooledBuffer (buffer.rs)
//! ```

mod answer;
mod buffer;
mod chunk;
mod collect;
mod collector;
mod drive;
mod errors;
mod info;
mod memory;
mod options;
mod pool;
mod source;
mod window;

/// The native part of brimful; import `brimful` instead.
#[pyo3::pymodule(gil_used = false)]
mod _brimful {
    #[pymodule_export]
    use crate::buffer::PooledBuffer;
    #[pymodule_export]
    use crate::collect::{collect, collect_pooled};
    #[pymodule_export]
    use crate::collector::Collector;
    #[pymodule_export]
    use crate::info::{Info, PoolStats};
    #[pymodule_export]
    use crate::pool::Pool;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
