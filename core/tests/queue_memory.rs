//! Where a queue's memory goes: budgets to the byte, windows that show no byte of another body, bytes that wait aside,
//! memory that its host may take away (E10, E45, E49, E52).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

use brimful::memory::{Profile, Raw};
use brimful::{Collector, Error, Got, Memory, MemoryRef, Options, Pool, PoolOptions, Queue, Window};

fn painted(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|index| (index % 251) as u8).collect()
}

/// Heap blocks that are zero when they are fresh, so that only what is counted as dirty is cleared.
struct Zeroed {
    detachable: bool,
}

// SAFETY: as the heap it passes on to.
unsafe impl Memory for Zeroed {
    fn profile(&self) -> Profile {
        Profile {
            detachable: self.detachable,
            ..MemoryRef::heap().profile()
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        let mut raw = MemoryRef::heap().allocate(size, align)?;
        // SAFETY: the piece is fresh and this large.
        unsafe { raw.pointer.as_ptr().write_bytes(0, raw.capacity) };
        raw.dirty = 0;
        Some(raw)
    }

    unsafe fn deallocate(&self, raw: Raw) {
        // SAFETY: passed on.
        unsafe { MemoryRef::heap().deallocate(raw) };
    }
}

fn pool_with(budget: Option<u64>) -> Pool {
    let options = PoolOptions {
        memory: MemoryRef::counted(Zeroed { detachable: false }).expect("memory"),
        budget,
        ..PoolOptions::default()
    };
    Pool::new(options).expect("memory")
}

fn collector_on(pool: &Pool) -> Collector {
    let options = Options {
        first_block: 4096,
        ..Options::default()
    };
    Collector::new(pool, options).expect("in range")
}

fn queue_on(pool: &Pool) -> Queue {
    Queue::new(pool, u64::MAX).expect("not 0")
}

fn is_clear(window: &Window) -> bool {
    // SAFETY: a cleared window is readable over its room, and nobody else looks at it before the commit.
    let shown = unsafe { std::slice::from_raw_parts(window.pointer.as_ptr(), window.room) };
    shown.iter().all(|byte| *byte == 0)
}

/// Lets a source write all over a window of the queue, as far as it goes, and claim nothing.
fn scribble(queue: &mut Queue) {
    let window = queue.reserve(60_000, false).expect("memory").expect("not full");
    // SAFETY: the window has that much room.
    unsafe {
        window.pointer.as_ptr().write_bytes(0x5A, window.room);
        queue.commit(0).expect("nothing");
    }
}

#[test]
fn what_a_source_wrote_beyond_its_claim_is_cleared_before_the_next_body_sees_the_block() {
    let pool = pool_with(None);
    let mut queue = queue_on(&pool);
    scribble(&mut queue);
    drop(queue);
    let mut next = queue_on(&pool);
    let window = next.reserve(60_000, true).expect("memory").expect("not full");
    assert!(pool.stats().reused == 1 && is_clear(&window));
    // SAFETY: nothing is claimed.
    unsafe { next.commit(0) }.expect("nothing");
}

#[test]
fn behind_bytes_that_came_from_a_queue_a_cleared_window_shows_zeros() {
    for moves in [true, false] {
        let pool = pool_with(None);
        // Blocks of several sizes, full of another body's bytes.
        let mut dirty: Vec<Queue> = (0..6).map(|_| queue_on(&pool)).collect();
        for (index, queue) in dirty.iter_mut().enumerate() {
            queue.write(&vec![0x5A; 4096 << (index / 2)]).expect("memory");
        }
        drop(dirty);
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        let window = collector.reserve(0, true).expect("memory");
        assert!(is_clear(&window));
        // SAFETY: the window is a cleared one.
        unsafe { collector.commit(window.room - 10) }.expect("it fits");
        let mut queue = queue_on(&pool);
        let bytes = if moves { 9000 } else { 60_000 };
        queue.write(&painted(0, bytes)).expect("memory");
        if !moves {
            queue.skip(59_500).expect("so many wait"); // mostly empty now: copied
        }
        assert!(matches!(queue.move_to(&mut collector), Ok(Got::Bytes(_))));
        let window = collector.reserve(0, true).expect("memory");
        assert!(!window.side && is_clear(&window), "{moves}");
    }
}

#[test]
fn bytes_that_wait_in_the_side_window_come_before_those_that_move() {
    let pool = pool_with(None);
    let mut collector = collector_on(&pool);
    collector.write(&painted(0, 4096)).expect("memory");
    let window = collector.reserve(0, true).expect("memory");
    assert!(window.side, "the block is full for good");
    // SAFETY: the window has at least 4 KiB, and is committed with what was written.
    unsafe {
        window.pointer.as_ptr().copy_from(painted(4096, 10).as_ptr(), 10);
        collector.commit(10).expect("it fits");
    }
    let mut queue = queue_on(&pool);
    queue.write(&painted(4106, 60_000)).expect("memory");
    assert_eq!(queue.move_to(&mut collector), Ok(Got::Bytes(60_000)));
    assert!(collector.segments().flatten().copied().eq(painted(0, 64_106)));
}

#[test]
fn a_refused_write_gives_the_rest_of_a_warm_block_back_to_the_budget() {
    let pool = pool_with(Some(32 << 10));
    let mut warm = queue_on(&pool);
    warm.write(&[1; 16 << 10]).expect("memory");
    drop(warm);
    let mut queue = queue_on(&pool);
    queue.write(&[1; 100]).expect("memory");
    assert_eq!(pool.stats().reused, 1, "16 KiB, of which 4 are charged");
    assert_eq!(queue.write(&[1; 100_000]), Err(Error::Budget));
    let mut other = queue_on(&pool);
    assert_eq!(
        other.write(&[1; 28 << 10]),
        Ok(28 << 10),
        "all that is left of the budget"
    );
    assert_eq!(queue.write(&[1; 3996]), Ok(3996));
    assert_eq!(queue.write(&[1]), Err(Error::Budget));
}

#[test]
fn a_block_that_others_came_behind_is_charged_for_its_bytes_only() {
    let pool = pool_with(Some(100 << 10));
    let mut collector = Collector::new(&pool, Options::default()).expect("in range");
    collector.write(&[1; 100]).expect("16 KiB");
    let mut queue = queue_on(&pool);
    queue.write(&[1; 64 << 10]).expect("memory");
    assert_eq!(queue.move_to(&mut collector), Ok(Got::Bytes(64 << 10)));
    assert_eq!(
        queue.write(&[1; 32 << 10]),
        Ok(32 << 10),
        "16 KiB less 100 bytes are free again"
    );
    drop((queue, collector));
    assert_eq!(queue_on(&pool).write(&[1; 100 << 10]), Ok(100 << 10));
}

#[test]
fn a_reset_collector_begins_in_the_memory_it_kept_when_little_comes_from_a_queue() {
    for memory in [MemoryRef::system(), MemoryRef::heap()] {
        let options = PoolOptions {
            memory,
            ..PoolOptions::default()
        };
        let pool = Pool::new(options).expect("memory");
        let (mut queue, mut collector) = (queue_on(&pool), collector_on(&pool));
        collector.write(&[1; 100_000]).expect("memory");
        collector.reset(None).expect("in range");
        queue.write(&painted(0, 60_000)).expect("memory");
        queue.skip(59_900).expect("so many wait"); // a block that is mostly empty is copied
        assert_eq!(queue.move_to(&mut collector), Ok(Got::Bytes(100)));
        assert_eq!((collector.info().rents, collector.segments().count()), (0, 1));
    }
}

#[test]
fn memory_that_its_host_may_take_away_is_refused() {
    let options = PoolOptions {
        memory: MemoryRef::counted(Zeroed { detachable: true }).expect("memory"),
        ..PoolOptions::default()
    };
    let pool = Pool::new(options).expect("memory");
    assert_eq!(Queue::new(&pool, 1).expect_err("detachable").name, "pool");
}
