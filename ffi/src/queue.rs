//! The hand-off queue.

use brimful_core::memory::place;
use brimful_core::{Error, Got, Queue};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::slice;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::buffer::brimful_slice;
use crate::collector::{self, brimful_collector};
use crate::guard::{self, Out};
use crate::pool::{self, brimful_pool};
use crate::status::{BRIMFUL_MORE, BRIMFUL_OK, BRIMFUL_PENDING, brimful_status};

/// A first-in first-out queue of bytes between a producer and a reader, in blocks of a pool. The producer writes, or
/// fills windows (brimful_queue_reserve, brimful_queue_commit), and says at last that it has ended (brimful_queue_end). The
/// reader reads, looks at what waits where it lies (brimful_queue_peek, brimful_queue_skip), or lets a collector have it
/// (brimful_queue_move), which copies nothing where whole blocks can move. Nothing ever waits: the producer gets
/// BRIMFUL_PENDING when as many bytes wait as the capacity says, the reader when none does.
///
/// Blocks are of 4 KiB at first and grow with what waits, to 64 KiB (256 KiB where the pool reserves no address space), and
/// each goes back to the pool as soon as it was read.
/// Beside the bytes that wait, a queue holds at most what was read of its first block and what is not yet filled of its
/// last one; an empty queue with no window out holds at most 16 KiB, an ended one that was read nothing.
///
/// The producer's end is for good: afterwards its calls answer BRIMFUL_ERR_STATE. The reader's calls fit in every state,
/// while a window is out too.
///
/// Threads: by one thread at a time; it may move from one to another. A producer and a reader on two threads share it
/// behind a lock of yours, held for one call; copying what brimful_queue_peek showed, and filling a window, need no lock.
/// A call from inside an allocator's function, while the call around it is inside the queue, answers BRIMFUL_ERR_BUSY.
/// Lifetime: yours from brimful_queue_new until brimful_queue_free. It holds its pool by itself. What moved to a
/// collector belongs to that, and may outlive the queue.
pub struct brimful_queue {
    inside: AtomicBool,
    doomed: AtomicBool,
    queue: UnsafeCell<Queue>,
}

/// The time that a call is inside; ends when the code inside panics, too.
struct Inside<'a>(&'a brimful_queue);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.store(false, Ordering::Relaxed);
    }
}

/// Calls `f` with the queue behind the handle; BRIMFUL_ERR_INVALID for NULL, BRIMFUL_ERR_BUSY while a call is inside.
///
/// # Safety
/// `queue` is NULL or a handle that is held.
unsafe fn enter<R>(queue: *const brimful_queue, f: impl FnOnce(&mut Queue) -> R) -> Result<R, Error> {
    let handle = NonNull::new(queue.cast_mut()).ok_or(Error::Invalid)?;
    // SAFETY: passed on from the caller.
    let object = unsafe { handle.as_ref() };
    // A load and a store: threads keep out of each other's way by the rule above, and a locked exchange took as long as all
    // the rest of a small write.
    if object.inside.load(Ordering::Relaxed) {
        return Err(Error::Busy);
    }
    object.inside.store(true, Ordering::Relaxed);
    let inside = Inside(object);
    // SAFETY: by one thread at a time, as the comment of brimful_queue requires, and no call is inside on this one, so
    // this is the only reference to the queue until `inside` is dropped.
    let result = f(unsafe { &mut *object.queue.get() });
    drop(inside);
    if object.doomed.load(Ordering::Relaxed) {
        // SAFETY: it came from `place` (a Box), and whoever doomed it during this call gave it up.
        drop(unsafe { Box::from_raw(handle.as_ptr()) });
    }
    Ok(result)
}

