//! What the engine promises of memory, copies, states and errors, rule by rule, through the public Rust API.
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

use brimful::{
    Answer, Cancel, Collector, End, Error, FromFn, FromRead, Handle, MemoryRef, Options, Pool, PoolOptions, Prefer,
    Progress, State, Then,
};
use std::io;

const MIB: usize = 1 << 20;

fn paint(index: usize) -> u8 {
    (index % 251) as u8
}

fn pool(memory: MemoryRef) -> Pool {
    Pool::new(PoolOptions {
        memory,
        ..PoolOptions::default()
    })
    .expect("memory")
}

fn both() -> [(&'static str, MemoryRef); 2] {
    [("range", MemoryRef::system()), ("list", MemoryRef::heap())]
}

/// A source of `bytes` painted bytes in answers of at most `most`; every `stop`th call has nothing (0: never).
fn painted(bytes: usize, most: usize, stop: usize) -> FromFn<impl FnMut(&mut [u8]) -> Answer> {
    let (mut given, mut calls) = (0, 0);
    FromFn(move |window: &mut [u8]| {
        calls += 1;
        if stop > 0 && calls % stop == 0 {
            return Answer::PENDING;
        }
        let count = window.len().min(most).min(bytes - given);
        for byte in &mut window[..count] {
            *byte = paint(given);
            given += 1;
        }
        Answer::filled(count)
    })
}

fn read_all<F: FnMut(&mut [u8]) -> Answer>(collector: &mut Collector, source: &mut FromFn<F>) -> Result<(), Error> {
    while collector.read(source)? == Progress::Pending {}
    Ok(())
}

fn is_painted(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(index, &byte)| byte == paint(index))
}

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
            let window = collector.begin(true).expect("memory").expect("open");
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
fn a_second_body_reuses_the_warm_blocks_of_the_first() {
    for (name, memory) in both() {
        let pool = pool(memory);
        for round in 0..20 {
            for bytes in [0, 1, 100, 16384, 16385, 100_000, 4 * MIB] {
                let mut collector = Collector::new(&pool, Options::default()).expect("in range");
                read_all(&mut collector, &mut painted(bytes, 65536, 0)).expect("complete");
                let info = collector.finish().expect("complete").info();
                if round > 0 {
                    assert_eq!(
                        (info.allocations, info.allocated_bytes),
                        (0, 0),
                        "{name} {bytes}: {info:?}"
                    );
                }
            }
        }
        let stats = pool.stats();
        assert_eq!(stats.outstanding, 0);
        assert_eq!(stats.rented, stats.released);
        assert_eq!(stats.rented - stats.reused, stats.allocated);
    }
}

#[test]
fn a_pool_keeps_at_most_its_cap_and_cuts_a_range_to_fit() {
    let range = Pool::new(PoolOptions {
        max_retained: MIB as u64,
        ..PoolOptions::default()
    })
    .expect("memory");
    let mut collector = Collector::new(&range, Options::default()).expect("in range");
    read_all(&mut collector, &mut painted(5 * MIB, usize::MAX, 0)).expect("complete");
    drop(collector.finish().expect("complete"));
    let stats = range.stats();
    assert!(
        stats.retained_bytes <= MIB as u64 && stats.retained_bytes >= (MIB - 65536) as u64,
        "{stats:?}"
    );
    assert_eq!(stats.allocated_bytes - stats.freed_bytes, stats.retained_bytes);
    assert!(range.trim(0) > 0 && range.stats().retained == 0);

    let list = Pool::new(PoolOptions {
        max_retained: MIB as u64,
        memory: MemoryRef::heap(),
        ..PoolOptions::default()
    });
    let list = list.expect("memory");
    let mut collector = Collector::new(&list, Options::default()).expect("in range");
    read_all(&mut collector, &mut painted(5 * MIB, usize::MAX, 0)).expect("complete");
    drop(collector.finish().expect("complete"));
    assert!(list.stats().retained_bytes <= MIB as u64 && list.stats().retained_bytes > 0);
}

