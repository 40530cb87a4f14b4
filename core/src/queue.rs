//! A first-in first-out queue of bytes between a producer and a reader (E52), in the same blocks as a body: filled at
//! the tail, given back to the pool at the head.
//!
//! ```text
//!   read, peek, skip                                          write, reserve and commit
//!        ◀──                                                             ◀──
//!   |××××■■■■■■■■|   |■■■■■■■■■■■■■■■■■■■■■■■■|   |■■■■■■■■■■■■■■░░░░░░░░......|
//!        head                                                    used    window
//! ```
//!
//! Empty: no byte waits. Full: as many wait as the capacity says. Ended: the producer has said that no more will come;
//! the reader sees that, or the producer's error, after the last byte.

use crate::block::{Block, Blocks};
use crate::collector::Collector;
use crate::error::{Error, InvalidOption};
use crate::growth::{self, LEAST_WINDOW};
use crate::memory::Profile;
use crate::pool::Pool;
use crate::source::Window;
use std::collections::VecDeque;

/// The first block of a queue.
const SMALLEST: usize = 4 << 10;
/// The largest block, where the memory gives such without taking address space to grow in: that is left to bodies.
const LARGEST: usize = 256 << 10;
/// A block is as large as this part of what waits in the queue when it is rented, rounded down to a power of two.
const PART: usize = 8;
/// A block for windows is at least four of the least windows, so that at most a quarter of it is left at its end.
const LEAST_FOR_WINDOWS: usize = 16 << 10;
/// The most memory that is taken because a caller of `reserve` wishes for it.
const MOST_WISHED: usize = 64 << 10;
/// The largest block that an empty queue keeps.
const KEPT_WHEN_EMPTY: usize = 16 << 10;

/// The size of the next block where `queued` bytes wait and `need` more are to be had, if one block can have them.
pub(crate) fn block_size(queued: usize, need: usize, profile: &Profile) -> usize {
    let part = (queued / PART).checked_ilog2().map_or(0, |power| 1 << power);
    let largest = profile.fixed_up_to.clamp(SMALLEST, LARGEST);
    need.max(part).clamp(SMALLEST, largest)
}

/// Grants what a warm block has beyond what was asked for (E45); says how many bytes that is.
pub(crate) fn widen(block: &mut Block, pool: &Pool) -> usize {
    let before = block.granted;
    if !block.raw.lazy && block.raw.capacity > before {
        let _ = pool.grow(block, block.raw.capacity); // within its capacity only the budget can say no
    }
    block.granted - before
}

/// Copies bytes behind those of a block; there is room for them.
#[inline]
fn put(block: &mut Block, piece: &[u8], pool: &Pool) {
    debug_assert!(piece.len() <= block.room());
    // SAFETY: the piece fits between `used` and `granted`, which lies in the capacity; a caller's bytes cannot lie in a
    // block's unused part, which nobody was shown.
    unsafe {
        let target = block.raw.pointer.as_ptr().add(block.used);
        target.copy_from_nonoverlapping(piece.as_ptr(), piece.len());
    }
    block.used += piece.len();
    block.raw.dirty = block.raw.dirty.max(block.used);
    if block.raw.lazy {
        block.touch(pool);
    }
}

/// What a reader of a queue meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Got {
    /// So many bytes. 0 where bytes wait but none was asked for.
    Bytes(usize),
    /// The queue is empty now.
    Pending,
    /// Everything was read, and no more will come.
    End,
    /// Everything was read, and the producer has ended the queue with this number of its own.
    Failed(i32),
}

/// A queue of bytes between a producer and a reader. See the drawing at the top of the file.
///
/// Threads: one at a time; it may move between threads. A producer and a reader on two threads share it behind a lock.
#[derive(Debug)]
pub struct Queue {
    pool: Pool,
    capacity: usize,
    /// All but the last are only read any more.
    blocks: VecDeque<Block>,
    /// Bytes of the first block that were read.
    head: usize,
    /// Bytes that wait.
    length: usize,
    /// Up to here the last block shows nothing but bytes of this queue's last use of it and zeros (E49).
    clean_to: usize,
    /// The window that is out, in the last block.
    window: Option<Window>,
    /// 0, or the error that the reader is to see.
    end: Option<i32>,
}

// SAFETY: the window is a position in the last block, which moves with the queue; everything else is Send.
unsafe impl Send for Queue {}

