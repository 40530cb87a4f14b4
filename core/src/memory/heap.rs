//! Plain heap blocks, by the C library's allocator: what exact results are made of (so that `free` frees them), and
//! the fallback for blocks where no address space can be reserved.

use super::{Memory, Profile, Raw};
use core::ptr::NonNull;

/// Blocks aligned as asked; a body lies in a list of them.
#[derive(Debug)]
pub struct Heap {
    reallocates: bool,
}

/// The memory of pools that reserve no address space.
pub static HEAP: Heap = Heap { reallocates: false };
/// The memory of exact results. Alignment is malloc's.
pub static MALLOC: Heap = Heap { reallocates: true };

/// What malloc aligns to on every platform this is built for; more is asked for by `posix_memalign`.
const MALLOC_ALIGN: usize = 16;

// SAFETY: each piece is one live allocation of the C library, freed only by deallocate.
unsafe impl Memory for Heap {
    fn profile(&self) -> Profile {
        Profile {
            grows: false,
            fixed_up_to: usize::MAX,
            detachable: false,
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        let size = size.max(1);
        if size > isize::MAX.unsigned_abs() {
            return None;
        }
        let pointer = if align <= MALLOC_ALIGN {
            // SAFETY: malloc may be called with any size.
            unsafe { libc::malloc(size) }
        } else {
            let mut pointer = core::ptr::null_mut();
            // SAFETY: align is a power of two and a multiple of the pointer size (16 or 64, see the trait).
            match unsafe { libc::posix_memalign(&raw mut pointer, align, size) } {
                0 => pointer,
                _ => core::ptr::null_mut(),
            }
        };
        let pointer = NonNull::new(pointer.cast::<u8>())?;
        if self.reallocates {
            // SAFETY: malloc has just given it, for this size.
            unsafe { super::prefer_huge_pages(pointer, size) };
        }
        Some(Raw {
            pointer,
            capacity: size,
            reserve: size,
            token: 0,
            lazy: false,
            huge: false,
            dirty: size,
        })
    }

    unsafe fn reallocate(&self, raw: &mut Raw, size: usize) -> bool {
        let size = size.max(1);
        if !self.reallocates || size > isize::MAX.unsigned_abs() {
            return false;
        }
        // SAFETY: the piece came from malloc above (MALLOC is only asked for malloc's alignment) and is still live.
        let pointer = unsafe { libc::realloc(raw.pointer.as_ptr().cast(), size) };
        let Some(pointer) = NonNull::new(pointer.cast::<u8>()) else {
            return false;
        };
        *raw = Raw {
            pointer,
            capacity: size,
            reserve: size,
            token: 0,
            lazy: false,
            huge: false,
            dirty: size,
        };
        true
    }

    unsafe fn deallocate(&self, raw: Raw) {
        // SAFETY: the piece came from malloc, realloc or posix_memalign, and its owner gives it up here.
        unsafe { libc::free(raw.pointer.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_as_asked_and_writable_over_their_capacity() {
        for (memory, align) in [(&HEAP, 64), (&MALLOC, 16)] {
            for size in [0, 1, 100, 16 << 10, 3 << 20] {
                let raw = memory.allocate(size, align).expect("memory");
                assert_eq!(raw.pointer.as_ptr().addr() % align, 0);
                assert!(raw.capacity >= size && raw.capacity == raw.reserve && !raw.lazy);
                // SAFETY: the piece is ours and this large.
                unsafe { raw.pointer.as_ptr().write_bytes(7, raw.capacity) };
                // SAFETY: it came from this memory above.
                unsafe { memory.deallocate(raw) };
            }
        }
    }

    #[test]
    fn a_size_beyond_the_address_space_is_refused_and_nothing_aborts() {
        assert!(HEAP.allocate(usize::MAX, 64).is_none());
        assert!(MALLOC.allocate(usize::MAX - 64, 16).is_none());
        let mut raw = MALLOC.allocate(10, 16).expect("memory");
        // SAFETY: it came from this memory above.
        assert!(!unsafe { MALLOC.reallocate(&mut raw, usize::MAX) });
        assert_eq!(raw.capacity, 10);
        // SAFETY: as above.
        unsafe { MALLOC.deallocate(raw) };
    }

    #[test]
    fn reallocating_keeps_the_first_bytes() {
        let mut raw = MALLOC.allocate(1000, 16).expect("memory");
        // SAFETY: the piece is ours and 1000 bytes large.
        unsafe { raw.pointer.as_ptr().write_bytes(9, 1000) };
        // SAFETY: it came from this memory above.
        assert!(unsafe { MALLOC.reallocate(&mut raw, 10) } && raw.capacity == 10);
        // SAFETY: its first 10 bytes were written above.
        let kept = unsafe { core::slice::from_raw_parts(raw.pointer.as_ptr(), 10) };
        assert_eq!(kept, &[9; 10]);
        // SAFETY: as above.
        unsafe { MALLOC.deallocate(raw) };
        let mut fixed = HEAP.allocate(1000, 64).expect("memory");
        // SAFETY: it came from this memory above.
        unsafe {
            assert!(!HEAP.reallocate(&mut fixed, 10), "aligned blocks stay as they are");
            HEAP.deallocate(fixed);
        }
    }
}