#[test]
fn trimming_gives_back_down_to_what_is_to_be_kept() {
    for (_, memory) in both() {
        let pool = pool(memory);
        let bodies: Vec<_> = (0..4)
            .map(|_| {
                let mut collector = Collector::new(&pool, Options::default()).expect("in range");
                read_all(&mut collector, &mut painted(3 * MIB, usize::MAX, 0)).expect("complete");
                collector.finish().expect("complete")
            })
            .collect();
        drop(bodies);
        let before = pool.stats().retained_bytes;
        let given = pool.trim(5 * MIB as u64);
        let after = pool.stats();
        assert_eq!(after.retained_bytes + given, before);
        assert!(
            after.retained_bytes <= 5 * MIB as u64 && after.retained_bytes > 0,
            "{after:?}"
        );
        pool.trim(0);
        assert_eq!((pool.stats().retained, pool.stats().retained_bytes), (0, 0));
    }
}

#[test]
fn memory_that_lies_idle_is_given_back_at_the_next_use() {
    let pool = Pool::new(PoolOptions {
        idle_milliseconds: 20,
        ..PoolOptions::default()
    })
    .expect("memory");
    let body = |bytes| {
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        read_all(&mut collector, &mut painted(bytes, usize::MAX, 0)).expect("complete");
        collector.finish().expect("complete")
    };
    drop(body(3 * MIB));
    assert!(pool.stats().retained_bytes >= 3 * MIB as u64);
    std::thread::sleep(std::time::Duration::from_millis(60));
    drop(body(10));
    assert!(pool.stats().retained_bytes < 65536, "{:?}", pool.stats());
}

#[test]
fn a_closed_pool_keeps_nothing_and_its_buffers_stay_valid() {
    for (_, memory) in both() {
        let pool = pool(memory);
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        read_all(&mut collector, &mut painted(100_000, usize::MAX, 0)).expect("complete");
        let buffer = collector.finish().expect("complete");
        pool.close();
        drop(collector);
        assert!(is_painted(buffer.contiguous().expect("memory")));
        drop(buffer);
        assert_eq!((pool.stats().retained, pool.stats().outstanding), (0, 0));
    }
}

#[test]
fn beyond_the_budget_nothing_is_lost_and_the_call_may_be_made_again() {
    for (_, memory) in both() {
        let options = PoolOptions {
            budget: Some(MIB as u64),
            memory,
            ..PoolOptions::default()
        };
        let pool = Pool::new(options).expect("memory");
        let mut first = Collector::new(&pool, Options::default()).expect("in range");
        first.write(&vec![1; 900_000]).expect("within the budget");
        let mut second = Collector::new(&pool, Options::default()).expect("in range");
        let chunk: Vec<u8> = (0..300_000).map(paint).collect();
        assert_eq!(second.write(&chunk), Err(Error::Budget));
        assert_eq!(second.info().received, 0, "all or nothing (E30)");
        assert!(pool.stats().refused > 0);
        drop(first);
        second.write(&chunk).expect("there is room again");
        second.end().expect("open");
        assert!(is_painted(
            second.finish().expect("complete").contiguous().expect("memory")
        ));
    }
}

#[test]
fn a_pools_limit_holds_for_bodies_that_say_none() {
    let pool = Pool::new(PoolOptions {
        limit: Some(10),
        ..PoolOptions::default()
    })
    .expect("memory");
    let mut collector = Collector::new(&pool, Options::default()).expect("in range");
    assert_eq!(collector.write(&[1; 11]), Err(Error::Limit));
    let mut collector = Collector::new(
        &pool,
        Options {
            limit: Some(100),
            ..Options::default()
        },
    )
    .expect("in range");
    assert_eq!(collector.write(&[1; 11]), Ok(()));
}

