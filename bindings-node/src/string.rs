//! Strings of V8, made natively: of one byte a unit where Latin-1 suffices, else of two.
//!
//! ```text
//! short    units ─copied─▶ |V8's heap|
//! long     units ─filled into─▶ |memory of its own|, which V8 looks into (an external string) and gives back
//! ```
//!
//! A long string in V8's heap would be written twice, and its pages are fresh ones each time. Node-API's functions for
//! external strings are looked up, so that the addon loads where they are missing; there, and where V8 cannot look
//! outside of its sandbox, the string is copied.

use brimful_core::memory::Calls;
use brimful_core::{Encoding, Fault, Faults, Segments, Text, Unit, Widest};
use core::ffi::{CStr, c_char, c_void};
use napi::sys;
use std::mem::{MaybeUninit, size_of};
use std::ptr::{self, NonNull};

/// From so many bytes on a string is V8's view of memory of its own. ASCII of 100 kB takes 17 us so and 12 copied, of 300 kB
/// 47 and 149, of 1 MB 178 and 552; CJK of 200 kB in units of two bytes 157 and 237 (Node 20, 2026-12-01).
const APART_FROM: usize = 128 << 10;

/// Bytes of a string that is made on the stack.
const SHORT: usize = 1 << 10;

/// Why there is no string.
pub(crate) enum Unmade {
    Fault(Fault),
    NoMemory,
    /// It would have so many units, which is more than V8 allows.
    TooLong(usize),
}

impl From<Fault> for Unmade {
    fn from(fault: Fault) -> Unmade {
        Unmade::Fault(fault)
    }
}

/// The text as a string, of at most `most` units.
pub(crate) fn make<S: Segments + ?Sized>(
    env: sys::napi_env,
    bytes: &S,
    text: &Text<'_, S>,
    faults: Faults,
    most: usize,
) -> Result<sys::napi_value, Unmade> {
    let length = text.byte_length();
    let is_utf8 = text.encoding() == Encoding::UTF_8;
    // ASCII in one piece is copied from where it lies. A byte order mark is none.
    if is_utf8
        && length < APART_FROM
        && let Some(whole) = in_one_piece(bytes)
        && whole.is_ascii()
    {
        return u8::copied(env, whole);
    }
    // UTF-8 never makes more units than it has bytes, so that it need not be measured: room for so many is only touched where
    // it is used. It is Latin-1 where its first characters are, until one comes that is not.
    let (is_latin1, units) = if is_utf8 && length <= most {
        (length <= SHORT || text.glance() <= Widest::Latin1, length)
    } else {
        let measure = text.measure(faults)?;
        if measure.utf16 > most {
            return Err(Unmade::TooLong(measure.utf16));
        }
        (measure.widest <= Widest::Latin1, measure.utf16)
    };
    if is_latin1 && let Some(string) = fill::<u8, S>(env, text, faults, units)? {
        return Ok(string);
    }
    fill::<u16, S>(env, text, faults, units)?.ok_or(Unmade::NoMemory)
}

/// The bytes, where they lie in one piece.
fn in_one_piece<S: Segments + ?Sized>(bytes: &S) -> Option<&[u8]> {
    let mut segments = bytes.segments().filter(|segment| !segment.is_empty());
    let first = segments.next()?;
    segments.next().is_none().then_some(first)
}

/// What V8 has strings of.
trait Host: Unit {
    /// By this name Node-API makes an external string of it.
    const EXTERNAL: &CStr;

    fn copied(env: sys::napi_env, units: &[Self]) -> Result<sys::napi_value, Unmade>;
}

impl Host for u8 {
    const EXTERNAL: &CStr = c"node_api_create_external_string_latin1";

    fn copied(env: sys::napi_env, units: &[u8]) -> Result<sys::napi_value, Unmade> {
        let mut string = ptr::null_mut();
        // SAFETY: pointer and length are those of a slice, which is copied.
        let status = unsafe {
            sys::napi_create_string_latin1(env, units.as_ptr().cast(), units.len().cast_signed(), &raw mut string)
        };
        made(status, string)
    }
}

impl Host for u16 {
    const EXTERNAL: &CStr = c"node_api_create_external_string_utf16";

    fn copied(env: sys::napi_env, units: &[u16]) -> Result<sys::napi_value, Unmade> {
        let mut string = ptr::null_mut();
        // SAFETY: as above.
        let status =
            unsafe { sys::napi_create_string_utf16(env, units.as_ptr(), units.len().cast_signed(), &raw mut string) };
        made(status, string)
    }
}

fn made(status: sys::napi_status, string: sys::napi_value) -> Result<sys::napi_value, Unmade> {
    if status == sys::Status::napi_ok {
        Ok(string)
    } else {
        Err(Unmade::NoMemory)
    }
}

