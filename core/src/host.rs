//! What only hosts ask of a collector: bindings whose own objects hold the memory, or whose sources know more of a body than
//! its bytes.

use crate::buffer::Quarantined;
use crate::collector::{Collector, Phase};
use crate::error::Error;
use crate::supply::Supply;

impl Collector {
    /// Counts bytes that the caller keeps by itself as if they had been written: the limit, the length and the states
    /// follow, but nothing lands, and no result shows them. For hosts whose sources give their chunks away. Says how many
    /// of them are the body's; whether these bytes have ended it is for [`Collector::is_complete`] to say.
    ///
    /// # Errors
    /// What had ended the body before, and what [`Collector::write`] answers in a state that takes no bytes.
    pub fn count(&mut self, bytes: u64) -> Result<u64, Error> {
        if !self.takes(bytes)? {
            return Ok(0);
        }
        let kept = self.bounds.most.saturating_sub(self.received).min(bytes);
        self.counted += kept;
        self.arrived(bytes);
        Ok(kept)
    }

    /// About so many bytes are expected, by what the source itself says of its size. Counts as [`Options::size_hint`]
    /// where neither that nor a length was given and nothing has arrived yet; never an error.
    pub fn suggest(&mut self, size_hint: u64) {
        if self.options.length.is_none() && self.options.size_hint.is_none() && self.received == 0 {
            self.options.size_hint = Some(size_hint);
            self.suggested = true;
        }
    }

    /// For hosts whose own objects hold the bytes: as [`Buffer::pieces`], of what has arrived so far.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        self.body.pieces()
    }

    /// For hosts whose code keeps hold of a window after its call: what has arrived moves to other memory at once, and
    /// the old memory is handed out, never to be used for a body again. `None`: there is nothing to hand out, or no
    /// memory to move to; then the old memory stays where it is for as long as the process lives.
    ///
    /// Called between calls, or from [`Source::after`]; not while a window is out.
    pub fn quarantine(&mut self) -> Option<Quarantined> {
        let window = self.window?;
        let supply = Supply::new(&self.pool, &self.options);
        let kept = self.body.exchange(supply, &window).ok().flatten()?;
        Some(Quarantined::new(kept, &self.pool, self.options.exact_memory()))
    }

    /// The host has taken memory that this body lies in away, or is about to: what was there is lost, and the body
    /// fails with [`Error::Contract`]. For hosts that see it before the engine does.
    pub fn lose_memory(&mut self) {
        if !matches!(self.phase, Phase::Taken(_)) {
            self.lose();
            self.fail(Error::Contract);
        }
        // After a reset the body lies in blocks of the pool: the caller's memory is not there any more.
        self.target = None;
    }

    /// The source panicked while its window was out: what came before is kept, the block is not used again.
    pub fn source_panicked(&mut self) {
        if let (Phase::WindowOut { .. }, Some(window)) = (self.phase, self.window) {
            self.body.spoil(&window);
            self.fail(Error::Panic);
        }
    }
}