#[test]
fn a_claim_beyond_the_room_is_a_breach_and_its_block_is_not_used_again() {
    for (_, memory) in both() {
        for over in [1usize, usize::MAX] {
            let pool = pool(memory.clone());
            let mut collector = Collector::new(&pool, Options::default()).expect("in range");
            let mut calls = 0;
            let mut source = FromFn(|window: &mut [u8]| {
                calls += 1;
                if calls == 1 {
                    window[..500]
                        .iter_mut()
                        .enumerate()
                        .for_each(|(index, byte)| *byte = paint(index));
                    return Answer::filled(500);
                }
                Answer::filled(window.len().saturating_add(over))
            });
            assert_eq!(collector.read(&mut source), Err(Error::Contract));
            assert_eq!(collector.info().received, 500);
            let partial = collector.take_partial().expect("what came before (E23)");
            assert!(is_painted(partial.contiguous().expect("memory")) && partial.len() == 500);
            drop(partial);
            assert_eq!(pool.stats().retained, 0);
        }
    }
}

#[test]
fn bytes_that_come_with_an_error_count_and_may_complete_the_body() {
    let answers = |length, filled, then| {
        let options = Options {
            length,
            limit: Some(20),
            ..Options::default()
        };
        let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
        let outcome = collector.read(&mut FromFn(|_: &mut [u8]| Answer { filled, then }));
        (outcome, collector.info().received, collector.info().source_error)
    };
    assert_eq!(answers(None, 15, Then::Failed(-9)), (Err(Error::Source), 15, -9));
    assert_eq!(answers(Some(15), 15, Then::Failed(-9)), (Ok(Progress::Complete), 15, 0));
    assert_eq!(answers(None, 21, Then::Failed(-9)), (Err(Error::Limit), 21, 0));
    assert_eq!(answers(Some(15), 15, Then::Pending), (Ok(Progress::Complete), 15, 0));
    assert_eq!(answers(None, 3, Then::Unknown), (Err(Error::Contract), 0, 0));
}

#[test]
fn the_1001st_retry_without_a_byte_is_no_progress() {
    for (retries, outcome) in [(1000, Ok(Progress::Complete)), (1001, Err(Error::NoProgress))] {
        let mut calls = 0;
        let mut source = FromFn(|_: &mut [u8]| {
            calls += 1;
            if calls <= retries { Answer::RETRY } else { Answer::END }
        });
        let mut collector = Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range");
        assert_eq!(collector.read(&mut source), outcome);
    }
}

#[test]
fn cancelling_is_seen_before_and_after_each_call_and_comes_after_bytes() {
    let cancel = Cancel::new().expect("memory");
    let options = Options {
        cancel: Some(cancel.clone()),
        length: Some(20),
        ..Options::default()
    };
    let mut collector = Collector::new(&pool(MemoryRef::system()), options.clone()).expect("in range");
    let trigger = cancel.clone();
    let mut source = FromFn(move |window: &mut [u8]| {
        trigger.trigger();
        Answer::filled(window.len().min(10))
    });
    assert_eq!(collector.read(&mut source), Err(Error::Cancelled));
    assert_eq!((collector.info().received, collector.info().source_calls), (10, 1));
    let mut collector = Collector::new(&pool(MemoryRef::system()), options.clone()).expect("in range");
    assert_eq!(collector.read(&mut painted(20, 20, 0)), Err(Error::Cancelled));
    assert_eq!(collector.info().source_calls, 0);
    let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
    collector.write(&[1; 20]).expect("write does not look at it (E24)");
    assert_eq!(collector.is_complete(), Ok(true));
}

