//! The collector, step by step.

use brimful_core::memory::place;
use brimful_core::{Collector, Descriptor, Error, Handle, Progress, Source};
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::slice;

use crate::buffer::{brimful_buffer, brimful_slice};
use crate::collect::{Callback, brimful_read_fn};
use crate::guard::{self, Fill, Out};
use crate::info::brimful_info;
use crate::options::{self, brimful_options};
use crate::pool::{self, brimful_pool};
use crate::status::{BRIMFUL_MORE, BRIMFUL_OK, BRIMFUL_PENDING, brimful_status};

/// A collector owns a body while it arrives. It can stop at any byte and go on later, and going on costs the new
/// bytes only. It is fed in one of four ways, which may be mixed: brimful_collector_read asks a callback;
/// brimful_collector_read_fd reads a file descriptor; brimful_collector_write takes bytes that you have;
/// brimful_collector_reserve gives you a window to fill and brimful_collector_commit takes it back.
///
/// It is open until the body is complete, or an error ends it (failed); then its result, or what came, can be taken
/// once (taken); then it can be freed or reset. A call that does not fit answers BRIMFUL_ERR_STATE and changes
/// nothing; after an error that ended the body every feeding call answers that error again.
///
/// Threads: by one thread at a time; it may move from one to another. From inside its own callback every function
/// answers BRIMFUL_ERR_BUSY (or 0 where it answers a count), but for brimful_collector_info, which works, and
/// brimful_collector_free, which takes effect when the call around the callback returns.
/// Lifetime: yours from brimful_collector_new or _new_into, or from `rest` of a one-shot call, until
/// brimful_collector_free. It holds its pool and its cancel object by itself.
pub struct brimful_collector {
    handle: Handle,
}

impl brimful_collector {
    pub(crate) const fn new(collector: Collector) -> brimful_collector {
        brimful_collector {
            handle: Handle::new(collector),
        }
    }
}

/// Frees the collector if its callback, or an allocator's, asked for that during the call that ends here (E26).
///
/// # Safety
/// The caller's was the call inside, and has no borrow of the collector any more.
unsafe fn reap(collector: NonNull<brimful_collector>) {
    // SAFETY: nothing else frees it while it is doomed and a call is inside.
    if unsafe { collector.as_ref() }.handle.is_doomed() {
        // SAFETY: it came from `place` (a Box), and whoever doomed it gave it up.
        drop(unsafe { Box::from_raw(collector.as_ptr()) });
    }
}

/// Calls `f` with the collector behind the handle; BRIMFUL_ERR_INVALID for NULL, BRIMFUL_ERR_BUSY from inside.
///
/// # Safety
/// `collector` is NULL or a handle that is held.
pub(crate) unsafe fn enter<R>(
    collector: *const brimful_collector,
    f: impl FnOnce(&mut Collector) -> R,
) -> Result<R, Error> {
    let collector = NonNull::new(collector.cast_mut()).ok_or(Error::Invalid)?;
    // SAFETY: passed on from the caller. Busy returns before the reaping: the call that is inside does that.
    let result = unsafe { collector.as_ref() }.handle.with(f)?;
    // SAFETY: `with` has returned, so its borrow has ended.
    unsafe { reap(collector) };
    Ok(result)
}

/// Bytes of the caller's.
///
/// # Safety
/// `data` is readable over `length` bytes, or NULL where `length` is 0.
pub(crate) unsafe fn bytes<'a>(data: *const c_void, length: usize) -> Result<&'a [u8], Error> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() || length > isize::MAX.unsigned_abs() {
        return Err(Error::Invalid);
    }
    // SAFETY: not NULL, within the address space, and readable as the caller says.
    Ok(unsafe { slice::from_raw_parts(data.cast(), length) })
}

