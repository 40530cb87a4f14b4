//! What every exported function needs: panics stay inside, out-parameters are cleared first, structs that begin with
//! their size are read and written as far as both sides know them.

use brimful_core::Error;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::brimful_status;

/// The largest `struct_size` that is believed. No struct of this interface will ever be larger, and a larger number
/// is one that nobody set, so that nothing is to be read behind it.
const LARGEST_STRUCT: usize = 1024;

/// Runs `f`; where it panics, the answer is `panicked`.
pub(crate) fn catch<R>(panicked: R, f: impl FnOnce() -> R) -> R {
    // Unwind safe: the engine leaves its objects usable when it unwinds (handle.rs gives its turn back), and nothing
    // of this crate's own is half changed at any call that can panic.
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(panicked)
}

/// Runs `f` and makes its outcome a status.
pub(crate) fn status(f: impl FnOnce() -> Result<brimful_status, Error>) -> brimful_status {
    catch(Error::Panic.code(), || f().unwrap_or_else(Error::code))
}

/// Where a result is written for the caller.
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// Puts `nothing` there first. NULL is [`Error::Invalid`].
    ///
    /// # Safety
    /// `pointer` is NULL or may be written until the exported function returns.
    pub(crate) unsafe fn new(pointer: *mut T, nothing: T) -> Result<Out<T>, Error> {
        let pointer = NonNull::new(pointer).ok_or(Error::Invalid)?;
        // SAFETY: not NULL, so it may be written.
        unsafe { pointer.write(nothing) };
        Ok(Out(pointer))
    }

    /// Writes the result.
    pub(crate) fn set(&self, value: T) {
        // SAFETY: `new` was promised that the pointer may be written until the function returns, and this value does
        // not leave it.
        unsafe { self.0.write(value) }
    }
}

/// A counted object of the engine that the caller holds: used here, not let go of.
pub(crate) type Borrowed<T> = ManuallyDrop<T>;

/// A struct of the interface that begins with its size in bytes.
///
/// # Safety
/// The type is `repr(C)`, its first field is the `usize` `struct_size`, and any bytes are a value of it.
pub(crate) unsafe trait Versioned: Copy {
    /// The sizes that a struct of this or an earlier release can have: those that end between two fields.
    const SIZES: &'static [usize];
}

/// Implements [`Versioned`]; the fields are all but the first, in order.
macro_rules! versioned {
    ($name:ident { $($field:ident),* $(,)? }) => {
        // SAFETY: each of these is repr(C), begins with `struct_size: usize`, and consists of numbers, pointers and
        // optional function pointers.
        unsafe impl $crate::guard::Versioned for $name {
            const SIZES: &'static [usize] =
                &[$(core::mem::offset_of!($name, $field),)* core::mem::size_of::<$name>()];
        }
    };
}
pub(crate) use versioned;

/// The caller's `struct_size`, where it can be one.
///
/// # Safety
/// `pointer` is readable over the size that it says it has.
unsafe fn size_of_struct<T: Versioned>(pointer: NonNull<T>) -> Result<usize, Error> {
    // SAFETY: every struct here begins with its size (see the trait), and the caller gave at least that.
    let size = unsafe { pointer.cast::<usize>().read() };
    let known = T::SIZES.contains(&size) || (size > size_of::<T>() && size <= LARGEST_STRUCT);
    known.then_some(size).ok_or(Error::Invalid)
}

/// Reads a struct that the caller filled: the fields that both know, `defaults` for those that the caller does not
/// know. A field that this release does not know must be 0.
///
/// # Safety
/// `pointer` is NULL or readable over the size that it says it has.
pub(crate) unsafe fn read<T: Versioned>(pointer: *const T, defaults: T) -> Result<T, Error> {
    let pointer = NonNull::new(pointer.cast_mut()).ok_or(Error::Invalid)?;
    // SAFETY: passed on from the caller.
    let size = unsafe { size_of_struct(pointer) }?;
    let shared = size.min(size_of::<T>());
    let mut value = defaults;
    // SAFETY: `shared` bytes are readable there and writable here, and any bytes are a T; the tail is readable up to
    // `size`.
    let tail = unsafe {
        pointer
            .cast::<u8>()
            .copy_to_nonoverlapping(NonNull::from(&mut value).cast(), shared);
        core::slice::from_raw_parts(pointer.cast::<u8>().as_ptr().add(shared), size - shared)
    };
    tail.iter()
        .all(|byte| *byte == 0)
        .then_some(value)
        .ok_or(Error::Invalid)
}

/// A struct of the caller's that the library fills.
pub(crate) struct Fill<T: Versioned> {
    pointer: NonNull<T>,
    size: usize,
}

impl<T: Versioned> Fill<T> {
    /// Looks at its size only.
    ///
    /// # Safety
    /// `pointer` is NULL or writable over the size that it says it has, until the exported function returns.
    pub(crate) unsafe fn new(pointer: *mut T) -> Result<Fill<T>, Error> {
        let pointer = NonNull::new(pointer).ok_or(Error::Invalid)?;
        // SAFETY: passed on from the caller.
        let size = unsafe { size_of_struct(pointer) }?;
        Ok(Fill { pointer, size })
    }

