//! A body that arrives: the engine's collector, and what of Python it lies in or is looked at by.

use crate::buffer::{PooledBuffer, WORTH_DETACHING};
use crate::chunk::View;
use crate::drive::Failure;
use crate::errors;
use crate::memory;
use crate::options::new_cancel;
use brimful_core::{self as core, Cancel, Error, Handle, State, Turn};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The value, also when a thread has panicked with it in hand: nothing of this binding is left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A body that arrives, held by its Python object and by whoever shows its memory.
pub(crate) struct Body {
    // Dropped first: the target is to outlive it.
    handle: Handle,
    pool: core::Pool,
    cancel: Mutex<Cancel>,
    /// Views of what has arrived; while one is alive the body does not move.
    pub(crate) arrived: AtomicUsize,
    /// An awaited source has its window. That is a call which has not returned, so all other calls are busy (E26).
    awaiting: AtomicBool,
    /// The caller's memory that the body lies in (E35).
    target: Mutex<Option<Arc<View>>>,
    /// Whether the engine's collector is one over a target, which may have been let go of since.
    into: AtomicBool,
}

impl Body {
    /// A body in memory of the pool, or of `bytes`.
    pub(crate) fn new(pool: &core::Pool, mut options: core::Options) -> PyResult<Arc<Body>> {
        let cancel = new_cancel()?;
        options.cancel = Some(cancel.clone());
        let collector = core::Collector::new(pool, options).map_err(errors::invalid)?;
        Ok(Arc::new(Body {
            handle: Handle::new(collector),
            pool: pool.clone(),
            cancel: Mutex::new(cancel),
            arrived: AtomicUsize::new(0),
            awaiting: AtomicBool::new(false),
            target: Mutex::new(None),
            into: AtomicBool::new(false),
        }))
    }

    /// Lets the body lie in this memory from its first byte on; a body that lies there already goes on.
    ///
    /// Raises StateError for one that has begun elsewhere.
    pub(crate) fn lie_in(&self, py: Python<'_>, turn: &mut Turn<'_>, target: View) -> PyResult<()> {
        if lock(&self.target)
            .as_ref()
            .is_some_and(|held| held.range() == target.range())
        {
            return Ok(());
        }
        let info = turn.info();
        if info.received > 0 || info.source_calls > 0 || matches!(info.state, State::WindowOut | State::Taken) {
            let message = "the collector's body has begun elsewhere; give a new collector, or reset() this one first";
            return Err(errors::state(py, message, info.received));
        }
        let (start, capacity) = target.range();
        // SAFETY: the view was asked for as writable, and exported memory neither moves nor goes while it is held,
        // which `target` does for longer than the collector lives: it is only let go of where the body has left it
        // (`let_go`), or with the collector. Whoever else writes to the caller's own memory meanwhile changes only the
        // bytes that the caller gave for this.
        let made = unsafe { core::Collector::new_into(&self.pool, turn.options().clone(), start, capacity) };
        **turn = made.map_err(errors::invalid)?;
        self.into.store(true, Ordering::Release);
        let before = lock(&self.target).replace(Arc::new(target));
        drop(before);
        Ok(())
    }

    /// Begins again for another body, in memory of its own.
    pub(crate) fn restart(&self, turn: &mut Turn<'_>, mut options: core::Options) -> PyResult<()> {
        options.check().map_err(errors::invalid)?;
        let cancel = new_cancel()?;
        options.cancel = Some(cancel.clone());
        if self.into.swap(false, Ordering::AcqRel) {
            **turn = core::Collector::new(&self.pool, options).map_err(errors::invalid)?;
            self.let_go();
        } else {
            turn.reset(Some(options)).map_err(errors::invalid)?;
        }
        *lock(&self.cancel) = cancel;
        Ok(())
    }

    /// Lets the caller's memory go, where the body does not lie in it any more.
    pub(crate) fn let_go(&self) {
        let target = lock(&self.target).take();
        drop(target);
    }

    /// Shows the garbage collector the owner of the caller's memory, where this body's `holders` alone hold it: views
    /// of windows hold the body, or the memory, from elsewhere.
    pub(crate) fn traverse(self: &Arc<Body>, holders: usize, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(target) = self.target.try_lock() else {
            return Ok(());
        };
        match target.as_ref() {
            Some(target) if Arc::strong_count(self) == holders && Arc::strong_count(target) == 1 => {
                target.traverse(visit)
            }
            _ => Ok(()),
        }
    }