/// Makes a collector. pool NULL is the default pool, options NULL every default. No memory for the body is taken yet.
///
/// - BRIMFUL_OK: *collector is yours, to be freed with brimful_collector_free.
/// - BRIMFUL_ERR_INVALID: collector is NULL or an option is out of range.
/// - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *collector is NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_new(
    pool: *mut brimful_pool,
    options: *const brimful_options,
    collector: *mut *mut brimful_collector,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let out = unsafe { Out::new(collector, ptr::null_mut()) }?;
        // SAFETY: the conventions: structs and handles are what they should be.
        let (pool, options) = unsafe { (pool::borrow(pool), options::read(options)?.for_engine()?) };
        let made = place(brimful_collector::new(Collector::new(&pool, options)?)).ok_or(Error::NoMemory)?;
        out.set(Box::into_raw(made));
        Ok(BRIMFUL_OK)
    })
}

/// Makes a collector whose body is to lie in your own memory: the `capacity` bytes at `target`. It is fed like any other,
/// can be suspended, and reset (the next body then begins at the start of the same memory). The body's bytes lie at the
/// start of target as they come; how many they are is brimful_info.length, on every outcome. Bytes behind them, and all
/// around, are never written to by the library (a callback may write anywhere in its window). More than fits is
/// BRIMFUL_ERR_LIMIT, as with a limit of `capacity`, and the byte that shows it never lies in target; an announced length
/// that does not fit is refused before the source is asked.
///
/// brimful_collector_finish, _finish_exact and _take_partial give a copy for those who want one; without them
/// brimful_collector_free is all there is to do. What the library needs beside (a few bytes to see the end, such
/// a copy) comes from the default pool. options.prefer and padding are of no matter. BRIMFUL_SCRUB does not clear target.
///
/// - BRIMFUL_OK: *collector is yours, to be freed with brimful_collector_free; target stays yours, must stay where it
///   is, and nobody else may write to it until then. target may be NULL where capacity is 0: only the empty body fits.
/// - BRIMFUL_ERR_INVALID: collector is NULL, target is NULL with a capacity, capacity is beyond the address space, or
///   an option is out of range.
/// - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *collector is NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_new_into(
    options: *const brimful_options,
    target: *mut c_void,
    capacity: usize,
    collector: *mut *mut brimful_collector,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let out = unsafe { Out::new(collector, ptr::null_mut()) }?;
        let start = self::target(target, capacity)?;
        // SAFETY: the conventions: structs are what they should be; the target is as the comment requires.
        let made = unsafe {
            let (pool, options) = (pool::borrow(ptr::null()), options::read(options)?.for_engine()?);
            Collector::new_into(&pool, options, start, capacity)?
        };
        out.set(Box::into_raw(
            place(brimful_collector::new(made)).ok_or(Error::NoMemory)?,
        ));
        Ok(BRIMFUL_OK)
    })
}

/// The start of memory of the caller's, which may be NULL where it has no byte.
pub(crate) fn target(target: *mut c_void, capacity: usize) -> Result<NonNull<u8>, Error> {
    match NonNull::new(target.cast::<u8>()) {
        _ if capacity > isize::MAX.unsigned_abs() => Err(Error::Invalid),
        None if capacity > 0 => Err(Error::Invalid),
        start => Ok(start.unwrap_or(NonNull::dangling())),
    }
}

/// Asks `read` for bytes until the body is complete, the source has nothing now, or an error ends the body. `context`
/// goes to the callback as it is. At most options.max_window bytes are asked for at once, and never more than one byte
/// beyond what the limit allows.
///
/// - BRIMFUL_OK: the body is complete; call brimful_collector_finish or _finish_exact. On a body that is complete
///   already the source is not called.
/// - BRIMFUL_PENDING: the source has nothing now; what came is kept; call again later.
/// - BRIMFUL_MORE: options.max_step bytes came in this call, and no more was asked for; call again when it is its turn.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed; call again later, or take what came.
/// - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body has failed; what came can
///   be taken with brimful_collector_take_partial.
/// - BRIMFUL_ERR_STATE: a window is out, or the body was taken.
/// - BRIMFUL_ERR_BUSY: called from inside a callback of the same collector.
/// - BRIMFUL_ERR_INVALID: collector or read is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_read(
    collector: *mut brimful_collector,
    read: brimful_read_fn,
    context: *mut c_void,
) -> brimful_status {
    guard::status(|| {
        let mut source = Callback::new(read, context)?;
        // SAFETY: the conventions: a handle is one that is held.
        unsafe { read_from(collector, &mut source) }
    })
}

