//! What the engine promises of memory and copies, through the public Rust API.
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

mod common;

use brimful::memory::{Profile, Raw};
use brimful::{Answer, Collector, End, FromFn, Memory, MemoryRef, Options, Prefer};
use common::{MIB, both, is_painted, paint, painted, pool, read_all};

#[test]
fn a_known_length_up_to_16_mib_is_one_allocation_and_no_copy_for_an_exact_result() {
    for (name, memory) in both() {
        for length in [1, 100, 16384, 100_000, 16 * MIB] {
            let options = Options {
                length: Some(length as u64),
                prefer: Prefer::Exact,
                ..Options::default()
            };
            let mut collector = Collector::new(&pool(memory.clone()), options).expect("in range");
            read_all(&mut collector, &mut painted(length, usize::MAX, 0)).expect("complete");
            let exact = collector.finish_exact().expect("complete");
            let info = exact.info();
            assert_eq!(
                (info.allocations, info.copied, info.rents),
                (1, 0, 0),
                "{name} {length}: {info:?}"
            );
            assert_eq!(info.allocated_bytes, length as u64, "{name}");
            assert!(is_painted(exact.as_slice()) && exact.len() == length);
        }
    }
}

#[test]
fn a_pooled_body_of_unknown_length_lies_in_one_range_and_copies_at_most_1_mib() {
    let pool = pool(MemoryRef::system());
    let mut collector = Collector::new(&pool, Options::default()).expect("in range");
    read_all(&mut collector, &mut painted(100_000_000, usize::MAX, 0)).expect("complete");
    let buffer = collector.finish().expect("complete");
    assert_eq!(buffer.segment_count(), 1);
    let before = buffer.info();
    assert!(is_painted(buffer.contiguous().expect("one range")) && buffer.len() == 100_000_000);
    assert_eq!(buffer.info(), before, "looking at one range costs nothing");
    assert!(before.copied <= MIB as u64, "{before:?}");
    assert!(before.peak_held <= 100_000_000 + MIB as u64, "{before:?}");
}

#[test]
fn a_body_suspended_656_times_costs_what_an_unsuspended_one_costs() {
    let bytes = 656 * 8000;
    for (name, memory) in both() {
        for (length, prefer) in [
            (None, Prefer::Pooled),
            (None, Prefer::Exact),
            (Some(bytes), Prefer::Pooled),
            (Some(bytes), Prefer::Exact),
        ] {
            let infos = [0, 2].map(|stop| {
                let options = Options {
                    length: length.map(|length| length as u64),
                    prefer,
                    ..Options::default()
                };
                let mut collector = Collector::new(&pool(memory.clone()), options).expect("in range");
                read_all(&mut collector, &mut painted(bytes, 8000, stop)).expect("complete");
                match prefer {
                    Prefer::Pooled => collector.finish().expect("complete").info(),
                    Prefer::Exact => collector.finish_exact().expect("complete").info(),
                }
            });
            assert!(infos[1].pendings >= 655, "{infos:?}");
            let costs = infos.map(|info| (info.allocations, info.allocated_bytes, info.copied, info.peak_held));
            assert_eq!(costs[0], costs[1], "{name} {length:?} {prefer:?}");
        }
    }
}

