//! Sources, and whole bodies in one call.

use brimful_core::memory::place;
use brimful_core::{Answer, Collector, Error, InvalidOption, Options, Prefer, Progress, Source, Window};
use core::ffi::c_void;
use core::ptr;

use crate::buffer::brimful_buffer;
use crate::collector::{self, brimful_collector, status_of};
use crate::guard::{self, Fill, Out};
use crate::info::brimful_info;
use crate::options::{self, brimful_options};
use crate::pool::{self, brimful_pool};
use crate::status::{BRIMFUL_ERR_STATE, BRIMFUL_OK, brimful_status};

/// A source that is asked for bytes: puts at most `room` bytes at the start of `window` and says in *filled how many.
/// *filled is 0 before the call, `room` is never 0. The answer is one of
///
/// - BRIMFUL_OK: *filled bytes came; with 0 bytes this is the end of the body. Few bytes are normal.
/// - BRIMFUL_PENDING: nothing more now; the call around it returns and can be made again later.
/// - BRIMFUL_RETRY: interrupted; asked again at once.
/// - A negative number: an error of your own; the call returns BRIMFUL_ERR_SOURCE and brimful_info keeps the number.
///
/// and bytes may come with each of them; they count, and before what comes with them. *filled above `room`, and an
/// answer that is none of these, is BRIMFUL_ERR_CONTRACT, and nothing of that call counts.
///
/// The window's memory is write-only: what is in it may be anything, bytes of other bodies too (see BRIMFUL_SCRUB).
/// It must not be used after the callback has returned.
///
/// Threads: called on the thread of the call that it is given to, only during that call. It must not throw, nor
/// longjmp out. Calls on the collector that it is called by answer BRIMFUL_ERR_BUSY, but brimful_collector_info works,
/// and brimful_collector_free takes effect when the call around it returns. Everything else may be called.
/// Lifetime: neither it nor `context` is used after that call has returned.
pub type brimful_read_fn = Option<
    unsafe extern "C" fn(context: *mut c_void, window: *mut c_void, room: usize, filled: *mut usize) -> brimful_status,
>;

/// The caller's callback, as a source of the engine.
pub(crate) struct Callback {
    read: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut usize) -> brimful_status,
    context: *mut c_void,
}

impl Callback {
    pub(crate) fn new(read: brimful_read_fn, context: *mut c_void) -> Result<Callback, Error> {
        read.map(|read| Callback { read, context }).ok_or(Error::Invalid)
    }
}

// SAFETY: the header requires the callback to write into the window only, during the call only, and that the bytes it
// claims were written.
unsafe impl Source for Callback {
    const CLEARED: bool = false;

    fn fill(&mut self, window: Window) -> Answer {
        let mut filled = 0;
        // SAFETY: the header's contract of brimful_read_fn; the window is writable for `room` bytes during the call.
        let status = unsafe {
            (self.read)(
                self.context,
                window.pointer.as_ptr().cast(),
                window.room,
                &raw mut filled,
            )
        };
        Answer::from_status(status, filled)
    }
}

/// Reads a whole body from `read` and gives it as a pooled buffer. pool NULL is the default pool, options NULL every
/// default; `context` goes to the callback as it is.
///
/// - BRIMFUL_OK: *buffer has the body and is yours, to be given back with brimful_buffer_release; *rest is NULL.
/// - Anything else: *buffer is NULL, and *rest receives the collector with all that came, yours to be freed with
///   brimful_collector_free; it is NULL where nothing had begun (BRIMFUL_ERR_INVALID, BRIMFUL_ERR_PANIC).
/// - BRIMFUL_PENDING: the source has nothing now: go on with brimful_collector_read on *rest.
/// - BRIMFUL_MORE: options.max_step bytes came: the same.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed: the same. (Where not even *rest could be had, it is
///   NULL and what came is gone.)
/// - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body ended; what came is to be
///   had with brimful_collector_take_partial on *rest.
/// - BRIMFUL_ERR_STATE: it would be BRIMFUL_PENDING or BRIMFUL_MORE, and rest is NULL, so there was nowhere to put what
///   came; it is gone.
/// - BRIMFUL_ERR_INVALID: read or buffer is NULL, or an option is out of range; the source was not called.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// rest may be NULL; what came before an error is then gone.
///
/// Threads: any; the callback is called on the same one, before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collect(
    pool: *mut brimful_pool,
    options: *const brimful_options,
    read: brimful_read_fn,
    context: *mut c_void,
    buffer: *mut *mut brimful_buffer,
    rest: *mut *mut brimful_collector,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a struct is readable over its struct_size.
        let (buffer, rest, given) = unsafe {
            (
                Out::new(buffer, ptr::null_mut()),
                Out::new(rest, ptr::null_mut()).ok(),
                options::read(options)?,
            )
        };
        let begin = || {
            // SAFETY: the conventions: what options point to is what it should be.
            Ok((Callback::new(read, context)?, buffer?, unsafe { given.for_engine() }?))
        };
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        let pool = unsafe { pool::borrow(pool) };
        let make = |options| Collector::new(&pool, options);
        let deliver = |collector: &mut Collector, outcome: Result<_, _>, buffer: Out<_>| {
            let progress = outcome?;
            if progress == Progress::Complete {
                buffer.set(collector.finish_last()?.into_raw().cast().as_ptr());
            }
            Ok(status_of(progress))
        };
        // SAFETY: passed on from the caller.
        unsafe { collect(given.info, begin, make, deliver, rest) }
    })
}

