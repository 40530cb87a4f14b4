//! Memory that is refused when a test says so: the global allocator, and a memory of blocks and results that counts what
//! is out.

use brimful::memory::{Cost, Profile, Raw};
use brimful::{Memory, MemoryRef};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    /// How many allocations of this thread still work, and how many fail after that.
    pub(crate) static WORKING: Cell<usize> = const { Cell::new(usize::MAX) };
    pub(crate) static FAILING: Cell<usize> = const { Cell::new(0) };
}

/// Whether this allocation is to fail.
fn fails() -> bool {
    let working = WORKING.get();
    if working == usize::MAX {
        return false;
    }
    if working > 0 {
        WORKING.set(working - 1);
        return false;
    }
    let failing = FAILING.get();
    FAILING.set(failing.saturating_sub(1));
    failing > 0
}

pub(crate) fn without_faults<R>(f: impl FnOnce() -> R) -> R {
    let working = WORKING.replace(usize::MAX);
    let result = f();
    WORKING.set(working);
    result
}

struct Hostile;

#[global_allocator]
static ALLOCATOR: Hostile = Hostile;

// SAFETY: the system's allocator, or no memory.
unsafe impl GlobalAlloc for Hostile {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        // SAFETY: as this function's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as this function's contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Passes on to a memory of the engine, counts what is out, and fails when it is told to.
pub(crate) struct Counting {
    pub(crate) inner: MemoryRef,
    pub(crate) out: &'static AtomicUsize,
}

// SAFETY: as the memory it passes on to.
unsafe impl Memory for Counting {
    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        if fails() {
            return None;
        }
        let raw = self.inner.allocate(size, align)?;
        self.out.fetch_add(1, Relaxed);
        Some(raw)
    }

    unsafe fn grow(&self, raw: &mut Raw, capacity: usize) -> bool {
        // SAFETY: passed on.
        !fails() && unsafe { self.inner.grow(raw, capacity) }
    }

    unsafe fn reallocate(&self, raw: &mut Raw, size: usize) -> Option<Cost> {
        if fails() {
            None
        } else {
            // SAFETY: passed on.
            unsafe { self.inner.reallocate(raw, size) }
        }
    }

    unsafe fn cut(&self, raw: &mut Raw, keep: usize) -> bool {
        // SAFETY: passed on.
        unsafe { self.inner.cut(raw, keep) }
    }

    unsafe fn deallocate(&self, raw: Raw) {
        self.out.fetch_sub(1, Relaxed);
        // SAFETY: passed on.
        unsafe { self.inner.deallocate(raw) };
    }
}