    /// Fills what both know, but for the size, and clears the rest.
    pub(crate) fn set(&self, value: &T) {
        let begin = size_of::<usize>();
        let shared = self.size.min(size_of::<T>());
        // SAFETY: `new` was promised `size` writable bytes until the function returns; `shared` is at most that and
        // at most T's size, and every size in SIZES is at least `begin`.
        unsafe {
            let target = self.pointer.cast::<u8>();
            NonNull::from(value)
                .cast::<u8>()
                .add(begin)
                .copy_to_nonoverlapping(target.add(begin), shared - begin);
            target.add(shared).write_bytes(0, self.size - shared);
        }
    }
}

/// Puts the defaults into the first `size` bytes of a struct, for callers who cannot use the INIT macros. What they
/// know beyond this release becomes 0.
///
/// # Safety
/// `pointer` is NULL or writable over `size` bytes. `defaults` begins with its own size.
pub(crate) unsafe fn init<T: Versioned>(pointer: *mut T, size: usize, defaults: &T) {
    let Some(pointer) = NonNull::new(pointer) else { return };
    if size < size_of::<usize>() {
        return;
    }
    let mut begin = MaybeUninit::<T>::uninit();
    begin.write(*defaults);
    let shared = size.min(size_of::<T>());
    // SAFETY: `size` bytes are writable; `shared` of them exist in the defaults; the first field is the size.
    unsafe {
        NonNull::from(&mut begin)
            .cast::<u8>()
            .copy_to_nonoverlapping(pointer.cast(), shared);
        pointer.cast::<u8>().add(shared).write_bytes(0, size - shared);
        pointer.cast::<usize>().write(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(C)]
    struct Example {
        struct_size: usize,
        number: u64,
        flags: u32,
        more: u32,
    }
    versioned!(Example { number, flags, more });

    const DEFAULTS: Example = Example {
        struct_size: size_of::<Example>(),
        number: 7,
        flags: 8,
        more: 9,
    };

    #[test]
    fn a_panic_becomes_its_status_and_goes_no_further() {
        assert_eq!(status(|| panic!("caught")), Error::Panic.code());
        assert_eq!(status(|| Ok(1)), 1);
        assert_eq!(status(|| Err(Error::Limit)), -6);
    }

    #[test]
    fn a_smaller_struct_gets_defaults_for_the_fields_it_does_not_have() {
        let from = Example {
            struct_size: size_of::<usize>() + 8,
            number: 1,
            flags: 2,
            more: 3,
        };
        let expected = Example {
            flags: 8,
            more: 9,
            ..from
        };
        // SAFETY: the struct is larger than it says.
        assert_eq!(unsafe { read(&raw const from, DEFAULTS) }, Ok(expected));
    }

    #[test]
    fn a_size_within_a_field_or_out_of_reason_is_invalid() {
        for size in [0, 1, 7, 9, 15, 17, 19, LARGEST_STRUCT + 1, usize::MAX] {
            let from = Example {
                struct_size: size,
                ..DEFAULTS
            };
            // SAFETY: such sizes are refused before anything is read behind them.
            let came = unsafe { read(&raw const from, DEFAULTS) };
            assert_eq!(came, Err(Error::Invalid), "{size}");
        }
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { read(core::ptr::null(), DEFAULTS) }, Err(Error::Invalid));
    }

    #[test]
    fn a_larger_struct_is_read_when_its_unknown_tail_is_zero_and_refused_when_it_is_not() {
        let mut large = [DEFAULTS, DEFAULTS];
        large[0].struct_size = 2 * size_of::<Example>();
        // SAFETY: two structs are as large as the size says.
        assert_eq!(unsafe { read(large.as_ptr(), DEFAULTS) }, Err(Error::Invalid));
        large[1] = Example {
            struct_size: 0,
            number: 0,
            flags: 0,
            more: 0,
        };
        // SAFETY: as above.
        assert_eq!(unsafe { read(large.as_ptr(), DEFAULTS) }.map(|read| read.more), Ok(9));
    }

    #[test]
    fn a_larger_struct_is_filled_and_its_unknown_tail_cleared() {
        let mut large = [DEFAULTS, DEFAULTS];
        large[0].struct_size = 2 * size_of::<Example>();
        // SAFETY: two structs are as large as the size says.
        unsafe { Fill::new(large.as_mut_ptr()) }
            .unwrap_or_else(|_| panic!("a good size"))
            .set(&Example { more: 1, ..DEFAULTS });
        assert_eq!(
            large[0],
            Example {
                struct_size: 2 * size_of::<Example>(),
                more: 1,
                ..DEFAULTS
            }
        );
        assert_eq!(
            large[1],
            Example {
                struct_size: 0,
                number: 0,
                flags: 0,
                more: 0
            }
        );
    }
}
