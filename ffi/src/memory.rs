//! The caller's own allocator, as a memory of the engine.

use brimful_core::memory::{Cost, Profile, Raw};
use brimful_core::{Error, Memory, MemoryRef};
use core::ffi::c_void;
use core::ptr::{self, NonNull};

use crate::guard::{self, versioned};

/// Your own allocator. For a collector (brimful_options.allocator) it makes the exact results, which you then free
/// with it; for a pool (brimful_pool_options.allocator) it makes the blocks.
///
/// The struct is copied when the pool or collector is created or the one-shot call is made; what `context` points to
/// is not, and must outlive the last buffer and the last exact result whose memory came from it.
///
/// Threads: the functions may be called from every thread that uses the pool or that releases one of its buffers, by
/// several at once; they synchronise by themselves. They must not throw, nor longjmp, nor call the library with the
/// object that is in use.
/// Lifetime: the struct itself may go as soon as the call that was given it returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct brimful_allocator {
    /// sizeof(brimful_allocator).
    pub struct_size: usize,
    /// Gives `size` bytes, aligned to 16 or more, or NULL when it cannot, which becomes BRIMFUL_ERR_NO_MEMORY. `size`
    /// is never 0: for the empty result 1 byte is asked for. Must not be NULL.
    pub allocate: Option<unsafe extern "C" fn(context: *mut c_void, size: usize) -> *mut c_void>,
    /// Makes `memory` of `old_size` bytes `new_size` bytes large, its first bytes kept, and returns where it lies now;
    /// NULL, with nothing changed, when it cannot. The pointer itself may be NULL: then a body whose length is not
    /// known is copied once into its exact result.
    pub reallocate: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            memory: *mut c_void,
            old_size: usize,
            new_size: usize,
        ) -> *mut c_void,
    >,
    /// Takes back memory of `size` bytes: the size that was last asked for it. Must not be NULL.
    pub deallocate: Option<unsafe extern "C" fn(context: *mut c_void, memory: *mut c_void, size: usize)>,
    /// Given to each of the functions as it is.
    pub context: *mut c_void,
}
versioned!(brimful_allocator {
    allocate,
    reallocate,
    deallocate,
    context
});

/// Frees an exact result that the default allocator made, exactly as free() does: for callers whose own free()
/// belongs to another C library. NULL does nothing. Not for results of an allocator of your own.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_memory_free(memory: *mut c_void) {
    // SAFETY: the conventions: an exact result of the default allocator, which is malloc, or NULL.
    unsafe { libc::free(memory) }
}

/// Alignment that the caller's allocator promises; more than that is made by asking for more.
const PROMISED: usize = 16;

/// In [`Raw::token`]: this piece was over-allocated. The rest of the token is the distance from the allocator's own
/// pointer, a multiple of 16.
const WIDENED: usize = 1;

/// What the caller gave, checked: both functions that must be there are there.
struct Host {
    allocate: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    reallocate: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize) -> *mut c_void>,
    deallocate: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
    context: *mut c_void,
}

// SAFETY: the header requires the functions and what they reach through the context to be callable from any thread.
unsafe impl Send for Host {}
// SAFETY: as above, by several threads at once.
unsafe impl Sync for Host {}

impl Host {
    fn get(&self, size: usize) -> Option<NonNull<u8>> {
        if size > isize::MAX.unsigned_abs() {
            return None;
        }
        // SAFETY: the header's contract of `allocate`: any size but 0, and `size` is never 0 here.
        let memory = NonNull::new(unsafe { (self.allocate)(self.context, size) }.cast::<u8>())?;
        if !memory.addr().get().is_multiple_of(PROMISED) {
            self.give_back(memory, size); // less than promised: unusable, and better refused than misused
            return None;
        }
        Some(memory)
    }

    fn give_back(&self, memory: NonNull<u8>, size: usize) {
        // SAFETY: the header's contract of `deallocate`: memory that `allocate` or `reallocate` gave for this size.
        unsafe { (self.deallocate)(self.context, memory.as_ptr().cast(), size) }
    }
}