#[test]
fn the_table_of_states_holds() {
    let pool = pool(MemoryRef::system());
    let new = |options| Collector::new(&pool, options).expect("in range");
    // open
    let mut open = new(Options::default());
    assert_eq!(open.finish().err(), Some(Error::State));
    assert_eq!(open.finish_exact().err(), Some(Error::State));
    // SAFETY: nothing is claimed.
    assert_eq!(unsafe { open.commit(0) }, Err(Error::State));
    assert_eq!(open.answer(Answer::END), Err(Error::State));
    assert_eq!(open.is_complete(), Ok(false));
    // window out
    let window = open.reserve(0, true).expect("a window");
    assert_eq!(open.reserve(7, true), Ok(window), "the same window");
    assert_eq!(open.write(b"x"), Err(Error::State));
    assert_eq!(open.end(), Err(Error::State));
    assert_eq!(open.begin(true), Err(Error::State));
    assert_eq!(open.finish().err(), Some(Error::State));
    assert_eq!(open.take_partial().err(), Some(Error::State));
    assert_eq!(open.info().state, State::WindowOut);
    assert_eq!(open.segments().count(), 0);
    // SAFETY: the window is a cleared one; 0 is nothing and not the end.
    assert_eq!(unsafe { open.commit(0) }, Ok(()));
    assert_eq!(open.is_complete(), Ok(false));
    open.write(b"abc").expect("open");
    open.end().expect("open");
    // complete
    assert_eq!((open.end(), open.is_complete()), (Ok(()), Ok(true)));
    assert_eq!(
        open.read(&mut painted(9, 9, 0)),
        Ok(Progress::Complete),
        "the source is not called (E25)"
    );
    assert_eq!(open.info().source_calls, 0);
    assert_eq!(open.write(b"x"), Err(Error::State));
    assert_eq!(open.reserve(0, true).err(), Some(Error::State));
    assert_eq!(open.finish().expect("complete").contiguous(), Ok(&b"abc"[..]));
    // taken
    for error in [
        open.write(b"x").err(),
        open.end().err(),
        open.finish().err(),
        open.take_partial().err(),
    ] {
        assert_eq!(error, Some(Error::State));
    }
    assert_eq!((open.is_complete(), open.segments().count()), (Ok(true), 0));
    // complete with a length: more is long; with the rest wanted back nothing is taken
    let mut known = new(Options {
        length: Some(3),
        ..Options::default()
    });
    assert_eq!(known.write_some(b"abcdef"), Ok(3));
    assert_eq!(known.write_some(b"def"), Ok(0));
    assert_eq!(known.write(b"d"), Err(Error::Long));
    assert_eq!(known.is_complete(), Err(Error::Long));
    // failed
    assert_eq!(known.end(), Err(Error::Long));
    assert_eq!(known.finish().err(), Some(Error::Long));
    assert_eq!(known.reserve(0, true).err(), Some(Error::Long));
    assert_eq!(known.take_partial().expect("what came").contiguous(), Ok(&b"abc"[..]));
    assert_eq!(known.info().state, State::Taken);
    // reset from every state
    known.reset(None).expect("the same options");
    assert_eq!(known.write(b"xyz"), Ok(()));
    known.reset(Some(Options::default())).expect("in range");
    let _ = known.reserve(0, true).expect("a window");
    known.reset(None).expect("in range");
    known.write(b"new").expect("open");
    known.end().expect("open");
    assert_eq!(known.finish().expect("complete").contiguous(), Ok(&b"new"[..]));
    assert_eq!(
        known
            .reset(Some(Options {
                max_window: 1,
                ..Options::default()
            }))
            .err()
            .map(|e| e.name),
        Some("max_window")
    );
}

#[test]
fn truncation_ignores_what_is_pushed_later() {
    let options = Options {
        limit: Some(5),
        truncate: true,
        ..Options::default()
    };
    let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
    for _ in 0..3 {
        collector.write(&[0, 1, 2, 3]).expect("accepted");
    }
    collector.end().expect("complete");
    let buffer = collector.finish().expect("complete");
    assert!(buffer.is_truncated() && is_painted(&[0, 1, 2, 3]) && buffer.len() == 5);
}

