//! From a queue to a collector: whole blocks move, and the outcome is that of writing, for every kind of body (E52).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

use brimful::{Collector, End, Error, Got, MemoryRef, Options, Pool, PoolOptions, Prefer, Queue, State};
use std::ptr::NonNull;

fn painted(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|index| (index % 251) as u8).collect()
}

fn memories() -> [MemoryRef; 2] {
    [MemoryRef::system(), MemoryRef::heap()]
}

fn pool_of(memory: MemoryRef) -> Pool {
    let options = PoolOptions {
        memory,
        ..PoolOptions::default()
    };
    Pool::new(options).expect("memory")
}

/// The numbers of a sequence that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Small and large sizes alike.
    fn size(&mut self, most: usize) -> usize {
        let bits = self.below(most.ilog2() as usize + 1);
        self.below((2 << bits).min(most + 1))
    }
}

#[test]
fn whole_blocks_move_to_a_collector_where_they_lie_and_nothing_is_copied() {
    for memory in memories() {
        for length in [None, Some(3_000_000)] {
            let pool = pool_of(memory.clone());
            let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
            for from in (0..3_000_000).step_by(1000) {
                queue.write(&painted(from, 1000)).expect("memory");
            }
            let before = pool.stats();
            let shown: Vec<_> = queue.peek().map(|piece| (piece.as_ptr(), piece.len())).collect();
            let sizes: std::collections::HashSet<_> = shown.iter().map(|piece| piece.1).collect();
            assert!(sizes.len() >= 4, "blocks of many sizes, not one class: {sizes:?}");
            let options = Options {
                length,
                ..Options::default()
            };
            let mut collector = Collector::new(&pool, options).expect("in range");
            assert_eq!(queue.move_to(&mut collector), Ok(Got::Bytes(3_000_000)));
            assert_eq!(queue.move_to(&mut collector), Ok(Got::Pending));
            assert_eq!(pool.stats(), before, "nothing was rented or given back");
            let info = collector.info();
            assert_eq!((info.copied, info.rents, info.received), (0, 0, 3_000_000));
            assert!(
                info.peak_held >= 3_000_000 && info.peak_held < 3_400_000,
                "{}",
                info.peak_held
            );
            collector.end().expect("open or complete");
            let buffer = collector.finish().expect("complete");
            let segments: Vec<_> = buffer.segments().map(|piece| (piece.as_ptr(), piece.len())).collect();
            assert_eq!(segments, shown);
            assert!(buffer.contiguous().expect("memory") == painted(0, 3_000_000));
            drop((buffer, collector, queue));
            let stats = pool.stats();
            assert_eq!((stats.outstanding, stats.outstanding_bytes), (0, 0));
        }
    }
}

#[test]
fn a_body_behind_a_header_moves_but_for_its_two_ends() {
    for memory in memories() {
        let pool = pool_of(memory);
        let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
        let body = painted(8, 5_000_000);
        for message in 0..3 {
            assert_eq!(queue.write(&painted(message, 8)), Ok(8));
            assert_eq!(queue.write(&body), Ok(body.len()));
        }
        let rented = pool.stats().rented;
        for message in 0..3 {
            let mut header = [0; 8];
            assert_eq!(queue.read(&mut header), Got::Bytes(8));
            assert!(header[..] == painted(message, 8));
            let options = Options {
                length: Some(body.len() as u64),
                ..Options::default()
            };
            let mut collector = Collector::new(&pool, options).expect("in range");
            assert_eq!(queue.move_to(&mut collector), Ok(Got::Bytes(body.len())));
            let buffer = collector.finish().expect("complete");
            let info = buffer.info();
            assert!(buffer.contiguous().expect("memory") == body);
            assert!(
                info.rents <= 2 && info.copied == 0,
                "{} rents, {} copied",
                info.rents,
                info.copied
            );
        }
        assert_eq!(queue.waiting(), Got::Pending);
        assert!(
            pool.stats().rented <= rented + 9,
            "a copy of each end, and one join by contiguous, for each"
        );
    }
}

