//! The collector as a Python object: one body that arrives step by step.

use crate::buffer::{PooledBuffer, WORTH_DETACHING};
use crate::chunk::{Chunk, View};
use crate::drive::{Failure, Reading, Resume};
use crate::errors;
use crate::info::Info;
use crate::memory;
use crate::options::{Asked, Keywords, new_cancel};
use crate::pool::{Pool, integer, size};
use crate::source::{self, Kind};
use crate::window::Exporter;
use brimful_core::{self as core, Cancel, Error, Handle, Prefer, Progress, State, Turn};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView, PyTuple};
use pyo3::{PyTraverseError, PyVisit, ffi};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A body that arrives, held by its Python object and by whoever shows its memory.
pub(crate) struct Body {
    handle: Handle,
    cancel: Mutex<Cancel>,
    /// Views of what has arrived; while one is alive the body does not move.
    pub(crate) arrived: AtomicUsize,
}

impl Body {
    pub(crate) fn new(pool: &core::Pool, mut options: core::Options) -> PyResult<Arc<Body>> {
        let cancel = new_cancel()?;
        options.cancel = Some(cancel.clone());
        let collector = core::Collector::new(pool, options).map_err(errors::invalid)?;
        Ok(Arc::new(Body {
            handle: Handle::new(collector),
            cancel: Mutex::new(cancel),
            arrived: AtomicUsize::new(0),
        }))
    }

    /// The turn, for calls that may change or move the body.
    pub(crate) fn enter(&self, py: Python<'_>) -> PyResult<Turn<'_>> {
        let turn = self
            .handle
            .enter()
            .map_err(|error| errors::of_status(py, error, &self.info(py), None))?;
        if self.arrived.load(Ordering::Acquire) > 0 {
            return Err(PyBufferError::new_err(
                "views of segments() are alive; release them before the body goes on",
            ));
        }
        Ok(turn)
    }

    pub(crate) fn info(&self, py: Python<'_>) -> core::Info {
        loop {
            if let Ok(info) = self.handle.look(core::Collector::info) {
                return info;
            }
            // Another thread is inside. It may need the GIL to come out again.
            py.detach(std::thread::yield_now);
        }
    }
}

/// The result as bytes; large copies let other threads run.
pub(crate) fn finish_bytes(py: Python<'_>, turn: &mut Turn<'_>) -> Result<Py<PyBytes>, Error> {
    let large = turn.info().length >= WORTH_DETACHING as u64;
    let exact = if large {
        py.detach(|| turn.finish_exact())
    } else {
        turn.finish_exact()
    }?;
    let (_, _, token) = exact.into_raw_parts();
    // SAFETY: exact results of this binding come from the bytes memory, are written, and the count is handed over.
    Ok(unsafe { memory::take(py, token) })
}

/// The result as a pooled buffer.
pub(crate) fn finish_pooled(py: Python<'_>, turn: &mut Turn<'_>) -> Result<Py<PooledBuffer>, Failure> {
    let buffer = turn.finish()?;
    Ok(Py::new(py, PooledBuffer::new(buffer))?)
}

/// A window that is out: the view that was given, and the exporter, which serves the next window too.
#[derive(Default)]
struct Out {
    view: Option<Py<PyMemoryView>>,
    exporter: Option<Py<Exporter>>,
}

/// Collects one body step by step. It can stop at any byte and go on later, and it loses nothing.
///
/// result: what finish() gives, "bytes" or "pooled" (a PooledBuffer). The other options are those of collect().
///
/// Bytes come by read(source), by write(chunk) and end(), or by reserve() and commit(n). Threads: one at a time; a
/// call that finds another one inside, also from within its own source, raises StateError. cancel() may be called from
/// any thread at any time, info() from inside the source too.
#[pyclass(frozen, module = "brimful")]
pub(crate) struct Collector {
    body: Arc<Body>,
    prefer: Prefer,
    /// The options as they were given, before any source completed them.
    asked: Mutex<Asked>,
    out: Mutex<Out>,
    resume: Mutex<Option<Resume>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Collector {
    /// A collector around a body that has begun elsewhere.
    pub(crate) fn around(body: Arc<Body>, asked: Asked, resume: Option<Resume>) -> Collector {
        Collector {
            body,
            prefer: asked.options.prefer,
            asked: Mutex::new(asked),
            out: Mutex::default(),
            resume: Mutex::new(resume),
        }
    }

    pub(crate) fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// As `read`, for callers that make their own exceptions of failures.
    pub(crate) fn run(&self, source: &Bound<'_, PyAny>) -> Result<Progress, Failure> {
        let py = source.py();
        let kind = source::recognise(source)?;
        let mut asked = lock(&self.asked).clone();
        let given = (asked.options.length, asked.options.end, asked.options.size_hint);
        source::complete_options(&mut asked, kind, source)?;
        let mut turn = self.body.enter(py)?;
        let info = turn.info();
        let untouched = info.state == State::Open && info.received == 0 && info.source_calls == 0;
        if untouched && given != (asked.options.length, asked.options.end, asked.options.size_hint) {
            asked.options.cancel = Some(lock(&self.body.cancel).clone());
            turn.reset(Some(asked.options)).map_err(errors::invalid)?;
        }
        let mut reading = Reading::new(source, kind);
        if kind == Kind::Iterate {
            reading.resume = lock(&self.resume).take();
        }
        let outcome = reading.run(&self.body, &mut turn);
        drop(turn);
        let before = std::mem::replace(&mut *lock(&self.resume), reading.resume.take());
        drop(before);
        outcome
    }

    /// The exception for a status where the caller holds the collector, and so the partial.
    fn raise(&self, py: Python<'_>, error: Error) -> PyErr {
        errors::of_status(py, error, &self.body.info(py), None)
    }

    /// Calls the engine, with its errors as exceptions.
    fn with<R>(&self, py: Python<'_>, call: impl FnOnce(&mut Turn<'_>) -> Result<R, Error>) -> PyResult<R> {
        let mut turn = self.body.enter(py)?;
        let result = call(&mut turn);
        result.map_err(|error| errors::of_status(py, error, &turn.info(), None))
    }

