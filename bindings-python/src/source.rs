//! What kind of source an object is. Exact built-in types first, then a memory of the types seen before: an attribute
//! look-up that misses costs more than joining a whole small body (measured: 300 to 390 ns).

use crate::options::Asked;
use brimful_core::End;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple, PyType};
use pyo3::{ffi, intern};
use std::sync::Mutex;

/// How a source is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It is the body: bytes-like.
    Bytes,
    /// An `http.client.HTTPResponse`, by `readinto`; its own count of what is to come is enforced.
    Http,
    /// `readinto(window)`.
    ReadInto,
    /// `readinto(window)` of a built-in type, which shows the window to no Python code (E49).
    BuiltIn,
    /// `read(n)`.
    Read,
    /// `source(window)`.
    Call,
    /// An iterable of bytes-like chunks.
    Iterate,
    /// A text file, which is refused.
    Text,
}

/// The kind of this source.
///
/// Raises TypeError for what is none, and for text files.
pub(crate) fn recognise(source: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let kind = if source.is_exact_instance_of::<PyBytes>() || source.is_exact_instance_of::<PyByteArray>() {
        Kind::Bytes
    } else if source.is_exact_instance_of::<PyList>() || source.is_exact_instance_of::<PyTuple>() {
        Kind::Iterate
    } else {
        let of_type = source.get_type();
        match seen_before(&of_type) {
            Some(kind) => kind,
            None => examine(source, of_type)?,
        }
    };
    if kind == Kind::Text {
        let message = format!(
            "a source must give bytes, and {} is a text file; open it in binary mode (\"rb\"), or use its .buffer",
            source.get_type()
        );
        return Err(PyTypeError::new_err(message));
    }
    Ok(kind)
}

/// The kinds of types that were examined, a small table in which a type may push out another. It holds the types, so
/// that the address of one that has gone is not taken for it.
static SEEN: Mutex<[Option<Seen>; SLOTS]> = Mutex::new([const { None }; SLOTS]);
const SLOTS: usize = 64;
type Seen = (Py<PyType>, Kind);

fn slot(of_type: &Bound<'_, PyType>) -> usize {
    // Types are aligned to 16 or more and far apart; the upper part of a product mixes all bits.
    (of_type.as_ptr().addr() >> 4).wrapping_mul(0x9E37_79B9) >> 16 & (SLOTS - 1)
}

fn seen_before(of_type: &Bound<'_, PyType>) -> Option<Kind> {
    // Never waited for: when it is taken, the type is just examined again.
    let seen = SEEN.try_lock().ok()?;
    seen[slot(of_type)]
        .as_ref()
        .filter(|(known, _)| known.is(of_type))
        .map(|&(_, kind)| kind)
}

fn remember(of_type: Bound<'_, PyType>, kind: Kind) {
    let slot = slot(&of_type);
    let pushed_out = SEEN
        .try_lock()
        .ok()
        .and_then(|mut seen| seen[slot].replace((of_type.unbind(), kind)));
    drop(pushed_out); // may run Python code, which is not done under the lock
}

fn examine(source: &Bound<'_, PyAny>, of_type: Bound<'_, PyType>) -> PyResult<Kind> {
    if let Some(kind) = kind_of_type(source, &of_type)? {
        remember(of_type, kind);
        return Ok(kind);
    }
    // What only this object has, or what it hands on from another by __getattr__ (tempfile's files).
    if has(source, "readinto")? {
        return Ok(Kind::ReadInto);
    }
    if has(source, "read")? {
        return Ok(Kind::Read);
    }
    let kind = if source.is_callable() {
        Kind::Call
    } else if has(&of_type, "__iter__")? || has(&of_type, "__getitem__")? {
        Kind::Iterate
    } else {
        return Err(not_a_source(source, &of_type));
    };
    if !has(&of_type, "__getattr__")? {
        remember(of_type, kind);
    }
    Ok(kind)
}

/// The kind where the type alone decides it.
fn kind_of_type(source: &Bound<'_, PyAny>, of_type: &Bound<'_, PyType>) -> PyResult<Option<Kind>> {
    let py = source.py();
    if of_type.is_subclass_of::<PyString>()? {
        return Err(not_a_source(source, of_type));
    }
    // SAFETY: attached, and the object is alive.
    if unsafe { ffi::PyObject_CheckBuffer(source.as_ptr()) } != 0 {
        return Ok(Some(Kind::Bytes));
    }
    if is_http_response(of_type)? {
        return Ok(Some(Kind::Http));
    }
    let io = io_types(py)?;
    if of_type.is_subclass(io.text.bind(py))? {
        return Ok(Some(Kind::Text));
    }
    if io.built_in.iter().any(|known| known.is(of_type)) {
        return Ok(Some(Kind::BuiltIn));
    }
    if has(of_type, "readinto")? {
        return Ok(Some(Kind::ReadInto));
    }
    Ok(has(of_type, "read")?.then_some(Kind::Read))
}

