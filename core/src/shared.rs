//! A counted pointer whose creation can fail. `Arc::new` aborts the process when no memory is left, and the engine
//! promises a status instead (E31).

use crate::memory;
use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering, fence};

pub(crate) struct Counted<T> {
    count: AtomicUsize,
    value: T,
}

impl<T> Counted<T> {
    /// A value that lives in a static: its first count is never given back, so it is never freed.
    pub(crate) const fn fixed(value: T) -> Counted<T> {
        Counted {
            count: AtomicUsize::new(1),
            value,
        }
    }
}

/// A value with a count of its holders; the last one to let go drops it.
pub(crate) struct Shared<T>(NonNull<Counted<T>>);

// SAFETY: like Arc: the value is reached from several threads by reference, and dropped by any one of them.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// `None` when no memory can be had; the value is dropped then.
    pub(crate) fn new(value: T) -> Option<Shared<T>> {
        Shared::with(|| value)
    }

    /// As [`Shared::new`], but the value is made only once there is a place for it, and in that place.
    pub(crate) fn with(make: impl FnOnce() -> T) -> Option<Shared<T>> {
        memory::place_with(|| Counted {
            count: AtomicUsize::new(1),
            value: make(),
        })
        .map(|place| Shared(NonNull::from(Box::leak(place))))
    }

    /// A further holder of a value that lives in a static.
    pub(crate) fn of_static(counted: &'static Counted<T>) -> Shared<T> {
        counted.count.fetch_add(1, Ordering::Relaxed);
        Shared(NonNull::from(counted))
    }

    pub(crate) fn into_raw(self) -> NonNull<Counted<T>> {
        let pointer = self.0;
        core::mem::forget(self);
        pointer
    }

    /// # Safety
    /// `raw` comes from `into_raw`, and each is taken back at most once.
    pub(crate) unsafe fn from_raw(raw: NonNull<Counted<T>>) -> Shared<T> {
        Shared(raw)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this holder's count keeps the value alive.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        // SAFETY: this holder's count keeps the value alive.
        let before = unsafe { self.0.as_ref() }.count.fetch_add(1, Ordering::Relaxed);
        // As in Arc: a count that wraps would free a value in use. Counts this high are only reached by leaking
        // holders, and the one honest way to stop is to give up before the wrap.
        assert!(before < isize::MAX.unsigned_abs(), "too many holders");
        Shared(self.0)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: this holder's count keeps the value alive until the subtraction.
        if unsafe { self.0.as_ref() }.count.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: that was the last count, so nobody else can reach the value; it came from `memory::place`
            // (a static's first count is never given up, so a static never gets here).
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}
