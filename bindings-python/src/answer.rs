//! What Python code answers, as the engine's answers (E19 to E23): numbers strictly, exceptions by what they mean.

use crate::pool::integer;
use crate::source::{Kind, imported};
use brimful_core::{Answer, Then};
use pyo3::exceptions::{PyBlockingIOError, PyInterruptedError, PyOSError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;

/// An answer, and the exception to raise where it leads to an error.
pub(crate) type Answered = (Answer, Option<PyErr>);

/// An answer that is none; `raised` says why.
pub(crate) fn unknown(raised: PyErr) -> Answered {
    (
        Answer {
            filled: 0,
            then: Then::Unknown,
        },
        Some(raised),
    )
}

/// An empty chunk: nothing came, nothing ended, and the source is to be asked again.
pub(crate) const NOTHING_YET: Answer = Answer {
    filled: 0,
    then: Then::Interrupted,
};

/// Something to await, where nothing can be awaited.
pub(crate) fn awaitable(object: &Bound<'_, PyAny>) -> Answered {
    // A coroutine that is closed does not complain that it was never awaited.
    let _ = object.call_method0(intern!(object.py(), "close"));
    unknown(PyTypeError::new_err(format!(
        "the source gave something to await ({}); read it with `await` and collect_async(), collect_pooled_async(), \
         collect_into_async() or Collector.read_async()",
        object.get_type()
    )))
}

/// A count of bytes, or None for "nothing now".
pub(crate) fn of_count(count: &Bound<'_, PyAny>) -> Answered {
    if count.is_none() {
        return (Answer::PENDING, None);
    }
    let count = match integer(count) {
        Ok(count) => count,
        Err(raised) => return unknown(raised),
    };
    // SAFETY: attached, and the object is an int.
    let number = unsafe { ffi::PyLong_AsSsize_t(count.as_ptr()) };
    if let Ok(filled) = usize::try_from(number) {
        return (Answer::filled(filled), None);
    }
    if number == -1 {
        drop(PyErr::take(count.py())); // larger than the address space; or just -1
    }
    (
        Answer {
            filled: 0,
            then: Then::Unknown,
        },
        None,
    )
}

/// An exception. `characters_written`, which any OSError may carry, says how many bytes of the window came with it; of
/// `http.client.IncompleteRead` that is `partial`.
pub(crate) fn of_exception(py: Python<'_>, raised: PyErr, kind: Kind) -> Answered {
    let filled = written(py, &raised, kind).unwrap_or(0);
    let with = |then| Answer { filled, then };
    if says_nothing_now(py, &raised) {
        return (with(Then::Pending), None);
    }
    if raised.is_instance_of::<PyInterruptedError>(py) {
        return (with(Then::Retry), None);
    }
    (with(Then::Failed(number(py, &raised))), Some(raised))
}

/// Whether the exception is the source's own failure, and neither that it has nothing now nor that it is to be asked again.
pub(crate) fn is_failure(py: Python<'_>, raised: &PyErr) -> bool {
    !says_nothing_now(py, raised) && !raised.is_instance_of::<PyInterruptedError>(py)
}

fn says_nothing_now(py: Python<'_>, raised: &PyErr) -> bool {
    raised.is_instance_of::<PyBlockingIOError>(py) || wants_read(py, raised)
}

/// Bytes of the window that were filled before the exception.
fn written(py: Python<'_>, raised: &PyErr, kind: Kind) -> Option<usize> {
    let value = raised.value(py);
    if raised.is_instance_of::<PyOSError>(py) {
        return value
            .getattr_opt(intern!(py, "characters_written"))
            .ok()??
            .extract()
            .ok();
    }
    if kind == Kind::Http {
        return value.getattr_opt(intern!(py, "partial")).ok()??.len().ok();
    }
    None
}

/// A TLS socket that needs more from its peer has nothing now.
fn wants_read(py: Python<'_>, raised: &PyErr) -> bool {
    if !raised.is_instance_of::<PyOSError>(py) {
        return false;
    }
    let class = imported(py, "ssl")
        .ok()
        .flatten()
        .and_then(|ssl| ssl.getattr(intern!(py, "SSLWantReadError")).ok());
    class.is_some_and(|class| raised.matches(py, class).unwrap_or(false))
}

/// The source's own error as a number: an OSError's errno, negated; -1 for everything else.
fn number(py: Python<'_>, raised: &PyErr) -> i32 {
    if !raised.is_instance_of::<PyOSError>(py) {
        return -1;
    }
    let errno = raised
        .value(py)
        .getattr(intern!(py, "errno"))
        .and_then(|errno| errno.extract::<i32>());
    errno.map_or(-1, |errno| errno.saturating_abs().saturating_neg().min(-1))
}
