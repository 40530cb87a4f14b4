//! A counted object that any thread may trigger to stop bodies (E24).

use crate::shared::Shared;
use core::sync::atomic::{AtomicBool, Ordering};

/// Stops the bodies that were given it. Cloning counts, so it outlives what it cancels; it may be triggered from any
/// thread, at any time, any number of times, and stays triggered.
#[derive(Clone, Debug)]
pub struct Cancel(Shared<AtomicBool>);

impl Cancel {
    /// A new one, not triggered; `None` when no memory can be had.
    #[must_use]
    pub fn new() -> Option<Cancel> {
        Shared::new(AtomicBool::new(false)).map(Cancel)
    }

    /// Asks the bodies to stop; each sees it before and after its next call to its source.
    pub fn trigger(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was triggered.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Gives the count up as a pointer, for the C interface; undone by [`Cancel::from_raw`].
    #[must_use]
    pub fn into_raw(self) -> core::ptr::NonNull<()> {
        self.0.into_raw().cast()
    }

    /// Takes back what [`Cancel::into_raw`] gave up.
    ///
    /// # Safety
    /// `raw` comes from `into_raw`, and each is taken back at most once.
    #[must_use]
    pub unsafe fn from_raw(raw: core::ptr::NonNull<()>) -> Cancel {
        // SAFETY: the caller hands over a count that into_raw gave up; the cast restores the pointer's type.
        Cancel(unsafe { Shared::from_raw(raw.cast()) })
    }
}
