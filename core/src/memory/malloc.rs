//! malloc, realloc and free: what exact results are made of, so that `free` frees them; and how they are grown well. Hosts
//! whose objects lie in malloc's memory (a `bytes` of Python) grow theirs by the same [`Calls`].

use super::huge::{self, HUGE_FROM};
use super::{Cost, Memory, Profile, Raw};
use core::ffi::c_void;
use core::ptr::NonNull;

/// Memory of which nothing has arrived yet asks for huge pages from here on: above `max_prealloc`, so that an announcement
/// alone never takes one (E3). It is also where glibc gives every piece a mapping of its own, whatever it has learned.
const FRESH_FROM: usize = 32 << 20;

/// The smallest piece that glibc gives a mapping of its own, unless it is told otherwise. Smaller ones are not looked at:
/// a host may have them from elsewhere (pymalloc up to 512 bytes), and malloc asked of such a piece takes the bytes in
/// front of it for its size, and reads where they lead.
const LEAST_MAPPING: usize = 128 << 10;

/// An allocator with the three calls of C's, over memory that is in the end malloc's; pieces below 128 KiB may be of
/// another kind.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// As `malloc`.
    pub allocate: unsafe extern "C" fn(usize) -> *mut c_void,
    /// As `realloc`.
    pub reallocate: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    /// As `free`.
    pub free: unsafe extern "C" fn(*mut c_void),
}

impl Calls {
    /// The C library's own.
    pub const LIBC: Calls = Calls {
        allocate: libc::malloc,
        reallocate: libc::realloc,
        free: libc::free,
    };

    /// A new piece of `size` bytes; large ones ask for huge pages.
    #[must_use]
    pub fn get(&self, size: usize) -> Option<NonNull<u8>> {
        if size > isize::MAX.unsigned_abs() {
            return None;
        }
        // SAFETY: malloc may be called with any size.
        let pointer = NonNull::new(unsafe { (self.allocate)(size) }.cast::<u8>())?;
        // SAFETY: malloc has just given it, for this size.
        unsafe { prefer_huge_pages(pointer, size) };
        Some(pointer)
    }

    /// Changes a piece of `from` bytes to one of `to`, its first bytes kept, and says what that cost; `None`, with nothing
    /// changed, when it cannot.
    ///
    /// # Safety
    /// `pointer` came from these calls for `from` bytes, it is alive, and nobody else looks at it.
    pub unsafe fn resize(&self, pointer: NonNull<u8>, from: usize, to: usize) -> Option<(NonNull<u8>, Cost)> {
        if to > isize::MAX.unsigned_abs() {
            return None;
        }
        let mut cost = Cost { requests: 1, copied: 0 };
        // SAFETY: the caller promises that the piece is malloc's, of `from` bytes.
        let mapping = unsafe { own_mapping(pointer, from) }.is_some();
        if to >= FRESH_FROM && from < to && !mapping {
            // Out of the heap into a mapping: realloc would copy into small pages before anybody could ask for huge ones.
            let larger = self.get(to)?;
            // SAFETY: both pieces are `from` bytes long at least, and the new one is apart; the old one is given up.
            unsafe {
                pointer.copy_to_nonoverlapping(larger, from);
                (self.free)(pointer.as_ptr().cast());
            }
            cost.copied = from as u64;
            return Some((larger, cost));
        }
        // SAFETY: the caller's promise.
        let resized = NonNull::new(unsafe { (self.reallocate)(pointer.as_ptr().cast(), to) }.cast::<u8>())?;
        if from < to && to >= HUGE_FROM {
            // Half of it has arrived, so that what a huge page takes beyond that is little.
            // SAFETY: realloc has just given it, for this size.
            unsafe { advise_own_mapping(resized, to) };
        }
        if mapping && to < from && from <= FRESH_FROM {
            // glibc takes a freed mapping's size as the size up to which it serves from the heap, where memory stays warm.
            // After this shrinking it would only learn `to`, and the next body of this size would be a mapping again, with
            // fresh pages all over: 1 MB took 340 us instead of 18. So it is shown the size that was really needed; the
            // piece is never touched.
            // SAFETY: any size may be asked for, and what comes is freed at once.
            unsafe { (self.free)(core::hint::black_box((self.allocate)(from))) };
            cost.requests += 1;
        }
        Some((resized, cost))
    }
}

