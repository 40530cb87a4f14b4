//! Every allocation of a queue's life fails in turn, once and for ever after: the status is right, nothing that was
//! written is lost, going on works once memory is there again, and at the end everything was given back (E30, E31).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

#[path = "common/hostile.rs"]
mod hostile;

use brimful::{Collector, Error, Got, MemoryRef, Options, Pool, PoolOptions, Queue};
use hostile::{Counting, FAILING, WORKING, without_faults};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TOTAL: usize = 3_000_000;

/// Repeats a call that memory is refused to, after a look at the queue, which must be as it was.
fn again<R>(queue: &mut Queue, refused: &mut usize, mut call: impl FnMut(&mut Queue) -> Result<R, Error>) -> R {
    loop {
        let before = queue.len();
        match call(queue) {
            Ok(result) => return result,
            Err(error) => {
                assert_eq!((error, queue.len()), (Error::NoMemory, before));
                *refused += 1;
                if *refused == 300 {
                    WORKING.set(usize::MAX); // for ever was long enough
                }
            }
        }
    }
}

/// A queue that is written to by small pieces, a large one and windows, and moved to a collector in between; says how
/// often memory was refused.
fn scenario(pool: &Pool, data: &[u8]) -> usize {
    let mut refused = 0;
    let mut queue = Queue::new(pool, u64::MAX).expect("not 0");
    let mut collector = Collector::new(pool, Options::default()).expect("in range");
    let mut given = 0;
    while given < data.len() {
        let piece = [3000, 700_000, 50][given % 3].min(data.len() - given);
        given += again(&mut queue, &mut refused, |queue| {
            queue.write(&data[given..given + piece])
        });
        let window = again(&mut queue, &mut refused, |queue| queue.reserve(0, false)).expect("not full");
        let piece = window.room.min(data.len() - given).min(9000);
        // SAFETY: the window has that much room, and is committed with what was written.
        unsafe {
            window.pointer.as_ptr().copy_from(data[given..].as_ptr(), piece);
            queue.commit(piece).expect("it fits");
        }
        given += piece;
        if given > data.len() / 2 {
            while !queue.is_empty() {
                let moved = again(&mut queue, &mut refused, |queue| queue.move_to(&mut collector));
                assert!(matches!(moved, Got::Bytes(1..)));
            }
        }
        assert_eq!(
            collector.segments().map(<[u8]>::len).sum::<usize>() + queue.len(),
            given,
            "nothing is lost"
        );
    }
    collector.end().expect("open");
    assert_eq!(queue.waiting(), Got::Pending);
    let mut rest = data;
    for segment in collector.segments() {
        let (here, behind) = rest.split_at(segment.len());
        assert!(segment == here);
        rest = behind;
    }
    assert!(rest.is_empty());
    refused
}

#[test]
fn a_refused_allocation_is_a_status_and_nothing_is_lost_or_leaked() {
    static OUT: AtomicUsize = AtomicUsize::new(0);
    let data: Vec<u8> = (0..TOTAL).map(|index| (index % 251) as u8).collect();
    for inner in [MemoryRef::system(), MemoryRef::heap()] {
        let memory = MemoryRef::counted(Counting { inner, out: &OUT }).expect("memory");
        let mut reached = 0;
        for nth in 0..60 {
            for failing in [1, 2, usize::MAX] {
                let options = PoolOptions {
                    memory: memory.clone(),
                    ..PoolOptions::default()
                };
                let pool = Pool::new(options).expect("memory");
                FAILING.set(failing);
                WORKING.set(nth);
                let refused = scenario(&pool, &data);
                WORKING.set(usize::MAX);
                reached += usize::from(refused > 0);
                drop(pool);
                assert_eq!(
                    without_faults(|| OUT.load(Relaxed)),
                    0,
                    "the {nth}th failed and something leaked"
                );
            }
        }
        assert!(reached >= 10, "only {reached} were made to fail");
    }
}