/// No import of it: whoever has such a response has imported the module.
fn is_http_response(of_type: &Bound<'_, PyType>) -> PyResult<bool> {
    match imported(of_type.py(), "http.client")? {
        Some(client) => of_type.is_subclass(&client.getattr(intern!(of_type.py(), "HTTPResponse"))?),
        None => Ok(false),
    }
}

/// A module that somebody has imported already.
pub(crate) fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let module = modules.call_method1(intern!(py, "get"), (name,))?;
    Ok(Some(module).filter(|module| !module.is_none()))
}

struct IoTypes {
    base: Py<PyAny>,
    text: Py<PyAny>,
    built_in: [Py<PyAny>; 2],
}

fn io_types(py: Python<'_>) -> PyResult<&IoTypes> {
    static TYPES: PyOnceLock<IoTypes> = PyOnceLock::new();
    TYPES.get_or_try_init(py, || {
        let io = py.import("io")?;
        let get = |name| io.getattr(name).map(Bound::unbind);
        Ok(IoTypes {
            base: get("IOBase")?,
            text: get("TextIOBase")?,
            built_in: [get("BytesIO")?, get("FileIO")?],
        })
    })
}

fn has(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    Ok(object.getattr_opt(name)?.is_some_and(|value| !value.is_none()))
}

fn not_a_source(source: &Bound<'_, PyAny>, of_type: &Bound<'_, PyType>) -> PyErr {
    const EXPECTED: &str = "expected bytes-like, an object with readinto() or read(), a callable f(window) -> int | None, \
                            or an iterable of bytes-like chunks";
    let hint = if source.is_instance_of::<PyString>() {
        "; encode text first"
    } else if has(of_type, "__aiter__").unwrap_or(false) {
        "; an asynchronous iterable has to be read with `async for` and written to a Collector"
    } else if has(of_type, "recv_into").unwrap_or(false) {
        "; give a socket's recv_into, or its makefile(\"rb\")"
    } else {
        ""
    };
    PyTypeError::new_err(format!("{of_type} is not a source: {EXPECTED}{hint}"))
}

/// Completes the options by what the source says of itself: the length that HTTP announced, how its end is seen, and
/// how large a bytes-like object is.
pub(crate) fn complete_options(asked: &mut Asked, kind: Kind, source: &Bound<'_, PyAny>) -> PyResult<()> {
    let options = &mut asked.options;
    match kind {
        Kind::Http if options.length.is_none() => options.length = announced(source)?,
        Kind::Bytes if options.size_hint.is_none() => options.size_hint = source.len().ok().map(|length| length as u64),
        _ => {}
    }
    if asked.end_by_source && options.length.is_some() {
        let asks_for_the_end = match kind {
            Kind::Bytes | Kind::Iterate => true,
            Kind::ReadInto | Kind::BuiltIn | Kind::Read => is_file(source)?,
            Kind::Http | Kind::Call | Kind::Text => false,
        };
        options.end = if asks_for_the_end { End::Eof } else { End::Length };
    }
    Ok(())
}

/// What an HTTP response has still to give, where it was announced: not for chunked ones, nor for those that end with
/// their connection.
fn announced(response: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = response.py();
    if response.getattr(intern!(py, "chunked"))?.is_truthy()? {
        return Ok(None);
    }
    Ok(response.getattr(intern!(py, "length"))?.extract().ok())
}

/// What an HTTP response that has just said it ends has still to give. Its `readinto` comes back short without a word
/// when the connection is cut, where its `read` raises.
pub(crate) fn missing(response: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    announced(response).map(|length| length.filter(|&length| length > 0))
}

/// A file has an end of its own, which is asked for; a stream (socket, pipe, terminal) may stay quiet instead.
fn is_file(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = source.py();
    if !source.is_instance(io_types(py)?.base.bind(py))? {
        return Ok(false);
    }
    source.call_method0(intern!(py, "seekable"))?.is_truthy()
}
