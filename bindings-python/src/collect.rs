//! A whole body in one call.

use crate::buffer::PooledBuffer;
use crate::collector::{Body, Collector, finish_bytes, finish_pooled};
use crate::drive::{Failure, Reading, next_item};
use crate::errors;
use crate::options::{Asked, Keywords};
use crate::pool::Pool;
use crate::source::{self, Kind};
use brimful_core::{self as core, Prefer, Progress, Turn};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// Reads a whole body and returns it as bytes.
///
/// source: bytes-like; an http.client.HTTPResponse (urllib.request.urlopen gives one); an object with readinto() or
/// read(n); a callable f(window: memoryview) -> int | None that fills the window's start; or an iterable of bytes-like
/// chunks. 0, b"" or the end of the iterable is the end; None and BlockingIOError say that there is nothing more now.
///
/// length: the body has exactly this many bytes, and that is enforced; what HTTP announces is enforced by itself.
/// size_hint: about how many bytes are expected; never an error.
/// end: how the end of a body of known length is seen: "length" (never asks for a byte beyond it), "eof" (the source
/// must end too) or "auto" (the end too for files, iterables and bytes-like objects).
/// limit: the most bytes the body may have.
/// truncate: whether more than `limit` bytes are cut off instead of being an error.
/// max_prealloc: the most bytes of memory taken on a mere announcement (default 16 MiB).
/// first_block, max_window: bytes of the first block (default 16 KiB), and asked of the source at once (default 1 MiB).
/// pool: the Pool to take memory from (default: that of the process).
/// collector: a Collector that has what came, whatever happens; its own options hold.
///
/// Raises LimitError, ShortError, LongError, ContractError, NoProgressError, Cancelled with what came as .partial;
/// WouldBlock with .collector to go on with; MemoryError; TypeError for what is no source (text files are none) and
/// ValueError for options out of range; and whatever the source raises, unchanged.
#[pyfunction]
#[pyo3(signature = (source, *, length = None, size_hint = None, end = "auto", limit = None, truncate = false,
    max_prealloc = None, first_block = None, max_window = None, pool = None, collector = None))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
pub(crate) fn collect<'py>(
    source: &Bound<'py, PyAny>,
    length: Option<&Bound<'py, PyAny>>,
    size_hint: Option<&Bound<'py, PyAny>>,
    end: &str,
    limit: Option<&Bound<'py, PyAny>>,
    truncate: bool,
    max_prealloc: Option<&Bound<'py, PyAny>>,
    first_block: Option<&Bound<'py, PyAny>>,
    max_window: Option<&Bound<'py, PyAny>>,
    pool: Option<&Bound<'py, Pool>>,
    collector: Option<&Bound<'py, Collector>>,
) -> PyResult<Py<PyBytes>> {
    let py = source.py();
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
    if let Some(collector) = collector {
        return with_collector(source, &keywords, pool, collector, |turn| Ok(finish_bytes(py, turn)?));
    }
    if let (Ok(bytes), None, true) = (source.cast_exact::<PyBytes>(), pool, keywords.is_default()) {
        return Ok(bytes.clone().unbind()); // what the longer way comes to where nothing is asked for
    }
    let mut call = Call::new(source, &keywords, pool, Prefer::Exact)?;
    match call.object_that_is_the_body()? {
        Some(body) => Ok(body.unbind()),
        None => call.run(|reading, turn| match reading.whole(turn.info().length) {
            Some(whole) => Ok(whole.clone().unbind()),
            None => Ok(finish_bytes(py, turn)?),
        }),
    }
}

/// Reads a whole body into memory that is recycled, and returns it as a PooledBuffer: look at it in place with
/// memoryview(body), and release it, best by `with`.
///
/// Arguments and errors are those of collect().
#[pyfunction]
#[pyo3(signature = (source, *, length = None, size_hint = None, end = "auto", limit = None, truncate = false,
    max_prealloc = None, first_block = None, max_window = None, pool = None, collector = None))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
pub(crate) fn collect_pooled<'py>(
    source: &Bound<'py, PyAny>,
    length: Option<&Bound<'py, PyAny>>,
    size_hint: Option<&Bound<'py, PyAny>>,
    end: &str,
    limit: Option<&Bound<'py, PyAny>>,
    truncate: bool,
    max_prealloc: Option<&Bound<'py, PyAny>>,
    first_block: Option<&Bound<'py, PyAny>>,
    max_window: Option<&Bound<'py, PyAny>>,
    pool: Option<&Bound<'py, Pool>>,
    collector: Option<&Bound<'py, Collector>>,
) -> PyResult<Py<PooledBuffer>> {
    let py = source.py();
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
    match collector {
        Some(collector) => with_collector(source, &keywords, pool, collector, |turn| finish_pooled(py, turn)),
        None => Call::new(source, &keywords, pool, Prefer::Pooled)?.run(|_, turn| finish_pooled(py, turn)),
    }
}