// SAFETY: a piece is what the caller's `allocate` gave, which the header requires to be its alone until it is
// deallocated; where more alignment is needed than promised, the piece begins at the first such address in a larger
// allocation and ends within it.
unsafe impl Memory for Host {
    fn profile(&self) -> Profile {
        Profile {
            grows: false,
            fixed_up_to: usize::MAX,
            detachable: false,
            reallocates: self.reallocate.is_some(),
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        let size = size.max(1);
        let spare = align.saturating_sub(PROMISED);
        let memory = self.get(size.checked_add(spare)?)?;
        // `spare` bytes reach the next multiple of `align` from any multiple of 16.
        let distance = if spare == 0 {
            0
        } else {
            memory.addr().get().next_multiple_of(align) - memory.addr().get()
        };
        // SAFETY: distance <= spare, so `size` bytes follow.
        let pointer = unsafe { memory.add(distance) };
        let token = if spare == 0 { 0 } else { distance | WIDENED };
        Some(Raw {
            pointer,
            capacity: size,
            reserve: size,
            token,
            lazy: false,
            huge: false,
            dirty: size,
        })
    }

    unsafe fn reallocate(&self, raw: &mut Raw, size: usize) -> Option<Cost> {
        let size = size.max(1);
        let reallocate = self.reallocate?;
        if raw.token & WIDENED != 0 || size > isize::MAX.unsigned_abs() {
            return None;
        }
        // SAFETY: the header's contract of `reallocate`: memory that it or `allocate` gave for `capacity` bytes.
        let memory = unsafe { reallocate(self.context, raw.pointer.as_ptr().cast(), raw.capacity, size) };
        let pointer = NonNull::new(memory.cast::<u8>())?;
        *raw = Raw {
            pointer,
            capacity: size,
            reserve: size,
            token: 0,
            lazy: false,
            huge: false,
            dirty: size,
        };
        Some(Cost { requests: 1, copied: 0 })
    }

    unsafe fn deallocate(&self, raw: Raw) {
        if raw.token & WIDENED == 0 {
            return self.give_back(raw.pointer, raw.capacity);
        }
        // SAFETY: the distance was added to the allocator's own pointer in `allocate`.
        let memory = unsafe { raw.pointer.sub(raw.token & !WIDENED) };
        self.give_back(memory, raw.capacity + (BLOCK - PROMISED));
    }
}

/// The one larger alignment that the engine asks for: that of pool blocks.
const BLOCK: usize = 64;

/// The caller's allocator as a memory; `None` where it gave none.
///
/// # Safety
/// `allocator` is NULL or readable over the size that it says it has, and its functions keep the header's contract.
pub(crate) unsafe fn from_allocator(allocator: *const brimful_allocator) -> Result<Option<MemoryRef>, Error> {
    if allocator.is_null() {
        return Ok(None);
    }
    let nothing = brimful_allocator {
        struct_size: 0,
        allocate: None,
        reallocate: None,
        deallocate: None,
        context: ptr::null_mut(),
    };
    // SAFETY: passed on from the caller.
    let given = unsafe { guard::read(allocator, nothing) }?;
    let (Some(allocate), Some(deallocate)) = (given.allocate, given.deallocate) else {
        return Err(Error::Invalid);
    };
    let host = Host {
        allocate,
        reallocate: given.reallocate,
        deallocate,
        context: given.context,
    };
    MemoryRef::counted(host).map(Some).ok_or(Error::NoMemory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// Bytes out, as the allocator counts them; its results are shifted so that they are aligned to 16 and no more.
    unsafe extern "C" fn allocate(context: *mut c_void, size: usize) -> *mut c_void {
        // SAFETY: the context of every test is a counter.
        unsafe { (*context.cast::<AtomicUsize>()).fetch_add(size, Ordering::Relaxed) };
        // SAFETY: 16 more bytes than asked for, for the shift.
        unsafe { libc::memalign(64, size + 16).byte_add(16) }
    }

    unsafe extern "C" fn deallocate(context: *mut c_void, memory: *mut c_void, size: usize) {
        // SAFETY: as in `allocate`.
        unsafe { (*context.cast::<AtomicUsize>()).fetch_sub(size, Ordering::Relaxed) };
        // SAFETY: `allocate` shifted it by 16.
        unsafe { libc::free(memory.byte_sub(16)) }
    }

    #[test]
    fn blocks_are_aligned_to_64_and_go_back_by_the_pointer_and_size_they_came_by() {
        let out = AtomicUsize::new(0);
        let host = Host {
            allocate,
            reallocate: None,
            deallocate,
            context: (&raw const out).cast_mut().cast(),
        };
        for align in [16, 64] {
            for size in [0, 1, 100, 4096] {
                let raw = host.allocate(size, align).expect("memory");
                assert_eq!(raw.pointer.addr().get() % align, 0);
                assert_eq!(raw.capacity, size.max(1));
                // SAFETY: the piece is ours and this large.
                unsafe { raw.pointer.write_bytes(1, raw.capacity) };
                // SAFETY: it came from this memory above.
                unsafe { host.deallocate(raw) };
                assert_eq!(out.load(Ordering::Relaxed), 0);
            }
        }
        assert!(host.allocate(usize::MAX, 64).is_none() && host.allocate(usize::MAX - 60, 16).is_none());
    }
}