    /// Lets the caller's memory go for the garbage collector, and what lies there with it. Nobody else holds the body.
    pub(crate) fn clear(&self) {
        if self.is_into()
            && let Ok(mut turn) = self.look_in()
        {
            let options = turn.options().clone();
            // Where there is no memory for it, the memory stays with the body.
            let _ = self.restart(&mut turn, options);
        }
    }

    /// The caller's memory that the body lies in.
    pub(crate) fn target(&self) -> Option<Arc<View>> {
        lock(&self.target).clone()
    }

    pub(crate) fn pool(&self) -> &core::Pool {
        &self.pool
    }

    /// Whether the result is in the caller's own memory.
    pub(crate) fn is_into(&self) -> bool {
        self.into.load(Ordering::Acquire)
    }

    /// The turn, whatever looks at what has arrived.
    pub(crate) fn look_in(&self) -> Result<Turn<'_>, Error> {
        if self.awaiting.load(Ordering::Acquire) {
            return Err(Error::Busy);
        }
        self.handle.enter()
    }

    /// The turn, for calls that may change or move the body.
    pub(crate) fn enter(&self, py: Python<'_>) -> PyResult<Turn<'_>> {
        let turn = self
            .look_in()
            .map_err(|error| errors::of_status(py, error, &self.info(py), None))?;
        if self.arrived.load(Ordering::Acquire) > 0 {
            return Err(PyBufferError::new_err(
                "views of segments() are alive; release them before the body goes on",
            ));
        }
        Ok(turn)
    }

    /// Ends a turn while the source's window stays out; only `come_back` gets in until then.
    pub(crate) fn go_away(&self, turn: Turn<'_>) {
        self.awaiting.store(true, Ordering::Release);
        drop(turn);
    }

    /// The turn again after `go_away`.
    pub(crate) fn come_back(&self, py: Python<'_>) -> Turn<'_> {
        loop {
            if let Ok(turn) = self.handle.enter() {
                self.awaiting.store(false, Ordering::Release);
                return turn;
            }
            // Another thread has a look at the statistics.
            py.detach(std::thread::yield_now);
        }
    }

    pub(crate) fn info(&self, py: Python<'_>) -> core::Info {
        loop {
            if let Ok(info) = self.handle.look(core::Collector::info) {
                return info;
            }
            // Another thread is inside. It may need the GIL to come out again.
            py.detach(std::thread::yield_now);
        }
    }

    pub(crate) fn cancel(&self) {
        lock(&self.cancel).trigger();
    }

    /// The cancel object of this body, for options that replace the ones it was made with.
    pub(crate) fn cancel_object(&self) -> Cancel {
        lock(&self.cancel).clone()
    }

    /// The number of bytes that a complete body has put into the caller's memory, which is let go of.
    pub(crate) fn finish_into(&self, turn: &mut Turn<'_>) -> Result<usize, Error> {
        let length = turn.finish_into()?;
        self.let_go();
        Ok(length)
    }

    /// What has come so far.
    pub(crate) fn take_partial(&self, turn: &mut Turn<'_>) -> Result<core::Buffer, Error> {
        let partial = turn.take_partial()?;
        self.let_go();
        Ok(partial)
    }
}

/// The result as bytes; large copies let other threads run.
pub(crate) fn finish_bytes(py: Python<'_>, turn: &mut Turn<'_>) -> Result<Py<PyBytes>, Error> {
    let large = turn.info().length >= WORTH_DETACHING as u64;
    let exact = if large {
        py.detach(|| turn.finish_exact())
    } else {
        turn.finish_exact()
    }?;
    let (_, _, token) = exact.into_raw_parts();
    // SAFETY: exact results of this binding come from the bytes memory, are written, and the count is handed over.
    Ok(unsafe { memory::take(py, token) })
}

/// The result as a pooled buffer.
pub(crate) fn finish_pooled(py: Python<'_>, turn: &mut Turn<'_>) -> Result<Py<PooledBuffer>, Failure> {
    let buffer = turn.finish()?;
    Ok(Py::new(py, PooledBuffer::new(buffer))?)
}
