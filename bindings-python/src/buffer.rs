//! The pooled buffer as a Python object that memoryview, and everything else that speaks the buffer protocol, reads in
//! place.

use crate::codec::Decoding;
use crate::errors;
use crate::info::Info;
use crate::json::Loads;
use crate::memory;
use crate::text::Collected;
use ::core::ffi::c_int;
use ::core::ptr;
use brimful_core::{self as core, Error};
use pyo3::exceptions::{PyBufferError, PyIndexError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PySlice, PyString, PyTuple};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Copies of at least so many bytes let other Python threads run meanwhile (giving the GIL up and taking it back costs
/// about as much as copying 1 KiB, but other threads may then hold it for 5 ms).
pub(crate) const WORTH_DETACHING: usize = 1 << 20;

struct State {
    /// None once released.
    buffer: Option<core::Buffer>,
    /// Views that look at the memory.
    views: usize,
    /// Released as soon as the last view has gone.
    closing: bool,
}

/// A body in memory that is recycled when it is released. Read it in place with memoryview(body) or segments(), or copy
/// it out with tobytes(). len(body) is its length in bytes, body[10:20] a PooledBuffer that shares the memory.
///
/// Immutable; any number of threads may read it, any may release it. Release it by release() or by leaving a `with`;
/// memory of one that is merely dropped is recycled then. Cannot be pickled.
#[pyclass(frozen, module = "brimful", weakref)]
pub(crate) struct PooledBuffer {
    state: Mutex<State>,
}

impl PooledBuffer {
    pub(crate) fn new(buffer: core::Buffer) -> PooledBuffer {
        PooledBuffer {
            state: Mutex::new(State {
                buffer: Some(buffer),
                views: 0,
                closing: false,
            }),
        }
    }

    /// Never held while Python code or anything slow runs, so that nobody waits for it with the GIL in hand.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The buffer for a call that reads it; the memory stays for as long as that holder lives.
    pub(crate) fn open(&self) -> PyResult<core::Buffer> {
        opened(&self.state())
    }

    /// As `open`, for a view that is to be counted until `let_go`.
    fn pin(&self) -> PyResult<core::Buffer> {
        let mut state = self.state();
        let buffer = opened(&state)?;
        state.views += 1;
        Ok(buffer)
    }

    fn let_go(&self) {
        let mut state = self.state();
        state.views -= 1;
        let released = if state.views == 0 && state.closing {
            state.buffer.take()
        } else {
            None
        };
        drop(state);
        drop(released); // gives blocks back, which is not done under the lock
    }
}

fn opened(state: &State) -> PyResult<core::Buffer> {
    match &state.buffer {
        Some(buffer) if !state.closing => Ok(buffer.clone()),
        _ => Err(PyValueError::new_err(
            "the pooled buffer was released; its memory belongs to another body now",
        )),
    }
}

#[pymethods]
impl PooledBuffer {
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.open()?.len())
    }

    /// A byte as an int, or a slice without steps as a PooledBuffer that shares the memory: it holds the whole body's
    /// memory until it is released too. `bytes(body)[...]` copies out instead.
    ///
    /// Raises IndexError, TypeError, ValueError for a slice with steps.
    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let buffer = self.open()?;
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(buffer.len().cast_signed())?;
            if range.step != 1 {
                return Err(PyValueError::new_err(
                    "a slice of a pooled buffer shares its memory and has no steps; copy with bytes(body)[...] instead",
                ));
            }
            let part = buffer
                .slice(range.start.unsigned_abs(), range.slicelength)
                .map_err(|error| errors::of_status(py, error, &buffer.info(), None))?;
            return Ok(Bound::new(py, PooledBuffer::new(part))?.into_any());
        }
        let position = index.extract::<isize>().map_err(|_| {
            PyTypeError::new_err(format!(
                "an index of a pooled buffer must be an int or a slice, not {}",
                index.get_type()
            ))
        })?;
        let position = if position < 0 {
            buffer.len().checked_sub(position.unsigned_abs())
        } else {
            Some(position.unsigned_abs())
        };
        let mut byte = [0];
        match position.filter(|&position| buffer.copy(position, &mut byte) == 1) {
            Some(_) => Ok(byte[0].into_pyobject(py)?.into_any()),
            None => Err(PyIndexError::new_err("index out of range of the pooled buffer")),
        }
    }

    /// Whether the body was cut at its limit.
    #[getter]
    fn truncated(&self) -> PyResult<bool> {
        Ok(self.open()?.is_truncated())
    }

    /// Statistics of the body as an Info.
    fn info(&self) -> PyResult<Info> {
        Ok(self.open()?.info().into())
    }

    /// The pieces that the body lies in, in order, as a tuple of read-only memoryviews. Nothing is copied; an empty
    /// body has none. memoryview(body) joins the pieces, at most once, where there are several.
    fn segments<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let count = slf.get().open()?.segment_count();
        let views = (0..count).map(|index| {
            let segment = Bound::new(
                py,
                Segment {
                    parent: slf.clone().unbind(),
                    index,
                },
            )?;
            PyMemoryView::from(segment.as_any())
        });
        PyTuple::new(py, views.collect::<PyResult<Vec<_>>>()?)
    }

    /// The body as bytes: one copy.
    fn tobytes(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let buffer = self.open()?;
        let copy = || buffer.to_exact(&memory::bytes());
        let exact = if buffer.len() >= WORTH_DETACHING {
            py.detach(copy)
        } else {
            copy()
        };
        let exact = exact.map_err(|error| errors::of_status(py, error, &buffer.info(), None))?;
        let (_, _, token) = exact.into_raw_parts();
        // SAFETY: the exact result comes from the bytes memory, is written, and its count is handed over.
        Ok(unsafe { memory::take(py, token) })
    }

    /// The body as text, made from its blocks without a bytes object of the whole. See collect_text() for `encoding` and
    /// `errors`.
    ///
    /// Raises EncodingError with .offset, in bytes, where the bytes are no text; UnknownEncodingError.
    #[pyo3(signature = (encoding = None, errors = None), text_signature = "($self, encoding=None, errors='strict')")]
    fn text<'py>(
        &self,
        py: Python<'py>,
        encoding: Option<&Bound<'py, PyAny>>,
        errors: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let decoding = Decoding::asked(encoding, errors)?;
        Collected::Buffer(self.open()?).into_text(py, &decoding, false)
    }

    /// What the body means as JSON. See collect_json() for `loads`.
    ///
    /// Raises what `loads` raises, and EncodingError where the bytes are no text; the body stays as it is.
    #[pyo3(signature = (loads = None))]
    fn json<'py>(&self, py: Python<'py>, loads: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let loads = Loads::asked(py, loads)?;
        Collected::Buffer(self.open()?).into_json(py, &loads, false)
    }

    /// Gives the memory back. Releasing twice is fine.
    ///
    /// Raises BufferError while views of the buffer (memoryviews, numpy arrays) are alive.
    fn release(&self) -> PyResult<()> {
        let mut state = self.state();
        if state.views > 0 && !state.closing {
            return Err(PyBufferError::new_err(format!(
                "{} view(s) of the pooled buffer are alive; release them first",
                state.views
            )));
        }
        let released = if state.views == 0 { state.buffer.take() } else { None };
        drop(state);
        drop(released);
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Releases the buffer. When the `with` is left by an exception while views are alive, the buffer is released as
    /// soon as they have gone, so that the exception is not hidden by a BufferError.
    fn __exit__(
        &self,
        exception_type: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if !exception_type.is_none() {
            self.state().closing = true;
        }
        self.release()
    }

    /// # Safety
    /// Called by the interpreter with a view to fill.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let py = slf.py();
        let buffer = slf.get().pin()?;
        let look = || {
            buffer
                .contiguous()
                .map(|bytes| (bytes.as_ptr().expose_provenance(), bytes.len()))
        };
        // A join may copy the whole body.
        let filled = match if buffer.segment_count() > 1 {
            py.detach(look)
        } else {
            look()
        } {
            // SAFETY: the bytes live as long as the buffer, which a pinned state keeps.
            Ok((address, length)) => unsafe { fill(slf.as_any(), view, address, length, flags) },
            Err(error) => Err(errors::of_status(py, error, &buffer.info(), None)),
        };
        filled.inspect_err(|_| slf.get().let_go())
    }

    /// # Safety
    /// Called by the interpreter for a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.let_go();
    }
}

