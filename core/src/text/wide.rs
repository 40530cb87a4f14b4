//! UTF-16 and UTF-32, in either byte order, cut anywhere.

use super::decoder::Place;
use super::encoding::Kind;
use super::{Encoding, Fault};
use core::str;

/// Units that are decoded before their text is shown: in the nearest cache when it is copied on.
const UNITS_AT_ONCE: usize = 1024;
/// No unit makes more bytes of text than this; a character of four bytes is two units of UTF-16, and of UTF-32 one.
const MOST_PER_UNIT: usize = 4;
/// Units that are looked at together for being ASCII.
const LOOKED_AT: usize = 16;

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

    /// A unit of UTF-16 that is a character by itself, without a branch that text of mixed widths would mispredict.
    #[inline]
    fn add_unit(&mut self, unit: u16) {
        let unit = u32::from(unit);
        let tail = (0x80 | unit & 0x3F) << 8;
        let (count, bytes) = match unit {
            ..0x80 => (1, unit),
            0x80..0x800 => (2, 0xC0 | unit >> 6 | tail),
            _ => (3, 0xE0 | unit >> 12 | (0x80 | unit >> 6 & 0x3F) << 8 | tail << 8),
        };
        self.bytes[self.used..self.used + 4].copy_from_slice(&bytes.to_le_bytes());
        self.used += count;
    }

    fn add_ascii(&mut self, ascii: &[u8; LOOKED_AT]) {
        self.bytes[self.used..self.used + LOOKED_AT].copy_from_slice(ascii);
        self.used += LOOKED_AT;
    }

    fn show<E>(&mut self, visit: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if self.used > 0 {
            // SAFETY: only the three functions above write, and what they count are whole characters: `add_unit` is given
            // none of the surrogates, and `add_ascii` nothing but ASCII (see where they are called).
            visit(unsafe { str::from_utf8_unchecked(&self.bytes[..self.used]) })?;
            self.used = 0;
        }
        Ok(())
    }
}

/// UTF-16; `BIG` says in which byte order.
#[derive(Default)]
pub(super) struct Utf16<const BIG: bool> {
    /// The first byte of a unit that was cut through.
    odd: Option<u8>,
    /// A unit that needs a second one.
    lead: Option<u16>,
}

impl<const BIG: bool> Utf16<BIG> {
    /// Bytes of the character that is not complete: the end makes one fault of them.
    pub(super) fn pending(&self) -> usize {
        usize::from(self.odd.is_some()) + 2 * usize::from(self.lead.is_some())
    }

    pub(super) fn push<E: From<Fault>>(
        &mut self,
        place: &Place,
        mut bytes: &[u8],
        visit: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut decoded = Decoded::new();
        let mut at = place.at;
        if let (Some(odd), [second, behind @ ..]) = (self.odd, bytes) {
            (self.odd, bytes) = (None, behind);
            self.unit(place, at - 1, read16::<BIG>([odd, *second]), &mut decoded)?;
            at += 1;
        }
        let (units, tail) = bytes.as_chunks::<2>();
        for units in units.chunks(UNITS_AT_ONCE - 1) {
            self.units(place, at, units, &mut decoded)?;
            decoded.show(visit)?;
            at += 2 * units.len();
        }
        decoded.show(visit)?;
        self.odd = tail.first().copied().or(self.odd);
        Ok(())
    }

    fn units(&mut self, place: &Place, at: usize, units: &[[u8; 2]], decoded: &mut Decoded) -> Result<(), Fault> {
        let (blocks, rest) = units.as_chunks::<LOOKED_AT>();
        for (index, block) in blocks.iter().enumerate() {
            let block = block.map(read16::<BIG>);
            let all = block.iter().fold(0, |all, unit| all | unit);
            if all < 0x80 && self.lead.is_none() {
                decoded.add_ascii(&block.map(|unit| (unit & 0x7F) as u8));
                continue;
            }
            let surrogates = block.iter().fold(false, |any, unit| any | (unit & 0xF800 == 0xD800));
            if !surrogates && self.lead.is_none() {
                block.into_iter().for_each(|unit| decoded.add_unit(unit));
                continue;
            }
            for (within, unit) in block.into_iter().enumerate() {
                self.unit(place, at + 2 * (index * LOOKED_AT + within), unit, decoded)?;
            }
        }
        let at = at + 2 * LOOKED_AT * blocks.len();
        for (index, &unit) in rest.iter().enumerate() {
            self.unit(place, at + 2 * index, read16::<BIG>(unit), decoded)?;
        }
        Ok(())
    }

