//! A whole body in one call.

use crate::body::{Body, finish_bytes, finish_pooled};
use crate::buffer::PooledBuffer;
use crate::chunk::View;
use crate::collector::Collector;
use crate::drive::{Failure, Item, Reading, Watcher, next_item};
use crate::errors;
use crate::options::{Around, Asked, Keywords, engine_pool, other_options};
use crate::pool::Pool;
use crate::source::{self, Kind};
use brimful_core::{self as core, Prefer, Progress, Turn};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::sync::Arc;

/// Reads a whole body and returns it as bytes.
///
/// source: bytes-like; a response of requests, httpx or http.client (urllib.request.urlopen gives one); an object with
/// readinto(), recv_into() (a socket) or read(n); a callable f(window: memoryview) -> int | None that fills the window's
/// start; or an iterable of bytes-like chunks. 0, b"" or the end of the iterable is the end; None, BlockingIOError and
/// ssl.SSLWantReadError say that there is nothing more now.
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
/// on_progress: a callable f(received, expected) that is told between calls to the source how many bytes came and, where
/// the length is known, are expected (else None). What it raises comes out; what came stays in the collector.
/// collector: a Collector that has what came, whatever happens; its own options hold.
///
/// Raises LimitError, ShortError, LongError, ContractError, NoProgressError, Cancelled with what came as .partial;
/// WouldBlock with .collector to go on with; MemoryError; TypeError for what is no source (text files are none) and
/// ValueError for options out of range; and whatever the source raises, unchanged.
#[pyfunction]
#[pyo3(signature = (source, *, length = None, size_hint = None, end = None, limit = None, truncate = false,
    max_prealloc = None, first_block = None, max_window = None, pool = None, on_progress = None,
    collector = None),
    text_signature = "(source, *, length=None, size_hint=None, end='auto', limit=None, truncate=False, \
                      max_prealloc=None, first_block=None, max_window=None, pool=None, on_progress=None, collector=None)")]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
pub(crate) fn collect<'py>(
    source: &Bound<'py, PyAny>,
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
    let watcher = on_progress.map(Watcher::new).transpose()?;
    if let Some(collector) = collector {
        if pool.is_some() || !keywords.is_default() {
            return Err(other_options());
        }
        return with_collector(source, collector, watcher, |_, turn| Ok(finish_bytes(py, turn)?));
    }
    let plain = pool.is_none() && watcher.is_none() && keywords.is_default();
    if let (Ok(bytes), true) = (source.cast_exact::<PyBytes>(), plain) {
        return Ok(bytes.clone().unbind()); // what the longer way comes to where nothing is asked for
    }
    let mut call = Call::new(source, keywords.asked(Prefer::Exact)?, engine_pool(pool), watcher)?;
    match call.object_that_is_the_body()? {
        Some(body) => Ok(body.unbind()),
        None => {
            let body = call.body()?;
            call.run(&body, |reading, turn| match reading.whole(py, turn.info().length) {
                Some(whole) => Ok(whole.unbind()),
                None => Ok(finish_bytes(py, turn)?),
            })
        }
    }
}

/// Reads a whole body into memory that is recycled, and returns it as a PooledBuffer: look at it in place with
/// memoryview(body), and release it, best by `with`.
///
/// Arguments and errors are those of collect().
#[pyfunction]
#[pyo3(signature = (source, *, length = None, size_hint = None, end = None, limit = None, truncate = false,
    max_prealloc = None, first_block = None, max_window = None, pool = None, on_progress = None,
    collector = None),
    text_signature = "(source, *, length=None, size_hint=None, end='auto', limit=None, truncate=False, \
                      max_prealloc=None, first_block=None, max_window=None, pool=None, on_progress=None, collector=None)")]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
