//! A whole body from a file descriptor: read(2) into the engine's windows, with no Python code and without the GIL.

use crate::body::{Body, finish_bytes, finish_pooled};
use crate::buffer::PooledBuffer;
use crate::collect::{conclude, raise_with_partial};
use crate::collector::Collector;
use crate::drive::{Failure, Watcher};
use crate::errors;
use crate::file;
use crate::options::{Around, Asked, Keywords};
use brimful_core::{Descriptor, End, Error, Flow, Prefer, Progress, Source, Turn};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// The longest that signals are not looked at while data keeps coming. Taking the GIL back costs 0.1 us when nobody
/// wants it, and up to 5 ms when others do.
const UNWATCHED: Duration = Duration::from_millis(10);

/// How a call that has nothing more now is gone on with.
const GO_ON: &str = "collect_fd(fd, collector=error.collector) or collect_fd_pooled";

/// Reads a whole body from a file descriptor (an int, or an object with fileno()) and returns it as bytes. No Python
/// code runs meanwhile, and other threads do: the GIL is released.
///
/// Options are those of collect(). The descriptor stays open and stands behind the last byte that was read: one beyond
/// the limit, if the body is larger. Of a regular file the size is a hint; with a length the end is asked for too there,
/// and not for pipes and sockets.
///
/// Raises what collect() raises, OSError for errors of the descriptor, WouldBlock where a non-blocking descriptor has
/// nothing more now, and KeyboardInterrupt (or what another signal's handler raises) also while nothing comes; what came
/// is then in the collector given by collector=.
#[pyfunction]
#[pyo3(signature = (fd, **options))]
pub(crate) fn collect_fd<'py>(fd: &Bound<'py, PyAny>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyBytes>> {
    let py = fd.py();
    collect(fd, options, ("collect_fd", Prefer::Exact), |turn| {
        Ok(finish_bytes(py, turn)?)
    })
}

/// As collect_fd(), into memory that is recycled; returns a PooledBuffer.
#[pyfunction]
#[pyo3(signature = (fd, **options))]
pub(crate) fn collect_fd_pooled<'py>(
    fd: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PooledBuffer>> {
    let py = fd.py();
    collect(fd, options, ("collect_fd_pooled", Prefer::Pooled), |turn| {
        finish_pooled(py, turn)
    })
}

fn collect<'py, R>(
    fd: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
    (call, prefer): (&str, Prefer),
    finish: impl FnOnce(&mut Turn<'_>) -> Result<R, Failure>,
) -> PyResult<R> {
    let py = fd.py();
    let options = options.map_or_else(|| PyDict::new(py), Bound::clone);
    let around = Around::taken_from(&options)?;
    let mut watcher = around.on_progress.as_ref().map(Watcher::new).transpose()?;
    // SAFETY: attached, and the object is alive.
    let descriptor = unsafe { pyo3::ffi::PyObject_AsFileDescriptor(fd.as_ptr()) };
    if descriptor < 0 {
        return Err(PyErr::fetch(py));
    }
    if let Some(collector) = &around.collector {
        let mut turn = collector.get().complete_options(py, |asked, _| {
            complete_options(asked, descriptor);
            Ok(())
        })?;
        let progress = read(py, &mut turn, descriptor, &mut watcher);
        drop(turn);
        return conclude(py, collector, progress, GO_ON, |_, turn| finish(turn));
    }
    let asked = Keywords::asked_of(call, &options, prefer)?;
    let mut completed = asked.clone();
    complete_options(&mut completed, descriptor);
    let body = Body::new(&around.engine_pool(), completed.options)?;
    let mut turn = body.enter(py)?;
    let outcome = match read(py, &mut turn, descriptor, &mut watcher) {
        Ok(Progress::Complete) => finish(&mut turn),
        Ok(Progress::Pending | Progress::More) => {
            let info = turn.info();
            drop(turn);
            let collector = Bound::new(py, Collector::around(body, asked, None))?;
            return Err(errors::would_block(py, &info, collector.into_any(), GO_ON));
        }
        Err(failure) => Err(failure),
    };
    outcome.map_err(|failure| raise_with_partial(py, &body, &mut turn, failure))
}

/// A regular file has a size, and an end that can be asked for without waiting.
fn complete_options(asked: &mut Asked, descriptor: RawFd) {
    let is_file = file::size_of(descriptor).is_some();
    if asked.end_by_source {
        asked.options.end = if is_file { End::Eof } else { End::Length };
    }
    if asked.options.size_hint.is_none() && asked.options.length.is_none() {
        asked.options.size_hint = Descriptor::new(descriptor, &mut || false).size_hint();
    }
}

/// Reads until the body is complete, the descriptor has nothing now, or something ends it.
fn read(
    py: Python<'_>,
    turn: &mut Turn<'_>,
    descriptor: RawFd,
    watcher: &mut Option<Watcher>,
) -> Result<Progress, Failure> {
    turn.start_call();
    let mut raised = None;
    let each = watcher.is_some();
    loop {
        if let Some(watcher) = watcher {
            watcher.tell(py, turn)?;
        }
        py.check_signals()?;
        let read = py.detach(|| read_unwatched(turn, descriptor, each, &mut raised));
        if let Some(raised) = raised.take() {
            return Err(Failure::Raised(raised));
        }
        match read {
            Ok(None) => {}
            Ok(Some(progress)) => {
                if let Some(watcher) = watcher {
                    watcher.tell(py, turn)?;
                }
                return Ok(progress);
            }
            Err(Error::Source) => {
                let number = -turn.info().source_error;
                let text = std::io::Error::from_raw_os_error(number).to_string();
                let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                return Err(Failure::Raised(PyOSError::new_err((number, text))));
            }
            Err(error) => return Err(Failure::Status(error)),
        }
    }
}

/// Reads without the GIL. None: signals are to be looked at, or the progress is to be told; then again.
fn read_unwatched(
    turn: &mut Turn<'_>,
    descriptor: RawFd,
    each: bool,
    raised: &mut Option<PyErr>,
) -> Result<Option<Progress>, Error> {
    let mut interrupted = || {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(error) => {
                *raised = Some(error);
                true
            }
        })
    };
    let mut source = Descriptor::new(descriptor, &mut interrupted);
    let began = Instant::now();
    let mut first = true;
    loop {
        // A signal that came since they were looked at does not interrupt a read that begins after it.
        if !first && (each || began.elapsed() > UNWATCHED || !is_ready(descriptor)) {
            return Ok(None);
        }
        first = false;
        // SAFETY: read(2) writes what it claims to have read.
        let Some(window) = unsafe { turn.begin(false) }? else {
            return Ok(Some(Progress::Complete));
        };
        let answer = turn.outside(|| source.fill(window));
        if let Flow::Stop(progress) = turn.answer(answer)? {
            return Ok(Some(progress));
        }
    }
}

/// Whether a read would not wait.
fn is_ready(descriptor: RawFd) -> bool {
    let mut asked = libc::pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one descriptor, which the call reads and answers.
    unsafe { libc::poll(&raw mut asked, 1, 0) != 0 }
}