/// The same bytes by a queue and by `write_some`, cut in the same places, with the same outcome (E16).
fn moves_as_it_writes(pool: &Pool, other: &Pool, options: &Options, total: usize, seed: u64) {
    let mut random = Random(seed);
    let mut queue = Queue::new(pool, u64::MAX).expect("not 0");
    let mut by_queue = Collector::new(other, options.clone()).expect("in range");
    let mut by_write = Collector::new(other, options.clone()).expect("in range");
    let (mut given, mut waits) = (0, vec![]);
    let mut outcomes;
    while given < total || !waits.is_empty() {
        let bytes = random.size(200_000).min(total - given);
        let data = painted(given, bytes);
        given += bytes;
        if random.below(4) == 0 && waits.is_empty() {
            // Not by the queue at all, in between.
            outcomes = (by_queue.write_some(&data), by_write.write_some(&data));
        } else {
            queue.write(&data).expect("memory");
            waits.extend(data);
            if random.below(3) == 0 {
                continue;
            }
            if random.below(3) == 0 {
                // A header that is read before, so that blocks are moved that were read in part.
                let bytes = random.below(30).min(waits.len());
                queue.skip(bytes).expect("so many wait");
                waits.drain(..bytes);
            }
            let moved = queue.move_to(&mut by_queue);
            let wrote = by_write.write_some(&waits);
            let moved = moved.map(|got| match got {
                Got::Bytes(bytes) => bytes,
                _ => 0,
            });
            waits.drain(..*wrote.as_ref().unwrap_or(&0));
            outcomes = (moved, wrote);
        }
        assert_eq!(outcomes.0, outcomes.1, "{options:?}");
        let (one, two) = (by_queue.info(), by_write.info());
        assert_eq!(
            (one.state, one.length, one.truncated),
            (two.state, two.length, two.truncated)
        );
        if outcomes.0.is_err() || (outcomes.0 == Ok(0) && bytes > 0) {
            break;
        }
        // What is dropped by truncation counts as far as it came in one piece with what is not.
        assert!(one.received == two.received || one.truncated);
        assert_eq!(queue.len(), waits.len());
    }
    assert_eq!(by_queue.end(), by_write.end());
    if by_queue.info().state == State::Complete && options.prefer == Prefer::Exact {
        let (one, two) = (
            by_queue.finish_exact().expect("memory"),
            by_write.finish_exact().expect("memory"),
        );
        assert!(one.as_slice() == two.as_slice());
        if options.length.is_some() || options.size_hint.is_some() {
            let most = by_write.info().copied.max(options.length.unwrap_or(0) / 4);
            assert!(by_queue.info().copied <= most, "it lands where it is to stay (E7, E8)");
        }
        return;
    }
    let (one, two) = (
        by_queue.take_partial().expect("memory"),
        by_write.take_partial().expect("memory"),
    );
    assert!(one.contiguous().expect("memory") == two.contiguous().expect("memory"));
}

#[test]
fn moving_has_the_outcome_of_writing_for_every_kind_of_body() {
    let exact = |length, max_prealloc| Options {
        length: Some(length),
        prefer: Prefer::Exact,
        max_prealloc,
        ..Options::default()
    };
    let limited = |limit, truncate| Options {
        limit: Some(limit),
        truncate,
        ..Options::default()
    };
    let pooled = |length, end| Options {
        length: Some(length),
        end,
        ..Options::default()
    };
    let kinds = [
        Options::default(),
        pooled(700_000, End::Length),
        pooled(700_000, End::Eof),
        pooled(2_000_000, End::Length),
        pooled(0, End::Length),
        exact(700_000, 16 << 20),
        exact(700_000, 100_000),
        exact(2_000_000, 100_000),
        Options {
            exact_memory: Some(MemoryRef::heap()), // which does not reallocate: a quarter is staged
            ..exact(700_000, 100_000)
        },
        limited(300_000, false),
        limited(300_000, true),
        limited(0, true),
        Options {
            prefer: Prefer::Exact,
            ..Options::default()
        },
        Options {
            prefer: Prefer::Exact,
            size_hint: Some(500_000),
            ..Options::default()
        },
        Options {
            length: Some(10),
            limit: Some(9),
            ..Options::default()
        },
        Options {
            size_hint: Some(100),
            padding: 64,
            scrub: true,
            ..Options::default()
        },
    ];
    for memory in memories() {
        let (pool, other) = (pool_of(memory), pool_of(MemoryRef::heap()));
        for options in &kinds {
            for seed in 0..12 {
                moves_as_it_writes(&pool, &pool, options, 1_000_000, seed);
                moves_as_it_writes(&pool, &other, options, 1_000_000, seed);
            }
        }
        assert_eq!((pool.stats().outstanding, other.stats().outstanding), (0, 0));
    }
}

