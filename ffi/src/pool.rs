//! Pools.

use brimful_core::{Error, MemoryRef, Pool, PoolOptions, PoolStats};
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::guard::{self, Borrowed, Fill, Out, versioned};
use crate::memory::{self, brimful_allocator};
use crate::options::{BRIMFUL_UNLIMITED, optional};
use crate::status::{BRIMFUL_OK, brimful_status};

/// A flag of brimful_pool_options: a body lies in a list of heap blocks, each twice as large as the one before, and
/// no address space is reserved. Without it, a large body lies in one range of address space that grows in place
/// (where the system has that), so that it is contiguous from the start. Meant for processes whose address space is
/// counted. Pools with an allocator of their own always work like this.
pub const BRIMFUL_POOL_LIST: u32 = 1;
/// A flag of brimful_pool_options: every window of every body on the pool is cleared before its source sees it, as
/// with BRIMFUL_SCRUB in each body's options. So a source that reads its window never sees bytes of another body.
pub const BRIMFUL_POOL_SCRUB: u32 = 2;

/// A pool recycles the memory that bodies lie in: what a released buffer gives back serves the next body, warm. NULL
/// wherever a pool is asked for means the default pool of the process.
///
/// Threads: may be used by any number of threads at once, and after fork. No call waits for another.
/// Lifetime: yours from brimful_pool_new until brimful_pool_release. Collectors and buffers hold the pool by
/// themselves, so they may outlive your hold.
pub struct brimful_pool {
    _opaque: (),
}

/// What a pool is to be like. Begin with BRIMFUL_POOL_OPTIONS_INIT or brimful_pool_options_init.
///
/// Threads: a plain struct of yours. It is read, never written, during the call that is given it.
/// Lifetime: may go as soon as that call returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct brimful_pool_options {
    /// sizeof(brimful_pool_options).
    pub struct_size: usize,
    /// The most bytes of touched memory that lie in the pool for reuse. Default: 64 MiB. 0 keeps nothing.
    pub max_retained: u64,
    /// The most bytes that all bodies together may hold; beyond it a body gets BRIMFUL_ERR_BUDGET, at once. Default:
    /// BRIMFUL_UNLIMITED.
    pub budget: u64,
    /// The limit of every body on this pool whose own options have none. Default: BRIMFUL_UNLIMITED.
    pub limit: u64,
    /// Memory that has not been used for this long is given back to the system at the pool's next use. In
    /// milliseconds. Default: 10000.
    pub idle_milliseconds: u64,
    /// BRIMFUL_POOL_LIST, BRIMFUL_POOL_SCRUB, both (|) or 0.
    pub flags: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Where blocks come from. NULL: the system.
    pub allocator: *const brimful_allocator,
}
versioned!(brimful_pool_options {
    max_retained,
    budget,
    limit,
    idle_milliseconds,
    flags,
    reserved,
    allocator,
});

/// What is known of a pool. Counts of blocks, and their bytes, since the pool was made. When no call is in progress,
/// allocated - freed = outstanding + retained, in counts and in bytes. Set struct_size before the call that fills it.
///
/// Threads: a plain struct of yours.
/// Lifetime: yours; it holds numbers only.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct brimful_pool_statistics {
    /// sizeof(brimful_pool_statistics).
    pub struct_size: usize,
    /// Blocks given to bodies.
    pub rented: u64,
    /// Bytes of those blocks when they were given.
    pub rented_bytes: u64,
    /// Blocks given back by bodies.
    pub released: u64,
    /// Bytes of those blocks when they came back.
    pub released_bytes: u64,
    /// Blocks given to bodies that had been used before.
    pub reused: u64,
    /// Bytes of those blocks.
    pub reused_bytes: u64,
    /// Blocks obtained from the system or the allocator.
    pub allocated: u64,
    /// Bytes obtained, growth in place included.
    pub allocated_bytes: u64,
    /// Blocks given back to the system or the allocator.
    pub freed: u64,
    /// Bytes given back, those of cut blocks included.
    pub freed_bytes: u64,
    /// Blocks that bodies hold now.
    pub outstanding: u64,
    /// Bytes that bodies hold now.
    pub outstanding_bytes: u64,
    /// Blocks that lie in the pool now.
    pub retained: u64,
    /// Bytes that lie in the pool now.
    pub retained_bytes: u64,
    /// The most bytes that were outstanding and retained together.
    pub peak_bytes: u64,
    /// Blocks that could not be had: no memory, or beyond the budget.
    pub refused: u64,
}
versioned!(brimful_pool_statistics {
    rented,
    rented_bytes,
    released,
    released_bytes,
    reused,
    reused_bytes,
    allocated,
    allocated_bytes,
    freed,
    freed_bytes,
    outstanding,
    outstanding_bytes,
    retained,
    retained_bytes,
    peak_bytes,
    refused,
});

