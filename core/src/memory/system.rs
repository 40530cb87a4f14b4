//! The default memory: small blocks from the heap, large ones as ranges of address space that become writable in
//! growing steps as data arrives. A body of any size then lies in one contiguous range and grows without a copy.
//!
//! ```text
//! pointer          dirty / touched        capacity                       reserve
//! |■■■■■■■■■■■■■■■■■■■■|░░░░░░░░░░░░░░░░░░░░░|...............................|
//!  resident             writable, no pages   PROT_NONE, costs address space only
//! ```

use super::{HEAP, Memory, Profile, Raw, huge};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Small blocks from the heap, growing ranges above.
#[derive(Debug)]
pub(super) struct System;

/// The default memory of pools.
pub(super) static SYSTEM: System = System;

/// Address space of one range. A cold range costs 13 us for mmap and munmap where GiBs are reserved and 6.4 where
/// 64 MiB are (measured by a spike, 2 cores, KVM guest); 256 MiB keeps most bodies in one piece.
const RANGE: usize = 256 << 20;
/// The most ranges at once. Each takes two mappings of the process' 65530 (`vm.max_map_count`), and together they
/// reserve 1 TiB of the 128 TiB there are; more bodies than that at once lie in lists of heap blocks.
const MOST_RANGES: usize = 4096;
/// The first writable step; further ones double. mprotect in doubling steps from here took 61 us for 100 MB, in
/// 64 KiB steps 1755 us (measured by the same spike).
const FIRST_STEP: usize = 256 << 10;
/// The largest block that comes from the heap.
const SMALL: usize = 64 << 10;

/// Tells a range from a heap block in [`Raw::token`].
const IS_RANGE: usize = 1;

static RANGES: AtomicUsize = AtomicUsize::new(0);

/// A finite RLIMIT_AS makes a reservation starve the host's malloc, so there is none then.
fn may_reserve() -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: getrlimit writes one rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) == 0 && limit.rlim_cur == libc::RLIM_INFINITY }
}

/// One range of address space with nothing writable.
fn reserve() -> Option<NonNull<u8>> {
    if RANGES.fetch_add(1, Ordering::Relaxed) < MOST_RANGES && may_reserve() {
        // PROT_NONE and MAP_NORESERVE: under strict overcommit a read-write reservation would be charged in full.
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing that exists.
        let pointer = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                RANGE,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if pointer != libc::MAP_FAILED {
            return NonNull::new(pointer.cast());
        }
    }
    RANGES.fetch_sub(1, Ordering::Relaxed);
    None
}

fn step_for(capacity: usize) -> usize {
    // At most RANGE, itself a power of two, so this cannot overflow.
    capacity.max(FIRST_STEP).next_power_of_two().min(RANGE)
}

/// Makes the first `step` bytes of a range writable, whole pages; false, with nothing changed, when it cannot.
///
/// # Safety
/// The range is ours, and `step` bytes long at least.
unsafe fn make_writable(raw: &mut Raw, step: usize) -> bool {
    // SAFETY: the range is ours and `step` long at least.
    let done = unsafe { libc::mprotect(raw.pointer.as_ptr().cast(), step, libc::PROT_READ | libc::PROT_WRITE) };
    if done == 0 {
        // Steps double, so what is advised here is at most as much again as has arrived.
        let from = raw.capacity.max(huge::HUGE_FROM);
        if step > from {
            // From within the last advice, if there was one: its end may not have been that of a huge page.
            let from = if raw.capacity > huge::HUGE_FROM {
                from - huge::HUGE_PAGE
            } else {
                from
            };
            // SAFETY: from < step, and the range is `step` long.
            huge::advise(unsafe { raw.pointer.add(from) }, step - from);
        }
        raw.capacity = step;
    }
    done == 0
}

/// What it can do.
pub(super) const PROFILE: Profile = Profile {
    grows: true,
    fixed_up_to: SMALL,
    detachable: false,
    reallocates: false,
};

// SAFETY: a range is one live mapping whose first `capacity` bytes are readable and writable, unmapped only by
// deallocate; small blocks are HEAP's.
unsafe impl Memory for System {
    fn profile(&self) -> Profile {
        PROFILE
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        if size > SMALL
            && size <= RANGE
            && let Some(pointer) = reserve()
        {
            let mut raw = Raw {
                pointer,
                capacity: 0,
                reserve: RANGE,
                token: IS_RANGE,
                lazy: true,
                huge: true,
                dirty: 0,
            };
            // What is asked for at once is known to come, and no more than that is made writable.
            // SAFETY: the range was reserved just now, for at least `size`, and goes back where it could not be used.
            unsafe {
                if make_writable(&mut raw, size.next_multiple_of(super::PAGE).max(FIRST_STEP)) {
                    return Some(raw);
                }
                self.deallocate(raw);
            }
        }
        HEAP.allocate(size, align)
    }

