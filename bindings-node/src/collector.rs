//! Collectors: the steps of a loop that JavaScript turns.

use crate::buffer;
use crate::descriptor::File;
use crate::host::{Arguments, Host, Value, count, number};
use crate::info as told;
use crate::target::Target;
use brimful_core::{Answer, Cancel, Collector, End, Error, Flow, Options, Prefer, Progress, Then, Window};

/// Statuses that are no errors; `lib/body.js` knows the same ones.
pub(crate) const COMPLETE: f64 = 0.0;
pub(crate) const PENDING: f64 = 1.0;
/// A window is to be filled: scratch 0 to 3 have its block, where in the block, its room, and 1 for the side window.
/// Block 0 that is not the side window: it lies in the caller's own memory.
const WINDOW: f64 = 2.0;
/// More is wanted.
pub(crate) const OPEN: f64 = 3.0;

/// Bits of the flags of `collectorNew` and `collectorReset`.
const EXACT: i32 = 1;
const TRUNCATE: i32 = 2;
const EOF: i32 = 4;
/// Only of `collectorNew`: the body lies in the caller's own memory.
const INTO: i32 = 8;
/// The option at this place is beyond 2^53: its bits are an unsigned integer's and not a number's.
const WIDE: i32 = 256;

/// A collector, and what the loop around it has to know.
pub(crate) struct Body {
    pub(crate) collector: Collector,
    pub(crate) cancel: Cancel,
    /// The window that JavaScript or a thread of the pool has.
    pub(crate) window: Option<Window>,
    /// It was handed out by `begin`: until the answer everything but `info` is busy (E26).
    pub(crate) asked: bool,
    /// A thread of the pool has it, which nothing can stop.
    pub(crate) lent: bool,
    /// It was freed meanwhile, and goes when the thread is done.
    doomed: bool,
    /// The caller's own memory that the body lies in (E35).
    pub(crate) target: Option<Target>,
    /// That memory was taken away, so there is nowhere for another body to lie either.
    lost: bool,
    /// The file that it is read from.
    pub(crate) file: Option<File>,
}

impl Body {
    /// The collector, unless its callback is running.
    pub(crate) fn idle(&mut self) -> Result<&mut Collector, Error> {
        if self.asked {
            Err(Error::Busy)
        } else {
            Ok(&mut self.collector)
        }
    }

    /// Whether the caller's own memory is still there. Once it was taken away the body has failed, and its memory is
    /// never touched again.
    pub(crate) fn check_target(&mut self) -> Result<(), Error> {
        if self.target.as_ref().is_none_or(Target::is_there) {
            return Ok(());
        }
        self.collector.lose_memory();
        (self.target, self.window) = (None, None);
        self.lost = true;
        self.asked = self.lent;
        Err(Error::Contract)
    }
}

/// The option at this place of the scratch memory: a count, or -1 for none.
pub(crate) fn optional(host: &Host, index: usize) -> Option<u64> {
    count(host.told(index)).map(|count| count as u64)
}

/// (flags; scratch: length, size_hint, limit, max_prealloc, first_block, max_window, each -1 for none).
fn options(host: &Host, flags: i32, cancel: &Cancel) -> Result<Options, Error> {
    let option = |index: usize| match flags & (WIDE << index) {
        0 => optional(host, index),
        _ => Some(host.told(index).to_bits()),
    };
    let defaults = Options::default();
    Ok(Options {
        length: option(0),
        size_hint: option(1),
        limit: option(2),
        end: if flags & EOF == 0 { End::Length } else { End::Eof },
        truncate: flags & TRUNCATE != 0,
        prefer: if flags & EXACT == 0 {
            Prefer::Pooled
        } else {
            Prefer::Exact
        },
        max_prealloc: option(3).unwrap_or(defaults.max_prealloc),
        first_block: option(4).unwrap_or(defaults.first_block),
        max_window: option(5).unwrap_or(defaults.max_window),
        exact_memory: Some(host.exact_memory()?),
        cancel: Some(cancel.clone()),
        ..defaults
    })
}

/// (pool, flags, with INTO the target; scratch: the options) -> a handle, or a status.
pub(crate) fn new(host: &Host, arguments: &Arguments) -> Value {
    let flags = told::status(arguments, 1);
    let made = || {
        let cancel = Cancel::new().ok_or(Error::NoMemory)?;
        let options = options(host, flags, &cancel)?;
        let target = match flags & INTO {
            0 => None,
            _ => Some(Target::keep(arguments, 2).ok_or(Error::NoMemory)?),
        };
        let collector = host.pools.with(arguments.handle(0), |pool| {
            let made = match &target {
                None => Collector::new(pool, options),
                // SAFETY: the memory is looked at anew before each call that may touch it (`check_target`), no
                // JavaScript runs during one, and shared memory is never a target (lib/bytes.js).
                Some(target) => unsafe { Collector::new_into(pool, options, target.pointer, target.length) },
            };
            made.map_err(|invalid| host.refuse(invalid))
        })?;
        host.collectors.add(Body {
            collector,
            cancel,
            window: None,
            asked: false,
            lent: false,
            doomed: false,
            target,
            lost: false,
            file: None,
        })
    };
    made().into()
}

