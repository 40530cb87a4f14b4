//! What a pool promises: reuse, caps, counts, budgets, threads, forks (E37 to E39, E44 to E50).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

mod common;

use brimful::{Collector, Error, MemoryRef, Options, Pool, PoolOptions};
use common::{MIB, both, is_painted, paint, painted, pool, read_all};

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

#[test]
fn a_slice_keeps_its_block_out_of_the_pool_until_it_is_cut_loose() {
    for (_, memory) in both() {
        let pool = pool(memory);
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        read_all(&mut collector, &mut painted(MIB, usize::MAX, 0)).expect("complete");
        let buffer = collector.finish().expect("complete");
        let slice = buffer.slice(1000, 10).expect("within");
        assert_eq!(slice.info().copied, buffer.info().copied, "a slice copies nothing");
        drop(buffer);
        assert!(pool.stats().outstanding_bytes >= MIB as u64, "{:?}", pool.stats());
        // SAFETY: nobody else has the slice.
        unsafe { slice.detach_in_place() }.expect("memory");
        assert!(pool.stats().outstanding_bytes <= 16384, "{:?}", pool.stats());
        assert!(
            slice
                .contiguous()
                .expect("memory")
                .iter()
                .enumerate()
                .all(|(i, &byte)| byte == paint(1000 + i))
        );
        drop(slice);
        assert_eq!(pool.stats().outstanding, 0);
    }
}

#[test]
fn a_forked_child_goes_on_with_pools_and_collectors_whatever_other_threads_held() {
    // E50, H35, H43: another thread is in the pool all the time while this one forks.
    let pool = pool(MemoryRef::system());
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let mut collector = Collector::new(&pool, Options::default()).expect("in range");
                collector.write(&[1; 20_000]).expect("open");
            }
        });
        for _ in 0..200 {
            let mut collector = Collector::new(&pool, Options::default()).expect("in range");
            let chunk: Vec<u8> = (0..20_000).map(paint).collect();
            collector.write(&chunk).expect("open");
            // SAFETY: the child calls the engine and leaves by _exit; it takes no lock that another thread may hold.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let went_on = collector.write(&[0]).is_ok()
                    && collector.end().is_ok()
                    && collector.finish().is_ok_and(|buffer| buffer.len() == 20_001);
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(if went_on { 0 } else { 1 }) };
            }
            let mut status = 0;
            // SAFETY: waits for the child just made.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

fn with_budget(memory: MemoryRef, budget: u64) -> Pool {
    let budget = Some(budget);
    Pool::new(PoolOptions {
        budget,
        memory,
        ..PoolOptions::default()
    })
    .expect("memory")
}

#[test]
fn a_budget_is_charged_for_what_a_body_is_granted_and_not_for_what_its_block_could_be() {
    // A body within the budget is taken whatever the steps of a growing block would be (E45).
    for length in [None, Some(100_000)] {
        let pool = with_budget(MemoryRef::system(), 200_000);
        let mut collector = Collector::new(
            &pool,
            Options {
                length,
                ..Options::default()
            },
        )
        .expect("in range");
        read_all(&mut collector, &mut painted(100_000, 8000, 0)).expect("within the budget");
    }
    // A warm larger block is charged for what is granted of it.
    let pool = with_budget(MemoryRef::heap(), 65536);
    let body = |length: usize| {
        let options = Options {
            length: Some(length as u64),
            ..Options::default()
        };
        let mut collector = Collector::new(&pool, options).expect("in range");
        read_all(&mut collector, &mut painted(length, 8000, 0)).expect("within the budget");
        collector.finish().expect("complete")
    };
    drop(body(65536));
    let both = (body(30_000), body(30_000));
    assert_eq!(both.0.len() + both.1.len(), 60_000);
}

#[test]
fn what_a_reset_or_a_refused_write_was_granted_goes_back_to_the_budget() {
    let pool = with_budget(MemoryRef::system(), 16 * MIB as u64);
    let options = Options {
        length: Some(16 * MIB as u64),
        ..Options::default()
    };
    let mut first = Collector::new(&pool, options.clone()).expect("in range");
    first.write(&[1]).expect("within the budget");
    first.reset(None).expect("the same options");
    let mut second = Collector::new(&pool, options).expect("in range");
    second.write(&[1]).expect("nobody else holds any of it (E40, E45)");

    let pool = with_budget(MemoryRef::system(), 300 * MIB as u64);
    let mut first = Collector::new(&pool, Options::default()).expect("in range");
    first.write(&vec![1; 100_000]).expect("within the budget");
    let large = vec![1; 400 * MIB];
    assert_eq!(first.write(&large), Err(brimful::Error::Budget));
    let mut second = Collector::new(&pool, Options::default()).expect("in range");
    second
        .write(&large[..100 * MIB])
        .expect("a refused write keeps nothing (E30)");
}

