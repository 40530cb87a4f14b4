//! The hand-off queue against a model of a few lines: what goes in comes out, once and in order, whatever the sizes of
//! writes, windows, reads, skips and moves are (E52).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

use brimful::{Collector, Error, Got, MemoryRef, Options, Pool, PoolOptions, Queue};
use std::collections::VecDeque;
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

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(usize),
    Reserve(usize),
    Commit(usize),
    End(i32),
    Read(usize),
    Skip(usize),
    Move,
}

/// A queue, a collector that it is moved to, and what both should be.
struct Twins {
    queue: Queue,
    waits: VecDeque<u8>,
    capacity: usize,
    end: Option<i32>,
    window: Option<(NonNull<u8>, usize)>,
    written: usize,
    collector: Collector,
    moved: Vec<u8>,
}

impl Twins {
    fn new(pool: &Pool, capacity: usize) -> Twins {
        Twins {
            queue: Queue::new(pool, capacity as u64).expect("not 0"),
            waits: VecDeque::new(),
            capacity,
            end: None,
            window: None,
            written: 0,
            collector: Collector::new(pool, Options::default()).expect("in range"),
            moved: vec![],
        }
    }

    fn arrives(&mut self, bytes: &[u8]) {
        self.waits.extend(bytes);
        self.written += bytes.len();
    }

    fn empty_or(&self, bytes: usize) -> Got {
        match self.end {
            _ if !self.waits.is_empty() => Got::Bytes(bytes),
            None => Got::Pending,
            Some(0) => Got::End,
            Some(number) => Got::Failed(number),
        }
    }

    fn step(&mut self, step: Step) {
        let free = self.capacity - self.waits.len();
        match step {
            Step::Write(bytes) => {
                let data = painted(self.written, bytes);
                let came = self.queue.write(&data);
                if self.end.is_some() || self.window.is_some() {
                    return assert_eq!(came, Err(Error::State));
                }
                assert_eq!(came, Ok(bytes.min(free)));
                self.arrives(&data[..bytes.min(free)]);
            }
            Step::Reserve(want) => {
                let came = self.queue.reserve(want, false);
                match (self.end, self.window) {
                    (Some(_), _) => assert_eq!(came, Err(Error::State)),
                    (_, Some(window)) => {
                        let came = came.expect("the same").expect("the same");
                        assert_eq!((came.pointer, came.room), window);
                    }
                    _ if free == 0 => assert_eq!(came, Ok(None)),
                    _ => {
                        let came = came.expect("memory").expect("not full");
                        assert!(came.room >= free.min(4096) && came.room <= free);
                        self.window = Some((came.pointer, came.room));
                    }
                }
            }
            Step::Commit(bytes) => {
                let Some((pointer, room)) = self.window.take() else {
                    // SAFETY: nothing is claimed where no window is out.
                    return assert_eq!(unsafe { self.queue.commit(bytes) }, Err(Error::State));
                };
                let data = painted(self.written, bytes.min(room));
                // SAFETY: the window has that much room; it is committed with what was written.
                unsafe {
                    pointer.as_ptr().copy_from(data.as_ptr(), data.len());
                    assert_eq!(self.queue.commit(data.len()), Ok(()));
                }
                self.arrives(&data);
            }
            Step::End(status) => {
                let fits = self.end.is_none() && self.window.is_none();
                assert_eq!(self.queue.end(status), if fits { Ok(()) } else { Err(Error::State) });
                if fits {
                    self.end = Some(status);
                }
            }
            Step::Read(bytes) => {
                let mut target = vec![0xEE; bytes + 1];
                let count = bytes.min(self.waits.len());
                assert_eq!(self.queue.read(&mut target[..bytes]), self.empty_or(count));
                assert!(self.waits.drain(..count).eq(target[..count].iter().copied()));
                assert!(target[count..].iter().all(|byte| *byte == 0xEE));
            }
            Step::Skip(bytes) => {
                let fits = bytes <= self.waits.len();
                assert_eq!(self.queue.skip(bytes), if fits { Ok(()) } else { Err(Error::Invalid) });
                if fits {
                    self.waits.drain(..bytes);
                }
            }
            Step::Move => {
                assert_eq!(
                    self.queue.move_to(&mut self.collector),
                    Ok(self.empty_or(self.waits.len()))
                );
                self.moved.extend(self.waits.drain(..));
            }
        }
    }

