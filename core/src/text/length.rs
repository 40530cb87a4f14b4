//! How many bytes of UTF-8 a text makes, where that follows from its units without decoding them.

use super::Encoding;
use super::encoding::Kind;
use super::utf16::read16;
use super::utf32::read32;

/// Units whose lengths, of 4 at most, are added up in 16 bits, so that a vector holds as many sums as units.
const ADDED_AT_ONCE: usize = 1024;

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
fn length16(unit: u16) -> u16 {
    u16::from(unit >= 0x80) + u16::from(unit >= 0x800) + u16::from(unit & 0xF800 != 0xD800)
}

#[inline]
fn length32(unit: u32) -> u16 {
    1 + u16::from(unit >= 0x80) + u16::from(unit >= 0x800) + u16::from(unit >= 0x10000)
}

/// Adds the lengths of all units up, those that are cut through too.
fn sum<'a, const N: usize>(segments: impl Iterator<Item = &'a [u8]>, length: impl Fn([u8; N]) -> u16) -> usize {
    let (mut begun, mut count, mut sum) = ([0; N], 0, 0_usize);
    for mut bytes in segments {
        if count > 0 {
            let (head, behind) = bytes.split_at(bytes.len().min(N - count));
            begun[count..count + head.len()].copy_from_slice(head);
            (count, bytes) = (count + head.len(), behind);
            if count < N {
                continue;
            }
            sum += usize::from(length(begun));
        }
        let (units, tail) = bytes.as_chunks::<N>();
        for units in units.chunks(ADDED_AT_ONCE) {
            // A check for overflow would keep the loop from being made one of vectors.
            let added = units.iter().fold(0_u16, |sum, &unit| sum.wrapping_add(length(unit)));
            sum += usize::from(added);
        }
        count = tail.len();
        begun[..count].copy_from_slice(tail);
    }
    sum
}
