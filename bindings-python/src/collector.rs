//! The collector as a Python object: one body that arrives step by step.

use crate::body::{Body, finish_bytes, finish_pooled, lock};
use crate::buffer::PooledBuffer;
use crate::chunk::{Chunk, View};
use crate::drive::{Failure, Reading, Resume, Watcher};
use crate::errors;
use crate::info::Info;
use crate::options::{Asked, Keywords, engine_pool};
use crate::pool::{Pool, integer, size};
use crate::source;
use crate::step::Step;
use crate::window::Exporter;
use brimful_core::{self as core, Error, Prefer, Progress, State, Turn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyTuple};
use pyo3::{PyTraverseError, PyVisit, ffi};
use std::sync::{Arc, Mutex};

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

    /// A new collector.
    pub(crate) fn create(pool: &core::Pool, asked: Asked) -> PyResult<Collector> {
        let body = Body::new(pool, asked.options.clone())?;
        Ok(Collector::around(body, asked, None))
    }

    pub(crate) fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// As `read`, for callers that make their own exceptions of failures.
    pub(crate) fn run(&self, source: &Bound<'_, PyAny>, watcher: Option<Watcher>) -> Result<Progress, Failure> {
        let py = source.py();
        let (mut reading, mut turn) = self.begin(source, false, watcher)?;
        let outcome = reading.run(py, &self.body, &mut turn);
        let state = turn.info().state;
        drop(turn);
        self.keep(reading, state);
        outcome
    }

    /// Makes ready to read from this source, with a turn.
    pub(crate) fn begin(
        &self,
        source: &Bound<'_, PyAny>,
        awaits: bool,
        watcher: Option<Watcher>,
    ) -> PyResult<(Reading, Turn<'_>)> {
        let kind = source::recognise(source, awaits)?;
        let mut reading = Reading::new(source, kind, awaits);
        reading.watcher = watcher;
        let turn = self.complete_options(source.py(), |asked, pool| {
            source::complete_options(asked, kind, source, pool)
        })?;
        reading.go_on(lock(&self.resume).take());
        Ok((reading, turn))
    }

    /// A turn, with the options of a body that nothing was asked for yet completed by what its source says of itself.
    pub(crate) fn complete_options(
        &self,
        py: Python<'_>,
        complete: impl FnOnce(&mut Asked, &core::Pool) -> PyResult<()>,
    ) -> PyResult<Turn<'_>> {
        let mut asked = lock(&self.asked).clone();
        let options = &asked.options;
        let given = (options.length, options.end, options.size_hint);
        complete(&mut asked, self.body.pool())?;
        let mut turn = self.body.enter(py)?;
        let info = turn.info();
        // A body of length 0 is complete at once as long as nothing says that its end is asked for too.
        let fresh = info.state == State::Open || info.state == State::Complete && given.0 == Some(0);
        let untouched = fresh && info.received == 0 && info.source_calls == 0;
        if untouched && given != (asked.options.length, asked.options.end, asked.options.size_hint) {
            asked.options.cancel = Some(self.body.cancel_object());
            turn.reset(Some(asked.options)).map_err(errors::invalid)?;
        }
        Ok(turn)
    }

    /// Keeps where reading stopped, for a later call that goes on.
    pub(crate) fn keep(&self, reading: Reading, state: State) {
        let resume = reading.into_resume(state);
        let before = std::mem::replace(&mut *lock(&self.resume), resume);
        drop(before);
    }

    /// Lets the body lie in the caller's memory.
    pub(crate) fn aim(&self, py: Python<'_>, target: View) -> PyResult<()> {
        let mut turn = self.body.enter(py)?;
        self.body.lie_in(py, &mut turn, target)
    }

    /// The complete body: a number of bytes where they are in the caller's own memory, else bytes or a PooledBuffer.
    pub(crate) fn finish_as(&self, py: Python<'_>, bytes: bool) -> PyResult<Py<PyAny>> {
        let mut turn = self.body.enter(py)?;
        let result = if self.body.is_into() {
            let length = self.body.finish_into(&mut turn).map_err(Failure::Status);
            length.and_then(|length| Ok(length.into_pyobject(py).map_err(PyErr::from)?.into_any().unbind()))
        } else if bytes {
            finish_bytes(py, &mut turn).map(Py::into_any).map_err(Failure::Status)
        } else {
            finish_pooled(py, &mut turn).map(Py::into_any)
        };
        drop(turn);
        result.map_err(|failure| self.raise(py, failure))
    }

    /// The complete body as a PooledBuffer, wherever it lies.
    pub(crate) fn finish_pooled(&self, py: Python<'_>) -> PyResult<Py<PooledBuffer>> {
        let mut turn = self.body.enter(py)?;
        let result = finish_pooled(py, &mut turn);
        drop(turn);
        self.body.let_go();
        result.map_err(|failure| self.raise(py, failure))
    }

    /// The exception for a failure.
    pub(crate) fn raise(&self, py: Python<'_>, failure: Failure) -> PyErr {
        match failure {
            Failure::Raised(raised) => raised,
            // The caller holds the collector, and so the partial.
            Failure::Status(error) => errors::of_status(py, error, &self.body.info(py), None),
        }
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
            && !exporter.get().leave(&self.body, turn)
        {
            lock(&self.out).exporter = Some(exporter);
        }
        answered
    }
}