/// What a reader's call answers, with its count where bytes came.
fn answer(got: Got, count: &Out<usize>) -> brimful_status {
    match got {
        Got::Bytes(0) => BRIMFUL_MORE,
        Got::Bytes(bytes) => {
            count.set(bytes);
            BRIMFUL_OK
        }
        Got::Pending => BRIMFUL_PENDING,
        Got::End => BRIMFUL_OK,
        Got::Failed(number) => number,
    }
}

/// Makes a queue in which at most `capacity` bytes wait; BRIMFUL_UNLIMITED: as many as there is memory for. pool NULL is
/// the default pool. No memory for bytes is taken yet.
///
/// - BRIMFUL_OK: *queue is yours, to be freed with brimful_queue_free.
/// - BRIMFUL_ERR_INVALID: queue is NULL or capacity is 0.
/// - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *queue is NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_new(
    pool: *mut brimful_pool,
    capacity: u64,
    queue: *mut *mut brimful_queue,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a handle is one that is held.
        let (out, pool) = unsafe { (Out::new(queue, ptr::null_mut())?, pool::borrow(pool)) };
        let made = brimful_queue {
            inside: AtomicBool::new(false),
            doomed: AtomicBool::new(false),
            queue: UnsafeCell::new(Queue::new(&pool, capacity)?),
        };
        out.set(Box::into_raw(place(made).ok_or(Error::NoMemory)?));
        Ok(BRIMFUL_OK)
    })
}

/// Copies bytes at `data` to the tail, as many as the capacity has room for; *written says how many. data may be NULL where
/// length is 0.
///
/// - BRIMFUL_OK: all `length` bytes were taken.
/// - BRIMFUL_PENDING: the queue is full now; the first *written bytes were taken, the rest stays yours: write it once
///   the reader has made room.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing was taken; the same call, or one with fewer bytes, may be made
///   again.
/// - BRIMFUL_ERR_STATE: the queue was ended, or a window is out.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
/// - BRIMFUL_ERR_INVALID: queue or written is NULL, data is NULL with a length, or the length is beyond the address
///   space.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *written is 0.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_write(
    queue: *mut brimful_queue,
    data: *const c_void,
    length: usize,
    written: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable; data is readable over its length; a handle is one
        // that is held.
        let (out, taken) = unsafe {
            let (out, data) = (Out::new(written, 0)?, collector::bytes(data, length)?);
            (out, enter(queue, |queue| queue.write(data))??)
        };
        out.set(taken);
        Ok(if taken < length { BRIMFUL_PENDING } else { BRIMFUL_OK })
    })
}

/// Gives a window at the tail: *room writable bytes at *window, to be filled from the start and handed back with
/// brimful_queue_commit. `want` is a wish in bytes, 0 for none; *room may be smaller or larger, is never 0, and at least
/// 4096 unless the capacity has room for less. Calling again before the commit gives the same window. The memory is
/// write-only, as a callback's window is, and must not be used after the commit. The reader may go on meanwhile.
///
/// - BRIMFUL_OK: a window is out.
/// - BRIMFUL_PENDING: the queue is full now, and no window is out.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed, may be called again.
/// - BRIMFUL_ERR_STATE: the queue was ended.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
/// - BRIMFUL_ERR_INVALID: an argument is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Unless it is BRIMFUL_OK, *window is NULL and *room 0.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_reserve(
    queue: *mut brimful_queue,
    want: usize,
    window: *mut *mut c_void,
    room: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let (window, room) = unsafe { (Out::new(window, ptr::null_mut()), Out::new(room, 0)) };
        let (window, room) = (window?, room?);
        // SAFETY: the conventions: a handle is one that is held.
        let Some(given) = unsafe { enter(queue, |queue| queue.reserve(want, false)) }?? else {
            return Ok(BRIMFUL_PENDING);
        };
        window.set(given.pointer.as_ptr().cast());
        room.set(given.room);
        Ok(BRIMFUL_OK)
    })
}

