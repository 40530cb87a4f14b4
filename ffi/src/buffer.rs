//! The pooled buffer.

use brimful_core::{Buffer, Encoding, Error, Faults, MemoryRef, Undecoded};
use core::ffi::{CStr, c_char, c_void};
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::slice;

use crate::guard::{self, Borrowed, Fill, Out};
use crate::info::brimful_info;
use crate::memory::{self, brimful_allocator};
use crate::status::{BRIMFUL_OK, brimful_status};

/// A piece of memory that is shown, laid out like struct iovec. Not to be written to.
///
/// Threads: a plain struct of yours.
/// Lifetime: what `data` points to belongs to the object that showed it; see the function that filled it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct brimful_slice {
    /// The first byte.
    pub data: *const c_void,
    /// How many bytes.
    pub length: usize,
}

impl brimful_slice {
    /// Fills the caller's array and says how many elements.
    ///
    /// # Safety
    /// `target` is writable for `capacity` elements, or NULL.
    pub(crate) unsafe fn fill<'a>(
        pieces: impl Iterator<Item = &'a [u8]>,
        target: *mut brimful_slice,
        capacity: usize,
    ) -> usize {
        let Some(target) = NonNull::new(target) else { return 0 };
        let mut count = 0;
        for piece in pieces.take(capacity) {
            // SAFETY: count < capacity.
            unsafe {
                target.add(count).write(brimful_slice {
                    data: piece.as_ptr().cast(),
                    length: piece.len(),
                });
            }
            count += 1;
        }
        count
    }
}

/// The pooled result: a body in the blocks that it arrived in. Its bytes never change.
///
/// Threads: any number of threads may read it at once; it may be retained and released on any.
/// Lifetime: counted. It lives until brimful_buffer_release was called once for the call that gave it and once for
/// each brimful_buffer_retain; then its memory goes back to the pool, and nothing that it showed may be used.
pub struct brimful_buffer {
    _opaque: (),
}

/// The engine's buffer behind a handle, its count untouched.
///
/// # Safety
/// The handle is NULL or one that is still held.
unsafe fn borrow(buffer: *const brimful_buffer) -> Result<Borrowed<Buffer>, Error> {
    let handle = NonNull::new(buffer.cast_mut()).ok_or(Error::Invalid)?;
    // SAFETY: the pointer comes from into_raw; it is not taken back, since what is made here is never dropped.
    Ok(ManuallyDrop::new(unsafe { Buffer::from_raw(handle.cast()) }))
}

/// Asks a buffer for a number; 0 for NULL.
///
/// # Safety
/// The handle is NULL or one that is still held.
unsafe fn count(buffer: *const brimful_buffer, of: impl FnOnce(&Buffer) -> usize) -> usize {
    // SAFETY: passed on from the caller.
    guard::catch(0, || unsafe { borrow(buffer) }.map_or(0, |buffer| of(&buffer)))
}

/// Its length in bytes. 0 for NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_length(buffer: *const brimful_buffer) -> usize {
    // SAFETY: the conventions: a handle is one that is held, or NULL.
    unsafe { count(buffer, Buffer::len) }
}

/// 1 when the body had more bytes than the limit and was cut there (BRIMFUL_TRUNCATE), else 0. 0 for NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_truncated(buffer: *const brimful_buffer) -> i32 {
    guard::catch(0, || {
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        unsafe { borrow(buffer) }.map_or(0, |buffer| i32::from(buffer.is_truncated()))
    })
}

/// Fills *info with the numbers of the body that the buffer holds.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_INVALID: an argument is NULL or info->struct_size cannot be; nothing was written.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_info(buffer: *const brimful_buffer, info: *mut brimful_info) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a struct to be filled is writable over its struct_size; a handle is one that is
        // held.
        let (fill, buffer) = unsafe { (Fill::new(info)?, borrow(buffer)?) };
        fill.set(&buffer.info().into());
        Ok(BRIMFUL_OK)
    })
}

/// In how many pieces it lies; 0 for the empty buffer and for NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_segment_count(buffer: *const brimful_buffer) -> usize {
    // SAFETY: the conventions: a handle is one that is held, or NULL.
    unsafe { count(buffer, Buffer::segment_count) }
}

/// Shows it where it lies, without a copy: fills segments[0 .. capacity] with the pieces from number `first` on, in
/// order, and returns how many were filled; 0 beyond the last, and for NULL. The pieces must not be written to and are
/// valid until the last release of the buffer.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_segments(
    buffer: *const brimful_buffer,
    first: usize,
    segments: *mut brimful_slice,
    capacity: usize,
) -> usize {
    // SAFETY: the conventions: a handle is one that is held, or NULL; `capacity` elements are writable.
    unsafe {
        count(buffer, |buffer| {
            brimful_slice::fill(buffer.segments().skip(first), segments, capacity)
        })
    }
}

