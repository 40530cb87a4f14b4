//! Exact results that grow by their allocator's realloc: what they copy, hold and charge (E8, E10, E34, E45).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

mod common;

use brimful::{Collector, Error, Memory, MemoryRef, Options, Pool, PoolOptions, Prefer};
use common::{MIB, both, is_painted, paint, painted, pool, read_all};

fn exact() -> Options {
    Options {
        prefer: Prefer::Exact,
        ..Options::default()
    }
}

#[test]
fn an_exact_result_of_unknown_length_is_not_copied_at_the_end() {
    for (name, memory) in both() {
        for length in [65536, 65537, 100_000, MIB, 10_000_000] {
            let mut collector = Collector::new(&pool(memory.clone()), exact()).expect("in range");
            read_all(&mut collector, &mut painted(length, 30_000, 3)).expect("complete");
            let result = collector.finish_exact().expect("complete");
            let info = result.info();
            // The small first block moves once; what realloc moves counts as allocations.
            assert!(info.copied <= 20_480, "{name} {length}: {info:?}");
            assert!(info.allocations <= 14 && info.waste == 0, "{name} {length}: {info:?}");
            assert!(info.peak_held <= 2 * length as u64 + 65536, "{name} {length}: {info:?}");
            assert!(is_painted(result.as_slice()) && result.len() == length);
        }
    }
}

#[test]
fn a_pushed_body_a_wrong_hint_and_a_pooled_finish_give_the_same_bytes_as_a_read_one() {
    for length in [70_000, 300_000, 5 * MIB] {
        let bytes: Vec<u8> = (0..length).map(paint).collect();
        for hint in [None, Some(1), Some(50_000), Some(40 * MIB as u64)] {
            let options = Options {
                size_hint: hint,
                ..exact()
            };
            let mut collector = Collector::new(&pool(MemoryRef::system()), options.clone()).expect("in range");
            for chunk in bytes.chunks(7777) {
                collector.write(chunk).expect("open");
                assert!(collector.segments().map(<[u8]>::len).sum::<usize>() as u64 == collector.info().received);
            }
            collector.end().expect("complete");
            assert_eq!(
                collector.finish_exact().expect("complete").as_slice(),
                bytes,
                "{hint:?}"
            );
            collector.reset(Some(options)).expect("in range");
            read_all(&mut collector, &mut painted(length, 8000, 0)).expect("complete");
            let buffer = collector.finish().expect("complete");
            assert!(is_painted(buffer.contiguous().expect("joined")), "{hint:?}");
        }
    }
}

#[test]
fn after_an_outgrown_block_the_next_body_begins_where_it_need_not_move() {
    let pool = pool(MemoryRef::system());
    let copied = |options: &Options, bytes| {
        let mut collector = Collector::new(&pool, options.clone()).expect("in range");
        read_all(&mut collector, &mut painted(bytes, usize::MAX, 0)).expect("complete");
        let info = match options.prefer {
            Prefer::Exact => collector.finish_exact().expect("complete").info(),
            Prefer::Pooled => collector.finish().expect("complete").info(),
        };
        info.copied
    };
    for options in [Options::default(), exact()] {
        let first = copied(&options, 100_000);
        assert!(first > 0 && first <= 20_480, "a small block is outgrown once: {first}");
        assert_eq!([(); 3].map(|()| copied(&options, 100_000)), [0; 3]);
        copied(&options, 100);
        assert!(
            copied(&options, 100_000) > 0,
            "after a small body the next one begins small"
        );
        copied(&options, 100);
    }
}

#[test]
fn memory_of_exact_results_is_charged_to_the_budget_and_given_back_to_it() {
    for length in [None, Some(900_000), Some(20 * MIB as u64)] {
        let budget = Some(MIB as u64);
        let pool = Pool::new(PoolOptions {
            budget,
            ..PoolOptions::default()
        })
        .expect("memory");
        let options = Options { length, ..exact() };
        // Two at once have no room, one after the other has, however each ended.
        let mut first = Collector::new(&pool, options.clone()).expect("in range");
        let chunk: Vec<u8> = (0..700_000).map(paint).collect();
        first.write(&chunk).expect("within the budget");
        let mut second = Collector::new(&pool, options.clone()).expect("in range");
        assert_eq!(second.write(&chunk), Err(Error::Budget), "{length:?}");
        drop(first.take_partial().expect("what came"));
        second.write(&chunk).expect("nothing was lost, and there is room now");
        if length.is_none() {
            second.end().expect("complete");
            assert_eq!(second.finish_exact().expect("complete").as_slice(), chunk);
        }
        drop(second);
        let mut third = Collector::new(&pool, options).expect("in range");
        third.write(&chunk).expect("all of the budget came back");
    }
}

/// Pieces that are known by 1, as the system's ranges are, and that do not grow.
struct Tokens;

// SAFETY: passes everything on to malloc's memory, which knows no tokens.
unsafe impl Memory for Tokens {
    fn profile(&self) -> brimful::memory::Profile {
        brimful::memory::Profile {
            reallocates: false,
            ..MemoryRef::malloc().profile()
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<brimful::memory::Raw> {
        let raw = MemoryRef::malloc().allocate(size + 4096, align)?;
        // The body begins a page, as a host's memory may.
        assert_eq!(raw.pointer.addr().get() % 4096, 16, "a mapping of its own");
        // SAFETY: within the piece.
        let pointer = unsafe { raw.pointer.add(4080) };
        Some(brimful::memory::Raw {
            pointer,
            capacity: size,
            reserve: size,
            token: 1,
            ..raw
        })
    }

    unsafe fn deallocate(&self, mut raw: brimful::memory::Raw) {
        // SAFETY: undoes `allocate`.
        unsafe {
            raw.pointer = raw.pointer.sub(4080);
            MemoryRef::malloc().deallocate(raw);
        }
    }
}

#[test]
fn memory_of_exact_results_is_not_cut_as_if_it_were_the_pools() {
    let pool = Pool::new(PoolOptions {
        max_retained: 1 << 20,
        ..PoolOptions::default()
    })
    .expect("memory");
    let options = Options {
        prefer: Prefer::Exact,
        size_hint: Some(50 << 20),
        max_prealloc: 64 << 20,
        exact_memory: MemoryRef::counted(Tokens),
        ..Options::default()
    };
    let mut collector = Collector::new(&pool, options).expect("in range");
    let body: Vec<u8> = (0..40 << 20).map(paint).collect();
    collector.write(&body).expect("memory");
    collector.end().expect("open");
    assert!(collector.finish_exact().expect("complete").as_slice() == body);
    assert_eq!(pool.stats().freed_bytes, 0);
}

#[test]
fn a_large_result_that_is_just_full_does_not_grow_to_see_the_end() {
    for surplus in [0, 1, 4096, 5000] {
        let length = 16 * MIB + surplus;
        let mut collector = Collector::new(&pool(MemoryRef::system()), exact()).expect("in range");
        read_all(&mut collector, &mut painted(length, 60_000, 0)).expect("complete");
        let result = collector.finish_exact().expect("complete");
        let info = result.info();
        if surplus == 0 {
            assert!(info.peak_held <= (length + 65536) as u64, "{info:?}");
        }
        // What came aside moves once, and so may the heap's 16 MiB, into the mapping.
        assert!(info.copied <= (16 * MIB + 65536) as u64, "{info:?}");
        assert!(is_painted(result.as_slice()) && result.len() == length);
    }
}
