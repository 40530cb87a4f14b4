//! What is resident while an exact result is made of a very large body (performance.md, T9). Alone in its process, whose
//! peak it looks at.
#![cfg(target_os = "linux")]
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

mod common;

use brimful::memory::{Profile, Raw};
use brimful::{Collector, Memory, MemoryRef, Options, Prefer};
use common::{MIB, is_painted, paint, pool};

/// malloc without realloc, as an allocator of the caller's own may be.
struct Fixed;

// SAFETY: as malloc's.
unsafe impl Memory for Fixed {
    fn profile(&self) -> Profile {
        Profile {
            reallocates: false,
            ..MemoryRef::malloc().profile()
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        MemoryRef::malloc().allocate(size, align)
    }

    unsafe fn deallocate(&self, raw: Raw) {
        // SAFETY: passed on.
        unsafe { MemoryRef::malloc().deallocate(raw) };
    }
}

/// Kibibytes that the process has resident now, and the most since the last call of `forget`.
fn resident(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(field)).expect("there");
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

fn forget() {
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may clear its own");
}

#[test]
fn a_very_large_exact_result_is_held_once_whether_it_is_grown_or_copied() {
    let bytes = 160 * MIB;
    let chunk: Vec<u8> = (0..251 * 4096).map(paint).collect();
    for (name, exact_memory) in [("malloc", None), ("no realloc", MemoryRef::counted(Fixed))] {
        let options = Options {
            prefer: Prefer::Exact,
            exact_memory,
            ..Options::default()
        };
        let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
        forget();
        let before = resident("VmRSS:");
        for _ in 0..bytes / chunk.len() {
            collector.write(&chunk).expect("open");
        }
        collector.write(&chunk[..bytes % chunk.len()]).expect("open");
        collector.end().expect("complete");
        let exact = collector.finish_exact().expect("complete");
        let most = (resident("VmHWM:") - before) * 1024;
        assert!(most <= bytes + bytes / 10, "{name}: {most} for {bytes}");
        assert!(is_painted(exact.as_slice()) && exact.len() == bytes);
    }
}