/// Reads a whole body from `read` and gives it as an exact buffer: memory of exactly its length. As brimful_collect,
/// but that options.prefer is taken as BRIMFUL_PREFER_EXACT.
///
/// - BRIMFUL_OK: *data has the *length bytes of the body and is yours, to be freed with free(), or with
///   options.allocator where one was given. For length 0 *data is not NULL and is to be freed too (an allocator was
///   asked for 1 byte then). *rest is NULL.
/// - Anything else: *data is NULL, *length 0, and *rest receives the collector with all that came, yours to be freed with
///   brimful_collector_free; it is NULL where nothing had begun (BRIMFUL_ERR_INVALID, BRIMFUL_ERR_PANIC).
/// - BRIMFUL_PENDING, BRIMFUL_MORE: the source has nothing now, or options.max_step bytes came: go on with
///   brimful_collector_read on *rest.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed: the same. Where the body is complete and only its exact
///   memory could not be had, call brimful_collector_finish_exact or brimful_collector_finish on *rest. (Where not even
///   *rest could be had, it is NULL and what came is gone.)
/// - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body ended; what came is to be
///   had with brimful_collector_take_partial on *rest.
/// - BRIMFUL_ERR_STATE: it would be BRIMFUL_PENDING or BRIMFUL_MORE, and rest is NULL; what came is gone.
/// - BRIMFUL_ERR_INVALID: read, data or length is NULL, or an option is out of range; the source was not called.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// rest may be NULL; what came before an error is then gone.
///
/// Threads: any; the callback is called on the same one, before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collect_exact(
    pool: *mut brimful_pool,
    options: *const brimful_options,
    read: brimful_read_fn,
    context: *mut c_void,
    data: *mut *mut c_void,
    length: *mut usize,
    rest: *mut *mut brimful_collector,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a struct is readable over its struct_size.
        let (data, length, rest, given) = unsafe {
            (
                Out::new(data, ptr::null_mut()),
                Out::new(length, 0),
                Out::new(rest, ptr::null_mut()).ok(),
                options::read(options)?,
            )
        };
        let begin = || {
            // SAFETY: the conventions: what options point to is what it should be.
            let options = unsafe { given.for_engine() }?;
            Ok((Callback::new(read, context)?, (data?, length?), options))
        };
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        let pool = unsafe { pool::borrow(pool) };
        let make = |mut options: Options| {
            options.prefer = Prefer::Exact;
            Collector::new(&pool, options)
        };
        let deliver = |collector: &mut Collector, outcome: Result<_, _>, (data, length): (Out<_>, Out<_>)| {
            let progress = outcome?;
            if progress == Progress::Complete {
                let (pointer, bytes, _) = collector.finish_exact_parts()?;
                data.set(pointer.as_ptr().cast());
                length.set(bytes);
            }
            Ok(status_of(progress))
        };
        // SAFETY: passed on from the caller.
        unsafe { collect(given.info, begin, make, deliver, rest) }
    })
}

