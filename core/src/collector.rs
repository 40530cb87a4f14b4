//! The state machine that owns a body while it arrives. It can stop at any byte and go on later.
//!
//! ```text
//!                 ┌────────── begin / reserve ─────────┐
//!                 │                                    ▼
//!   new ──▶     open ◀──────── answer / commit ── window out
//!                 │                                    │
//!                 ├── length reached, end ──▶ complete ┤ finish, finish_exact
//!                 │                                    ▼
//!                 └── limit, short, long, … ─▶ failed ──▶ taken      (take_partial; reset leads back to open)
//! ```
//!
//! Order within one answer (E24): bytes; then complete, limit or long; then the source's own error or the end; then
//! cancelled; then pending.

use crate::body::Body;
use crate::buffer::copy_segments;
use crate::error::{Error, InvalidOption, Progress};
use crate::growth;
use crate::options::{ADDRESS_SPACE, End, Options, Prefer};
use crate::pool::Pool;
use crate::room::Bounds;
use crate::source::{Answer, Flow, Source, Then, Window};
use crate::stats::{Info, State};
use crate::supply::Supply;
use core::ptr::NonNull;

/// The most `retry` answers in a row without a byte (E21).
const MOST_RETRIES: u32 = 1000;

/// The most memory that a reset collector keeps for its next body (E40).
const KEPT_BY_RESET: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Open,
    /// `asked`: handed out by `begin` and waiting for `answer`; else by `reserve`, waiting for `commit`.
    WindowOut {
        asked: bool,
    },
    Complete,
    Failed(Error),
    /// With the error that had ended the body, if one did.
    Taken(Option<Error>),
}

impl Phase {
    /// The phase before the first byte.
    fn first(options: &Options, limit: u64) -> Phase {
        match options.length {
            // Refused before the source is asked once, and before truncation (E14).
            Some(length) if length > limit => Phase::Failed(Error::Limit),
            Some(0) if options.end == End::Length => Phase::Complete,
            _ => Phase::Open,
        }
    }
}

/// Collects one body. See the drawing at the top of the file, and the table of states in the design (E19 to E40).
///
/// Threads: one at a time; it may move between threads, suspended ones too.
#[derive(Debug)]
pub struct Collector {
    pub(crate) pool: Pool,
    pub(crate) options: Options,
    pub(crate) bounds: Bounds,
    pub(crate) phase: Phase,
    /// The last window that was handed out.
    pub(crate) window: Option<Window>,
    pub(crate) body: Body,
    pub(crate) received: u64,
    /// Bytes of the body that its caller keeps; see `count`.
    pub(crate) counted: u64,
    source_calls: u64,
    pendings: u64,
    retries: u32,
    source_error: i32,
    truncated: bool,
    /// Bytes that the result which was taken holds beyond its length (E51).
    pub(crate) waste: u64,
    /// Bytes received when the call that is running began; see `max_step` (E4).
    pub(crate) step_from: u64,
    /// Whether the size hint is the source's own and goes with the body; see `suggest`.
    pub(crate) suggested: bool,
    /// The caller's own memory that the body is to lie in (E35).
    pub(crate) target: Option<(NonNull<u8>, usize)>,
}

// SAFETY: the window is a position in the body's own memory, which moves with the collector.
unsafe impl Send for Collector {}

impl Collector {
    /// A collector for one body. Takes no memory.
    ///
    /// # Errors
    /// The option that is out of range (E5).
    #[inline(always)]
    pub fn new(pool: &Pool, options: Options) -> Result<Collector, InvalidOption> {
        options.check()?;
        let bounds = Bounds::new(pool, &options, u64::MAX);
        // Built in its place: it is large, and a small body costs little more than moving it would.
        Ok(Collector {
            phase: Phase::first(&options, bounds.limit),
            pool: pool.clone(),
            bounds,
            window: None,
            body: Body::default(),
            received: 0,
            counted: 0,
            source_calls: 0,
            pendings: 0,
            retries: 0,
            source_error: 0,
            truncated: false,
            waste: 0,
            step_from: 0,
            suggested: false,
            target: None,
            options,
        })
    }

