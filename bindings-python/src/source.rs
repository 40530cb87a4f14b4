//! What kind of source an object is. Exact built-in types first, then a memory of the types seen before: an attribute
//! look-up that misses costs more than joining a whole small body (measured: 300 to 390 ns).

use crate::options::Asked;
use crate::{client, file};
use brimful_core::{self as core, End};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit, ffi, intern};
use std::sync::Mutex;

/// What a source is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It is the body: bytes-like.
    Bytes,
    /// `requests.Response`, by `iter_content`.
    Requests,
    /// `httpx.Response`, by `iter_bytes` or `aiter_bytes`.
    Httpx,
    /// `aiohttp.ClientResponse`, by the stream reader that is its `content`.
    Aiohttp,
    /// A Starlette request, by its `stream()`.
    Starlette,
    /// `http.client.HTTPResponse`, by `readinto`; its own count of what is to come is enforced.
    Http,
    /// `readinto(window)`.
    ReadInto,
    /// The same, and `length_remaining` says how much is left (urllib3's responses).
    Sized,
    /// `readinto(window)` of a built-in type, which shows the window to no Python code (E49).
    BuiltIn,
    /// `recv_into(window)`.
    Receive,
    /// The same of the built-in socket.
    Socket,
    /// `read(n)`.
    Read,
    /// `source(window)`.
    Call,
    /// An iterable of bytes-like chunks.
    Iterate,
    /// An asynchronous iterable.
    AsyncIterate,
    /// Both.
    EitherIterate,
    /// A text file, which is refused.
    Text,
}

/// How a source is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// `asked(window)`.
    Call,
    /// `asked.readinto(window)`, `asked.recv_into(window)`.
    Method(Method),
    /// `asked(source, window)`: the built-in type's own method, whatever the object has under its name.
    BuiltIn,
    /// `asked.read(n)`.
    Read,
    /// The iterator's next chunk.
    Chunks,
    /// The same, awaited.
    AsyncChunks,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    ReadInto,
    ReceiveInto,
}

impl Method {
    pub(crate) fn text(self, py: Python<'_>) -> &Bound<'_, PyString> {
        match self {
            Method::ReadInto => intern!(py, "readinto"),
            Method::ReceiveInto => intern!(py, "recv_into"),
        }
    }
}

/// A source that is ready to be asked.
pub(crate) struct Opened {
    pub(crate) way: Way,
    /// Whose next chunk is asked for.
    pub(crate) iterator: Option<Py<PyAny>>,
    /// What is called, where it is not the source itself.
    pub(crate) asked: Option<Py<PyAny>>,
}

impl Opened {
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.iterator)?;
        visit.call(&self.asked)
    }
}

impl Kind {
    /// Whether the source fills windows itself.
    pub(crate) fn shows_windows(self) -> bool {
        use Kind::{BuiltIn, Call, Http, ReadInto, Receive, Sized, Socket};
        matches!(self, Http | ReadInto | Sized | BuiltIn | Receive | Socket | Call)
    }

    /// Whether only a built-in type sees the windows.
    pub(crate) fn is_built_in(self) -> bool {
        matches!(self, Kind::BuiltIn | Kind::Socket)
    }

    fn way(self, awaits: bool) -> Way {
        match self {
            Kind::Call => Way::Call,
            Kind::Http | Kind::ReadInto | Kind::Sized => Way::Method(Method::ReadInto),
            Kind::Receive => Way::Method(Method::ReceiveInto),
            Kind::BuiltIn | Kind::Socket => Way::BuiltIn,
            Kind::Read | Kind::Aiohttp => Way::Read,
            Kind::AsyncIterate | Kind::Starlette => Way::AsyncChunks,
            Kind::EitherIterate if awaits => Way::AsyncChunks,
            Kind::Bytes | Kind::Requests | Kind::Httpx | Kind::Iterate | Kind::EitherIterate | Kind::Text => {
                Way::Chunks
            }
        }
    }

    /// A source whose iterator was made in an earlier call.
    pub(crate) fn opened_again(self, iterator: Py<PyAny>, awaits: bool) -> Opened {
        let is_async = Python::attach(|py| {
            let iterator = iterator.bind(py);
            self == Kind::Httpx && matches!(iterator.getattr_opt(intern!(py, "__anext__")), Ok(Some(_)))
        });
        Opened {
            way: if is_async { Way::AsyncChunks } else { self.way(awaits) },
            iterator: Some(iterator),
            asked: None,
        }
    }
}