    fn check(&self) {
        assert_eq!(
            (self.queue.len(), self.queue.is_empty()),
            (self.waits.len(), self.waits.is_empty())
        );
        assert_eq!(self.queue.waiting(), self.empty_or(self.waits.len()));
        let shown: Vec<u8> = self.queue.peek().flatten().copied().collect();
        assert!(self.waits.iter().eq(&shown));
        let moved: Vec<u8> = self.collector.segments().flatten().copied().collect();
        assert!(moved == self.moved);
    }
}

#[test]
fn every_short_sequence_of_steps_does_what_the_model_says() {
    // Sizes around the smallest block, so that few steps fill, cross and empty blocks.
    let steps = [
        Step::Write(3000),
        Step::Write(9000),
        Step::Reserve(0),
        Step::Commit(4096),
        Step::Commit(0),
        Step::End(-7),
        Step::Read(2000),
        Step::Read(8192),
        Step::Skip(1096),
        Step::Move,
    ];
    for memory in memories() {
        let pool = pool_of(memory);
        for sequence in 0..10_usize.pow(4) {
            let mut twins = Twins::new(&pool, 10_000);
            // A first write, so that no sequence is spent on an empty queue alone.
            let choices = (0..4).map(|place| steps[sequence / 10_usize.pow(place) % 10]);
            for step in core::iter::once(Step::Write(5000)).chain(choices) {
                twins.step(step);
            }
            twins.check();
        }
        assert_eq!(pool.stats().outstanding, 0);
    }
}

#[test]
fn long_random_sequences_do_what_the_model_says() {
    for memory in memories() {
        for (seed, capacity) in [1, 100, 5000, 70_000, 1 << 20, 5 << 20].into_iter().enumerate() {
            let pool = pool_of(memory.clone());
            let mut random = Random(seed as u64);
            let mut twins = Twins::new(&pool, capacity);
            let most = capacity.min(1 << 20) + 10;
            for round in 0..1500 {
                let step = match random.below(20) {
                    0..6 => Step::Write(random.size(most)),
                    6..9 => Step::Reserve(random.size(most)),
                    9..12 => Step::Commit(random.size(most)),
                    12..16 => Step::Read(random.size(most)),
                    16..18 => Step::Skip(random.size(twins.waits.len() + 2)),
                    18 if round > 1490 => Step::End([0, -5][seed % 2]),
                    _ if twins.moved.len() < 3 << 20 => Step::Move,
                    _ => Step::Skip(twins.waits.len()),
                };
                twins.step(step);
                if round % 50 == 0 {
                    twins.check();
                }
            }
            twins.check();
            drop(twins);
            let stats = pool.stats();
            assert_eq!((stats.outstanding, stats.outstanding_bytes), (0, 0));
            assert_eq!(stats.allocated_bytes - stats.freed_bytes, stats.retained_bytes);
        }
    }
}

#[test]
fn ten_million_small_writes_and_reads_take_constant_memory_and_two_blocks() {
    for memory in memories() {
        let pool = pool_of(memory);
        let mut queue = Queue::new(&pool, 1 << 20).expect("not 0");
        let (mut written, mut read) = (0_u64, 0_u64);
        let mut target = [0; 32];
        queue.write(&[0; 40]).expect("memory"); // so that it is never empty
        for round in 0..10_000_000_u64 {
            let data = round.to_le_bytes();
            let bytes = 1 + (round % 8) as usize;
            written += queue.write(&data[..bytes]).expect("memory") as u64;
            let Got::Bytes(count) = queue.read(&mut target[..bytes]) else {
                panic!("40 bytes wait")
            };
            read += count as u64;
        }
        assert_eq!((written, read), (45_000_000, 45_000_000));
        assert_eq!(queue.len(), 40);
        let stats = pool.stats();
        assert_eq!(
            (stats.allocated, stats.allocated_bytes, stats.peak_bytes),
            (2, 8192, 8192)
        );
        assert!(stats.outstanding <= 2);
    }
}

