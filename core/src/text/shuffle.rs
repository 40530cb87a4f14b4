//! UTF-8 to a host's units by shuffles of 16 bytes, on processors that have them.
//!
//! ```text
//! 64 bytes ─▶ a bit for each byte that ends a character
//! 12 of the bits ─▶ which shuffle spreads the first characters, and how many bytes those have
//!     6 characters of 1 or 2 bytes ─▶ 6 lanes of 16 bits, 4 of up to 3 bytes ─▶ 4 of 32, else one by one
//! ```
//!
//! Only the look-up of the next bits waits for the last one. Nothing is assumed of the bytes but that they are there: what
//! is no UTF-8 makes other units, never more of them.

use super::units::Unit;
use core::mem::MaybeUninit;

/// Bytes whose ends of characters are found together.
const BLOCK: usize = 64;

/// Writes as many units as it can to the front of `target`; says how many bytes they were, whole characters, and how many
/// units. What is left is for the caller, and that is all of it where the processor has no shuffles.
#[inline]
pub(super) fn write<U: Unit>(bytes: &[u8], target: &mut [MaybeUninit<U>]) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= 2 * BLOCK && std::is_x86_feature_detected!("sse4.1") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { x86::write(bytes, target) };
    }
    let _ = (bytes, target, BLOCK);
    (0, 0)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::units::{self, Unit};
    use super::BLOCK;
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_set1_epi16, _mm_set1_epi32, _mm_shuffle_epi8, _mm_srli_epi16, _mm_srli_epi32,
    };
    use core::mem::MaybeUninit;

    /// Bytes that a shuffle is chosen by, and the bits that say so. 16 bytes are loaded for it.
    const CHOSEN_BY: usize = 12;
    const CHOSEN: u64 = (1 << CHOSEN_BY) - 1;
    /// Units that a store writes, of which fewer may count.
    const STORED: usize = 8;
    /// Characters that a shuffle spreads: to lanes of 16 bits where none has more than 2 bytes, to lanes of 32 where none
    /// has more than 3.
    const NARROW: usize = 6;
    const WIDE: usize = 4;
    /// Shuffles of the first kind, two lengths of six characters, and of both: three of four.
    const NARROW_SHUFFLES: usize = 64;
    const SHUFFLES: usize = NARROW_SHUFFLES + 81;
    /// The place of a shuffle that there is none for.
    const NONE: u8 = u8::MAX;

    /// By the ends of characters among 12 bytes: which shuffle, and how many bytes it spreads.
    static CHOICES: [(u8, u8); 1 << CHOSEN_BY] = choices();
    static SPREADS: [[u8; 16]; SHUFFLES] = spreads();

    /// The lengths of the first characters; 0 where the bits end before.
    const fn lengths(ends: usize) -> [usize; NARROW] {
        let (mut lengths, mut from, mut found) = ([0; NARROW], 0, 0);
        let mut at = 0;
        while at < CHOSEN_BY && found < NARROW {
            if ends >> at & 1 == 1 {
                lengths[found] = at + 1 - from;
                (from, found) = (at + 1, found + 1);
            }
            at += 1;
        }
        lengths
    }

    /// Where the shuffle for `count` characters of at most `longest` bytes lies among its kind, and how many bytes they
    /// have; `None` where one of them is longer or missing.
    const fn place(lengths: &[usize; NARROW], count: usize, longest: usize) -> Option<(usize, usize)> {
        let (mut place, mut bytes, mut factor, mut at) = (0, 0, 1, 0);
        while at < count {
            if lengths[at] == 0 || lengths[at] > longest {
                return None;
            }
            place += (lengths[at] - 1) * factor;
            bytes += lengths[at];
            (factor, at) = (factor * longest, at + 1);
        }
        Some((place, bytes))
    }

    #[allow(clippy::cast_possible_truncation, reason = "fewer than 256 shuffles, of 12 bytes")]
    const fn choices() -> [(u8, u8); 1 << CHOSEN_BY] {
        let mut choices = [(NONE, 0); 1 << CHOSEN_BY];
        let mut ends = 0;
        while ends < choices.len() {
            let lengths = lengths(ends);
            if let Some((place, bytes)) = place(&lengths, NARROW, 2) {
                choices[ends] = (place as u8, bytes as u8);
            } else if let Some((place, bytes)) = place(&lengths, WIDE, 3) {
                choices[ends] = ((NARROW_SHUFFLES + place) as u8, bytes as u8);
            }
            ends += 1;
        }
        choices
    }

    /// Each lane has its character's bytes, the last one lowest, and zeros.
    #[allow(clippy::cast_possible_truncation, reason = "places among 16 bytes")]
    const fn spreads() -> [[u8; 16]; SHUFFLES] {
        let mut spreads = [[0x80; 16]; SHUFFLES]; // a place with its upper bit set is a zero
        let mut which = 0;
        while which < SHUFFLES {
            let narrow = which < NARROW_SHUFFLES;
            let (count, longest, width) = if narrow { (NARROW, 2, 2) } else { (WIDE, 3, 4) };
            let mut rest = if narrow { which } else { which - NARROW_SHUFFLES };
            let (mut from, mut lane) = (0, 0);
            while lane < count {
                let length = rest % longest + 1;
                let mut byte = 0;
                while byte < length {
                    spreads[which][lane * width + byte] = (from + length - 1 - byte) as u8;
                    byte += 1;
                }
                (rest, from, lane) = (rest / longest, from + length, lane + 1);
            }
            which += 1;
        }
        spreads
    }

    #[target_feature(enable = "sse4.1")]
    #[allow(clippy::cast_possible_truncation, reason = "twelve bits are an index")]
    pub(super) fn write<U: Unit>(bytes: &[u8], target: &mut [MaybeUninit<U>]) -> (usize, usize) {
        let (mut read, mut written) = (0, 0);
        // A shuffle that begins within a block loads 16 bytes from there, so one block more must be there.
        while bytes.len() - read >= 2 * BLOCK && target.len() - written >= BLOCK + STORED {
            let block = &bytes[read..read + 2 * BLOCK];
            let continued = continued(block);
            if continued == 0 && block[..BLOCK].is_ascii() {
                for (unit, &byte) in target[written..written + BLOCK].iter_mut().zip(block) {
                    unit.write(U::of(u32::from(byte)));
                }
                (read, written) = (read + BLOCK, written + BLOCK);
                continue;
            }
            // Byte i ends a character where byte i + 1 begins one.
            let mut ends = !continued >> 1;
            let mut at = 0;
            while at + CHOSEN_BY < BLOCK {
                let (which, length) = CHOICES[(ends & CHOSEN) as usize];
                if which == NONE {
                    let Some((units, length)) = one(&block[at..], &mut target[written..]) else {
                        return (read + at, written);
                    };
                    (written, at, ends) = (written + units, at + length, ends >> length);
                    continue;
                }
                // SAFETY: 16 bytes from `at` on are in the two blocks, since `at` is below BLOCK.
                let here = unsafe { _mm_loadu_si128(block.as_ptr().add(at).cast()) };
                // SAFETY: an array of 16 bytes.
                let spread = unsafe { _mm_loadu_si128(SPREADS[usize::from(which)].as_ptr().cast()) };
                let spread = _mm_shuffle_epi8(here, spread);
                // SAFETY: a block makes no more units than it has bytes, and had room for so many and STORED.
                let to = unsafe { target.as_mut_ptr().add(written) };
                if usize::from(which) < NARROW_SHUFFLES {
                    let last = _mm_and_si128(spread, _mm_set1_epi16(0x7F));
                    let first = _mm_and_si128(spread, _mm_set1_epi16(0x1F00));
                    // SAFETY: there is room for STORED units, as said above.
                    unsafe { U::store_narrow(to, _mm_or_si128(last, _mm_srli_epi16(first, 2))) };
                    written += NARROW;
                } else {
                    let last = _mm_and_si128(spread, _mm_set1_epi32(0x7F));
                    let middle = _mm_and_si128(spread, _mm_set1_epi32(0x3F00));
                    let first = _mm_and_si128(spread, _mm_set1_epi32(0x000F_0000));
                    let upper = _mm_or_si128(_mm_srli_epi32(middle, 2), _mm_srli_epi32(first, 4));
                    // SAFETY: as above.
                    unsafe { U::store_wide(to, _mm_or_si128(last, upper)) };
                    written += WIDE;
                }
                (at, ends) = (at + usize::from(length), ends >> length);
            }
            read += at;
        }
        (read, written)
    }

    /// One character by itself: its units, and its bytes.
    #[inline]
    fn one<U: Unit>(bytes: &[u8], target: &mut [MaybeUninit<U>]) -> Option<(usize, usize)> {
        let (number, length) = units::character(bytes)?;
        Some((units::put(number, target)?, length))
    }

    /// Which of the first 64 bytes do not begin a character.
    #[inline]
    #[target_feature(enable = "sse4.1")]
    #[allow(clippy::cast_sign_loss, reason = "bits")]
    fn continued(block: &[u8]) -> u64 {
        let mut bits = 0;
        for (index, sixteen) in block[..BLOCK].as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: an array of 16 bytes.
            let sixteen: __m128i = unsafe { _mm_loadu_si128(sixteen.as_ptr().cast()) };
            // As signed numbers, 0x80 to 0xBF are those below 0xC0.
            let here = _mm_movemask_epi8(_mm_cmplt_epi8(sixteen, _mm_set1_epi8(-64))) as u32;
            bits |= u64::from(here) << (16 * index);
        }
        bits
    }
}
