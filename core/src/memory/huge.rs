//! Huge pages for memory that is fresh and large: touching 100 MB took 46 ms in pages of 4 KiB and 7 ms in pages of
//! 2 MiB (2 cores, KVM guest, THP=madvise, 2026-11). Advice only: where the system gives none, nothing changes.
//!
//! Off for a process by `prctl(PR_SET_THP_DISABLE)`, for a pool by heap blocks (`MemoryRef::heap`), for exact results by
//! an allocator of the caller's own.

use core::ptr::NonNull;

/// The size of a huge page on the platforms that this is built for.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Blocks that grow ask for huge pages from here on: advice on a whole fresh range costs 2 MiB resident per body (1000
/// bodies of 1 byte: 2000 MiB and 4.8 s; without: 3 MiB and 5 ms, measured by a spike).
pub(crate) const HUGE_FROM: usize = 4 << 20;

/// Advises the whole huge pages that lie in this memory.
#[cfg(target_os = "linux")]
pub(super) fn advise(from: NonNull<u8>, length: usize) {
    let start = from.addr().get().next_multiple_of(HUGE_PAGE);
    let end = (from.addr().get() + length) / HUGE_PAGE * HUGE_PAGE;
    if start < end {
        // SAFETY: start..end lies in the memory, whose owner calls; the advice changes no byte.
        unsafe {
            libc::madvise(
                core::ptr::with_exposed_provenance_mut(start),
                end - start,
                libc::MADV_HUGEPAGE,
            )
        };
    }
}

/// Advises a whole mapping, so that it stays one.
///
/// # Safety
/// `length` bytes from `start`, which begins a page, are mapped and the caller's own.
pub(super) unsafe fn advise_all(start: NonNull<u8>, length: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the caller owns the mapping; the advice changes no byte.
    unsafe {
        libc::madvise(start.as_ptr().cast(), length, libc::MADV_HUGEPAGE)
    };
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
}

#[cfg(all(test, target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod tests {
    use crate::memory::MemoryRef;

    /// Whether the mapping in which the byte lies has the advice (`hg` among its flags).
    fn is_advised(byte: *const u8) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux");
        let mut inside = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((from, to)) = range
                && let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
            {
                inside = (from..to).contains(&byte.addr());
            } else if inside && line.starts_with("VmFlags:") {
                return line.split(' ').any(|flag| flag == "hg");
            }
        }
        false
    }

    #[test]
    fn only_what_has_arrived_beyond_4_mib_and_large_mappings_of_malloc_are_advised() {
        let memory = MemoryRef::system();
        let mut range = memory.allocate(100_000, 64).expect("memory");
        let at = |offset: usize| range.pointer.as_ptr().wrapping_add(offset);
        assert!(!is_advised(at(0)) && !is_advised(at(5 << 20)));
        // SAFETY: it came from this memory above, and reserves more than that.
        assert!(unsafe { memory.grow(&mut range, 16 << 20) });
        let at = |offset: usize| range.pointer.as_ptr().wrapping_add(offset);
        assert!(!is_advised(at(0)) && is_advised(at(7 << 20)) && !is_advised(at(20 << 20)));
        // SAFETY: as above.
        unsafe { memory.deallocate(range) };

        for (memory, align, size, advised) in [
            (MemoryRef::malloc(), 16, 64 << 20, true),
            (MemoryRef::malloc(), 16, 16 << 20, false),
            (MemoryRef::heap(), 64, 64 << 20, false),
        ] {
            let piece = memory.allocate(size, align).expect("memory");
            assert_eq!(
                is_advised(piece.pointer.as_ptr().wrapping_add(size / 2)),
                advised,
                "{size}"
            );
            // SAFETY: it came from this memory above.
            unsafe { memory.deallocate(piece) };
        }
    }
}