/// Makes a source ready to be asked: its iterator where it is one, or what of it is called.
pub(crate) fn open(source: &Bound<'_, PyAny>, kind: Kind, awaits: bool) -> PyResult<Opened> {
    let py = source.py();
    let iterate = |iterable: Bound<'_, PyAny>| iterable.try_iter().map(|iterator| iterator.into_any().unbind());
    let iterate_async = |iterable: Bound<'_, PyAny>| iterable.call_method0(intern!(py, "__aiter__")).map(Bound::unbind);
    let (mut way, mut iterator, mut asked) = (kind.way(awaits), None, None);
    match kind {
        Kind::Iterate => iterator = Some(iterate(source.clone())?),
        Kind::EitherIterate if way == Way::Chunks => iterator = Some(iterate(source.clone())?),
        Kind::EitherIterate | Kind::AsyncIterate => iterator = Some(iterate_async(source.clone())?),
        Kind::Requests => iterator = Some(iterate(client::iter_content(source)?)?),
        Kind::Httpx if awaits && client::is_asynchronous(source)? => {
            way = Way::AsyncChunks;
            iterator = Some(iterate_async(source.call_method0(intern!(py, "aiter_bytes"))?)?);
        }
        Kind::Httpx => iterator = Some(iterate(source.call_method0(intern!(py, "iter_bytes"))?)?),
        Kind::Starlette => iterator = Some(iterate_async(source.call_method0(intern!(py, "stream"))?)?),
        Kind::Aiohttp => asked = Some(source.getattr(intern!(py, "content"))?.unbind()),
        Kind::BuiltIn => asked = Some(source.get_type().getattr(intern!(py, "readinto"))?.unbind()),
        Kind::Socket => asked = Some(built_in_receive(py)?.clone_ref(py)),
        _ => {}
    }
    Ok(Opened { way, iterator, asked })
}

/// `recv_into` of the type that `socket.socket` is a Python class over.
fn built_in_receive(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static RECEIVE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    RECEIVE.get_or_try_init(py, || {
        Ok(py.import("_socket")?.getattr("socket")?.getattr("recv_into")?.unbind())
    })
}

/// The kind of this source.
///
/// Raises TypeError for what is none, for text files, and for asynchronous sources where nothing can be awaited.
pub(crate) fn recognise(source: &Bound<'_, PyAny>, awaits: bool) -> PyResult<Kind> {
    let kind = if source.is_exact_instance_of::<PyBytes>() || source.is_exact_instance_of::<PyByteArray>() {
        Kind::Bytes
    } else if source.is_exact_instance_of::<PyList>() || source.is_exact_instance_of::<PyTuple>() {
        Kind::Iterate
    } else {
        let of_type = source.get_type();
        if known_types(source.py())?.generator.is(&of_type) {
            return Ok(Kind::Iterate);
        }
        match seen_before(&of_type) {
            Some(kind) => kind,
            None => examine(source, of_type)?,
        }
    };
    if kind == Kind::Text {
        let message = format!(
            "a source must give bytes, and {} is a text file; open it in binary mode (\"rb\"), or use its .buffer",
            source.get_type()
        );
        return Err(PyTypeError::new_err(message));
    }
    if !awaits && matches!(kind, Kind::Aiohttp | Kind::Starlette | Kind::AsyncIterate) {
        let message = format!(
            "{} is an asynchronous source; read it with `await` and collect_async(), collect_pooled_async(), \
             collect_into_async() or Collector.read_async()",
            source.get_type()
        );
        return Err(PyTypeError::new_err(message));
    }
    Ok(kind)
}

/// The kinds of types that were examined, a small table in which a type may push out another. It refers to them weakly:
/// a class that nobody else has goes, and the address of one that has gone is not taken for it.
static SEEN: Mutex<[Option<Seen>; SLOTS]> = Mutex::new([const { None }; SLOTS]);
const SLOTS: usize = 64;
type Seen = (Py<PyWeakrefReference>, Kind);

fn slot(of_type: &Bound<'_, PyType>) -> usize {
    // Types are aligned to 16 or more and far apart; the upper part of a product mixes all bits.
    (of_type.as_ptr().addr() >> 4).wrapping_mul(0x9E37_79B9) >> 16 & (SLOTS - 1)
}

fn seen_before(of_type: &Bound<'_, PyType>) -> Option<Kind> {
    // Never waited for: when it is taken, the type is just examined again.
    let seen = SEEN.try_lock().ok()?;
    seen[slot(of_type)]
        .as_ref()
        .filter(|(known, _)| {
            let known = known.bind(of_type.py()).upgrade();
            known.is_some_and(|known| known.is(of_type))
        })
        .map(|&(_, kind)| kind)
}

