//! Node's memory: ArrayBuffers that V8 itself allocated, each known to both halves by a small integer.
//!
//! The objects lie in a JavaScript array at their integer, so the garbage collector keeps them; here lies what the
//! engine has to know of each. External ArrayBuffers and napi_create_arraybuffer are not used: the first are refused by
//! some hosts, the second aborts the process when memory is short, where the constructor throws a RangeError.
//!
//! ```text
//! fixed      |..shift..|■■■■■■■■■■■■■■░░░░░|            up to 64 KiB, and all blocks of a pool with memory: 'list'
//! resizable  |■■■■■■■■■■■■■■■■■■■░░░░|...............|   grows in place, up to 1 GiB
//!             pointer                 capacity        reserve
//! ```
//!
//! *Shown*: JavaScript outside of the library holds, or held, a view. A shown block may be detached behind the
//! engine's back, so it is looked at anew before each use; and it is revoked (moved to a new ArrayBuffer object, which
//! leaves old views with length 0) before anybody else may have it. A block that was never shown needs neither.

use crate::host::{Arguments, count, number};
use brimful_core::memory::Raw;
use napi::sys;
use std::cell::{Cell, OnceCell, RefCell};
use std::ptr::{self, NonNull};

/// The largest fixed block of a pool whose large blocks grow (node.md).
pub(crate) const FIXED_UP_TO: usize = 64 << 10;

/// From here on exact results are advised to huge pages: the allocator of Node surely maps them by themselves, at
/// glibc's largest threshold.
const HUGE_FROM: usize = 32 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// What kind of ArrayBuffer the JavaScript half is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Of a pool; never more than was asked for at first.
    Fixed = 0,
    /// Of a pool; grows in place.
    Resizable = 1,
    /// Of an exact result, holding whatever was there: for bytes that are pushed.
    Exact = 2,
    /// Of an exact result, zeroed: for windows that are shown. Large ones are zero pages of the system.
    ExactZeroed = 3,
}

/// The JavaScript half's functions.
struct Hooks {
    allocate: sys::napi_ref,
    grow: sys::napi_ref,
    revoke: sys::napi_ref,
    objects: sys::napi_ref,
    /// Only kept alive: the memory of the numbers that both halves see.
    _scratch: sys::napi_ref,
}

/// What is known of one ArrayBuffer.
#[derive(Clone, Copy)]
struct Entry {
    pointer: *mut u8,
    /// Bytes before the aligned start.
    shift: usize,
    /// Bytes behind the aligned start that may be read and written.
    capacity: usize,
    shown: bool,
    /// The garbage collector found a buffer of it that nobody released, so that views of it may live on.
    abandoned: bool,
    /// Up to here the block may hold bytes of earlier bodies, or of the heap.
    stale: usize,
    /// From here on it was cleared when a finished buffer was shown.
    cleared_from: Option<usize>,
    /// Bytes it has grown by since its object was made, which V8 learns by us: it counts what an object has at first,
    /// and what nobody counts makes no garbage collection.
    grown: usize,
}

const NOTHING: Entry = Entry {
    pointer: ptr::null_mut(),
    shift: 0,
    capacity: 0,
    shown: false,
    abandoned: false,
    stale: 0,
    cleared_from: None,
    grown: 0,
};

/// The blocks of one environment.
pub(crate) struct Blocks {
    env: sys::napi_env,
    hooks: OnceCell<Hooks>,
    entries: RefCell<Vec<Entry>>,
    free: RefCell<Vec<usize>>,
    /// The environment goes: no JavaScript, and V8 frees the memory.
    closed: Cell<bool>,
    /// Whether the running call hands out windows.
    showing: Cell<bool>,
    /// Whether the running call drops what the garbage collector found: views of it may live on.
    abandoning: Cell<bool>,
}

impl Blocks {
    pub(crate) fn new(env: sys::napi_env) -> Blocks {
        Blocks {
            env,
            hooks: OnceCell::new(),
            entries: RefCell::new(Vec::new()),
            free: RefCell::new(Vec::new()),
            closed: Cell::new(false),
            showing: Cell::new(false),
            abandoning: Cell::new(false),
        }
    }

    /// Learns the hooks: scratch, objects, allocate, grow, revoke.
    pub(crate) fn set_up(&self, arguments: &Arguments) -> bool {
        let keep = |index| {
            let mut reference = ptr::null_mut();
            // SAFETY: the value was given to this very call.
            let status = unsafe { sys::napi_create_reference(self.env, arguments.value(index), 1, &raw mut reference) };
            (status == sys::Status::napi_ok).then_some(reference)
        };
        let hooks = || {
            Some(Hooks {
                _scratch: keep(0)?,
                objects: keep(1)?,
                allocate: keep(2)?,
                grow: keep(3)?,
                revoke: keep(4)?,
            })
        };
        hooks().is_some_and(|hooks| self.hooks.set(hooks).is_ok())
    }