/// Takes the window back with its first `filled` bytes filled, which must all have been written. 0 means that nothing
/// came, and is not the end: that is brimful_queue_end.
///
/// - BRIMFUL_OK: they wait to be read.
/// - BRIMFUL_ERR_CONTRACT: more than the window's room; nothing of it counts, and the queue has ended with this error
///   for its reader too.
/// - BRIMFUL_ERR_STATE: no window is out.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
/// - BRIMFUL_ERR_INVALID: queue is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_commit(queue: *mut brimful_queue, filled: usize) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a handle is one that is held; the bytes were written, as the comment requires.
        unsafe { enter(queue, |queue| queue.commit(filled)) }??;
        Ok(BRIMFUL_OK)
    })
}

/// Says that no more will come. The reader sees it after the last byte, and again at each later call: with `status`
/// BRIMFUL_OK as the end, with a negative one as that very number, which may be one of yours.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_STATE: the queue was ended before, or a window is out; nothing changed.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
/// - BRIMFUL_ERR_INVALID: queue is NULL or status is above 0.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_end(queue: *mut brimful_queue, status: brimful_status) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a handle is one that is held.
        unsafe { enter(queue, |queue| queue.end(status)) }??;
        Ok(BRIMFUL_OK)
    })
}

/// Copies bytes from the head to `target`, as many as wait and it has room for; they leave the queue. target may be NULL
/// where capacity is 0.
///
/// - BRIMFUL_OK: *length bytes were read; with 0 bytes this is the end.
/// - BRIMFUL_PENDING: none waits now.
/// - BRIMFUL_MORE: bytes wait, but capacity is 0.
/// - A negative status that the producer gave to brimful_queue_end, once all was read.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
/// - BRIMFUL_ERR_INVALID: queue or length is NULL, or target is NULL with a capacity.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Unless bytes were read, *length is 0.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_read(
    queue: *mut brimful_queue,
    target: *mut c_void,
    capacity: usize,
    length: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let out = unsafe { Out::new(length, 0) }?;
        let start = collector::target(target, capacity.min(isize::MAX.unsigned_abs()))?;
        let read = |queue: &mut Queue| {
            let capacity = capacity.min(queue.len());
            // SAFETY: the conventions: `capacity` bytes are writable there; cut to what waits, they are within the address
            // space. Not NULL by `target`, but where it has no byte.
            queue.read(unsafe { slice::from_raw_parts_mut(start.as_ptr(), capacity) })
        };
        // SAFETY: the conventions: a handle is one that is held.
        let got = unsafe { enter(queue, read) }?;
        Ok(answer(got, &out))
    })
}

/// Shows what waits where it lies, from the head on: fills slices[0 .. capacity] with the pieces, in order; *count says how
/// many. Fewer than capacity means that these were all. The pieces must not be written to. They stay where they are until
/// brimful_queue_read, _skip, _move or _free is called, whatever the producer does meanwhile. slices may be NULL where
/// capacity is 0. Nothing leaves the queue: see brimful_queue_skip.
///
/// - BRIMFUL_OK: *count pieces; with 0 pieces this is the end.
/// - BRIMFUL_PENDING: no byte waits now.
/// - BRIMFUL_MORE: bytes wait, but capacity is 0.
/// - A negative status that the producer gave to brimful_queue_end, once all was read.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
/// - BRIMFUL_ERR_INVALID: queue or count is NULL, or slices is NULL with a capacity.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Unless pieces were shown, *count is 0.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_peek(
    queue: *const brimful_queue,
    slices: *mut brimful_slice,
    capacity: usize,
    count: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let out = unsafe { Out::new(count, 0) }?;
        if slices.is_null() && capacity > 0 {
            return Err(Error::Invalid);
        }
        let shown = |queue: &mut Queue| match queue.waiting() {
            // SAFETY: the conventions: `capacity` elements are writable.
            Got::Bytes(_) => Got::Bytes(unsafe { brimful_slice::fill(queue.peek(), slices, capacity) }),
            empty => empty,
        };
        // SAFETY: the conventions: a handle is one that is held.
        let got = unsafe { enter(queue, shown) }?;
        Ok(answer(got, &out))
    })
}

