//! UTF-16, in either byte order, cut anywhere; checked and turned into text by `encoding_rs`.

use super::Fault;
use super::decoder::{Place, REPLACEMENT};
use core::str;
use encoding_rs::mem;

/// Units that are decoded before their text is shown: in the nearest cache when it is copied on.
const UNITS_AT_ONCE: usize = 1024;
/// No unit makes more bytes of text; a character of four bytes is two units.
const MOST_PER_UNIT: usize = 3;

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
        let mut at = place.at - self.pending();
        // Units of the machine's own, aligned, in which the last push's rest comes first.
        let (mut units, mut count) = ([0; UNITS_AT_ONCE], 0);
        if let Some(lead) = self.lead.take() {
            (units[0], count) = (lead, 1);
        }
        if let (Some(odd), [second, behind @ ..]) = (self.odd, bytes) {
            units[count] = read16::<BIG>([odd, *second]);
            (self.odd, count, bytes) = (None, count + 1, behind);
        }
        let text = &mut [0; UNITS_AT_ONCE * MOST_PER_UNIT];
        let text = str::from_utf8_mut(text).unwrap_or_default(); // zeros are text
        loop {
            let (pairs, _) = bytes.as_chunks::<2>();
            let taken = pairs.len().min(UNITS_AT_ONCE - count);
            for (unit, &pair) in units[count..].iter_mut().zip(&pairs[..taken]) {
                *unit = read16::<BIG>(pair);
            }
            bytes = &bytes[2 * taken..];
            let ready = count + taken;
            self.lead = show(place, at, &units[..ready], text, visit)?;
            if bytes.len() < 2 {
                break;
            }
            count = 0;
            at += 2 * ready;
            if let Some(lead) = self.lead.take() {
                (units[0], count, at) = (lead, 1, at - 2);
            }
        }
        self.odd = bytes.first().copied().or(self.odd);
        Ok(())
    }
}

/// Shows the text of units of which the first is at offset `at`; the last one is returned if it needs a second one.
/// `text` is where it is made.
fn show<E: From<Fault>>(
    place: &Place,
    mut at: usize,
    mut units: &[u16],
    text: &mut str,
    visit: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<Option<u16>, E> {
    loop {
        let (valid, rest) = units.split_at(mem::utf16_valid_up_to(units));
        if !valid.is_empty() {
            let length = mem::convert_utf16_to_str(valid, text);
            visit(&text[..length])?;
            at += 2 * valid.len();
        }
        match rest {
            [] => return Ok(None),
            &[lead @ 0xD800..0xDC00] => return Ok(Some(lead)),
            [_alone, behind @ ..] => {
                place.fault(at)?;
                visit(REPLACEMENT)?;
                (at, units) = (at + 2, behind);
            }
        }
    }
}

#[inline]
pub(super) fn read16<const BIG: bool>(unit: [u8; 2]) -> u16 {
    match BIG {
        true => u16::from_be_bytes(unit),
        false => u16::from_le_bytes(unit),
    }
}
