//! The caller's own memory that a body lies in (E35): a Uint8Array, which may be detached or shrunk behind the engine's
//! back whenever JavaScript runs, and so is looked at anew in each call.

use crate::host::Arguments;
use napi::sys;
use std::ptr::{self, NonNull};

pub(crate) struct Target {
    env: sys::napi_env,
    /// Keeps the view, and by it the memory for as long as that is not detached.
    reference: sys::napi_ref,
    pub(crate) pointer: NonNull<u8>,
    pub(crate) length: usize,
}

impl Target {
    /// Keeps the view at `index`; `None` for what is none, or when there is no memory for the reference.
    pub(crate) fn keep(arguments: &Arguments, index: usize) -> Option<Target> {
        let (env, view) = (arguments.env(), arguments.value(index));
        let mut reference = ptr::null_mut();
        // SAFETY: the value was given to this very call; what is no object is an error status.
        let status = unsafe { sys::napi_create_reference(env, view, 1, &raw mut reference) };
        if status != sys::Status::napi_ok {
            return None;
        }
        let (pointer, length) = arguments.bytes(index);
        Some(Target {
            env,
            reference,
            pointer,
            length,
        })
    }

    /// Whether the memory is still where it was. Answered anew in each call, and true until JavaScript runs.
    pub(crate) fn is_there(&self) -> bool {
        let (mut view, mut data, mut length) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: the reference is strong and this struct's own; a detached view answers NULL and 0.
        unsafe {
            sys::napi_get_reference_value(self.env, self.reference, &raw mut view);
            sys::napi_get_buffer_info(self.env, view, &raw mut data, &raw mut length);
        }
        self.length == 0 || (data.cast() == self.pointer.as_ptr() && length >= self.length)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // SAFETY: made by `keep`, and given back once. Bodies go on the environment's thread, at the latest in its
        // cleanup hook, where references may still be given back.
        unsafe { sys::napi_delete_reference(self.env, self.reference) };
    }
}
