//! The Python binding of brimful. It converts, and owns Python's objects; every rule about bytes, lengths, limits,
//! growth and errors is the engine's.
//!
//! ```text
//! collect ──▶ Call ─┐                             ┌─ source   what kind of object it is (client: of HTTP clients)
//! Collector.read ───┼─▶ Reading (drive) ─▶ Body ──┤─ window   its views, and what becomes of kept ones
//! *_async ──▶ Step ─┘    the loop, no borrow      ├─ chunk    bytes-like objects as slices
//!                        while Python runs        └─ answer   numbers and exceptions as answers
//! collect_fd ──────────▶ descriptor: the same without Python code
//! results: bytes (memory.rs: filled in place), PooledBuffer (buffer.rs), the caller's own memory, or what is made of a
//! body: text (codec: which one; strings: filled in place) and json
//! ```

mod answer;
mod body;
mod buffer;
mod chunk;
mod client;
mod codec;
mod collect;
mod collector;
mod descriptor;
mod drive;
mod errors;
mod file;
mod gather;
mod info;
mod json;
mod memory;
mod options;
mod pool;
mod source;
mod step;
mod strings;
mod text;
mod window;

/// The native part of brimful; import `brimful` instead.
#[pyo3::pymodule(gil_used = false)]
mod _brimful {
    #[pymodule_export]
    use crate::buffer::PooledBuffer;
    #[pymodule_export]
    use crate::collect::{collect, collect_into, collect_pooled};
    #[pymodule_export]
    use crate::collector::Collector;
    #[pymodule_export]
    use crate::descriptor::{collect_fd, collect_fd_pooled};
    #[pymodule_export]
    use crate::info::{Info, PoolStats};
    #[pymodule_export]
    use crate::json::{AsyncLoads, collect_json};
    #[pymodule_export]
    use crate::pool::Pool;
    #[pymodule_export]
    use crate::step::Step;
    #[pymodule_export]
    use crate::strings::_fill_strings;
    #[pymodule_export]
    use crate::text::{AsyncDecoding, charset, collect_text};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