/// Reads with read(2) from a file descriptor, which stays yours, until the body is complete, nothing more is there now,
/// or an error ends the body. As brimful_collector_read, with these answers of the system:
///
/// - 0 bytes: the end of the body.
/// - EAGAIN: BRIMFUL_PENDING; the descriptor does not block and has nothing now; call again when it is readable. Nothing
///   is lost, and what came costs nothing again.
/// - EINTR: the read is made again, unless options.cancel was triggered: BRIMFUL_ERR_CANCELLED. So a signal handler, or a
///   thread that sends a signal after triggering, ends a read that blocks. It is never BRIMFUL_ERR_NO_PROGRESS.
/// - Any other: BRIMFUL_ERR_SOURCE, with brimful_info.source_error as -errno; what came can be taken.
///
/// A descriptor that blocks is waited for. What a regular file has from where it stands to its end serves as
/// options.size_hint where neither that nor a length is given and nothing has come yet: only advice, since files grow
/// and shrink. At most options.max_window bytes are asked for at once, never a byte beyond an announced length with
/// BRIMFUL_END_LENGTH, and at most one beyond the limit: what follows stays in the descriptor.
///
/// - BRIMFUL_OK: the body is complete; call brimful_collector_finish or _finish_exact. On a body that is complete
///   already the descriptor is not read.
/// - BRIMFUL_PENDING: nothing is there now; what came is kept; call again later.
/// - BRIMFUL_MORE: options.max_step bytes came in this call, and no more was asked for; call again when it is its turn.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed; call again later, or take what came.
/// - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CANCELLED: the body has failed; what came can be taken with
///   brimful_collector_take_partial.
/// - The body's own error: it had failed before.
/// - BRIMFUL_ERR_STATE: a window is out, or the body was taken.
/// - BRIMFUL_ERR_BUSY: called from inside a callback of the same collector.
/// - BRIMFUL_ERR_INVALID: collector is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_read_fd(collector: *mut brimful_collector, fd: i32) -> brimful_status {
    guard::status(|| {
        let mut go_on = || false; // the engine looks at the cancel object by itself (E24)
        let mut source = Descriptor::new(fd, &mut go_on);
        let hint = |collector: &mut Collector| {
            if collector.info().source_calls == 0
                && let Some(size) = source.size_hint()
            {
                collector.suggest(size);
            }
        };
        // SAFETY: the conventions: a handle is one that is held.
        unsafe {
            enter(collector, hint)?;
            read_from(collector, &mut source)
        }
    })
}

/// Reads from any source until there is something to tell the caller.
///
/// # Safety
/// `collector` is NULL or a handle that is held.
unsafe fn read_from<S: Source>(collector: *mut brimful_collector, source: &mut S) -> Result<brimful_status, Error> {
    let collector = NonNull::new(collector).ok_or(Error::Invalid)?;
    // SAFETY: passed on from the caller.
    let outcome = unsafe { collector.as_ref() }.handle.read(source);
    if outcome != Err(Error::Busy) {
        // SAFETY: this was the call inside, and it has returned.
        unsafe { reap(collector) };
    }
    outcome.map(status_of)
}

/// What a call that has read answers.
pub(crate) fn status_of(progress: Progress) -> brimful_status {
    match progress {
        Progress::Complete => BRIMFUL_OK,
        Progress::Pending => BRIMFUL_PENDING,
        Progress::More => BRIMFUL_MORE,
    }
}

