//! A body that lies in the exact result's own memory, or is moved there: filled in place where the length is known, grown
//! by the allocator where it is not, else copied once (E7, E8, E34).

use crate::block::{Block, Home};
use crate::body::{Body, copy};
use crate::error::Error;
use crate::memory::{EXACT_ALIGN, Raw};
use crate::supply::Supply;

/// How much of a very large body is copied before its pages are given back: what two huge pages and their neighbours hold,
/// so that advice for less does not split them.
const GIVEN_BACK_AT_ONCE: usize = 8 << 20;

impl Body {
    /// Whether the first block is a piece of the exact result's memory.
    pub(crate) fn is_exact(&self) -> bool {
        self.blocks.first().is_some_and(|block| block.home == Home::Exact)
    }

    /// A piece of exactly `size` bytes of the exact result's memory, and the padding, charged as granted (E45).
    pub(crate) fn allocate_exact(&mut self, supply: Supply<'_>, size: usize) -> Result<Block, Error> {
        supply.pool.charge(size)?;
        let block = self.allocate_result(supply, size);
        if block.is_err() {
            supply.pool.discharge(size);
        }
        block
    }

    /// The same for a result that leaves at once, which is no window and so not charged.
    pub(crate) fn allocate_result(&mut self, supply: Supply<'_>, size: usize) -> Result<Block, Error> {
        let padded = size.checked_add(supply.padding()).ok_or(Error::NoMemory)?;
        let raw = supply.exact.allocate(padded, EXACT_ALIGN).ok_or(Error::NoMemory)?;
        let mut block = Block::new(raw, Home::Exact);
        block.granted = size;
        self.tally.allocations += 1;
        self.tally.allocated_bytes += block.raw.capacity as u64;
        block.counted = block.raw.capacity;
        self.tally.hold(block.counted);
        Ok(block)
    }

    /// Gives the exact result's memory `size` bytes; false, with nothing changed, when it cannot. What the allocator
    /// moves for that counts as an allocation, not as copied (E51).
    pub(crate) fn reallocate(&mut self, supply: Supply<'_>, size: usize) -> bool {
        let (Some(block), Some(padded)) = (self.blocks.last_mut(), size.checked_add(supply.padding())) else {
            return false;
        };
        let (before, more) = (block.raw.capacity, size.saturating_sub(block.granted));
        if supply.pool.charge(more).is_err() {
            return false;
        }
        // SAFETY: a block of this home is a piece of the exact result's memory; no viewer keeps it.
        let Some(cost) = (unsafe { supply.exact.reallocate(&mut block.raw, padded) }) else {
            supply.pool.discharge(more);
            return false;
        };
        supply.pool.discharge(block.granted.saturating_sub(size));
        block.granted = size;
        self.tally.allocations += cost.requests;
        self.tally.copied += cost.copied;
        let after = block.raw.capacity;
        self.tally.allocated_bytes += after.saturating_sub(before) as u64;
        self.tally.let_go(block.counted);
        block.counted = after;
        self.tally.hold(after);
        true
    }

    /// The same into the exact result's memory, where that grows from then on.
    pub(crate) fn move_to_exact(&mut self, supply: Supply<'_>, size: usize) -> Result<(), Error> {
        let larger = self.allocate_exact(supply, size)?;
        self.move_to(supply, larger)
    }

    /// Copies what has come into a piece of exactly `size` bytes of the exact result's memory, where the rest will be
    /// read straight to; what was staged is given back, not retained (E8).
    pub(crate) fn promote(&mut self, supply: Supply<'_>, size: usize) -> Result<(), Error> {
        let mut block = self.allocate_exact(supply, size)?;
        self.copy_into(supply, &mut block);
        let staged = core::mem::take(&mut self.blocks);
        if let Some(side) = &mut self.side {
            side.used = 0;
        }
        self.blocks.push(block);
        self.clean_to = 0;
        for block in staged {
            self.tally.let_go(block.counted);
            if block.home == Home::Pool && !block.leaked {
                supply.pool.release_for_good(block);
            } else {
                block.release(supply.pool, supply.exact);
            }
        }
        Ok(())
    }

    /// Copies the whole body into a block that has room for it; the body is not used after that.
    ///
    /// A body that the pool would not keep anyway is copied from its end, and its pages are given back as they are copied,
    /// so that it and its copy are never held at once.
    pub(crate) fn copy_into(&mut self, supply: Supply<'_>, block: &mut Block) {
        if let [large] = self.blocks.as_mut_slice()
            && large.home == Home::Pool
            && large.used == self.length
            && large.touched as u64 > supply.pool.options().max_retained
        {
            while large.used > 0 {
                let from = (large.used - 1) / GIVEN_BACK_AT_ONCE * GIVEN_BACK_AT_ONCE;
                block.used = from;
                copy(&large.bytes()[from..], block);
                large.used = from;
                supply.pool.cut(large, from as u64);
            }
            block.used = self.length;
            self.tally.copied += self.length as u64;
            return;
        }
        for segment in self.segments() {
            copy(segment, block);
            block.used += segment.len();
        }
        self.tally.copied += self.length as u64;
    }

    /// The whole body as one piece of exactly its length: its only block if that is such a piece already, or can be
    /// made one by its memory, else one copy (E34). The body keeps its blocks when that fails.
    pub(crate) fn make_exact(&mut self, supply: Supply<'_>) -> Result<Raw, Error> {
        let aside = self.side.as_ref().is_some_and(|side| side.used > 0);
        if let ([block], false) = (self.blocks.as_mut_slice(), aside) {
            let fits = block.granted == self.length && self.length > 0;
            let is_ours = block.home == Home::Exact && !block.leaked;
            if is_ours && (fits || self.reallocate(supply, self.length)) {
                let mut block = self.blocks.pop().ok_or(Error::NoMemory)?;
                supply.pool.discharge(block.granted);
                block.pad(supply.padding());
                return Ok(block.raw);
            }
        }
        let mut block = self.allocate_result(supply, self.length)?;
        self.copy_into(supply, &mut block);
        block.pad(supply.padding());
        Ok(block.raw)
    }
}
