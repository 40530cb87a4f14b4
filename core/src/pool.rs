//! Recycles blocks within a cap of bytes, and counts what it does (E44 to E48).
//!
//! One lock, only ever tried: who finds it taken gets fresh memory (rent) or frees the block (release), so nothing
//! waits and a fork in the middle of anything leaves a child that can go on (E50). Counters are stored by the holder of
//! the lock; what happens without it is counted apart.

use crate::block::{Block, Blocks, Home};
use crate::error::Error;
use crate::growth;
use crate::memory::{self, MemoryRef};
use crate::shared::{Counted, Shared};
use crate::stats::PoolStats;
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Options of a pool. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The most bytes of touched memory that lie in the pool (E44).
    pub max_retained: u64,
    /// The most writable bytes handed out at once over all bodies; beyond it: [`Error::Budget`] (E45).
    pub budget: Option<u64>,
    /// The limit of every body whose own options say none (E2).
    pub limit: Option<u64>,
    /// Memory that lies unused for longer is given back at the pool's next use (E46).
    pub idle_milliseconds: u64,
    /// Every window is cleared before it is shown, whatever the body's options say (E49).
    pub scrub: bool,
    /// Where blocks come from.
    pub memory: MemoryRef,
}

impl PoolOptions {
    /// 64 MiB retained, no budget, no limit, 10 s idle, the system's memory.
    pub const DEFAULT: PoolOptions = PoolOptions {
        max_retained: 64 << 20,
        budget: None,
        limit: None,
        idle_milliseconds: 10_000,
        scrub: false,
        memory: MemoryRef::system(),
    };
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions::DEFAULT
    }
}

/// A pool of blocks. Cloning counts; the memory goes with the last holder, bodies and buffers included (E48).
///
/// Threads: any number at once.
#[derive(Clone, Debug)]
pub struct Pool(Shared<Inner>);

#[derive(Debug)]
struct Inner {
    options: PoolOptions,
    lock: AtomicBool,
    shelves: UnsafeCell<Shelves>,
    /// When the shelves are to be looked through for idle blocks; what they say themselves, readable without the lock.
    next_sweep: AtomicU64,
    closed: AtomicBool,
    by_holder: Counters,
    by_others: Counters,
    retained: AtomicU64,
    retained_bytes: AtomicU64,
    owned_bytes: AtomicU64,
    peak_bytes: AtomicU64,
    granted_bytes: AtomicU64,
    refused: AtomicU64,
}

// SAFETY: the shelves are only reached by whoever holds `lock`; blocks are plain memory that any thread may hold
// (`Memory` is Send and Sync, and a host whose memory is bound to a thread keeps its pools on that thread).
unsafe impl Sync for Inner {}
// SAFETY: as above.
unsafe impl Send for Inner {}

/// Adds up what one side did.
#[derive(Debug)]
struct Counters {
    rented: AtomicU64,
    rented_bytes: AtomicU64,
    released: AtomicU64,
    released_bytes: AtomicU64,
    reused: AtomicU64,
    reused_bytes: AtomicU64,
    allocated: AtomicU64,
    allocated_bytes: AtomicU64,
    freed: AtomicU64,
    freed_bytes: AtomicU64,
}

impl Counters {
    const fn new() -> Counters {
        Counters {
            rented: AtomicU64::new(0),
            rented_bytes: AtomicU64::new(0),
            released: AtomicU64::new(0),
            released_bytes: AtomicU64::new(0),
            reused: AtomicU64::new(0),
            reused_bytes: AtomicU64::new(0),
            allocated: AtomicU64::new(0),
            allocated_bytes: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
        }
    }
}

/// Counts by the holder of the lock: a plain load and store, since nobody else writes these.
fn store_add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

/// Counts by anybody.
fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Relaxed);
}

/// One class for each power of two from 4 KiB up: a fixed block lies in the class of its capacity, rounded down.
const CLASSES: usize = 36;
const SMALLEST_CLASS: u32 = 12;
/// How many blocks of a class or ranges are looked at for the best fit, the warmest first.
const LOOK_AT: usize = 8;
/// The largest fixed block that is rounded up to a power of two; larger ones to whole pages.
const ROUNDED_UP_TO: usize = 64 << 10;

#[derive(Debug)]
struct Shelves {
    /// Fixed blocks by class, the warmest last.
    fixed: [Vec<Block>; CLASSES],
    /// Blocks that grow in place, the warmest last.
    growing: Vec<Block>,
    /// When the block that has lain longest is idle for too long.
    next_sweep: u64,
}