    pub(crate) fn close(&self) {
        self.closed.set(true);
    }

    /// Calls `f` as one that hands out windows.
    pub(crate) fn showing<R>(&self, f: impl FnOnce() -> R) -> R {
        let _flag = Flag::set(&self.showing);
        f()
    }

    /// Calls `f` as one that drops what the garbage collector found.
    pub(crate) fn abandoning<R>(&self, f: impl FnOnce() -> R) -> R {
        let _flag = Flag::set(&self.abandoning);
        f()
    }

    /// A piece of an exact result: an ArrayBuffer of its own. Large ones are filled in huge pages, which takes a fraction
    /// of the time (performance.md); they are mappings of their own, so the advice goes with them.
    pub(crate) fn allocate_exact(&self, size: usize, align: usize) -> Option<Raw> {
        let kind = if self.showing.get() {
            Kind::ExactZeroed
        } else {
            Kind::Exact
        };
        let raw = self.allocate(kind, size, align)?;
        if size >= HUGE_FROM {
            let from = raw.pointer.addr().get().next_multiple_of(HUGE_PAGE);
            let to = (raw.pointer.addr().get() + size) / HUGE_PAGE * HUGE_PAGE;
            let start = raw.pointer.as_ptr().wrapping_add(from - raw.pointer.addr().get());
            // SAFETY: advice on whole pages that lie in the piece, which changes no byte; that it fails is no matter.
            unsafe { libc::madvise(start.cast(), to - from, libc::MADV_HUGEPAGE) };
        }
        Some(raw)
    }

    fn hooks(&self) -> Option<&Hooks> {
        self.hooks.get().filter(|_| !self.closed.get())
    }

    fn referred(&self, reference: sys::napi_ref) -> sys::napi_value {
        let mut value = ptr::null_mut();
        // SAFETY: the reference is strong and lives as long as the environment.
        unsafe { sys::napi_get_reference_value(self.env, reference, &raw mut value) };
        value
    }

    /// Calls a hook with numbers; `None` when it cannot be called or answers no number. Hooks catch what they throw;
    /// an exception that is left (no stack for the call) is taken away, since the status says it all.
    fn call(&self, hook: sys::napi_ref, numbers: &[f64]) -> Option<f64> {
        let mut arguments = [ptr::null_mut(); 3];
        let (mut receiver, mut result) = (ptr::null_mut(), ptr::null_mut());
        let mut answer = f64::NAN;
        // SAFETY: the values are made here, in the scope of the native call around; out-parameters are local.
        unsafe {
            for (argument, number) in arguments.iter_mut().zip(numbers) {
                sys::napi_create_double(self.env, *number, argument);
            }
            sys::napi_get_undefined(self.env, &raw mut receiver);
            let hook = self.referred(hook);
            let called = numbers.len().min(arguments.len());
            let status = sys::napi_call_function(self.env, receiver, hook, called, arguments.as_ptr(), &raw mut result);
            if status != sys::Status::napi_ok {
                let mut pending = ptr::null_mut();
                sys::napi_get_and_clear_last_exception(self.env, &raw mut pending);
                return None;
            }
            sys::napi_get_value_double(self.env, result, &raw mut answer);
        }
        (!answer.is_nan()).then_some(answer)
    }

    /// The object and where its memory is now; NULL and 0 where there is none or it was detached.
    fn look(&self, id: usize) -> (sys::napi_value, *mut u8, usize) {
        let (mut value, mut data, mut length) = (ptr::null_mut(), ptr::null_mut(), 0);
        let Some(hooks) = self.hooks() else {
            return (value, ptr::null_mut(), 0);
        };
        // SAFETY: the array is kept by a reference; a place without an ArrayBuffer is an error status and leaves the
        // out-parameters alone.
        unsafe {
            sys::napi_get_element(self.env, self.referred(hooks.objects), index(id), &raw mut value);
            sys::napi_get_arraybuffer_info(self.env, value, &raw mut data, &raw mut length);
        }
        (value, data.cast(), length)
    }

    fn entry(&self, id: usize) -> Entry {
        self.entries.borrow().get(id).copied().unwrap_or(NOTHING)
    }

    fn change(&self, id: usize, f: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(id) {
            f(entry);
        }
    }

    /// A place in the table, from 1: token 0 is the engine's side window.
    fn place(&self) -> Option<usize> {
        if let Some(id) = self.free.borrow_mut().pop() {
            return Some(id);
        }
        let mut entries = self.entries.borrow_mut();
        let mut free = self.free.borrow_mut();
        let missing = (entries.len() + 2).saturating_sub(free.len());
        if entries.try_reserve(2).is_err() || free.try_reserve(missing).is_err() {
            return None;
        }
        if entries.is_empty() {
            entries.push(NOTHING);
        }
        entries.push(NOTHING);
        Some(entries.len() - 1)
    }