#[test]
fn a_body_in_the_callers_memory_gets_its_bytes_there_and_what_is_beyond_the_limit_stays_in_the_queue() {
    let pool = pool_of(MemoryRef::system());
    let mut target = vec![0xEE; 100_010];
    let start = NonNull::new(target.as_mut_ptr()).expect("not null");
    let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
    queue.write(&painted(0, 150_000)).expect("memory");
    // SAFETY: the target outlives the collector, and is looked at only after its last use.
    let mut collector = unsafe { Collector::new_into(&pool, Options::default(), start, 100_000) }.expect("in range");
    assert_eq!(queue.move_to(&mut collector), Err(Error::Limit));
    assert_eq!((queue.len(), collector.info().length), (50_000, 100_000));
    assert_eq!(queue.move_to(&mut collector), Err(Error::Limit));
    assert!(queue.peek().flatten().copied().eq(painted(100_000, 50_000)));
    drop(collector);
    assert!(target[..100_000] == painted(0, 100_000) && target[100_000..] == [0xEE; 10]);
}

#[test]
fn a_collector_in_another_state_answers_it_and_the_queue_keeps_its_bytes() {
    let pool = pool_of(MemoryRef::system());
    let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
    queue.write(b"hello").expect("memory");
    let new = || Collector::new(&pool, Options::default()).expect("in range");
    let mut with_window = new();
    with_window.reserve(0, true).expect("memory");
    let mut complete = new();
    complete.end().expect("open");
    let mut taken = new();
    taken.take_partial().expect("open");
    for collector in [&mut with_window, &mut complete, &mut taken] {
        assert_eq!(queue.move_to(collector), Err(Error::State));
        assert_eq!(queue.len(), 5);
    }
    let options = Options {
        length: Some(3),
        ..Options::default()
    };
    let mut three = Collector::new(&pool, options).expect("in range");
    assert_eq!(queue.move_to(&mut three), Ok(Got::Bytes(3)));
    assert_eq!(queue.move_to(&mut three), Ok(Got::Bytes(0)));
    assert_eq!(three.info().state, State::Complete);
    assert_eq!(queue.len(), 2);
}

#[test]
fn a_body_holds_little_more_than_it_got_however_small_the_moves_and_however_empty_the_blocks() {
    for memory in memories() {
        for piece in [1, 100, 3000, 5000, 20_000, 70_000] {
            for leftover in [0, 4 << 20] {
                let pool = pool_of(memory.clone());
                let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
                let mut collector = Collector::new(&pool, Options::default()).expect("in range");
                let total = (piece * 2000).min(2_000_000);
                for given in (0..total).step_by(piece) {
                    if leftover > 0 {
                        // What waited for long has made the last block a large one, of which little is left.
                        queue.write(&vec![7; leftover]).expect("memory");
                    }
                    queue.write(&painted(given, piece)).expect("memory");
                    queue.skip(leftover).expect("so many wait");
                    assert_eq!(queue.move_to(&mut collector), Ok(Got::Bytes(piece)));
                    let info = collector.info();
                    // The pool may give a warm block of up to eight times what was asked for.
                    let warm = if leftover > 0 { 128 << 10 } else { 0 };
                    let most = info.received * 5 / 2 + (64 << 10) + warm;
                    assert!(info.peak_held <= most, "{piece} {leftover}: {info:?}");
                    if leftover > 0 && given > 100 * piece {
                        break;
                    }
                }
                let came = collector.info().received as usize;
                assert!(collector.segments().flatten().copied().eq(painted(0, came)));
                let segments = collector.segments().count();
                assert!(segments <= 64 + came / 2000, "{piece} {leftover}: {segments}");
                drop((queue, collector));
                assert_eq!(pool.stats().outstanding, 0);
            }
        }
    }
}

#[test]
fn a_collector_that_was_reset_takes_bodies_from_a_queue_one_after_the_other_in_constant_memory() {
    for memory in memories() {
        let pool = pool_of(memory);
        let mut queue = Queue::new(&pool, 1 << 20).expect("not 0");
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        let mut random = Random(3);
        for round in 0..3000 {
            let length = random.size(300_000);
            let options = Options {
                length: [None, Some(length as u64)][round % 2],
                ..Options::default()
            };
            collector.reset(Some(options)).expect("in range");
            let mut given = 0;
            while given < length {
                let piece = random.size(100_000).min(length - given);
                assert_eq!(queue.write(&painted(given, piece)), Ok(piece));
                given += piece;
                let moved = if piece > 0 { Got::Bytes(piece) } else { Got::Pending };
                assert_eq!(queue.move_to(&mut collector), Ok(moved));
            }
            collector.end().expect("open or complete");
            if round % 5 > 0 {
                let buffer = collector.finish().expect("complete");
                assert!(buffer.segments().flatten().copied().eq(painted(0, length)));
                assert!(round % 2 == 0 || buffer.info().copied == 0);
            }
        }
        assert!(pool.stats().peak_bytes <= 4 << 20, "{:?}", pool.stats());
        drop((queue, collector));
        assert_eq!(pool.stats().outstanding, 0);
    }
}