#[test]
fn a_reset_collector_keeps_a_small_block_and_shows_nothing_of_the_last_body() {
    for (_, memory) in both() {
        let pool = pool(memory);
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        collector.write(&[0xAA; 16000]).expect("open");
        collector.reset(None).expect("in range");
        let window = collector.reserve(0, true).expect("a window");
        // SAFETY: a cleared window is initialised and this long.
        let shown = unsafe { std::slice::from_raw_parts(window.pointer.as_ptr(), window.room) };
        assert!(shown.iter().all(|&byte| byte == 0), "E49");
        assert_eq!(collector.info().allocations, 0, "E40");
        collector.reset(None).expect("in range");
        assert_eq!(
            pool.stats().outstanding,
            0,
            "a block whose window was out is not used again"
        );
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
            let window = collector.begin(true).expect("memory").expect("open");
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
fn inside_a_callback_the_collector_is_busy_and_its_info_works() {
    let handle = Handle::new(Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range"));
    let mut seen = vec![];
    let mut source = FromFn(|_: &mut [u8]| {
        seen.push((
            handle.with(|_| ()).err(),
            handle.look(|collector| collector.info().source_calls),
        ));
        seen.push((handle.read(&mut painted(1, 1, 0)).err(), Ok(1)));
        Answer::END
    });
    assert_eq!(handle.read(&mut source), Ok(Progress::Complete));
    assert_eq!(seen, [(Some(Error::Busy), Ok(1)), (Some(Error::Busy), Ok(1))]);
    assert!(!handle.is_doomed() && handle.doom() && handle.is_doomed());
}

#[test]
fn freeing_inside_a_callback_waits_for_the_end_of_the_call() {
    let handle = Handle::new(Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range"));
    let mut source = FromFn(|_: &mut [u8]| {
        assert!(!handle.doom());
        Answer::END
    });
    assert_eq!(handle.read(&mut source), Ok(Progress::Complete));
    assert!(handle.is_doomed());
}

#[test]
fn a_panic_in_a_source_leaves_a_collector_that_tells_of_it() {
    let handle = Handle::new(Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range"));
    let mut source = FromFn(|_: &mut [u8]| panic!("a source of a test"));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handle.read(&mut source)));
    assert!(caught.is_err());
    assert_eq!(handle.with(|collector| collector.is_complete()), Ok(Err(Error::Panic)));
}

#[test]
fn a_reader_of_the_standard_library_is_read_whole_and_its_error_is_kept() {
    struct Fails(u8);
    impl io::Read for Fails {
        fn read(&mut self, window: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2 => Err(io::ErrorKind::WouldBlock.into()),
                3 => {
                    window[0] = 9;
                    Ok(1)
                }
                _ => Err(io::Error::from_raw_os_error(104)),
            }
        }
    }
    let mut source = FromRead::new(Fails(0));
    let mut collector = Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range");
    assert_eq!(collector.read(&mut source), Ok(Progress::Pending));
    assert_eq!(collector.read(&mut source), Err(Error::Source));
    assert_eq!(collector.info().source_error, -104);
    assert_eq!(source.error.and_then(|error| error.raw_os_error()), Some(104));
    assert_eq!(collector.take_partial().expect("what came").contiguous(), Ok(&[9][..]));
}

#[test]
fn buffers_are_read_on_many_threads_and_released_on_any() {
    for (_, memory) in both() {
        let pool = pool(memory);
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        read_all(&mut collector, &mut painted(300_000, 5000, 0)).expect("complete");
        let buffer = collector.finish().expect("complete");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let buffer = buffer.clone();
                scope.spawn(move || assert!(is_painted(buffer.contiguous().expect("memory"))));
            }
        });
        drop(buffer);
        assert_eq!(pool.stats().outstanding, 0);
        assert!(pool.stats().retained > 0);
    }
}

#[test]
fn a_thousand_threads_share_a_pool_and_its_counts_add_up() {
    for (_, memory) in both() {
        let pool = pool(memory);
        std::thread::scope(|scope| {
            for index in 0..1000usize {
                let pool = &pool;
                scope.spawn(move || {
                    let mut collector = Collector::new(pool, Options::default()).expect("in range");
                    read_all(&mut collector, &mut painted(index * 97, 20_000, 0)).expect("complete");
                    assert!(is_painted(
                        collector.finish().expect("complete").contiguous().expect("memory")
                    ));
                });
            }
        });
        let stats = pool.stats();
        assert_eq!(
            (stats.outstanding, stats.outstanding_bytes, stats.rented),
            (0, 0, stats.released)
        );
        assert_eq!(stats.allocated - stats.freed, stats.retained, "{stats:?}");
    }
}