impl From<PoolStats> for brimful_pool_statistics {
    fn from(stats: PoolStats) -> brimful_pool_statistics {
        brimful_pool_statistics {
            struct_size: size_of::<brimful_pool_statistics>(),
            rented: stats.rented,
            rented_bytes: stats.rented_bytes,
            released: stats.released,
            released_bytes: stats.released_bytes,
            reused: stats.reused,
            reused_bytes: stats.reused_bytes,
            allocated: stats.allocated,
            allocated_bytes: stats.allocated_bytes,
            freed: stats.freed,
            freed_bytes: stats.freed_bytes,
            outstanding: stats.outstanding,
            outstanding_bytes: stats.outstanding_bytes,
            retained: stats.retained,
            retained_bytes: stats.retained_bytes,
            peak_bytes: stats.peak_bytes,
            refused: stats.refused,
        }
    }
}

/// What BRIMFUL_POOL_OPTIONS_INIT says.
const DEFAULTS: brimful_pool_options = brimful_pool_options {
    struct_size: size_of::<brimful_pool_options>(),
    max_retained: 64 << 20,
    budget: BRIMFUL_UNLIMITED,
    limit: BRIMFUL_UNLIMITED,
    idle_milliseconds: 10_000,
    flags: 0,
    reserved: 0,
    allocator: ptr::null(),
};

/// The default pool's handle. It always has the same address, so it is looked up once; two threads that look it up at
/// once write the same.
static DEFAULT: AtomicPtr<brimful_pool> = AtomicPtr::new(ptr::null_mut());

fn default_handle() -> NonNull<brimful_pool> {
    if let Some(handle) = NonNull::new(DEFAULT.load(Ordering::Acquire)) {
        return handle;
    }
    let raw = Pool::process_default().into_raw();
    // SAFETY: the count that into_raw gave up is taken back once. The default pool lives in a static, so the pointer
    // stays good without it.
    drop(unsafe { Pool::from_raw(raw) });
    DEFAULT.store(raw.cast().as_ptr(), Ordering::Release);
    raw.cast()
}

/// The engine's pool behind a handle, or the default pool for NULL, its count untouched.
///
/// # Safety
/// The handle is NULL, the default pool's, or one that `brimful_pool_new` gave out and that is still held.
pub(crate) unsafe fn borrow(pool: *const brimful_pool) -> Borrowed<Pool> {
    let handle = NonNull::new(pool.cast_mut()).unwrap_or_else(default_handle);
    // SAFETY: the pointer comes from into_raw; it is not taken back, since what is made here is never dropped.
    ManuallyDrop::new(unsafe { Pool::from_raw(handle.cast()) })
}

/// Does what BRIMFUL_POOL_OPTIONS_INIT does, for languages without macros; see brimful_options_init.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_pool_options_init(options: *mut brimful_pool_options, size: usize) {
    // SAFETY: the conventions: the caller gives `size` writable bytes or NULL.
    guard::catch((), || unsafe { guard::init(options, size, &DEFAULTS) });
}

