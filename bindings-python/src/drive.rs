//! The loops between a source in Python and a collector: the engine's window, the source's answer, and nothing of the
//! engine borrowed while Python code runs.

use crate::answer::{self, Answered};
use crate::chunk::Chunk;
use crate::collector::Body;
use crate::source::{self, Kind};
use crate::window::Exporter;
use brimful_core::{Answer, Error, Flow, Progress, State, Turn, Window};
use core::ptr;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString};
use pyo3::{PyTraverseError, PyVisit, ffi, intern};
use std::sync::Arc;

/// Why a body did not become complete.
pub(crate) enum Failure {
    /// The engine says so.
    Status(Error),
    /// The source raised this, or Python did; it comes out unchanged.
    Raised(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Status(error)
    }
}

impl From<PyErr> for Failure {
    fn from(raised: PyErr) -> Failure {
        Failure::Raised(raised)
    }
}

/// Where reading from an iterable stopped, so that going on neither repeats nor loses a chunk (E29).
pub(crate) struct Resume {
    source: Py<PyAny>,
    iterator: Py<PyIterator>,
    /// A chunk that no memory was had for, and where to go on in it (E30).
    rest: Option<(Py<PyAny>, usize)>,
}

impl Resume {
    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.source)?;
        visit.call(&self.iterator)?;
        self.rest.as_ref().map_or(Ok(()), |(chunk, _)| visit.call(chunk))
    }
}

/// What an iterator gives next: a chunk, the end, or an exception.
pub(crate) type Item<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// A source and how far reading from it has come.
pub(crate) struct Reading<'a, 'py> {
    pub(crate) source: &'a Bound<'py, PyAny>,
    pub(crate) kind: Kind,
    /// Where an earlier call stopped, and afterwards where this one did.
    pub(crate) resume: Option<Resume>,
    /// The iterator of this source, where the caller has made it already, and what it gave.
    pub(crate) iterator: Option<Bound<'py, PyIterator>>,
    pub(crate) seen: [Option<Item<'py>>; 2],
    /// The body's first chunk, where it is a `bytes` object: if it turns out to be the whole body, it is the result.
    pub(crate) first: Option<Bound<'py, PyAny>>,
}

impl<'a, 'py> Reading<'a, 'py> {
    pub(crate) fn new(source: &'a Bound<'py, PyAny>, kind: Kind) -> Reading<'a, 'py> {
        Reading {
            source,
            kind,
            resume: None,
            iterator: None,
            seen: [None, None],
            first: None,
        }
    }

    /// Reads until the body is complete, the source has nothing now, or something ends it.
    pub(crate) fn run(&mut self, body: &Arc<Body>, turn: &mut Turn<'_>) -> Result<Progress, Failure> {
        if turn.is_complete()? {
            // The source is not called for a body that is complete (E25), and none is there once it was taken.
            return if turn.info().state == State::Taken {
                Err(Error::State.into())
            } else {
                Ok(Progress::Complete)
            };
        }
        match self.kind {
            Kind::Bytes | Kind::Iterate | Kind::Text => self.push(turn),
            Kind::Read => self.pull(turn),
            Kind::Http | Kind::ReadInto | Kind::BuiltIn | Kind::Call => self.fill(body, turn),
        }
    }

    /// Windows that the source fills itself.
    fn fill(&mut self, body: &Arc<Body>, turn: &mut Turn<'_>) -> Result<Progress, Failure> {
        let py = self.source.py();
        let enforced = turn.options().length.is_some();
        let mut exporter = Exporter::new(py, body)?;
        loop {
            let Some(window) = turn.begin(self.kind != Kind::BuiltIn)? else {
                return Ok(Progress::Complete);
            };
            let (answer, raised) = turn.outside(|| self.show(&exporter, window, enforced));
            let flow = turn.answer(answer);
            let left = exporter.get().leave(turn);
            if let Some(progress) = settle(flow, raised)? {
                return Ok(progress);
            }
            if left {
                exporter = Exporter::new(py, body)?;
            }
        }
    }

    /// Shows one window to the source.
    fn show(&self, exporter: &Bound<'py, Exporter>, window: Window, enforced: bool) -> Answered {
        let py = self.source.py();
        let view = match Exporter::show(exporter, window) {
            Ok(view) => view,
            Err(raised) => return (Answer::PENDING, Some(raised)),
        };
        let end = ptr::null_mut::<ffi::PyObject>();
        // SAFETY: attached; the objects are alive, the list of arguments ends with NULL, and the answer is ours.
        let count = unsafe {
            let count = match self.kind {
                Kind::Call => ffi::PyObject_CallFunctionObjArgs(self.source.as_ptr(), view.as_ptr(), end),
                _ => ffi::PyObject_CallMethodObjArgs(
                    self.source.as_ptr(),
                    intern!(py, "readinto").as_ptr(),
                    view.as_ptr(),
                    end,
                ),
            };
            Bound::from_owned_ptr_or_err(py, count)
        };
        Exporter::take_back(view);
        let answered = match count {
            Ok(count) => answer::of_count(&count),
            Err(raised) => return answer::of_exception(py, raised, self.kind),
        };
        if self.kind == Kind::Http && !enforced && answered.0 == Answer::END {
            return self.end_of_response();
        }
        interrupted(py, answered)
    }