/// Whose view shows one piece of a pooled buffer.
#[pyclass(frozen, module = "brimful", name = "_Segment")]
struct Segment {
    parent: Py<PooledBuffer>,
    index: usize,
}

#[pymethods]
impl Segment {
    /// # Safety
    /// Called by the interpreter with a view to fill.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let Segment { parent, index } = slf.get();
        let buffer = parent.get().pin()?;
        let bytes = buffer.segments().nth(*index).unwrap_or_default();
        // SAFETY: the bytes live as long as the buffer, which a pinned state keeps.
        unsafe {
            fill(
                slf.as_any(),
                view,
                bytes.as_ptr().expose_provenance(),
                bytes.len(),
                flags,
            )
        }
        .inspect_err(|_| parent.get().let_go())
    }

    /// # Safety
    /// Called by the interpreter for a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.parent.get().let_go();
    }
}

/// Fills a view with a range of bytes that nobody may write to.
///
/// # Safety
/// `view` may be written, and the range stays readable until the view is released.
pub(crate) unsafe fn fill(
    owner: &Bound<'_, PyAny>,
    view: *mut ffi::Py_buffer,
    address: usize,
    length: usize,
    flags: c_int,
) -> PyResult<()> {
    let length = ffi::Py_ssize_t::try_from(length).map_err(|_| PyBufferError::new_err(Error::NoMemory.text()))?;
    // SAFETY: as the caller promises; the function writes the view, or sets an exception.
    let failed = unsafe {
        ffi::PyBuffer_FillInfo(
            view,
            owner.as_ptr(),
            ptr::with_exposed_provenance_mut(address),
            length,
            1,
            flags,
        )
    };
    if failed == 0 {
        Ok(())
    } else {
        Err(PyErr::fetch(owner.py()))
    }
}
