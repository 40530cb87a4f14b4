//! What the pool guesses of the next body costs time where it is wrong, and nothing else.
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

mod common;

use brimful::{Buffer, Collector, Error, MemoryRef, Options, Pool, PoolOptions, Prefer};
use common::{MIB, is_painted, paint, pool};

fn collected(pool: &Pool, bytes: usize) -> Buffer {
    let mut collector = Collector::new(pool, Options::default()).expect("in range");
    let body: Vec<u8> = (0..bytes).map(paint).collect();
    for piece in body.chunks(10_000) {
        collector.write(piece).expect("memory");
    }
    collector.end().expect("open");
    collector.finish().expect("complete")
}

#[test]
fn small_bodies_that_are_kept_after_large_ones_do_not_keep_the_memory_of_those() {
    let pool = pool(MemoryRef::system());
    let mut kept = vec![];
    for _ in 0..3 {
        drop(collected(&pool, 20 * MIB));
        kept.push(collected(&pool, 100));
    }
    let held = pool.stats().outstanding_bytes;
    assert!(held <= 3 * MIB as u64, "{held} bytes for {} bodies of 100", kept.len());
    assert!(kept.iter().all(|body| is_painted(body.contiguous().expect("memory"))));
}

#[test]
fn an_exact_body_after_a_large_one_needs_no_more_of_a_budget_than_before_it() {
    let pool = Pool::new(PoolOptions {
        budget: Some(100 << 10),
        ..PoolOptions::default()
    })
    .expect("memory");
    let exact = || {
        let options = Options {
            prefer: Prefer::Exact,
            ..Options::default()
        };
        Collector::new(&pool, options).expect("in range")
    };
    let small_beside_another = || -> Result<(), Error> {
        let options = Options {
            length: Some(50_001),
            ..Options::default()
        };
        let mut other = Collector::new(&pool, options).expect("in range");
        other.write(&[1; 50_000])?;
        exact().write(&[1; 100])
    };
    assert_eq!(small_beside_another(), Ok(()));
    let mut large = exact();
    large.write(&[1; 10_000]).expect("memory");
    large.write(&[1; 10_000]).expect("memory");
    large.end().expect("open");
    assert_eq!(large.finish_exact().expect("complete").len(), 20_000);
    assert_eq!(small_beside_another(), Ok(()));
}

#[test]
fn a_hint_that_no_budget_has_room_for_is_no_error() {
    for memory in [MemoryRef::system(), MemoryRef::heap()] {
        for prefer in [Prefer::Pooled, Prefer::Exact] {
            let pool = Pool::new(PoolOptions {
                budget: Some(1 << 20),
                memory: memory.clone(),
                ..PoolOptions::default()
            })
            .expect("memory");
            let options = Options {
                prefer,
                size_hint: Some(5 << 20),
                ..Options::default()
            };
            let mut collector = Collector::new(&pool, options).expect("in range");
            assert_eq!(collector.write(&[1; 100]), Ok(()), "{prefer:?}");
        }
    }
}