#[test]
fn memory_follows_what_has_arrived_and_not_what_was_announced() {
    for (name, memory) in both() {
        for prefer in [Prefer::Pooled, Prefer::Exact] {
            for (length, max_prealloc) in [
                (1u64 << 40, 16 * MIB),
                (64 * MIB as u64, 16 * MIB),
                (8 * MIB as u64, 100_000),
            ] {
                let options = Options {
                    length: Some(length),
                    prefer,
                    max_prealloc: max_prealloc as u64,
                    ..Options::default()
                };
                let mut collector = Collector::new(&pool(memory.clone()), options).expect("in range");
                let chunk: Vec<u8> = (0..50_000).map(paint).collect();
                for round in 1..=(length.min(20 * MIB as u64) as usize / chunk.len()) {
                    collector.write(&chunk).expect("open");
                    let received = round * chunk.len();
                    let info = collector.info();
                    // One block's slack: a list's last block may be as large as all before it, up to 8 MiB.
                    let most = max_prealloc.max(5 * received + 65536 + received.min(8 * MIB));
                    assert!(
                        info.peak_held <= most as u64,
                        "E8: {name} {prefer:?} {received}: {info:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_length_above_max_prealloc_moves_at_most_a_quarter_into_the_exact_result() {
    for (name, memory) in both() {
        for length in [16 * MIB + 1, 48 * MIB] {
            let options = Options {
                length: Some(length as u64),
                prefer: Prefer::Exact,
                ..Options::default()
            };
            let pool = pool(memory.clone());
            let mut collector = Collector::new(&pool, options).expect("in range");
            read_all(&mut collector, &mut painted(length, 300_000, 0)).expect("complete");
            let exact = collector.finish_exact().expect("complete");
            // The quarter, and the small first block of the staging moved once before.
            assert!(
                exact.info().copied <= length as u64 / 4 + MIB as u64,
                "{name}: {:?}",
                exact.info()
            );
            assert!(is_painted(exact.as_slice()));
            assert_eq!(
                pool.stats().retained_bytes,
                0,
                "what was staged is given back, not retained (E8)"
            );
        }
    }
}

#[test]
fn a_hint_is_never_an_error_and_what_it_took_too_much_is_given_back() {
    for (name, memory) in both() {
        for (hint, bytes) in [
            (1000, 2000),
            (2000, 1000),
            (3 * MIB, 10),
            (100_000, 100_000),
            (5, 3 * MIB),
        ] {
            for prefer in [Prefer::Pooled, Prefer::Exact] {
                let options = Options {
                    size_hint: Some(hint as u64),
                    prefer,
                    ..Options::default()
                };
                let mut collector = Collector::new(&pool(memory.clone()), options).expect("in range");
                read_all(&mut collector, &mut painted(bytes, 5000, 0)).expect("complete");
                let info = match prefer {
                    Prefer::Pooled => collector.finish().expect("complete").info(),
                    Prefer::Exact => collector.finish_exact().expect("complete").info(),
                };
                assert_eq!(info.length, bytes as u64);
                let most = if prefer == Prefer::Exact {
                    0
                } else {
                    (bytes / 8).max(16384) as u64
                };
                let grown_list = prefer == Prefer::Pooled && bytes > hint;
                assert!(
                    info.waste <= most || grown_list,
                    "{name} {hint} {bytes} {prefer:?}: {info:?}"
                );
                if prefer == Prefer::Exact && hint == bytes {
                    assert_eq!(
                        (info.copied, info.allocations),
                        (0, 1 + u64::from(info.rents > 0)),
                        "{name}: {info:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn seeing_the_end_of_an_exactly_full_body_takes_a_side_window_at_most() {
    // E10, H13: at the length and at the limit 1 byte shows it; at an exactly reached hint and at a full first block
    // the side window is a block of the pool, and counts when it is fresh.
    for (name, memory) in both() {
        let full = 16384;
        for (aside, options) in [
            (
                0,
                Options {
                    length: Some(full),
                    end: End::Eof,
                    prefer: Prefer::Exact,
                    ..Options::default()
                },
            ),
            (
                0,
                Options {
                    limit: Some(full),
                    ..Options::default()
                },
            ),
            (
                4096,
                Options {
                    size_hint: Some(full),
                    prefer: Prefer::Exact,
                    ..Options::default()
                },
            ),
            (4096, Options::default()),
        ] {
            let label = format!("{name} {options:?}");
            let mut collector = Collector::new(&pool(memory.clone()), options).expect("in range");
            read_all(&mut collector, &mut painted(full as usize, usize::MAX, 0)).expect("complete");
            let info = collector.info();
            assert_eq!(
                (info.allocations, info.allocated_bytes, info.copied),
                (1 + aside / 4096, full + aside, 0),
                "{label}: {info:?}"
            );
        }
    }
}

#[test]
fn bytes_that_came_into_the_side_window_are_shown_copied_and_kept() {
    for (_, memory) in both() {
        let mut collector = Collector::new(&pool(memory), Options::default()).expect("in range");
        let mut given = 0;
        for count in [16384, 1000] {
            // SAFETY: the window is a cleared one.
            let window = unsafe { collector.begin(true) }.expect("memory").expect("open");
            for index in 0..count {
                // SAFETY: the window is ours to fill, and has this room (16384 in the first block, 4096 aside).
                unsafe { window.pointer.as_ptr().add(index).write(paint(given)) };
                given += 1;
            }
            assert_eq!(window.side, count == 1000);
            collector.answer(Answer::filled(count)).expect("open");
        }
        assert_eq!(collector.info().received, 17384);
        assert_eq!(collector.segments().map(<[u8]>::len).collect::<Vec<_>>(), [16384, 1000]);
        let mut copied = vec![0; 2000];
        assert_eq!(collector.copy(16000, &mut copied), 1384);
        assert!(
            copied[..1384]
                .iter()
                .enumerate()
                .all(|(index, &byte)| byte == paint(16000 + index))
        );
        let partial = collector.take_partial().expect("a partial of an open body (E36)");
        assert!(is_painted(partial.contiguous().expect("memory")) && partial.len() == 17384);
    }
}

#[test]
fn a_kept_window_is_moved_away_from_and_its_memory_never_returns_to_the_pool() {
    for (_, memory) in both() {
        for prefer in [Prefer::Pooled, Prefer::Exact] {
            let pool = pool(memory.clone());
            let options = Options {
                length: Some(1000),
                prefer,
                ..Options::default()
            };
            let mut collector = Collector::new(&pool, options).expect("in range");
            // SAFETY: the window is a cleared one.
            let window = unsafe { collector.begin(true) }.expect("memory").expect("open");
            // SAFETY: the window is ours to fill.
            unsafe { window.pointer.as_ptr().write_bytes(7, 600) };
            collector.answer(Answer::filled(600)).expect("open");
            let kept = collector.quarantine().expect("memory");
            // SAFETY: the quarantined memory is still there, and the viewer may write into it.
            unsafe { window.pointer.as_ptr().write_bytes(0xEE, 600) };
            collector.write(&[7; 400]).expect("open");
            let buffer = collector.finish().expect("complete");
            assert_eq!(buffer.contiguous(), Ok(&[7; 1000][..]));
            drop(buffer);
            drop(kept);
            assert!(pool.stats().freed >= u64::from(prefer == Prefer::Pooled));
            assert_eq!(pool.stats().outstanding, 0);
        }
    }
}

#[test]
fn the_byte_at_a_time_source_clears_no_more_than_the_body_and_one_window() {
    // H15: 1e5 answers of one byte; what was cleared once is not cleared again.
    let pool = pool(MemoryRef::heap());
    let options = Options {
        first_block: MIB as u64,
        ..Options::default()
    };
    let mut collector = Collector::new(&pool, options).expect("in range");
    let mut shown = 0u64;
    let mut last_end = 0;
    let mut given = 0;
    let mut source = FromFn(|window: &mut [u8]| {
        if given == 100_000 {
            return Answer::END;
        }
        // Everything behind what was shown before was cleared for this call.
        let end = given + window.len();
        shown += end.saturating_sub(last_end) as u64;
        last_end = last_end.max(end);
        window[0] = paint(given);
        given += 1;
        Answer::filled(1)
    });
    read_all(&mut collector, &mut source).expect("complete");
    assert!(shown <= (100_000 + MIB) as u64, "{shown}");
    assert!(is_painted(
        collector.finish().expect("complete").contiguous().expect("memory")
    ));
}

/// A memory that grows, on a day on which no address space is to be had (RLIMIT_AS, too many mappings).
struct NoSpace;

// SAFETY: as the heap's.
unsafe impl Memory for NoSpace {
    fn profile(&self) -> Profile {
        MemoryRef::system().profile()
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        MemoryRef::heap().allocate(size, align)
    }

    unsafe fn deallocate(&self, raw: Raw) {
        // SAFETY: passed on.
        unsafe { MemoryRef::heap().deallocate(raw) };
    }
}

#[test]
fn without_address_space_a_body_lies_in_a_list_that_is_recycled_and_hardly_copied() {
    let pool = pool(MemoryRef::counted(NoSpace).expect("memory"));
    for round in 0..3 {
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        read_all(&mut collector, &mut painted(3 * MIB, 3000, 0)).expect("complete");
        let info = collector.finish().expect("complete").info();
        // The small first block moves once; where a block is full, what came aside moves behind it (E10).
        assert!(info.copied <= 65536, "{info:?}");
        assert!(round == 0 || info.allocations == 0, "{round}: {info:?}");
    }
}

#[test]
fn a_right_hint_and_a_padding_cost_an_exact_result_no_copy() {
    // E10: a hint is reached to its last byte before anything goes aside, and the padding is no room for the body.
    for (bytes, padding, hinted) in [
        (1_000_000, 64, false),
        (4 * MIB + 100, 0, true),
        (100_000, 0, true),
        (4 * MIB, 1, true),
    ] {
        let announced = Some(bytes as u64);
        let options = Options {
            length: if hinted { None } else { announced },
            size_hint: if hinted { announced } else { None },
            end: End::Eof,
            prefer: Prefer::Exact,
            padding,
            ..Options::default()
        };
        let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
        read_all(&mut collector, &mut painted(bytes, 8000, 0)).expect("complete");
        let exact = collector.finish_exact().expect("complete");
        let info = exact.info();
        // The small block in which the end of a hinted body is seen is not the body's.
        assert_eq!(
            (info.copied, info.allocations - info.rents),
            (0, 1),
            "{bytes} {padding}: {info:?}"
        );
        assert!(is_painted(exact.as_slice()));
    }
}

#[test]
fn a_hint_far_too_big_is_given_back_from_exact_memory_too() {
    let options = Options {
        size_hint: Some(10 * MIB as u64),
        prefer: Prefer::Exact,
        ..Options::default()
    };
    let mut collector = Collector::new(&pool(MemoryRef::heap()), options).expect("in range");
    collector.write(&[0, 1, 2, 3]).expect("open");
    collector.end().expect("open");
    let info = collector.finish().expect("complete").info();
    assert!(info.waste <= 4096, "E11: {info:?}");
}

#[test]
fn a_reset_collector_takes_the_memory_of_an_announced_body_once() {
    for (prefer, length) in [(Prefer::Exact, 10_000), (Prefer::Pooled, 1_000_000)] {
        let mut collector = Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range");
        collector.write(&[1, 2, 3]).expect("open");
        let options = Options {
            length: Some(length as u64),
            prefer,
            ..Options::default()
        };
        collector.reset(Some(options)).expect("in range");
        read_all(&mut collector, &mut painted(length, 5000, 0)).expect("complete");
        let info = match prefer {
            Prefer::Exact => collector.finish_exact().expect("complete").info(),
            Prefer::Pooled => collector.finish().expect("complete").info(),
        };
        assert_eq!((info.copied, info.allocations), (0, 1), "E7: {prefer:?} {info:?}");
    }
}
