//! Says to AddressSanitizer which bytes of a block may be looked at: those that a body was granted, and none while the
//! block lies idle in its pool. Without that, stale use of a pooled buffer finds memory that is mapped and allocated, and
//! nobody sees it.
//!
//! Only with `--cfg brimful_poison`, in a build whose program is linked to AddressSanitizer (`make sanitize`); in every
//! other build nothing is left of it.

use super::Raw;

#[cfg(brimful_poison)]
unsafe extern "C" {
    safe fn __asan_poison_memory_region(start: *const u8, length: usize);
    safe fn __asan_unpoison_memory_region(start: *const u8, length: usize);
}

/// From here on only the first `length` bytes of the piece may be looked at; 0 while it lies idle, all of its capacity
/// before it goes back to its memory.
#[inline(always)]
pub(crate) fn show_only(raw: &Raw, length: usize) {
    #[cfg(brimful_poison)]
    {
        let start = raw.pointer.as_ptr().cast_const();
        let length = length.min(raw.capacity);
        __asan_unpoison_memory_region(start, length);
        __asan_poison_memory_region(start.wrapping_add(length), raw.capacity - length);
    }
    #[cfg(not(brimful_poison))]
    let _ = (raw, length);
}