/// The size that a fixed block for `size` bytes is asked for; one that no memory has stays as it is.
fn rounded(size: usize) -> usize {
    if size <= ROUNDED_UP_TO {
        size.max(1 << SMALLEST_CLASS).next_power_of_two()
    } else {
        size.checked_next_multiple_of(memory::PAGE).unwrap_or(size)
    }
}

fn class_of(capacity: usize) -> usize {
    (capacity.max(1).ilog2().saturating_sub(SMALLEST_CLASS) as usize).min(CLASSES - 1)
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
    /// else the most touched there is.
    fn take_growing(&mut self, size: usize) -> Option<Block> {
        let from = self.growing.len().saturating_sub(LOOK_AT);
        let candidates = self.growing[from..]
            .iter()
            .enumerate()
            .filter(|(_, block)| block.raw.reserve >= size);
        let best = candidates.min_by_key(|(_, block)| match block.touched >= size {
            true => block.touched,
            false => usize::MAX - block.touched,
        });
        let index = from + best?.0;
        Some(self.growing.remove(index))
    }

    /// Gives the block back when the list has no memory for it.
    fn put(&mut self, block: Block, idle: u64) -> Result<(), Block> {
        self.next_sweep = self.next_sweep.min(block.stamp.saturating_add(idle).saturating_add(1));
        let grows = block.raw.reserve > block.raw.capacity || block.raw.lazy;
        let shelf = if grows {
            &mut self.growing
        } else {
            &mut self.fixed[class_of(block.raw.capacity)]
        };
        memory::push(shelf, block)
    }

    /// The block that has lain longest.
    fn take_coldest(&mut self) -> Option<Block> {
        let shelves = self.fixed.iter_mut().chain(core::iter::once(&mut self.growing));
        let coldest = shelves
            .filter(|shelf| !shelf.is_empty())
            .min_by_key(|shelf| shelf[0].stamp)?;
        Some(coldest.remove(0))
    }

    /// The block that has lain longest, if that is longer than since `before`.
    fn take_stale(&mut self, before: u64, idle: u64) -> Option<Block> {
        let shelves = self.fixed.iter().chain(core::iter::once(&self.growing));
        let oldest = shelves.filter_map(|shelf| shelf.first()).map(|block| block.stamp).min();
        self.next_sweep = oldest.map_or(u64::MAX, |stamp| stamp.saturating_add(idle).saturating_add(1));
        if oldest? < before { self.take_coldest() } else { None }
    }
}

/// Milliseconds since the first use in this process, coarse: what idle times are measured by.
#[cfg(target_os = "linux")]
fn milliseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime writes one timespec. The coarse clock is a memory read (5 ns), good to 4 ms.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

#[cfg(not(target_os = "linux"))]
fn milliseconds() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_millis() as u64
}

static DEFAULT: Counted<Inner> = Counted::fixed(Inner::new(PoolOptions::DEFAULT));

