//! Statuses and the version.

use brimful_core::{status_name, status_text};
use core::ffi::c_char;

use crate::guard;

/// What a call answers: 0 is fine, above 0 is not an error, below 0 is an error. Numbers are never used again for
/// something else, so they may be stored and compared with those of any later release.
pub type brimful_status = i32;

/// The call did what it says.
pub const BRIMFUL_OK: i32 = 0;
/// The source has nothing more now. Nothing is lost: call again to go on, as often as needed.
pub const BRIMFUL_PENDING: i32 = 1;
/// Only a callback answers this: it was interrupted and is asked again at once.
pub const BRIMFUL_RETRY: i32 = 2;
/// This call's share is used; call again to go on.
pub const BRIMFUL_MORE: i32 = 3;
/// An argument or an option is out of range, or NULL where it may not be. Nothing was done.
pub const BRIMFUL_ERR_INVALID: i32 = -1;
/// The call does not fit what the object is doing. Nothing was done.
pub const BRIMFUL_ERR_STATE: i32 = -2;
/// The object is in use by a call that has not returned: its own callback runs. Nothing was done.
pub const BRIMFUL_ERR_BUSY: i32 = -3;
/// No memory could be had. Nothing changed: the same call may be made again, or what came be taken as the partial.
pub const BRIMFUL_ERR_NO_MEMORY: i32 = -4;
/// The pool's budget is used up. Nothing changed: the same call may be made again, or what came be taken.
pub const BRIMFUL_ERR_BUDGET: i32 = -5;
/// The body has more bytes than the limit allows. Its first `limit` bytes can be taken as the partial.
pub const BRIMFUL_ERR_LIMIT: i32 = -6;
/// The source ended before the announced length. What came can be taken as the partial.
pub const BRIMFUL_ERR_SHORT: i32 = -7;
/// The source delivered more than the announced length. The announced bytes can be taken as the partial.
pub const BRIMFUL_ERR_LONG: i32 = -8;
/// The callback answered an error of its own; its number is brimful_info.source_error. What came can be taken.
pub const BRIMFUL_ERR_SOURCE: i32 = -9;
/// The callback claimed more bytes than it had room for, or answered what is no answer. Nothing of that call counts;
/// what came before can be taken.
pub const BRIMFUL_ERR_CONTRACT: i32 = -10;
/// The callback answered BRIMFUL_RETRY more than 1000 times in a row without a byte. What came can be taken.
pub const BRIMFUL_ERR_NO_PROGRESS: i32 = -11;
/// The body was cancelled. What came can be taken.
pub const BRIMFUL_ERR_CANCELLED: i32 = -12;
/// The bytes are not text in the encoding; the offset of the first that are not comes with it. The bytes stay as they
/// are: they can be decoded with BRIMFUL_DECODE_REPLACE, or in another encoding.
pub const BRIMFUL_ERR_ENCODING: i32 = -13;
/// The library failed inside; the failure was caught. Only freeing the object is sure to be right now.
pub const BRIMFUL_ERR_PANIC: i32 = -14;

/// The release that this header belongs to: its first number. Another one means another ABI.
pub const BRIMFUL_VERSION_MAJOR: u32 = 0;
/// The release that this header belongs to: its second number.
pub const BRIMFUL_VERSION_MINOR: u32 = 1;
/// The release that this header belongs to: its third number.
pub const BRIMFUL_VERSION_PATCH: u32 = 0;
/// The release that this header belongs to, as one number that grows from release to release: major * 65536 +
/// minor * 256 + patch. brimful_version_number() tells that of the library that runs.
pub const BRIMFUL_VERSION_NUMBER: u32 = 256;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The name of a status, in small letters: "limit" for BRIMFUL_ERR_LIMIT, "unknown" for a number that is none.
///
/// Never NULL. The text lives as long as the library; do not free it.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn brimful_status_name(status: brimful_status) -> *const c_char {
    guard::catch(c"panic".as_ptr(), || status_name(status).as_ptr())
}

/// One English sentence on what a status means and what can be done now.
///
/// Never NULL. The text lives as long as the library; do not free it.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn brimful_status_text(status: brimful_status) -> *const c_char {
    guard::catch(c"The library failed inside.".as_ptr(), || status_text(status).as_ptr())
}

/// BRIMFUL_VERSION_NUMBER of the library that runs, which may be newer than the header that was compiled with.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn brimful_version_number() -> u32 {
    BRIMFUL_VERSION_NUMBER
}

/// The release of the library that runs, for example "0.1.0".
///
/// Never NULL. The text lives as long as the library; do not free it.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn brimful_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use brimful_core::Error;

    #[test]
    fn the_macros_have_the_numbers_of_the_engine() {
        for (status, error) in [
            (BRIMFUL_ERR_INVALID, Error::Invalid),
            (BRIMFUL_ERR_STATE, Error::State),
            (BRIMFUL_ERR_BUSY, Error::Busy),
            (BRIMFUL_ERR_NO_MEMORY, Error::NoMemory),
            (BRIMFUL_ERR_BUDGET, Error::Budget),
            (BRIMFUL_ERR_LIMIT, Error::Limit),
            (BRIMFUL_ERR_SHORT, Error::Short),
            (BRIMFUL_ERR_LONG, Error::Long),
            (BRIMFUL_ERR_SOURCE, Error::Source),
            (BRIMFUL_ERR_CONTRACT, Error::Contract),
            (BRIMFUL_ERR_NO_PROGRESS, Error::NoProgress),
            (BRIMFUL_ERR_CANCELLED, Error::Cancelled),
            (BRIMFUL_ERR_ENCODING, Error::Encoding),
            (BRIMFUL_ERR_PANIC, Error::Panic),
        ] {
            assert_eq!(status, error.code());
        }
    }

    #[test]
    fn the_version_macros_agree_with_the_manifest_part_by_part() {
        assert_eq!(BRIMFUL_VERSION_MAJOR.to_string(), env!("CARGO_PKG_VERSION_MAJOR"));
        assert_eq!(BRIMFUL_VERSION_MINOR.to_string(), env!("CARGO_PKG_VERSION_MINOR"));
        assert_eq!(BRIMFUL_VERSION_PATCH.to_string(), env!("CARGO_PKG_VERSION_PATCH"));
        assert_eq!(
            BRIMFUL_VERSION_NUMBER,
            BRIMFUL_VERSION_MAJOR * 65536 + BRIMFUL_VERSION_MINOR * 256 + BRIMFUL_VERSION_PATCH
        );
    }
}