/// (pool, flags; scratch: the options) -> below how many bytes the engine has nothing to say, or a status.
pub(crate) fn quiet(host: &Host, arguments: &Arguments) -> Value {
    let asked = || {
        let cancel = Cancel::new().ok_or(Error::NoMemory)?;
        let options = options(host, told::status(arguments, 1), &cancel)?;
        host.pools
            .with(arguments.handle(0), |pool| Ok(number(options.quiet_on(pool))))
    };
    asked().into()
}

/// (collector, flags or -1 for the same options; scratch: the options) -> 0, or a status.
pub(crate) fn reset(host: &Host, arguments: &Arguments) -> Value {
    let flags = told::status(arguments, 1);
    with(host, arguments, |body| {
        // The engine's pointer still leads to the memory that was taken away, and a reset would begin there again.
        if body.lost {
            return Err(Error::Contract);
        }
        let cancel = Cancel::new().ok_or(Error::NoMemory)?;
        let collector = body.idle()?;
        // A cancel that was asked for is not the next body's, so that gets one of its own.
        let options = match flags {
            ..0 => Options {
                cancel: Some(cancel.clone()),
                ..collector.options().clone()
            },
            flags => options(host, flags, &cancel)?,
        };
        collector.reset(Some(options)).map_err(|invalid| host.refuse(invalid))?;
        (body.cancel, body.window) = (cancel, None);
        Ok(COMPLETE)
    })
}

fn with(host: &Host, arguments: &Arguments, f: impl FnOnce(&mut Body) -> Result<f64, Error>) -> Value {
    let checked = |body: &mut Body| {
        body.check_target()?;
        f(body)
    };
    host.collectors.with(arguments.handle(0), checked).into()
}

/// Likewise, for calls that touch no byte of the body.
fn look(host: &Host, arguments: &Arguments, f: impl FnOnce(&mut Body) -> Result<f64, Error>) -> Value {
    host.collectors.with(arguments.handle(0), f).into()
}

/// Tells JavaScript where the window is, and notes that it is shown.
fn hand_out(host: &Host, window: Window) -> f64 {
    let offset = match (window.side, window.token) {
        (true, _) => 0,
        (false, 0) => window.offset,
        (false, block) => host.blocks.show_window(block, window.offset),
    };
    let side = f64::from(u8::from(window.side));
    host.tell(&[
        number(window.token as u64),
        number(offset as u64),
        number(window.room as u64),
        side,
    ]);
    WINDOW
}

fn ask(host: &Host, body: &mut Body) -> Result<f64, Error> {
    // SAFETY: the window is a cleared one.
    match host.blocks.showing(|| unsafe { body.collector.begin(true) })? {
        None => Ok(COMPLETE),
        Some(window) => {
            (body.window, body.asked) = (Some(window), true);
            Ok(hand_out(host, window))
        }
    }
}

/// (collector) -> complete, a window, or a status.
pub(crate) fn begin(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        body.idle()?;
        ask(host, body)
    })
}

/// Copies what JavaScript put into its side window to the engine's: that one lies in no ArrayBuffer.
fn bring_aside(body: &Body, arguments: &Arguments, index: usize, filled: usize) {
    if let Some(window) = body.window.filter(|window| window.side) {
        let (from, length) = arguments.bytes(index);
        let length = length.min(filled).min(window.room);
        // SAFETY: the side window has room for that many; it is the engine's and overlaps no ArrayBuffer.
        unsafe { window.pointer.as_ptr().copy_from_nonoverlapping(from.as_ptr(), length) };
    }
}

/// (collector, bytes filled, what came with them, the source's error number, the side window if it was one) ->
/// complete, pending, the next window, or a status.
pub(crate) fn answer(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        if !body.asked || body.lent {
            return Err(Error::State);
        }
        let (filled, then) = match (arguments.count(1), arguments.number(2)) {
            (Some(filled), 0.0) => (filled, Then::Go),
            (Some(filled), 1.0) => (filled, Then::Pending),
            (Some(filled), 2.0) => (filled, Then::Retry),
            (Some(filled), 3.0) => (filled, Then::Failed(told::status(arguments, 3))),
            // No count, or no answer at all, is a breach of contract, which core judges (E23).
            _ => (0, Then::Unknown),
        };
        bring_aside(body, arguments, 4, filled);
        (body.window, body.asked) = (None, false);
        match body.collector.answer(Answer { filled, then })? {
            Flow::Stop(Progress::Complete) => Ok(COMPLETE),
            Flow::Stop(Progress::Pending | Progress::More) => Ok(PENDING),
            Flow::Again => ask(host, body),
        }
    })
}

