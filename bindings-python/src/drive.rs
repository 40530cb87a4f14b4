//! The loop between a source in Python and a collector: the engine's window, the source's answer, and nothing of the
//! engine borrowed while Python code runs. Where a source's call gives something to await, the loop is left with the
//! window out, and entered again with what came of it.

use crate::answer::{self, Answered};
use crate::body::Body;
use crate::chunk::Chunk;
use crate::source::{self, Kind, Opened, Way};
use crate::window::Exporter;
use brimful_core::{Answer, Error, Flow, Progress, State, Then, Turn, Window};
use core::ptr;
use pyo3::exceptions::{PyException, PyStopAsyncIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyIterator, PyMemoryView, PyString};
use pyo3::{PyTraverseError, PyVisit, ffi, intern};
use std::sync::Arc;
use std::vec;

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
    iterator: Py<PyAny>,
    rest: Option<Rest>,
}

/// A chunk of which not all fitted into its window, or that no memory was had for (E30), and where to go on in it.
type Rest = (Py<PyAny>, usize);

impl Resume {
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.source)?;
        visit.call(&self.iterator)?;
        self.rest.as_ref().map_or(Ok(()), |(chunk, _)| visit.call(chunk))
    }
}

/// A chunk that nobody changes.
pub(crate) type Bytes = Py<PyBytes>;

/// What an iterator gives next: a chunk, the end, or an exception.
pub(crate) type Item = PyResult<Option<Py<PyAny>>>;

/// What a call to the source came to.
pub(crate) enum Given<'py> {
    Object(Bound<'py, PyAny>),
    End,
    Raised(PyErr),
    /// The call was not made, because of this.
    NotAsked(PyErr),
}

/// Why the loop was left.
pub(crate) enum Stop<'py> {
    At(Progress),
    /// Its result is the answer to the window that is out.
    Await(Bound<'py, PyAny>),
}

/// Called between calls to the source with what was received and what is expected.
pub(crate) struct Watcher {
    callback: Py<PyAny>,
    told: u64,
}

impl Watcher {
    /// Raises TypeError for what cannot be called.
    pub(crate) fn new(callback: &Bound<'_, PyAny>) -> PyResult<Watcher> {
        if !callback.is_callable() {
            let message = format!(
                "on_progress must be a callable f(received, expected), not {}",
                callback.get_type()
            );
            return Err(PyTypeError::new_err(message));
        }
        let callback = callback.clone().unbind();
        Ok(Watcher { callback, told: 0 })
    }

    /// Tells what has come since the last time. What it raises comes out, and the body stays as it is.
    pub(crate) fn tell(&mut self, py: Python<'_>, turn: &mut Turn<'_>) -> PyResult<()> {
        let info = turn.info();
        if info.received == self.told {
            return Ok(());
        }
        self.told = info.received;
        turn.outside(|| self.callback.bind(py).call1((info.received, info.expected)))
            .map(|_| ())
    }
}

/// A source and how far reading from it has come.
pub(crate) struct Reading {
    source: Py<PyAny>,
    pub(crate) kind: Kind,
    /// Whether what its calls give may be awaited.
    awaits: bool,
    pub(crate) watcher: Option<Watcher>,
    opened: Option<Opened>,
    /// What the iterator gave before the body was there: chunks first.
    gathered: vec::IntoIter<Bytes>,
    seen: [Option<Item>; 2],
    rest: Option<Rest>,
    /// The body's first chunk: if it turns out to be a `bytes` object and the whole body, it is the result.
    first: Option<Py<PyAny>>,
    exporter: Option<Py<Exporter>>,
    /// The window that is out, and the view of it that its source has.
    window: Option<Window>,
    view: Option<Py<PyMemoryView>>,
    /// Whether the body has a length, by which an early end is found out.
    enforced: bool,
    pace: Pace,
}

/// Keeps a loop that may run no Python code from holding up the rest of the process.
#[derive(Default)]
pub(crate) struct Pace {
    /// Work since other threads were last let run: calls, and 64 KiB that came count as one more.
    unyielded: usize,
}

