//! How much a source may be asked for next, and in which memory it goes: the rules between what the options announce
//! and where the body lies (E7 to E15). The collector's states are not known here.

use crate::body::Supply;
use crate::collector::Collector;
use crate::error::Error;
use crate::growth::{self, LEAST_WINDOW};
use crate::memory::MemoryRef;
use crate::options::{End, Options, Prefer};
use crate::pool::Pool;
use crate::source::Window;

impl Collector {
    /// The most bytes of the result.
    pub(crate) fn most(&self) -> u64 {
        self.options.length.unwrap_or(self.limit).min(self.limit)
    }

    /// How many bytes the source may be asked for at most: up to the length, or one beyond it or the limit to see
    /// whether there are more (E1, E15). At least 1 while the body is open.
    pub(crate) fn allowed(&self) -> u64 {
        let probe = match self.options.length {
            Some(_) => u64::from(self.options.end == End::Eof),
            None => 1,
        };
        (self.most() - self.received).saturating_add(probe)
    }

    /// How many bytes a source may be asked for next at most, for callers that read into memory of their own and write
    /// what came: up to the length, or one byte beyond it or the limit, and at most [`Options::max_window`] (E4, E15).
    /// 0: no more are wanted.
    #[must_use]
    pub fn wanted(&self) -> u64 {
        match self.is_complete() {
            Ok(false) => self.allowed().min(self.options.max_window),
            _ => 0,
        }
    }

    /// Where a length above `max_prealloc` is to be read into an exact result: what comes before this many bytes is
    /// staged in blocks, then the result is allocated (E8).
    pub(crate) fn staged_up_to(&self) -> Option<u64> {
        let length = self.options.length?;
        let stages = self.options.prefer == Prefer::Exact && length > self.options.max_prealloc;
        (stages && !self.body.is_exact()).then_some(length / 4)
    }

    pub(crate) fn make_room(&mut self, need: usize) -> Result<(), Error> {
        if self
            .staged_up_to()
            .is_some_and(|staged| self.received.saturating_add(need as u64) > staged)
        {
            self.promote()?;
        }
        self.body
            .make_room(supply(&self.pool, &self.exact, &self.options), need)
    }

    pub(crate) fn promote(&mut self) -> Result<(), Error> {
        let length = growth::size(self.options.length.unwrap_or(0));
        self.body
            .promote(supply(&self.pool, &self.exact, &self.options), length)
    }

    pub(crate) fn next_window(&mut self, want: usize, cleared: bool) -> Result<Window, Error> {
        self.check_attached()?;
        let cleared = cleared || self.options.scrub || self.pool.options().scrub;
        let mut allowed = self.allowed().min(self.options.max_window);
        if let (0, Some(step)) = (want, self.options.max_step) {
            allowed = allowed.min(step.saturating_sub(self.received - self.step_from).max(1));
        }
        match self.staged_up_to() {
            Some(staged) if self.received < staged => allowed = allowed.min(staged - self.received),
            Some(_) => self.promote()?,
            None => {}
        }
        let mut least = growth::size(allowed).min(LEAST_WINDOW);
        // The byte beyond a length or limit is only there to see the end; memory that fits what is lacking is enough
        // until that has come (E7, E10).
        let lacking = growth::size(self.most() - self.received);
        if lacking > 0 {
            least = least.min(lacking);
        }
        let mut size = growth::size(allowed);
        if want > 0 {
            size = size.min(want).max(least);
        }
        if cleared {
            size = size.min(growth::size(growth::ramp(self.received)));
        }
        let supply = supply(&self.pool, &self.exact, &self.options);
        let window = if self.body.room() < least && self.looks_aside() {
            self.body.side_window(supply.pool, size, cleared, lacking == 0)?
        } else {
            if self.body.room() < least {
                self.body.make_room(supply, least)?;
            }
            let clean = self.body.already_clean();
            if cleared && clean >= LEAST_WINDOW {
                size = size.min(clean);
            }
            self.body.window(supply, size, cleared).ok_or(Error::NoMemory)?
        };
        self.window = Some(window);
        Ok(window)
    }

    /// Whether the next bytes, which may be only the end, go into the side window: at the length, at the limit, or
    /// where the last block is full for good; never while an announced length is unreached (E10).
    pub(crate) fn looks_aside(&self) -> bool {
        self.body.may_look_aside() && self.options.length.is_none_or(|length| self.received >= length)
    }
}

/// Where the body's memory comes from. A function of fields, so that the body can be borrowed beside it.
pub(crate) fn supply<'a>(pool: &'a Pool, exact: &'a MemoryRef, options: &Options) -> Supply<'a> {
    let announced = options.length.or(options.size_hint);
    let first = growth::first(announced, options.max_prealloc, options.first_block);
    Supply {
        pool,
        exact,
        first_is_exact: options.prefer == Prefer::Exact
            && announced.is_some_and(|announced| announced > 0 && announced <= options.max_prealloc),
        first,
        outgrows: announced.is_some_and(|announced| announced > options.max_prealloc),
        first_block: options.first_block,
        padding: options.padding as usize,
    }
}