    unsafe fn grow(&self, raw: &mut Raw, capacity: usize) -> bool {
        if raw.token != IS_RANGE || capacity > raw.reserve {
            return false;
        }
        // SAFETY: the caller's piece is one of ours, and step_for stops at RANGE.
        unsafe { make_writable(raw, step_for(capacity)) }
    }

    unsafe fn cut(&self, raw: &mut Raw, keep: usize) -> bool {
        let keep = keep.next_multiple_of(super::PAGE);
        if raw.token != IS_RANGE || keep >= raw.capacity {
            return false;
        }
        // SAFETY: keep..capacity lies in the range, and the pool owns the block, so nobody looks at those bytes.
        let done = unsafe {
            libc::madvise(
                raw.pointer.as_ptr().add(keep).cast(),
                raw.capacity - keep,
                libc::MADV_DONTNEED,
            )
        };
        if done == 0 {
            raw.dirty = raw.dirty.min(keep);
        }
        done == 0
    }

    unsafe fn deallocate(&self, raw: Raw) {
        if raw.token == IS_RANGE {
            // SAFETY: the whole range came from mmap in reserve(), and its owner gives it up here.
            unsafe { libc::munmap(raw.pointer.as_ptr().cast(), raw.reserve) };
            RANGES.fetch_sub(1, Ordering::Relaxed);
        } else {
            // SAFETY: what is no range came from HEAP in allocate().
            unsafe { HEAP.deallocate(raw) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_grows_in_place_keeps_its_bytes_and_ends_at_its_reserve() {
        let mut raw = SYSTEM.allocate(100_000, 64).expect("memory");
        assert!(raw.lazy && raw.capacity >= 100_000 && raw.reserve == RANGE);
        let start = raw.pointer;
        // SAFETY: the first 100000 bytes are writable.
        unsafe { start.as_ptr().write_bytes(5, 100_000) };
        for capacity in [300_000, 5 << 20, RANGE] {
            // SAFETY: it came from this memory above, and reserves more than that.
            assert!(unsafe { SYSTEM.grow(&mut raw, capacity) } && raw.capacity >= capacity);
            assert_eq!(raw.pointer, start);
            // SAFETY: the last byte of the capacity is writable now; the first was written above.
            unsafe {
                start.as_ptr().add(raw.capacity - 1).write(1);
                assert_eq!(start.as_ptr().add(99_999).read(), 5);
            }
        }
        // SAFETY: it came from this memory above.
        unsafe {
            assert!(!SYSTEM.grow(&mut raw, RANGE + 1));
            SYSTEM.deallocate(raw);
        }
    }

    #[test]
    fn a_cut_range_keeps_its_first_bytes_and_is_zero_behind_them() {
        let mut raw = SYSTEM.allocate(1 << 20, 64).expect("memory");
        raw.dirty = 1 << 20;
        // SAFETY: 1 MiB is writable.
        unsafe { raw.pointer.as_ptr().write_bytes(5, 1 << 20) };
        // SAFETY: it came from this memory above, and nobody else has it.
        assert!(unsafe { SYSTEM.cut(&mut raw, 10_000) });
        assert_eq!(raw.dirty, 12_288);
        // SAFETY: both lie in the writable part.
        unsafe {
            assert_eq!(raw.pointer.as_ptr().add(12_287).read(), 5);
            assert_eq!(raw.pointer.as_ptr().add(12_288).read(), 0);
            SYSTEM.deallocate(raw);
        }
    }

    #[test]
    fn small_blocks_come_from_the_heap() {
        let mut raw = SYSTEM.allocate(SMALL, 64).expect("memory");
        assert!(!raw.lazy && raw.reserve == raw.capacity);
        // SAFETY: it came from this memory above, and nobody else has it.
        unsafe {
            assert!(!SYSTEM.grow(&mut raw, SMALL + 1) && !SYSTEM.cut(&mut raw, 0));
            SYSTEM.deallocate(raw);
        }
    }
}