impl Queue {
    /// A queue of at most `capacity` bytes (`u64::MAX`: as many as memory has room for). Takes no memory.
    ///
    /// # Errors
    /// A capacity of 0; a pool whose memory its host may take away.
    pub fn new(pool: &Pool, capacity: u64) -> Result<Queue, InvalidOption> {
        let invalid = |name, expected, came| InvalidOption { name, expected, came };
        if capacity == 0 {
            return Err(invalid("capacity", "at least 1 byte", capacity));
        }
        if pool.memory().profile().detachable {
            return Err(invalid("pool", "one whose memory cannot be taken away", 0));
        }
        Ok(Queue {
            pool: pool.clone(),
            capacity: growth::size(capacity),
            blocks: VecDeque::new(),
            head: 0,
            length: 0,
            clean_to: 0,
            window: None,
            end: None,
        })
    }

    /// Bytes that wait to be read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether no byte waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The most bytes that wait at once.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    // ---- the producer's side

    /// Copies bytes to the tail, as many as the capacity has room for, and says how many; fewer than given: the queue is
    /// full.
    ///
    /// # Errors
    /// [`Error::State`] after the end and while a window is out; [`Error::NoMemory`] and [`Error::Budget`] with nothing
    /// taken (E30).
    #[inline]
    pub fn write(&mut self, data: &[u8]) -> Result<usize, Error> {
        if self.end.is_some() || self.window.is_some() {
            return Err(Error::State);
        }
        let taken = data.len().min(self.capacity - self.length);
        if let Some(block) = self.blocks.back_mut()
            && taken <= block.room()
        {
            put(block, &data[..taken], &self.pool);
            self.length += taken;
            return Ok(taken);
        }
        let first = self.blocks.len().saturating_sub(1);
        let room = self.tail_room();
        if taken > room {
            self.add_room(taken - room)?;
        }
        self.land(first, &data[..taken]);
        Ok(taken)
    }

    /// A window at the tail to be filled and committed; `None`: the queue is full. `want` is a wish (0: none) that never
    /// fails by itself; while a window is out the same one is given again. `cleared`: it shows no byte of another
    /// body (E49). The reader's side goes on working while a window is out.
    ///
    /// # Errors
    /// [`Error::State`] after the end; [`Error::NoMemory`] and [`Error::Budget`] change nothing.
    pub fn reserve(&mut self, want: usize, cleared: bool) -> Result<Option<Window>, Error> {
        if self.end.is_some() {
            return Err(Error::State);
        }
        if self.window.is_some() {
            return Ok(self.window);
        }
        let free = self.capacity - self.length;
        if free == 0 {
            return Ok(None);
        }
        // No tiny window because the last block happens to be nearly full (E12).
        let least = free.min(LEAST_WINDOW);
        if self.tail_room() < least {
            self.widen_tail();
        }
        if self.tail_room() < least {
            let wished = want.clamp(LEAST_FOR_WINDOWS, MOST_WISHED).min(free);
            self.add_block(wished).or_else(|error| match wished > least {
                true => self.add_block(least),
                false => Err(error),
            })?;
        }
        let most = if want > 0 { want.max(least) } else { usize::MAX };
        self.window = self.show(most.min(free), cleared);
        debug_assert!(self.window.is_some_and(|window| window.room >= least));
        Ok(self.window)
    }

    /// Takes the window back with `filled` bytes at its start; 0 is nothing, and not the end.
    ///
    /// # Safety
    /// The first `filled` bytes of the window were written, or the window was a cleared one.
    ///
    /// # Errors
    /// [`Error::State`] when no window is out; [`Error::Contract`] when `filled` is more than its room: nothing of it
    /// counts, and the queue ends with that error for its reader too (E23).
    pub unsafe fn commit(&mut self, filled: usize) -> Result<(), Error> {
        let (Some(window), Some(block)) = (self.window.take(), self.blocks.back_mut()) else {
            return Err(Error::State);
        };
        block.show(block.granted);
        if filled > window.room {
            block.spoiled = true;
            self.end = Some(Error::Contract.code());
        } else {
            block.used += filled;
            self.length += filled;
            if block.raw.lazy {
                block.touch(&self.pool);
            }
        }
        if self.length == 0 {
            self.emptied();
        }
        if filled > window.room {
            Err(Error::Contract)
        } else {
            Ok(())
        }
    }

    /// No more will come. The reader sees it after the last byte: as the end where `status` is 0, as
    /// [`Got::Failed`] with that number where it is below 0.
    ///
    /// # Errors
    /// [`Error::State`] after the end and while a window is out; [`Error::Invalid`] for a number above 0.
    pub fn end(&mut self, status: i32) -> Result<(), Error> {
        if self.end.is_some() || self.window.is_some() {
            return Err(Error::State);
        }
        if status > 0 {
            return Err(Error::Invalid);
        }
        self.end = Some(status);
        if self.length == 0 {
            self.emptied();
        }
        Ok(())
    }

    // ---- the reader's side

    /// What the next read meets, all that waits where that is bytes.
    #[must_use]
    pub fn waiting(&self) -> Got {
        match self.end {
            _ if self.length > 0 => Got::Bytes(self.length),
            None => Got::Pending,
            Some(0) => Got::End,
            Some(number) => Got::Failed(number),
        }
    }

