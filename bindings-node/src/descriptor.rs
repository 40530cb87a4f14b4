//! Descriptors: files are read by read(2) on a thread of Node's pool, straight into the body's window.
//!
//! ```text
//! JS thread     begin ──▶ window ──queue──┐                        ┌── answer ──▶ the promise of JavaScript
//! pool thread                             └▶ read, read, … full ───┘
//! ```
//!
//! What makes the window's memory stay while another thread writes to it:
//! - it lies in a block whose object only the library has (views that were shown are revoked first), or in the engine's
//!   own memory; a body in the caller's own memory is read aside, since JavaScript may take that away at any time;
//! - the body is busy until the answer, and freeing it meanwhile is put off to then;
//! - an environment that goes waits for what is being read (`Works`), and its objects go after that.
//!
//! The descriptor is a copy (dup), which shares the position with the caller's: a number that is closed meanwhile, and
//! given to another file, leads to no byte of that one.

use crate::collector::{Body, COMPLETE, OPEN};
use crate::host::{Arguments, Host, Value};
use crate::info as told;
use brimful_core::{Answer, Cancel, Descriptor, Error, Flow, Progress, Then};
use napi::sys;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What a descriptor is; `lib/descriptor.js` knows the same numbers.
const FILE: f64 = 0.0;
const STREAM: f64 = 1.0;
const TERMINAL: f64 = 2.0;

/// A file that a body is read from.
pub(crate) struct File {
    fd: Arc<OwnedFd>,
    /// A read that answers less than was asked for is not followed by one that blocks.
    regular: bool,
    /// The last read saw the end behind the bytes that it brought.
    ended: bool,
}

/// Reads that have not come back.
#[derive(Default)]
pub(crate) struct Works {
    out: Mutex<usize>,
    back: Condvar,
    /// The environment, and the host with it, is gone.
    gone: AtomicBool,
}

impl Works {
    fn count(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.out.lock().unwrap_or_else(PoisonError::into_inner));
        self.back.notify_all();
    }

    /// Waits until no thread writes into a window any more. Node has waited for its pool before it ends an
    /// environment, so this finds nothing to do; that memory is not freed under a write does not depend on it.
    pub(crate) fn close(&self) {
        self.gone.store(true, Ordering::Release);
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        while *out > 0 {
            out = self.back.wait(out).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(-1)
}

fn stat(fd: i32) -> Result<libc::stat, i32> {
    // SAFETY: all of the struct is plain numbers for which zero is a value.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: fstat fills the struct it is given; a descriptor that is not open is an error, no more.
    match unsafe { libc::fstat(fd, &raw mut stat) } {
        0 => Ok(stat),
        _ => Err(errno()),
    }
}

/// (fd) -> what it is, or -errno.
pub(crate) fn look(_: &Host, arguments: &Arguments) -> Value {
    let fd = told::status(arguments, 0);
    let kind = match stat(fd) {
        Err(error) => f64::from(-error),
        Ok(stat) => match stat.st_mode & libc::S_IFMT {
            libc::S_IFIFO | libc::S_IFSOCK => STREAM,
            // SAFETY: only asks.
            libc::S_IFCHR if unsafe { libc::isatty(fd) } == 1 => TERMINAL,
            _ => FILE,
        },
    };
    Value::Number(kind)
}

fn duplicate(fd: i32) -> Result<OwnedFd, i32> {
    // SAFETY: makes a new descriptor, or none.
    match unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) } {
        // SAFETY: it was just made and is nobody else's.
        copy @ 0.. => Ok(unsafe { OwnedFd::from_raw_fd(copy) }),
        _ => Err(errno()),
    }
}

/// (fd) -> a copy of it, which the caller closes, or -errno.
pub(crate) fn copy(_: &Host, arguments: &Arguments) -> Value {
    let copy = duplicate(told::status(arguments, 0));
    Value::Number(copy.map_or_else(
        |error| f64::from(-error),
        |copy| f64::from(std::os::fd::IntoRawFd::into_raw_fd(copy)),
    ))
}

