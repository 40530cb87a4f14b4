//! What the engine asks of memory, answered by the ArrayBuffers of one environment.

use crate::blocks::{Blocks, FIXED_UP_TO, Kind};
use brimful_core::memory::{Memory, MemoryRef, Profile, Raw};
use std::ptr::NonNull;

/// The memory of a pool.
struct PoolMemory {
    blocks: NonNull<Blocks>,
    grows: bool,
}

/// The memory of exact results.
struct ExactMemory {
    blocks: NonNull<Blocks>,
}

/// The memory of a pool: large blocks grow in place, or all are fixed ones.
///
/// # Safety
/// The memory and all that is made of it go before `blocks`, on the same thread.
pub(crate) unsafe fn pool_memory(blocks: &Blocks, grows: bool) -> Option<MemoryRef> {
    MemoryRef::counted(PoolMemory {
        blocks: NonNull::from(blocks),
        grows,
    })
}

/// The memory of exact results.
///
/// # Safety
/// As for [`pool_memory`].
pub(crate) unsafe fn exact_memory(blocks: &Blocks) -> Option<MemoryRef> {
    MemoryRef::counted(ExactMemory {
        blocks: NonNull::from(blocks),
    })
}

// SAFETY: pools, collectors and buffers of this memory are only reached through the tables of one host, whose native
// functions run on one thread, and which drops them on that thread; nothing of them ever gets to another one.
unsafe impl Send for PoolMemory {}
// SAFETY: as above.
unsafe impl Sync for PoolMemory {}
// SAFETY: as above.
unsafe impl Send for ExactMemory {}
// SAFETY: as above.
unsafe impl Sync for ExactMemory {}

impl PoolMemory {
    fn blocks(&self) -> &Blocks {
        // SAFETY: by the contract of `pool_memory`.
        unsafe { self.blocks.as_ref() }
    }
}

impl ExactMemory {
    fn blocks(&self) -> &Blocks {
        // SAFETY: by the contract of `exact_memory`.
        unsafe { self.blocks.as_ref() }
    }
}

// SAFETY: a piece is the memory of one ArrayBuffer that the JavaScript half keeps in its array and shows to nobody but
// by `show` and `show_window`; resizing never moves it; `is_attached` looks whether a shown one is still there.
unsafe impl Memory for PoolMemory {
    fn profile(&self) -> Profile {
        Profile {
            grows: self.grows,
            fixed_up_to: FIXED_UP_TO,
            detachable: true,
            reallocates: false,
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        // Where address space cannot be reserved (RLIMIT_AS), a fixed block does what it can.
        let growing = self.grows && size > FIXED_UP_TO;
        let resizable = growing
            .then(|| self.blocks().allocate(Kind::Resizable, size, align))
            .flatten();
        resizable.or_else(|| self.blocks().allocate(Kind::Fixed, size, align))
    }

    unsafe fn grow(&self, raw: &mut Raw, capacity: usize) -> bool {
        self.blocks().grow(raw, capacity)
    }

    unsafe fn cut(&self, raw: &mut Raw, keep: usize) -> bool {
        self.blocks().cut(raw, keep)
    }

    fn is_attached(&self, raw: &Raw) -> bool {
        self.blocks().is_attached(raw)
    }

    fn recycle(&self, raw: &mut Raw) -> bool {
        self.blocks().recycle(raw)
    }

    unsafe fn deallocate(&self, raw: Raw) {
        self.blocks().forget(raw.token);
    }
}

// SAFETY: as for PoolMemory.
unsafe impl Memory for ExactMemory {
    fn profile(&self) -> Profile {
        Profile {
            grows: false,
            fixed_up_to: usize::MAX,
            detachable: true,
            reallocates: false,
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        self.blocks().allocate_exact(size, align)
    }

    fn is_attached(&self, raw: &Raw) -> bool {
        self.blocks().is_attached(raw)
    }

    unsafe fn deallocate(&self, raw: Raw) {
        self.blocks().forget(raw.token);
    }
}