    /// Copies bytes from the head out of the queue, as many as wait and `target` has room for.
    #[inline]
    pub fn read(&mut self, target: &mut [u8]) -> Got {
        if self.length == 0 {
            return self.waiting();
        }
        let count = target.len().min(self.length);
        let mut copied = 0;
        while copied < count {
            let front = self.front();
            let piece = front.len().min(count - copied);
            target[copied..copied + piece].copy_from_slice(&front[..piece]);
            copied += piece;
            self.consume(piece);
        }
        Got::Bytes(count)
    }

    /// Shows what waits where it lies, piece by piece. Blocks stay in their place: what was shown stays there until it is
    /// read, skipped or moved, whatever is written meanwhile.
    pub fn peek(&self) -> impl Iterator<Item = &[u8]> {
        let rest = self.blocks.iter().skip(1).map(Block::bytes);
        core::iter::once(self.front())
            .chain(rest)
            .filter(|piece| !piece.is_empty())
    }

    /// Drops bytes from the head.
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than wait, with nothing dropped.
    pub fn skip(&mut self, length: usize) -> Result<(), Error> {
        if length > self.length {
            return Err(Error::Invalid);
        }
        let mut rest = length;
        while rest > 0 {
            let piece = self.front().len().min(rest);
            rest -= piece;
            self.consume(piece);
        }
        Ok(())
    }

    /// Gives what waits to a collector, as if it had been given to [`Collector::write_some`]: a body of announced length
    /// takes what it lacks, and the rest stays in the queue. Blocks that are full move as they are, with nothing copied,
    /// where the body lies in blocks of the same pool; a block of which the body gets a part only, or which is mostly
    /// empty, is copied, as is everything for a body that lies elsewhere.
    ///
    /// Says how many bytes left the queue; 0 bytes: the collector wants no more. The end of the queue is not passed on.
    ///
    /// # Errors
    /// The collector's: as [`Collector::write_some`]. Bytes that the body may have are in it and have left the queue;
    /// those beyond a limit stay. [`Error::NoMemory`] and [`Error::Budget`] with nothing moved.
    pub fn move_to(&mut self, collector: &mut Collector) -> Result<Got, Error> {
        match collector.take_from(self)? {
            0 => Ok(match self.waiting() {
                Got::Bytes(_) => Got::Bytes(0),
                empty => empty,
            }),
            moved => Ok(Got::Bytes(moved)),
        }
    }

    // ---- what the calls above have in common

    /// Where its blocks come from.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The bytes of the first block that wait; empty only where none waits at all.
    #[inline]
    pub(crate) fn front(&self) -> &[u8] {
        self.blocks.front().map_or(&[], |block| &block.bytes()[self.head..])
    }

    /// Memory that the first block holds for this queue.
    pub(crate) fn front_held(&self) -> usize {
        let held = |block: &Block| block.touched.min(block.granted);
        self.blocks.front().map_or(0, held)
    }

    /// Takes the first block out, what waits of it at its start. `None`: a window lies in it, or there is none.
    pub(crate) fn take_block(&mut self) -> Option<Block> {
        if self.blocks.len() == 1 && self.window.is_some() {
            return None;
        }
        let mut block = self.blocks.pop_front()?;
        let waits = block.used - self.head;
        // SAFETY: head + waits is `used`, which lies in the capacity; the queue owned the block and now this call does.
        unsafe {
            let start = block.raw.pointer.as_ptr();
            start.copy_from(start.add(self.head), waits);
        }
        block.used = waits;
        self.head = 0;
        self.length -= waits;
        if self.length == 0 && self.window.is_none() {
            self.emptied();
        }
        Some(block)
    }

    fn tail_room(&self) -> usize {
        self.blocks.back().map_or(0, Block::room)
    }

    fn widen_tail(&mut self) -> usize {
        self.blocks.back_mut().map_or(0, |block| widen(block, &self.pool))
    }

    /// Finds room for `need` more bytes at the tail, or none (E30).
    fn add_room(&mut self, mut need: usize) -> Result<(), Error> {
        let before = self.blocks.len();
        let widened = self.widen_tail();
        need = need.saturating_sub(widened);
        while need > 0 {
            if let Err(error) = self.add_block(need) {
                while self.blocks.len() > before
                    && let Some(block) = self.blocks.pop_back()
                {
                    self.give_back(block);
                }
                if let Some(block) = self.blocks.back_mut() {
                    self.pool.ungrant(block, block.granted - widened);
                }
                return Err(error);
            }
            need = need.saturating_sub(self.tail_room());
        }
        Ok(())
    }