/// One call of collect without a collector of the caller's.
struct Call<'a, 'py> {
    asked: Asked,
    pool: core::Pool,
    reading: Reading<'a, 'py>,
}

impl<'a, 'py> Call<'a, 'py> {
    fn new(
        source: &'a Bound<'py, PyAny>,
        keywords: &Keywords<'_, 'py>,
        pool: Option<&Bound<'py, Pool>>,
        prefer: Prefer,
    ) -> PyResult<Call<'a, 'py>> {
        let mut asked = keywords.asked(prefer)?;
        asked.options.check().map_err(errors::invalid)?;
        let kind = source::recognise(source)?;
        source::complete_options(&mut asked, kind, source)?;
        let pool = pool.map_or_else(core::Pool::process_default, |pool| pool.get().pool.clone());
        Ok(Call {
            asked,
            pool,
            reading: Reading::new(source, kind),
        })
    }

    /// A `bytes` object that the source is, or that it gives as its only chunk, is handed on as it is, as b"".join
    /// does. What a generator gave while that was found out goes first into the body.
    fn object_that_is_the_body(&mut self) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let source = self.reading.source;
        match self.reading.kind {
            Kind::Bytes => Ok(self.is_body(source)),
            Kind::Iterate => {
                if let Ok(list) = source.cast_exact::<PyList>() {
                    return if list.len() == 1 {
                        Ok(self.is_body(&list.get_item(0)?))
                    } else {
                        Ok(None)
                    };
                }
                if let Ok(tuple) = source.cast_exact::<PyTuple>() {
                    return if tuple.len() == 1 {
                        Ok(self.is_body(&tuple.get_item(0)?))
                    } else {
                        Ok(None)
                    };
                }
                // With a length the engine decides whether there is a call to the source at all.
                if self.asked.options.length.is_some() {
                    Ok(None)
                } else {
                    self.look_ahead()
                }
            }
            _ => Ok(None),
        }
    }

    fn look_ahead(&mut self) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let iterator = self.reading.source.try_iter()?;
        let first = next_item(Some(&iterator));
        let whole = first
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .and_then(|chunk| self.is_body(chunk));
        // Where the first chunk is too large already, the source is not called again (E15).
        let second = whole.is_some().then(|| next_item(Some(&iterator)));
        if let (Some(whole), Some(Ok(None))) = (whole, &second) {
            return Ok(Some(whole));
        }
        self.reading.iterator = Some(iterator);
        self.reading.seen = [Some(first), second];
        Ok(None)
    }

    fn is_body(&self, object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        let bytes = object.cast_exact::<PyBytes>().ok()?;
        self.asked
            .options
            .is_whole(&self.pool, bytes.as_bytes().len() as u64)
            .then(|| bytes.clone())
    }

    fn run<R>(mut self, finish: impl FnOnce(&Reading<'a, 'py>, &mut Turn<'_>) -> Result<R, Failure>) -> PyResult<R> {
        let py = self.reading.source.py();
        let body = Body::new(&self.pool, self.asked.options.clone())?;
        let mut turn = body.enter(py)?;
        let outcome = match self.reading.run(&body, &mut turn) {
            Ok(Progress::Complete) => finish(&self.reading, &mut turn),
            Ok(Progress::Pending | Progress::More) => {
                let info = turn.info();
                drop(turn);
                let collector = Collector::around(body, self.asked, self.reading.resume.take());
                return Err(errors::would_block(py, &info, Bound::new(py, collector)?.into_any()));
            }
            Err(failure) => Err(failure),
        };
        outcome.map_err(|failure| match failure {
            Failure::Raised(raised) => raised,
            Failure::Status(error) => {
                let info = turn.info();
                let partial = turn
                    .take_partial()
                    .ok()
                    .and_then(|part| Py::new(py, PooledBuffer::new(part)).ok());
                errors::of_status(py, error, &info, partial)
            }
        })
    }
}

/// A call with the caller's own collector, which keeps what came.
fn with_collector<R>(
    source: &Bound<'_, PyAny>,
    keywords: &Keywords<'_, '_>,
    pool: Option<&Bound<'_, Pool>>,
    collector: &Bound<'_, Collector>,
    finish: impl FnOnce(&mut Turn<'_>) -> Result<R, Failure>,
) -> PyResult<R> {
    let py = source.py();
    if pool.is_some() || !keywords.is_default() {
        return Err(PyTypeError::new_err(
            "with collector= the collector's own options and pool hold; give no others",
        ));
    }
    let body = collector.get().body();
    let outcome = match collector.get().run(source) {
        Ok(Progress::Complete) => body
            .enter(py)
            .map_err(Failure::Raised)
            .and_then(|mut turn| finish(&mut turn)),
        Ok(Progress::Pending | Progress::More) => {
            return Err(errors::would_block(py, &body.info(py), collector.clone().into_any()));
        }
        Err(failure) => Err(failure),
    };
    outcome.map_err(|failure| match failure {
        Failure::Raised(raised) => raised,
        Failure::Status(error) => errors::of_status(py, error, &body.info(py), None),
    })
}
