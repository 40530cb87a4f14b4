//! A piece of memory with a body's bytes at its start.

use crate::buffer::Inner;
use crate::memory::{self, HUGE_FROM, HUGE_PAGE, MemoryRef, PAGE, Raw};
use crate::pool::Pool;
use crate::shared::Place;
use smallvec::SmallVec;

/// Where a block goes back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    /// The pool.
    Pool,
    /// The exact result's memory, of which it is a piece.
    Exact,
    /// The caller's own memory, which was never ours (E35).
    Caller,
}

/// A piece of memory with a body's bytes at its start.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) raw: Raw,
    /// Bytes of this body.
    pub(crate) used: usize,
    /// Bytes that this body may use; charged to the pool's budget.
    pub(crate) granted: usize,
    /// Bytes that count as taken from the system: all of a heap block, the touched pages of a range (E51).
    pub(crate) touched: usize,
    /// Bytes that count as held by this body.
    pub(crate) counted: usize,
    /// Where it goes back to.
    pub(crate) home: Home,
    /// It is not to be used again: a source may still write into it (E23).
    pub(crate) spoiled: bool,
    /// It is never given back: a viewer that could not be given the block keeps looking at it.
    pub(crate) leaked: bool,
    /// Where a buffer's handle lay that held this block, for the next one, which then takes no memory at all.
    pub(crate) spare: Option<Place<Inner>>,
    /// The shard of its pool that it was rented at and goes back to.
    pub(crate) shard: usize,
    /// When it came back to the pool, in milliseconds.
    pub(crate) stamp: u64,
}

/// The blocks of a body: most bodies have one. Blocks are large to move, so they are put straight into such a list.
pub(crate) type Blocks = SmallVec<[Block; 1]>;

// SAFETY: a block is memory that belongs to whoever holds the block; `Memory` is Send and Sync.
unsafe impl Send for Block {}
// SAFETY: a shared block is only read.
unsafe impl Sync for Block {}

impl Block {
    pub(crate) fn new(raw: Raw, home: Home) -> Block {
        let touched = if raw.lazy { 0 } else { raw.capacity };
        let granted = raw.capacity;
        Block {
            raw,
            used: 0,
            granted,
            touched,
            counted: 0,
            home,
            spoiled: false,
            leaked: false,
            spare: None,
            shard: 0,
            stamp: 0,
        }
    }

    pub(crate) fn room(&self) -> usize {
        self.granted - self.used
    }

    /// Counts the first `length` bytes as used; for a block that is filled all at once.
    pub(crate) fn use_all(&mut self, length: usize, pool: &Pool) {
        self.used = length;
        self.raw.dirty = self.raw.dirty.max(length);
        self.touch(pool);
    }

    /// Counts pages that were touched for the first time; says how many bytes that is.
    pub(crate) fn touch(&mut self, pool: &Pool) -> usize {
        let fresh = self.held().saturating_sub(self.touched);
        self.touched += fresh;
        if fresh > 0 && self.home == Home::Pool {
            pool.touched(fresh);
        }
        fresh
    }

    /// Zeros behind the used bytes; the caller has made sure of the room (E4).
    pub(crate) fn pad(&mut self, padding: usize) {
        let padding = padding.min(self.raw.capacity - self.used);
        // SAFETY: used + padding <= capacity by the line above, and nobody looks at bytes behind `used` yet.
        unsafe { self.raw.pointer.as_ptr().add(self.used).write_bytes(0, padding) };
    }

    /// Of a block of the pool, only the first `length` bytes may be looked at from here on.
    #[inline(always)]
    pub(crate) fn show(&self, length: usize) {
        if self.home == Home::Pool {
            memory::show_only(&self.raw, length);
        }
    }

    /// The body's bytes in this block.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the first `used` bytes were written by the source or copied from a body, and lie in the capacity.
        unsafe { core::slice::from_raw_parts(self.raw.pointer.as_ptr(), self.used) }
    }

    /// Gives a block of the pool back, once its host has revoked its views.
    #[inline]
    pub(crate) fn release_to(mut self, pool: &Pool) {
        self.spoiled = self.spoiled || !pool.memory().recycle(&mut self.raw);
        pool.release(self);
    }

    /// Gives the block back to where it came from.
    #[inline]
    pub(crate) fn release(self, pool: &Pool, exact: &MemoryRef) {
        if self.leaked {
            return;
        }
        match self.home {
            Home::Pool => self.release_to(pool),
            // SAFETY: a block of this home is a piece of the exact result's memory, and goes back once, by value.
            Home::Exact => {
                pool.discharge(self.granted);
                // SAFETY: a block of this home is a piece of the exact result's memory, and goes back once, by value.
                unsafe { exact.deallocate(self.raw) }
            }
            Home::Caller => {}
        }
    }

    /// Bytes that this body holds of it, by its own use.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        if self.raw.lazy {
            let page = match self.raw.huge && self.used > HUGE_FROM {
                true => HUGE_PAGE,
                false => PAGE,
            };
            self.used.next_multiple_of(page).min(self.raw.capacity)
        } else {
            self.raw.capacity
        }
    }
}