    /// A collector for one body that is to lie in the caller's own memory (E35). More than fits is [`Error::Limit`]; the
    /// byte that shows it never goes there, and bytes beyond the body stay as they are. `finish` and `take_partial`
    /// give a pooled copy for those who want one; how many bytes landed is [`Info::length`], on every outcome.
    ///
    /// # Errors
    /// As [`Collector::new`].
    ///
    /// # Safety
    /// `target` is writable for `capacity` bytes, and nobody else reads or writes them, until the collector is dropped.
    pub unsafe fn new_into(
        pool: &Pool,
        options: Options,
        target: NonNull<u8>,
        capacity: usize,
    ) -> Result<Collector, InvalidOption> {
        let mut collector = Collector::new(pool, options)?;
        collector.target = Some((target, capacity));
        collector.start();
        Ok(collector)
    }

    /// What follows from the options before the first byte.
    fn start(&mut self) {
        let fits = self.target.map_or(u64::MAX, |(_, capacity)| capacity as u64);
        self.bounds = Bounds::new(&self.pool, &self.options, fits);
        if let Some((target, capacity)) = self.target {
            (self.options.prefer, self.options.padding) = (Prefer::Pooled, 0); // it has its place already
            // No further than the body may reach: the byte that shows that there is more goes aside (E35).
            let most = growth::size(self.bounds.most).min(capacity);
            // SAFETY: new_into's caller promises `capacity`.
            unsafe { self.body.lie_in(target, most) };
        }
        self.phase = Phase::first(&self.options, self.bounds.limit);
    }

    /// The options as they were given.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Reads from the source until the body is complete, the source has nothing now, or an error ends it.
    ///
    /// # Errors
    /// What ended the body; [`Error::NoMemory`] and [`Error::Budget`] change nothing, so the call may be made again.
    pub fn read<S: Source>(&mut self, source: &mut S) -> Result<Progress, Error> {
        self.start_call();
        loop {
            // SAFETY: a source promises to write what it claims, or wants cleared windows.
            let Some(window) = unsafe { self.begin(S::CLEARED) }? else {
                return Ok(Progress::Complete);
            };
            let answer = source.fill(window);
            let flow = self.answer(answer);
            source.after(self);
            if let Flow::Stop(progress) = flow? {
                return Ok(progress);
            }
        }
    }

    /// A call of read begins: the share of [`Options::max_step`] is whole again. For callers whose loop is not
    /// [`Collector::read`].
    pub fn start_call(&mut self) {
        self.step_from = self.received;
    }

    /// The next window to have filled by the source, for callers whose loop is not [`Collector::read`]; `None` when
    /// the body is complete (E25). It is answered by [`Collector::answer`]. `cleared`: the window shows only zeros.
    ///
    /// # Safety
    /// Before [`Collector::answer`] claims bytes of an uncleared window, they were written; a cleared one may be claimed
    /// as it is.
    ///
    /// # Errors
    /// The body's own error, [`Error::Cancelled`], [`Error::State`] while a window is out or after the result was
    /// taken; [`Error::NoMemory`] and [`Error::Budget`] change nothing.
    pub unsafe fn begin(&mut self, cleared: bool) -> Result<Option<Window>, Error> {
        match self.phase {
            Phase::Open => {}
            Phase::Complete => return Ok(None),
            Phase::Failed(error) => return Err(error),
            Phase::WindowOut { .. } | Phase::Taken(_) => return Err(Error::State),
        }
        if self.is_cancelled() {
            return Err(self.fail(Error::Cancelled));
        }
        let window = self.next_window(0, cleared, self.options.max_step)?;
        self.phase = Phase::WindowOut { asked: true };
        self.source_calls += 1;
        Ok(Some(window))
    }