    /// Takes the view of the window that is out back, and gives the engine's answer to it.
    fn retire(
        &self,
        py: Python<'_>,
        turn: &mut Turn<'_>,
        answer: impl FnOnce(&mut Turn<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let out = std::mem::take(&mut *lock(&self.out));
        if let Some(view) = out.view {
            Exporter::take_back(view.into_bound(py));
        }
        let answered = answer(turn);
        if let Some(exporter) = out.exporter
            && !exporter.get().leave(turn)
        {
            lock(&self.out).exporter = Some(exporter);
        }
        answered
    }
}

#[pymethods]
impl Collector {
    #[new]
    #[pyo3(signature = (result = "bytes", *, length = None, size_hint = None, end = "auto", limit = None,
        truncate = false, max_prealloc = None, first_block = None, max_window = None, pool = None))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn new(
        result: &str,
        length: Option<&Bound<'_, PyAny>>,
        size_hint: Option<&Bound<'_, PyAny>>,
        end: &str,
        limit: Option<&Bound<'_, PyAny>>,
        truncate: bool,
        max_prealloc: Option<&Bound<'_, PyAny>>,
        first_block: Option<&Bound<'_, PyAny>>,
        max_window: Option<&Bound<'_, PyAny>>,
        pool: Option<&Bound<'_, Pool>>,
    ) -> PyResult<Collector> {
        let prefer = match result {
            "bytes" => Prefer::Exact,
            "pooled" => Prefer::Pooled,
            other => {
                return Err(PyValueError::new_err(format!(
                    "result must be \"bytes\" or \"pooled\", not {other:?}"
                )));
            }
        };
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
        let asked = keywords.asked(prefer)?;
        let pool = pool.map_or_else(core::Pool::process_default, |pool| pool.get().pool.clone());
        let body = Body::new(&pool, asked.options.clone())?;
        Ok(Collector::around(body, asked, None))
    }

    /// Reads from a source (see collect()) until the body is complete: True, or the source has nothing more now: False;
    /// the same call then goes on later.
    ///
    /// Raises what collect() raises, and the source's own exceptions unchanged; what came before can be taken with
    /// take_partial(). Where the first source says how long it is (HTTP), that length is enforced.
    fn read(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self.run(source) {
            Ok(progress) => Ok(progress == Progress::Complete),
            Err(Failure::Raised(raised)) => Err(raised),
            Err(Failure::Status(error)) => Err(self.raise(py, error)),
        }
    }

    /// Takes a whole bytes-like chunk and returns its length in bytes, so that a collector is a writable file.
    ///
    /// Raises LimitError or LongError for a chunk that goes beyond the limit or the length.
    fn write(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<usize> {
        let chunk = Chunk::of(chunk)?;
        let bytes = chunk.as_slice();
        self.with(py, |turn| turn.write(bytes))?;
        Ok(bytes.len())
    }

    /// Says that the source has ended. Raises ShortError where a length was announced and not reached.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |turn| turn.end())
    }

    /// A writable memoryview to be filled from its start and handed back by commit(). `want` is a wish in bytes. While
    /// a window is out the same one is given again.
    #[pyo3(signature = (want = None))]
    fn reserve(&self, py: Python<'_>, want: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyMemoryView>> {
        let want = usize::try_from(size("want", want)?.unwrap_or(0)).unwrap_or(usize::MAX);
        let Out { view, exporter } = std::mem::take(&mut *lock(&self.out));
        let exporter = match exporter {
            Some(exporter) => exporter,
            None => Exporter::new(py, &self.body)?.unbind(),
        };
        let mut turn = self.body.enter(py)?;
        let was_out = turn.info().state == State::WindowOut;
        let window = turn
            .reserve(want, true)
            .map_err(|error| errors::of_status(py, error, &turn.info(), None))?;
        let view = match view {
            // The same view again, unless its user has released it.
            Some(view) if was_out && exporter.get().is_kept() => view,
            _ => Exporter::show(exporter.bind(py), window)?.unbind(),
        };
        *lock(&self.out) = Out {
            view: Some(view.clone_ref(py)),
            exporter: Some(exporter),
        };
        Ok(view)
    }

