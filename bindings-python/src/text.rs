//! A whole body as text: collected into blocks, and decoded from there.

use crate::body::Body;
use crate::buffer::PooledBuffer;
use crate::codec::{Decoding, Undecoded, Whole};
use crate::collect::{Call, with_collector};
use crate::collector::Collector;
use crate::drive::Watcher;
use crate::errors;
use crate::gather::{Gathered, Objects, gather, length_of};
use crate::options::{Around, Asked, Keywords, other_options};
use crate::pool::Pool;
use crate::source::{self, Kind};
use crate::strings;
use brimful_core::{self as core, Charset, Faults, Options, Pool as CorePool, Prefer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use smallvec::smallvec;

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
#[pyo3(signature = (source, *, encoding = None, errors = None, length = None, size_hint = None, end = None, limit = None,
    truncate = false, max_prealloc = None, first_block = None, max_window = None, pool = None, on_progress = None,
    collector = None),
    text_signature = "(source, *, encoding=None, errors='strict', **options)")]
#[expect(
    clippy::too_many_arguments,
    reason = "they are keyword arguments; a dictionary of them would have to be made for every call"
)]
pub(crate) fn collect_text<'py>(
    source: &Bound<'py, PyAny>,
    encoding: Option<&Bound<'py, PyAny>>,
    errors: Option<&Bound<'py, PyAny>>,
    length: Option<&Bound<'py, PyAny>>,
    size_hint: Option<&Bound<'py, PyAny>>,
    end: Option<&str>,
    limit: Option<&Bound<'py, PyAny>>,
    truncate: bool,
    max_prealloc: Option<&Bound<'py, PyAny>>,
    first_block: Option<&Bound<'py, PyAny>>,
    max_window: Option<&Bound<'py, PyAny>>,
    pool: Option<&Bound<'py, Pool>>,
    on_progress: Option<&Bound<'py, PyAny>>,
    collector: Option<&Bound<'py, Collector>>,
) -> PyResult<Bound<'py, PyString>> {
    let keywords = Keywords {
        length,
        size_hint,
        end,
        limit,
        truncate,
        max_prealloc,
        first_block,
        max_window,
    };
    let plain = pool.is_none() && on_progress.is_none() && collector.is_none() && keywords.is_default();
    if plain
        && encoding.is_none()
        && errors.is_none()
        && let Some(text) = one_object(source)
    {
        return Ok(text);
    }
    let decoding = Decoding::asked(encoding, errors)?;
    let kind = source::recognise(source, false)?;
    let decoding = decoding.or_of(source, kind)?;
    if collector.is_some() && (pool.is_some() || !keywords.is_default()) {
        return Err(other_options());
    }
    let collected = if plain {
        Collected::plainly_of(source, kind)?
    } else {
        let around = Around {
            pool: pool.cloned(),
            collector: collector.cloned(),
            on_progress: on_progress.cloned(),
        };
        Collected::of(source, kind, &around, true, || keywords.asked(Prefer::Pooled))?
    };
    collected.into_text(source.py(), &decoding, true)
}

/// What the longer way comes to for a `bytes` object, or a list of one, that is UTF-8 and within the process' limit, where
/// nothing is asked for; None for all else.
fn one_object<'py>(source: &Bound<'py, PyAny>) -> Option<Bound<'py, PyString>> {
    let of_list = match source.cast_exact::<PyList>() {
        Ok(list) if list.len() == 1 => Some(list.get_item(0).ok()?),
        _ => None,
    };
    let object = of_list.as_ref().unwrap_or(source).cast_exact::<PyBytes>().ok()?;
    if !Options::default().is_whole(&CorePool::process_default(), object.as_bytes().len() as u64) {
        return None;
    }
    strings::decode(source.py(), object.as_bytes(), None, Faults::Strict).ok()
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
    Objects(Objects<'py>),
}

