//! The synchronous half of reading from an asynchronous source: it hands out what is to be awaited, and is given what
//! came of it. The loop that awaits is Python's (`brimful._async`).

use crate::body::lock;
use crate::chunk::View;
use crate::collect::raise_with_partial;
use crate::collector::Collector;
use crate::drive::{Failure, Given, Reading, Stop, Watcher};
use crate::errors;
use crate::options::{Around, Keywords};
use brimful_core::{Prefer, Progress};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pyo3::{PyTraverseError, PyVisit, intern};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// One asynchronous call.
#[pyclass(frozen, module = "brimful", name = "_Step")]
pub(crate) struct Step {
    collector: Py<Collector>,
    /// Whether the collector was made for this call, so that an error has to carry what came.
    own: bool,
    state: Mutex<State>,
    complete: AtomicBool,
    /// A chunk that is the whole body, and so the result as it is.
    whole: Mutex<Option<Py<PyBytes>>>,
}

enum State {
    /// Not begun.
    New(Py<PyAny>, Option<Watcher>),
    /// What it gave is awaited.
    Awaiting(Box<Reading>),
    /// It has ended, or a call is being made.
    Done,
}

impl Step {
    /// For a collector of the caller's.
    pub(crate) fn over(collector: Bound<'_, Collector>, source: &Bound<'_, PyAny>) -> Step {
        Step::made(collector, false, source, None)
    }

    fn made(collector: Bound<'_, Collector>, own: bool, source: &Bound<'_, PyAny>, watcher: Option<Watcher>) -> Step {
        Step {
            collector: collector.unbind(),
            own,
            state: Mutex::new(State::New(source.clone().unbind(), watcher)),
            complete: AtomicBool::new(false),
            whole: Mutex::new(None),
        }
    }

    /// The coroutine of this name that runs it.
    pub(crate) fn run<'py>(self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let module = py.import(intern!(py, "brimful._async"))?;
        module.call_method1(name, (Bound::new(py, self)?,))
    }

    fn advance<'py>(&self, py: Python<'py>, given: Option<Given<'py>>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let collector = self.collector.get();
        let body = collector.body();
        let state = std::mem::replace(&mut *lock(&self.state), State::Done);
        let (mut reading, mut turn, outcome) = match (state, given) {
            (State::New(source, watcher), None) => {
                let (mut reading, mut turn) = collector.begin(source.bind(py), true, watcher)?;
                let outcome = match reading.start(py, &mut turn) {
                    Ok(None) => reading.advance(py, body, &mut turn, None),
                    Ok(Some(progress)) => Ok(Stop::At(progress)),
                    Err(failure) => Err(failure),
                };
                (reading, turn, outcome)
            }
            (State::Awaiting(reading), Some(given)) => {
                let mut reading = *reading;
                let mut turn = body.come_back(py);
                let outcome = reading.advance(py, body, &mut turn, Some(given));
                (reading, turn, outcome)
            }
            _ => {
                return Err(PyRuntimeError::new_err(
                    "an asynchronous call is not where it was said to be",
                ));
            }
        };
        let outcome = match outcome {
            Ok(Stop::Await(awaitable)) => {
                *lock(&self.state) = State::Awaiting(Box::new(reading));
                body.go_away(turn);
                return Ok(Some(awaitable));
            }
            Ok(Stop::At(progress)) => {
                self.complete.store(progress == Progress::Complete, Ordering::Release);
                *lock(&self.whole) = reading.whole(py, turn.info().length).map(Bound::unbind);
                Ok(None)
            }
            Err(failure) => Err(failure),
        };
        // Where the failure came before its answer, no window stays out.
        reading.abandon(py, body, &mut turn);
        let state = turn.info().state;
        let outcome = outcome.map_err(|failure| match failure {
            Failure::Status(_) if self.own => raise_with_partial(py, body, &mut turn, failure),
            failure => {
                drop(turn);
                collector.raise(py, failure)
            }
        });
        collector.keep(reading, state);
        outcome
    }
}

#[pymethods]
impl Step {
    /// For a collecting call: `result` is "bytes", "pooled", "into", or what is made of a body, "text" or "json".
    #[new]
    fn new(
        source: &Bound<'_, PyAny>,
        result: &str,
        target: Option<&Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Step> {
        let py = source.py();
        let around = Around::taken_from(options)?;
        let watcher = around.on_progress.as_ref().map(Watcher::new).transpose()?;
        let target = target.map(View::writable).transpose()?;
        let (own, collector) = match &around.collector {
            Some(collector) => (false, collector.clone()),
            None => {
                let (call, prefer) = match result {
                    "bytes" => ("collect_async", Prefer::Exact),
                    "into" => ("collect_into_async", Prefer::Pooled),
                    "text" => ("collect_text_async", Prefer::Pooled),
                    "json" => ("collect_json_async", Prefer::Pooled),
                    _ => ("collect_pooled_async", Prefer::Pooled),
                };
                let asked = Keywords::asked_of(call, options, prefer)?;
                (true, Bound::new(py, Collector::create(&around.engine_pool(), asked)?)?)
            }
        };
        if let Some(target) = target {
            collector.get().aim(py, target)?;
        }
        Ok(Step::made(collector, own, source, watcher))
    }

    /// Begins: what is to be awaited, or None when it has stopped.
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.advance(py, None)
    }

    /// Goes on with what an await gave.
    fn send<'py>(&self, py: Python<'py>, given: Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.advance(py, Some(Given::Object(given)))
    }

    /// Goes on with what an await raised.
    fn throw<'py>(&self, py: Python<'py>, raised: Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.advance(py, Some(Given::Raised(PyErr::from_value(raised))))
    }

    /// Whether the body is complete.
    #[getter]
    fn complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// The result of this call. Raises WouldBlock where the source had nothing more.
    fn finish(&self, py: Python<'_>, result: &str) -> PyResult<Py<PyAny>> {
        let collector = self.collector.get();
        if !self.complete() {
            let info = collector.body().info(py);
            let collector = self.collector.bind(py).clone().into_any();
            return Err(errors::would_block(
                py,
                &info,
                collector,
                "await error.collector.read_async(source)",
            ));
        }
        match lock(&self.whole).take() {
            Some(whole) if self.own && result == "bytes" => Ok(whole.into_any()),
            // Also from a collector over the caller's memory, which gives the number of bytes else.
            _ if matches!(result, "text" | "json") => collector.finish_pooled(py).map(Py::into_any),
            _ => collector.finish_as(py, result == "bytes"),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.collector)?;
        match self.state.try_lock().as_deref() {
            Ok(State::New(source, _)) => visit.call(source),
            Ok(State::Awaiting(reading)) => reading.traverse(&visit),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.give_up();
    }
}

impl Step {
    /// Whoever awaited it has gone: the collector gets its window back.
    fn give_up(&self) {
        let state = std::mem::replace(&mut *lock(&self.state), State::Done);
        let State::Awaiting(mut reading) = state else { return };
        Python::attach(|py| {
            let collector = self.collector.get();
            let mut turn = collector.body().come_back(py);
            reading.abandon(py, collector.body(), &mut turn);
            let state = turn.info().state;
            drop(turn);
            collector.keep(*reading, state);
        });
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.give_up();
    }
}