#[test]
fn a_slow_reader_holds_the_writer_at_the_capacity_and_memory_near_it() {
    let capacity = 1 << 20;
    for memory in memories() {
        let pool = pool_of(memory);
        let mut queue = Queue::new(&pool, capacity as u64).expect("not 0");
        let (data, mut target) = (painted(0, 251 * 40), vec![0; 1004]);
        let (mut written, mut read, mut full, mut most) = (0, 0, 0, 0);
        for _ in 0..20_000 {
            let taken = queue.write(&data[written % 251..written % 251 + 8000]).expect("memory");
            full += usize::from(taken < 8000);
            written += taken;
            assert!(queue.len() <= capacity);
            most = most.max(pool.stats().outstanding_bytes as usize);
            let count = target.len();
            assert_eq!(queue.read(&mut target), Got::Bytes(count));
            assert!(target == data[read % 251..read % 251 + count]);
            read += count;
        }
        assert!(full > 19_000, "{full}");
        assert_eq!(written - read, queue.len());
        // A block at each end may be used in part, each an eighth of what waited when it was rented.
        assert!(most <= capacity + capacity / 4, "{most}");
        let stats = pool.stats();
        assert!(
            stats.allocated_bytes as usize <= 2 * capacity,
            "blocks are used again: {stats:?}"
        );
        assert_eq!(queue.skip(queue.len()), Ok(()));
        assert!(
            pool.stats().outstanding_bytes <= 16 << 10,
            "blocks go back as they are read"
        );
    }
}

#[test]
fn an_end_or_an_error_is_seen_after_the_last_byte_and_ever_after() {
    let pool = pool_of(MemoryRef::system());
    for (status, seen) in [(0, Got::End), (-9, Got::Failed(-9)), (i32::MIN, Got::Failed(i32::MIN))] {
        let mut queue = Queue::new(&pool, 100).expect("not 0");
        assert_eq!(queue.write(b"hello"), Ok(5));
        assert_eq!(queue.end(1), Err(Error::Invalid));
        assert_eq!(queue.end(status), Ok(()));
        assert_eq!(queue.end(0), Err(Error::State));
        assert_eq!(queue.write(b""), Err(Error::State));
        assert_eq!(queue.reserve(0, false), Err(Error::State));
        let mut target = [0; 4];
        assert_eq!(queue.read(&mut target), Got::Bytes(4));
        assert_eq!(queue.read(&mut target), Got::Bytes(1));
        for _ in 0..2 {
            assert_eq!(queue.read(&mut target), seen);
            assert_eq!(queue.read(&mut []), seen);
            assert_eq!(queue.peek().count(), 0);
        }
        assert_eq!(
            pool.stats().outstanding,
            0,
            "an ended queue that was read holds nothing"
        );
    }
}

#[test]
fn what_was_shown_stays_in_its_place_while_more_is_written() {
    for memory in memories() {
        let pool = pool_of(memory);
        let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
        queue.write(&painted(0, 10_000)).expect("memory");
        let shown: Vec<_> = queue.peek().map(|piece| (piece.as_ptr(), piece.len())).collect();
        queue.write(&painted(10_000, 3_000_000)).expect("memory");
        for (before, after) in shown.iter().zip(queue.peek()) {
            assert!(before.0 == after.as_ptr() && before.1 <= after.len());
        }
    }
}

#[test]
fn a_budget_that_is_used_up_changes_nothing_and_what_is_read_can_be_written_again() {
    for memory in memories() {
        let pool = Pool::new(PoolOptions {
            budget: Some(100 << 10),
            memory,
            ..PoolOptions::default()
        })
        .expect("memory");
        let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
        for _ in 0..3 {
            let mut written = 0;
            while queue.write(&painted(written, 3000)) == Ok(3000) {
                written += 3000;
            }
            assert!(written >= 80_000, "{written}");
            assert_eq!(queue.write(&painted(written, 3000)), Err(Error::Budget));
            assert_eq!(queue.reserve(0, false), Err(Error::Budget));
            assert_eq!(queue.len(), written, "nothing was taken");
            assert!(queue.peek().flatten().copied().eq(painted(0, written)));
            // Moved blocks stay charged until the body lets them go.
            let mut collector = Collector::new(&pool, Options::default()).expect("in range");
            let mut moved = 0;
            while let Ok(Got::Bytes(bytes)) = queue.move_to(&mut collector) {
                moved += bytes;
            }
            assert!(moved >= 60_000, "{moved}");
            assert!(collector.segments().flatten().copied().eq(painted(0, moved)));
            queue.skip(queue.len()).expect("so many wait");
        }
        drop(queue);
        let mut whole = Collector::new(&pool, Options::default()).expect("in range");
        assert_eq!(whole.write(&[1; 90 << 10]), Ok(()), "the budget is whole again");
    }
}