/// A string of a text that has at most so many units; `None` where characters of it are none.
fn fill<U: Host, S: Segments + ?Sized>(
    env: sys::napi_env,
    text: &Text<'_, S>,
    faults: Faults,
    most: usize,
) -> Result<Option<sys::napi_value>, Unmade> {
    if most <= SHORT {
        let mut place = [const { MaybeUninit::uninit() }; SHORT];
        let filled = text.fill::<U>(faults, &mut place)?;
        // SAFETY: `fill` has initialised so many.
        let units = unsafe { initialised(&place[..filled.units]) };
        return filled.whole.then(|| U::copied(env, units)).transpose();
    }
    let mut room = match Room::<U>::new(most) {
        Some(room) => room,
        // What is needed may be a third of that.
        None => Room::new(text.measure(faults)?.utf16).ok_or(Unmade::NoMemory)?,
    };
    let filled = text.fill::<U>(faults, room.units())?;
    if !filled.whole {
        return Ok(None);
    }
    if filled.units * size_of::<U>() < APART_FROM {
        // SAFETY: as above.
        return U::copied(env, unsafe { initialised(&room.units()[..filled.units]) }).map(Some);
    }
    room.cut(filled.units);
    room.into_string(env, filled.units).map(Some)
}

/// # Safety
/// All of them were written.
unsafe fn initialised<U>(units: &[MaybeUninit<U>]) -> &[U] {
    // SAFETY: the caller's; the two types lie in memory alike.
    unsafe { &*(ptr::from_ref(units) as *const [U]) }
}

/// Where that memory comes from.
const MEMORY: Calls = Calls::LIBC;

/// Memory for the units of one string.
struct Room<U> {
    start: NonNull<MaybeUninit<U>>,
    units: usize,
}

impl<U: Host> Room<U> {
    fn new(units: usize) -> Option<Room<U>> {
        let start = MEMORY.get(units.checked_mul(size_of::<U>())?)?.cast();
        Some(Room { start, units })
    }

    fn units(&mut self) -> &mut [MaybeUninit<U>] {
        // SAFETY: the memory is this room's own, that large, and aligned for any unit.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.units) }
    }

    fn bytes(&self) -> usize {
        self.units * size_of::<U>()
    }

    /// Gives back what is behind the first `units`, of which there is at least one.
    fn cut(&mut self, units: usize) {
        if units == self.units {
            return;
        }
        // SAFETY: the memory is this room's own, of so many bytes; where it cannot be cut it stays as it is.
        if let Some((start, _)) = unsafe { MEMORY.resize(self.start.cast(), self.bytes(), units * size_of::<U>()) } {
            (self.start, self.units) = (start.cast(), units);
        }
    }

    /// The string of the first `filled` units, which are initialised.
    fn into_string(mut self, env: sys::napi_env, filled: usize) -> Result<sys::napi_value, Unmade> {
        let Some(create) = external::<U>() else {
            // SAFETY: the caller's.
            return U::copied(env, unsafe { initialised(&self.units()[..filled]) });
        };
        let (mut string, mut copied) = (ptr::null_mut(), false);
        let bytes = self.bytes();
        // SAFETY: the memory is not written any more, and lives until `finalize` is called, once; this library stays loaded
        // for that (build.rs).
        let status = unsafe {
            create(
                env,
                self.start.as_ptr().cast(),
                filled.cast_signed(),
                Some(finalize),
                ptr::without_provenance_mut(bytes),
                &raw mut string,
                &raw mut copied,
            )
        };
        if status != sys::Status::napi_ok {
            return Err(Unmade::NoMemory);
        }
        std::mem::forget(self);
        if !copied {
            report(env, bytes.cast_signed());
        }
        Ok(string)
    }
}

impl<U> Drop for Room<U> {
    fn drop(&mut self) {
        // SAFETY: `new` had it from there, and nobody else has it.
        unsafe { (MEMORY.free)(self.start.as_ptr().cast()) };
    }
}

/// Tells V8 of memory that a string holds.
fn report(env: sys::napi_env, bytes: isize) {
    let mut sum = 0;
    // SAFETY: only counts.
    unsafe { sys::napi_adjust_external_memory(env, bytes as i64, &raw mut sum) };
}

/// V8 has let a string go, or copied it. `env` is NULL where the environment went before.
unsafe extern "C" fn finalize(env: sys::napi_env, start: *mut c_void, bytes: *mut c_void) {
    // SAFETY: V8 gives what `into_string` gave it, once; that had it from there.
    unsafe { (MEMORY.free)(start) };
    if !env.is_null() {
        report(env, -bytes.addr().cast_signed());
    }
}

type External = unsafe extern "C" fn(
    sys::napi_env,
    *mut c_char,
    isize,
    sys::napi_finalize,
    *mut c_void,
    *mut sys::napi_value,
    *mut bool,
) -> sys::napi_status;

/// Node-API's function that makes an external string, if there is one here.
fn external<U: Host>() -> Option<External> {
    // SAFETY: the name ends in a NUL.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, U::EXTERNAL.as_ptr()) };
    // SAFETY: what Node has by that name is of this type but for the type of units it points to.
    (!function.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, External>(function) })
}