#[pymethods]
impl Collector {
    #[new]
    #[pyo3(signature = (result = "bytes", *, length = None, size_hint = None, end = None, limit = None,
        truncate = false, max_prealloc = None, first_block = None, max_window = None, pool = None),
    text_signature = "(result='bytes', *, length=None, size_hint=None, end='auto', limit=None, truncate=False, \
                      max_prealloc=None, first_block=None, max_window=None, pool=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn new(
        result: &str,
        length: Option<&Bound<'_, PyAny>>,
        size_hint: Option<&Bound<'_, PyAny>>,
        end: Option<&str>,
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
        Collector::create(&engine_pool(pool), asked)
    }

    /// Reads from a source (see collect()) until the body is complete: True, or the source has nothing more now: False;
    /// the same call then goes on later.
    ///
    /// Raises what collect() raises, and the source's own exceptions unchanged; what came before can be taken with
    /// take_partial(). Where the first source says how long it is (HTTP), that length is enforced.
    fn read(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self.run(source, None) {
            Ok(progress) => Ok(progress == Progress::Complete),
            Err(failure) => Err(self.raise(py, failure)),
        }
    }

    /// As read(), for sources whose calls are awaited too: callables, objects with readinto() or read(n) that give
    /// something to await (asyncio's StreamReader), asynchronous iterables, responses of aiohttp and of httpx's
    /// AsyncClient, Starlette's requests. To be awaited.
    ///
    /// While it is awaited, all other calls raise StateError, info() and cancel() aside. When the await is cancelled,
    /// the collector has what came before, and the same call goes on (but for a generator, which ends by it).
    fn read_async<'py>(slf: &Bound<'py, Self>, source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Step::over(slf.clone(), source).run(slf.py(), "read")
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
        let mut turn = self.body.enter(py)?;
        // What is out stays known until the engine has answered: a call that is refused changes nothing.
        let (view, exporter) = {
            let out = lock(&self.out);
            let view = out.view.as_ref().map(|view| view.clone_ref(py));
            (view, out.exporter.as_ref().map(|exporter| exporter.clone_ref(py)))
        };
        let exporter = match exporter {
            Some(exporter) => exporter,
            None => Exporter::new(py, &self.body)?.unbind(),
        };
        let was_out = turn.info().state == State::WindowOut;
        let window = turn
            .reserve(want, true)
            .map_err(|error| errors::of_status(py, error, &turn.info(), None))?;
        let view = match view {
            // The same view again, unless its user has released it, which its length says; slices of it may live on.
            Some(view) if was_out && view.bind(py).len().is_ok() => view,
            _ => Exporter::show(exporter.bind(py), window)?.unbind(),
        };
        let out = Out {
            view: Some(view.clone_ref(py)),
            exporter: Some(exporter),
        };
        let before = std::mem::replace(&mut *lock(&self.out), out);
        drop(before);
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

    /// Whether no more is wanted. Raises what ended the body, so that a loop over it ends. From inside the source, and
    /// while read_async() is awaited, more is: False.
    #[getter]
    fn complete(&self, py: Python<'_>) -> PyResult<bool> {
        match self.body.look_in().and_then(|turn| turn.is_complete()) {
            Err(Error::Busy) => Ok(false),
            complete => complete.map_err(|error| self.raise(py, error.into())),
        }
    }

    /// Sees a cancel as a call to a source does, which ends the body (E24), for bytes that come by reserve() from
    /// elsewhere.
    fn _see_cancel(&self, py: Python<'_>) -> PyResult<()> {
        if !self.body.cancel_object().is_triggered() {
            return Ok(());
        }
        // SAFETY: a body that is cancelled gives no window, and one that it gave would be a cleared one.
        self.with(py, |turn| unsafe { turn.begin(true) }.map(|_| ()))
    }

    /// Copies what has arrived so far from `offset` on into a writable buffer; returns the number of bytes.
    fn copy(&self, offset: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>) -> PyResult<usize> {
        let offset = size("offset", Some(offset))?.unwrap_or(0);
        let mut target = View::of(target, ffi::PyBUF_WRITABLE)?;
        // From inside the source there is nothing to look at (E26).
        Ok(match self.body.look_in() {
            Ok(turn) => turn.copy(offset, target.as_mut_slice()),
            Err(_) => 0,
        })
    }

    /// What has arrived so far as a tuple of read-only memoryviews, without a copy. Release them before the body goes
    /// on: until then calls that would change it raise BufferError.
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Ok(turn) = self.body.look_in() else {
            return Ok(PyTuple::empty(py)); // from inside the source there is nothing to look at (E26)
        };
        let views = turn
            .segments()
            .map(|segment| Exporter::show_arrived(py, &self.body, segment));
        PyTuple::new(py, views.collect::<PyResult<Vec<_>>>()?)
    }

    /// The complete body: bytes or a PooledBuffer, as `result` says; the number of bytes where they went into the caller's
    /// own memory. Raises StateError while it is not complete.
    fn finish(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.finish_as(py, self.prefer == Prefer::Exact)
    }

    /// What has come so far as a PooledBuffer, after any error and before the end too. The collector then has nothing
    /// more; reset() lets it begin again.
    fn take_partial(&self, py: Python<'_>) -> PyResult<Py<PooledBuffer>> {
        let buffer = self.with(py, |turn| self.body.take_partial(turn))?;
        Py::new(py, PooledBuffer::new(buffer))
    }

    /// Statistics of the body as an Info. Works from inside the source too.
    fn info(&self, py: Python<'_>) -> Info {
        self.body.info(py).into()
    }

    /// Asks the body to stop, from any thread: seen before and after the next call to the source, which then raises
    /// Cancelled. It does not interrupt a call that blocks.
    fn cancel(&self) {
        self.body.cancel();
    }

    /// Begins again for another body. Without options those of before hold; with any, all others are the defaults.
    /// The kind of result and the pool stay. A cancel() from before is forgotten.
    #[pyo3(signature = (**options))]
    fn reset(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let asked = match options {
            Some(options) => Keywords::asked_of("reset", options, self.prefer)?,
            None => lock(&self.asked).clone(),
        };
        asked.options.check().map_err(errors::invalid)?;
        let mut turn = self.body.enter(py)?;
        if turn.info().state == State::WindowOut {
            // SAFETY: nothing was filled.
            let handed_back = self.retire(py, &mut turn, |turn| unsafe { turn.commit(0) });
            handed_back.map_err(|error| errors::of_status(py, error, &turn.info(), None))?;
        }
        self.body.restart(&mut turn, asked.options.clone())?;
        drop(turn);
        *lock(&self.asked) = asked;
        let before = lock(&self.resume).take();
        drop(before);
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // An exporter that waits for the next window, and that nobody else has, holds the body too.
        let waits = self.out.try_lock().is_ok_and(|out| {
            // SAFETY: attached, as the garbage collector is, and the exporter is alive.
            let alone = |exporter: &Py<Exporter>| unsafe { ffi::Py_REFCNT(exporter.as_ptr()) } == 1;
            out.view.is_none() && out.exporter.as_ref().is_some_and(alone)
        });
        self.body.traverse(1 + usize::from(waits), &visit)?;
        match self.resume.try_lock() {
            Ok(resume) => resume.as_ref().map_or(Ok(()), |resume| resume.traverse(&visit)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let before = lock(&self.resume).take();
        drop(before);
        let out = std::mem::take(&mut *lock(&self.out));
        drop(out);
        if Arc::strong_count(&self.body) == 1 {
            self.body.clear();
        }
    }
}