/// (collector, fd): the body is read from this file from now on -> 0, errno, or a status. What fstat says of its size is
/// a hint.
pub(crate) fn open(host: &Host, arguments: &Arguments) -> Value {
    let fd = told::status(arguments, 1);
    let opened = stat(fd).and_then(|stat| Ok((stat, duplicate(fd)?)));
    let (stat, copy) = match opened {
        Ok(opened) => opened,
        Err(error) => return Value::Number(f64::from(error)),
    };
    let opened = host.collectors.with(arguments.handle(0), |body| {
        if let Some(hint) = Descriptor::new(fd, &mut || false).size_hint() {
            body.idle()?.suggest(hint);
        }
        body.file = Some(File {
            fd: Arc::new(copy),
            regular: stat.st_mode & libc::S_IFMT == libc::S_IFREG,
            ended: false,
        });
        Ok(COMPLETE)
    });
    opened.into()
}

/// (collector): the body is not read from its file any more -> 0, or a status.
pub(crate) fn close(host: &Host, arguments: &Arguments) -> Value {
    let closed = host.collectors.with(arguments.handle(0), |body| {
        body.file = None;
        Ok(COMPLETE)
    });
    closed.into()
}

/// One window that is being filled on a thread of the pool.
struct Work {
    works: Arc<Works>,
    host: NonNull<Host>,
    collector: usize,
    fd: Arc<OwnedFd>,
    regular: bool,
    cancel: Cancel,
    /// Where the bytes go: the window itself, or `aside`.
    start: NonNull<u8>,
    room: usize,
    aside: Vec<u8>,
    filled: usize,
    ended: bool,
    error: i32,
    executed: bool,
    work: sys::napi_async_work,
    deferred: sys::napi_deferred,
}

/// (collector) -> a promise of: complete, open (call again), or a status; or one of these at once.
pub(crate) fn read(host: &Host, arguments: &Arguments) -> Value {
    let handle = arguments.handle(0);
    let started = host
        .collectors
        .with(handle, |body| start(host, handle, arguments.env(), body));
    match started {
        Ok(Started::Promise(promise)) => Value::Js(promise),
        Ok(Started::Now(code)) => Value::Number(code),
        Err(error) => error.into(),
    }
}

enum Started {
    Promise(sys::napi_value),
    Now(f64),
}

fn start(host: &Host, handle: usize, env: sys::napi_env, body: &mut Body) -> Result<Started, Error> {
    body.check_target()?;
    // SAFETY: read(2) writes what it claims to have read.
    let Some(window) = unsafe { body.idle()?.begin(false) }? else {
        return Ok(Started::Now(COMPLETE));
    };
    let Some(file) = &mut body.file else {
        body.collector.answer(Answer::PENDING)?;
        return Err(Error::State);
    };
    if std::mem::take(&mut file.ended) {
        return code(body.collector.answer(Answer::END)).map(Started::Now);
    }
    let mut work = Work {
        works: Arc::clone(&host.works),
        host: NonNull::from(host),
        collector: handle,
        fd: Arc::clone(&file.fd),
        regular: file.regular,
        cancel: body.cancel.clone(),
        start: window.pointer,
        room: window.room,
        aside: Vec::new(),
        filled: 0,
        ended: false,
        error: 0,
        executed: false,
        work: ptr::null_mut(),
        deferred: ptr::null_mut(),
    };
    let ready = if body.target.is_some() && !window.side {
        let had = work.aside.try_reserve_exact(window.room).is_ok();
        work.start = NonNull::new(work.aside.as_mut_ptr()).unwrap_or(NonNull::dangling());
        had
    } else {
        window.side || host.blocks.revoke(window.token)
    };
    let promise = if ready { queue(env, work) } else { None };
    let Some(promise) = promise else {
        body.collector.answer(Answer::PENDING)?;
        return Err(Error::NoMemory);
    };
    (body.window, body.asked, body.lent) = (Some(window), true, true);
    Ok(Started::Promise(promise))
}

fn queue(env: sys::napi_env, work: Work) -> Option<sys::napi_value> {
    let works = Arc::clone(&work.works);
    let mut boxed = brimful_core::memory::place(work)?;
    let (mut promise, mut name) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: out-parameters are local or the box's own; the name's pointer and length are those of a str; the box is
    // handed to the work as its data, and `complete` takes it back.
    unsafe {
        let label = "brimful.read";
        let text = (label.as_ptr().cast(), label.len().cast_signed());
        let made = sys::napi_create_string_utf8(env, text.0, text.1, &raw mut name) == sys::Status::napi_ok
            && sys::napi_create_promise(env, &raw mut boxed.deferred, &raw mut promise) == sys::Status::napi_ok;
        if !made {
            return None;
        }
        let data = (&raw mut *boxed).cast();
        let created = sys::napi_create_async_work(
            env,
            ptr::null_mut(),
            name,
            Some(execute),
            Some(complete),
            data,
            &raw mut boxed.work,
        );
        if created != sys::Status::napi_ok {
            return None;
        }
        works.count(|out| *out += 1);
        if sys::napi_queue_async_work(env, boxed.work) != sys::Status::napi_ok {
            works.count(|out| *out -= 1);
            sys::napi_delete_async_work(env, boxed.work);
            return None;
        }
    }
    let _ = Box::into_raw(boxed);
    Some(promise)
}

