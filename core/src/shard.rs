//! One part of a pool: blocks that wait on shelves behind a lock of their own, and what its holders counted.
//!
//! Threads are given a shard each in turn, so that two of them seldom meet. The lock is only ever tried: who finds it
//! taken goes to the next shard, and in the end to fresh memory, so nothing waits and a fork in the middle of anything
//! leaves a child that can go on (E50).

use crate::block::Block;
use crate::memory;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// How many shards a pool has. Two threads on one scaled 1.0 x and on two 1.9 x (2 cores, 2026-11); beyond four, threads
/// meet seldom enough that going to the next one serves. Each costs 1 KiB.
pub(crate) const SHARDS: usize = 4;

/// One class for each power of two from 4 KiB up: a fixed block lies in the class of its capacity, rounded down.
const CLASSES: usize = 36;
const SMALLEST_CLASS: u32 = 12;
/// How many blocks of a class or ranges are looked at for the best fit, the warmest first.
const LOOK_AT: usize = 8;
/// The largest fixed block that is rounded up to a power of two; larger ones to whole pages.
const ROUNDED_UP_TO: usize = 64 << 10;

/// The size that a fixed block for `size` bytes is asked for; one that no memory has stays as it is.
pub(crate) fn rounded(size: usize) -> usize {
    if size <= ROUNDED_UP_TO {
        size.max(1 << SMALLEST_CLASS).next_power_of_two()
    } else {
        size.checked_next_multiple_of(memory::PAGE).unwrap_or(size)
    }
}

fn class_of(capacity: usize) -> usize {
    (capacity.max(1).ilog2().saturating_sub(SMALLEST_CLASS) as usize).min(CLASSES - 1)
}

/// The shard of the thread that calls. A plain index without a destructor: memory in thread-local storage could not be
/// trimmed or counted, would go with its thread, and be lost in a forked child; a hash of the thread collides.
#[inline]
pub(crate) fn of_this_thread() -> usize {
    const NONE: usize = usize::MAX;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<usize> = const { Cell::new(NONE) };
    }
    MINE.with(|mine| {
        if mine.get() == NONE {
            mine.set(NEXT.fetch_add(1, Relaxed) % SHARDS);
        }
        mine.get()
    })
}

/// Counts by the holder of the lock: a plain load and store, since nobody else writes these.
fn store_add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

