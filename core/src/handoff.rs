//! How a collector takes what waits in a queue (E52): whole blocks become the body's own; what cannot move is copied
//! once, which is how pushed bytes land.

use crate::block::Block;
use crate::body::Body;
use crate::collector::Collector;
use crate::error::Error;
use crate::growth;
use crate::options::Prefer;
use crate::queue::{self, Queue};
use crate::supply::Supply;

impl Collector {
    /// Takes what the body lacks of what waits; says how many bytes left the queue. Memory that runs out in the middle
    /// is told by the next call, which then begins with it.
    pub(crate) fn take_from(&mut self, queue: &mut Queue) -> Result<usize, Error> {
        let before = queue.len();
        self.takes(0)?;
        while !queue.is_empty() {
            let piece = queue.front().len();
            let lacking = self.options.length.map(|length| length.saturating_sub(self.received));
            let offered = lacking.map_or(piece, |lacking| growth::size(lacking).min(piece));
            if offered == 0 {
                break; // the rest is the next body's
            }
            match self.take_piece(queue, offered) {
                Err(Error::NoMemory | Error::Budget) if queue.len() < before => break,
                outcome => outcome?,
            }
        }
        Ok(before - queue.len())
    }

    /// Takes `offered` bytes of the queue's first block as [`Collector::write`] would, but those beyond a limit stay.
    fn take_piece(&mut self, queue: &mut Queue, offered: usize) -> Result<(), Error> {
        if !self.takes(offered as u64)? {
            return queue.skip(offered); // the result is truncated, and what comes later is dropped (E17)
        }
        self.check_attached()?;
        let kept = growth::size(self.bounds.most.saturating_sub(self.received)).min(offered);
        let whole = kept == queue.front().len();
        if !(whole && self.lies_as(queue) && self.take_whole(queue)?) && kept > 0 {
            self.make_room_for_piece(queue, kept)?;
            self.body.land_copy(&self.pool, &queue.front()[..kept]);
            queue.skip(kept)?;
        }
        self.arrived(offered as u64);
        self.is_complete().map(drop) // truncated: the next piece is the rest, and is dropped above
    }

    /// Whether blocks of the queue are what the body lies in: of the same pool, and not on the way to memory of its own.
    fn lies_as(&self, queue: &Queue) -> bool {
        let same_pool = core::ptr::eq(self.pool.options(), queue.pool().options());
        let supply = Supply::new(&self.pool, &self.options);
        let exact = self.body.is_exact() || supply.first_is_exact();
        let staged = self.options.prefer == Prefer::Exact && self.options.length.is_some();
        same_pool && !exact && !staged && !self.body.is_callers()
    }

    /// Moves the first block, where that leaves no more memory unused than it brings bytes, or holds no more than a block
    /// to copy it to.
    fn take_whole(&mut self, queue: &mut Queue) -> Result<bool, Error> {
        let supply = Supply::new(&self.pool, &self.options);
        if self.bytes_wait_aside() {
            self.body.make_room(supply, 0)?; // they come before it
        }
        let last = self.body.blocks.last().filter(|last| last.used > 0);
        let left_behind = last.map_or(0, |last| last.held() - last.used);
        let bytes = queue.front().len();
        let unused = queue.front_held().saturating_sub(bytes) + left_behind;
        let fits = left_behind >= bytes || self.body.room() >= bytes;
        if unused > bytes && (fits || queue.front_held() > self.block_for_piece(bytes)) {
            return Ok(false);
        }
        self.body.blocks.try_reserve(1).map_err(|_| Error::NoMemory)?;
        let Some(block) = queue.take_block() else {
            return Ok(false);
        };
        self.body.adopt(supply, block);
        Ok(true)
    }

    /// How large a block is that a piece is copied to: about what a queue would take, since the blocks of the rest of the
    /// body come with it.
    fn block_for_piece(&self, bytes: usize) -> usize {
        let lacking = self.bounds.most - self.received;
        let wished = growth::size(self.options.first_block.min(lacking));
        queue::block_size(self.body.length, wished, &self.pool.memory().profile()).max(bytes)
    }

    /// As [`Collector::make_room`], for a body that may lie in the queue's blocks.
    fn make_room_for_piece(&mut self, queue: &Queue, bytes: usize) -> Result<(), Error> {
        let begun = self.body.blocks.last().is_none_or(|last| last.used > 0);
        if !begun || !self.lies_as(queue) || self.bytes_wait_aside() {
            return self.make_room(bytes);
        }
        if let Some(last) = self.body.blocks.last_mut()
            && last.room() < bytes
        {
            queue::widen(last, &self.pool);
        }
        if self.body.room() >= bytes {
            return Ok(());
        }
        self.body.blocks.try_reserve(1).map_err(|_| Error::NoMemory)?;
        let fresh = self.pool.rent(self.block_for_piece(bytes), &mut self.body.blocks)?;
        if let Some(block) = self.body.blocks.last_mut() {
            self.body.tally.count(block, fresh);
        }
        self.body.clean_to = 0;
        Ok(())
    }

    fn bytes_wait_aside(&self) -> bool {
        self.body.side.as_ref().is_some_and(|side| side.used > 0)
    }
}

impl Body {
    /// Takes a block with bytes in it behind its own; the list has room for it.
    fn adopt(&mut self, supply: Supply<'_>, mut block: Block) {
        if let Some(last) = self.blocks.last_mut() {
            // Nothing more comes into it.
            let used = last.used;
            supply.pool.ungrant(last, used);
            if used == 0
                && let Some(empty) = self.blocks.pop()
            {
                self.tally.let_go(empty.counted);
                empty.release(supply.pool, supply.exact);
            }
        }
        block.counted = block.held();
        self.tally.hold(block.counted);
        self.length += block.used;
        self.clean_to = 0;
        self.blocks.push(block);
    }
}