pub(crate) fn collect_pooled<'py>(
    source: &Bound<'py, PyAny>,
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
    let watcher = on_progress.map(Watcher::new).transpose()?;
    if let Some(collector) = collector {
        if pool.is_some() || !keywords.is_default() {
            return Err(other_options());
        }
        return with_collector(source, collector, watcher, |_, turn| finish_pooled(py, turn));
    }
    let call = Call::new(source, keywords.asked(Prefer::Pooled)?, engine_pool(pool), watcher)?;
    let body = call.body()?;
    call.run(&body, |_, turn| finish_pooled(py, turn))
}

/// Reads a whole body into `target`, any writable buffer that lies in one range, and returns how many bytes it has.
///
/// Options and errors are those of collect(). A body that does not fit raises LimitError; bytes of the target beyond the
/// body stay as they are. The source's windows lie in the target itself: they show its own bytes, and a view that the
/// source keeps of one is a view of the target. The target cannot be resized while it is read into, nor while a
/// collector, that of a WouldBlock too, holds a body that was not finished.
///
/// collector: a Collector that has nothing yet, or the one of a WouldBlock to go on with the same target.
/// Its finish() gives the number of bytes, take_partial() a copy, and reset() lets the target go.
///
/// Raises TypeError for a target that cannot be written to, BufferError for one that does not lie in one range.
#[pyfunction]
#[pyo3(signature = (source, target, **options))]
pub(crate) fn collect_into<'py>(
    source: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<usize> {
    let py = source.py();
    let options = options.map_or_else(|| PyDict::new(py), Bound::clone);
    let around = Around::taken_from(&options)?;
    let watcher = around.on_progress.as_ref().map(Watcher::new).transpose()?;
    let target = View::writable(target)?;
    if let Some(collector) = &around.collector {
        collector.get().aim(py, target)?;
        return with_collector(source, collector, watcher, |body, turn| Ok(body.finish_into(turn)?));
    }
    let asked = Keywords::asked_of("collect_into", &options, Prefer::Pooled)?;
    let call = Call::new(source, asked, around.engine_pool(), watcher)?;
    let body = call.body()?;
    body.lie_in(py, &mut body.enter(py)?, target)?;
    call.run(&body, |_, turn| Ok(body.finish_into(turn)?))
}

/// One call of collect without a collector of the caller's.
pub(crate) struct Call<'a, 'py> {
    source: &'a Bound<'py, PyAny>,
    asked: Asked,
    pool: core::Pool,
    pub(crate) reading: Reading,
}

impl<'a, 'py> Call<'a, 'py> {
    pub(crate) fn new(
        source: &'a Bound<'py, PyAny>,
        asked: Asked,
        pool: core::Pool,
        watcher: Option<Watcher>,
    ) -> PyResult<Call<'a, 'py>> {
        asked.options.check().map_err(errors::invalid)?;
        let kind = source::recognise(source, false)?;
        Call::of_kind(source, kind, asked, pool, watcher)
    }

    /// The same with options that were checked, for a source that was recognised.
    pub(crate) fn of_kind(
        source: &'a Bound<'py, PyAny>,
        kind: Kind,
        mut asked: Asked,
        pool: core::Pool,
        watcher: Option<Watcher>,
    ) -> PyResult<Call<'a, 'py>> {
        source::complete_options(&mut asked, kind, source, &pool)?;
        let mut reading = Reading::new(source, kind, false);
        reading.watcher = watcher;
        Ok(Call {
            source,
            asked,
            pool,
            reading,
        })
    }

