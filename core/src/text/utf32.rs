//! UTF-32, in either byte order, cut anywhere.

use super::Fault;
use super::decoder::Place;
use core::str;

/// Units that are decoded before their text is shown: in the nearest cache when it is copied on.
const UNITS_AT_ONCE: usize = 1024;
/// No character has more bytes of text.
const MOST_PER_UNIT: usize = 4;

/// Decoded text that has not been shown yet.
struct Decoded {
    bytes: [u8; UNITS_AT_ONCE * MOST_PER_UNIT],
    used: usize,
}

impl Decoded {
    fn new() -> Decoded {
        Decoded {
            bytes: [0; UNITS_AT_ONCE * MOST_PER_UNIT],
            used: 0,
        }
    }

    #[inline]
    fn add(&mut self, character: char) {
        self.used += character.encode_utf8(&mut self.bytes[self.used..]).len();
    }

    fn show<E>(&mut self, visit: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if self.used > 0 {
            // SAFETY: only `add` writes, and what it counts are whole characters.
            visit(unsafe { str::from_utf8_unchecked(&self.bytes[..self.used]) })?;
            self.used = 0;
        }
        Ok(())
    }
}

/// UTF-32; `BIG` says in which byte order. A unit that is no character is one fault, and so are up to three bytes at
/// the end: the Encoding Standard has no UTF-32, and Python does the same.
#[derive(Default)]
pub(super) struct Utf32<const BIG: bool> {
    begun: [u8; 4],
    count: usize,
}

impl<const BIG: bool> Utf32<BIG> {
    /// Bytes of the unit that is not complete.
    pub(super) fn pending(&self) -> usize {
        self.count
    }

    pub(super) fn push<E: From<Fault>>(
        &mut self,
        place: &Place,
        mut bytes: &[u8],
        visit: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut decoded = Decoded::new();
        let mut at = place.at;
        if self.count > 0 {
            let (head, behind) = bytes.split_at(bytes.len().min(4 - self.count));
            self.begun[self.count..self.count + head.len()].copy_from_slice(head);
            self.count += head.len();
            if self.count < 4 {
                return Ok(());
            }
            (self.count, bytes, at) = (0, behind, at + head.len());
            unit32::<BIG>(place, at - 4, self.begun, &mut decoded)?;
        }
        let (units, tail) = bytes.as_chunks::<4>();
        for units in units.chunks(UNITS_AT_ONCE - 1) {
            for &unit in units {
                unit32::<BIG>(place, at, unit, &mut decoded)?;
                at += 4;
            }
            decoded.show(visit)?;
        }
        decoded.show(visit)?;
        self.count = tail.len();
        self.begun[..tail.len()].copy_from_slice(tail);
        Ok(())
    }
}

/// Decodes the unit at offset `at`.
#[inline]
fn unit32<const BIG: bool>(place: &Place, at: usize, unit: [u8; 4], decoded: &mut Decoded) -> Result<(), Fault> {
    match char::from_u32(read32::<BIG>(unit)) {
        Some(character) => decoded.add(character),
        None => {
            place.fault(at)?;
            decoded.add(char::REPLACEMENT_CHARACTER);
        }
    }
    Ok(())
}

#[inline]
pub(super) fn read32<const BIG: bool>(unit: [u8; 4]) -> u32 {
    match BIG {
        true => u32::from_be_bytes(unit),
        false => u32::from_le_bytes(unit),
    }
}