    /// A response that ends before its own count has, read into a body that has its own idea of a length.
    fn end_of_response(&self) -> Answered {
        let py = self.source.py();
        match source::missing(self.source) {
            Ok(None) => (Answer::END, None),
            Ok(Some(missing)) => {
                let raised = py
                    .import("http.client")
                    .and_then(|client| client.getattr("IncompleteRead"));
                let raised = raised.and_then(|class| class.call1((PyBytes::new(py, b""), missing)));
                answer::of_exception(py, raised.map_or_else(|failure| failure, PyErr::from_value), self.kind)
            }
            Err(raised) => answer::of_exception(py, raised, self.kind),
        }
    }

    /// Windows that this side fills from what `read(n)` gives.
    fn pull(&mut self, turn: &mut Turn<'_>) -> Result<Progress, Failure> {
        loop {
            let Some(window) = turn.begin(false)? else {
                return Ok(Progress::Complete);
            };
            let (answer, raised) = turn.outside(|| self.read(window));
            let flow = turn.answer(answer);
            if let Some(progress) = settle(flow, raised)? {
                return Ok(progress);
            }
        }
    }

    /// `read(n)` for one window.
    fn read(&mut self, window: Window) -> Answered {
        let py = self.source.py();
        // SAFETY: attached; the objects are alive, the list of arguments ends with NULL, and the answer is ours.
        let given = unsafe {
            let room = ffi::PyLong_FromSize_t(window.room);
            let room = Bound::from_owned_ptr_or_err(py, room);
            room.and_then(|room| {
                let (name, end) = (intern!(py, "read"), ptr::null_mut::<ffi::PyObject>());
                let given = ffi::PyObject_CallMethodObjArgs(self.source.as_ptr(), name.as_ptr(), room.as_ptr(), end);
                Bound::from_owned_ptr_or_err(py, given)
            })
        };
        let given = match given {
            Ok(given) => given,
            Err(raised) => return answer::of_exception(py, raised, self.kind),
        };
        if given.is_none() {
            return (Answer::PENDING, None);
        }
        if given.is_instance_of::<PyString>() {
            let message =
                "read() gave str, so this is a text file; open it in binary mode (\"rb\"), or use its .buffer";
            return answer::unknown(PyTypeError::new_err(message));
        }
        let chunk = match Chunk::of(&given) {
            Ok(chunk) => chunk,
            Err(raised) => return answer::unknown(raised),
        };
        let bytes = chunk.as_slice();
        // More than was asked for counts as a breach, of which nothing is taken.
        if bytes.len() <= window.room {
            land(window, bytes);
        }
        let answer = Answer::filled(bytes.len());
        drop(chunk);
        self.remember_first(&given);
        interrupted(py, (answer, None))
    }

    /// Chunks that the source gives as it likes. Each is asked for with a window out, so that the engine sees the call
    /// as it sees all others; what does not fit into the window is pushed.
    fn push(&mut self, turn: &mut Turn<'_>) -> Result<Progress, Failure> {
        let py = self.source.py();
        let mut rest = None;
        let iterator = match (self.kind, self.iterator.take(), self.resume.take()) {
            (_, Some(iterator), _) => Some(iterator),
            (Kind::Iterate, None, Some(resume)) if resume.source.is(self.source) => {
                rest = resume.rest;
                Some(resume.iterator.into_bound(py))
            }
            (Kind::Iterate, None, _) => Some(self.source.try_iter()?),
            _ => {
                self.seen = [Some(Ok(Some(self.source.clone()))), Some(Ok(None))];
                None
            }
        };
        let outcome = self.push_all(turn, iterator.as_ref(), &mut rest);
        if let Some(iterator) = iterator.filter(|_| turn.info().state == State::Open) {
            self.resume = Some(Resume {
                source: self.source.clone().unbind(),
                iterator: iterator.unbind(),
                rest,
            });
        }
        outcome
    }