/// (collector): its window is out in a call that nobody waits for any more, and whoever has it may write there for ever:
/// what has arrived moves to other memory, and that block is not used again -> pending, or a status.
pub(crate) fn abandon(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        if !body.asked || body.lent {
            return Err(Error::State);
        }
        (body.window, body.asked) = (None, false);
        let answered = body.collector.answer(Answer::PENDING);
        drop(body.collector.quarantine());
        answered.map(|_| PENDING)
    })
}

/// (collector) -> how many bytes its source may be asked for.
pub(crate) fn wanted(host: &Host, arguments: &Arguments) -> Value {
    look(host, arguments, |body| Ok(number(body.collector.wanted())))
}

fn wanting(collector: &Collector) -> Result<f64, Error> {
    collector
        .is_complete()
        .map(|complete| if complete { COMPLETE } else { OPEN })
}

/// The bytes of the chunk at `index`.
///
/// # Safety
/// No JavaScript of the user runs while they are used, and they lie in no block of ours.
unsafe fn chunk<'a>(arguments: &Arguments, index: usize) -> &'a [u8] {
    let (start, length) = arguments.bytes(index);
    // SAFETY: the view's memory is attached now and stays so until JavaScript runs; it is not written meanwhile, since
    // the engine writes into its own blocks only.
    unsafe { std::slice::from_raw_parts(start.as_ptr(), length) }
}

/// (collector, chunk) -> complete, open, or a status.
pub(crate) fn write(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        let collector = body.idle()?;
        // SAFETY: only hooks of the library run inside; lib/bytes.js copies chunks that lie in a block of ours.
        collector.write(unsafe { chunk(arguments, 1) })?;
        wanting(collector)
    })
}

/// (collector, how many bytes of a chunk that JavaScript keeps; scratch 0: how many of them are the body's) -> complete,
/// open, or a status.
pub(crate) fn count_kept(host: &Host, arguments: &Arguments) -> Value {
    host.tell(&[0.0]);
    with(host, arguments, |body| {
        let kept = body.idle()?.count(arguments.count(1).unwrap_or(0) as u64)?;
        host.tell(&[number(kept)]);
        wanting(&body.collector)
    })
}

/// (collector, chunk) -> bytes taken, or a status.
pub(crate) fn write_some(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        // SAFETY: as in `write`.
        body.idle()?
            .write_some(unsafe { chunk(arguments, 1) })
            .map(|taken| number(taken as u64))
    })
}

/// (collector, want) -> a window, or a status.
pub(crate) fn reserve(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        let want = arguments.count(1).unwrap_or(0);
        let collector = body.idle()?;
        let window = host.blocks.showing(|| collector.reserve(want, true))?;
        body.window = Some(window);
        Ok(hand_out(host, window))
    })
}

/// (collector, bytes filled, the side window if it was one) -> complete, open, or a status.
pub(crate) fn commit(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        body.idle()?;
        // What is no count is more than any room, which core refuses as a breach of contract.
        let filled = arguments.count(1).unwrap_or(usize::MAX);
        bring_aside(body, arguments, 2, filled);
        body.window = None;
        // SAFETY: windows are only reserved as cleared ones.
        unsafe { body.collector.commit(filled) }?;
        wanting(&body.collector)
    })
}

/// (collector) -> complete, or a status.
pub(crate) fn end(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| body.idle()?.end().map(|()| COMPLETE))
}

/// (collector) -> complete, open, or a status.
pub(crate) fn complete(host: &Host, arguments: &Arguments) -> Value {
    look(host, arguments, |body| wanting(&body.collector))
}

/// Before a result is taken: whoever kept a window, or a view of what had arrived, has length 0 from now on, so that
/// the result is nobody's to change. Only a piece that becomes a part of the result needs this; the others are revoked
/// when they go back to the pool.
fn revoke_views(host: &Host, collector: &Collector, exact: bool) -> Result<(), Error> {
    let revoked = collector.pieces().all(|(id, length, is_exact)| {
        // A piece that was detached is the engine's to find.
        id == 0 || (exact && !is_exact) || !host.blocks.has(id, length) || host.blocks.revoke(id)
    });
    if revoked { Ok(()) } else { Err(Error::NoMemory) }
}

