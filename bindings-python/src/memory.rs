//! Python's `bytes` as a memory of the engine: an exact result is a `bytes` object of just the body's length, filled
//! in place before anybody else has seen it.

use brimful_core::memory::{Calls, Cost, Memory, MemoryRef, Profile, Raw, prefer_huge_pages};
use core::ptr::{self, NonNull};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{Py, ffi};

/// The interpreter's calls for its objects; above 512 bytes they are malloc's.
const OBJECTS: Calls = Calls {
    allocate: ffi::PyObject_Malloc,
    reallocate: ffi::PyObject_Realloc,
    free: ffi::PyObject_Free,
};

#[derive(Debug)]
struct BytesMemory;

static BYTES: BytesMemory = BytesMemory;

/// The memory of exact results: each piece is a `bytes` object, which the piece's token points to.
pub(crate) fn bytes() -> MemoryRef {
    MemoryRef::fixed(&BYTES)
}

/// The `bytes` object of an exact result.
///
/// # Safety
/// `token` is that of a piece of [`bytes`] whose count is handed over with it, and its bytes are written.
pub(crate) unsafe fn take(py: Python<'_>, token: usize) -> Py<PyBytes> {
    // SAFETY: the token points to a bytes object, whose one count the caller hands over.
    unsafe {
        Bound::from_owned_ptr(py, ptr::with_exposed_provenance_mut(token))
            .cast_into_unchecked()
            .unbind()
    }
}

// SAFETY: a piece is the payload of a bytes object that only the piece's token points to: nobody else reads, hashes or
// frees it before `deallocate` or `take`. Its payload lies still, is writable over its size, and the alignment is
// looked at.
unsafe impl Memory for BytesMemory {
    fn profile(&self) -> Profile {
        Profile {
            grows: false,
            fixed_up_to: usize::MAX,
            detachable: false,
            reallocates: true,
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        let length = ffi::Py_ssize_t::try_from(size).ok()?;
        // Also where the engine runs without the GIL: it is taken for just this call.
        Python::try_attach(|_py| {
            // SAFETY: attached. NULL leaves the payload unwritten.
            let object = unsafe { ffi::PyBytes_FromStringAndSize(ptr::null(), length) };
            if object.is_null() {
                // SAFETY: attached. The refusal is told as a status.
                unsafe { ffi::PyErr_Clear() };
                return None;
            }
            if let Some(object) = NonNull::new(object) {
                // SAFETY: a bytes object of this size comes from malloc, which has given it just now.
                unsafe { prefer_huge_pages(object.cast(), size) };
            }
            // SAFETY: the object is a bytes object.
            let payload = NonNull::new(unsafe { ffi::PyBytes_AsString(object) }.cast::<u8>());
            // Size 0 gives the interpreter's one empty object, which lies where it likes; none of its bytes is used.
            match payload.filter(|payload| size == 0 || payload.addr().get() % align == 0) {
                Some(pointer) => Some(Raw {
                    pointer,
                    capacity: size,
                    reserve: size,
                    token: object.expose_provenance(),
                    lazy: false,
                    huge: false,
                    dirty: size,
                }),
                None => {
                    // SAFETY: attached, and the count is ours.
                    unsafe { ffi::Py_DECREF(object) };
                    None
                }
            }
        })
        .flatten()
    }

    unsafe fn reallocate(&self, raw: &mut Raw, size: usize) -> Option<Cost> {
        let length = ffi::Py_ssize_t::try_from(size).ok()?;
        let object = NonNull::new(ptr::with_exposed_provenance_mut::<u8>(raw.token))?;
        let header = raw.pointer.addr().get() - object.addr().get();
        // The terminating NUL of every bytes object lies behind its payload.
        let (from, to) = (header + raw.capacity + 1, header.checked_add(size)?.checked_add(1)?);
        Python::try_attach(|_py| {
            // Not _PyBytes_Resize, which does the same but frees the object where no memory is to be had (E30).
            // SAFETY: attached; the object is one allocation of the interpreter's, as large as this, that nobody else has.
            let (moved, mut cost) = unsafe { OBJECTS.resize(object, from, to) }?;
            cost.copied = cost.copied.min(raw.capacity as u64); // the header is no byte of the body
            // SAFETY: the header moved along, and the payload with its NUL ends where the allocation does.
            unsafe {
                (*moved.cast::<ffi::PyVarObject>().as_ptr()).ob_size = length;
                moved.add(to - 1).write(0);
            }
            // SAFETY: the payload begins behind the header.
            raw.pointer = unsafe { moved.add(header) };
            (raw.capacity, raw.reserve, raw.dirty) = (size, size, size);
            raw.token = moved.as_ptr().expose_provenance();
            Some(cost)
        })
        .flatten()
    }

    unsafe fn deallocate(&self, raw: Raw) {
        let object = ptr::with_exposed_provenance_mut::<ffi::PyObject>(raw.token);
        // While the interpreter goes down nobody can attach; its memory goes with the process.
        // SAFETY: attached inside; the piece's count is handed over with it.
        Python::try_attach(|_py| unsafe { ffi::Py_DECREF(object) });
    }
}
