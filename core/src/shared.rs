//! A counted pointer whose creation can fail. `Arc::new` aborts the process when no memory is left, and the engine
//! promises a status instead (E31).

use crate::memory;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Counted<T> {
    count: AtomicUsize,
    value: T,
}

/// The count of a value that lives in a static: nobody counts its holders, which saves each small body six atomic
/// exchanges of 5 ns. No honest count reaches it.
const FIXED: usize = usize::MAX;

impl<T> Counted<T> {
    /// A value that lives in a static and is never freed.
    pub(crate) const fn fixed(value: T) -> Counted<T> {
        Counted {
            count: AtomicUsize::new(FIXED),
            value,
        }
    }
}

/// Where a counted value lies, or lay and another may.
pub(crate) type Place<T> = Box<MaybeUninit<Counted<T>>>;

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
        memory::place_uninit().map(|place| Shared::at(place, make))
    }

    /// Makes the value in a place that is there already.
    #[inline]
    pub(crate) fn at(mut place: Place<T>, make: impl FnOnce() -> T) -> Shared<T> {
        place.write(Counted {
            count: AtomicUsize::new(1),
            value: make(),
        });
        Shared(NonNull::from(Box::leak(place)).cast())
    }

    /// A further holder of a value that lives in a static.
    pub(crate) fn of_static(counted: &'static Counted<T>) -> Shared<T> {
        Shared(NonNull::from(counted))
    }

    /// Lets go; whoever was the last gets the value, where it lies.
    #[inline]
    pub(crate) fn let_go(self) -> Option<Last<T>> {
        let pointer = self.into_raw();
        // SAFETY: this holder's count, which is given up here, keeps the value alive until then.
        let count = unsafe { &pointer.as_ref().count };
        match count.load(Ordering::Acquire) {
            FIXED => return None,
            // Nobody else is left, and nobody can come: only a holder could make another.
            1 => {}
            _ if count.fetch_sub(1, Ordering::Release) > 1 => return None,
            // A load and not a fence, which ThreadSanitizer does not see.
            _ => drop(count.load(Ordering::Acquire)),
        }
        // SAFETY: that was the last count, so nobody else reaches the value; it lies where `at` put it.
        Some(Last(unsafe { Box::from_raw(pointer.as_ptr()) }))
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
        let count = unsafe { &self.0.as_ref().count };
        if count.load(Ordering::Relaxed) == FIXED {
            return Shared(self.0);
        }
        let before = count.fetch_add(1, Ordering::Relaxed);
        // As in Arc: a count that wraps would free a value in use. Counts this high are only reached by leaking
        // holders, and the one honest way to stop is to give up before the wrap.
        assert!(before < isize::MAX.unsigned_abs(), "too many holders");
        Shared(self.0)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        drop(Shared(self.0).let_go());
    }
}

/// A counted value whose last holder let go of it.
pub(crate) struct Last<T>(Box<Counted<T>>);

impl<T> Last<T> {
    pub(crate) fn value(&mut self) -> &mut T {
        &mut self.0.value
    }

    /// Drops the value, and keeps the place that it lay in.
    #[inline]
    pub(crate) fn into_place(self) -> Place<T> {
        let pointer = Box::into_raw(self.0);
        // SAFETY: the value is dropped once, and the place is one of uninitialised memory from then on.
        unsafe {
            pointer.drop_in_place();
            Box::from_raw(pointer.cast())
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}
