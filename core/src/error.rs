//! Why a call did not end in a complete body, and how far a call came when nothing went wrong.
//!
//! The numbers and names are those of the C interface (c-abi.md); every layer takes them from here, so that one status
//! has one name everywhere. Numbers are never used again for something else.

use core::ffi::CStr;
use core::fmt;

/// What stopped a call. See each variant for what is left afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(i32)]
pub enum Error {
    /// An argument or option is out of range; nothing was done (E5).
    Invalid = -1,
    /// The call does not fit what the object is doing; nothing was done.
    State = -2,
    /// Called from inside its own callback, or while another thread is in the same object (E26); nothing was done.
    Busy = -3,
    /// No memory could be had; nothing changed, the same call may be made again (E30).
    NoMemory = -4,
    /// The pool's budget is used up; nothing changed, the same call may be made again (E45).
    Budget = -5,
    /// The body has more bytes than the limit allows; the first `limit` bytes can be taken (E13).
    Limit = -6,
    /// The source ended before the announced length; what came can be taken (E9).
    Short = -7,
    /// The source delivered more than the announced length; the announced bytes can be taken (E1).
    Long = -8,
    /// The source failed by itself; its own number is in [`crate::Info::source_error`] (E20).
    Source = -9,
    /// The source claimed what cannot be: more than the room it was given, or an unknown answer (E23).
    Contract = -10,
    /// The source asked to be called again more than 1000 times in a row without a byte (E21).
    NoProgress = -11,
    /// The body was cancelled (E24).
    Cancelled = -12,
    /// The bytes are not text in the encoding (E43).
    Encoding = -13,
    /// The engine or a source panicked; the panic was caught.
    Panic = -14,
}

/// How far a call came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The body is complete.
    Complete,
    /// The source has nothing more now; the same call goes on later (E20, E27).
    Pending,
    /// This call has taken [`crate::Options::max_step`] bytes; the same call goes on (E4).
    More,
}

const OK: &CStr = c"ok";

impl Error {
    const ALL: [Error; 14] = [
        Error::Invalid,
        Error::State,
        Error::Busy,
        Error::NoMemory,
        Error::Budget,
        Error::Limit,
        Error::Short,
        Error::Long,
        Error::Source,
        Error::Contract,
        Error::NoProgress,
        Error::Cancelled,
        Error::Encoding,
        Error::Panic,
    ];

    /// The number of the C interface; always negative.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The error with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Error> {
        Error::ALL.into_iter().find(|error| error.code() == code)
    }

    /// The status' name, for example `limit`.
    #[must_use]
    pub fn name(self) -> &'static str {
        as_str(status_name(self.code()))
    }

    /// One sentence that says what happened.
    #[must_use]
    pub fn text(self) -> &'static str {
        as_str(status_text(self.code()))
    }
}

fn as_str(text: &'static CStr) -> &'static str {
    text.to_str().unwrap_or("")
}

/// The name of any status number of the C interface; `unknown` for a number that has none.
#[must_use]
pub const fn status_name(code: i32) -> &'static CStr {
    match code {
        0 => OK,
        1 => c"pending",
        2 => c"retry",
        3 => c"more",
        -1 => c"invalid",
        -2 => c"state",
        -3 => c"busy",
        -4 => c"no_memory",
        -5 => c"budget",
        -6 => c"limit",
        -7 => c"short",
        -8 => c"long",
        -9 => c"source",
        -10 => c"contract",
        -11 => c"no_progress",
        -12 => c"cancelled",
        -13 => c"encoding",
        -14 => c"panic",
        _ => c"unknown",
    }
}

/// One sentence for any status number of the C interface.
#[must_use]
pub const fn status_text(code: i32) -> &'static CStr {
    match code {
        0 => c"The call did what it says.",
        1 => c"The source has nothing more now; call again to go on.",
        2 => c"The source was interrupted; it is asked again at once.",
        3 => c"This call's share is used; call again to go on.",
        -1 => c"An argument or option is out of range; nothing was done.",
        -2 => c"The call does not fit what the object is doing; nothing was done.",
        -3 => c"The object is in use by a call that has not returned; nothing was done.",
        -4 => c"No memory could be had; nothing changed, the same call may be made again.",
        -5 => c"The pool's budget is used up; nothing changed, the same call may be made again.",
        -6 => c"The body has more bytes than the limit allows; the first bytes up to the limit can be taken.",
        -7 => c"The source ended before the announced length; what came can be taken.",
        -8 => c"The source delivered more than the announced length; the announced bytes can be taken.",
        -9 => c"The source failed by itself; its own number is kept, and what came can be taken.",
        -10 => c"The source claimed more bytes than it had room for, or gave an unknown answer; what came before can be taken.",
        -11 => c"The source asked to be called again more than 1000 times in a row without a byte; what came can be taken.",
        -12 => c"The body was cancelled; what came can be taken.",
        -13 => c"The bytes are not text in the encoding.",
        -14 => c"The library failed inside; the failure was caught.",
        _ => c"No status has this number.",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl std::error::Error for Error {}

/// An option that is out of range (E5): which one, what was expected, what came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidOption {
    /// The option's name as in [`crate::Options`].
    pub name: &'static str,
    /// What it may be.
    pub expected: &'static str,
    /// What it was.
    pub came: u64,
}

impl fmt::Display for InvalidOption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} must be {}, not {}", self.name, self.expected, self.came)
    }
}

impl std::error::Error for InvalidOption {}

impl From<InvalidOption> for Error {
    fn from(_: InvalidOption) -> Error {
        Error::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_number_a_name_and_a_sentence_of_its_own() {
        let mut names = std::collections::HashSet::new();
        for error in Error::ALL {
            assert!(error.code() < 0);
            assert_eq!(Error::from_code(error.code()), Some(error));
            assert_ne!(error.name(), "unknown");
            assert!(names.insert(error.name()) && names.insert(error.text()));
            assert!(error.text().ends_with('.'));
        }
        assert_eq!(Error::from_code(0), None);
        assert_eq!(status_name(12345), c"unknown");
    }
}
