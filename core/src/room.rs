//! How much a source may be asked for next, and in which memory it goes: the rules between what the options announce
//! and where the body lies (E7 to E15). The collector's states are not known here.

use crate::collector::Collector;
use crate::error::Error;
use crate::growth::{self, LEAST_WINDOW};
use crate::memory::MemoryRef;
use crate::options::{End, Options, Prefer};
use crate::pool::Pool;
use crate::source::Window;
use crate::supply::Supply;

/// What the options and the pool come to, worked out once per body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The body's own limit, else the pool's, else the address space (E2), or what the caller's memory has room for.
    pub(crate) limit: u64,
    /// The most bytes of the result.
    pub(crate) most: u64,
    /// Bytes beyond `most` that the source may be asked for, to see whether there are more (E1, E15).
    probe: u64,
    /// Whether every window is cleared before it is shown (E49).
    scrub: bool,
    /// Whether the host may take the memory of a body away.
    pub(crate) detachable: bool,
    /// Whether what comes before a quarter of the length is staged in blocks of the pool (E8).
    stages: bool,
    /// Whether pushed bytes may land wherever there is room for them.
    pub(crate) is_plain: bool,
}

impl Bounds {
    /// `fits`: what the body's own place has room for, if it has one.
    #[inline]
    pub(crate) fn new(pool: &Pool, options: &Options, fits: u64) -> Bounds {
        let limit = options.limit_on(pool).min(fits);
        let detachable = |memory: &MemoryRef| memory.profile().detachable;
        let supply = Supply::new(pool, options);
        let is_large = options.length.is_some_and(|length| length > options.max_prealloc);
        let stages = options.prefer == Prefer::Exact && is_large && !supply.exact_grows();
        let detachable = detachable(pool.memory()) || options.exact_memory.as_ref().is_some_and(detachable);
        Bounds {
            limit,
            most: options.length.map_or(limit, |length| length.min(limit)),
            probe: u64::from(options.length.is_none() || options.end == End::Eof),
            scrub: options.scrub || pool.options().scrub,
            detachable,
            stages,
            is_plain: !stages && !detachable,
        }
    }
}

impl Collector {
    /// How many bytes the source may be asked for at most: up to the length, or one beyond it or the limit to see
    /// whether there are more (E1, E15). At least 1 while the body is open.
    fn allowed(&self) -> u64 {
        let lacking = self.bounds.most - self.received;
        lacking.saturating_add(self.bounds.probe).min(self.options.max_window)
    }

    /// How many bytes a source may be asked for next at most, for callers that read into memory of their own and write
    /// what came: up to the length, or one byte beyond it or the limit, and at most [`Options::max_window`] (E4, E15).
    /// 0: no more are wanted.
    #[must_use]
    pub fn wanted(&self) -> u64 {
        match self.is_complete() {
            Ok(false) => self.allowed(),
            _ => 0,
        }
    }

    /// Where a length above `max_prealloc` is to be read into an exact result: what comes before this many bytes is
    /// staged in blocks, then the result is allocated (E8).
    pub(crate) fn staged_up_to(&self) -> Option<u64> {
        if !self.bounds.stages || self.body.is_exact() {
            return None;
        }
        Some(self.options.length? / 4)
    }

    pub(crate) fn make_room(&mut self, need: usize) -> Result<(), Error> {
        if self
            .staged_up_to()
            .is_some_and(|staged| self.received.saturating_add(need as u64) > staged)
        {
            self.promote()?;
        }
        self.body.make_room(Supply::new(&self.pool, &self.options), need)
    }

    pub(crate) fn promote(&mut self) -> Result<(), Error> {
        let length = growth::size(self.options.length.unwrap_or(0));
        self.body.promote(Supply::new(&self.pool, &self.options), length)
    }

    pub(crate) fn next_window(&mut self, want: usize, cleared: bool, step: Option<u64>) -> Result<Window, Error> {
        self.check_attached()?;
        let cleared = cleared || self.bounds.scrub;
        let lacking = self.bounds.most - self.received;
        let mut allowed = self.allowed();
        if let Some(step) = step {
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
        if lacking > 0 {
            least = least.min(growth::size(lacking));
        }
        // A hint is reached to its last byte before anything goes aside (E10).
        match self.body.room() {
            room if room > 0 && self.body.is_exact() => least = least.min(room),
            _ => {}
        }
        let mut size = growth::size(allowed);
        if want > 0 {
            size = size.min(want).max(least);
        }
        if cleared {
            size = size.min(growth::size(growth::ramp(self.received)));
        }
        let supply = Supply::new(&self.pool, &self.options);
        let full = self.body.room() < least;
        let window = if full && self.looks_aside(supply, lacking) {
            self.body.side_window(supply.pool, size, cleared, lacking == 0)?
        } else {
            if full {
                self.body.make_room(supply, least)?;
            }
            if cleared {
                let clean = self.body.already_clean();
                size = if clean >= LEAST_WINDOW { size.min(clean) } else { size };
            }
            self.body.window(supply, size, cleared).ok_or(Error::NoMemory)?
        };
        self.window = Some(window);
        Ok(window)
    }

    /// Whether the next bytes, which may be only the end, go into the side window: at the length, at the limit, or
    /// where the last block is full for good; never while an announced length is unreached (E10).
    fn looks_aside(&self, supply: Supply<'_>, lacking: u64) -> bool {
        // Never beside memory that realloc may grow: a small block behind it would stop that in place.
        let at_hint = self.options.size_hint == Some(self.received);
        // A large one leaves the heap with its next step, and moves for that, which one byte less of the body would not need.
        let stays = self.body.last_granted() < growth::LOOKS_ASIDE_FROM;
        if self.body.is_exact() && supply.exact_grows() && lacking > 0 && !at_hint && stays {
            return false;
        }
        self.body.may_look_aside() && self.options.length.is_none_or(|length| self.received >= length)
    }
}
