//! Bytes-like objects as slices: `bytes` as they are, other buffers by the buffer protocol, strided ones gathered.

use brimful_core::memory;
use core::ptr::NonNull;
use core::slice;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use pyo3::{PyTraverseError, PyVisit};

/// The bytes of a bytes-like object, counted in bytes whatever its items are.
pub(crate) enum Chunk<'a> {
    /// Of a `bytes` object.
    Bytes(&'a [u8]),
    /// Of another object, in one range.
    View(View),
    /// Of an object whose bytes do not lie in one range.
    Gathered(Vec<u8>),
}

impl<'a> Chunk<'a> {
    /// Raises TypeError for what is not bytes-like.
    pub(crate) fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Chunk<'a>> {
        if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            return Ok(Chunk::Bytes(bytes.as_bytes()));
        }
        // SAFETY: attached, and the object is alive.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Err(not_bytes(object));
        }
        let view = View::of(object, ffi::PyBUF_FULL_RO)?;
        // SAFETY: the view is filled.
        if unsafe { ffi::PyBuffer_IsContiguous(&raw const *view.0, b'C'.cast_signed()) } != 0 {
            return Ok(Chunk::View(view));
        }
        view.gather(object.py()).map(Chunk::Gathered)
    }

    /// The bytes. They must not be kept while Python code runs, which could change a bytearray.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Chunk::Bytes(bytes) => bytes,
            Chunk::View(view) => view.as_slice(),
            Chunk::Gathered(bytes) => bytes,
        }
    }
}

fn not_bytes(object: &Bound<'_, PyAny>) -> PyErr {
    if object.is_instance_of::<PyString>() {
        return PyTypeError::new_err(
            "a chunk must be bytes-like, not str; open files in binary mode, or encode the text",
        );
    }
    PyTypeError::new_err(format!("a chunk must be bytes-like, not {}", object.get_type()))
}

/// A view by the buffer protocol, released when it is dropped. In memory of its own, since a view may point into itself.
pub(crate) struct View(Box<ffi::Py_buffer>);

// SAFETY: the fields are written when the view is filled and read afterwards; the view is released where it is dropped,
// which is attached to the interpreter on every thread: its owners are Python objects or calls from Python.
unsafe impl Send for View {}
// SAFETY: as above; shared views are only asked for their range.
unsafe impl Sync for View {}

impl View {
    /// A view to be written to, in one range.
    ///
    /// Raises TypeError for what is no writable buffer, BufferError for one that does not lie in one range.
    pub(crate) fn writable(object: &Bound<'_, PyAny>) -> PyResult<View> {
        let wrong = |what: &str| {
            PyTypeError::new_err(format!(
                "the target must be a writable buffer (bytearray, writable memoryview, array), not {what}{}",
                object.get_type()
            ))
        };
        // SAFETY: attached, and the object is alive.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Err(wrong(""));
        }
        let refused = match View::of(object, ffi::PyBUF_CONTIG) {
            Ok(view) => return Ok(view),
            Err(refused) => refused,
        };
        // Exporters say in many ways why not.
        let Ok(view) = View::of(object, ffi::PyBUF_FULL_RO) else {
            return Err(refused);
        };
        if view.0.readonly != 0 {
            return Err(wrong("the read-only "));
        }
        Err(PyBufferError::new_err(
            "the target must lie in one range of memory (C-contiguous); collect into a bytearray and copy from there",
        ))
    }

    /// Where the bytes begin, and how many they are.
    pub(crate) fn range(&self) -> (NonNull<u8>, usize) {
        // An empty view may have no address.
        let start = NonNull::new(self.0.buf.cast()).unwrap_or(NonNull::dangling());
        (start, self.len())
    }

    pub(crate) fn of(object: &Bound<'_, PyAny>, flags: core::ffi::c_int) -> PyResult<View> {
        let mut view = memory::place(ffi::Py_buffer::new()).ok_or_else(|| PyMemoryError::new_err("no memory"))?;
        // SAFETY: attached; the view is ours to have filled.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(View(view))
    }

    /// Shows the garbage collector whose memory it is.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // SAFETY: `Option<Py<PyAny>>` is a pointer to an object or NULL, as the field is; the view holds the object.
        let owner = unsafe { &*(&raw const self.0.obj).cast::<Option<Py<PyAny>>>() };
        visit.call(owner)
    }

    fn len(&self) -> usize {
        self.0.len.unsigned_abs()
    }

    /// The bytes of a view that lies in one range.
    fn as_slice(&self) -> &[u8] {
        if self.len() == 0 {
            return &[]; // an empty view may have no address
        }
        // SAFETY: a filled view in one range has `len` readable bytes at `buf` until it is released.
        unsafe { slice::from_raw_parts(self.0.buf.cast(), self.len()) }
    }

    /// The bytes of a view that was asked for as writable and in one range.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: as in as_slice; writable by the flags it was asked for with. Nobody else uses the bytes while the
        // caller, who is attached, runs no Python code.
        unsafe { slice::from_raw_parts_mut(self.0.buf.cast(), self.len()) }
    }

    fn gather(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let mut bytes: Vec<u8> = Vec::new();
        bytes
            .try_reserve_exact(self.len())
            .map_err(|_| PyMemoryError::new_err("no memory to gather a strided chunk"))?;
        // SAFETY: the view is filled, and the vector has room for its `len` bytes.
        let failed = unsafe {
            let target = bytes.as_mut_ptr();
            ffi::PyBuffer_ToContiguous(target.cast(), &raw const *self.0, self.0.len, b'C'.cast_signed())
        };
        if failed != 0 {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: the call above wrote all of them.
        unsafe { bytes.set_len(self.len()) };
        Ok(bytes)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: views are made and dropped attached, and released once.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
    }
}