    /// Decodes the unit at offset `at`.
    #[inline]
    fn unit(&mut self, place: &Place, at: usize, unit: u16, decoded: &mut Decoded) -> Result<(), Fault> {
        if let Some(lead) = self.lead.take() {
            if matches!(unit, 0xDC00..0xE000) {
                let above = (u32::from(lead) & 0x3FF) << 10 | (u32::from(unit) & 0x3FF);
                decoded.add(char::from_u32(0x10000 + above).unwrap_or(char::REPLACEMENT_CHARACTER)); // always is one
                return Ok(());
            }
            // The lead stands alone, and this unit for itself.
            place.fault(at - 2)?;
            decoded.add(char::REPLACEMENT_CHARACTER);
        }
        match char::from_u32(u32::from(unit)) {
            Some(character) => decoded.add(character),
            None if unit < 0xDC00 => self.lead = Some(unit),
            None => {
                place.fault(at)?;
                decoded.add(char::REPLACEMENT_CHARACTER);
            }
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
fn read16<const BIG: bool>(unit: [u8; 2]) -> u16 {
    match BIG {
        true => u16::from_be_bytes(unit),
        false => u16::from_le_bytes(unit),
    }
}

#[inline]
fn read32<const BIG: bool>(unit: [u8; 4]) -> u32 {
    match BIG {
        true => u32::from_be_bytes(unit),
        false => u32::from_le_bytes(unit),
    }
}

/// How many bytes the text has as UTF-8, if nothing is wrong with it; `None` for an encoding whose units are bytes.
pub(super) fn utf8_length<'a>(encoding: Encoding, segments: impl Iterator<Item = &'a [u8]>) -> Option<usize> {
    match encoding.0 {
        Kind::Utf16Le => Some(sum(segments, |unit| length16(read16::<false>(unit)))),
        Kind::Utf16Be => Some(sum(segments, |unit| length16(read16::<true>(unit)))),
        Kind::Utf32Le => Some(sum(segments, |unit| length32(read32::<false>(unit)))),
        Kind::Utf32Be => Some(sum(segments, |unit| length32(read32::<true>(unit)))),
        _ => None,
    }
}

/// Half of a character of four bytes has two.
#[inline]
fn length16(unit: u16) -> u32 {
    u32::from(unit >= 0x80) + u32::from(unit >= 0x800) + u32::from(unit & 0xF800 != 0xD800)
}

#[inline]
fn length32(unit: u32) -> u32 {
    1 + u32::from(unit >= 0x80) + u32::from(unit >= 0x800) + u32::from(unit >= 0x10000)
}

/// Adds the lengths of all units up, those that are cut through too.
fn sum<'a, const N: usize>(segments: impl Iterator<Item = &'a [u8]>, length: impl Fn([u8; N]) -> u32) -> usize {
    let (mut begun, mut count, mut sum) = ([0; N], 0, 0_usize);
    for mut bytes in segments {
        if count > 0 {
            let (head, behind) = bytes.split_at(bytes.len().min(N - count));
            begun[count..count + head.len()].copy_from_slice(head);
            (count, bytes) = (count + head.len(), behind);
            if count < N {
                continue;
            }
            sum += length(begun) as usize;
        }
        let (units, tail) = bytes.as_chunks::<N>();
        for units in units.chunks(UNITS_AT_ONCE) {
            // At most 4 each; a check for overflow would keep the loop from being made one of vectors.
            sum += units.iter().fold(0_u32, |sum, &unit| sum.wrapping_add(length(unit))) as usize;
        }
        count = tail.len();
        begun[..count].copy_from_slice(tail);
    }
    sum
}