    /// Takes the source's answer to the window of [`Collector::begin`] (E19 to E24).
    ///
    /// # Errors
    /// What this answer ended the body with; [`Error::State`] when no such window is out.
    #[inline]
    pub fn answer(&mut self, answer: Answer) -> Result<Flow, Error> {
        let (Phase::WindowOut { asked: true }, Some(window)) = (self.phase, &self.window) else {
            return Err(Error::State);
        };
        let (room, aside) = (window.room, window.side);
        self.phase = Phase::Open;
        if answer.filled > room || answer.then == Then::Unknown || !self.is_attached() {
            return Err(self.breach());
        }
        self.land(aside, answer.filled);
        match self.phase {
            Phase::Open => {}
            Phase::Failed(error) => return Err(error),
            _ => return Ok(Flow::Stop(Progress::Complete)),
        }
        match answer.then {
            Then::Failed(number) => {
                self.source_error = number;
                return Err(self.fail(Error::Source));
            }
            Then::Go if answer.filled == 0 => {
                self.close()?;
                return Ok(Flow::Stop(Progress::Complete));
            }
            _ => {}
        }
        if self.is_cancelled() {
            return Err(self.fail(Error::Cancelled));
        }
        if answer.then == Then::Pending {
            self.pendings += 1;
            self.retries = 0;
            return Ok(Flow::Stop(Progress::Pending));
        }
        if self.received - self.step_from >= self.options.max_step.unwrap_or(u64::MAX) {
            self.retries = 0;
            return Ok(Flow::Stop(Progress::More));
        }
        if answer.then == Then::Interrupted {
            return Ok(Flow::Again); // by a signal, which says nothing of the source (E24)
        }
        if answer.then == Then::Retry && answer.filled == 0 {
            self.retries += 1;
            if self.retries > MOST_RETRIES {
                return Err(self.fail(Error::NoProgress));
            }
        } else {
            self.retries = 0;
        }
        Ok(Flow::Again)
    }