    /// A `bytes` object that the source is, or that it gives as its only chunk, is handed on as it is, as b"".join
    /// does. What a generator gave while that was found out goes first into the body.
    pub(crate) fn object_that_is_the_body(&mut self) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let source = self.source;
        if self.reading.watcher.is_some() {
            return Ok(None); // it is told what comes
        }
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
        let iterator = self.source.try_iter()?;
        let first = next_item(&iterator);
        let whole = first
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .and_then(|chunk| self.is_body(chunk));
        // Where the first chunk is too large already, the source is not called again (E15).
        let second = whole.is_some().then(|| next_item(&iterator));
        if let (Some(whole), Some(Ok(None))) = (whole, &second) {
            return Ok(Some(whole));
        }
        let unbound =
            |item: PyResult<Option<Bound<'py, PyAny>>>| -> Item { item.map(|chunk| chunk.map(Bound::unbind)) };
        self.reading
            .begun(&iterator, Vec::new(), [Some(unbound(first)), second.map(unbound)]);
        Ok(None)
    }

    fn is_body(&self, object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        let bytes = object.cast_exact::<PyBytes>().ok()?;
        self.is_whole(bytes.as_bytes().len() as u64).then(|| bytes.clone())
    }

    fn is_whole(&self, length: u64) -> bool {
        self.asked.options.is_whole(&self.pool, length)
    }

    pub(crate) fn body(&self) -> PyResult<Arc<Body>> {
        Body::new(&self.pool, self.asked.options.clone())
    }

    pub(crate) fn run<R>(
        mut self,
        body: &Arc<Body>,
        finish: impl FnOnce(&Reading, &mut Turn<'_>) -> Result<R, Failure>,
    ) -> PyResult<R> {
        let py = self.source.py();
        let mut turn = body.enter(py)?;
        let outcome = match self.reading.run(py, body, &mut turn) {
            Ok(Progress::Complete) => finish(&self.reading, &mut turn),
            Ok(Progress::Pending | Progress::More) => {
                let info = turn.info();
                drop(turn);
                let collector = Collector::around(body.clone(), self.asked, self.reading.into_resume(info.state));
                let collector = Bound::new(py, collector)?.into_any();
                return Err(errors::would_block(
                    py,
                    &info,
                    collector,
                    "error.collector.read(source)",
                ));
            }
            Err(failure) => Err(failure),
        };
        outcome.map_err(|failure| raise_with_partial(py, body, &mut turn, failure))
    }
}

/// The exception for a failure where nobody else holds the body: it carries what came.
pub(crate) fn raise_with_partial(py: Python<'_>, body: &Body, turn: &mut Turn<'_>, failure: Failure) -> PyErr {
    match failure {
        Failure::Raised(raised) => raised,
        Failure::Status(error) => {
            let info = turn.info();
            let partial = body.take_partial(turn).ok();
            let partial = partial.and_then(|part| Py::new(py, PooledBuffer::new(part)).ok());
            errors::of_status(py, error, &info, partial)
        }
    }
}

/// A call with the caller's own collector, which keeps what came.
pub(crate) fn with_collector<'py, R>(
    source: &Bound<'py, PyAny>,
    collector: &Bound<'py, Collector>,
    watcher: Option<Watcher>,
    finish: impl FnOnce(&Body, &mut Turn<'_>) -> Result<R, Failure>,
) -> PyResult<R> {
    let py = source.py();
    let progress = collector.get().run(source, watcher);
    conclude(py, collector, progress, "error.collector.read(source)", finish)
}

/// What a call with the caller's own collector comes to.
pub(crate) fn conclude<'py, R>(
    py: Python<'py>,
    collector: &Bound<'py, Collector>,
    progress: Result<Progress, Failure>,
    go_on: &str,
    finish: impl FnOnce(&Body, &mut Turn<'_>) -> Result<R, Failure>,
) -> PyResult<R> {
    let body = collector.get().body();
    let outcome = match progress {
        Ok(Progress::Complete) => body.enter(py).map_err(Failure::Raised).and_then(|mut turn| {
            let result = finish(body, &mut turn)?;
            body.let_go(); // the caller's memory of an earlier call, which the result is a copy of
            Ok(result)
        }),
        Ok(Progress::Pending | Progress::More) => {
            let info = body.info(py);
            return Err(errors::would_block(py, &info, collector.clone().into_any(), go_on));
        }
        Err(failure) => Err(failure),
    };
    outcome.map_err(|failure| collector.get().raise(py, failure))
}
