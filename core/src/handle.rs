//! A collector behind a handle that callers in other languages hold: one turn at a time, `busy` to everybody else
//! (E26), and freeing from inside a callback deferred to the end of the call.
//!
//! While a source's callback runs nobody borrows the collector: the loop in [`Handle::read`] gives the borrow up
//! before each call and takes it again after. So `info` works from inside, and everything else can be refused.

use crate::collector::Collector;
use crate::error::{Error, Progress};
use crate::source::{Flow, Source};
use core::cell::UnsafeCell;
use core::hint;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

const IDLE: u8 = 0;
const ENTERED: u8 = 1;
const IN_CALLBACK: u8 = 2;

/// A collector that any code may call at any time; what does not fit is `busy`, never undefined.
///
/// Threads: any may call; while one is inside, the others get [`Error::Busy`].
#[derive(Debug)]
pub struct Handle {
    turn: AtomicU8,
    doomed: AtomicBool,
    collector: UnsafeCell<Collector>,
}

// SAFETY: the collector is only reached by whoever moved `turn` to ENTERED, so by one thread at a time.
unsafe impl Sync for Handle where Collector: Send {}

/// A turn with the collector: nobody else is inside until it is dropped, also when the code inside panics. For callers
/// whose own loop has to do something between a source's answer and the next window.
#[derive(Debug)]
pub struct Turn<'a> {
    handle: &'a Handle,
    back_to: u8,
}

impl Turn<'_> {
    /// Runs a callback with the collector left alone: calls on it from inside are `busy`, `info` aside (E26).
    pub fn outside<R>(&mut self, callback: impl FnOnce() -> R) -> R {
        let call = Callback::start(self.handle);
        let answer = callback();
        call.end();
        answer
    }
}

impl Deref for Turn<'_> {
    type Target = Collector;

    fn deref(&self) -> &Collector {
        // SAFETY: this turn is the only way to the collector: `enter` and `look` took it, and `outside`, which gives
        // it up for a while, borrows the turn mutably, so that no reference from here lives during it.
        unsafe { &*self.handle.collector.get() }
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Collector {
        // SAFETY: as in deref; the turn is borrowed mutably for as long as the reference lives.
        unsafe { &mut *self.handle.collector.get() }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.handle.turn.store(self.back_to, Ordering::Release);
    }
}

impl Handle {
    /// A handle over this collector.
    #[must_use]
    pub const fn new(collector: Collector) -> Handle {
        Handle {
            turn: AtomicU8::new(IDLE),
            doomed: AtomicBool::new(false),
            collector: UnsafeCell::new(collector),
        }
    }

    fn take_turn(&self, from: u8) -> Option<Turn<'_>> {
        let taken = self
            .turn
            .compare_exchange(from, ENTERED, Ordering::Acquire, Ordering::Relaxed);
        // Not `then_some`: a turn that was not taken must not be made, since dropping it gives the turn back.
        taken.is_ok().then(|| Turn {
            handle: self,
            back_to: from,
        })
    }

    /// Takes the turn.
    ///
    /// # Errors
    /// [`Error::Busy`] from inside the collector's own callback and while another thread is inside.
    pub fn enter(&self) -> Result<Turn<'_>, Error> {
        self.take_turn(IDLE).ok_or(Error::Busy)
    }

    /// Calls `f` with the collector.
    ///
    /// # Errors
    /// As [`Handle::enter`].
    pub fn with<R>(&self, f: impl FnOnce(&mut Collector) -> R) -> Result<R, Error> {
        self.enter().map(|mut turn| f(&mut turn))
    }

    /// Like [`Handle::with`], but works from inside the collector's own callback too: for `info` (E26).
    ///
    /// # Errors
    /// [`Error::Busy`] while another thread is inside.
    pub fn look<R>(&self, f: impl FnOnce(&Collector) -> R) -> Result<R, Error> {
        let turn = self
            .take_turn(IDLE)
            .or_else(|| self.take_turn(IN_CALLBACK))
            .ok_or(Error::Busy)?;
        Ok(f(&turn))
    }

    /// Reads from the source until the body is complete, the source has nothing now, or an error ends it. The
    /// callback may call anything; calls on this collector are `busy`, `info` aside.
    ///
    /// # Errors
    /// [`Error::Busy`], or what ended the body; see [`Collector::begin`] and [`Collector::answer`].
    pub fn read<S: Source>(&self, source: &mut S) -> Result<Progress, Error> {
        let mut turn = self.enter()?;
        turn.start_call();
        loop {
            // SAFETY: a source promises to write what it claims, or wants cleared windows.
            let Some(window) = unsafe { turn.begin(S::CLEARED) }? else {
                return Ok(Progress::Complete);
            };
            let answer = turn.outside(|| source.fill(window));
            let flow = turn.answer(answer);
            source.after(&mut turn);
            if let Flow::Stop(progress) = flow? {
                return Ok(progress);
            }
        }
    }

    /// Says that the handle is not wanted any more. True: nobody is inside, and the caller may drop it now. False:
    /// a callback is running, and the call around it finds [`Handle::is_doomed`] afterwards and drops it then.
    #[must_use]
    pub fn doom(&self) -> bool {
        self.doomed.store(true, Ordering::Release);
        self.turn.load(Ordering::Acquire) == IDLE
    }

    /// Whether [`Handle::doom`] was called.
    #[must_use]
    pub fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// The collector itself, when the handle is not needed any more.
    #[must_use]
    pub fn into_inner(self) -> Collector {
        self.collector.into_inner()
    }
}

/// The time in which a callback runs and the read loop has no borrow of the collector.
struct Callback<'a>(&'a Handle);

impl<'a> Callback<'a> {
    fn start(handle: &'a Handle) -> Callback<'a> {
        handle.turn.store(IN_CALLBACK, Ordering::Release);
        Callback(handle)
    }

    fn end(self) {
        self.take_back();
        core::mem::forget(self);
    }

    /// Somebody may be in the middle of `look` on another thread; that takes a few instructions, so it is waited for.
    fn take_back(&self) {
        while self
            .0
            .turn
            .compare_exchange(IN_CALLBACK, ENTERED, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            hint::spin_loop();
        }
    }
}

impl Drop for Callback<'_> {
    /// Only reached when the source panicked.
    fn drop(&mut self) {
        self.take_back();
        // SAFETY: the turn was just taken back.
        unsafe { &mut *self.0.collector.get() }.source_panicked();
    }
}