impl Inner {
    const fn new(options: PoolOptions) -> Inner {
        let shelves = Shelves {
            fixed: [const { Vec::new() }; CLASSES],
            growing: Vec::new(),
            next_sweep: u64::MAX,
        };
        Inner {
            options,
            lock: AtomicBool::new(false),
            shelves: UnsafeCell::new(shelves),
            next_sweep: AtomicU64::new(u64::MAX),
            closed: AtomicBool::new(false),
            by_holder: Counters::new(),
            by_others: Counters::new(),
            retained: AtomicU64::new(0),
            retained_bytes: AtomicU64::new(0),
            owned_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
            granted_bytes: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Calls `f` with the shelves if nobody else has them.
    fn try_shelves<R>(&self, f: impl FnOnce(&mut Shelves) -> R) -> Option<R> {
        self.lock
            .compare_exchange(false, true, Ordering::Acquire, Relaxed)
            .ok()?;
        // SAFETY: the exchange made this call the only one that reaches the shelves until the store below.
        let result = f(unsafe { &mut *self.shelves.get() });
        self.lock.store(false, Ordering::Release);
        Some(result)
    }

    /// Counts memory that was obtained or touched for the first time.
    fn own(&self, bytes: u64) {
        add(&self.by_others.allocated_bytes, bytes);
        let owned = self.owned_bytes.fetch_add(bytes, Relaxed).wrapping_add(bytes);
        self.peak_bytes.fetch_max(owned, Relaxed);
    }

    /// Counts memory that was given back.
    fn disown(&self, bytes: u64) {
        add(&self.by_others.freed_bytes, bytes);
        self.owned_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Gives a block back to the memory.
    fn free(&self, block: Block) {
        add(&self.by_others.freed, 1);
        self.disown(block.touched as u64);
        // SAFETY: a pool's block is a piece of its memory, and goes back once, by value.
        unsafe { self.options.memory.deallocate(block.raw) };
    }

    /// Counts a block that leaves the shelves; for the holder of the lock.
    fn unshelved(&self, block: Block) -> Block {
        store_add(&self.retained, u64::MAX); // one less
        store_add(&self.retained_bytes, (block.touched as u64).wrapping_neg());
        block
    }

    /// Cuts a block that grows to at most `keep` touched bytes (E44); false, nothing changed, when it cannot or when so
    /// little is left that keeping it is not worth its address space.
    fn cut(&self, block: &mut Block, keep: u64) -> bool {
        let keep = growth::size(keep) / memory::PAGE * memory::PAGE;
        if keep < growth::LARGE_STEP || keep >= block.touched {
            return false;
        }
        // SAFETY: the block is the pool's own here, so nobody looks at its bytes.
        if !unsafe { self.options.memory.cut(&mut block.raw, keep) } {
            return false;
        }
        self.disown((block.touched - keep) as u64);
        block.touched = keep;
        true
    }

    /// Counts a release; by the holder of the lock or by anybody.
    fn count_release(&self, bytes: u64, by_holder: bool) {
        let (counters, count): (_, fn(&AtomicU64, u64)) = if by_holder {
            (&self.by_holder, store_add)
        } else {
            (&self.by_others, add)
        };
        count(&counters.released, 1);
        count(&counters.released_bytes, bytes);
    }

    /// Gives back what has lain for too long (E46). The lock is only taken when the clock says that something has.
    fn give_back_idle(&self) {
        let (idle, now) = (self.options.idle_milliseconds, milliseconds());
        if now < self.next_sweep.load(Relaxed) {
            return;
        }
        while let Some(Some(stale)) = self.try_shelves(|shelves| {
            let stale = shelves.take_stale(now.saturating_sub(idle), idle);
            self.next_sweep.store(shelves.next_sweep, Relaxed);
            stale.map(|stale| self.unshelved(stale))
        }) {
            self.free(stale);
        }
    }

    /// Takes a block back from a body: onto the shelves if the cap allows it, the coldest blocks making room; else it
    /// is freed.
    fn take_back(&self, mut block: Block) {
        self.discharge(block.granted as u64);
        let most = if self.closed.load(Relaxed) {
            0
        } else {
            self.options.max_retained
        };
        // A range that nobody touched is not warm, and costs address space all the same.
        let cold = block.raw.lazy && block.touched == 0;
        if block.spoiled || cold || (block.touched as u64 > most && !self.cut(&mut block, most)) {
            self.give_back_idle();
            self.count_release(block.touched as u64, false);
            return self.free(block);
        }
        block.used = 0;
        self.give_back_idle();
        block.stamp = milliseconds();
        let (idle, bytes) = (self.options.idle_milliseconds, block.touched as u64);
        let mut slot = Some(block);
        // Memory is given back outside of the lock: a system call inside would send others to fresh memory.
        while let Some(Some(colder)) = self.try_shelves(|shelves| {
            let block = slot.take()?;
            if self.retained_bytes.load(Relaxed).saturating_add(bytes) > most {
                slot = Some(block);
                return shelves.take_coldest().map(|coldest| self.unshelved(coldest));
            }
            match shelves.put(block, idle) {
                Ok(()) => {
                    self.next_sweep.store(shelves.next_sweep, Relaxed);
                    self.count_release(bytes, true);
                    store_add(&self.retained, 1);
                    store_add(&self.retained_bytes, bytes);
                }
                Err(block) => slot = Some(block),
            }
            None
        }) {
            self.free(colder);
        }
        if let Some(block) = slot {
            self.count_release(bytes, false);
            self.free(block);
        }
    }

    /// Puts a block that was on the shelves back there.
    fn put_back(&self, block: Block) {
        let bytes = block.touched as u64;
        let mut slot = Some(block);
        self.try_shelves(|shelves| {
            match shelves.put(slot.take()?, self.options.idle_milliseconds) {
                Ok(()) => {
                    store_add(&self.retained, 1);
                    store_add(&self.retained_bytes, bytes);
                }
                Err(block) => slot = Some(block),
            }
            Some(())
        });
        if let Some(block) = slot {
            self.free(block);
        }
    }

    fn trim(&self, keep: u64) -> u64 {
        let mut given_back = 0;
        while let Some(Some((mut coldest, retained))) = self.try_shelves(|shelves| {
            if self.retained_bytes.load(Relaxed) <= keep && (keep > 0 || self.retained.load(Relaxed) == 0) {
                return None;
            }
            let coldest = self.unshelved(shelves.take_coldest()?);
            Some((coldest, self.retained_bytes.load(Relaxed)))
        }) {
            let before = coldest.touched as u64;
            if self.cut(&mut coldest, keep.saturating_sub(retained)) {
                given_back += before - coldest.touched as u64;
                self.put_back(coldest);
                break;
            }
            given_back += before;
            self.free(coldest);
        }
        given_back
    }

    /// Charges the budget (E45).
    fn charge(&self, bytes: u64) -> Result<(), Error> {
        let Some(budget) = self.options.budget else {
            return Ok(());
        };
        let charged = self.granted_bytes.fetch_update(Relaxed, Relaxed, |granted| {
            granted.checked_add(bytes).filter(|&after| after <= budget)
        });
        charged.map(|_| ()).map_err(|_| self.refuse(Error::Budget))
    }

    fn discharge(&self, bytes: u64) {
        if self.options.budget.is_some() {
            self.granted_bytes.fetch_sub(bytes, Relaxed);
        }
    }

    fn refuse(&self, error: Error) -> Error {
        add(&self.refused, 1);
        error
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody else is left, so the lock can only be found taken in a forked child whose parent's other thread held
        // it; then the memory is lost, not its counts (E50).
        self.trim(0);
    }
}

impl Pool {
    /// A pool of its own; `None` when no memory can be had for it. Nothing else is taken until the first body.
    #[must_use]
    pub fn new(options: PoolOptions) -> Option<Pool> {
        Shared::new(Inner::new(options)).map(Pool)
    }

    /// The pool of the process that everybody shares who names none. It is there without a lock or an allocation.
    #[must_use]
    pub fn process_default() -> Pool {
        Pool(Shared::of_static(&DEFAULT))
    }

    /// The pool's options as they were given.
    #[must_use]
    pub fn options(&self) -> &PoolOptions {
        &self.0.options
    }

    /// Statistics; exact when no call is in progress (E47).
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        let inner = &*self.0;
        let sum = |counter: fn(&Counters) -> &AtomicU64| {
            counter(&inner.by_holder)
                .load(Relaxed)
                .wrapping_add(counter(&inner.by_others).load(Relaxed))
        };
        let mut stats = PoolStats {
            rented: sum(|c| &c.rented),
            rented_bytes: sum(|c| &c.rented_bytes),
            released: sum(|c| &c.released),
            released_bytes: sum(|c| &c.released_bytes),
            reused: sum(|c| &c.reused),
            reused_bytes: sum(|c| &c.reused_bytes),
            allocated: sum(|c| &c.allocated),
            allocated_bytes: sum(|c| &c.allocated_bytes),
            freed: sum(|c| &c.freed),
            freed_bytes: sum(|c| &c.freed_bytes),
            retained: inner.retained.load(Relaxed),
            retained_bytes: inner.retained_bytes.load(Relaxed),
            peak_bytes: inner.peak_bytes.load(Relaxed),
            refused: inner.refused.load(Relaxed),
            ..PoolStats::default()
        };
        stats.outstanding = stats.rented.saturating_sub(stats.released);
        stats.outstanding_bytes = stats
            .allocated_bytes
            .saturating_sub(stats.freed_bytes)
            .saturating_sub(stats.retained_bytes);
        stats
    }

    /// Gives retained memory back to the system until at most `keep` bytes are left; says how many bytes went (E46).
    /// Address space goes too where `keep` is 0.
    pub fn trim(&self, keep: u64) -> u64 {
        self.0.trim(keep)
    }

    /// Keeps nothing any more: what is retained goes now, what is out goes when it is released (E48). Bodies may still
    /// be begun; their memory is fresh.
    pub fn close(&self) {
        self.0.closed.store(true, Relaxed);
        self.0.trim(0);
    }

    /// Puts a block of at least `size` bytes, `size` of them granted, at the end of the list, recycled if there is one.
    /// Says whether its memory is fresh. The list has room for it.
    #[inline]
    pub(crate) fn rent(&self, size: usize, list: &mut Blocks) -> Result<bool, Error> {
        let fresh = self.rent_uncharged(size, list)?;
        let Some(block) = list.last_mut() else { return Ok(fresh) }; // it was just put there
        let grant = if block.raw.reserve > block.raw.capacity || block.raw.lazy {
            growth::grant(0, size, block.raw.reserve)
        } else {
            block.raw.capacity
        };
        // Not what a warm block has beyond that (E45); the body is granted the rest when it comes to it.
        let grant = if block.raw.lazy {
            grant
        } else {
            grant.min(rounded(size))
        };
        match self.grow(block, grant).or_else(|_| self.grow(block, size)) {
            Ok(()) => Ok(fresh),
            Err(error) => {
                list.pop().into_iter().for_each(|block| self.release(block));
                Err(error)
            }
        }
    }

    /// As [`Pool::rent`], but with nothing granted and so nothing charged.
    #[inline]
    pub(crate) fn rent_uncharged(&self, size: usize, list: &mut Blocks) -> Result<bool, Error> {
        let inner = &*self.0;
        let profile = inner.options.memory.profile();
        let grows = profile.grows && size > profile.fixed_up_to;
        inner.give_back_idle();
        let found = inner.try_shelves(|shelves| {
            // A memory that grows may have had to give a fixed block instead, where no address space was to be had.
            let growing = if grows { shelves.take_growing(size) } else { None };
            let mut block = inner.unshelved(growing.or_else(|| shelves.take_fixed(size))?);
            store_add(&inner.by_holder.rented, 1);
            store_add(&inner.by_holder.rented_bytes, block.touched as u64);
            store_add(&inner.by_holder.reused, 1);
            store_add(&inner.by_holder.reused_bytes, block.touched as u64);
            block.granted = 0;
            list.push(block);
            Some(())
        });
        if found.flatten().is_some() {
            return Ok(false);
        }
        let allocated = inner.options.memory.allocate(rounded(size), POOLED_ALIGN);
        let mut block = Block::new(allocated.ok_or_else(|| inner.refuse(Error::NoMemory))?, Home::Pool);
        add(&inner.by_others.allocated, 1);
        inner.own(block.touched as u64);
        add(&inner.by_others.rented, 1);
        add(&inner.by_others.rented_bytes, block.touched as u64);
        block.granted = 0;
        list.push(block);
        Ok(true)
    }

    /// Grants a block `granted` bytes in all, growing it in place if it must. Nothing changes when that fails.
    #[inline]
    pub(crate) fn grow(&self, block: &mut Block, granted: usize) -> Result<(), Error> {
        let more = granted.saturating_sub(block.granted) as u64;
        self.0.charge(more)?;
        // SAFETY: the block is one of this pool's; its callers grant no more than it reserves.
        if granted > block.raw.capacity && !unsafe { self.0.options.memory.grow(&mut block.raw, granted) } {
            self.0.discharge(more);
            return Err(self.0.refuse(Error::NoMemory));
        }
        block.granted = block.granted.max(granted);
        Ok(())
    }

    /// Takes a part of a grant back.
    pub(crate) fn ungrant(&self, block: &mut Block, granted: usize) {
        self.0.discharge((block.granted - granted) as u64);
        block.granted = granted;
    }

    /// Counts memory of a block that was touched for the first time while it is out.
    pub(crate) fn touched(&self, bytes: usize) {
        self.0.own(bytes as u64);
    }

    /// Takes a block back: kept for the next body where the cap allows, else freed.
    #[inline]
    pub(crate) fn release(&self, block: Block) {
        self.0.take_back(block);
    }

    /// Takes a block back and gives its memory to the system at once (E8: what was staged is not retained).
    pub(crate) fn release_for_good(&self, mut block: Block) {
        block.spoiled = true;
        self.0.take_back(block);
    }

    /// Where this pool's blocks come from.
    pub(crate) fn memory(&self) -> &MemoryRef {
        &self.0.options.memory
    }

    /// Gives the count up as a pointer, for the C interface; undone by [`Pool::from_raw`].
    #[must_use]
    pub fn into_raw(self) -> NonNull<()> {
        self.0.into_raw().cast()
    }

    /// Takes back what [`Pool::into_raw`] gave up.
    ///
    /// # Safety
    /// `raw` comes from `into_raw`, and each is taken back at most once.
    #[must_use]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Pool {
        // SAFETY: the caller hands over a count that into_raw gave up; the cast restores the pointer's type.
        Pool(unsafe { Shared::from_raw(raw.cast()) })
    }
}

/// What pooled data is aligned to: a cache line, and the widest vector there is (E4).
const POOLED_ALIGN: usize = 64;