impl Pace {
    /// So many bytes more have come.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.unyielded += bytes / (64 << 10);
    }

    /// Between two calls to the source: Ctrl-C is seen also where no Python code runs in them, and others get their turn.
    pub(crate) fn between(&mut self, py: Python<'_>) -> PyResult<()> {
        // SAFETY: attached.
        if unsafe { ffi::PyErr_CheckSignals() } != 0 {
            return Err(PyErr::fetch(py));
        }
        self.unyielded += 1;
        if self.unyielded > YIELDS_AFTER {
            self.unyielded = 0;
            py.detach(|| {});
        }
        Ok(())
    }
}

/// After so much work, which takes some 10 us to 1 ms, other threads are let run (0.1 us when none wants to): a source
/// that is all C, an endless `itertools` among them, would hold them up until its end, and the one that cancels too.
const YIELDS_AFTER: usize = 64;

// SAFETY: the window is a position in the body's own memory, looked at by whoever has the body's turn.
unsafe impl Send for Reading {}

impl Reading {
    pub(crate) fn new(source: &Bound<'_, PyAny>, kind: Kind, awaits: bool) -> Reading {
        Reading {
            source: source.clone().unbind(),
            kind,
            awaits,
            watcher: None,
            opened: None,
            gathered: Vec::new().into_iter(),
            seen: [None, None],
            rest: None,
            first: None,
            exporter: None,
            window: None,
            view: None,
            enforced: false,
            pace: Pace::default(),
        }
    }

    /// Goes on where an earlier call stopped, if that was in the same source.
    pub(crate) fn go_on(&mut self, resume: Option<Resume>) {
        if let Some(resume) = resume.filter(|resume| resume.source.is(&self.source)) {
            self.opened = Some(self.kind.opened_again(resume.iterator, self.awaits));
            self.rest = resume.rest;
        }
    }

    /// An iterator that was made already, and what it gave.
    pub(crate) fn begun(&mut self, iterator: &Bound<'_, PyIterator>, gathered: Vec<Bytes>, seen: [Option<Item>; 2]) {
        self.opened = Some(
            self.kind
                .opened_again(iterator.clone().into_any().unbind(), self.awaits),
        );
        self.gathered = gathered.into_iter();
        self.seen = seen;
    }

