//! One JavaScript environment (the main thread's or a worker's): its table of handles, the memory it shares with the
//! JavaScript half, and the way in and out of native functions.
//!
//! Nothing here is shared between threads. A host is made when the addon is loaded into an environment, is found again
//! through the data pointer of each native function, and goes with the environment, whenever a worker is terminated.

use crate::blocks::Blocks;
use crate::collector::Body;
use crate::descriptor::Works;
use crate::memory;
use brimful_core::{Buffer, Error, MemoryRef, Pool};
use napi::sys;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// What a native function answers.
pub(crate) enum Value {
    /// A count, a handle, or a status: see the constants in `lib.rs`.
    Number(f64),
    /// A sentence.
    Text(String),
    /// A JavaScript value.
    Js(sys::napi_value),
}

impl From<Error> for Value {
    fn from(error: Error) -> Value {
        Value::Number(f64::from(error.code()))
    }
}

impl<T: Into<Value>> From<Result<T, Error>> for Value {
    fn from(result: Result<T, Error>) -> Value {
        result.map_or_else(Value::from, T::into)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

/// A native function: the host it was called in, and its arguments.
pub(crate) type Function = fn(&Host, &Arguments) -> Value;

/// The most arguments that a native function takes.
const MOST_ARGUMENTS: usize = 5;

/// The arguments of one call.
pub(crate) struct Arguments {
    env: sys::napi_env,
    values: [sys::napi_value; MOST_ARGUMENTS],
}

impl Arguments {
    pub(crate) fn env(&self) -> sys::napi_env {
        self.env
    }

    pub(crate) fn value(&self, index: usize) -> sys::napi_value {
        self.values[index]
    }

    /// The number at `index`; NaN where there is none, which no check lets through.
    pub(crate) fn number(&self, index: usize) -> f64 {
        let mut number = f64::NAN;
        // SAFETY: the value was given to this very call; what is no number leaves `number` as it is.
        unsafe { sys::napi_get_value_double(self.env, self.values[index], &raw mut number) };
        number
    }

    /// The number at `index` as a count; `None` for what is none (negative, fractional, NaN, beyond 2^53 - 1).
    pub(crate) fn count(&self, index: usize) -> Option<usize> {
        count(self.number(index))
    }

    /// The handle at `index`.
    pub(crate) fn handle(&self, index: usize) -> usize {
        self.count(index).unwrap_or(usize::MAX)
    }

    /// The bytes of the Uint8Array at `index`; empty for what is none. Valid until JavaScript runs again.
    pub(crate) fn bytes(&self, index: usize) -> (NonNull<u8>, usize) {
        self.bytes_of(self.values[index])
    }

    /// The same of a value that was found in an argument.
    pub(crate) fn bytes_of(&self, value: sys::napi_value) -> (NonNull<u8>, usize) {
        let (mut data, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the value is of this very call; what is no view is an error status and leaves both alone.
        unsafe { sys::napi_get_buffer_info(self.env, value, &raw mut data, &raw mut length) };
        NonNull::new(data.cast()).map_or((NonNull::dangling(), 0), |data| (data, length))
    }
}

/// A JavaScript number as a count.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a whole number below 2^53"
)]
pub(crate) fn count(number: f64) -> Option<usize> {
    let whole = (0.0..9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    whole.then_some(number as usize)
}

/// A count as a JavaScript number; beyond 2^53 the nearest one there is.
#[allow(clippy::cast_precision_loss, reason = "JavaScript has no other numbers")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// Things known to JavaScript by a small integer. A handle that is not known is `None`, never another thing's memory.
pub(crate) struct Table<T>(RefCell<Slots<T>>);

struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Table<T> {
    fn new() -> Table<T> {
        Table(RefCell::new(Slots {
            slots: Vec::new(),
            free: Vec::new(),
        }))
    }

    /// Gives it a handle.
    pub(crate) fn add(&self, thing: T) -> Result<f64, Error> {
        let mut table = self.0.borrow_mut();
        if let Some(index) = table.free.pop() {
            table.slots[index] = Some(thing);
            return Ok(number(index as u64));
        }
        // Room in `free` too, so that giving a handle back cannot fail.
        let needed = table.slots.len() + 1 - table.free.len();
        if table.slots.try_reserve(1).is_err() || table.free.try_reserve(needed).is_err() {
            return Err(Error::NoMemory);
        }
        table.slots.push(Some(thing));
        Ok(number(table.slots.len() as u64 - 1))
    }

    /// Calls `f` with the thing; [`Error::State`] for a handle that is not known.
    pub(crate) fn with<R>(&self, handle: usize, f: impl FnOnce(&mut T) -> Result<R, Error>) -> Result<R, Error> {
        let mut table = self.0.try_borrow_mut().map_err(|_| Error::Busy)?;
        f(table
            .slots
            .get_mut(handle)
            .and_then(Option::as_mut)
            .ok_or(Error::State)?)
    }

    /// Takes the thing out; its handle may be given to another one from now on.
    pub(crate) fn take(&self, handle: usize) -> Option<T> {
        let mut table = self.0.try_borrow_mut().ok()?;
        let thing = table.slots.get_mut(handle)?.take()?;
        table.free.push(handle);
        Some(thing)
    }

    fn clear(&self) {
        let slots = std::mem::take(&mut self.0.borrow_mut().slots);
        drop(slots);
    }
}

/// Numbers of the memory that both halves see: options go in and statistics come out without a call for each.
pub(crate) const SCRATCH: usize = 32;

/// One environment.
pub(crate) struct Host {
    env: sys::napi_env,
    pub(crate) blocks: Box<Blocks>,
    pub(crate) pools: Table<Pool>,
    pub(crate) collectors: Table<Body>,
    pub(crate) buffers: Table<Buffer>,
    pub(crate) works: Arc<Works>,
    exact_memory: RefCell<Option<MemoryRef>>,
    scratch: Cell<Option<NonNull<f64>>>,
    sentence: RefCell<String>,
}

impl Host {
    /// Registers the functions on `exports`, with a new host behind them.
    ///
    /// # Safety
    /// Called while the addon is being loaded into `env`, on its thread, with `exports` valid in an open scope.
    pub(crate) unsafe fn register(
        env: sys::napi_env,
        exports: sys::napi_value,
        functions: &[(
            &str,
            unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value,
        )],
    ) -> bool {
        let host = Box::into_raw(Box::new(Host {
            env,
            blocks: Box::new(Blocks::new(env)),
            pools: Table::new(),
            collectors: Table::new(),
            buffers: Table::new(),
            works: Arc::default(),
            exact_memory: RefCell::new(None),
            scratch: Cell::new(None),
            sentence: RefCell::new(String::new()),
        }));
        // SAFETY: the hook is given the host that it frees; it runs once, when the environment goes, after which none
        // of the functions below can be called any more.
        let mut fine =
            unsafe { sys::napi_add_env_cleanup_hook(env, Some(goodbye), host.cast()) } == sys::Status::napi_ok;
        for (name, function) in functions {
            let mut value = ptr::null_mut();
            // SAFETY: the name's pointer and length are those of a str; both calls only write the value.
            fine &= unsafe {
                let (start, length) = (name.as_ptr().cast(), name.len().cast_signed());
                let mut key = ptr::null_mut();
                sys::napi_create_function(env, start, length, Some(*function), host.cast(), &raw mut value)
                    == sys::Status::napi_ok
                    && sys::napi_create_string_utf8(env, start, length, &raw mut key) == sys::Status::napi_ok
                    && sys::napi_set_property(env, exports, key, value) == sys::Status::napi_ok
            };
        }
        fine
    }

    /// Shares `scratch` (a Float64Array of [`SCRATCH`] numbers that only the library's JavaScript half has) and learns
    /// the hooks by which memory is had.
    pub(crate) fn set_up(&self, arguments: &Arguments) -> bool {
        let mut kind = 0;
        let (mut length, mut data) = (0, ptr::null_mut());
        // SAFETY: out-parameters are local; the ones not wanted are NULL, which the function allows.
        let status = unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                arguments.value(0),
                &raw mut kind,
                &raw mut length,
                &raw mut data,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let fits = status == sys::Status::napi_ok && kind == sys::TypedarrayType::float64_array && length == SCRATCH;
        let scratch = NonNull::new(data.cast::<f64>()).filter(|_| fits);
        // The blocks keep a reference to the array too, so that its memory stays.
        if scratch.is_none() || !self.blocks.set_up(arguments) {
            return false;
        }
        self.scratch.set(scratch);
        true
    }

    /// The memory of exact results.
    pub(crate) fn exact_memory(&self) -> Result<MemoryRef, Error> {
        let mut kept = self.exact_memory.borrow_mut();
        if kept.is_none() {
            // SAFETY: it lies here and in collectors and buffers of this host; `goodbye` drops all of them before the
            // blocks go.
            *kept = unsafe { memory::exact_memory(&self.blocks) };
        }
        kept.clone().ok_or(Error::NoMemory)
    }

    /// Writes numbers into the memory that both halves see.
    pub(crate) fn tell(&self, numbers: &[f64]) {
        if let Some(scratch) = self.scratch.get() {
            let length = numbers.len().min(SCRATCH);
            // SAFETY: the array is never detached or resized (only the JavaScript half has it), is SCRATCH numbers
            // long, is kept alive by a reference, and no Rust reference to it exists.
            unsafe { scratch.as_ptr().copy_from_nonoverlapping(numbers.as_ptr(), length) };
        }
    }

    /// Reads the number at `index` of the memory that both halves see.
    pub(crate) fn told(&self, index: usize) -> f64 {
        match self.scratch.get() {
            // SAFETY: as in `tell`; the index is below SCRATCH by the filter.
            Some(scratch) if index < SCRATCH => unsafe { scratch.as_ptr().add(index).read() },
            _ => f64::NAN,
        }
    }

    /// Keeps the sentence that says which option is out of range, and answers the status.
    pub(crate) fn refuse(&self, invalid: brimful_core::InvalidOption) -> Error {
        self.say(invalid.to_string());
        Error::Invalid
    }

    /// Keeps the sentence that goes with a status.
    pub(crate) fn say(&self, sentence: String) {
        *self.sentence.borrow_mut() = sentence;
    }

    pub(crate) fn said(&self) -> String {
        self.sentence.borrow().clone()
    }
}

/// The environment goes: bodies first, then what they lie in. No JavaScript can run any more.
unsafe extern "C" fn goodbye(host: *mut core::ffi::c_void) {
    // SAFETY: `register` gave this hook the host, and it runs once.
    let host = unsafe { Box::from_raw(host.cast::<Host>()) };
    host.works.close();
    host.blocks.close();
    let _ = catch_unwind(AssertUnwindSafe(|| {
        host.collectors.clear();
        host.buffers.clear();
        host.pools.clear();
        host.exact_memory.take();
    }));
}

/// The way into every native function. A panic ends here and becomes a status: it must not reach C++ frames.
///
/// # Safety
/// Called by Node as the callback of a function that [`Host::register`] made.
pub(crate) unsafe fn enter(env: sys::napi_env, info: sys::napi_callback_info, function: Function) -> sys::napi_value {
    let mut arguments = Arguments {
        env,
        values: [ptr::null_mut(); MOST_ARGUMENTS],
    };
    let (mut count, mut data) = (MOST_ARGUMENTS, ptr::null_mut());
    // SAFETY: the array has `count` places, which Node fills with the arguments and with undefined.
    let status = unsafe {
        sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            arguments.values.as_mut_ptr(),
            ptr::null_mut(),
            &raw mut data,
        )
    };
    if status != sys::Status::napi_ok || data.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the data pointer is the host that `register` made, and it lives as long as the environment that calls.
    let host = unsafe { &*data.cast::<Host>() };
    let value = catch_unwind(AssertUnwindSafe(|| function(host, &arguments))).unwrap_or(Value::from(Error::Panic));
    let mut result = ptr::null_mut();
    // SAFETY: each call only writes `result`; where one fails it stays NULL, which Node takes for undefined.
    unsafe {
        match value {
            Value::Number(number) => {
                sys::napi_create_double(env, number, &raw mut result);
            }
            Value::Text(text) => {
                sys::napi_create_string_utf8(env, text.as_ptr().cast(), text.len().cast_signed(), &raw mut result);
            }
            Value::Js(value) => result = value,
        }
    }
    result
}