/// Drops `length` bytes from the head, after they were looked at with brimful_queue_peek or because nobody wants them.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_INVALID: queue is NULL or fewer bytes wait; nothing was dropped.
/// - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_skip(queue: *mut brimful_queue, length: usize) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a handle is one that is held.
        unsafe { enter(queue, |queue| queue.skip(length)) }??;
        Ok(BRIMFUL_OK)
    })
}

/// Gives what waits to a collector, from the head on, as brimful_collector_write with `taken` would: a body of announced
/// length takes what it lacks, and what follows (the head of the next value) stays in the queue; without a length the
/// body takes all. The queue's end is not passed on: call brimful_collector_end when it comes.
///
/// Where the collector has the same pool, blocks move to it as they lie, and no byte is copied; but a block of which the
/// body gets only the first part, or that is mostly empty, is copied, and so is everything for a body that lies elsewhere:
/// in an exact result of known length, in a target of yours, in another pool. Such copying is the bytes' landing, and not
/// brimful_info.copied. Moved blocks stay charged to the pool's budget.
///
/// - BRIMFUL_OK: *taken bytes left the queue and are in the body (or dropped, beyond the limit with BRIMFUL_TRUNCATE);
///   with 0 bytes this is the end of the queue.
/// - BRIMFUL_PENDING: no byte waits now.
/// - BRIMFUL_MORE: bytes wait, but the collector is complete and takes none.
/// - A negative status that the producer gave to brimful_queue_end, once all was read; the collector is as it was then,
///   and its partial can be taken.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing moved; call again. Where memory runs out after some bytes have
///   moved, that is BRIMFUL_OK with these.
/// - BRIMFUL_ERR_LIMIT: the body has failed; what it may have is in it and has left the queue (brimful_queue_length
///   tells), what is beyond the limit stays.
/// - The error of a body that has failed, and BRIMFUL_ERR_STATE: the collector's window is out, its body is complete
///   without a length, or was taken; the queue is as it was. brimful_collector_is_complete tells such an error from the
///   producer's.
/// - BRIMFUL_ERR_BUSY: a call is inside the queue or the collector.
/// - BRIMFUL_ERR_INVALID: an argument is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Unless bytes moved, *taken is 0.
///
/// Threads: one at a time for each queue and each collector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_move(
    queue: *mut brimful_queue,
    collector: *mut brimful_collector,
    taken: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a handle is one that is held.
        let (out, got) = unsafe {
            let out = Out::new(taken, 0)?;
            let moved = enter(queue, |queue| {
                collector::enter(collector, |collector| queue.move_to(collector))
            });
            (out, moved???)
        };
        Ok(answer(got, &out))
    })
}

/// How many bytes wait, at no cost. 0 for NULL and while a call is inside.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_length(queue: *const brimful_queue) -> u64 {
    guard::catch(0, || {
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        unsafe { enter(queue, |queue| queue.len() as u64) }.unwrap_or(0)
    })
}

/// Frees a queue in any state, with what waits in it; a window that is out must not be used any more, nor what was shown.
/// What moved to a collector stays there. From an allocator's function during a call on the queue: it is gone when that
/// call returns. NULL does nothing.
///
/// Threads: one at a time for each queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_queue_free(queue: *mut brimful_queue) {
    guard::catch((), || {
        let Some(handle) = NonNull::new(queue) else { return };
        // SAFETY: the conventions: the caller gives up a handle that is held.
        let object = unsafe { handle.as_ref() };
        object.doomed.store(true, Ordering::Relaxed);
        if !object.inside.load(Ordering::Relaxed) {
            // SAFETY: nobody is inside, and it came from `place` (a Box).
            drop(unsafe { Box::from_raw(handle.as_ptr()) });
        }
    });
}