fn remember(of_type: &Bound<'_, PyType>, kind: Kind) {
    let Ok(known) = PyWeakrefReference::new(of_type) else {
        return;
    };
    let slot = slot(of_type);
    let pushed_out = SEEN
        .try_lock()
        .ok()
        .and_then(|mut seen| seen[slot].replace((known.unbind(), kind)));
    drop(pushed_out); // may run Python code, which is not done under the lock
}

fn examine(source: &Bound<'_, PyAny>, of_type: Bound<'_, PyType>) -> PyResult<Kind> {
    if is_spooled(&of_type)? {
        return Ok(if has(source, "encoding")? {
            Kind::Text
        } else {
            Kind::ReadInto
        });
    }
    if let Some(kind) = kind_of_type(source, &of_type)? {
        remember(&of_type, kind);
        return Ok(kind);
    }
    // What only this object has, or what it hands on from another by __getattr__ (tempfile's files).
    if has(source, "readinto")? {
        return Ok(Kind::ReadInto);
    }
    if has(source, "recv_into")? {
        return Ok(Kind::Receive);
    }
    if has(source, "read")? {
        return Ok(Kind::Read);
    }
    let kind = if source.is_callable() {
        Kind::Call
    } else {
        let iterates = has(&of_type, "__iter__")? || has(&of_type, "__getitem__")?;
        match (iterates, has(&of_type, "__aiter__")?) {
            (true, false) => Kind::Iterate,
            (true, true) => Kind::EitherIterate,
            (false, true) => Kind::AsyncIterate,
            (false, false) => return Err(not_a_source(source, &of_type)),
        }
    };
    // Not where another object of the type may have such names of its own.
    let has_names = of_type.getattr(intern!(source.py(), "__dictoffset__"))?.is_truthy()?;
    if !has_names && !has(&of_type, "__getattr__")? {
        remember(&of_type, kind);
    }
    Ok(kind)
}

/// The kind where the type alone decides it.
fn kind_of_type(source: &Bound<'_, PyAny>, of_type: &Bound<'_, PyType>) -> PyResult<Option<Kind>> {
    let py = source.py();
    if of_type.is_subclass_of::<PyString>()? {
        return Err(not_a_source(source, of_type));
    }
    // SAFETY: attached, and the object is alive.
    if unsafe { ffi::PyObject_CheckBuffer(source.as_ptr()) } != 0 {
        return Ok(Some(Kind::Bytes));
    }
    if is_http_response(of_type)? {
        return Ok(Some(Kind::Http));
    }
    if let Some(kind) = client::of_type(of_type)? {
        return Ok(Some(kind));
    }
    let known = known_types(py)?;
    if of_type.is_subclass(known.text.bind(py))? {
        return Ok(Some(Kind::Text));
    }
    if known.built_in.iter().any(|one| one.is(of_type)) {
        return Ok(Some(Kind::BuiltIn));
    }
    if is_socket(of_type)? {
        return Ok(Some(Kind::Socket));
    }
    // Whatever names were given to one of them.
    if known.functions.iter().any(|one| one.is(of_type)) {
        return Ok(Some(Kind::Call));
    }
    if has(of_type, "readinto")? {
        let sized = has(source, "length_remaining")?;
        return Ok(Some(if sized { Kind::Sized } else { Kind::ReadInto }));
    }
    if has(of_type, "recv_into")? {
        return Ok(Some(Kind::Receive));
    }
    Ok(has(of_type, "read")?.then_some(Kind::Read))
}

/// `tempfile.SpooledTemporaryFile`, whose type has the methods of text files and of binary ones.
fn is_spooled(of_type: &Bound<'_, PyType>) -> PyResult<bool> {
    match imported(of_type.py(), "tempfile")? {
        Some(tempfile) => of_type.is_subclass(&tempfile.getattr(intern!(of_type.py(), "SpooledTemporaryFile"))?),
        None => Ok(false),
    }
}

/// No import of it: whoever has such a response has imported the module.
fn is_http_response(of_type: &Bound<'_, PyType>) -> PyResult<bool> {
    match imported(of_type.py(), "http.client")? {
        Some(client) => of_type.is_subclass(&client.getattr(intern!(of_type.py(), "HTTPResponse"))?),
        None => Ok(false),
    }
}