    /// Where a later call can go on.
    pub(crate) fn into_resume(self, state: State) -> Option<Resume> {
        let iterator = self.opened.filter(|_| state == State::Open)?.iterator?;
        Some(Resume {
            source: self.source,
            iterator,
            rest: self.rest,
        })
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.source)?;
        visit.call(self.watcher.as_ref().map(|watcher| &watcher.callback))?;
        visit.call(&self.first)?;
        visit.call(self.rest.as_ref().map(|(chunk, _)| chunk))?;
        self.opened.as_ref().map_or(Ok(()), |opened| opened.traverse(visit))
    }

    /// Before the first window of a call; a progress where the source is not to be called at all.
    pub(crate) fn start(&mut self, py: Python<'_>, turn: &mut Turn<'_>) -> Result<Option<Progress>, Failure> {
        if turn.is_complete()? {
            // The source is not called for a body that is complete (E25), and none is there once it was taken.
            return if turn.info().state == State::Taken {
                Err(Error::State.into())
            } else {
                Ok(Some(Progress::Complete))
            };
        }
        turn.start_call();
        self.enforced = turn.options().length.is_some();
        if let Some(watcher) = &mut self.watcher {
            watcher.told = turn.info().received;
        }
        if self.kind == Kind::Bytes {
            self.seen = [Some(Ok(Some(self.source.clone_ref(py)))), Some(Ok(None))];
        }
        if self.opened.is_none() {
            self.opened = Some(turn.outside(|| source::open(self.source.bind(py), self.kind, self.awaits))?);
        }
        Ok(None)
    }

    /// Reads until the body is complete, the source has nothing now, or something ends it.
    pub(crate) fn run(&mut self, py: Python<'_>, body: &Arc<Body>, turn: &mut Turn<'_>) -> Result<Progress, Failure> {
        if let Some(progress) = self.start(py, turn)? {
            return Ok(progress);
        }
        match self.advance(py, body, turn, None)? {
            Stop::At(progress) => Ok(progress),
            // Nothing is awaited here, so that this is not reached; if it were, going on later is right.
            Stop::Await(_) => Ok(Progress::Pending),
        }
    }

    /// The loop. `given`: what came of the awaited call for the window that is out.
    pub(crate) fn advance<'py>(
        &mut self,
        py: Python<'py>,
        body: &Arc<Body>,
        turn: &mut Turn<'_>,
        mut given: Option<Given<'py>>,
    ) -> Result<Stop<'py>, Failure> {
        let shown = self.kind.shows_windows();
        loop {
            if given.is_none() {
                self.push_rest(py, turn)?;
                self.between(py, turn)?;
                if shown && self.exporter.is_none() {
                    self.exporter = Some(Exporter::new(py, body)?.unbind());
                }
                // SAFETY: interpreted code gets cleared windows; a built-in type writes what it claims to have read.
                let Some(window) = unsafe { turn.begin(shown && !self.kind.is_built_in()) }? else {
                    return Ok(Stop::At(Progress::Complete));
                };
                self.window = Some(window);
            }
            let Some(window) = self.window else {
                return Err(Error::State.into());
            };
            let answered = turn.outside(|| {
                let given = given.take().unwrap_or_else(|| self.call(py, window));
                match given {
                    Given::Object(object) if self.awaits && is_awaitable(&object) => Err(object),
                    given => Ok(self.take(py, window, given)),
                }
            });
            let (answer, raised) = match answered {
                Ok(answered) => answered,
                Err(awaitable) => return Ok(Stop::Await(awaitable)),
            };
            self.pace.add(answer.filled);
            let flow = self.answer(body, turn, answer);
            match settle(flow, raised) {
                // A body that is complete still sees what its last chunk has beyond it.
                Ok(Some(Progress::Complete)) if self.rest.is_some() => {}
                Ok(Some(progress)) => {
                    if let Some(watcher) = &mut self.watcher {
                        watcher.tell(py, turn)?;
                    }
                    return Ok(Stop::At(progress));
                }
                Ok(None) => {}
                Err(failure) => {
                    self.rest = None;
                    return Err(failure);
                }
            }
        }
    }

    /// Gives the engine the answer to the window that is out, and leaves its memory to views that were kept of it.
    fn answer(&mut self, body: &Arc<Body>, turn: &mut Turn<'_>, answer: Answer) -> Result<Flow, Error> {
        self.window = None;
        let flow = turn.answer(answer);
        if self
            .exporter
            .as_ref()
            .is_some_and(|exporter| exporter.get().leave(body, turn))
        {
            self.exporter = None;
        }
        flow
    }

    /// The awaited call is given up: its window is taken back, and nothing of it counts.
    pub(crate) fn abandon(&mut self, py: Python<'_>, body: &Arc<Body>, turn: &mut Turn<'_>) {
        self.take_back(py);
        if self.window.is_some() {
            // Either it is pending now, or its body has failed already.
            let _ = self.answer(body, turn, Answer::PENDING);
        }
    }

    /// Between two calls: the progress is told, and others get their turn. What
    /// this raises comes out while the body is open, so that it can go on.
    fn between(&mut self, py: Python<'_>, turn: &mut Turn<'_>) -> PyResult<()> {
        if let Some(watcher) = &mut self.watcher {
            watcher.tell(py, turn)?;
        }
        self.pace.between(py)
    }

    /// What did not fit into a chunk's window is pushed.
    fn push_rest(&mut self, py: Python<'_>, turn: &mut Turn<'_>) -> Result<(), Failure> {
        let Some((chunk, from)) = self.rest.take() else {
            return Ok(());
        };
        let written = match Chunk::of(chunk.bind(py))?.as_slice().get(from..) {
            Some(rest) => {
                self.pace.add(rest.len());
                turn.write(rest)
            }
            None => Ok(()), // a bytearray that its owner has shortened meanwhile
        };
        if matches!(written, Err(Error::NoMemory | Error::Budget)) {
            self.rest = Some((chunk, from));
        }
        Ok(written?)
    }

    /// One call to the source.
    fn call<'py>(&mut self, py: Python<'py>, window: Window) -> Given<'py> {
        let Some(opened) = &self.opened else {
            return Given::End;
        };
        let asked = opened.asked.as_ref().unwrap_or(&self.source).bind(py);
        let end = ptr::null_mut::<ffi::PyObject>();
        let view = match &self.exporter {
            None => None,
            Some(exporter) => match Exporter::show(exporter.bind(py), window) {
                Ok(view) => Some(view),
                Err(raised) => return Given::NotAsked(raised),
            },
        };
        let of_view = view.as_ref().map_or(end, |view| view.as_ptr());
        let given = match opened.way {
            Way::Chunks | Way::AsyncChunks => return self.next_chunk(py),
            Way::Read => ask_for(asked, window.room),
            // SAFETY: attached; the objects are alive, the list of arguments ends with NULL, and the answer is ours.
            Way::Call => unsafe {
                let given = ffi::PyObject_CallFunctionObjArgs(asked.as_ptr(), of_view, end);
                Bound::from_owned_ptr_or_err(py, given)
            },
            // SAFETY: as above.
            Way::Method(name) => unsafe {
                let name = name.text(py);
                let given = ffi::PyObject_CallMethodObjArgs(asked.as_ptr(), name.as_ptr(), of_view, end);
                Bound::from_owned_ptr_or_err(py, given)
            },
            // SAFETY: as above.
            Way::BuiltIn => unsafe {
                let given = ffi::PyObject_CallFunctionObjArgs(asked.as_ptr(), self.source.as_ptr(), of_view, end);
                Bound::from_owned_ptr_or_err(py, given)
            },
        };
        self.view = view.map(Bound::unbind);
        given.map_or_else(Given::Raised, Given::Object)
    }

    fn next_chunk<'py>(&mut self, py: Python<'py>) -> Given<'py> {
        if let Some(chunk) = self.gathered.next() {
            return Given::Object(chunk.into_bound(py).into_any());
        }
        if let Some(item) = self.seen.iter_mut().find_map(Option::take) {
            return given(item.map(|chunk| chunk.map(|chunk| chunk.into_bound(py))));
        }
        let Some(Opened {
            way,
            iterator: Some(iterator),
            ..
        }) = &self.opened
        else {
            return Given::End;
        };
        let iterator = iterator.bind(py);
        if *way == Way::AsyncChunks {
            return given(iterator.call_method0(intern!(py, "__anext__")).map(Some));
        }
        // SAFETY: attached, and the iterator is alive; it is one, as opening the source has seen to.
        let next = unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyIter_Next(iterator.as_ptr())) };
        match next {
            Some(chunk) => Given::Object(chunk),
            None => PyErr::take(py).map_or(Given::End, Given::Raised),
        }
    }

    /// What the source gave, as an answer; bytes that it gave as an object are put into the window.
    fn take(&mut self, py: Python<'_>, window: Window, given: Given<'_>) -> Answered {
        self.take_back(py);
        let object = match given {
            Given::Object(object) => object,
            Given::End => return (Answer::END, None),
            Given::NotAsked(raised) => return (Answer::PENDING, Some(raised)),
            Given::Raised(raised) => return self.of_exception(py, raised),
        };
        let answered = if self.kind.shows_windows() {
            answer::of_count(&object)
        } else {
            self.take_chunk(window, &object)
        };
        if answered.0.then == Then::Unknown && answered.1.is_some() && is_awaitable(&object) {
            return answer::awaitable(&object); // looked for only now: a look-up that misses is slow
        }
        if self.kind == Kind::Http && !self.enforced && answered.0 == Answer::END {
            return self.end_of_response(py);
        }
        answered
    }

    /// The view is of no use to its source after the call.
    fn take_back(&mut self, py: Python<'_>) {
        if let Some(view) = self.view.take() {
            Exporter::take_back(view.into_bound(py));
        }
    }

    fn of_exception(&self, py: Python<'_>, raised: PyErr) -> Answered {
        let way = self.opened.as_ref().map(|opened| opened.way);
        if way == Some(Way::AsyncChunks) && raised.is_instance_of::<PyStopAsyncIteration>(py) {
            return (Answer::END, None);
        }
        // A cancelled await is no failure of the source: the body can go on. But a generator that it went through has
        // ended by it, and its end must not be taken for the body's.
        if self.awaits && !raised.is_instance_of::<PyException>(py) && !self.has_ended(py) {
            return (Answer::PENDING, Some(raised));
        }
        answer::of_exception(py, raised, self.kind)
    }

    /// Whether the iterator is a generator that has ended.
    fn has_ended(&self, py: Python<'_>) -> bool {
        let Some(iterator) = self.opened.as_ref().and_then(|opened| opened.iterator.as_ref()) else {
            return false;
        };
        [intern!(py, "ag_frame"), intern!(py, "gi_frame")]
            .iter()
            .any(|name| matches!(iterator.bind(py).getattr_opt(name), Ok(Some(frame)) if frame.is_none()))
    }

    /// A response that ends before its own count has, read into a body that has its own idea of a length.
    fn end_of_response(&self, py: Python<'_>) -> Answered {
        match source::missing(self.source.bind(py)) {
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

    /// A chunk: its start goes into the window; the rest of what an iterable gave is pushed afterwards, but of a read
    /// that gave more than was asked for nothing is taken.
    fn take_chunk(&mut self, window: Window, object: &Bound<'_, PyAny>) -> Answered {
        if object.is_none() {
            return (Answer::PENDING, None);
        }
        let reads = matches!(&self.opened, Some(Opened { way: Way::Read, .. }));
        if reads && object.is_instance_of::<PyString>() {
            let message =
                "read() gave str, so this is a text file; open it in binary mode (\"rb\"), or use its .buffer";
            return answer::unknown(PyTypeError::new_err(message));
        }
        let chunk = match Chunk::of(object) {
            Ok(chunk) => chunk,
            Err(raised) => return answer::unknown(raised),
        };
        let bytes = chunk.as_slice();
        if reads && bytes.len() > window.room {
            return (Answer::filled(bytes.len()), None);
        }
        if !reads && bytes.is_empty() {
            return (answer::NOTHING_YET, None); // as b"".join does; the end of an iterable is its end
        }
        let (head, tail) = bytes.split_at(bytes.len().min(window.room));
        land(window, head);
        let (answer, tail) = (Answer::filled(head.len()), !tail.is_empty());
        drop(chunk);
        if self.first.is_none() {
            self.first = Some(object.clone().unbind());
        }
        if tail {
            self.rest = Some((object.clone().unbind(), answer.filled));
        }
        (answer, None)
    }

    /// The chunk that is the whole body of this length, where there is one.
    pub(crate) fn whole<'py>(&self, py: Python<'py>, length: u64) -> Option<Bound<'py, PyBytes>> {
        let first = self.first.as_ref()?.bind(py).cast_exact::<PyBytes>().ok()?;
        (first.as_bytes().len() as u64 == length).then(|| first.clone())
    }
}