impl Work {
    /// Fills the window as far as the file goes.
    fn run(&mut self) {
        while self.filled < self.room && !self.cancel.is_triggered() {
            // SAFETY: start..start + room is memory that nobody else looks at until `complete` (top of the file), and
            // filled < room.
            let read = unsafe {
                let start = self.start.as_ptr().add(self.filled);
                libc::read(self.fd.as_raw_fd(), start.cast(), self.room - self.filled)
            };
            match usize::try_from(read) {
                Ok(0) => {
                    self.ended = true;
                    return;
                }
                Ok(read) => self.filled += read,
                Err(_) => match errno() {
                    libc::EINTR => continue,
                    error => {
                        self.error = error;
                        return;
                    }
                },
            }
            if !self.regular {
                return;
            }
        }
    }

    /// Gives the window back to the body; see `read`.
    fn give_back(&self, body: &mut Body) -> Result<f64, Error> {
        body.lent = false;
        let window = body.window.take();
        body.asked = false;
        body.check_target()?;
        if let (Some(window), false) = (window, self.aside.capacity() == 0) {
            // SAFETY: `filled` bytes were written there, at most the room of both; the target is still where it was
            // by the check above, and no JavaScript runs in between.
            unsafe {
                let to = window.pointer.as_ptr();
                to.copy_from_nonoverlapping(self.start.as_ptr(), self.filled);
            }
        }
        if let (Some(file), true) = (&mut body.file, self.filled > 0) {
            file.ended = self.ended;
        }
        let then = match self.error {
            0 if self.filled == 0 && !self.ended => Then::Retry, // cancelled before the first read
            0 => Then::Go,
            libc::EAGAIN => Then::Pending,
            error => Then::Failed(-error),
        };
        code(body.collector.answer(Answer {
            filled: self.filled,
            then,
        }))
    }
}

fn code(answered: Result<Flow, Error>) -> Result<f64, Error> {
    Ok(match answered? {
        Flow::Stop(Progress::Complete) => COMPLETE,
        Flow::Stop(Progress::Pending) => crate::collector::PENDING,
        Flow::Stop(Progress::More) | Flow::Again => OPEN,
    })
}

/// On a thread of the pool.
unsafe extern "C" fn execute(_: sys::napi_env, data: *mut core::ffi::c_void) {
    // SAFETY: `queue` gave the work this box; until `complete` only this call touches it.
    let work = unsafe { &mut *data.cast::<Work>() };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        work.executed = true;
        work.run();
    }));
    work.works.count(|out| *out -= 1);
}

/// Back on the thread of the environment.
unsafe extern "C" fn complete(env: sys::napi_env, _: sys::napi_status, data: *mut core::ffi::c_void) {
    // SAFETY: the box of `queue`, which is taken back once.
    let work = unsafe { Box::from_raw(data.cast::<Work>()) };
    if !work.executed {
        work.works.count(|out| *out -= 1);
    }
    let host = match work.works.gone.load(Ordering::Acquire) {
        true => None,
        // SAFETY: the host lives until its environment goes, which sets `gone` on this thread.
        false => Some(unsafe { work.host.as_ref() }),
    };
    let code = catch_unwind(AssertUnwindSafe(|| {
        let host = host?;
        let answered = host.collectors.with(work.collector, |body| work.give_back(body));
        crate::collector::free_if_doomed(host, work.collector);
        Some(answered.unwrap_or_else(|error| f64::from(error.code())))
    }));
    let code = code.unwrap_or(Some(f64::from(Error::Panic.code())));
    // SAFETY: the work and the promise are this box's own and used once; in an environment that ends the promise
    // cannot be settled any more, and nobody waits for it.
    unsafe {
        if let Some(code) = code {
            let mut value = ptr::null_mut();
            sys::napi_create_double(env, code, &raw mut value);
            sys::napi_resolve_deferred(env, work.deferred, value);
        }
        sys::napi_delete_async_work(env, work.work);
    }
}