    /// Puts a block at the tail, for `need` bytes if one block can have so many.
    fn add_block(&mut self, need: usize) -> Result<(), Error> {
        let profile = self.pool.memory().profile();
        self.blocks.try_reserve(1).map_err(|_| Error::NoMemory)?;
        let mut list = Blocks::new_const();
        let (size, least) = (block_size(self.length, need, &profile), block_size(0, need, &profile));
        self.pool.rent(size, &mut list).or_else(|error| match least < size {
            true => self.pool.rent(least, &mut list),
            false => Err(error),
        })?;
        self.blocks.push_back(list.pop().ok_or(Error::NoMemory)?); // the pool has just put it there
        self.clean_to = 0;
        Ok(())
    }

    /// Copies bytes into the blocks from the one at `first` on; there is room for them.
    fn land(&mut self, first: usize, mut data: &[u8]) {
        self.length += data.len();
        for block in self.blocks.iter_mut().skip(first) {
            let (piece, rest) = data.split_at(block.room().min(data.len()));
            put(block, piece, &self.pool);
            data = rest;
        }
        debug_assert!(data.is_empty());
    }

    /// A window of at most `size` bytes at the end of the last block.
    fn show(&mut self, size: usize, cleared: bool) -> Option<Window> {
        let cleared = cleared || self.pool.options().scrub;
        let block = self.blocks.back_mut()?;
        let room = size.min(block.room());
        let end = block.used + room;
        if cleared {
            let (from, to) = (block.used.max(self.clean_to), end.min(block.raw.dirty));
            if from < to {
                // SAFETY: from..to lies in the capacity; nobody else looks at bytes behind `used`.
                unsafe { block.raw.pointer.as_ptr().add(from).write_bytes(0, to - from) };
            }
            self.clean_to = self.clean_to.max(end);
        }
        // A source may write anywhere in its window, whatever it claims afterwards (E49).
        block.raw.dirty = block.raw.dirty.max(end);
        block.show(end);
        Some(Window {
            // SAFETY: used <= granted <= capacity.
            pointer: unsafe { block.raw.pointer.add(block.used) },
            room,
            token: block.raw.token,
            offset: block.used,
            side: false,
        })
    }

    /// Counts bytes of the first block as read; a block that was read to its end goes back to the pool.
    #[inline]
    fn consume(&mut self, bytes: usize) {
        self.head += bytes;
        self.length -= bytes;
        if self.blocks.front().is_some_and(|block| self.head == block.used) {
            self.front_was_read();
        }
    }

    fn front_was_read(&mut self) {
        if self.blocks.len() > 1
            && let Some(block) = self.blocks.pop_front()
        {
            self.head = 0;
            self.give_back(block);
        }
        if self.length == 0 && self.window.is_none() {
            self.emptied();
        }
    }

    /// No byte waits and no window is out: the last block begins anew where it is small and more may come, else it goes.
    fn emptied(&mut self) {
        (self.head, self.clean_to) = (0, 0);
        if self.end.is_none()
            && self.blocks.len() == 1
            && let Some(block) = self.blocks.front_mut()
            && block.raw.capacity <= KEPT_WHEN_EMPTY
        {
            block.used = 0;
            return;
        }
        while let Some(block) = self.blocks.pop_back() {
            self.give_back(block);
        }
    }

    fn give_back(&self, block: Block) {
        block.release(&self.pool, self.pool.memory());
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Whoever has the window may still write into it, so its block is not used again.
        if let (Some(_), Some(block)) = (self.window, self.blocks.back_mut()) {
            block.spoiled = true;
        }
        while let Some(block) = self.blocks.pop_front() {
            self.give_back(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_with_what_waits_and_are_never_all_of_one_size() {
        let fixed = Profile {
            grows: false,
            fixed_up_to: usize::MAX,
            detachable: false,
            reallocates: false,
        };
        let ranges = Profile {
            grows: true,
            fixed_up_to: 64 << 10,
            detachable: false,
            reallocates: false,
        };
        let table = [
            // waiting, needed, in a list, with ranges
            (0, 1, 4 << 10, 4 << 10),
            (0, 5000, 5000, 5000),
            (10_000, 1, 4 << 10, 4 << 10),
            (200_000, 1, 16 << 10, 16 << 10),
            (600_000, 1, 64 << 10, 64 << 10),
            (0, 100_000, 100_000, 64 << 10),
            (1_200_000, 1, 128 << 10, 64 << 10),
            (100 << 20, 1, 256 << 10, 64 << 10),
            (usize::MAX, usize::MAX, 256 << 10, 64 << 10),
        ];
        for (queued, need, in_a_list, with_ranges) in table {
            assert_eq!(block_size(queued, need, &fixed), in_a_list, "{queued} {need}");
            assert_eq!(block_size(queued, need, &ranges), with_ranges, "{queued} {need}");
        }
    }
}
