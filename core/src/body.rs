//! The bytes of one body where they lie: its blocks, its side window, and what all of that costs. The collector says
//! how much is allowed; this file finds the memory, and knows nothing of limits, lengths or states.
//!
//! ```text
//! blocks   |■■■■■■■■■■|  |■■■■■■■■■■■■■■■■■■■■|  |■■■■■■■■■■░░░░░░░░░░......|     side |■■■░|
//!           full          full                     used      granted   reserve          bytes that came while the
//!                                                                                       last block was full (E10)
//! ```

use crate::block::{Block, Blocks, Home};
use crate::error::Error;
use crate::growth::{self, LEAST_WINDOW};
use crate::memory::{self, Raw};
use crate::pool::Pool;
use crate::source::Window;
use crate::supply::{Supply, Tally};
use core::mem::MaybeUninit;
use core::ptr::NonNull;

#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) blocks: Blocks,
    /// The side window (E10): a block that is neither granted nor charged to a budget, since it is there to see the end.
    pub(crate) side: Option<Block>,
    /// The side window where only 1 byte may come, which never counts as the body's: it shows that there is one.
    probe: Option<Box<MaybeUninit<u8>>>,
    /// Whether the last side window was that one.
    probing: bool,
    /// Bytes of the body, those in the side window included.
    pub(crate) length: usize,
    /// Up to here the last block shows nothing but this body's bytes and zeros (E49).
    pub(crate) clean_to: usize,
    pub(crate) tally: Tally,
}

pub(crate) fn copy(from: &[u8], block: &mut Block) {
    debug_assert!(from.len() <= block.raw.capacity - block.used);
    // SAFETY: the caller has made sure of the room. Bytes that are pushed into the caller's own memory may come from
    // that memory (E35), so the ranges may overlap.
    unsafe {
        block
            .raw
            .pointer
            .as_ptr()
            .add(block.used)
            .copy_from(from.as_ptr(), from.len())
    };
}

impl Body {
    /// Room in the last block for a window; none while bytes wait in the side window.
    pub(crate) fn room(&self) -> usize {
        match (&self.side, self.blocks.last()) {
            (Some(side), _) if side.used > 0 => 0,
            (_, Some(block)) => block.room(),
            _ => 0,
        }
    }