    /// Takes the window back with `n` bytes at its start; 0 is nothing, and not the end. The view of reserve() is
    /// released.
    ///
    /// Raises ContractError when `n` is no number of bytes that fit into the window.
    fn commit(&self, py: Python<'_>, n: &Bound<'_, PyAny>) -> PyResult<()> {
        // What is no possible count is passed on as one that is surely too large.
        let filled = integer(n)?.extract::<usize>().unwrap_or(usize::MAX);
        self.with(py, |turn| {
            self.retire(py, turn, |turn| {
                // SAFETY: windows of this binding's reserve are cleared ones.
                unsafe { turn.commit(filled) }
            })
        })
    }

    /// Whether no more is wanted. Raises what ended the body, so that a loop over it ends.
    #[getter]
    fn complete(&self, py: Python<'_>) -> PyResult<bool> {
        let turn = self.body.handle.enter();
        turn.and_then(|turn| turn.is_complete())
            .map_err(|error| self.raise(py, error))
    }

    /// Copies what has arrived so far from `offset` on into a writable buffer; returns the number of bytes.
    fn copy(&self, offset: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>) -> PyResult<usize> {
        let offset = size("offset", Some(offset))?.unwrap_or(0);
        let mut target = View::of(target, ffi::PyBUF_WRITABLE)?;
        // From inside the source there is nothing to look at (E26).
        Ok(self
            .body
            .handle
            .with(|collector| collector.copy(offset, target.as_mut_slice()))
            .unwrap_or(0))
    }

    /// What has arrived so far as a tuple of read-only memoryviews, without a copy. Release them before the body goes
    /// on: until then calls that would change it raise BufferError.
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Ok(turn) = self.body.handle.enter() else {
            return Ok(PyTuple::empty(py)); // from inside the source there is nothing to look at (E26)
        };
        let views = turn
            .segments()
            .map(|segment| Exporter::show_arrived(py, &self.body, segment));
        PyTuple::new(py, views.collect::<PyResult<Vec<_>>>()?)
    }

    /// The complete body: bytes or a PooledBuffer, as `result` says. Raises StateError while it is not complete.
    fn finish(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let mut turn = self.body.enter(py)?;
        let result = match self.prefer {
            Prefer::Exact => finish_bytes(py, &mut turn).map(Py::into_any).map_err(Failure::Status),
            Prefer::Pooled => finish_pooled(py, &mut turn).map(Py::into_any),
        };
        result.map_err(|failure| match failure {
            Failure::Raised(raised) => raised,
            Failure::Status(error) => errors::of_status(py, error, &turn.info(), None),
        })
    }

    /// What has come so far as a PooledBuffer, after any error and before the end too. The collector then has nothing
    /// more; reset() lets it begin again.
    fn take_partial(&self, py: Python<'_>) -> PyResult<Py<PooledBuffer>> {
        let buffer = self.with(py, |turn| turn.take_partial())?;
        Py::new(py, PooledBuffer::new(buffer))
    }

    /// Statistics of the body as an Info. Works from inside the source too.
    fn info(&self, py: Python<'_>) -> Info {
        self.body.info(py).into()
    }

    /// Asks the body to stop, from any thread: seen before and after the next call to the source, which then raises
    /// Cancelled. It does not interrupt a call that blocks.
    fn cancel(&self) {
        lock(&self.body.cancel).trigger();
    }

    /// Begins again for another body. Without options those of before hold; with any, all others are the defaults.
    /// The kind of result and the pool stay. A cancel() from before is forgotten.
    #[pyo3(signature = (**options))]
    fn reset(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let asked = match options {
            Some(options) => Keywords::asked_of(options, self.prefer)?,
            None => lock(&self.asked).clone(),
        };
        asked.options.check().map_err(errors::invalid)?;
        let cancel = new_cancel()?;
        let options = core::Options {
            cancel: Some(cancel.clone()),
            ..asked.options.clone()
        };
        let mut turn = self.body.enter(py)?;
        if turn.info().state == State::WindowOut {
            // SAFETY: nothing was filled.
            let handed_back = self.retire(py, &mut turn, |turn| unsafe { turn.commit(0) });
            handed_back.map_err(|error| errors::of_status(py, error, &turn.info(), None))?;
        }
        turn.reset(Some(options)).map_err(errors::invalid)?;
        drop(turn);
        *lock(&self.asked) = asked;
        *lock(&self.body.cancel) = cancel;
        let before = lock(&self.resume).take();
        drop(before);
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.resume.try_lock() {
            Ok(resume) => resume.as_ref().map_or(Ok(()), |resume| resume.traverse(visit)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let before = lock(&self.resume).take();
        drop(before);
    }
}
