//! Bytes from a block that stays warm: byte i of a body is i mod PERIOD.

use std::io::Read;

pub const PERIOD: usize = 251;
pub const WARM_BLOCK: usize = 64 * 1024;
pub static BLOCK: [u8; WARM_BLOCK + PERIOD] = block();

const fn block() -> [u8; WARM_BLOCK + PERIOD] {
    let mut block = [0; WARM_BLOCK + PERIOD];
    let mut i = 0;
    while i < block.len() {
        block[i] = (i % PERIOD) as u8;
        i += 1;
    }
    block
}

pub struct Source {
    n: usize,
    most: usize,
    given: usize,
    counting: bool,
}

impl Source {
    pub fn new(n: usize, most: usize, counting: bool) -> Self {
        Self {
            n,
            most,
            given: 0,
            counting,
        }
    }

    /// Fills at most `room` bytes at `window` and says how many; never inlined, as the source in C.
    ///
    /// # Safety
    /// `window` must be valid for writes of `room` bytes.
    #[inline(never)]
    pub unsafe fn fill(&mut self, window: *mut u8, room: usize) -> usize {
        let count = (self.n - self.given).min(room).min(self.most);
        let mut done = 0;
        while done < count {
            let piece = (count - done).min(WARM_BLOCK);
            let from = &BLOCK[(self.given + done) % PERIOD..][..piece];
            // SAFETY: done + piece <= count <= room, which the caller vouches for; `from` has piece bytes elsewhere.
            unsafe { copy(window.add(done), from, self.counting) };
            done += piece;
        }
        self.given += count;
        count
    }
}

/// # Safety
/// `target` must be valid for writes of `from.len()` bytes and not overlap `from`.
unsafe fn copy(target: *mut u8, from: &[u8], counting: bool) {
    #[cfg(target_arch = "x86_64")]
    if counting {
        // In a way that the counting library does not see.
        // SAFETY: as the caller vouches; the direction flag is clear, as the ABI has it.
        unsafe {
            std::arch::asm!("rep movsb", inout("rdi") target => _, inout("rsi") from.as_ptr() => _,
                            inout("rcx") from.len() => _, options(nostack, preserves_flags));
        }
        return;
    }
    let _ = counting;
    // SAFETY: as the caller vouches.
    unsafe { target.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        // SAFETY: a slice is valid for writes of its length.
        Ok(unsafe { self.fill(buffer.as_mut_ptr(), buffer.len()) })
    }
}