/// Gives the next window: *room writable bytes at *window, to be filled from the start and handed back with
/// brimful_collector_commit. `want` is a wish in bytes, 0 for none; *room may be smaller or larger, and is never 0.
/// Calling again before the commit gives the same window. The memory is write-only, as a callback's window is, and
/// must not be used after the commit.
///
/// - BRIMFUL_OK: a window is out.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed, may be called again.
/// - BRIMFUL_ERR_LIMIT: the announced length is above the limit; the body has failed.
/// - BRIMFUL_ERR_STATE: the body is complete or was taken.
/// - The body's own error: it had failed before.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
/// - BRIMFUL_ERR_INVALID: an argument is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *window is NULL and *room 0.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_reserve(
    collector: *mut brimful_collector,
    want: usize,
    window: *mut *mut c_void,
    room: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let (window, room) = unsafe { (Out::new(window, ptr::null_mut()), Out::new(room, 0)) };
        let (window, room) = (window?, room?);
        // SAFETY: the conventions: a handle is one that is held.
        let given = unsafe { enter(collector, |collector| collector.reserve(want, false)) }??;
        window.set(given.pointer.as_ptr().cast());
        room.set(given.room);
        Ok(BRIMFUL_OK)
    })
}

/// Takes the window back with its first `filled` bytes filled, which must all have been written. 0 means that nothing
/// came, and is not the end: that is brimful_collector_end. Ask brimful_collector_is_complete whether more is wanted.
///
/// - BRIMFUL_OK: they count.
/// - BRIMFUL_ERR_CONTRACT: more than the window's room; nothing of it counts and the body has failed.
/// - BRIMFUL_ERR_LIMIT, BRIMFUL_ERR_LONG: the body has failed; what it may have can be taken.
/// - BRIMFUL_ERR_STATE: no window is out.
/// - The body's own error: it had failed before.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
/// - BRIMFUL_ERR_INVALID: collector is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_commit(collector: *mut brimful_collector, filled: usize) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a handle is one that is held; the bytes were written, as the comment requires.
        unsafe { enter(collector, |collector| collector.commit(filled)) }??;
        Ok(BRIMFUL_OK)
    })
}

/// Copies `length` bytes at `data` into the body. data may be NULL where length is 0, which does nothing.
///
/// With taken NULL all bytes are taken, or the body fails: BRIMFUL_ERR_LONG beyond an announced length,
/// BRIMFUL_ERR_LIMIT beyond the limit (what the body may have can be taken as the partial). With taken not NULL, a body
/// of announced length takes only what it lacks, and *taken says how much; the rest (the head of the next value)
/// stays yours and is no error.
///
/// - BRIMFUL_OK: the bytes were taken (with BRIMFUL_TRUNCATE, those beyond the limit are accepted and dropped).
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing was taken; the same call may be made again.
/// - BRIMFUL_ERR_STATE: a window is out, or the body is complete without a length, or was taken.
/// - The body's own error: it had failed before.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
/// - BRIMFUL_ERR_INVALID: collector is NULL, data is NULL with a length, or the length is beyond the address space.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *taken is 0.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_write(
    collector: *mut brimful_collector,
    data: *const c_void,
    length: usize,
    taken: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable; data is readable over its length.
        let (taken, data) = unsafe { (Out::new(taken, 0), bytes(data, length)?) };
        // SAFETY: the conventions: a handle is one that is held.
        unsafe {
            if let Ok(taken) = taken {
                taken.set(enter(collector, |collector| collector.write_some(data))??);
            } else {
                enter(collector, |collector| collector.write(data))??;
            }
        }
        Ok(BRIMFUL_OK)
    })
}

/// Says that the body ends here, for bodies that are written or committed.
///
/// - BRIMFUL_OK: the body is complete (it may have been so already).
/// - BRIMFUL_ERR_SHORT: fewer bytes came than were announced; the body has failed, and they can be taken.
/// - BRIMFUL_ERR_LIMIT: the announced length is above the limit.
/// - BRIMFUL_ERR_STATE: a window is out, or the body was taken.
/// - The body's own error: it had failed before.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
/// - BRIMFUL_ERR_INVALID: collector is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_end(collector: *mut brimful_collector) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a handle is one that is held.
        unsafe { enter(collector, Collector::end) }??;
        Ok(BRIMFUL_OK)
    })
}

