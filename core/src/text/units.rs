//! Text in the units of a host's strings, in memory of the host.

use super::shuffle;
use core::mem::MaybeUninit;

/// Bytes that are looked at together for being ASCII, and widened together.
const LOOKED_AT: usize = 16;

/// What a host's string is made of: `u8` (Latin-1), `u16` (UTF-16) or `u32` (UTF-32).
pub trait Unit: Copy + sealed::Sealed {}

impl Unit for u8 {}
impl Unit for u16 {}
impl Unit for u32 {}

pub(super) mod sealed {
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64 as x86;
    #[cfg(target_arch = "x86_64")]
    use core::mem::MaybeUninit;

    pub trait Sealed {
        /// Whether characters above U+FFFF are two units.
        const PAIRS: bool;
        /// The unit of this number, of which the upper bits are left away where it is too large.
        fn of(number: u32) -> Self;

        /// Stores eight numbers of 16 bits as units.
        ///
        /// # Safety
        /// There is room for eight units, and the processor has SSE 4.1.
        #[cfg(target_arch = "x86_64")]
        unsafe fn store_narrow(to: *mut MaybeUninit<Self>, numbers: x86::__m128i)
        where
            Self: Sized;

        /// Stores four numbers of 32 bits as units, of which the upper bits are left away where they are too large.
        ///
        /// # Safety
        /// As for the other.
        #[cfg(target_arch = "x86_64")]
        unsafe fn store_wide(to: *mut MaybeUninit<Self>, numbers: x86::__m128i)
        where
            Self: Sized;
    }

    impl Sealed for u8 {
        const PAIRS: bool = false;

        #[inline]
        fn of(number: u32) -> u8 {
            number.to_le_bytes()[0]
        }

        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "sse4.1")]
        unsafe fn store_narrow(to: *mut MaybeUninit<u8>, numbers: x86::__m128i) {
            let bytes = x86::_mm_and_si128(numbers, x86::_mm_set1_epi16(0xFF));
            // SAFETY: eight bytes, for which the caller has room.
            unsafe { x86::_mm_storel_epi64(to.cast(), x86::_mm_packus_epi16(bytes, bytes)) };
        }

        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "sse4.1")]
        unsafe fn store_wide(to: *mut MaybeUninit<u8>, numbers: x86::__m128i) {
            let bytes = x86::_mm_and_si128(numbers, x86::_mm_set1_epi32(0xFF));
            let pairs = x86::_mm_packus_epi32(bytes, bytes);
            // SAFETY: as above.
            unsafe { x86::_mm_storel_epi64(to.cast(), x86::_mm_packus_epi16(pairs, pairs)) };
        }
    }

    impl Sealed for u16 {
        const PAIRS: bool = true;

        #[inline]
        fn of(number: u32) -> u16 {
            let [first, second, ..] = number.to_le_bytes();
            u16::from_le_bytes([first, second])
        }

        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "sse4.1")]
        unsafe fn store_narrow(to: *mut MaybeUninit<u16>, numbers: x86::__m128i) {
            // SAFETY: sixteen bytes, for which the caller has room.
            unsafe { x86::_mm_storeu_si128(to.cast(), numbers) };
        }

        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "sse4.1")]
        unsafe fn store_wide(to: *mut MaybeUninit<u16>, numbers: x86::__m128i) {
            // SAFETY: eight bytes, as above.
            unsafe { x86::_mm_storel_epi64(to.cast(), x86::_mm_packus_epi32(numbers, numbers)) };
        }
    }

    impl Sealed for u32 {
        const PAIRS: bool = false;

        #[inline]
        fn of(number: u32) -> u32 {
            number
        }

        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "sse4.1")]
        unsafe fn store_narrow(to: *mut MaybeUninit<u32>, numbers: x86::__m128i) {
            let zero = x86::_mm_setzero_si128();
            // SAFETY: twice sixteen bytes, for which the caller has room.
            unsafe {
                x86::_mm_storeu_si128(to.cast(), x86::_mm_unpacklo_epi16(numbers, zero));
                x86::_mm_storeu_si128(to.add(4).cast(), x86::_mm_unpackhi_epi16(numbers, zero));
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "sse4.1")]
        unsafe fn store_wide(to: *mut MaybeUninit<u32>, numbers: x86::__m128i) {
            // SAFETY: sixteen bytes, as above.
            unsafe { x86::_mm_storeu_si128(to.cast(), numbers) };
        }
    }
}

/// Writes a text's units to the front of `target`, as far as there is room for whole characters. Says how many they
/// are, and whether that was all.
///
/// It goes over bytes and not over `char`s, which measured 1.3 to 2.5 times slower.
pub(super) fn write<U: Unit>(text: &str, target: &mut [MaybeUninit<U>]) -> (usize, bool) {
    let bytes = text.as_bytes();
    let (mut read, mut written) = shuffle::write(bytes, target);
    while read < bytes.len() {
        let ascii = ascii(&bytes[read..], &mut target[written..]);
        (read, written) = (read + ascii, written + ascii);
        // Not looked at as a whole again before so much is done: the next block would be no better.
        let stop = bytes.len().min(read + LOOKED_AT);
        while read < stop {
            let Some((number, length)) = character(&bytes[read..]) else {
                return (written, false); // never in a `str`
            };
            let Some(units) = put(number, &mut target[written..]) else {
                return (written, false);
            };
            (read, written) = (read + length, written + units);
        }
    }
    (written, true)
}

/// Writes a character's units to the front of `target`, and says how many; `None` where they have no room.
#[inline]
pub(super) fn put<U: Unit>(number: u32, target: &mut [MaybeUninit<U>]) -> Option<usize> {
    if U::PAIRS && number > 0xFFFF {
        let [first, second, ..] = target else { return None };
        first.write(U::of(0xD800 - (0x1_0000 >> 10) + (number >> 10)));
        second.write(U::of(0xDC00 | number & 0x3FF));
        return Some(2);
    }
    target.first_mut()?.write(U::of(number));
    Some(1)
}

/// Widens blocks of ASCII, and says how many bytes that were.
#[inline]
fn ascii<U: Unit>(bytes: &[u8], target: &mut [MaybeUninit<U>]) -> usize {
    let (blocks, places) = (bytes.as_chunks::<LOOKED_AT>().0, target.as_chunks_mut::<LOOKED_AT>().0);
    let mut done = 0;
    for (block, place) in blocks.iter().zip(places) {
        if !block.is_ascii() {
            break;
        }
        for (unit, &byte) in place.iter_mut().zip(block) {
            unit.write(U::of(u32::from(byte)));
        }
        done += LOOKED_AT;
    }
    done
}

/// The character at the front, and how many bytes it has.
#[inline]
pub(super) fn character(bytes: &[u8]) -> Option<(u32, usize)> {
    let low = |byte: u8| u32::from(byte & 0x3F);
    let first = u32::from(*bytes.first()?);
    match first {
        ..0x80 => Some((first, 1)),
        0x80..0xE0 => {
            let &[_, second] = bytes.first_chunk()?;
            Some(((first & 0x1F) << 6 | low(second), 2))
        }
        0xE0..0xF0 => {
            let &[_, second, third] = bytes.first_chunk()?;
            Some(((first & 0xF) << 12 | low(second) << 6 | low(third), 3))
        }
        _ => {
            let &[_, second, third, fourth] = bytes.first_chunk()?;
            Some(((first & 7) << 18 | low(second) << 12 | low(third) << 6 | low(fourth), 4))
        }
    }
}