    pub(crate) fn allocate(&self, kind: Kind, size: usize, align: usize) -> Option<Raw> {
        let hooks = self.hooks()?;
        let id = self.place()?;
        let allocated = self.allocate_at(hooks, id, kind, size, align);
        if allocated.is_none() {
            self.forget(id);
        }
        allocated
    }

    fn allocate_at(&self, hooks: &Hooks, id: usize, kind: Kind, size: usize, align: usize) -> Option<Raw> {
        // V8 aligns to 16. What the engine wants aligned to a cache line is so by beginning a little later.
        let slack = if matches!(kind, Kind::Fixed) { align } else { 0 };
        let asked = size.checked_add(slack)?;
        let most = count(self.call(
            hooks.allocate,
            &[number(id as u64), number(asked as u64), f64::from(kind as u8)],
        )?)?;
        let (_, pointer, length) = self.look(id);
        if size == 0 {
            // An empty ArrayBuffer has no memory, and nothing is ever read or written there.
            let pointer = NonNull::dangling();
            return Some(Raw {
                pointer,
                capacity: 0,
                reserve: 0,
                token: id,
                lazy: false,
                huge: false,
                dirty: 0,
            });
        }
        let start = NonNull::new(pointer)?;
        let shift = start.addr().get().wrapping_neg() % align;
        if length < asked || shift > slack {
            return None;
        }
        let capacity = if slack > 0 { size } else { length };
        let grows = most > length;
        let dirty = if matches!(kind, Kind::Exact) { size } else { 0 };
        self.change(id, |entry| {
            *entry = Entry {
                pointer,
                shift,
                capacity,
                stale: dirty,
                ..NOTHING
            };
        });
        // SAFETY: shift <= slack, and the piece is `size + slack` long.
        let pointer = unsafe { start.add(shift) };
        let reserve = if grows { most } else { capacity };
        Some(Raw {
            pointer,
            capacity,
            reserve,
            token: id,
            lazy: grows,
            huge: false,
            dirty,
        })
    }

    pub(crate) fn grow(&self, raw: &mut Raw, capacity: usize) -> bool {
        let Some(hooks) = self.hooks() else { return false };
        let (id, known) = (raw.token, self.entry(raw.token));
        if self.call(hooks.grow, &[number(id as u64), number(capacity as u64)]) != Some(1.0) {
            return false;
        }
        let (_, pointer, length) = self.look(id);
        if pointer != known.pointer || length < capacity {
            return false;
        }
        let more = length - known.capacity.min(length);
        self.report(more.cast_signed());
        self.change(id, |entry| (entry.capacity, entry.grown) = (length, known.grown + more));
        raw.capacity = length;
        true
    }

    /// Gives the pages behind the first `keep` bytes back to the system, and leaves the object as large as it is:
    /// shrinking it by its own method takes 10 to 46 ms per 100 MB (node.md), this a tenth of it.
    pub(crate) fn cut(&self, raw: &mut Raw, keep: usize) -> bool {
        const PAGE: usize = 4096;
        let keep = keep.next_multiple_of(PAGE);
        let (_, pointer, length) = self.look(raw.token);
        let ours = pointer == raw.pointer.as_ptr() && length >= raw.capacity && pointer.addr() % PAGE == 0;
        if !raw.lazy || !ours || keep >= raw.capacity {
            return false;
        }
        // SAFETY: keep..capacity lies in the block, whose memory V8 has mapped for it alone, by whole pages and without
        // a file; the pool owns the block, so nobody looks at those bytes. They read as zero afterwards.
        let done = unsafe { libc::madvise(pointer.add(keep).cast(), raw.capacity - keep, libc::MADV_DONTNEED) };
        if done == 0 {
            raw.dirty = raw.dirty.min(keep);
            self.change(raw.token, |entry| entry.stale = entry.stale.min(keep));
        }
        done == 0
    }

    /// Tells V8 of memory that its objects hold and that it has not counted.
    fn report(&self, bytes: isize) {
        if bytes != 0 && !self.closed.get() {
            let mut sum = 0;
            // SAFETY: only counts.
            unsafe { sys::napi_adjust_external_memory(self.env, bytes as i64, &raw mut sum) };
        }
    }

    pub(crate) fn is_attached(&self, raw: &Raw) -> bool {
        let known = self.entry(raw.token);
        if !known.shown || raw.capacity == 0 {
            return true;
        }
        let (_, pointer, length) = self.look(raw.token);
        pointer == known.pointer && length >= known.shift + raw.capacity
    }