impl<'py> Collected<'py> {
    /// Reads the source. `keeps`: whether chunks that an iterator gives may be kept as they are.
    pub(crate) fn of(
        source: &Bound<'py, PyAny>,
        kind: Kind,
        around: &Around<'py>,
        keeps: bool,
        asked: impl FnOnce() -> PyResult<Asked>,
    ) -> PyResult<Collected<'py>> {
        let watcher = around.on_progress.as_ref().map(Watcher::new).transpose()?;
        if let Some(collector) = &around.collector {
            return with_collector(source, collector, watcher, |_, turn| {
                Ok(Collected::Buffer(turn.finish()?))
            });
        }
        let (asked, pool) = (asked()?, around.engine_pool());
        asked.options.check().map_err(errors::invalid)?;
        let gathered = if watcher.is_some() {
            Gathered::Nothing // it is told what comes
        } else {
            // With a length the engine decides whether there is a call to the source at all, and a response may announce one.
            let asks =
                keeps && kind == Kind::Iterate && asked.options.length.is_none() && pool.options().budget.is_none();
            gather(source, kind, asks, |length| asked.options.is_whole(&pool, length))?
        };
        if let Gathered::Whole(objects) = gathered {
            return Ok(Collected::Objects(objects));
        }
        let call = Call::of_kind(source, kind, asked, pool, watcher)?;
        Collected::run(call, gathered)
    }

    /// The same where nothing was asked for, and where chunks may be kept: options are made only where they are needed.
    fn plainly_of(source: &Bound<'py, PyAny>, kind: Kind) -> PyResult<Collected<'py>> {
        let pool = CorePool::process_default();
        let (limit, budget) = (pool.options().limit, pool.options().budget);
        // A response may announce more than the limit (E14).
        let asks = budget.is_none() && (limit.is_none() || kind == Kind::Iterate);
        let options = Options::default();
        let gathered = gather(source, kind, asks, |length| options.is_whole(&pool, length))?;
        if let Gathered::Whole(objects) = gathered {
            return Ok(Collected::Objects(objects));
        }
        let asked = Keywords::default().asked(Prefer::Pooled)?;
        let call = Call::of_kind(source, kind, asked, pool, None)?;
        Collected::run(call, gathered)
    }

    fn run(mut call: Call<'_, 'py>, gathered: Gathered<'py>) -> PyResult<Collected<'py>> {
        match gathered {
            Gathered::Begun(begun) => begun.go_on(&mut call.reading),
            _ => {
                if let Some(object) = call.object_that_is_the_body()? {
                    return Ok(Collected::Objects(smallvec![object]));
                }
            }
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
                let received = self.len();
                let body = if carry { self.into_buffer(py).ok() } else { None };
                let partial = body.and_then(|body| Py::new(py, PooledBuffer::new(body)).ok());
                errors::encoding(py, &fault, received, partial)
            }
        })
    }

    fn len(&self) -> u64 {
        match self {
            Collected::Buffer(buffer) => buffer.len() as u64,
            Collected::Objects(objects) => length_of(objects),
        }
    }

    /// The body in blocks, which objects are copied into.
    pub(crate) fn into_buffer(self, py: Python<'py>) -> PyResult<core::Buffer> {
        let objects = match self {
            Collected::Buffer(buffer) => return Ok(buffer),
            Collected::Objects(objects) => objects,
        };
        let body = Body::new(&CorePool::process_default(), Options::default())?;
        let mut turn = body.enter(py)?;
        // Each goes when it is copied, so that the body is there once.
        let written = objects.into_iter().try_for_each(|object| turn.write(object.as_bytes()));
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
        let decoding = Decoding::asked(encoding, errors)?;
        let kind = source::recognise(source, true)?;
        decoding.or_of(source, kind).map(AsyncDecoding)
    }

    /// The text of a body that has come.
    fn text<'py>(&self, body: &Bound<'py, PooledBuffer>) -> PyResult<Bound<'py, PyString>> {
        Collected::Buffer(body.get().open()?).into_text(body.py(), &self.0, true)
    }
}