/// A number and the bytes that belong to it, written by the holder of a shard's lock and read by anybody.
#[derive(Debug)]
pub(crate) struct Count {
    count: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    pub(crate) const fn new() -> Count {
        Count {
            count: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// By the holder of the lock.
    fn store(&self, bytes: u64) {
        store_add(&self.count, 1);
        store_add(&self.bytes, bytes);
    }

    /// By the holder of the lock; undoes [`Count::store`].
    fn store_less(&self, bytes: u64) {
        store_add(&self.count, u64::MAX); // one less
        store_add(&self.bytes, bytes.wrapping_neg());
    }

    /// By anybody.
    pub(crate) fn add(&self, bytes: u64) {
        self.count.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Only bytes, by anybody.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// A shard; on cache lines of its own, two of which the processor fetches together.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    lock: AtomicBool,
    shelves: UnsafeCell<Shelves>,
    /// Blocks that were taken from here.
    pub(crate) reused: Count,
    /// Blocks that were released to here.
    pub(crate) released: Count,
    /// Blocks that lie here now.
    pub(crate) retained: Count,
    /// Whether the last body here outgrew a small block: then the next one begins in warm memory that it need not move
    /// out of (100 kB: 1.15 x the limit instead of 1.5, 2026-11). A guess by anybody; nothing but time depends on it.
    pub(crate) outgrown: AtomicBool,
}

// SAFETY: the shelves are only reached by whoever holds `lock`; blocks are plain memory that any thread may hold
// (`Memory` is Send and Sync, and a host whose memory is bound to a thread keeps its pools on that thread).
unsafe impl Sync for Shard {}
// SAFETY: as above.
unsafe impl Send for Shard {}

#[derive(Debug)]
struct Shelves {
    /// Fixed blocks by class, the warmest last.
    fixed: [Vec<Block>; CLASSES],
    /// Blocks that grow in place, the warmest last.
    growing: Vec<Block>,
}

impl Shelves {
    fn take_fixed(&mut self, size: usize) -> Option<Block> {
        let class = class_of(size);
        // Most often the warmest block of the class fits.
        if let Some(block) = self.fixed[class].pop_if(|block| block.raw.capacity >= size) {
            return Some(block);
        }
        // A block of the size's own class may be too small (classes round down); the next class always fits.
        for class in class..(class + 3).min(CLASSES) {
            let shelf = &mut self.fixed[class];
            let from = shelf.len().saturating_sub(LOOK_AT);
            if let Some(found) = shelf[from..].iter().rposition(|block| block.raw.capacity >= size) {
                return Some(shelf.remove(from + found));
            }
        }
        None
    }

    /// The least touched one that has `size` bytes touched already, which leaves the warmer ones to larger bodies;
    /// else the most touched there is. Never one with more than `most` bytes touched.
    fn take_growing(&mut self, size: usize, most: usize) -> Option<Block> {
        let from = self.growing.len().saturating_sub(LOOK_AT);
        let candidates = self.growing[from..]
            .iter()
            .enumerate()
            .filter(|(_, block)| block.raw.reserve >= size && block.touched <= most);
        let best = candidates.min_by_key(|(_, block)| match block.touched >= size {
            true => block.touched,
            false => usize::MAX - block.touched,
        });
        let index = from + best?.0;
        Some(self.growing.remove(index))
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Vec<Block>> {
        self.fixed.iter_mut().chain(core::iter::once(&mut self.growing))
    }

    /// When the block that has lain longest came, and the shelf that it lies on, as its first.
    fn coldest(&mut self) -> Option<(u64, &mut Vec<Block>)> {
        self.all()
            .filter_map(|shelf| Some((shelf.first()?.stamp, shelf)))
            .min_by_key(|(stamp, _)| *stamp)
    }
}

impl Shard {
    pub(crate) const fn new() -> Shard {
        let shelves = Shelves {
            fixed: [const { Vec::new() }; CLASSES],
            growing: Vec::new(),
        };
        Shard {
            lock: AtomicBool::new(false),
            shelves: UnsafeCell::new(shelves),
            reused: Count::new(),
            released: Count::new(),
            retained: Count::new(),
            outgrown: AtomicBool::new(false),
        }
    }

    /// Calls `f` with the shelves if nobody else has them.
    #[inline(always)]
    fn try_shelves<R>(&self, f: impl FnOnce(&mut Shelves) -> Option<R>) -> Option<R> {
        self.lock
            .compare_exchange(false, true, Ordering::Acquire, Relaxed)
            .ok()?;
        // SAFETY: the exchange made this call the only one that reaches the shelves until the store below.
        let result = f(unsafe { &mut *self.shelves.get() });
        self.lock.store(false, Ordering::Release);
        result
    }

    /// Counts a block that leaves the shelves; for the holder of the lock.
    fn unshelved(&self, block: Block) -> Block {
        self.retained.store_less(block.touched as u64);
        block
    }

    /// Takes a block of at least `size` bytes if there is one, and says so; `put` is given it. `grows`: one that grows,
    /// of which at most so many bytes are touched.
    #[inline(always)]
    pub(crate) fn rent(&self, size: usize, grows: Option<usize>, put: impl FnOnce(Block)) -> bool {
        // What is seen to be empty is not worth its lock.
        if self.retained.count() == 0 {
            return false;
        }
        let found = self.try_shelves(|shelves| {
            // A memory that grows may have had to give a fixed block instead, where no address space was to be had.
            let growing = grows.and_then(|most| shelves.take_growing(size, most));
            let block = growing.or_else(|| shelves.take_fixed(size))?;
            self.retained.store_less(block.touched as u64);
            self.reused.store(block.touched as u64);
            put(block);
            Some(())
        });
        found.is_some()
    }

    /// Puts a block onto the shelves, and counts it as released where it was out; takes it from `slot` only if that
    /// worked, which it does not while somebody else has the shelves or when the list has no memory for it.
    #[inline(always)]
    pub(crate) fn put(&self, slot: &mut Option<Block>, was_out: bool) {
        self.try_shelves(|shelves| {
            let block = slot.take()?;
            let bytes = block.touched as u64;
            let grows = block.raw.reserve > block.raw.capacity || block.raw.lazy;
            let shelf = if grows {
                &mut shelves.growing
            } else {
                &mut shelves.fixed[class_of(block.raw.capacity)]
            };
            if let Err(block) = memory::push(shelf, block) {
                *slot = Some(block);
                return None;
            }
            self.retained.store(bytes);
            if was_out {
                self.released.store(bytes);
            }
            Some(())
        });
    }

    /// When the block that has lain longest came here.
    pub(crate) fn oldest(&self) -> Option<u64> {
        if self.retained.count() == 0 {
            return None;
        }
        self.try_shelves(|shelves| Some(shelves.coldest()?.0))
    }

    /// The block that has lain longest, if it came before `before`.
    pub(crate) fn take_coldest(&self, before: u64) -> Option<Block> {
        self.try_shelves(|shelves| {
            let (stamp, shelf) = shelves.coldest()?;
            let block = (stamp < before).then(|| shelf.remove(0))?;
            Some(self.unshelved(block))
        })
    }
}