    /// Revokes what was shown, so that the block may go to another body.
    pub(crate) fn recycle(&self, raw: &mut Raw) -> bool {
        let known = self.entry(raw.token);
        if let Some(from) = known.cleared_from {
            raw.dirty = raw.dirty.min(from);
        }
        let left = self.abandoning.get() || known.abandoned;
        if known.shown && (left || !self.is_attached(raw) || !self.revoke(raw.token)) {
            return false;
        }
        let stale = raw.dirty;
        self.change(raw.token, |entry| {
            (entry.abandoned, entry.stale, entry.cleared_from) = (false, stale, None)
        });
        true
    }

    /// Takes back what was shown: views have length 0 from now on. False where that cannot be done, or where the memory
    /// behind the new object is not the same one: then the block must not be used again.
    pub(crate) fn revoke(&self, id: usize) -> bool {
        let known = self.entry(id);
        if !known.shown {
            return true;
        }
        let Some(hooks) = self.hooks() else { return false };
        if self.call(hooks.revoke, &[number(id as u64)]) != Some(1.0) {
            return false;
        }
        // V8 has counted all of the new object.
        self.report(-known.grown.cast_signed());
        self.change(id, |entry| (entry.shown, entry.grown) = (false, 0));
        let (_, pointer, length) = self.look(id);
        pointer == known.pointer && length >= known.shift + known.capacity
    }

    /// Notes that the garbage collector found a buffer of this block that nobody released: what was shown of it may
    /// live on, also in native I/O, so the block is not used again when its last holder goes.
    pub(crate) fn abandon(&self, id: usize) {
        self.change(id, |entry| entry.abandoned |= entry.shown);
    }

    /// Lets the object go. Views that are left keep its memory alive, which nobody else gets: it is not revoked,
    /// because a view that is left here may be one that native I/O still writes to.
    pub(crate) fn forget(&self, id: usize) {
        if let Some(hooks) = self.hooks() {
            let mut undefined = ptr::null_mut();
            // SAFETY: as in `look`; the place exists or is made.
            unsafe {
                sys::napi_get_undefined(self.env, &raw mut undefined);
                sys::napi_set_element(self.env, self.referred(hooks.objects), index(id), undefined);
            }
        }
        self.report(-self.entry(id).grown.cast_signed());
        self.change(id, |entry| *entry = NOTHING);
        self.free.borrow_mut().push(id); // `place` has made room
    }

    /// Notes that a window of the block is shown. Core has cleared the block before (E49). Answers the window's place
    /// in the object.
    pub(crate) fn show_window(&self, id: usize, offset: usize) -> usize {
        self.change(id, |entry| (entry.shown, entry.stale) = (true, 0));
        self.entry(id).shift + offset
    }

    /// Notes that the first `length` bytes of the block are shown, and clears what lies behind them: a view leads to
    /// the whole object (E49). `last`: the body grows no more. Answers their place in the object.
    pub(crate) fn show(&self, id: usize, length: usize, last: bool) -> Option<usize> {
        let known = self.entry(id);
        if known.pointer.is_null() {
            return (length == 0).then_some(0);
        }
        let (_, pointer, whole) = self.look(id);
        let stale = known.stale.min(known.capacity);
        if pointer != known.pointer || whole < known.shift + stale.max(length) {
            return None;
        }
        if stale > length {
            // SAFETY: shift + stale lies in the object's memory by the line above; the bytes behind the body are
            // nobody's.
            unsafe { pointer.add(known.shift + length).write_bytes(0, stale - length) };
        }
        self.change(id, |entry| {
            (entry.shown, entry.stale) = (true, 0);
            if last {
                entry.cleared_from = Some(length);
            }
        });
        Some(known.shift)
    }

    /// Whether a piece of a finished body is still there; see [`Blocks::is_attached`].
    pub(crate) fn has(&self, id: usize, length: usize) -> bool {
        let known = self.entry(id);
        if !known.shown || length == 0 {
            return true;
        }
        let (_, pointer, whole) = self.look(id);
        pointer == known.pointer && whole >= known.shift + length
    }

    /// Hands the object of an exact result out for good.
    pub(crate) fn give_away(&self, id: usize) -> sys::napi_value {
        let (value, _, _) = self.look(id);
        self.forget(id);
        value
    }
}

/// A flag that is set until the call is over, also when it panics.
struct Flag<'a>(&'a Cell<bool>);

impl<'a> Flag<'a> {
    fn set(flag: &'a Cell<bool>) -> Flag<'a> {
        flag.set(true);
        Flag(flag)
    }
}

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Node allows no array index beyond u32, and there is no memory for so many blocks.
fn index(id: usize) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}
