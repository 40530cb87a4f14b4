//! Plain heap blocks, by the C library's allocator: the small blocks of pools, and the fallback for large ones where no
//! address space can be reserved.

use super::{Memory, Profile, Raw};
use core::ptr::NonNull;

/// Blocks aligned as asked; a body lies in a list of them.
#[derive(Debug)]
pub(super) struct Heap;

/// The memory of pools that reserve no address space.
pub(super) static HEAP: Heap = Heap;

/// What it can do.
pub(super) const PROFILE: Profile = Profile {
    grows: false,
    fixed_up_to: usize::MAX,
    detachable: false,
    reallocates: false,
};

// SAFETY: each piece is one live allocation of the C library, freed only by deallocate.
unsafe impl Memory for Heap {
    fn profile(&self) -> Profile {
        PROFILE
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        let size = size.max(1);
        if size > isize::MAX.unsigned_abs() {
            return None;
        }
        let mut pointer = core::ptr::null_mut();
        // SAFETY: align is a power of two and a multiple of the pointer size (16 or 64, see the trait).
        if unsafe { libc::posix_memalign(&raw mut pointer, align, size) } != 0 {
            return None;
        }
        let pointer = NonNull::new(pointer.cast::<u8>())?;
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

    unsafe fn deallocate(&self, raw: Raw) {
        // SAFETY: the piece came from posix_memalign, and its owner gives it up here.
        unsafe { libc::free(raw.pointer.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_as_asked_and_writable_over_their_capacity() {
        for size in [0, 1, 100, 16 << 10, 3 << 20] {
            let raw = HEAP.allocate(size, 64).expect("memory");
            assert_eq!(raw.pointer.as_ptr().addr() % 64, 0);
            assert!(raw.capacity >= size && raw.capacity == raw.reserve && !raw.lazy);
            // SAFETY: the piece is ours and this large; it goes back where it came from.
            unsafe {
                raw.pointer.as_ptr().write_bytes(7, raw.capacity);
                HEAP.deallocate(raw);
            }
        }
    }

    #[test]
    fn a_size_beyond_the_address_space_is_refused_and_nothing_aborts() {
        assert!(HEAP.allocate(usize::MAX, 64).is_none());
    }

    #[test]
    fn aligned_blocks_stay_as_they_are() {
        let mut fixed = HEAP.allocate(1000, 64).expect("memory");
        // SAFETY: it came from this memory above, and goes back there.
        unsafe {
            assert!(HEAP.reallocate(&mut fixed, 10).is_none());
            HEAP.deallocate(fixed);
        }
    }
}