/// Reads a whole body from `read` into your own memory: the `capacity` bytes at `target`; see brimful_collector_new_into
/// for what that means. *length says how many bytes of the body lie there, on every outcome; the bytes behind them are
/// as they were, but for what the callback itself wrote into its windows beyond what it claimed.
///
/// - BRIMFUL_OK: the whole body lies in target; *rest is NULL.
/// - Anything else: what came lies in target, and *rest receives the collector, yours to be freed with
///   brimful_collector_free; until then target must stay where it is. It is NULL where nothing had begun
///   (BRIMFUL_ERR_INVALID, BRIMFUL_ERR_PANIC).
/// - BRIMFUL_PENDING, BRIMFUL_MORE: the source has nothing now, or options.max_step bytes came: go on with
///   brimful_collector_read on *rest.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: the same; even without *rest what came lies in target.
/// - BRIMFUL_ERR_LIMIT: the body has more than `capacity` bytes, or than options.limit; *length bytes of it lie in
///   target. With BRIMFUL_TRUNCATE that is BRIMFUL_OK, and brimful_info.truncated is 1.
/// - BRIMFUL_ERR_SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body ended.
/// - BRIMFUL_ERR_STATE: the source has nothing now, or its share is used, and rest is NULL: what came lies in target.
/// - BRIMFUL_ERR_INVALID: read or length is NULL, target is NULL with a capacity, capacity is beyond the address space,
///   or an option is out of range; the source was not called, and target not touched.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: any; the callback is called on the same one, before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collect_into(
    options: *const brimful_options,
    read: brimful_read_fn,
    context: *mut c_void,
    target: *mut c_void,
    capacity: usize,
    length: *mut usize,
    rest: *mut *mut brimful_collector,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a struct is readable over its struct_size.
        let (length, rest, given) = unsafe {
            (
                Out::new(length, 0),
                Out::new(rest, ptr::null_mut()).ok(),
                options::read(options)?,
            )
        };
        let begin = || {
            let start = collector::target(target, capacity)?;
            // SAFETY: the conventions: what options point to is what it should be.
            let options = unsafe { given.for_engine() }?;
            Ok((Callback::new(read, context)?, length?, (start, options)))
        };
        // SAFETY: the target is writable for `capacity` bytes, and the caller's comment says for how long.
        let make =
            |(start, options)| unsafe { Collector::new_into(&pool::borrow(ptr::null()), options, start, capacity) };
        let deliver = |collector: &mut Collector, outcome: Result<_, _>, length: Out<_>| {
            // At most `capacity`, so the conversion never falls back.
            length.set(usize::try_from(collector.info().length).unwrap_or(usize::MAX));
            outcome.map(status_of)
        };
        // SAFETY: passed on from the caller.
        unsafe { collect(given.info, begin, make, deliver, rest) }
    })
}

/// What all three have in common. The collector lives on the stack; it is put on the heap only if it has to outlive the
/// call, so that a small body costs no more than its block. `begin` checks what was given and finds the place of the
/// result, `make` makes the collector, and `deliver` is told what came of the reading.
///
/// # Safety
/// `info` is NULL or a struct to be filled.
unsafe fn collect<P, O>(
    info: *mut brimful_info,
    begin: impl FnOnce() -> Result<(Callback, P, O), Error>,
    make: impl FnOnce(O) -> Result<Collector, InvalidOption>,
    deliver: impl FnOnce(&mut Collector, Result<Progress, Error>, P) -> Result<brimful_status, Error>,
    rest: Option<Out<*mut brimful_collector>>,
) -> Result<brimful_status, Error> {
    let info = if info.is_null() {
        None
    } else {
        // SAFETY: the conventions: a struct to be filled is writable over its struct_size.
        Some(unsafe { Fill::new(info) }?)
    };
    let mut numbers = brimful_info::NOTHING;
    let status = match begin() {
        Err(error) => error.code(),
        Ok((mut source, place, options)) => {
            let mut made = make(options);
            match &mut made {
                Err(error) => Error::from(*error).code(),
                // By reference: moving a collector costs as much as reading into it.
                Ok(collector) => {
                    let outcome = collector.read(&mut source);
                    let status = deliver(collector, outcome, place).unwrap_or_else(Error::code);
                    if info.is_some() {
                        numbers = collector.info().into();
                    }
                    match made {
                        Ok(collector) if status != BRIMFUL_OK => keep(collector, status, rest),
                        _ => status,
                    }
                }
            }
        }
    };
    if let Some(info) = info {
        info.set(&brimful_info { status, ..numbers });
    }
    Ok(status)
}

/// Hands the collector of a body that did not end well to the caller, if there is a place for it (E22).
fn keep(collector: Collector, status: brimful_status, rest: Option<Out<*mut brimful_collector>>) -> brimful_status {
    match rest {
        Some(rest) => match place(brimful_collector::new(collector)) {
            Some(handle) => {
                rest.set(Box::into_raw(handle));
                status
            }
            None => Error::NoMemory.code(),
        },
        None if status > BRIMFUL_OK => BRIMFUL_ERR_STATE,
        None => status,
    }
}