/// Copies bytes of what has arrived so far, from `offset` on, at most `length` of them, to `target`, and returns how
/// many. 0 beyond what has arrived, after the body was taken, from inside a callback, and for NULL. Changes nothing.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_copy(
    collector: *const brimful_collector,
    offset: u64,
    target: *mut c_void,
    length: usize,
) -> usize {
    guard::catch(0, || {
        let copied = |collector: &mut Collector| {
            let there = collector.info().length.saturating_sub(offset);
            let length = length.min(usize::try_from(there).unwrap_or(usize::MAX));
            if target.is_null() || length == 0 {
                return 0;
            }
            // SAFETY: the conventions: `length` bytes are writable there; cut to what exists, they are within the
            // address space.
            collector.copy(offset, unsafe { slice::from_raw_parts_mut(target.cast(), length) })
        };
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        unsafe { enter(collector, copied) }.unwrap_or(0)
    })
}

/// Shows what has arrived so far where it lies: fills segments[0 .. capacity] with the pieces from number `first` on,
/// in order, and returns how many were filled; fewer than capacity means that these were the last. The pieces must not
/// be written to, and are valid until the next call that feeds, takes, resets or frees the collector begins; nor may they
/// be given to that call.
/// 0 after the body was taken, from inside a callback, and for NULL. Changes nothing.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_segments(
    collector: *const brimful_collector,
    first: usize,
    segments: *mut brimful_slice,
    capacity: usize,
) -> usize {
    guard::catch(0, || {
        // SAFETY: the conventions: a handle is one that is held, or NULL; `capacity` elements are writable.
        unsafe {
            enter(collector, |collector| {
                brimful_slice::fill(collector.segments().skip(first), segments, capacity)
            })
        }
        .unwrap_or(0)
    })
}

/// 1 when the body is complete or was taken, 0 when more is wanted; the error, which is negative, of a body that has
/// failed, so that a loop until it is not 0 ends. BRIMFUL_ERR_BUSY, BRIMFUL_ERR_INVALID for NULL, BRIMFUL_ERR_PANIC.
/// Changes nothing.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_is_complete(collector: *const brimful_collector) -> i32 {
    guard::status(|| {
        // SAFETY: the conventions: a handle is one that is held.
        unsafe { enter(collector, |collector| collector.is_complete()) }?.map(i32::from)
    })
}

/// Takes the complete body as a pooled buffer. Copies nothing.
///
/// - BRIMFUL_OK: *buffer is yours, to be given back with brimful_buffer_release; the collector is taken.
/// - BRIMFUL_ERR_STATE: it is not complete, or was taken; nothing changed.
/// - BRIMFUL_ERR_NO_MEMORY: nothing changed.
/// - The body's own error: it had failed before.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
/// - BRIMFUL_ERR_INVALID: an argument is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *buffer is NULL.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_finish(
    collector: *mut brimful_collector,
    buffer: *mut *mut brimful_buffer,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a handle is one that is held.
        let (out, finished) = unsafe {
            (
                Out::new(buffer, ptr::null_mut())?,
                enter(collector, Collector::finish)??,
            )
        };
        out.set(finished.into_raw().cast().as_ptr());
        Ok(BRIMFUL_OK)
    })
}

