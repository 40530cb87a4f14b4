//! How a body leaves its collector: as a pooled buffer, as an exact one, as what came so far (E33 to E36).

use crate::buffer::{Buffer, Exact};
use crate::collector::{Collector, Phase};
use crate::error::Error;
use crate::memory::Raw;
use crate::pool::Pool;
use crate::stats::State;
use crate::supply::Supply;
use core::ptr::NonNull;

impl Collector {
    /// The complete body as a pooled buffer.
    ///
    /// # Errors
    /// [`Error::State`] while it is not complete, with nothing changed; the body's own error; [`Error::NoMemory`],
    /// after which the call may be made again.
    pub fn finish(&mut self) -> Result<Buffer, Error> {
        self.check_complete()?;
        self.take_buffer(false)
    }

    /// As [`Collector::finish`], for a collector that is not used again: its hold of the pool goes to the buffer, which
    /// spares a small body two atomic exchanges. A reset leads to a body on the default pool.
    ///
    /// # Errors
    /// As [`Collector::finish`].
    #[inline]
    pub fn finish_last(&mut self) -> Result<Buffer, Error> {
        self.check_complete()?;
        self.take_buffer(true)
    }

    /// The complete body in memory of exactly its length, from [`Options::exact_memory`].
    ///
    /// # Errors
    /// As [`Collector::finish`].
    pub fn finish_exact(&mut self) -> Result<Exact, Error> {
        let raw = self.take_exact()?;
        let (length, mut info) = (self.body.length, self.info());
        info.length = length as u64;
        Ok(Exact::new(raw, length, info, self.options.exact_memory()))
    }

    /// As [`Collector::finish_exact`] and [`Exact::into_raw_parts`]: the first byte, the length, the memory's token. For
    /// hosts whose small bodies feel the cost of the statistics.
    ///
    /// # Errors
    /// As [`Collector::finish`].
    pub fn finish_exact_parts(&mut self) -> Result<(NonNull<u8>, usize, usize), Error> {
        let raw = self.take_exact()?;
        Ok((raw.pointer, self.body.length, raw.token))
    }

    fn take_exact(&mut self) -> Result<Raw, Error> {
        self.check_complete()?;
        self.check_attached()?;
        let supply = Supply::new(&self.pool, &self.options);
        let raw = self.body.make_exact(supply)?;
        let length = self.body.length;
        if supply.exact_grows() {
            self.pool.expect_large(length as u64 > self.options.first_block);
        }
        self.waste = raw.capacity.saturating_sub(length.max(1)) as u64;
        self.body.give_back(supply);
        self.phase = Phase::Taken(None);
        Ok(raw)
    }

    /// The number of bytes of a complete body that lies in the caller's own memory. That memory is not used again: after
    /// a reset the collector is one over the pool's (E35).
    ///
    /// # Errors
    /// As [`Collector::finish`]; [`Error::State`] for a body that lies elsewhere.
    pub fn finish_into(&mut self) -> Result<usize, Error> {
        self.check_complete()?;
        if self.target.take().is_none() {
            return Err(Error::State);
        }
        self.body.give_back(Supply::new(&self.pool, &self.options));
        self.phase = Phase::Taken(None);
        Ok(self.body.length)
    }

    /// What has come so far as a pooled buffer, after any error and while the body is open (E36).
    ///
    /// # Errors
    /// [`Error::State`] while a window is out or after the result was taken; [`Error::NoMemory`], after which the call
    /// may be made again.
    pub fn take_partial(&mut self) -> Result<Buffer, Error> {
        match self.phase {
            Phase::Open | Phase::Complete | Phase::Failed(_) => self.take_buffer(false),
            Phase::WindowOut { .. } | Phase::Taken(_) => Err(Error::State),
        }
    }

    fn check_complete(&self) -> Result<(), Error> {
        match self.phase {
            Phase::Complete => Ok(()),
            Phase::Failed(error) => Err(error),
            Phase::Open | Phase::WindowOut { .. } | Phase::Taken(_) => Err(Error::State),
        }
    }

    fn take_buffer(&mut self, last: bool) -> Result<Buffer, Error> {
        self.check_attached()?;
        let supply = Supply::new(&self.pool, &self.options);
        if self.body.is_callers() {
            // The body stays where it is until the copy has its handle (E30).
            let mut copied = self.body.pooled_copy(supply)?;
            let mut info = self.info();
            info.waste = copied.waste() as u64;
            let tally = copied.tally;
            (info.copied, info.rents, info.allocations) = (tally.copied, tally.rents, tally.allocations);
            (info.allocated_bytes, info.peak_held) = (tally.allocated_bytes, tally.peak_held);
            (info.length, info.state) = (copied.length as u64, State::Taken);
            let place = match Buffer::place(&mut copied) {
                Ok(place) => place,
                Err(error) => {
                    copied.give_back(supply);
                    return Err(error);
                }
            };
            let memory = (self.pool.clone(), self.options.exact_memory());
            let made = Buffer::at(place, &mut copied, info, memory, (0, true));
            let length = self.body.length;
            self.body.clear(supply);
            self.body.length = length;
            self.body.tally = copied.tally;
            (self.phase, self.waste) = (Phase::Taken(info.error), info.waste);
            return Ok(made);
        }
        let place = Buffer::place(&mut self.body)?;
        self.body.settle(supply, self.options.size_hint.is_some());
        // An empty body shows no block, so its padding cannot lie in one.
        let padded = (self.body.length > 0 || supply.padding() == 0) && self.body.pad(supply);
        let mut info = self.info();
        info.waste = self.body.waste() as u64;
        (info.length, info.state) = (self.body.length as u64, State::Taken);
        let padding = (supply.padding(), padded);
        let pool = match last {
            true => core::mem::replace(&mut self.pool, Pool::process_default()),
            false => self.pool.clone(),
        };
        (self.phase, self.waste) = (Phase::Taken(info.error), info.waste);
        Ok(Buffer::at(
            place,
            &mut self.body,
            info,
            (pool, self.options.exact_memory()),
            padding,
        ))
    }
}
