//! Windows as Python sees them. A window is a memoryview of an exporter; if a view of it is still alive after the call
//! that it was meant for, the exporter gets the memory for good and the body goes on elsewhere: a kept view can
//! neither change a result nor reach another body.

use crate::body::Body;
use crate::chunk::View;
use brimful_core::{Quarantined, Turn, Window};
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use pyo3::{ffi, intern};
use std::sync::{Arc, Mutex, PoisonError};

/// In `Exporter::views`: a view may be made. The rest counts views, two for each.
const OPEN: usize = 1;
const VIEW: usize = 2;

/// What an exporter's views look at, held for as long as the exporter lives.
#[expect(dead_code, reason = "held for the views")]
enum Memory {
    /// A window of a body that is still arriving.
    Body(Arc<Body>),
    /// Memory that the body has left to the views.
    Left(Quarantined),
    /// The caller's own memory: what its views show and change is the caller's.
    Target(Arc<View>),
    /// Nothing more: `arrived` holds the body, or it had nothing to leave.
    Nothing,
}

/// Whose views show a window, or what has arrived.
#[pyclass(frozen, module = "brimful", name = "_Window")]
pub(crate) struct Exporter {
    pointer: AtomicPtr<u8>,
    room: AtomicUsize,
    views: AtomicUsize,
    memory: Mutex<Memory>,
    /// The body whose arrived bytes are shown, which counts their views: while one is alive it must not move.
    arrived: Option<Arc<Body>>,
}

impl Exporter {
    /// For windows of this body.
    pub(crate) fn new<'py>(py: Python<'py>, body: &Arc<Body>) -> PyResult<Bound<'py, Exporter>> {
        Exporter::over(py, Memory::Body(body.clone()), None)
    }

    fn over<'py>(py: Python<'py>, memory: Memory, arrived: Option<Arc<Body>>) -> PyResult<Bound<'py, Exporter>> {
        let exporter = Exporter {
            pointer: AtomicPtr::default(),
            room: AtomicUsize::new(0),
            views: AtomicUsize::new(0),
            memory: Mutex::new(memory),
            arrived,
        };
        Bound::new(py, exporter)
    }

    /// A view of this window. Only this makes one: `view.obj` gives Python code the exporter, but no further view.
    pub(crate) fn show<'py>(slf: &Bound<'py, Exporter>, window: Window) -> PyResult<Bound<'py, PyMemoryView>> {
        Exporter::view(slf, window.pointer.as_ptr(), window.room)
    }

    /// A read-only view of bytes of this body that have arrived, and that lie still while `body.arrived` counts views.
    pub(crate) fn show_arrived<'py>(
        py: Python<'py>,
        body: &Arc<Body>,
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let exporter = Exporter::over(py, Memory::Nothing, Some(body.clone()))?;
        Exporter::view(&exporter, bytes.as_ptr().cast_mut(), bytes.len())
    }

    fn view<'py>(slf: &Bound<'py, Exporter>, pointer: *mut u8, room: usize) -> PyResult<Bound<'py, PyMemoryView>> {
        let exporter = slf.get();
        exporter.pointer.store(pointer, Ordering::Relaxed);
        exporter.room.store(room, Ordering::Relaxed);
        exporter.views.fetch_or(OPEN, Ordering::Release);
        let view = PyMemoryView::from(slf.as_any());
        exporter.views.fetch_and(!OPEN, Ordering::AcqRel);
        view
    }

    /// Takes the view back after its call. Afterwards it is of no use to whoever kept it; what was made from it (a
    /// slice, an array) may live on, and then `is_kept` says so.
    pub(crate) fn take_back(view: Bound<'_, PyMemoryView>) {
        // A view that nobody else has is closed by dropping it; an explicit release costs 35 ns more.
        // SAFETY: attached, and the view is alive.
        if unsafe { ffi::Py_REFCNT(view.as_ptr()) } != 1 {
            // A BufferError here says that something was made from it, which `is_kept` finds out too.
            let _ = view.call_method0(intern!(view.py(), "release"));
        }
    }

    /// Whether a view is alive.
    pub(crate) fn is_kept(&self) -> bool {
        self.views.load(Ordering::Acquire) >= VIEW
    }

    /// Leaves the memory of the last window to its views, if there are any. True: this exporter is not used again.
    pub(crate) fn leave(&self, body: &Body, turn: &mut Turn<'_>) -> bool {
        if !self.is_kept() {
            return false;
        }
        let left = match (turn.quarantine(), body.target()) {
            (Some(left), _) => Memory::Left(left),
            (None, Some(target)) => Memory::Target(target),
            (None, None) => Memory::Nothing,
        };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let body = core::mem::replace(&mut *memory, left);
        drop(memory);
        drop(body); // not the last holder: the turn is with the body
        true
    }
}

#[pymethods]
impl Exporter {
    /// # Safety
    /// Called by the interpreter with a view to fill.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let exporter = slf.get();
        // Counted first and only while open, so that whoever finds the count 0 after closing knows that no view is.
        let count = |views| if views & OPEN == 0 { None } else { Some(views + VIEW) };
        if exporter
            .views
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, count)
            .is_err()
        {
            return Err(PyBufferError::new_err(
                "a window belongs to the call it was given to; no further view of it",
            ));
        }
        let pointer = exporter.pointer.load(Ordering::Relaxed);
        let room = exporter.room.load(Ordering::Relaxed);
        let readonly = c_int::from(exporter.arrived.is_some());
        #[expect(
            clippy::cast_possible_wrap,
            reason = "a window lies in the address space, at most isize::MAX bytes"
        )]
        // SAFETY: the view is the interpreter's to fill. A window is writable, cleared where interpreted code sees it,
        // and lives as long as this exporter, which the view holds: `memory` holds the body, the block it left, or the
        // caller's memory.
        // What has arrived is only read, and lies still while its views are counted.
        let failed = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                pointer.cast(),
                room as ffi::Py_ssize_t,
                readonly,
                flags,
            )
        };
        if failed == 0 {
            if let Some(body) = &exporter.arrived {
                body.arrived.fetch_add(1, Ordering::AcqRel);
            }
            return Ok(());
        }
        exporter.views.fetch_sub(VIEW, Ordering::AcqRel);
        Err(PyErr::fetch(slf.py()))
    }

    /// # Safety
    /// Called by the interpreter for a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.views.fetch_sub(VIEW, Ordering::AcqRel);
        if let Some(body) = &self.arrived {
            body.arrived.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