/// Shows it as one contiguous piece: *length bytes at *data, not to be written to, valid until the last release. A
/// buffer of one piece is shown where it lies, at no cost; one of several is copied together once, by the first call,
/// and that copy is kept with the buffer. Pieces that were shown before stay valid. options.padding zero bytes follow,
/// but not behind a slice.
///
/// - BRIMFUL_OK: shown; for the empty buffer *data is not NULL, but nothing may be read there.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: no memory to copy it together; nothing changed.
/// - BRIMFUL_ERR_INVALID: an argument is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *data is NULL and *length 0.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_data(
    buffer: *const brimful_buffer,
    data: *mut *const c_void,
    length: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let (data, length) = unsafe { (Out::new(data, ptr::null()), Out::new(length, 0)) };
        let (data, length) = (data?, length?);
        // SAFETY: the conventions: a handle is one that is held.
        let buffer = unsafe { borrow(buffer) }?;
        let whole = buffer.contiguous()?;
        data.set(whole.as_ptr().cast());
        length.set(whole.len());
        Ok(BRIMFUL_OK)
    })
}

/// Copies bytes from `offset` on, at most `length` of them, to `target`, and returns how many: fewer at the end, 0
/// beyond it, and for NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_copy(
    buffer: *const brimful_buffer,
    offset: usize,
    target: *mut c_void,
    length: usize,
) -> usize {
    let copied = |buffer: &Buffer| {
        let length = length.min(buffer.len().saturating_sub(offset));
        if target.is_null() || length == 0 {
            return 0;
        }
        // SAFETY: the conventions: `length` bytes are writable there; cut to what exists, they are within the address
        // space.
        buffer.copy(offset, unsafe { slice::from_raw_parts_mut(target.cast(), length) })
    };
    // SAFETY: the conventions: a handle is one that is held, or NULL.
    unsafe { count(buffer, copied) }
}

/// Copies it into memory of exactly its length, from `allocator`, or malloc where that is NULL. The buffer stays as it
/// is and is still to be released.
///
/// - BRIMFUL_OK: *data has *length bytes and is yours, to be freed with free() or your own allocator, for length 0 too.
/// - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
/// - BRIMFUL_ERR_INVALID: an argument but allocator is NULL, or the allocator's struct_size cannot be or a function
///   that must be there is missing.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *data is NULL and *length 0.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_to_exact(
    buffer: *const brimful_buffer,
    allocator: *const brimful_allocator,
    data: *mut *mut c_void,
    length: *mut usize,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let (data, length) = unsafe { (Out::new(data, ptr::null_mut()), Out::new(length, 0)) };
        let (data, length) = (data?, length?);
        // SAFETY: the conventions: a handle is one that is held; an allocator is NULL or what its comment says.
        let (buffer, own) = unsafe { (borrow(buffer)?, memory::from_allocator(allocator)?) };
        let exact = buffer.to_exact(&own.unwrap_or_else(MemoryRef::malloc))?;
        let (pointer, bytes, _) = exact.into_raw_parts();
        data.set(pointer.as_ptr().cast());
        length.set(bytes);
        Ok(BRIMFUL_OK)
    })
}

/// Cuts `length` bytes from `offset` on out as a buffer of their own that shares the memory: no byte is copied. The
/// slice counts as a holder of all of that memory, so the buffer it was cut from may be released first; see
/// brimful_buffer_detach where a small slice would keep a large body. A slice of a slice holds the same memory, no chain.
///
/// - BRIMFUL_OK: *slice is yours, to be given back with brimful_buffer_release; length 0 gives an empty buffer.
/// - BRIMFUL_ERR_INVALID: an argument is NULL, or offset + length is beyond the buffer.
/// - BRIMFUL_ERR_NO_MEMORY: no memory for the handle.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *slice is NULL. The buffer stays as it is in every case.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_slice(
    buffer: *const brimful_buffer,
    offset: usize,
    length: usize,
    slice: *mut *mut brimful_buffer,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable, a handle is one that is held.
        let (out, buffer) = unsafe { (Out::new(slice, ptr::null_mut())?, borrow(buffer)?) };
        out.set(buffer.slice(offset, length)?.into_raw().cast().as_ptr());
        Ok(BRIMFUL_OK)
    })
}

/// Lets a slice go of what it was cut from: its bytes are copied into memory of their own, and the rest can go back to
/// the pool. A buffer that is no slice, or a slice of all of it, stays as it is, at no cost.
///
/// No other thread may use the buffer during the call, and what it showed before must not be used any more; its length
/// and its bytes are the same as before. Other holds of the same buffer see the copy too; other slices are not touched.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: no memory for the copy; nothing changed, and what it showed is still
///   valid.
/// - BRIMFUL_ERR_INVALID: buffer is NULL.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: one, while no other uses the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_detach(buffer: *mut brimful_buffer) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a handle is one that is held. The comment requires that no other thread is there, and
        // that nothing shown before is used again.
        unsafe { borrow(buffer)?.detach_in_place() }?;
        Ok(BRIMFUL_OK)
    })
}

