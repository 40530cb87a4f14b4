//! Where the memory of one body comes from, and what it has cost so far.

use crate::block::{Block, Home};
use crate::growth;
use crate::memory::MemoryRef;
use crate::options::{Options, Prefer};
use crate::pool::Pool;

/// What a body has cost so far (E51).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) copied: u64,
    pub(crate) rents: u64,
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) held: u64,
    pub(crate) peak_held: u64,
}

impl Tally {
    pub(crate) fn hold(&mut self, more: usize) {
        self.held += more as u64;
        self.peak_held = self.peak_held.max(self.held);
    }

    pub(crate) fn let_go(&mut self, bytes: usize) {
        self.held -= bytes as u64;
    }

    /// Counts a block that was rented.
    pub(crate) fn count(&mut self, block: &mut Block, fresh: bool) {
        self.rents += 1;
        if fresh {
            self.allocations += 1;
            self.allocated_bytes += block.touched as u64;
        }
        block.counted = if block.raw.lazy { 0 } else { block.raw.capacity };
        self.hold(block.counted);
    }
}

/// Where a body's memory comes from, and what says how large its blocks are to be.
#[derive(Clone, Copy)]
pub(crate) struct Supply<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) exact: &'a MemoryRef,
    pub(crate) options: &'a Options,
}

impl<'a> Supply<'a> {
    pub(crate) fn new(pool: &'a Pool, options: &'a Options) -> Supply<'a> {
        let exact = options.exact_memory();
        Supply { pool, exact, options }
    }

    pub(crate) fn announced(self) -> Option<u64> {
        self.options.length.or(self.options.size_hint)
    }

    /// Whether the first block is a piece of the exact result's memory.
    pub(crate) fn first_is_exact(self) -> bool {
        let fits = |announced| announced > 0 && (announced <= self.options.max_prealloc || self.exact_grows());
        self.options.prefer == Prefer::Exact && self.announced().is_some_and(fits)
    }

    /// Whether anything was announced of the body's size.
    pub(crate) fn is_announced(self) -> bool {
        self.announced().is_some_and(|announced| announced > 0)
    }

    /// Whether an exact result grows by its memory's reallocating (E34): where its length is not known, a hint has proven
    /// too small, or a length is too large to be taken at once.
    pub(crate) fn exact_grows(self) -> bool {
        self.options.prefer == Prefer::Exact
            && self
                .options
                .length
                .is_none_or(|length| length > self.options.max_prealloc)
            && self.exact.profile().reallocates
    }

    /// How large an exact result of `granted` bytes becomes so that `need` fit: twice as large, or all of the length once
    /// more than a quarter of it is needed, so that the allocator moves at most that (E8).
    pub(crate) fn exact_step(self, granted: usize, need: usize) -> usize {
        match self.options.length.map(growth::size) {
            Some(length) if need > length / 4 => length.max(need),
            Some(length) => granted.saturating_mul(2).min(length / 4).max(need),
            None => granted.saturating_mul(2).max(need),
        }
    }

    /// The size of the first block.
    pub(crate) fn first(self) -> usize {
        growth::first(self.announced(), self.options.max_prealloc, self.options.first_block)
    }

    /// Whether more was announced than may be taken at once: a first step of `first` is not where the body ends.
    pub(crate) fn outgrows(self) -> bool {
        self.announced()
            .is_some_and(|announced| announced > self.options.max_prealloc)
    }

    /// Zero bytes that are to be readable behind the result (E4).
    pub(crate) fn padding(self) -> usize {
        self.options.padding as usize
    }

    /// The memory that a block came from; `None`: the caller's own.
    pub(crate) fn memory_of(self, block: &Block) -> Option<&'a MemoryRef> {
        match block.home {
            Home::Pool => Some(self.pool.memory()),
            Home::Exact => Some(self.exact),
            Home::Caller => None,
        }
    }
}
