//! Memory that is about to be read or written is fetched into the cache.
//!
//! A processor foresees as far as the page that it is in. Text goes over more memory than caches hold, on fresh pages and in
//! virtual machines, and then waits at each of them: 10 MB of CJK took 8.8 ms as a `str` of Python without this and 4.5 with
//! it, where other work had taken the cache (2 cores of an Intel Xeon, 2026-12-01). AMD's foresee by themselves: there the
//! same took 5.7 ms with it and 5.2 without, ASCII 1.8 and 1.2 (2 cores of an EPYC of Zen 2, 2026-12-07).

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64 as x86;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Bytes that are fetched by one instruction.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Whether it is worth it on this processor: Intel's. What it is costs a thousand times more to ask than to remember, and
/// whoever asks at the same time finds the same.
#[inline]
pub(super) fn pays() -> bool {
    const UNKNOWN: u8 = 2;
    static PAYS: AtomicU8 = AtomicU8::new(UNKNOWN);
    match PAYS.load(Relaxed) {
        UNKNOWN => {
            let is_intels = is_intels();
            PAYS.store(is_intels.into(), Relaxed);
            is_intels
        }
        known => known == 1,
    }
}

#[cold]
fn is_intels() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        #[allow(unused_unsafe, reason = "older compilers have it unsafe")]
        // SAFETY: every processor of this architecture answers to it.
        let x86::CpuidResult { ebx, ecx, edx, .. } = unsafe { x86::__cpuid(0) };
        [ebx, edx, ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn lines<const HINT: i32>(from: *const u8, length: usize) {
    for at in (0..length).step_by(LINE) {
        #[allow(unused_unsafe, reason = "older compilers have it unsafe")]
        // SAFETY: an address that is only fetched may be any.
        unsafe {
            x86::_mm_prefetch::<HINT>(from.wrapping_add(at).cast());
        }
    }
}

/// Has so many bytes fetched that will be read.
#[inline]
pub(super) fn to_read(from: *const u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    lines::<{ x86::_MM_HINT_T0 }>(from, length);
    let _ = (from, length);
}

/// Has so many bytes fetched that will be written.
#[inline]
#[cfg(feature = "simdutf")]
pub(super) fn to_write(from: *const u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    lines::<{ x86::_MM_HINT_ET0 }>(from, length);
    let _ = (from, length);
}