/// The whole mapping of a piece that malloc gave, where it has one of its own. glibc says so by where the piece lies in a
/// page and by how much of it may be used: two words less than whole pages. Of heap memory, of which one word less than
/// a multiple of 16 may be used, that can never be said; of another malloc it could be, and then advice goes astray, which
/// changes no byte.
///
/// # Safety
/// `pointer` came from this process' malloc or realloc, for `size` bytes at least, and is alive; below 128 KiB it may be
/// any piece.
unsafe fn own_mapping(pointer: NonNull<u8>, size: usize) -> Option<(NonNull<u8>, usize)> {
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    {
        /// Where the pointer lies in a page if the chunk is a mapping of its own: behind two size words.
        const PHASE: usize = 16;
        if size < LEAST_MAPPING || pointer.addr().get() % super::PAGE != PHASE {
            return None;
        }
        // Asked for and not read from the word before the piece, which valgrind would call an invalid read.
        // SAFETY: the piece is malloc's and alive.
        let length = unsafe { libc::malloc_usable_size(pointer.as_ptr().cast()) } + PHASE;
        let is_own = length >= size + PHASE && length.is_multiple_of(super::PAGE);
        // SAFETY: in the same page, by its phase.
        is_own.then(|| (unsafe { pointer.sub(PHASE) }, length))
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
    {
        let _ = (pointer, size);
        None
    }
}

/// Asks for huge pages where the piece is a mapping of its own; heap memory shares its mapping with others.
///
/// The whole mapping is advised: mremap, by which realloc grows it, fails where advice on a part has split it in two, and
/// realloc then copies everything (a hundred times slower, measured).
///
/// # Safety
/// As for [`own_mapping`].
unsafe fn advise_own_mapping(pointer: NonNull<u8>, size: usize) {
    // SAFETY: passed on from the caller.
    if let Some((start, length)) = unsafe { own_mapping(pointer, size) } {
        // SAFETY: the mapping is the piece's own.
        unsafe { huge::advise_all(start, length) };
    }
}

/// Asks for huge pages for fresh memory that malloc gave, where it is large enough for them. For hosts whose objects come
/// by other calls than [`Calls::get`].
///
/// # Safety
/// `pointer` came from this process' malloc, for `size` bytes at least, and is alive.
pub unsafe fn prefer_huge_pages(pointer: NonNull<u8>, size: usize) {
    if size >= FRESH_FROM {
        // SAFETY: passed on from the caller.
        unsafe { advise_own_mapping(pointer, size) };
    }
}

/// The memory of exact results.
#[derive(Debug)]
pub(super) struct Malloc;

/// The memory of exact results. Alignment is malloc's.
pub(super) static MALLOC: Malloc = Malloc;

fn piece(pointer: NonNull<u8>, size: usize) -> Raw {
    Raw {
        pointer,
        capacity: size,
        reserve: size,
        token: 0,
        lazy: false,
        huge: false,
        dirty: size,
    }
}

/// What it can do.
pub(super) const PROFILE: Profile = Profile {
    grows: false,
    fixed_up_to: usize::MAX,
    detachable: false,
    reallocates: true,
};

// SAFETY: each piece is one live allocation of the C library, freed only by deallocate. `align` is only ever 16 for the
// memory of exact results, which is malloc's own alignment.
unsafe impl Memory for Malloc {
    fn profile(&self) -> Profile {
        PROFILE
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        debug_assert!(align <= super::EXACT_ALIGN);
        let size = size.max(1);
        Calls::LIBC.get(size).map(|pointer| piece(pointer, size))
    }

    unsafe fn reallocate(&self, raw: &mut Raw, size: usize) -> Option<Cost> {
        let size = size.max(1);
        // SAFETY: the piece came from `allocate` above or from here, and nobody else looks at it.
        let (pointer, cost) = unsafe { Calls::LIBC.resize(raw.pointer, raw.capacity, size) }?;
        *raw = piece(pointer, size);
        Some(cost)
    }

    unsafe fn deallocate(&self, raw: Raw) {
        // SAFETY: the piece came from malloc or realloc, and its owner gives it up here.
        unsafe { libc::free(raw.pointer.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::EXACT_ALIGN;

    #[test]
    fn pieces_are_writable_over_their_capacity_and_too_large_ones_are_refused() {
        for size in [0, 1, 100, 16 << 10, 3 << 20] {
            let raw = MALLOC.allocate(size, EXACT_ALIGN).expect("memory");
            assert!(raw.pointer.addr().get() % EXACT_ALIGN == 0 && raw.capacity >= size);
            // SAFETY: the piece is ours and this large; it goes back where it came from.
            unsafe {
                raw.pointer.as_ptr().write_bytes(7, raw.capacity);
                MALLOC.deallocate(raw);
            }
        }
        assert!(MALLOC.allocate(usize::MAX - 64, EXACT_ALIGN).is_none());
        let mut raw = MALLOC.allocate(10, EXACT_ALIGN).expect("memory");
        // SAFETY: it came from this memory above, and goes back there.
        unsafe {
            assert!(MALLOC.reallocate(&mut raw, usize::MAX).is_none() && raw.capacity == 10);
            MALLOC.deallocate(raw);
        }
    }

    #[test]
    fn resizing_keeps_the_first_bytes_through_heap_mappings_and_back() {
        let mut raw = MALLOC.allocate(1000, EXACT_ALIGN).expect("memory");
        let mut written = 0;
        for size in [
            1000,
            70_000,
            300_000,
            5 << 20,
            20 << 20,
            40 << 20,
            90 << 20,
            33 << 20,
            6 << 20,
            200_000,
            9,
        ] {
            if size > 1000 || written > 0 {
                // SAFETY: it came from this memory, and nobody else looks at it.
                unsafe { MALLOC.reallocate(&mut raw, size) }.expect("memory");
            }
            assert_eq!(raw.capacity, size);
            // SAFETY: the piece is `size` bytes long.
            let bytes = unsafe { core::slice::from_raw_parts_mut(raw.pointer.as_ptr(), size) };
            let kept = written.min(size);
            let painted = |offset: usize| u8::try_from(offset % 251).expect("small");
            assert!(
                bytes[..kept]
                    .iter()
                    .enumerate()
                    .all(|(offset, byte)| *byte == painted(offset)),
                "{size}"
            );
            (written..size).for_each(|offset| bytes[offset] = painted(offset));
            written = size;
        }
        // SAFETY: as above.
        unsafe { MALLOC.deallocate(raw) };
    }

    #[test]
    fn what_lies_before_a_small_piece_of_another_allocator_is_not_taken_for_its_size() {
        #[repr(align(4096))]
        struct Arena([u8; 4096]);
        unsafe extern "C" fn none(_: usize) -> *mut c_void {
            core::ptr::null_mut()
        }
        unsafe extern "C" fn stay(piece: *mut c_void, _: usize) -> *mut c_void {
            piece
        }
        unsafe extern "C" fn nothing(_: *mut c_void) {}
        let calls = Calls {
            allocate: none,
            reallocate: stay,
            free: nothing,
        };
        let mut arena = Arena([b'a'; 4096]);
        let piece = NonNull::from(&mut arena.0).cast::<u8>();
        // SAFETY: within the arena.
        let piece = unsafe { piece.add(16) };
        for to in [40, 100] {
            // SAFETY: the piece came from these calls, which leave it where it is.
            let (resized, cost) = unsafe { calls.resize(piece, 80, to) }.expect("it stays");
            assert_eq!((resized, cost), (piece, Cost { requests: 1, copied: 0 }));
        }
    }

    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    #[test]
    fn after_a_body_was_shrunk_the_next_one_of_its_size_is_served_from_the_heap() {
        let grown = || {
            let mut raw = MALLOC.allocate(64 << 10, EXACT_ALIGN).expect("memory");
            // SAFETY: the piece is this memory's, and nobody else looks at it.
            unsafe {
                MALLOC.reallocate(&mut raw, 3 << 20).expect("memory");
                let mapped = own_mapping(raw.pointer, raw.capacity).is_some();
                MALLOC.reallocate(&mut raw, 2_000_001).expect("memory");
                MALLOC.deallocate(raw);
                mapped
            }
        };
        grown(); // whatever glibc had learned before from other tests
        assert!(!grown());
    }
}