    /// Takes a whole chunk (push). All of it counts: what lies beyond the length is [`Error::Long`], beyond the limit
    /// [`Error::Limit`] (or is dropped, where truncation is asked for).
    ///
    /// # Errors
    /// As said; [`Error::State`] where the table of states says so; [`Error::NoMemory`] and [`Error::Budget`] with
    /// nothing taken.
    #[inline]
    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        // Most pushes find room behind an open body whose end they do not reach: a copy and three sums (16 ns a byte
        // without this, 2026-11).
        let ahead = self.bounds.most.saturating_sub(self.received);
        if self.phase == Phase::Open
            && self.bounds.is_plain
            && (data.len() as u64) < ahead
            && self.body.land_behind(&self.pool, data)
        {
            self.received += data.len() as u64;
            return Ok(());
        }
        self.write_with_care(data)
    }

    /// [`Collector::write`] where the body may end, grow or move.
    #[inline(never)]
    fn write_with_care(&mut self, data: &[u8]) -> Result<(), Error> {
        if !self.takes(data.len() as u64)? {
            return Ok(());
        }
        self.check_attached()?;
        let kept = growth::size(self.bounds.most.saturating_sub(self.received)).min(data.len());
        if kept > 0 {
            self.make_room(kept)?;
            self.body.land_copy(&self.pool, &data[..kept]);
        }
        self.arrived(data.len() as u64);
        match self.phase {
            Phase::Failed(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether pushed bytes are to be looked at at all.
    pub(crate) fn takes(&mut self, bytes: u64) -> Result<bool, Error> {
        match self.phase {
            Phase::Open => Ok(bytes > 0),
            Phase::Complete if bytes == 0 || self.truncated => Ok(false),
            Phase::Complete if self.options.length.is_some() => {
                self.received = self.received.saturating_add(bytes);
                Err(self.fail(Error::Long))
            }
            Phase::Failed(error) => Err(error),
            _ => Err(Error::State),
        }
    }

    /// Takes what the body lacks of a chunk and leaves the rest to the caller: with a length, the next body's head may
    /// follow in the same chunk. Says how many bytes were taken.
    ///
    /// # Errors
    /// As [`Collector::write`], but never [`Error::Long`].
    pub fn write_some(&mut self, data: &[u8]) -> Result<usize, Error> {
        let Some(length) = self.options.length else {
            return self.write(data).map(|()| data.len());
        };
        if self.phase == Phase::Complete {
            return Ok(0);
        }
        let taken = growth::size(length.saturating_sub(self.received)).min(data.len());
        self.write(&data[..taken]).map(|()| taken)
    }

    /// A window to be filled and committed. `want` is a wish (0: none) that never fails by itself; while a window is
    /// out the same one is given again.
    ///
    /// # Errors
    /// As [`Collector::begin`], but for cancelling; [`Error::State`] when the body is complete.
    pub fn reserve(&mut self, want: usize, cleared: bool) -> Result<Window, Error> {
        match (self.phase, self.window) {
            (Phase::Open, _) => {}
            (Phase::WindowOut { asked: false }, Some(window)) => return Ok(window),
            (Phase::Failed(error), _) => return Err(error),
            _ => return Err(Error::State),
        }
        let window = self.next_window(want, cleared, None)?;
        self.phase = Phase::WindowOut { asked: false };
        Ok(window)
    }

    /// Takes the window of [`Collector::reserve`] back with `filled` bytes at its start; 0 is nothing, and not the end.
    ///
    /// # Safety
    /// The first `filled` bytes of the window were written, or the window was a cleared one.
    ///
    /// # Errors
    /// [`Error::State`] when no such window is out; [`Error::Contract`] when `filled` is more than its room; what
    /// these bytes ended the body with.
    pub unsafe fn commit(&mut self, filled: usize) -> Result<(), Error> {
        let window = match (self.phase, self.window) {
            (Phase::WindowOut { asked: false }, Some(window)) => window,
            (Phase::Failed(error), _) => return Err(error),
            _ => return Err(Error::State),
        };
        self.phase = Phase::Open;
        if filled > window.room || !self.is_attached() {
            return Err(self.breach());
        }
        self.land(window.side, filled);
        match self.phase {
            Phase::Failed(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Says that the source has ended.
    ///
    /// # Errors
    /// [`Error::Short`] where a length was announced and not reached; the body's own error; [`Error::State`] while a
    /// window is out or after the result was taken.
    pub fn end(&mut self) -> Result<(), Error> {
        match self.phase {
            Phase::Open => self.close(),
            Phase::Complete => Ok(()),
            Phase::Failed(error) => Err(error),
            Phase::WindowOut { .. } | Phase::Taken(_) => Err(Error::State),
        }
    }

    /// Whether no more is wanted: the body is complete or taken.
    ///
    /// # Errors
    /// What ended the body.
    pub fn is_complete(&self) -> Result<bool, Error> {
        match self.phase {
            Phase::Open | Phase::WindowOut { .. } => Ok(false),
            Phase::Complete | Phase::Taken(_) => Ok(true),
            Phase::Failed(error) => Err(error),
        }
    }

    /// Begins again for another body, with these options or the same ones, keeping up to 1 MiB of memory (E40).
    ///
    /// # Errors
    /// The option that is out of range; nothing changed then.
    pub fn reset(&mut self, options: Option<Options>) -> Result<(), InvalidOption> {
        if let Some(options) = &options {
            options.check()?;
        }
        self.discard_window();
        let next = options.as_ref().unwrap_or(&self.options);
        let next = Supply::new(&self.pool, next);
        let keep = if self.body.is_exact() || next.first_is_exact() {
            0
        } else {
            KEPT_BY_RESET
        };
        let need = if next.is_announced() { next.first() } else { 0 };
        self.body.restart(Supply::new(&self.pool, &self.options), keep, need);
        match options {
            Some(options) => self.options = options,
            None if self.suggested => self.options.size_hint = None,
            None => {}
        }
        self.suggested = false;
        (self.received, self.source_calls, self.pendings, self.retries) = (0, 0, 0, 0);
        self.counted = 0;
        self.step_from = 0;
        (self.source_error, self.truncated, self.window, self.waste) = (0, false, None, 0);
        self.start();
        Ok(())
    }

    /// Statistics, state and error; once the result was taken, those of the result (E51).
    #[must_use]
    pub fn info(&self) -> Info {
        let tally = self.body.tally;
        Info {
            error: match self.phase {
                Phase::Failed(error) => Some(error),
                Phase::Taken(error) => error,
                _ => None,
            },
            source_error: self.source_error,
            truncated: self.truncated,
            state: match self.phase {
                Phase::Open => State::Open,
                Phase::WindowOut { .. } => State::WindowOut,
                Phase::Complete => State::Complete,
                Phase::Failed(_) => State::Failed,
                Phase::Taken(_) => State::Taken,
            },
            received: self.received,
            expected: self.options.length,
            limit: (self.bounds.limit < ADDRESS_SPACE).then_some(self.bounds.limit),
            length: self.body.length as u64 + self.counted,
            source_calls: self.source_calls,
            pendings: self.pendings,
            copied: tally.copied,
            rents: tally.rents,
            allocations: tally.allocations,
            allocated_bytes: tally.allocated_bytes,
            peak_held: tally.peak_held,
            waste: self.waste,
        }
    }

    /// What has arrived so far, piece by piece, before the end too (E29).
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.body.segments()
    }

    /// Copies from `offset` of what has arrived so far; says how many bytes.
    pub fn copy(&self, offset: u64, target: &mut [u8]) -> usize {
        // SAFETY: initialised bytes may be written as possibly uninitialised ones.
        let target = unsafe { &mut *(core::ptr::from_mut(target) as *mut [core::mem::MaybeUninit<u8>]) };
        copy_segments(self.segments(), growth::size(offset), target)
    }

    // ---- what the calls above have in common

    fn is_cancelled(&self) -> bool {
        self.options.cancel.as_ref().is_some_and(crate::Cancel::is_triggered)
    }

    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.phase = Phase::Failed(error);
        error
    }

    /// The source broke its contract (E23): nothing of the call counts, the block is not used for another body.
    fn breach(&mut self) -> Error {
        if let Some(window) = &self.window {
            self.body.spoil(window);
        }
        if !self.is_attached() {
            self.lose();
        }
        self.fail(Error::Contract)
    }

    #[inline]
    fn is_attached(&self) -> bool {
        !self.bounds.detachable || self.body.is_attached(Supply::new(&self.pool, &self.options))
    }

    /// A host's memory that was taken away behind the engine's back is lost with the bytes in it.
    #[inline]
    pub(crate) fn check_attached(&mut self) -> Result<(), Error> {
        if self.is_attached() {
            return Ok(());
        }
        self.lose();
        Err(self.fail(Error::Contract))
    }

    pub(crate) fn lose(&mut self) {
        self.body.spoil_all();
        self.body.give_back(Supply::new(&self.pool, &self.options));
        self.body.length = 0;
    }

    /// Counts bytes that landed in the window.
    #[inline]
    fn land(&mut self, aside: bool, filled: usize) {
        let kept = growth::size(self.bounds.most - self.received).min(filled);
        self.body.land(&self.pool, aside, kept);
        self.arrived(filled as u64);
    }

    /// Counts bytes that the source delivered, and sees what they lead to.
    #[inline]
    pub(crate) fn arrived(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
        match self.options.length {
            Some(length) if self.received > length => {
                self.fail(Error::Long);
            }
            Some(length) if self.received == length && self.options.end == End::Length => self.phase = Phase::Complete,
            None if self.received > self.bounds.limit && self.options.truncate => {
                self.truncated = true;
                self.phase = Phase::Complete;
            }
            None if self.received > self.bounds.limit => {
                self.fail(Error::Limit);
            }
            _ => {}
        }
    }

    /// The source has ended.
    fn close(&mut self) -> Result<(), Error> {
        match self.options.length {
            Some(length) if self.received < length => Err(self.fail(Error::Short)),
            _ => {
                self.phase = Phase::Complete;
                Ok(())
            }
        }
    }

    /// Whoever has the window may still write into it, so its block is not used again.
    fn discard_window(&mut self) {
        if let (Phase::WindowOut { .. }, Some(window)) = (self.phase, self.window) {
            self.body.spoil(&window);
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.discard_window();
        self.body.give_back(Supply::new(&self.pool, &self.options));
    }
}
