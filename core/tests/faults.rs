//! Every allocation fails in turn, once and for ever after: the engine's own bookkeeping (the global allocator) and the
//! memory of blocks and results (a memory of the test's own). Each time the status is right, nothing that had come is
//! lost, going on works once memory is there again, and at the end everything was given back (E30, E31).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

#[path = "common/hostile.rs"]
mod hostile;

use brimful::{Collector, Error, MemoryRef, Options, Pool, PoolOptions, Prefer};
use hostile::{Counting, FAILING, WORKING, without_faults};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const CHUNK: usize = 6000;

/// One body in chunks, each call made again until it works; says how often memory was refused.
fn scenario(pool: &Pool, exact: &MemoryRef, options: &Options, bytes: usize) -> usize {
    let body: Vec<u8> = without_faults(|| (0..bytes).map(|index| (index % 251) as u8).collect());
    let options = Options {
        exact_memory: Some(exact.clone()),
        ..options.clone()
    };
    let exact_wanted = options.prefer == Prefer::Exact;
    let mut collector = Collector::new(pool, options).expect("in range");
    let mut refused = 0;
    let mut again = |error: Error| {
        assert_eq!(error, Error::NoMemory);
        refused += 1;
        assert!(refused < 1000, "memory is there again by now");
        if refused == 900 {
            WORKING.set(usize::MAX); // for ever was long enough
        }
    };
    let mut given = 0;
    while given < bytes {
        let count = CHUNK.min(bytes - given);
        let before = collector.info();
        match collector.write(&body[given..given + count]) {
            Ok(()) => given += count,
            Err(error) => {
                again(error);
                let after = collector.info();
                assert_eq!(
                    (after.received, after.length, after.state),
                    (before.received, before.length, before.state)
                );
            }
        }
        assert_eq!(
            collector.segments().map(<[u8]>::len).sum::<usize>(),
            given,
            "nothing is lost"
        );
    }
    collector.end().expect("open");
    if exact_wanted {
        let exact = loop {
            match collector.finish_exact() {
                Ok(exact) => break exact,
                Err(error) => again(error),
            }
        };
        assert!(exact.as_slice() == body);
    } else {
        let buffer = loop {
            match collector.finish() {
                Ok(buffer) => break buffer,
                Err(error) => again(error),
            }
        };
        let joined = loop {
            match buffer.contiguous() {
                Ok(joined) => break joined,
                Err(error) => again(error),
            }
        };
        assert!(joined == body);
    }
    refused
}

#[test]
fn a_refused_allocation_is_a_status_and_nothing_is_lost_or_leaked() {
    static OUT: AtomicUsize = AtomicUsize::new(0);
    for inner in [MemoryRef::system(), MemoryRef::heap()] {
        let memory = MemoryRef::counted(Counting { inner, out: &OUT }).expect("memory");
        let exact = MemoryRef::counted(Counting {
            inner: MemoryRef::malloc(),
            out: &OUT,
        })
        .expect("memory");
        let bytes = 400_000;
        for options in [
            Options::default(),
            Options {
                prefer: Prefer::Exact,
                ..Options::default()
            },
            Options {
                prefer: Prefer::Exact,
                length: Some(bytes as u64),
                ..Options::default()
            },
            Options {
                prefer: Prefer::Exact,
                length: Some(bytes as u64),
                max_prealloc: 50_000,
                ..Options::default()
            },
            Options {
                size_hint: Some(20_000),
                ..Options::default()
            },
            Options {
                prefer: Prefer::Exact,
                size_hint: Some(500_000),
                ..Options::default()
            },
        ] {
            let mut reached = 0;
            for nth in 0..60 {
                for failing in [1, usize::MAX] {
                    let pool = Pool::new(PoolOptions {
                        memory: memory.clone(),
                        ..PoolOptions::default()
                    })
                    .expect("memory");
                    FAILING.set(failing);
                    WORKING.set(nth);
                    let refused = scenario(&pool, &exact, &options, bytes);
                    WORKING.set(usize::MAX);
                    reached += usize::from(refused > 0);
                    drop(pool);
                    assert_eq!(
                        OUT.load(Relaxed),
                        0,
                        "{options:?}: the {nth}th allocation failed and something leaked"
                    );
                }
            }
            assert!(
                reached >= 2,
                "{options:?}: only {reached} allocations were made to fail"
            );
        }
    }
}

#[test]
fn without_memory_a_pool_and_a_cancel_are_refused_and_nothing_aborts() {
    FAILING.set(usize::MAX);
    WORKING.set(0);
    let refused = (
        Pool::new(PoolOptions::default()).is_none(),
        brimful::Cancel::new().is_none(),
    );
    WORKING.set(usize::MAX);
    assert_eq!(refused, (true, true));
}

#[test]
fn a_body_in_the_callers_memory_stays_there_while_no_memory_is_to_be_had_for_its_copy() {
    for nth in 0..4 {
        let pool = Pool::new(PoolOptions::default()).expect("memory");
        let mut target = vec![0xEEu8; 100];
        let start = std::ptr::NonNull::new(target.as_mut_ptr()).expect("not null");
        // SAFETY: the target outlives the collector, and is looked at only after its last use.
        let made = unsafe { Collector::new_into(&pool, Options::default(), start, 100) };
        let mut collector = made.expect("in range");
        collector.write(b"hello").expect("it fits");
        FAILING.set(1);
        WORKING.set(nth);
        let taken = collector.take_partial();
        WORKING.set(usize::MAX);
        if let Err(error) = &taken {
            assert_eq!(*error, Error::NoMemory);
            collector.write(b" world").expect("nothing changed (E30)");
            collector.end().expect("open");
            assert_eq!(collector.info().length, 11);
            let buffer = collector.finish().expect("a pooled copy");
            assert_eq!(buffer.contiguous(), Ok(&b"hello world"[..]));
            drop((buffer, collector));
            assert_eq!(&target[..12], b"hello world\xEE");
        }
        drop(taken);
        assert_eq!(pool.stats().outstanding, 0);
    }
}
