//! The engine's statuses as Python exceptions. The classes are Python's (`brimful._errors`), so that they combine with
//! the built-in ones; the sentences are the engine's.

use crate::buffer::PooledBuffer;
use crate::codec::Fault;
use brimful_core::{Error, Info, InvalidOption};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

/// The exception for a status. `partial` is what the exception carries of the body.
pub(crate) fn of_status(py: Python<'_>, error: Error, info: &Info, partial: Option<Py<PooledBuffer>>) -> PyErr {
    let message = info.message(error);
    let class = match error {
        Error::NoMemory => return PyMemoryError::new_err(message),
        Error::Invalid => return PyValueError::new_err(message),
        Error::Panic => return PyRuntimeError::new_err(message),
        Error::Source => "Error",
        Error::State | Error::Busy => "StateError",
        Error::Budget => "BudgetError",
        Error::Limit => "LimitError",
        Error::Short => "ShortError",
        Error::Long => "LongError",
        Error::Contract => "ContractError",
        Error::NoProgress => "NoProgressError",
        Error::Cancelled => "Cancelled",
        Error::Encoding => "EncodingError",
    };
    let built = || -> PyResult<PyErr> {
        let facts = PyDict::new(py);
        facts.set_item(intern!(py, "status"), error.name())?;
        facts.set_item(intern!(py, "received"), info.received)?;
        facts.set_item(intern!(py, "partial"), partial)?;
        match error {
            Error::Limit => facts.set_item(intern!(py, "limit"), info.limit)?,
            Error::Short | Error::Long => facts.set_item(intern!(py, "expected"), info.expected)?,
            _ => {}
        }
        build(py, class, &message, &facts)
    };
    built().unwrap_or_else(|failure| failure)
}

/// The StateError for a call that does not fit what this binding's objects are doing.
pub(crate) fn state(py: Python<'_>, message: &str, received: u64) -> PyErr {
    let built = || -> PyResult<PyErr> {
        let facts = PyDict::new(py);
        facts.set_item(intern!(py, "received"), received)?;
        build(py, "StateError", message, &facts)
    };
    built().unwrap_or_else(|failure| failure)
}

/// The exception for a source that has nothing now, with the collector to go on with by this call.
pub(crate) fn would_block(py: Python<'_>, info: &Info, collector: Bound<'_, PyAny>, go_on: &str) -> PyErr {
    let built = || -> PyResult<PyErr> {
        let facts = PyDict::new(py);
        facts.set_item(intern!(py, "received"), info.received)?;
        facts.set_item(intern!(py, "collector"), collector)?;
        let message = format!(
            "pending: the source has nothing more now ({} bytes came); go on with {go_on}",
            info.received
        );
        build(py, "WouldBlock", &message, &facts)
    };
    built().unwrap_or_else(|failure| failure)
}

/// The exception for bytes that are no text in the encoding.
pub(crate) fn encoding(py: Python<'_>, fault: &Fault, received: u64, partial: Option<Py<PooledBuffer>>) -> PyErr {
    let built = || -> PyResult<PyErr> {
        let Fault {
            offset,
            encoding,
            reason,
        } = fault;
        let facts = PyDict::new(py);
        facts.set_item(intern!(py, "received"), received)?;
        facts.set_item(intern!(py, "partial"), partial)?;
        facts.set_item(intern!(py, "offset"), offset)?;
        facts.set_item(intern!(py, "encoding"), encoding)?;
        facts.set_item(intern!(py, "reason"), reason)?;
        let place = offset.map_or_else(String::new, |offset| format!(" from offset {offset} on"));
        let message = format!(
            "encoding: the bytes{place} are no text in {encoding} ({reason}); give the encoding that they are in, or errors='replace'"
        );
        build(py, "EncodingError", &message, &facts)
    };
    built().unwrap_or_else(|failure| failure)
}

/// The exception for a name that names no encoding of text (E42).
pub(crate) fn unknown_encoding(py: Python<'_>, message: &str) -> PyErr {
    build(py, "UnknownEncodingError", message, &PyDict::new(py)).unwrap_or_else(|failure| failure)
}

/// The exception for an option that is out of range (E5).
pub(crate) fn invalid(option: InvalidOption) -> PyErr {
    PyValueError::new_err(option.to_string())
}

fn build(py: Python<'_>, class: &str, message: &str, facts: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    let class = PyModule::import(py, intern!(py, "brimful._errors"))?.getattr(class)?;
    Ok(PyErr::from_value(class.call((message,), Some(facts))?))
}
