//! What a source may answer, and the adapters for Rust's own kinds of source.

use crate::error::Progress;
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
    /// Interrupted by a signal: ask again at once, which does not count as no progress (E24). Only descriptors say so.
    Interrupted,
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

/// What the caller of [`Collector::answer`](crate::Collector::answer) does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Ask the source again.
    Again,
    /// Return this.
    Stop(Progress),
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

/// A file descriptor, read by `read(2)`. `EAGAIN` is "nothing now"; any other error is the source's own, `-errno`. A
/// blocking read is not interrupted by a cancel object; a signal that interrupts it is (E24).
#[cfg(unix)]
pub struct Descriptor<'a> {
    fd: core::ffi::c_int,
    interrupted: &'a mut dyn FnMut() -> bool,
}

#[cfg(unix)]
impl core::fmt::Debug for Descriptor<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Descriptor")
            .field("fd", &self.fd)
            .finish_non_exhaustive()
    }
}

#[cfg(unix)]
impl<'a> Descriptor<'a> {
    /// A source over this descriptor, which stays the caller's. `interrupted` is asked when a signal interrupted the
    /// call: true stops the reading as if nothing more were there now (so that a host can raise what its handler
    /// wants), false goes on.
    pub fn new(fd: core::ffi::c_int, interrupted: &'a mut dyn FnMut() -> bool) -> Descriptor<'a> {
        Descriptor { fd, interrupted }
    }

    /// What a regular file has from where it stands to its end: a hint only, since files grow and shrink. `None` for
    /// anything else.
    #[must_use]
    pub fn size_hint(&self) -> Option<u64> {
        // SAFETY: fstat fills the struct it is given, and all of it is plain numbers for which zero is a value.
        let mut stat: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: as above; a descriptor that is not open is an error, no more.
        if unsafe { libc::fstat(self.fd, &raw mut stat) } != 0 || stat.st_mode & libc::S_IFMT != libc::S_IFREG {
            return None;
        }
        // SAFETY: lseek by 0 changes nothing.
        let position = unsafe { libc::lseek(self.fd, 0, libc::SEEK_CUR) };
        u64::try_from(stat.st_size.saturating_sub(position.max(0)))
            .ok()
            .filter(|&size| size > 0)
    }
}

// SAFETY: read(2) writes into the window only, and answers how many bytes it has written.
#[cfg(unix)]
unsafe impl Source for Descriptor<'_> {
    const CLEARED: bool = false;

    fn fill(&mut self, window: Window) -> Answer {
        // SAFETY: the window is writable over its room.
        let filled = unsafe { libc::read(self.fd, window.pointer.as_ptr().cast(), window.room) };
        if let Ok(filled) = usize::try_from(filled) {
            return Answer::filled(filled);
        }
        let then = match io::Error::last_os_error().raw_os_error().unwrap_or(-1) {
            libc::EINTR if (self.interrupted)() => Then::Pending,
            libc::EINTR => Then::Interrupted,
            libc::EAGAIN => Then::Pending,
            error => Then::Failed(-error),
        };
        Answer { filled: 0, then }
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
