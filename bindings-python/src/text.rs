//! A whole body as text: collected into blocks, and decoded from there.

use crate::body::Body;
use crate::buffer::PooledBuffer;
use crate::codec::{Decoding, Undecoded, Whole};
use crate::collect::{Call, with_collector};
use crate::drive::Watcher;
use crate::errors;
use crate::options::{Around, Keywords};
use brimful_core::{self as core, Charset, Options, Pool, Prefer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

/// Reads a whole body and returns it as text, made from the blocks that the body came into, without a bytes object of the
/// whole.
///
/// encoding: a label of the Encoding Standard ("utf-8", "windows-1252", "shift_jis"), in any case, also in quotes, or the
/// name of a codec of Python's; one that Python's codecs know means Python's codec, so that latin-1 is not windows-1252. A
/// byte order mark overrides nothing that was given, and is dropped where it matches. None: what the Content-Type of a
/// response of requests, httpx, aiohttp, http.client or a request of Starlette says; else the byte order mark's (UTF-8,
/// UTF-32LE, UTF-16LE, UTF-16BE); else UTF-8.
/// errors: "strict", "replace" (U+FFFD), or any error handler of Python's where Python has a codec for the encoding.
/// Sources and other options are those of collect(); limits, lengths and sizes count bytes.
///
/// Raises EncodingError with .offset, in bytes, where bytes are no text; .partial is the whole body then, also with
/// collector=. UnknownEncodingError (a LookupError and ValueError) for a name that names no encoding of text, LookupError
/// for an unknown error handler, both before the source is asked. Else what collect() raises.
#[pyfunction]
#[pyo3(signature = (source, *, encoding = None, errors = None, **options),
    text_signature = "(source, *, encoding=None, errors='strict', **options)")]
pub(crate) fn collect_text<'py>(
    source: &Bound<'py, PyAny>,
    encoding: Option<&Bound<'py, PyAny>>,
    errors: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyString>> {
    let decoding = Decoding::asked(encoding, errors)?.or_of(source, false)?;
    Collected::of("collect_text", source, options)?.into_text(source.py(), &decoding, true)
}

/// The charset that a Content-Type header names, for collect_text(encoding=...): as it is written there, without quotes.
/// None where the header has none, where it names no encoding of text, and where the header cannot be parsed.
///
/// content_type: the header's value as str or bytes; None is no header.
#[pyfunction]
#[pyo3(signature = (content_type, /))]
pub(crate) fn charset(content_type: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = content_type.py();
    let found = if content_type.is_none() {
        None
    } else if let Ok(header) = content_type.cast::<PyString>() {
        Charset::of_content_type(header.to_str().unwrap_or_default())
    } else if let Ok(header) = content_type.cast::<PyBytes>() {
        Charset::of_content_type(header.as_bytes())
    } else {
        let message = format!(
            "a Content-Type must be str, bytes or None, not {}",
            content_type.get_type()
        );
        return Err(PyTypeError::new_err(message));
    };
    match found {
        Some(charset) if Decoding::names_text(py, &charset)? => Ok(Some(charset.to_string())),
        _ => Ok(None),
    }
}

/// A whole body, for results that are made of it.
pub(crate) enum Collected<'py> {
    Buffer(core::Buffer),
    /// Objects of the source's that are the body, one after the other: nothing was copied.
    Objects(Vec<Bound<'py, PyBytes>>),
}

impl<'py> Collected<'py> {
    /// Reads the source. `call` is the function that was called.
    pub(crate) fn of(
        call: &str,
        source: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Collected<'py>> {
        let around = options.map_or_else(|| Ok(Around::default()), Around::taken_from)?;
        let watcher = around.on_progress.as_ref().map(Watcher::new).transpose()?;
        if let Some(collector) = &around.collector {
            return with_collector(source, collector, watcher, |_, turn| {
                Ok(Collected::Buffer(turn.finish()?))
            });
        }
        let asked = match options {
            Some(options) => Keywords::asked_of(call, options, Prefer::Pooled),
            None => Keywords::default().asked(Prefer::Pooled),
        }?;
        let mut call = Call::new(source, asked, around.engine_pool(), watcher)?;
        if let Some(objects) = call.objects_that_are_the_body()? {
            return Ok(Collected::Objects(objects));
        }
        let body = call.body()?;
        call.run(&body, |_, turn| Ok(Collected::Buffer(turn.finish()?)))
    }

    /// The body as text. `carry`: where it is none, the exception carries the body.
    pub(crate) fn into_text(self, py: Python<'py>, decoding: &Decoding, carry: bool) -> PyResult<Bound<'py, PyString>> {
        let whole = match &self {
            Collected::Buffer(buffer) => Whole::Buffer(buffer),
            Collected::Objects(objects) => Whole::Objects(objects),
        };
        decoding.decode(py, &whole).map_err(|undecoded| match undecoded {
            Undecoded::Raised(raised) => raised,
            Undecoded::Fault(fault) => {
                let received = self.len() as u64;
                let body = if carry { self.into_buffer(py).ok() } else { None };
                let partial = body.and_then(|body| Py::new(py, PooledBuffer::new(body)).ok());
                errors::encoding(py, &fault, received, partial)
            }
        })
    }

    fn len(&self) -> usize {
        match self {
            Collected::Buffer(buffer) => buffer.len(),
            Collected::Objects(objects) => objects.iter().map(|object| object.as_bytes().len()).sum(),
        }
    }

    /// The body in blocks, which objects are copied into.
    pub(crate) fn into_buffer(self, py: Python<'py>) -> PyResult<core::Buffer> {
        let objects = match self {
            Collected::Buffer(buffer) => return Ok(buffer),
            Collected::Objects(objects) => objects,
        };
        let body = Body::new(&Pool::process_default(), Options::default())?;
        let mut turn = body.enter(py)?;
        let written = objects.iter().try_for_each(|object| turn.write(object.as_bytes()));
        let buffer = written.and_then(|()| turn.end()).and_then(|()| turn.finish());
        buffer.map_err(|error| errors::of_status(py, error, &turn.info(), None))
    }
}

/// How an awaited body is to become text: made, and its names found right or wrong, before it is read.
#[pyclass(frozen, module = "brimful", name = "_Decoding")]
pub(crate) struct AsyncDecoding(Decoding);

#[pymethods]
impl AsyncDecoding {
    #[new]
    fn new(
        source: &Bound<'_, PyAny>,
        encoding: Option<&Bound<'_, PyAny>>,
        errors: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<AsyncDecoding> {
        Decoding::asked(encoding, errors)?
            .or_of(source, true)
            .map(AsyncDecoding)
    }

    /// The text of a body that has come.
    fn text<'py>(&self, body: &Bound<'py, PooledBuffer>) -> PyResult<Bound<'py, PyString>> {
        Collected::Buffer(body.get().open()?).into_text(body.py(), &self.0, true)
    }
}