/// A result, once the body has come so far that it can be taken.
fn take<R>(
    host: &Host,
    arguments: &Arguments,
    exact: bool,
    f: impl FnOnce(&mut Collector) -> Result<R, Error>,
) -> Result<R, Error> {
    host.collectors.with(arguments.handle(0), |body| {
        body.check_target()?;
        let collector = body.idle()?;
        revoke_views(host, collector, exact)?;
        f(collector)
    })
}

/// (collector; scratch: its statistics) -> a buffer's handle, or a status.
pub(crate) fn finish(host: &Host, arguments: &Arguments) -> Value {
    buffer::answer(host, take(host, arguments, false, Collector::finish))
}

/// (collector; scratch: its statistics) -> a buffer's handle, or a status.
pub(crate) fn take_partial(host: &Host, arguments: &Arguments) -> Value {
    buffer::answer(host, take(host, arguments, false, Collector::take_partial))
}

/// (collector; scratch: the statistics of the result) -> the ArrayBuffer of exactly the body, or a status.
pub(crate) fn finish_exact(host: &Host, arguments: &Arguments) -> Value {
    let exact = match take(host, arguments, true, Collector::finish_exact) {
        Ok(exact) => exact,
        Err(error) => return error.into(),
    };
    told::tell(host, &exact.info());
    let (_, _, id) = exact.into_raw_parts();
    Value::Js(host.blocks.give_away(id))
}

/// (collector): asks the body to stop, also from inside its callback -> 0, or a status.
pub(crate) fn cancel(host: &Host, arguments: &Arguments) -> Value {
    look(host, arguments, |body| {
        body.cancel.trigger();
        Ok(COMPLETE)
    })
}

/// (collector, offset, target) -> bytes copied, or a status.
pub(crate) fn copy(host: &Host, arguments: &Arguments) -> Value {
    with(host, arguments, |body| {
        if body.asked {
            return Ok(0.0);
        }
        if !attached(host, &body.collector) {
            return Err(Error::Contract);
        }
        let offset = arguments.count(1).map_or(u64::MAX, |offset| offset as u64);
        let (target, length) = arguments.bytes(2);
        // SAFETY: the memory of a view that is none of a block of ours (lib/bytes.js sees to that), and no JavaScript
        // runs before the copy is done.
        let target = unsafe { std::slice::from_raw_parts_mut(target.as_ptr(), length) };
        Ok(number(body.collector.copy(offset, target) as u64))
    })
}

/// Whether no block of the body was detached. Its bytes are not looked at.
fn attached(host: &Host, collector: &Collector) -> bool {
    collector
        .pieces()
        .all(|(id, length, _)| id == 0 || host.blocks.has(id, length))
}

/// (collector, index of a segment; scratch: as `buffer::show_piece` says) -> 1, 0 behind the last one, or a status.
pub(crate) fn segments(host: &Host, arguments: &Arguments) -> Value {
    let index = arguments.handle(1);
    with(host, arguments, |body| {
        if body.asked {
            return Ok(0.0);
        }
        buffer::show_piece(host, body.collector.pieces(), index, false)
    })
}

/// (collector; scratch: the statistics) -> 0, or a status. Works from inside a callback too.
pub(crate) fn info(host: &Host, arguments: &Arguments) -> Value {
    look(host, arguments, |body| {
        told::tell(host, &body.collector.info());
        Ok(0.0)
    })
}

/// (collector, status) -> the sentence that says what happened to this body.
pub(crate) fn message(host: &Host, arguments: &Arguments) -> Value {
    let Some(error) = Error::from_code(told::status(arguments, 1)) else {
        return Value::Text(String::new());
    };
    let text = host
        .collectors
        .with(arguments.handle(0), |body| Ok(body.collector.info().message(error)));
    Value::Text(text.unwrap_or_else(|_| format!("{}: {}", error.name(), error.text())))
}

/// (collector, abandoned: 1 when the garbage collector found it, so that views of it may be left) -> 0. A block whose
/// window is out is not used again.
pub(crate) fn free(host: &Host, arguments: &Arguments) -> Value {
    let lent = host.collectors.with(arguments.handle(0), |body| {
        body.doomed = true;
        Ok(body.lent)
    });
    if lent != Ok(true) {
        let body = host.collectors.take(arguments.handle(0));
        if arguments.number(1) == 1.0 {
            host.blocks.abandoning(|| drop(body));
        } else {
            drop(body);
        }
    }
    Value::Number(0.0)
}

/// Ends what `free` has put off.
pub(crate) fn free_if_doomed(host: &Host, handle: usize) {
    if host.collectors.with(handle, |body| Ok(body.doomed)) == Ok(true) {
        let body = host.collectors.take(handle);
        host.blocks.abandoning(|| drop(body));
    }
}