/// For brimful_buffer_decode: what is no text becomes U+FFFD instead of an error.
pub const BRIMFUL_DECODE_REPLACE: u32 = 1;

/// Decodes it into UTF-8 text of its own, straight from where it lies, wherever its pieces are cut. The text is *length
/// bytes, may hold NUL characters, and ends in one more NUL that is not counted. The buffer stays as it is and is still
/// to be released.
///
/// `encoding` is a name as HTTP and HTML have it ("utf-8", "latin1", "Shift_JIS"): any label of the Encoding Standard
/// of WHATWG, in which "latin1" and "us-ascii" mean windows-1252, and "utf-32", "utf-32le", "utf-32be"; "utf-16" and
/// "utf-32" are little endian. Case, white space and one pair of quotes around it do not matter. A byte order mark of
/// this encoding is dropped; another one is read as text. NULL: the byte order mark decides, looked for in the order
/// UTF-8, UTF-32LE, UTF-16LE, UTF-16BE, and is dropped; without one it is UTF-8. A library built without its feature
/// legacy-encodings knows UTF-8, UTF-16 and UTF-32 only.
///
/// `flags` is 0 or BRIMFUL_DECODE_REPLACE: each fault becomes U+FFFD, as many as the Encoding Standard says. `allocator`
/// NULL is malloc, realloc and free. *length + 1 bytes are what the text's memory has in the end: taken at once for UTF-8,
/// UTF-16 and UTF-32 without faults and for ASCII in any encoding, else reallocated as the text turns out longer or
/// shorter, or, where the allocator cannot reallocate, copied into another piece.
///
/// - BRIMFUL_OK: *utf8 is yours, to be freed with free() or your own allocator, for the empty text too.
/// - BRIMFUL_ERR_ENCODING: bytes that are no text in the encoding; *error_offset is where they begin, in bytes from the
///   buffer's first, a byte order mark counted. error_offset may be NULL, and is 0 after anything else.
/// - BRIMFUL_ERR_NO_MEMORY: no memory for the text.
/// - BRIMFUL_ERR_INVALID: buffer, utf8 or length is NULL, the encoding is unknown (the empty string too), there are other
///   flags, or the allocator's struct_size cannot be or a function that must be there is missing.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *utf8 is NULL and *length 0. The buffer stays as it is in every case.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_decode(
    buffer: *const brimful_buffer,
    encoding: *const c_char,
    flags: u32,
    allocator: *const brimful_allocator,
    utf8: *mut *mut c_char,
    length: *mut usize,
    error_offset: *mut u64,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let (utf8, length) = unsafe { (Out::new(utf8, ptr::null_mut()), Out::new(length, 0)) };
        // SAFETY: as above; the one that may be NULL is only used where it is not.
        let error_offset = unsafe { Out::new(error_offset, 0) }.ok();
        let (utf8, length) = (utf8?, length?);
        let faults = match flags {
            0 => Faults::Strict,
            BRIMFUL_DECODE_REPLACE => Faults::Replace,
            _ => return Err(Error::Invalid),
        };
        let given = match encoding.is_null() {
            true => None,
            false => {
                // SAFETY: the conventions: a text of the caller's is readable up to its NUL.
                let label = unsafe { CStr::from_ptr(encoding) };
                Some(Encoding::for_label(label.to_bytes()).ok_or(Error::Invalid)?)
            }
        };
        // SAFETY: the conventions: a handle is one that is held; an allocator is NULL or what its comment says.
        let (buffer, own) = unsafe { (borrow(buffer)?, memory::from_allocator(allocator)?) };
        let text = buffer.text(given);
        match text.to_exact(faults, &own.unwrap_or_else(MemoryRef::malloc), 1) {
            Ok(exact) => {
                let (pointer, bytes, _) = exact.into_raw_parts();
                utf8.set(pointer.as_ptr().cast());
                length.set(bytes);
                Ok(BRIMFUL_OK)
            }
            Err(undecoded) => {
                if let (Undecoded::Fault(fault), Some(offset)) = (undecoded, error_offset) {
                    offset.set(fault.offset as u64);
                }
                Err(undecoded.into())
            }
        }
    })
}

/// Takes one more hold, to be given back with brimful_buffer_release, and returns buffer. NULL gives NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_retain(buffer: *mut brimful_buffer) -> *mut brimful_buffer {
    guard::catch(ptr::null_mut(), || {
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        let held = unsafe { borrow(buffer) };
        held.map_or(ptr::null_mut(), |buffer| {
            Buffer::clone(&buffer).into_raw().cast().as_ptr()
        })
    })
}

/// Gives one hold back, on any thread. The last one gives the memory back to the pool; nothing that the buffer showed
/// may be used any more. NULL does nothing.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_buffer_release(buffer: *mut brimful_buffer) {
    guard::catch((), || {
        if let Some(handle) = NonNull::new(buffer) {
            // SAFETY: the conventions: the caller gives up a hold that into_raw made.
            drop(unsafe { Buffer::from_raw(handle.cast()) });
        }
    });
}