/// Subclasses are none: theirs may be Python code (`ssl.SSLSocket`).
fn is_socket(of_type: &Bound<'_, PyType>) -> PyResult<bool> {
    match imported(of_type.py(), "socket")? {
        Some(socket) => Ok(of_type.is(&socket.getattr(intern!(of_type.py(), "socket"))?)),
        None => Ok(false),
    }
}

/// A module that somebody has imported already.
pub(crate) fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let module = modules.call_method1(intern!(py, "get"), (name,))?;
    Ok(Some(module).filter(|module| !module.is_none()))
}

struct KnownTypes {
    base: Py<PyAny>,
    text: Py<PyAny>,
    built_in: [Py<PyAny>; 2],
    functions: [Py<PyAny>; 3],
    generator: Py<PyAny>,
}

fn known_types(py: Python<'_>) -> PyResult<&KnownTypes> {
    static TYPES: PyOnceLock<KnownTypes> = PyOnceLock::new();
    TYPES.get_or_try_init(py, || {
        let io = py.import("io")?;
        let get = |name| io.getattr(name).map(Bound::unbind);
        let types = py.import("types")?;
        let of = |name| types.getattr(name).map(Bound::unbind);
        Ok(KnownTypes {
            base: get("IOBase")?,
            text: get("TextIOBase")?,
            built_in: [get("BytesIO")?, get("FileIO")?],
            generator: of("GeneratorType")?,
            functions: [of("FunctionType")?, of("MethodType")?, of("BuiltinFunctionType")?],
        })
    })
}

pub(crate) fn has(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    Ok(object.getattr_opt(name)?.is_some_and(|value| !value.is_none()))
}

fn not_a_source(source: &Bound<'_, PyAny>, of_type: &Bound<'_, PyType>) -> PyErr {
    const EXPECTED: &str = "expected bytes-like, a response of an HTTP client, an object with readinto(), recv_into() or \
                            read(), a callable f(window) -> int | None, or an iterable of bytes-like chunks";
    let hint = if source.is_instance_of::<PyString>() {
        "; encode text first"
    } else {
        ""
    };
    PyTypeError::new_err(format!("{of_type} is not a source: {EXPECTED}{hint}"))
}

/// Completes the options by what the source says of itself: the length that HTTP announced, how its end is seen, and
/// about how large it is.
pub(crate) fn complete_options(
    asked: &mut Asked,
    kind: Kind,
    source: &Bound<'_, PyAny>,
    pool: &core::Pool,
) -> PyResult<()> {
    let options = &mut asked.options;
    if options.length.is_none() {
        match kind {
            Kind::Http => options.length = announced(source)?,
            Kind::Requests | Kind::Httpx | Kind::Aiohttp | Kind::Starlette | Kind::Sized => {
                client::complete_options(options, kind, source, pool);
            }
            _ if options.size_hint.is_some() => {}
            Kind::Bytes => options.size_hint = source.len().ok().map(|length| length as u64),
            Kind::BuiltIn | Kind::ReadInto => options.size_hint = file::rest(source),
            _ => {}
        }
    }
    if asked.end_by_source && options.length.is_some() {
        let asks_for_the_end = match kind {
            Kind::Bytes | Kind::Iterate | Kind::AsyncIterate | Kind::EitherIterate => true,
            Kind::Requests | Kind::Httpx | Kind::Starlette => true,
            Kind::ReadInto | Kind::BuiltIn | Kind::Read => is_file(source)?,
            Kind::Http | Kind::Sized | Kind::Aiohttp | Kind::Receive | Kind::Socket | Kind::Call | Kind::Text => false,
        };
        options.end = if asks_for_the_end { End::Eof } else { End::Length };
    }
    Ok(())
}

/// What an HTTP response has still to give, where it was announced: not for chunked ones, nor for those that end with
/// their connection.
fn announced(response: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = response.py();
    if response.getattr(intern!(py, "chunked"))?.is_truthy()? {
        return Ok(None);
    }
    Ok(response.getattr(intern!(py, "length"))?.extract().ok())
}

/// What an HTTP response that has just said it ends has still to give. Its `readinto` comes back short without a word
/// when the connection is cut, where its `read` raises.
pub(crate) fn missing(response: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    announced(response).map(|length| length.filter(|&length| length > 0))
}

/// A file has an end of its own, which is asked for; a stream (socket, pipe, terminal) may stay quiet instead.
fn is_file(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = source.py();
    if !source.is_instance(known_types(py)?.base.bind(py))? {
        return Ok(false);
    }
    source.call_method0(intern!(py, "seekable"))?.is_truthy()
}
