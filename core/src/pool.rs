//! Recycles blocks within a cap of bytes, and counts what it does (E44 to E48).
//!
//! Blocks wait in a few shards ([`crate::shard`]), each thread at its own. A block goes back to the shard it was rented
//! at, whoever releases it, so that its next body finds it. Counters are stored by whoever holds a shard; what happens
//! without one is counted apart.

use crate::block::{Block, Blocks, Home};
use crate::error::Error;
use crate::growth;
use crate::memory::{self, MemoryRef};
use crate::shard::{self, Count, SHARDS, Shard, rounded};
use crate::shared::{Counted, Shared};
use crate::stats::PoolStats;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicU64, fence};

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

/// The most touched memory of a warm block that a body begins in which may turn out to be small. A larger one costs no
/// more when the body has outgrown its small block: that moves a few kB once.
const MOST_FOR_SMALL: usize = 1 << 20;

/// A pool of blocks. Cloning counts; the memory goes with the last holder, bodies and buffers included (E48).
///
/// Threads: any number at once.
#[derive(Clone, Debug)]
pub struct Pool(Shared<Inner>);

#[derive(Debug)]
struct Inner {
    options: PoolOptions,
    shards: [Shard; SHARDS],
    /// When the shards are to be looked through for idle blocks.
    next_sweep: AtomicU64,
    closed: AtomicBool,
    /// What is counted without a shard's lock; shards count what passes through them.
    fresh: Count,
    released: Count,
    allocated: Count,
    freed: Count,
    owned_bytes: AtomicU64,
    peak_bytes: AtomicU64,
    granted_bytes: AtomicU64,
    refused: AtomicU64,
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
        Inner {
            options,
            shards: [const { Shard::new() }; SHARDS],
            next_sweep: AtomicU64::new(u64::MAX),
            closed: AtomicBool::new(false),
            fresh: Count::new(),
            released: Count::new(),
            allocated: Count::new(),
            freed: Count::new(),
            owned_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
            granted_bytes: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// All shards, beginning with this one, and at the end it again: whoever was at it may be gone, and what lies there is
    /// this thread's own.
    #[inline(always)]
    fn shards_from(&self, first: usize) -> impl Iterator<Item = &Shard> {
        (first..=first + SHARDS).map(|index| &self.shards[index % SHARDS])
    }

    fn sum(&self, of: impl Fn(&Shard) -> u64) -> u64 {
        self.shards.iter().fold(0, |sum, shard| sum.wrapping_add(of(shard)))
    }

    fn retained_bytes(&self) -> u64 {
        self.sum(|shard| shard.retained.bytes())
    }

    /// Counts memory that was obtained or touched for the first time.
    fn own(&self, bytes: u64) {
        self.allocated.add_bytes(bytes);
        let owned = self.owned_bytes.fetch_add(bytes, Relaxed).wrapping_add(bytes);
        self.peak_bytes.fetch_max(owned, Relaxed);
    }

    /// Counts memory that was given back.
    fn disown(&self, bytes: u64) {
        self.freed.add_bytes(bytes);
        self.owned_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Gives a block back to the memory.
    fn free(&self, block: Block) {
        self.freed.add(0);
        self.disown(block.touched as u64);
        memory::show_only(&block.raw, block.raw.capacity);
        // SAFETY: a pool's block is a piece of its memory, and goes back once, by value.
        unsafe { self.options.memory.deallocate(block.raw) };
    }

    /// Cuts a block that grows to at most `keep` touched bytes (E44); false, nothing changed, when it cannot or when so
    /// little is left that keeping it is not worth its address space.
    fn cut(&self, block: &mut Block, keep: u64) -> bool {
        let keep = growth::size(keep) / memory::PAGE * memory::PAGE;
        if keep < growth::LARGE_STEP || keep >= block.touched {
            return false;
        }
        // SAFETY: the block is the pool's own here, or its body has given those bytes up, so nobody looks at them.
        if !unsafe { self.options.memory.cut(&mut block.raw, keep) } {
            return false;
        }
        self.disown((block.touched - keep) as u64);
        block.touched = keep;
        true
    }

    /// The block that has lain longest of all.
    fn take_coldest(&self) -> Option<Block> {
        let shards = self.shards.iter();
        let coldest = shards
            .filter_map(|shard| Some((shard.oldest()?, shard)))
            .min_by_key(|(stamp, _)| *stamp);
        coldest?.1.take_coldest(u64::MAX)
    }

    /// Frees the coldest blocks until at most `most` bytes are retained. Memory is given back outside of the locks: a
    /// system call inside would send others to fresh memory.
    fn hold_at_most(&self, most: u64) {
        while self.retained_bytes() > most
            && let Some(coldest) = self.take_coldest()
        {
            self.free(coldest);
        }
    }

    /// Gives back what has lain for too long (E46).
    fn give_back_idle(&self, now: u64) {
        let idle = self.options.idle_milliseconds;
        if now < self.next_sweep.load(Relaxed) {
            return;
        }
        // Blocks that are put while the shards are looked through lower it again.
        self.next_sweep.store(u64::MAX, Relaxed);
        for shard in &self.shards {
            while let Some(stale) = shard.take_coldest(now.saturating_sub(idle)) {
                self.free(stale);
            }
            match shard.oldest() {
                Some(stamp) => self.sweep_after(stamp),
                // Somebody else is at it; what lies there is looked at another time.
                None if shard.retained.count() > 0 => self.sweep_after(now),
                None => {}
            }
        }
    }

    /// A block that came at this time is to be looked at when it has become idle.
    fn sweep_after(&self, stamp: u64) {
        let due = stamp.saturating_add(self.options.idle_milliseconds).saturating_add(1);
        if due < self.next_sweep.load(Relaxed) {
            self.next_sweep.fetch_min(due, Relaxed);
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
        let now = milliseconds();
        self.give_back_idle(now);
        // A range that nobody touched is not warm, and costs address space all the same.
        let cold = block.raw.lazy && block.touched == 0;
        if block.spoiled || cold || (block.touched as u64 > most && !self.cut(&mut block, most)) {
            self.released.add(block.touched as u64);
            return self.free(block);
        }
        if block.used > 0 {
            let outgrown = block.used > self.options.memory.profile().fixed_up_to;
            self.shards[block.shard].outgrown.store(outgrown, Relaxed);
        }
        (block.used, block.stamp) = (0, now);
        self.put(block, most, true);
        self.sweep_after(now);
        if self.closed.load(Relaxed) {
            self.trim(0); // it was closed meanwhile (E48)
        }
    }

    /// Puts a block onto the shelves of its shard, or of the next one that nobody else is at.
    fn put(&self, block: Block, most: u64, was_out: bool) {
        let first = block.shard;
        memory::show_only(&block.raw, 0);
        let mut slot = Some(block);
        for shard in self.shards_from(first) {
            shard.put(&mut slot, was_out);
            if slot.is_none() {
                // Of two threads that put blocks at once, one at least sees both behind a fence. It is not needed while each
                // sees no more than a shard's part of the cap, since then all of them have no more than the cap.
                if self.retained_bytes() > most / SHARDS as u64 {
                    fence(Ordering::SeqCst);
                    self.hold_at_most(most);
                }
                return;
            }
        }
        if let Some(block) = slot {
            if was_out {
                self.released.add(block.touched as u64);
            }
            self.free(block);
        }
    }

    fn trim(&self, keep: u64) -> u64 {
        let mut given_back = 0;
        loop {
            let retained = self.retained_bytes();
            if retained <= keep && (keep > 0 || self.sum(|shard| shard.retained.count()) == 0) {
                return given_back;
            }
            let Some(mut coldest) = self.take_coldest() else {
                return given_back;
            };
            let before = coldest.touched as u64;
            if self.cut(&mut coldest, keep.saturating_add(before).saturating_sub(retained)) {
                given_back += before - coldest.touched as u64;
                self.put(coldest, self.options.max_retained, false);
                return given_back;
            }
            given_back += before;
            self.free(coldest);
        }
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
        self.refused.fetch_add(1, Relaxed);
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
        let (reused, reused_bytes) = (
            inner.sum(|shard| shard.reused.count()),
            inner.sum(|shard| shard.reused.bytes()),
        );
        let mut stats = PoolStats {
            rented: reused.wrapping_add(inner.fresh.count()),
            rented_bytes: reused_bytes.wrapping_add(inner.fresh.bytes()),
            released: inner
                .sum(|shard| shard.released.count())
                .wrapping_add(inner.released.count()),
            released_bytes: inner
                .sum(|shard| shard.released.bytes())
                .wrapping_add(inner.released.bytes()),
            reused,
            reused_bytes,
            allocated: inner.allocated.count(),
            allocated_bytes: inner.allocated.bytes(),
            freed: inner.freed.count(),
            freed_bytes: inner.freed.bytes(),
            retained: inner.sum(|shard| shard.retained.count()),
            retained_bytes: inner.retained_bytes(),
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

    /// Whether the next body of this thread is likely to outgrow a small block, as the last one did.
    pub(crate) fn expects_large(&self) -> bool {
        self.0.shards[shard::of_this_thread()].outgrown.load(Relaxed)
    }

    /// What [`Pool::expects_large`] says from now on, for bodies that end in memory of another kind.
    pub(crate) fn expect_large(&self, large: bool) {
        self.0.shards[shard::of_this_thread()].outgrown.store(large, Relaxed);
    }

    /// Puts a block of at least `size` bytes, `size` of them granted, at the end of the list, recycled if there is one.
    /// Says whether its memory is fresh. The list has room for it.
    #[inline]
    pub(crate) fn rent(&self, size: usize, list: &mut Blocks) -> Result<bool, Error> {
        let profile = self.0.options.memory.profile();
        let grows = profile.grows && size > profile.fixed_up_to;
        self.rent_block(size, grows.then_some(usize::MAX), list)
    }

    /// As [`Pool::rent`], for the first block of a body of which nothing is known: a warm block that grows where there is
    /// one and the last body needed it. Not on a budget, which a block that grows is charged more to at once, nor where a
    /// viewer sees all of a block, so that all of it would have to be cleared; nor a block with much memory, which a small
    /// body that its user keeps would take with it (invariant 2).
    #[inline]
    pub(crate) fn rent_first(&self, size: usize, list: &mut Blocks) -> Result<bool, Error> {
        let profile = self.0.options.memory.profile();
        if profile.grows && size > profile.fixed_up_to {
            return self.rent_block(size, Some(usize::MAX), list);
        }
        let may = profile.grows && !profile.detachable && self.0.options.budget.is_none();
        self.rent_block(size, (may && self.expects_large()).then_some(MOST_FOR_SMALL), list)
    }

    fn rent_block(&self, size: usize, grows: Option<usize>, list: &mut Blocks) -> Result<bool, Error> {
        let fresh = self.rent_uncharged(size, grows, list)?;
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
    pub(crate) fn rent_uncharged(&self, size: usize, grows: Option<usize>, list: &mut Blocks) -> Result<bool, Error> {
        let inner = &*self.0;
        let mine = shard::of_this_thread();
        if grows.is_some() {
            // What has lain for too long goes, and serves no small body that only begins in it.
            inner.give_back_idle(milliseconds());
        }
        for shard in inner.shards_from(mine) {
            let found = shard.rent(size, grows, |mut block| {
                (block.granted, block.shard) = (0, mine);
                list.push(block);
            });
            if found {
                // Where nothing else lies, at any shard, nothing can be idle, and the clock need not be read.
                if grows.is_none() && inner.sum(|shard| shard.retained.count()) > 0 {
                    inner.give_back_idle(milliseconds());
                }
                return Ok(false);
            }
        }
        if grows.is_none() {
            inner.give_back_idle(milliseconds());
        }
        let allocated = inner.options.memory.allocate(rounded(size), POOLED_ALIGN);
        let mut block = Block::new(allocated.ok_or_else(|| inner.refuse(Error::NoMemory))?, Home::Pool);
        inner.allocated.add(0);
        inner.own(block.touched as u64);
        inner.fresh.add(block.touched as u64);
        (block.granted, block.shard) = (0, mine);
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
        memory::show_only(&block.raw, block.granted);
        Ok(())
    }

    /// Gives the pages of a block beyond `keep` back to the system, where its memory can.
    pub(crate) fn cut(&self, block: &mut Block, keep: u64) {
        self.0.cut(block, keep);
    }

    /// Charges the budget for memory that is not this pool's: exact results that windows lie in (E45).
    pub(crate) fn charge(&self, bytes: usize) -> Result<(), Error> {
        self.0.charge(bytes as u64)
    }

    /// Undoes [`Pool::charge`].
    pub(crate) fn discharge(&self, bytes: usize) {
        self.0.discharge(bytes as u64);
    }

    /// Takes a part of a grant back.
    pub(crate) fn ungrant(&self, block: &mut Block, granted: usize) {
        self.0.discharge((block.granted - granted) as u64);
        block.granted = granted;
        memory::show_only(&block.raw, granted);
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
