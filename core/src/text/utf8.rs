//! UTF-8: checked where it lies, and shown from there.

use super::decoder::{Place, REPLACEMENT, Visit};
use super::{Fault, fetch};
use core::str;

/// Bytes that are checked before they are shown, so that whoever copies them finds them in the cache.
const CHECKED_AT_ONCE: usize = 8 << 10;
/// The same where the next ones are fetched meanwhile.
const FETCHED_AT_ONCE: usize = 2 << 10;

/// The bytes of a character that is not complete yet.
#[derive(Default)]
pub(super) struct Utf8 {
    begun: [u8; 4],
    count: usize,
}

impl Utf8 {
    /// Bytes of the character that is not complete.
    pub(super) fn pending(&self) -> usize {
        self.count
    }

    pub(super) fn push<E: From<Fault>>(
        &mut self,
        place: &Place,
        bytes: &[u8],
        visitor: &mut impl Visit<E>,
    ) -> Result<(), E> {
        let mut done = self.complete(place, bytes, visitor)?;
        let fetches = fetch::pays();
        let at_once = if fetches { FETCHED_AT_ONCE } else { CHECKED_AT_ONCE };
        while done < bytes.len() {
            let rest = &bytes[done..];
            let chunk = &rest[..rest.len().min(at_once)];
            if fetches {
                let behind = &rest[chunk.len()..];
                fetch::to_read(behind.as_ptr(), behind.len().min(at_once));
            }
            // Cut before a character that goes on behind the chunk, so that the fast check can say yes.
            let whole = &chunk[..chunk.len() - cut_through(chunk)];
            if !whole.is_empty() && visitor.unchecked(whole) {
                done += whole.len();
                continue;
            }
            if !whole.is_empty()
                && let Some(text) = checked(whole)
            {
                visitor.text(text)?;
                done += whole.len();
                continue;
            }
            // Faults, or nothing but the beginning of a character.
            let last = chunk.len() == rest.len();
            let used = Utf8::slow(place, chunk, place.at + done, visitor)?;
            done += used;
            if last && done < bytes.len() {
                self.count = bytes.len() - done;
                self.begun[..self.count].copy_from_slice(&bytes[done..]);
                break;
            }
        }
        Ok(())
    }

    /// Completes the character that the last call left, or finds that it cannot be; says how many bytes that took.
    fn complete<E: From<Fault>>(
        &mut self,
        place: &Place,
        bytes: &[u8],
        visitor: &mut impl Visit<E>,
    ) -> Result<usize, E> {
        let mut taken = 0;
        while self.count > 0 && taken < bytes.len() {
            self.begun[self.count] = bytes[taken];
            match str::from_utf8(&self.begun[..=self.count]) {
                Ok(text) => {
                    visitor.text(text)?;
                    self.count = 0;
                    taken += 1;
                }
                Err(error) if error.error_len().is_none() => {
                    self.count += 1;
                    taken += 1;
                }
                Err(_) => {
                    // The new byte is none of this character's and begins the next one.
                    place.fault(place.at + taken - self.count)?;
                    visitor.text(REPLACEMENT)?;
                    self.count = 0;
                }
            }
        }
        Ok(taken)
    }

    /// Shows a chunk with faults, which begins at offset `at`, up to a character that it cuts through; says how many
    /// bytes that were.
    fn slow<E: From<Fault>>(place: &Place, chunk: &[u8], at: usize, visitor: &mut impl Visit<E>) -> Result<usize, E> {
        let mut done = 0;
        for piece in chunk.utf8_chunks() {
            if !piece.valid().is_empty() {
                visitor.text(piece.valid())?;
                done += piece.valid().len();
            }
            let fault = piece.invalid();
            if fault.is_empty() || (done + fault.len() == chunk.len() && is_begun(fault)) {
                break;
            }
            place.fault(at + done)?;
            visitor.text(REPLACEMENT)?;
            done += fault.len();
        }
        Ok(done)
    }
}

/// The bytes as text, if nothing is wrong with them.
#[cfg(feature = "simdutf")]
fn checked(bytes: &[u8]) -> Option<&str> {
    // SAFETY: they were checked.
    simdutf::validate_utf8(bytes).then(|| unsafe { str::from_utf8_unchecked(bytes) })
}

#[cfg(not(feature = "simdutf"))]
fn checked(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// Whether the bytes are the beginning of a character, and nothing is wrong with them but that they end.
fn is_begun(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

/// How many bytes at the end are the beginning of a character that lacks bytes.
fn cut_through(bytes: &[u8]) -> usize {
    let lacks = |(back, &byte): (usize, &u8)| match byte {
        0xC0.. => Some(usize::from(byte.leading_ones() as usize > back + 1) * (back + 1)),
        0x80.. => None, // one in the middle: look before it
        _ => Some(0),
    };
    bytes.iter().rev().take(3).enumerate().find_map(lacks).unwrap_or(0)
}