    fn push_all(
        &mut self,
        turn: &mut Turn<'_>,
        iterator: Option<&Bound<'py, PyIterator>>,
        rest: &mut Option<(Py<PyAny>, usize)>,
    ) -> Result<Progress, Failure> {
        let py = self.source.py();
        loop {
            if let Some((chunk, from)) = rest.take() {
                let written = turn.write(&Chunk::of(chunk.bind(py))?.as_slice()[from..]);
                if matches!(written, Err(Error::NoMemory | Error::Budget)) {
                    *rest = Some((chunk, from));
                }
                written?;
            }
            let Some(window) = turn.begin(false)? else {
                return Ok(Progress::Complete);
            };
            let (answer, raised) = turn.outside(|| self.next(iterator, window, rest));
            let flow = turn.answer(answer);
            match settle(flow, raised) {
                // A body that is complete still sees what its last chunk has beyond it.
                Ok(Some(Progress::Complete)) if rest.is_some() => {}
                Ok(Some(progress)) => return Ok(progress),
                Ok(None) => {}
                Err(failure) => {
                    *rest = None;
                    return Err(failure);
                }
            }
        }
    }

    /// The next chunk that is not empty, its start in the window and the rest of it in `rest`.
    fn next(
        &mut self,
        iterator: Option<&Bound<'py, PyIterator>>,
        window: Window,
        rest: &mut Option<(Py<PyAny>, usize)>,
    ) -> Answered {
        let py = self.source.py();
        loop {
            let item = match self.seen.iter_mut().find_map(Option::take) {
                Some(item) => item,
                None => next_item(iterator),
            };
            let item = match item {
                Ok(Some(item)) => item,
                Ok(None) => return (Answer::END, None),
                Err(raised) => return answer::of_exception(py, raised, self.kind),
            };
            if item.is_none() {
                return (Answer::PENDING, None);
            }
            let chunk = match Chunk::of(&item) {
                Ok(chunk) => chunk,
                Err(raised) => return answer::unknown(raised),
            };
            let bytes = chunk.as_slice();
            if bytes.is_empty() {
                continue; // as b"".join does; the end of an iterable is its end
            }
            let (head, tail) = bytes.split_at(bytes.len().min(window.room));
            land(window, head);
            let (answer, tail) = (Answer::filled(head.len()), !tail.is_empty());
            drop(chunk);
            self.remember_first(&item);
            if tail {
                *rest = Some((item.unbind(), answer.filled));
            }
            return (answer, None);
        }
    }

    fn remember_first(&mut self, chunk: &Bound<'py, PyAny>) {
        if self.first.is_none() {
            self.first = Some(chunk.clone());
        }
    }

    /// The chunk that is the whole body of this length, where there is one.
    pub(crate) fn whole(&self, length: u64) -> Option<&Bound<'py, PyBytes>> {
        let first = self.first.as_ref()?.cast_exact::<PyBytes>().ok()?;
        (first.as_bytes().len() as u64 == length).then_some(first)
    }
}

/// What an iterator gives next.
pub(crate) fn next_item<'py>(iterator: Option<&Bound<'py, PyIterator>>) -> Item<'py> {
    match iterator {
        Some(iterator) => iterator.clone().next().transpose(),
        None => Ok(None),
    }
}

/// Copies bytes to the start of a window; at most its room.
fn land(window: Window, bytes: &[u8]) {
    debug_assert!(bytes.len() <= window.room);
    // SAFETY: the callers have made sure that the bytes fit; the window is writable and shown to nobody else, so it
    // does not overlap bytes that Python code can give.
    unsafe {
        window
            .pointer
            .as_ptr()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
}

/// Ctrl-C is seen between calls, also where no Python code runs in them. The bytes of the call count.
fn interrupted(py: Python<'_>, answered: Answered) -> Answered {
    let Err(raised) = py.check_signals() else {
        return answered;
    };
    let (failed, raised) = answer::of_exception(py, raised, Kind::Call);
    (
        Answer {
            filled: answered.0.filled,
            then: failed.then,
        },
        raised,
    )
}

/// What a call led to: the progress to return, None to go on, or the failure; an exception of the source only where
/// it is what ended the call, since bytes that came with it are taken first (E20).
fn settle(flow: Result<Flow, Error>, raised: Option<PyErr>) -> Result<Option<Progress>, Failure> {
    match (flow, raised) {
        (Err(Error::Source | Error::Contract), Some(raised)) => Err(Failure::Raised(raised)),
        (Err(error), _) => Err(Failure::Status(error)),
        (Ok(Flow::Stop(Progress::Pending)), Some(raised)) => Err(Failure::Raised(raised)),
        (Ok(Flow::Stop(progress)), _) => Ok(Some(progress)),
        (Ok(Flow::Again), _) => Ok(None),
    }
}