/// Makes a pool. options NULL is every default. *pool is yours: give it back with brimful_pool_release.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_INVALID: pool is NULL, or an option is out of range.
/// - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *pool is NULL. No block is obtained yet.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_pool_new(
    options: *const brimful_pool_options,
    pool: *mut *mut brimful_pool,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let out = unsafe { Out::new(pool, ptr::null_mut()) }?;
        let given = if options.is_null() {
            DEFAULTS
        } else {
            // SAFETY: the conventions: a struct is readable over its struct_size.
            unsafe { guard::read(options, DEFAULTS) }?
        };
        if given.flags & !(BRIMFUL_POOL_LIST | BRIMFUL_POOL_SCRUB) != 0 || given.reserved != 0 {
            return Err(Error::Invalid);
        }
        // SAFETY: the conventions: an allocator is NULL or what its comment says.
        let own = unsafe { memory::from_allocator(given.allocator) }?;
        let list = given.flags & BRIMFUL_POOL_LIST != 0;
        let made = Pool::new(PoolOptions {
            max_retained: given.max_retained,
            limit: optional(given.limit),
            idle_milliseconds: given.idle_milliseconds,
            memory: own.unwrap_or_else(|| if list { MemoryRef::heap() } else { MemoryRef::system() }),
            scrub: given.flags & BRIMFUL_POOL_SCRUB != 0,
            budget: optional(given.budget),
        });
        out.set(made.ok_or(Error::NoMemory)?.into_raw().cast().as_ptr());
        Ok(BRIMFUL_OK)
    })
}

/// The default pool of the process: the same one at every call, with every default. It need not be released, and
/// releasing it does nothing. Never NULL.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub extern "C" fn brimful_pool_default() -> *mut brimful_pool {
    guard::catch(ptr::null_mut(), || default_handle().as_ptr())
}

/// Fills *statistics with the pool's numbers. Cheap; exact when no call on the pool is in progress.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_INVALID: statistics is NULL or its struct_size cannot be, and nothing was written.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_pool_stats(
    pool: *const brimful_pool,
    statistics: *mut brimful_pool_statistics,
) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: a struct to be filled is writable over its struct_size.
        let fill = unsafe { Fill::new(statistics) }?;
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        fill.set(&unsafe { borrow(pool) }.stats().into());
        Ok(BRIMFUL_OK)
    })
}

/// Gives memory that lies in the pool back to the system until at most `keep` bytes lie there, and returns how many
/// bytes were given back. What bodies and buffers hold is not touched.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_pool_trim(pool: *mut brimful_pool, keep: u64) -> usize {
    guard::catch(0, || {
        // SAFETY: the conventions: a handle is one that is held, or NULL.
        let freed = unsafe { borrow(pool) }.trim(keep);
        usize::try_from(freed).unwrap_or(usize::MAX)
    })
}

/// Lets go of a pool: it keeps no memory any more. Buffers that are out stay valid and collectors go on; their memory
/// goes when they do. The default pool and NULL: nothing happens.
///
/// Threads: any number at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_pool_release(pool: *mut brimful_pool) {
    guard::catch((), || {
        let Some(handle) = NonNull::new(pool) else { return };
        if handle != default_handle() {
            // SAFETY: the conventions: the caller gives up the hold that brimful_pool_new gave it.
            unsafe { Pool::from_raw(handle.cast()) }.close();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_engine() {
        let engine = PoolOptions::default();
        assert_eq!(DEFAULTS.max_retained, engine.max_retained);
        assert_eq!(DEFAULTS.idle_milliseconds, engine.idle_milliseconds);
        assert_eq!(
            (optional(DEFAULTS.limit), optional(DEFAULTS.budget)),
            (engine.limit, engine.budget)
        );
        assert!(!engine.scrub);
    }
}
