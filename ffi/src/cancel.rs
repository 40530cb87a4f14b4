//! The cancel object.

use brimful_core::{Cancel, Error};
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

use crate::guard::{self, Borrowed, Out};
use crate::status::{BRIMFUL_OK, brimful_status};

/// Stops bodies from outside. Put it into brimful_options.cancel; when it is triggered, each of its bodies that
/// reads ends with BRIMFUL_ERR_CANCELLED. That is looked at before and after each call of the source, so it does not
/// interrupt a source that blocks; brimful_collector_write, _reserve and _commit do not look at it. It stays
/// triggered: a body that is collected with it later is cancelled at once.
///
/// Threads: all its functions may be called from any thread at any time.
/// Lifetime: counted. It lives until every hold, the collectors' own included, has been given back.
pub struct brimful_cancel {
    _opaque: (),
}

/// The engine's object behind a handle, its count untouched.
///
/// # Safety
/// The handle is one that `brimful_cancel_new` gave out and that is still held.
pub(crate) unsafe fn borrow(cancel: NonNull<brimful_cancel>) -> Borrowed<Cancel> {
    // SAFETY: the pointer comes from into_raw; it is not taken back, since what is made here is never dropped.
    ManuallyDrop::new(unsafe { Cancel::from_raw(cancel.cast()) })
}

/// Makes a cancel object, not triggered. *cancel is a hold of yours: give it back with brimful_cancel_release.
///
/// - BRIMFUL_OK: done.
/// - BRIMFUL_ERR_INVALID: cancel is NULL.
/// - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
/// - BRIMFUL_ERR_PANIC: the library failed inside.
///
/// After an error *cancel is NULL.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_cancel_new(cancel: *mut *mut brimful_cancel) -> brimful_status {
    guard::status(|| {
        // SAFETY: the conventions: an out-parameter is NULL or writable.
        let out = unsafe { Out::new(cancel, ptr::null_mut()) }?;
        let made = Cancel::new().ok_or(Error::NoMemory)?;
        out.set(made.into_raw().cast().as_ptr());
        Ok(BRIMFUL_OK)
    })
}

/// Takes one more hold, to be given back with brimful_cancel_release, and returns cancel. NULL gives NULL.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_cancel_retain(cancel: *mut brimful_cancel) -> *mut brimful_cancel {
    guard::catch(ptr::null_mut(), || {
        let Some(handle) = NonNull::new(cancel) else {
            return cancel;
        };
        // SAFETY: the conventions: a handle is one that is held.
        let object = unsafe { borrow(handle) };
        Cancel::clone(&object).into_raw().cast().as_ptr()
    })
}

/// Triggers it, from any thread, at any time, as often as you like. Nothing is waited for. NULL does nothing.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_cancel_trigger(cancel: *mut brimful_cancel) {
    guard::catch((), || {
        if let Some(handle) = NonNull::new(cancel) {
            // SAFETY: the conventions: a handle is one that is held.
            unsafe { borrow(handle) }.trigger();
        }
    });
}

/// Gives one hold back; after the last one the object is gone. NULL does nothing.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_cancel_release(cancel: *mut brimful_cancel) {
    guard::catch((), || {
        if let Some(handle) = NonNull::new(cancel) {
            // SAFETY: the conventions: the caller gives up a hold that into_raw made.
            drop(unsafe { Cancel::from_raw(handle.cast()) });
        }
    });
}
