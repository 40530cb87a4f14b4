//! What a source may answer, and the adapters for Rust's own kinds of source.

use core::ptr::NonNull;
use std::io;

/// The piece of writable memory that a source is asked to fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first byte.
    pub pointer: NonNull<u8>,
    /// Its length in bytes; never 0.
    pub room: usize,
    /// The token of the memory's piece that it lies in, for hosts that show their own object (0 in the side window).
    pub token: usize,
    /// Where in that piece it begins.
    pub offset: usize,
    /// Whether it lies in the collector's side window and not in a block (E10).
    pub side: bool,
}

/// What came with the bytes of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// Nothing else: go on. With 0 bytes it is the end of the body.
    Go,
    /// Nothing more now (E20).
    Pending,
    /// Interrupted: ask again at once (E20, E21).
    Retry,
    /// The source's own error, with its number (E20).
    Failed(i32),
    /// An answer that is none of these (E23).
    Unknown,
}

/// A source's answer: bytes that it put at the start of the window, and what came with them (E19, E20).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Bytes filled; more than the room is a breach of contract (E23).
    pub filled: usize,
    /// What came with them.
    pub then: Then,
}

impl Answer {
    /// `filled` bytes; 0 is the end.
    #[must_use]
    pub const fn filled(filled: usize) -> Answer {
        Answer { filled, then: Then::Go }
    }

    /// The end of the body.
    pub const END: Answer = Answer::filled(0);
    /// Nothing now.
    pub const PENDING: Answer = Answer {
        filled: 0,
        then: Then::Pending,
    };
    /// Interrupted; ask again at once.
    pub const RETRY: Answer = Answer {
        filled: 0,
        then: Then::Retry,
    };

    /// The answer of a C callback: its status and what it put in `*filled` (c-abi.md).
    #[must_use]
    pub const fn from_status(status: i32, filled: usize) -> Answer {
        let then = match status {
            0 => Then::Go,
            1 => Then::Pending,
            2 => Then::Retry,
            error if error < 0 => Then::Failed(error),
            _ => Then::Unknown,
        };
        Answer { filled, then }
    }
}

/// A source that is asked to fill windows (pull).
///
/// # Safety
/// `fill` writes only into the window, only during the call, and where `CLEARED` is false it has written every byte
/// that it claims in [`Answer::filled`].
pub unsafe trait Source {
    /// Whether windows are to be cleared before they are shown, so that the source may read them (E49). Interpreted
    /// code and safe Rust want true.
    const CLEARED: bool;

    /// Fills at most `window.room` bytes at the window's start and says how many.
    fn fill(&mut self, window: Window) -> Answer;

    /// Called after each answer was taken, whatever came of it, for sources whose window may have been kept by its
    /// viewer; see [`Collector::quarantine`](crate::Collector::quarantine).
    fn after(&mut self, collector: &mut crate::Collector) {
        let _ = collector;
    }
}

/// A closure over a cleared slice.
#[derive(Debug)]
pub struct FromFn<F>(pub F);

// SAFETY: the closure is given a slice of just the window, whose borrow ends with the call.
unsafe impl<F: FnMut(&mut [u8]) -> Answer> Source for FromFn<F> {
    const CLEARED: bool = true;

    fn fill(&mut self, window: Window) -> Answer {
        // SAFETY: the window is writable, cleared (so initialised), this long, and nobody else's during the call.
        (self.0)(unsafe { core::slice::from_raw_parts_mut(window.pointer.as_ptr(), window.room) })
    }
}

/// Any `std::io::Read`. `Interrupted` is asked again, `WouldBlock` is "nothing now", any other error is the source's
/// own: its raw system number negated (-1 where it has none), and the error itself stays in [`FromRead::error`].
#[derive(Debug)]
pub struct FromRead<R> {
    /// The reader.
    pub reader: R,
    /// The error that ended the body, to be taken by the caller.
    pub error: Option<io::Error>,
}

impl<R> FromRead<R> {
    /// A source over this reader.
    pub const fn new(reader: R) -> FromRead<R> {
        FromRead { reader, error: None }
    }
}

// SAFETY: the reader is given a slice of just the window, whose borrow ends with the call.
unsafe impl<R: io::Read> Source for FromRead<R> {
    const CLEARED: bool = true;

    fn fill(&mut self, window: Window) -> Answer {
        // SAFETY: the window is writable, cleared (so initialised), this long, and nobody else's during the call.
        let slice = unsafe { core::slice::from_raw_parts_mut(window.pointer.as_ptr(), window.room) };
        match self.reader.read(slice) {
            Ok(filled) => Answer::filled(filled),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => Answer::RETRY,
                io::ErrorKind::WouldBlock => Answer::PENDING,
                _ => {
                    let number = error.raw_os_error().map_or(-1, |number| -number.abs());
                    self.error = Some(error);
                    Answer {
                        filled: 0,
                        then: Then::Failed(number),
                    }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_c_callback_is_one_of_five_answers() {
        assert_eq!(Answer::from_status(0, 7), Answer::filled(7));
        assert_eq!(Answer::from_status(1, 0), Answer::PENDING);
        assert_eq!(Answer::from_status(2, 0), Answer::RETRY);
        assert_eq!(
            Answer::from_status(-5, 3),
            Answer {
                filled: 3,
                then: Then::Failed(-5)
            }
        );
        for status in [3, 4, i32::MAX] {
            assert_eq!(Answer::from_status(status, 0).then, Then::Unknown);
        }
    }
}