    /// Bytes of the last block that the body may use.
    pub(crate) fn last_granted(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.granted)
    }

    /// Whether the last block is full for good: it neither grows nor can be exchanged for a growing one without a
    /// copy, and nothing waits in the side window yet (E10).
    pub(crate) fn may_look_aside(&self) -> bool {
        let waiting = self.side.as_ref().is_some_and(|side| side.used > 0);
        !waiting
            && self
                .blocks
                .last()
                .is_some_and(|block| block.home != Home::Pool || block.granted >= block.raw.reserve)
    }

    /// Whether the host has taken memory of this body away (a detached ArrayBuffer).
    pub(crate) fn is_attached(&self, supply: Supply<'_>) -> bool {
        self.blocks.iter().all(|block| {
            supply
                .memory_of(block)
                .is_none_or(|memory| !memory.profile().detachable || memory.is_attached(&block.raw))
        })
    }

    /// Makes sure that `need` more bytes fit into the blocks, those of the side window moved there. Nothing is lost
    /// or changed for the caller when that fails (E30).
    pub(crate) fn make_room(&mut self, supply: Supply<'_>, need: usize) -> Result<(), Error> {
        let waiting = self.side.as_ref().map_or(0, |side| side.used);
        let total = need.checked_add(waiting).ok_or(Error::NoMemory)?;
        if self.blocks.last().is_none_or(|block| block.room() < total) {
            self.extend(supply, total)?;
        }
        if waiting > 0
            && let Some(mut side) = self.side.take()
        {
            self.length -= waiting;
            self.land_copy(supply.pool, side.bytes());
            self.tally.copied += waiting as u64;
            side.used = 0;
            self.side = Some(side);
        }
        Ok(())
    }

    fn extend(&mut self, supply: Supply<'_>, total: usize) -> Result<(), Error> {
        let Some(last) = self.blocks.last_mut() else {
            return self.take_first(supply, total);
        };
        let last_pooled = last.home == Home::Pool;
        if last.home == Home::Exact && !last.leaked && supply.exact_grows() {
            let granted = last.granted;
            let need = last.used.checked_add(total).ok_or(Error::NoMemory)?;
            // A smaller step than doubling may still be had; without either the body goes on in blocks of the pool.
            if self.reallocate(supply, supply.exact_step(granted, need)) || self.reallocate(supply, need) {
                return Ok(());
            }
            let size = growth::next(granted, supply.options.first_block, total);
            return self.take_block(supply, size, false);
        }
        let mut rest_from = usize::MAX;
        if last.raw.reserve > last.granted && last_pooled {
            let need = last.used.checked_add(total).ok_or(Error::NoMemory)?;
            let granted = growth::grant(last.granted, need, last.raw.reserve);
            if granted > 0 {
                // A smaller step than doubling may still be had where the budget or the memory says no to that.
                return supply
                    .pool
                    .grow(last, granted)
                    .or_else(|_| supply.pool.grow(last, need));
            }
            // The rest of the range is used as far as it goes; what does not fit goes into the next block.
            rest_from = last.granted;
            supply.pool.grow(last, last.raw.reserve)?;
        }
        let (used, room, granted) = (last.used, last.room(), last.granted);
        let profile = supply.pool.memory().profile();
        // Only a small block moves. Where no address space was to be had the larger one is a fixed block as well, and a
        // body that moved out of each of those would be copied over and over.
        let small = last.raw.capacity <= profile.fixed_up_to && !last.raw.lazy;
        if self.blocks.len() == 1 && last_pooled && small && used <= growth::MOST_MOVED {
            let need = used.checked_add(total).ok_or(Error::NoMemory)?;
            if supply.exact_grows() && self.move_to_exact(supply, need.max(growth::FIRST_EXACT)).is_ok() {
                return Ok(());
            }
            if profile.grows {
                return self.move_to_larger(supply, need);
            }
        }
        let size = growth::next(granted, supply.options.first_block, total - room.min(total));
        let index = self.blocks.len() - 1;
        let taken = self.take_block(supply, size, false);
        if taken.is_err() && rest_from < usize::MAX {
            supply.pool.ungrant(&mut self.blocks[index], rest_from);
        }
        taken
    }

    /// The first block: as announced, at least what is needed now; a hint that no memory is to be had for is as none (E1).
    fn take_first(&mut self, supply: Supply<'_>, total: usize) -> Result<(), Error> {
        let taken = self.take_announced(supply, total);
        let plain = growth::first(None, 0, supply.options.first_block).max(total);
        match taken.is_err() && supply.options.length.is_none() && supply.first() > plain {
            true => self.take_block(supply, plain, false),
            false => taken,
        }
    }

    fn take_announced(&mut self, supply: Supply<'_>, total: usize) -> Result<(), Error> {
        if supply.first_is_exact() {
            let first = supply.first();
            let size = if first >= total {
                first
            } else {
                supply.exact_step(first, total)
            };
            if first >= total || supply.exact_grows() {
                return self.take_block(supply, size, true);
            }
        }
        // Only a guess: where there is no memory for that, the body begins as if nothing were expected (E30).
        if supply.exact_grows()
            && supply.pool.expects_large()
            && self.take_block(supply, growth::FIRST_EXACT.max(total), true).is_ok()
        {
            return Ok(());
        }
        // Room for the padding behind an announced body, so that it need not move for that.
        let mut size = supply.first().saturating_add(supply.padding()).max(total);
        let profile = supply.pool.memory().profile();
        if supply.outgrows() && profile.grows {
            // Sure to outgrow a small block, so what it would move later is not added to the quarter of E8. A block
            // that grows takes no more for it before the bytes come.
            size = size.max(profile.fixed_up_to.saturating_add(1));
        }
        self.take_block(supply, size, false)
    }

    fn take_block(&mut self, supply: Supply<'_>, size: usize, exact: bool) -> Result<(), Error> {
        self.blocks.try_reserve(1).map_err(|_| Error::NoMemory)?;
        if exact {
            let block = self.allocate_exact(supply, size)?;
            self.blocks.push(block);
        } else {
            let fresh = match self.blocks.is_empty() && !supply.is_announced() {
                true => supply.pool.rent_first(size, &mut self.blocks)?,
                false => supply.pool.rent(size, &mut self.blocks)?,
            };
            if let Some(block) = self.blocks.last_mut() {
                self.tally.count(block, fresh);
            }
        }
        self.clean_to = 0;
        Ok(())
    }

    fn rent(&mut self, pool: &Pool, size: usize) -> Result<Block, Error> {
        let mut list = Blocks::new_const();
        let fresh = pool.rent(size, &mut list)?;
        self.only(list, fresh)
    }

    fn rent_side(&mut self, pool: &Pool) -> Result<Block, Error> {
        let mut list = Blocks::new_const();
        let fresh = pool.rent_uncharged(LEAST_WINDOW, None, &mut list)?;
        let side = self.only(list, fresh)?;
        side.show(LEAST_WINDOW);
        Ok(side)
    }

    fn only(&mut self, mut list: Blocks, fresh: bool) -> Result<Block, Error> {
        let mut block = list.pop().ok_or(Error::NoMemory)?; // the pool has just put it there
        self.tally.count(&mut block, fresh);
        Ok(block)
    }

    /// A small first block that is outgrown moves once, a bounded copy, into a larger one (invariant 1).
    fn move_to_larger(&mut self, supply: Supply<'_>, size: usize) -> Result<(), Error> {
        let size = size.max(supply.pool.memory().profile().fixed_up_to + 1);
        let larger = self.rent(supply.pool, size)?;
        self.move_to(supply, larger)
    }

    pub(crate) fn move_to(&mut self, supply: Supply<'_>, mut larger: Block) -> Result<(), Error> {
        let Some(small) = self.blocks.pop() else {
            larger.release(supply.pool, supply.exact);
            return Err(Error::NoMemory);
        };
        copy(small.bytes(), &mut larger);
        self.tally.copied += small.used as u64;
        self.blocks.push(larger); // in the place of the one that was popped
        self.clean_to = 0;
        self.add_used(supply.pool, small.used);
        self.tally.let_go(small.counted);
        small.release(supply.pool, supply.exact);
        Ok(())
    }

    /// A window of at most `size` bytes at the end of the last block.
    pub(crate) fn window(&mut self, supply: Supply<'_>, size: usize, cleared: bool) -> Option<Window> {
        let clean_to = self.clean_to;
        let block = self.blocks.last_mut()?;
        let memory = supply.memory_of(block);
        let room = size.min(block.granted - block.used);
        let end = block.used + room;
        // SAFETY: used <= granted <= capacity.
        let pointer = unsafe { block.raw.pointer.add(block.used) };
        // The caller's own memory shows its own bytes, and those behind the body stay as they are (E35).
        if let (true, Some(memory)) = (cleared, memory) {
            let shows_all = memory.profile().detachable;
            let from = block.used.max(clean_to);
            let to = if shows_all {
                block.raw.dirty
            } else {
                end.min(block.raw.dirty)
            };
            self.clean_to = end.max(clean_to);
            if from < to {
                // SAFETY: from..to lies in the capacity; nobody else looks at bytes behind `used`.
                unsafe { block.raw.pointer.as_ptr().add(from).write_bytes(0, to - from) };
                if shows_all {
                    self.clean_to = self.clean_to.max(to);
                    block.raw.dirty = from;
                }
            }
        }
        // A source may write anywhere in its window, whatever it claims afterwards (E49).
        block.raw.dirty = block.raw.dirty.max(end);
        block.show(end);
        Some(Window {
            pointer,
            room,
            token: block.raw.token,
            offset: block.used,
            side: false,
        })
    }

    /// Bytes behind the body that were cleared already and need no clearing again (E12).
    pub(crate) fn already_clean(&self) -> usize {
        self.blocks
            .last()
            .map_or(0, |block| self.clean_to.min(block.granted).saturating_sub(block.used))
    }

    /// The side window, at most `size` bytes of it.
    pub(crate) fn side_window(
        &mut self,
        pool: &Pool,
        size: usize,
        cleared: bool,
        probe: bool,
    ) -> Result<Window, Error> {
        let room = if probe { 1 } else { size.min(LEAST_WINDOW) };
        self.probing = probe;
        let pointer = if probe {
            if self.probe.is_none() {
                self.probe = Some(memory::place(MaybeUninit::uninit()).ok_or(Error::NoMemory)?);
            }
            NonNull::from(&mut **self.probe.as_mut().ok_or(Error::NoMemory)?).cast()
        } else {
            if self.side.is_none() {
                self.side = Some(self.rent_side(pool)?);
            }
            let side = self.side.as_mut().ok_or(Error::NoMemory)?;
            side.raw.dirty = side.raw.dirty.max(room);
            side.show(room);
            side.raw.pointer
        };
        if cleared {
            // SAFETY: the probe has 1 byte, the block was rented for LEAST_WINDOW, and nobody else has either.
            unsafe { pointer.as_ptr().write_bytes(0, room) };
        }
        Ok(Window {
            pointer,
            room,
            token: 0,
            offset: 0,
            side: true,
        })
    }

    /// Counts `filled` bytes of the last window, of which the body keeps `kept`.
    #[inline]
    pub(crate) fn land(&mut self, pool: &Pool, aside: bool, kept: usize) {
        self.length += kept;
        self.show_all();
        if !aside {
            self.add_used(pool, kept);
        } else if let Some(side) = &mut self.side {
            side.used = kept;
        }
    }

    /// The last window is not out any more.
    #[inline]
    fn show_all(&self) {
        if let Some(block) = self.blocks.last() {
            block.show(block.granted);
        }
        if let Some(side) = &self.side {
            side.show(LEAST_WINDOW);
        }
    }

    #[inline]
    fn add_used(&mut self, pool: &Pool, bytes: usize) {
        let Some(block) = self.blocks.last_mut() else { return };
        block.used += bytes;
        block.raw.dirty = block.raw.dirty.max(block.used);
        if block.raw.lazy {
            self.count_touched(pool);
        }
    }

    /// Counts what the bytes that have come to the last block, which is lazy, have touched (E51).
    fn count_touched(&mut self, pool: &Pool) {
        let Some(block) = self.blocks.last_mut() else { return };
        let held = block.held();
        if held > block.counted {
            self.tally.hold(held - block.counted);
            block.counted = held;
        }
        self.tally.allocated_bytes += block.touch(pool) as u64;
    }

    /// Copies pushed bytes behind the last of the body's where there is room for all of them; false, with nothing done,
    /// where there is not or something waits before that place.
    #[inline]
    pub(crate) fn land_behind(&mut self, pool: &Pool, data: &[u8]) -> bool {
        let waiting = self.side.as_ref().is_some_and(|side| side.used > 0);
        let alone = self.blocks.len() == 1;
        let Some(block) = self.blocks.last_mut() else {
            return false;
        };
        // Behind a block that is still empty there may be room in the one before it.
        if data.len() > block.room() || waiting || (block.used == 0 && !alone) {
            return false;
        }
        copy(data, block);
        block.used += data.len();
        block.raw.dirty = block.raw.dirty.max(block.used);
        self.length += data.len();
        if block.raw.lazy && block.used > block.counted {
            self.count_touched(pool);
        }
        true
    }

    /// Copies pushed bytes behind the body; `make_room` has seen to it that they fit. Landing is not `copied` (E51).
    pub(crate) fn land_copy(&mut self, pool: &Pool, mut data: &[u8]) {
        self.length += data.len();
        // A push that did not fit into the last block got one more behind it; the room before it is used first.
        if let [.., before, last] = self.blocks.as_mut_slice()
            && last.used == 0
            && before.room() > 0
        {
            let (head, rest) = data.split_at(before.room().min(data.len()));
            copy(head, before);
            let Some(last) = self.blocks.pop() else { return };
            self.add_used(pool, head.len());
            self.blocks.push(last); // in the place it was popped from
            data = rest;
        }
        if let Some(block) = self.blocks.last_mut() {
            copy(data, block);
            self.add_used(pool, data.len());
        }
    }

    /// The body's bytes, piece by piece.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &[u8]> {
        let side = self.side.iter().map(Block::bytes);
        self.blocks
            .iter()
            .map(Block::bytes)
            .chain(side)
            .filter(|bytes| !bytes.is_empty())
    }

    /// Each piece's token, its length, and whether it is a piece of the exact result's memory.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        let side = self.side.iter().map(|side| (0, side.used, false));
        let blocks = self
            .blocks
            .iter()
            .map(|block| (block.raw.token, block.used, block.home == Home::Exact));
        blocks.chain(side).filter(|piece| piece.1 > 0)
    }

    /// The last block, or the side window where that was the last one shown, is not to be used by others any more.
    pub(crate) fn spoil(&mut self, window: &Window) {
        let block = match (window.side, window.side && self.probing) {
            (_, true) => None, // given to nobody else anyway
            (true, _) => self.side.as_mut(),
            (false, _) => self.blocks.last_mut(),
        };
        if let Some(block) = block {
            block.spoiled = true;
        }
        self.show_all();
    }

    /// No block is to be used by others any more.
    pub(crate) fn spoil_all(&mut self) {
        for block in self.blocks.iter_mut().chain(&mut self.side) {
            block.spoiled = true;
        }
    }

    /// Exchanges the memory of the last window for other memory with the same bytes, and hands the old one out; see
    /// [`crate::Collector::quarantine`].
    pub(crate) fn exchange(&mut self, supply: Supply<'_>, window: &Window) -> Result<Option<Kept>, Error> {
        if window.side && self.probing {
            return Ok(self.probe.take().map(Kept::Probe));
        }
        let shown = if window.side {
            self.side.take()
        } else {
            self.blocks.pop()
        };
        let Some(mut old) = shown else { return Ok(None) };
        let fresh = match (window.side, old.home) {
            (true, _) => self.rent_side(supply.pool),
            (false, Home::Pool) => self.rent(supply.pool, old.granted),
            (false, Home::Exact) => self.allocate_exact(supply, old.granted),
            (false, Home::Caller) => {
                self.blocks.push(old); // in the place it was popped from
                return Ok(None); // its viewers look at what is not ours
            }
        };
        let (kept, outcome) = match fresh {
            Ok(mut block) => {
                copy(old.bytes(), &mut block);
                self.tally.copied += old.used as u64;
                self.tally.let_go(old.counted);
                block.used = if window.side { old.used } else { 0 };
                let used = old.used - block.used;
                old.spoiled = true;
                (block, Ok((Kept::Block(old), used)))
            }
            Err(error) => {
                // The viewer may look at it for ever, and so it stays for ever.
                old.leaked = true;
                (old, Err(error))
            }
        };
        if window.side {
            self.side = Some(kept);
        } else {
            self.blocks.push(kept); // in the place it was popped from
        }
        let (old, used) = outcome?;
        if !window.side {
            self.clean_to = 0;
            self.add_used(supply.pool, used);
        }
        Ok(Some(old))
    }

    /// Before the blocks become the result: bytes of the side window join them where memory can be had, and a block
    /// that a hint made far too large is exchanged (E10, E11).
    #[inline]
    pub(crate) fn settle(&mut self, supply: Supply<'_>, hinted: bool) {
        if self.side.as_ref().is_some_and(|side| side.used > 0) {
            // Without memory the side window itself is the last segment (E10).
            let _ = self.make_room(supply, 0);
        }
        let wasted = self.waste();
        if let ([block], true) = (self.blocks.as_slice(), hinted)
            && block.home != Home::Caller
            && !block.raw.lazy
            && wasted > (self.length / 8).max(LEAST_WINDOW)
            && let Ok(mut smaller) = self.rent(supply.pool, self.length.max(1).saturating_add(supply.padding()))
            && let Some(large) = self.blocks.pop()
        {
            copy(large.bytes(), &mut smaller);
            self.tally.copied += large.used as u64;
            self.blocks.push(smaller);
            self.add_used(supply.pool, large.used);
            self.tally.let_go(large.counted);
            large.release(supply.pool, supply.exact);
        }
    }

    /// Takes the caller's own memory as the first and only block (E35).
    ///
    /// # Safety
    /// As [`crate::Collector::new_into`].
    pub(crate) unsafe fn lie_in(&mut self, pointer: NonNull<u8>, capacity: usize) {
        let raw = Raw {
            pointer,
            capacity,
            reserve: capacity,
            token: 0,
            lazy: false,
            huge: false,
            dirty: 0,
        };
        self.blocks.push(Block::new(raw, Home::Caller)); // in place: the list has room for one
    }

    /// Whether the body lies in the caller's own memory.
    pub(crate) fn is_callers(&self) -> bool {
        self.blocks.first().is_some_and(|block| block.home == Home::Caller)
    }

    /// A copy in a block of the pool: the pooled result of a body that lies in the caller's own memory (E35).
    pub(crate) fn pooled_copy(&mut self, supply: Supply<'_>) -> Result<Body, Error> {
        let mut copied = Body {
            tally: self.tally,
            ..Body::default()
        };
        if self.length > 0 {
            copied.take_block(supply, self.length.saturating_add(supply.padding()), false)?;
            for segment in self.segments() {
                copied.land_copy(supply.pool, segment);
            }
            copied.tally.copied += self.length as u64;
        }
        Ok(copied)
    }

    /// Makes the padding readable behind a body that lies in one block; false where that needs a join (E4).
    #[inline]
    pub(crate) fn pad(&mut self, supply: Supply<'_>) -> bool {
        let aside = self.side.as_ref().is_some_and(|side| side.used > 0);
        if supply.padding() == 0 {
            return true;
        }
        let ([block], false) = (self.blocks.as_mut_slice(), aside) else {
            return false;
        };
        let need = block.used.saturating_add(supply.padding());
        if block.raw.capacity < need && (block.home != Home::Pool || need > block.raw.reserve) {
            return false;
        }
        if block.granted < need && block.home == Home::Pool && supply.pool.grow(block, need).is_err() {
            return false;
        }
        block.pad(supply.padding());
        true
    }

    /// Bytes held beyond the body's length.
    #[inline]
    pub(crate) fn waste(&self) -> usize {
        self.blocks.iter().map(|block| block.held() - block.used).sum()
    }

    /// Gives all memory back; its numbers stay.
    #[inline]
    pub(crate) fn give_back(&mut self, supply: Supply<'_>) {
        while let Some(block) = self.blocks.pop() {
            block.release(supply.pool, supply.exact);
        }
        if let Some(side) = self.side.take() {
            side.release(supply.pool, supply.exact);
        }
    }

    /// Gives everything back and begins anew.
    pub(crate) fn clear(&mut self, supply: Supply<'_>) {
        self.give_back(supply);
        *self = Body::default();
    }

    /// Gives everything back but a first block of at most `keep` touched bytes, which the next body begins with (E40).
    ///
    /// `need`: what is known of the next body; a block that it outgrows at once is not kept for it (E7).
    pub(crate) fn restart(&mut self, supply: Supply<'_>, keep: usize, need: usize) {
        let first = match self.blocks.is_empty() {
            true => None,
            false => Some(self.blocks.remove(0)),
        };
        self.clear(supply);
        let Some(mut block) = first else { return };
        let stays = block.raw.reserve >= need
            && block.home == Home::Pool
            && !block.spoiled
            && !block.leaked
            && block.touched <= keep;
        if !stays || !supply.pool.memory().recycle(&mut block.raw) {
            return block.release(supply.pool, supply.exact);
        }
        block.used = 0;
        supply.pool.ungrant(&mut block, 0);
        block.counted = block.held();
        self.tally.hold(block.counted);
        self.blocks.push(block);
    }
}

/// Memory that a viewer keeps looking at.
#[derive(Debug)]
pub(crate) enum Kept {
    Block(Block),
    Probe(#[allow(dead_code, reason = "held for its viewer")] Box<MaybeUninit<u8>>),
}
