//! Pools, and Python numbers as the engine's sizes.

use crate::info::PoolStats;
use brimful_core::{self as core, MemoryRef, PoolOptions};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// A pool of memory that bodies are read into and that their buffers give back.
///
/// max_retained: the most bytes that lie in the pool for the next body (default 64 MiB).
/// limit: the most bytes of every body on this pool whose own options name no limit (default None).
/// budget: the most writable bytes that all bodies on this pool may hold at once (default None). A body that needs more
/// raises BudgetError at once, with nothing changed: the same call may be made again later.
/// idle: seconds after which memory that lies unused is given back, at the pool's next use (default 10).
/// scrub: whether windows that only C code writes into are cleared too before they are shown.
/// memory: "auto" for blocks that grow in place where the system has them, "list" for heap blocks only.
///
/// Any number of threads may use a pool. Raises ValueError or TypeError for options out of range.
#[pyclass(frozen, module = "brimful")]
pub(crate) struct Pool {
    pub(crate) pool: core::Pool,
}

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(signature = (*, max_retained = None, budget = None, limit = None, idle = None, scrub = false, memory = "auto"))]
    fn new(
        max_retained: Option<&Bound<'_, PyAny>>,
        budget: Option<&Bound<'_, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
        idle: Option<f64>,
        scrub: bool,
        memory: &str,
    ) -> PyResult<Pool> {
        let default = PoolOptions::default();
        let options = PoolOptions {
            max_retained: size("max_retained", max_retained)?.unwrap_or(default.max_retained),
            budget: size("budget", budget)?,
            limit: size("limit", limit)?,
            idle_milliseconds: idle.map_or(Ok(default.idle_milliseconds), milliseconds)?,
            scrub,
            memory: match memory {
                "auto" => MemoryRef::system(),
                "list" => MemoryRef::heap(),
                other => {
                    return Err(PyValueError::new_err(format!(
                        "memory must be \"auto\" or \"list\", not {other:?}"
                    )));
                }
            },
        };
        let pool = core::Pool::new(options).ok_or_else(|| PyMemoryError::new_err("no memory for the pool"))?;
        Ok(Pool { pool })
    }

    /// Statistics as a PoolStats.
    fn stats(&self) -> PoolStats {
        self.pool.stats().into()
    }

    /// Gives memory that lies in the pool back to the system, down to `keep` bytes. Returns the bytes given back.
    #[pyo3(signature = (keep = None))]
    fn trim(&self, keep: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        Ok(self.pool.trim(size("keep", keep)?.unwrap_or(0)))
    }

    /// Keeps nothing from now on. Buffers that are out stay valid; their memory goes to the system when they are
    /// released. Closing twice is fine.
    fn close(&self) {
        self.pool.close();
    }
}

fn milliseconds(seconds: f64) -> PyResult<u64> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(PyValueError::new_err(format!(
            "idle must be 0 or more seconds, not {seconds}"
        )));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates; not negative"
    )]
    Ok((seconds * 1000.0) as u64)
}

/// A number of bytes: an int, or what says it is one by `__index__`. None stays None.
pub(crate) fn size(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(value) = value.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    let number = integer(value).map_err(|_| {
        let kind = value.get_type();
        PyTypeError::new_err(format!("{name} must be a number of bytes as an int, not {kind}"))
    })?;
    number
        .extract::<u64>()
        .map(Some)
        .map_err(|_| PyValueError::new_err(format!("{name} must be 0 to 2**64 - 1 bytes, not {value}")))
}

/// Any object that is an integer; a bool is none, since where a count of bytes is asked for it is a mistake.
pub(crate) fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyInt>> {
    if let Ok(number) = value.cast_exact::<PyInt>() {
        return Ok(number.clone());
    }
    if value.is_exact_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("a bool is no count of bytes"));
    }
    // SAFETY: attached; the answer is an int that is ours, or an exception.
    let number = unsafe { Bound::from_owned_ptr_or_err(value.py(), pyo3::ffi::PyNumber_Index(value.as_ptr()))? };
    Ok(number.cast_into::<PyInt>()?)
}