#[test]
fn a_cleared_window_shows_no_byte_of_another_body_or_of_what_was_read_before() {
    for memory in memories() {
        let pool = pool_of(memory);
        let mut secret = Collector::new(&pool, Options::default()).expect("in range");
        secret.write(&[0x5A; 300_000]).expect("memory");
        drop(secret);
        let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
        for round in 0..200_usize {
            let window = queue.reserve(round * 1000, true).expect("memory").expect("not full");
            // SAFETY: the window is cleared, and nobody else looks at it before the commit.
            let shown = unsafe { std::slice::from_raw_parts_mut(window.pointer.as_ptr(), window.room) };
            assert!(shown.iter().all(|byte| *byte == 0), "round {round}");
            let filled = (round * 377) % window.room;
            shown[..filled].fill(0xA5);
            // SAFETY: so many were written.
            unsafe { queue.commit(filled) }.expect("it fits");
            if round % 3 == 0 {
                queue.skip(queue.len()).expect("so many wait");
            }
        }
    }
}

#[test]
fn a_commit_of_more_than_the_room_is_a_breach_and_its_block_is_used_by_nobody_again() {
    let pool = pool_of(MemoryRef::heap());
    let mut queue = Queue::new(&pool, u64::MAX).expect("not 0");
    queue.write(b"hello").expect("memory");
    let window = queue.reserve(0, true).expect("memory").expect("not full");
    // SAFETY: a breach claims nothing.
    assert_eq!(unsafe { queue.commit(window.room + 1) }, Err(Error::Contract));
    assert_eq!(queue.write(b"more"), Err(Error::State));
    let mut target = [0; 10];
    assert_eq!(queue.read(&mut target), Got::Bytes(5));
    assert_eq!(queue.read(&mut target), Got::Failed(Error::Contract.code()));
    let stats = pool.stats();
    assert_eq!((stats.outstanding, stats.retained, stats.freed), (0, 1, 1));
    pool.trim(0);
    // The same for a window that its holder may still write into.
    let mut dropped = Queue::new(&pool, u64::MAX).expect("not 0");
    dropped.reserve(0, true).expect("memory");
    drop(dropped);
    assert_eq!((pool.stats().outstanding, pool.stats().retained), (0, 0));
}

#[test]
fn a_queue_needs_a_capacity_and_takes_no_memory_before_its_first_byte() {
    let pool = pool_of(MemoryRef::system());
    assert_eq!(Queue::new(&pool, 0).expect_err("0").name, "capacity");
    let queue = Queue::new(&pool, u64::MAX).expect("not 0");
    assert_eq!((queue.len(), queue.capacity()), (0, isize::MAX.unsigned_abs()));
    assert_eq!(pool.stats().rented, 0);
}

#[test]
fn a_producer_and_a_reader_on_two_threads_share_it_behind_a_lock() {
    let pool = pool_of(MemoryRef::system());
    let shared = (
        std::sync::Mutex::new(Queue::new(&pool, 50_000).expect("not 0")),
        std::sync::Condvar::new(),
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (data, mut given) = (painted(0, 3_000_000), 0);
            while given < data.len() {
                let mut queue = shared.0.lock().expect("no panic");
                let taken = queue
                    .write(&data[given..(given + 7777).min(data.len())])
                    .expect("memory");
                given += taken;
                if taken == 0 {
                    drop(shared.1.wait(queue).expect("no panic"));
                }
                shared.1.notify_all();
            }
            shared.0.lock().expect("no panic").end(0).expect("open");
            shared.1.notify_all();
        });
        let mut collector = Collector::new(&pool, Options::default()).expect("in range");
        let mut queue = shared.0.lock().expect("no panic");
        loop {
            match queue.move_to(&mut collector).expect("memory") {
                Got::Bytes(_) => shared.1.notify_all(),
                Got::Pending => queue = shared.1.wait(queue).expect("no panic"),
                _ => break,
            }
        }
        collector.end().expect("open");
        assert!(collector.finish().expect("complete").contiguous().expect("memory") == painted(0, 3_000_000));
    });
}