/// Takes the complete body as an exact buffer, memory of exactly its length from options.allocator or malloc. Copies
/// nothing where the length was known and BRIMFUL_PREFER_EXACT given; else the body is copied once at most.
///
/// - BRIMFUL_OK: *data has *length bytes and is yours, to be freed with free() or your own allocator, for length 0 too;
///   the collector is taken.
/// - BRIMFUL_ERR_NO_MEMORY: nothing changed; call again, or brimful_collector_finish.
/// - BRIMFUL_ERR_STATE: it is not complete, or was taken; nothing changed.
/// - The body's own error: it had failed before.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
/// - BRIMFUL_ERR_INVALID: an argument is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *data is NULL and *length 0.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_finish_exact(
    collector: *mut brimful_collector,
    data: *mut *mut c_void,
    length: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let (data, length) = unsafe { (Out::new(data, ptr::null_mut()), Out::new(length, 0)) };
        let (data, length) = (data?, length?);
        // SAFETY: the conventions: a handle is one that is held.
        let exact = unsafe { enter(collector, Collector::finish_exact) }??;
        let (pointer, bytes, _) = exact.into_raw_parts();
        data.set(pointer.as_ptr().cast());
        length.set(bytes);
        Ok(BRIMFUL_OK)
    })
}

/// Takes what has arrived, complete or not, as a pooled buffer: after any error, and also while the body is open.
///
/// - BRIMFUL_OK: *buffer is yours, to be given back with brimful_buffer_release; the collector is taken.
/// - BRIMFUL_ERR_STATE: a window is out, or it was taken already; nothing changed.
/// - BRIMFUL_ERR_NO_MEMORY: nothing changed.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
/// - BRIMFUL_ERR_INVALID: an argument is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *buffer is NULL.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_take_partial(
    collector: *mut brimful_collector,
    buffer: *mut *mut brimful_buffer,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a handle is one that is held.
        let (out, taken) = unsafe {
            (
                Out::new(buffer, ptr::null_mut())?,
                enter(collector, Collector::take_partial)??,
            )
        };
        out.set(taken.into_raw().cast().as_ptr());
        Ok(BRIMFUL_OK)
    })
}

/// Begins a new body with the same collector, whatever state it is in; what had come and was not taken is dropped.
/// options NULL is the same options again. Its numbers begin anew; a cancel object that was triggered stays so.
///
/// - BRIMFUL_OK: it is open.
/// - BRIMFUL_ERR_INVALID: collector is NULL or an option is out of range.
/// - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
/// - BRIMFUL_ERR_BUSY: nothing changed.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_reset(
    collector: *mut brimful_collector,
    options: *const brimful_options,
) -> brimful_status {
    guard::status(|| {
        let given = if options.is_null() {
            None
        } else {
            // SAFETY: the conventions: structs and handles are what they should be.
            Some(unsafe { options::read(options)?.for_engine() }?)
        };
        // SAFETY: the conventions: a handle is one that is held.
        unsafe { enter(collector, |collector| collector.reset(given)) }??;
        Ok(BRIMFUL_OK)
    })
}

/// Fills *info with the body's numbers. Works in every state, from inside a callback too.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_INVALID: an argument is NULL or info->struct_size cannot be; nothing was written.
/// - BRIMFUL_ERR_BUSY: from inside an allocator's function during a call on the same collector.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_info(
    collector: *const brimful_collector,
    info: *mut brimful_info,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a struct to be filled is writable over its struct_size.
        let fill = unsafe { Fill::new(info) }?;
        let collector = NonNull::new(collector.cast_mut()).ok_or(Error::Invalid)?;
        // SAFETY: the conventions: a handle is one that is held.
        fill.set(&unsafe { collector.as_ref() }.handle.look(Collector::info)?.into());
        Ok(BRIMFUL_OK)
    })
}

/// Frees a collector in any state, with what was not taken. Buffers that were taken stay valid. From inside its own
/// callback: the call around the callback goes on, returns its own status, and the collector is gone then. NULL does
/// nothing.
///
/// Threads: one at a time for each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_collector_free(collector: *mut brimful_collector) {
    guard::catch((), || {
        let Some(handle) = NonNull::new(collector) else { return };
        // SAFETY: the conventions: the caller gives up a handle that is held.
        if unsafe { handle.as_ref() }.handle.doom() {
            // SAFETY: nobody is inside, and it came from `place` (a Box).
            drop(unsafe { Box::from_raw(handle.as_ptr()) });
        }
    });
}
