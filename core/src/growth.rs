//! How large the next piece of memory is: pure arithmetic, no memory and no I/O.

/// The largest step of a list of blocks, and the largest block that a growing list asks for by itself. Doubling
/// without an end would hold up to twice the body; with 8 MiB a list of 100 MB has 20 blocks and at most 8 % waste.
pub(crate) const LARGEST_STEP: usize = 8 << 20;

/// The most bytes that are moved once more when a body outgrows its small first block (invariant 1).
pub(crate) const MOST_MOVED: usize = 256 << 10;

/// The first step of a body that is known to be large, and of a block that grows in place.
pub(crate) const LARGE_STEP: usize = 256 << 10;

/// The first size of an exact result that grows by reallocating, once the small first block is outgrown.
pub(crate) const FIRST_EXACT: usize = 64 << 10;

/// An exact result that grows and has so many bytes is seen to end before it grows again: its next step is 32 MiB, for which
/// glibc leaves the heap.
pub(crate) const LOOKS_ASIDE_FROM: usize = 16 << 20;

/// The smallest window that nearly full memory may lead to (E12), and the size of the side window (E10).
pub(crate) const LEAST_WINDOW: usize = 4 << 10;

/// The first window shown to interpreted code or safe Rust; from there at most twice what has come (E12).
const FIRST_RAMP: u64 = 16 << 10;

/// A count of bytes as a size of memory; more than the address space becomes the largest size, which no memory has.
#[expect(clippy::cast_possible_truncation, reason = "at most isize::MAX in that branch")]
pub(crate) const fn size(bytes: u64) -> usize {
    if bytes > isize::MAX as u64 {
        isize::MAX.unsigned_abs()
    } else {
        bytes as usize
    }
}

/// The size of the first block (E3, E4, E6, E7, E8): all of what was announced where that is at most `max_prealloc`,
/// a first step of a large body where it is more, `first_block` where nothing was announced.
pub(crate) fn first(announced: Option<u64>, max_prealloc: u64, first_block: u64) -> usize {
    match announced {
        None | Some(0) => size(first_block),
        Some(announced) if announced <= max_prealloc => size(announced),
        Some(_) => size(first_block.max(max_prealloc.min(LARGE_STEP as u64))),
    }
}

/// The size of the next block of a list whose last one has `last` bytes: doubling, up to a cap (never below it).
pub(crate) fn next(last: usize, first_block: u64, need: usize) -> usize {
    last.saturating_mul(2)
        .min(LARGEST_STEP)
        .max(size(first_block))
        .max(need)
}

/// How many bytes of a growing block are granted so that `need` fit: doubling, at most `reserve`. 0 when `need` is
/// beyond the reserve.
pub(crate) fn grant(granted: usize, need: usize, reserve: usize) -> usize {
    if need > reserve {
        return 0;
    }
    granted
        .saturating_mul(2)
        .max(LARGE_STEP)
        .max(need.checked_next_power_of_two().unwrap_or(need))
        .min(reserve)
}

/// The most bytes of a window for interpreted code (E12).
pub(crate) fn ramp(received: u64) -> u64 {
    received.saturating_mul(2).max(FIRST_RAMP)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_first_block_follows_the_announcement_up_to_max_prealloc() {
        let table = [
            // announced, max_prealloc, first_block, expected
            (None, 16 * MIB, 16384, 16384),
            (Some(0), 16 * MIB, 16384, 16384),
            (Some(1), 16 * MIB, 16384, 1),
            (Some(100_000), 16 * MIB, 16384, 100_000),
            (Some(16 * MIB), 16 * MIB, 16384, 16 << 20),
            (Some(16 * MIB + 1), 16 * MIB, 16384, LARGE_STEP),
            (Some(u64::MAX), 16 * MIB, 16384, LARGE_STEP),
            (Some(1 << 40), 0, 16384, 16384),
            (Some(1 << 40), 100, 1 << 30, 1 << 30),
        ];
        for (announced, max_prealloc, first_block, expected) in table {
            assert_eq!(
                first(announced, max_prealloc, first_block),
                expected,
                "{announced:?} {max_prealloc}"
            );
        }
    }

    #[test]
    fn a_list_doubles_up_to_its_cap_and_always_fits_what_is_needed() {
        let mut size = 16384;
        let mut sizes = vec![];
        for _ in 0..12 {
            size = next(size, 16384, 1);
            sizes.push(size);
        }
        assert_eq!(&sizes[..3], &[32768, 65536, 131_072]);
        assert_eq!(sizes[11], LARGEST_STEP);
        assert_eq!(next(16384, 16384, 50 << 20), 50 << 20);
        assert_eq!(next(3, 16384, 1), 16384);
        assert_eq!(next(usize::MAX, 16384, 1), LARGEST_STEP);
    }

    #[test]
    fn a_growing_block_doubles_up_to_its_reserve() {
        let reserve = 256 << 20;
        assert_eq!(grant(0, 1, reserve), LARGE_STEP);
        assert_eq!(grant(LARGE_STEP, LARGE_STEP + 1, reserve), 2 * LARGE_STEP);
        assert_eq!(grant(LARGE_STEP, 3 << 20, reserve), 4 << 20);
        assert_eq!(grant(200 << 20, 201 << 20, reserve), reserve);
        assert_eq!(grant(reserve, reserve + 1, reserve), 0);
        assert_eq!(grant(reserve, usize::MAX, usize::MAX), usize::MAX);
    }

    #[test]
    fn windows_for_interpreted_code_start_small_and_ramp_with_what_came() {
        assert_eq!(ramp(0), 16384);
        assert_eq!(ramp(8192), 16384);
        assert_eq!(ramp(100_000), 200_000);
        assert_eq!(ramp(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_size_beyond_the_address_space_is_one_that_no_memory_has() {
        assert_eq!(size(u64::MAX), isize::MAX.unsigned_abs());
        assert_eq!(size(5), 5);
    }
}