/// `read(n)`.
fn ask_for<'py>(asked: &Bound<'py, PyAny>, room: usize) -> PyResult<Bound<'py, PyAny>> {
    let (py, end) = (asked.py(), ptr::null_mut::<ffi::PyObject>());
    // SAFETY: attached; the objects are alive, the list of arguments ends with NULL, and the answer is ours.
    unsafe {
        let room = Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromSize_t(room))?;
        let given = ffi::PyObject_CallMethodObjArgs(asked.as_ptr(), intern!(py, "read").as_ptr(), room.as_ptr(), end);
        Bound::from_owned_ptr_or_err(py, given)
    }
}

fn given(item: PyResult<Option<Bound<'_, PyAny>>>) -> Given<'_> {
    match item {
        Ok(Some(object)) => Given::Object(object),
        Ok(None) => Given::End,
        Err(raised) => Given::Raised(raised),
    }
}

/// What an iterator gives next.
pub(crate) fn next_item<'py>(iterator: &Bound<'py, PyIterator>) -> PyResult<Option<Bound<'py, PyAny>>> {
    iterator.clone().next().transpose()
}

/// Whether this is a coroutine or another thing to await. What sources mostly give is told first, and fast.
fn is_awaitable(object: &Bound<'_, PyAny>) -> bool {
    if object.is_none() || object.is_exact_instance_of::<PyInt>() || object.is_exact_instance_of::<PyBytes>() {
        return false;
    }
    let awaits = object.get_type().getattr_opt(intern!(object.py(), "__await__"));
    matches!(awaits, Ok(Some(_)))
}

/// Copies bytes to the start of a window; at most its room.
fn land(window: Window, bytes: &[u8]) {
    debug_assert!(bytes.len() <= window.room);
    // SAFETY: the caller has made sure that the bytes fit; the window is writable. It is shown to nobody else, unless it
    // lies in the caller's own memory, which the bytes may be those of: so they may overlap.
    unsafe { window.pointer.as_ptr().copy_from(bytes.as_ptr(), bytes.len()) };
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