#[test]
fn idle_memory_goes_when_the_pool_is_next_asked_for_a_block() {
    let options = PoolOptions {
        idle_milliseconds: 20,
        ..PoolOptions::default()
    };
    let pool = Pool::new(options).expect("memory");
    let mut collector = Collector::new(&pool, Options::default()).expect("in range");
    read_all(&mut collector, &mut painted(3 * MIB, usize::MAX, 0)).expect("complete");
    drop(collector.finish().expect("complete"));
    std::thread::sleep(std::time::Duration::from_millis(60));
    let mut collector = Collector::new(&pool, Options::default()).expect("in range");
    collector.write(&[1]).expect("open");
    assert!(pool.stats().retained_bytes < 65536, "E46: {:?}", pool.stats());
}

#[test]
fn a_range_that_nobody_touched_is_not_kept() {
    let pool = pool(MemoryRef::system());
    for _ in 0..5 {
        let options = Options {
            length: Some(MIB as u64),
            ..Options::default()
        };
        let mut collector = Collector::new(&pool, options).expect("in range");
        let _ = collector.reserve(0, false).expect("a window");
        // SAFETY: nothing is claimed.
        unsafe { collector.commit(0) }.expect("open");
    }
    assert_eq!((pool.stats().retained, pool.stats().outstanding), (0, 0));
}

#[test]
fn threads_find_their_own_warm_blocks_however_many_there_are() {
    for (name, memory) in both() {
        let pool = pool(memory);
        let (threads, bodies) = (2, 400);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for round in 0..bodies {
                        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
                        read_all(&mut collector, &mut painted(5000 + round, 4096, 0)).expect("complete");
                        assert!(is_painted(
                            collector.finish().expect("complete").contiguous().expect("one")
                        ));
                    }
                });
            }
        });
        let stats = pool.stats();
        assert_eq!((stats.outstanding, stats.rented), (0, stats.released), "{name}");
        assert!(stats.reused * 10 >= stats.rented * 9, "{name}: {stats:?}");
    }
}

#[test]
fn threads_together_keep_no_more_than_the_cap() {
    let pool = Pool::new(PoolOptions {
        max_retained: 4 * MIB as u64,
        memory: MemoryRef::heap(),
        ..PoolOptions::default()
    })
    .expect("memory");
    for _ in 0..20 {
        let barrier = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let options = Options {
                        length: Some(MIB as u64),
                        ..Options::default()
                    };
                    let mut collector = Collector::new(&pool, options).expect("in range");
                    read_all(&mut collector, &mut painted(MIB, usize::MAX, 0)).expect("complete");
                    let body = collector.finish().expect("complete");
                    barrier.wait();
                    drop(body);
                });
            }
        });
        let stats = pool.stats();
        assert!(stats.retained_bytes <= 4 * MIB as u64, "{stats:?}");
        assert_eq!(stats.allocated_bytes - stats.freed_bytes, stats.retained_bytes);
    }
    assert!(pool.trim(0) > 0);
    assert_eq!((pool.stats().retained, pool.stats().retained_bytes), (0, 0));
}

#[test]
fn what_lies_idle_at_another_threads_shard_is_found_and_given_back() {
    let pool = Pool::new(PoolOptions {
        idle_milliseconds: 30,
        ..PoolOptions::default()
    })
    .expect("memory");
    let body = |bytes| {
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        read_all(&mut collector, &mut painted(bytes, usize::MAX, 0)).expect("complete");
        collector.finish().expect("complete")
    };
    std::thread::scope(|scope| scope.spawn(|| drop(body(3 * MIB))).join().expect("no panic"));
    let before = pool.stats().allocated;
    drop(body(2 * MIB));
    let allocated = pool.stats().allocated;
    assert_eq!(
        allocated, before,
        "warm memory of another thread serves before fresh memory does"
    );
    std::thread::sleep(std::time::Duration::from_millis(80));
    std::thread::scope(|scope| scope.spawn(|| drop(body(10))).join().expect("no panic"));
    assert!(pool.stats().retained_bytes < 65536, "{:?}", pool.stats());
}

#[test]
fn a_warm_body_takes_no_memory_for_its_handle_either() {
    let pool = pool(MemoryRef::system());
    let mut collector = Collector::new(&pool, Options::default()).expect("in range");
    let mut places = std::collections::HashSet::new();
    for _ in 0..50 {
        read_all(&mut collector, &mut painted(100, usize::MAX, 0)).expect("complete");
        let raw = collector.finish().expect("complete").into_raw();
        places.insert(raw);
        // SAFETY: it comes from into_raw just now, and is taken back once.
        drop(unsafe { brimful::Buffer::from_raw(raw) });
        collector.reset(None).expect("in range");
    }
    assert_eq!(places.len(), 1, "every handle lay where the one before it had lain");
}

#[test]
fn a_rent_alone_gives_back_what_lies_idle_at_other_shards() {
    let pool = Pool::new(PoolOptions {
        idle_milliseconds: 30,
        ..PoolOptions::default()
    })
    .expect("memory");
    let body = |bytes| {
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        read_all(&mut collector, &mut painted(bytes, usize::MAX, 0)).expect("complete");
        collector.finish().expect("complete")
    };
    std::thread::scope(|scope| scope.spawn(|| drop(body(6 * MIB))).join().expect("no panic"));
    drop(body(100));
    std::thread::sleep(std::time::Duration::from_millis(80));
    let kept = body(100);
    assert!(pool.stats().retained_bytes < 65536, "{:?}", pool.stats());
    drop(kept);
}
