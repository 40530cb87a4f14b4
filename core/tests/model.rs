//! The master property (E16, E28): however the bytes are cut and wherever the body stops, pull, push and window,
//! pooled and exact, range and list give the outcome of a model of ten lines.
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

use brimful::{
    Answer, Collector, Descriptor, End, Error, MemoryRef, Options, Pool, PoolOptions, Prefer, Progress, Source, Then,
    Window,
};

/// Byte `i` of every body.
fn paint(index: usize) -> u8 {
    (index % 251) as u8
}

#[derive(Clone, Debug)]
struct Case {
    bytes: usize,
    length: Option<u64>,
    eof: bool,
    hint: Option<u64>,
    limit: Option<u64>,
    truncate: bool,
    max_prealloc: u64,
}

#[derive(PartialEq, Debug, Clone, Copy)]
struct Outcome {
    error: Option<Error>,
    length: usize,
    truncated: bool,
}

/// What is to come out, by the rules alone. `pull`: a pull that stops at the length never meets a surplus (E16).
fn model(case: &Case, pull: bool) -> Outcome {
    let limit = case.limit.unwrap_or(isize::MAX as u64);
    let of = |error, length, truncated| Outcome {
        error,
        length: length as usize,
        truncated,
    };
    let n = case.bytes as u64;
    match case.length {
        Some(e) if e > limit => of(Some(Error::Limit), 0, false),
        Some(e) if n < e => of(Some(Error::Short), n, false),
        Some(e) if n > e && (case.eof || !pull) => of(Some(Error::Long), e, false),
        Some(e) => of(None, e, false),
        None if n > limit && case.truncate => of(None, limit, true),
        None if n > limit => of(Some(Error::Limit), limit, false),
        None => of(None, n, false),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

struct Painted<'a> {
    given: usize,
    bytes: usize,
    most: usize,
    random: &'a mut Random,
    cleared_windows: bool,
}

// SAFETY: writes the window's first bytes only, and claims just those.
unsafe impl Source for Painted<'_> {
    const CLEARED: bool = true;

    fn fill(&mut self, window: Window) -> Answer {
        // SAFETY: a cleared window is initialised and this long.
        let slice = unsafe { std::slice::from_raw_parts_mut(window.pointer.as_ptr(), window.room) };
        self.cleared_windows &= slice.iter().all(|&byte| byte == 0);
        let count = (1 + self.random.below(self.most))
            .min(slice.len())
            .min(self.bytes - self.given);
        for byte in &mut slice[..count] {
            *byte = paint(self.given);
            self.given += 1;
        }
        let then = match self.random.below(6) {
            0 => Then::Pending,
            1 if count > 0 => Then::Retry,
            _ if count == 0 && self.given < self.bytes => Then::Retry,
            _ => Then::Go,
        };
        Answer { filled: count, then }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Drive {
    Pull,
    Push,
    Window,
    Descriptor,
}

/// Which result is asked for: pooled, exact, or the caller's own memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    Pooled,
    Exact,
    Into,
}

const GOALS: [Goal; 3] = [Goal::Pooled, Goal::Exact, Goal::Into];

/// The two ends of a pair of sockets, the first one non-blocking. The writer writes the next piece only when the reader
/// has seen that nothing is there, so that every stop is one that the kernel made.
fn drive_descriptor(collector: &mut Collector, body: &[u8], most: usize, random: &mut Random) -> Result<(), Error> {
    use std::io::Write;
    let (reader, mut writer) = std::os::unix::net::UnixStream::pair().expect("sockets");
    reader.set_nonblocking(true).expect("non-blocking");
    let mut writer_is_open = true;
    let mut rest = body;
    let mut never = || false;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&reader);
    loop {
        match collector.read(&mut Descriptor::new(fd, &mut never)) {
            Ok(Progress::Complete) => return Ok(()),
            Ok(Progress::More) => {}
            Ok(Progress::Pending) if rest.is_empty() => {
                assert!(writer_is_open, "the end comes once, and is seen");
                writer.shutdown(std::net::Shutdown::Write).expect("open");
                writer_is_open = false;
            }
            Ok(Progress::Pending) => {
                let count = (1 + random.below(most)).min(rest.len()).min(100_000);
                writer.write_all(&rest[..count]).expect("room in the socket");
                rest = &rest[count..];
            }
            Err(error) => return Err(error),
        }
    }
}

fn drive(
    collector: &mut Collector,
    case: &Case,
    (drive, into): (Drive, bool),
    most: usize,
    random: &mut Random,
) -> Result<(), Error> {
    let body: Vec<u8> = (0..case.bytes).map(paint).collect();
    match drive {
        Drive::Pull => {
            let mut source = Painted {
                given: 0,
                bytes: case.bytes,
                most,
                random,
                cleared_windows: true,
            };
            let outcome = loop {
                match collector.read(&mut source) {
                    Ok(Progress::Complete) => break Ok(()),
                    Ok(Progress::Pending | Progress::More) => {}
                    Err(error) => break Err(error),
                }
            };
            // The caller's own memory shows what the caller had there.
            assert!(source.cleared_windows || into, "E49");
            outcome
        }
        Drive::Descriptor => drive_descriptor(collector, &body, most, random),
        Drive::Push => {
            let mut rest = &body[..];
            while !rest.is_empty() {
                let count = (1 + random.below(most)).min(rest.len());
                collector.write(&rest[..count])?;
                rest = &rest[count..];
            }
            collector.end()
        }
        Drive::Window => {
            let mut given = 0;
            while given < body.len() && !collector.is_complete()? {
                let window = collector.reserve(1 + random.below(most), true)?;
                // SAFETY: a cleared window is initialised and this long.
                let slice = unsafe { std::slice::from_raw_parts_mut(window.pointer.as_ptr(), window.room) };
                let count = random.below(slice.len().min(most) + 1).min(body.len() - given);
                slice[..count].copy_from_slice(&body[given..given + count]);
                // SAFETY: the window is a cleared one.
                unsafe { collector.commit(count) }?;
                given += count;
            }
            collector.end()
        }
    }
}

fn check(pool: &Pool, case: &Case, how: Drive, goal: Goal, most: usize, random: &mut Random) {
    let options = Options {
        length: case.length,
        size_hint: case.hint,
        limit: case.limit,
        truncate: case.truncate,
        end: if case.eof { End::Eof } else { End::Length },
        prefer: if goal == Goal::Exact {
            Prefer::Exact
        } else {
            Prefer::Pooled
        },
        max_prealloc: case.max_prealloc,
        max_step: [None, Some(1 + case.bytes as u64 / 8), Some(5000)][random.below(3)],
        padding: [0, 1, 64][random.below(3)],
        ..Options::default()
    };
    let padding = options.padding as usize;
    // The caller's memory is at times smaller than the body; what lies around it is to stay as it is (E35).
    let capacity = [case.bytes, case.bytes + 9, case.bytes / 2][random.below(3)];
    let mut target = vec![0xEEu8; capacity + 20];
    let mut collector = match goal {
        Goal::Into => {
            let start = std::ptr::NonNull::new(target[10..].as_mut_ptr()).expect("not null");
            // SAFETY: the target outlives the collector and is looked at only after its last use.
            unsafe { Collector::new_into(pool, options, start, capacity) }
        }
        _ => Collector::new(pool, options),
    }
    .expect("options in range");
    let outcome = drive(&mut collector, case, (how, goal == Goal::Into), most, random);
    let label = format!("{case:?} {how:?} {goal:?} in pieces of {most}");
    let limit = match goal {
        Goal::Into => Some(case.limit.unwrap_or(u64::MAX).min(capacity as u64)),
        _ => case.limit,
    };
    // A window or a descriptor is asked for no byte beyond the length, as a pull is.
    let expected = model(&Case { limit, ..case.clone() }, how != Drive::Push);
    assert_eq!(outcome.err(), expected.error, "{label}");
    let painted = |bytes: &[u8]| bytes.iter().enumerate().all(|(index, &byte)| byte == paint(index));
    if goal == Goal::Into {
        let landed = collector.info().length as usize;
        assert_eq!(landed, expected.length, "{label}");
        let (before, rest) = target.split_at(10);
        let untouched = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0xEE);
        assert!(
            painted(&rest[..landed]) && untouched(before) && untouched(&rest[landed..]),
            "{label}"
        );
    }
    if outcome.is_err() || goal != Goal::Exact {
        let buffer = match outcome {
            Ok(()) => collector.finish().expect("complete"),
            Err(_) => collector.take_partial().expect("a partial"),
        };
        assert_eq!(buffer.len(), expected.length, "{label}");
        assert_eq!(buffer.is_truncated(), expected.truncated, "{label}");
        assert!(painted(buffer.contiguous().expect("memory")), "{label}");
        assert_eq!(
            buffer.segments().map(<[u8]>::len).sum::<usize>(),
            expected.length,
            "{label}"
        );
        if goal == Goal::Pooled {
            assert!(is_padded(buffer.contiguous().expect("memory"), padding), "{label}");
        }
        check_slice(&buffer, random);
    } else {
        let exact = collector.finish_exact().expect("complete");
        assert!(painted(exact.as_slice()) && exact.len() == expected.length, "{label}");
        assert!(is_padded(exact.as_slice(), padding), "{label}");
        assert_eq!(exact.info().truncated, expected.truncated, "{label}");
        assert!(exact.info().waste <= padding as u64, "{label}");
    }
    assert_eq!(collector.info().state, brimful::State::Taken);
}

/// Whether so many zero bytes are readable behind these (E4).
fn is_padded(bytes: &[u8], padding: usize) -> bool {
    // SAFETY: the result was asked for with this padding, which the engine promises to be there.
    let behind = unsafe { std::slice::from_raw_parts(bytes.as_ptr().add(bytes.len()), padding) };
    behind.iter().all(|&byte| byte == 0)
}

/// A random slice, and a slice of it, show what the buffer shows there, also when they are cut loose (E39).
fn check_slice(buffer: &brimful::Buffer, random: &mut Random) {
    let offset = random.below(buffer.len() + 1);
    let length = random.below(buffer.len() - offset + 1);
    let slice = buffer.slice(offset, length).expect("within");
    let inner = slice.slice(length / 3, length - length / 3).expect("within");
    let shows = |slice: &brimful::Buffer, from: usize| {
        let mut copied = vec![0; slice.len()];
        assert_eq!(slice.copy(0, &mut copied), slice.len());
        copied
            .iter()
            .enumerate()
            .all(|(index, &byte)| byte == paint(from + index))
            && slice.contiguous().expect("memory") == copied
    };
    assert!(shows(&slice, offset) && shows(&inner, offset + length / 3));
    // SAFETY: nobody else has the slice, and no reference to its bytes is left.
    unsafe { inner.detach_in_place() }.expect("memory");
    assert!(shows(&inner, offset + length / 3) && shows(&inner.detach().expect("memory"), offset + length / 3));
    assert_eq!(slice.slice(1, slice.len()).err(), Some(Error::Invalid));
}

fn pools() -> Vec<Pool> {
    [MemoryRef::system(), MemoryRef::heap()]
        .into_iter()
        .map(|memory| {
            Pool::new(PoolOptions {
                memory,
                ..PoolOptions::default()
            })
            .expect("memory")
        })
        .collect()
}

fn settled(pool: &Pool) {
    let stats = pool.stats();
    assert_eq!((stats.outstanding, stats.outstanding_bytes), (0, 0), "{stats:?}");
    assert_eq!(stats.allocated - stats.freed, stats.retained, "{stats:?}");
    pool.trim(0);
    let stats = pool.stats();
    assert_eq!(
        (stats.retained, stats.retained_bytes, stats.allocated - stats.freed),
        (0, 0, 0),
        "{stats:?}"
    );
    assert_eq!(stats.allocated_bytes, stats.freed_bytes, "{stats:?}");
}

#[test]
fn every_small_body_gives_the_models_outcome_however_it_is_cut() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for pool in pools() {
        for bytes in 0..=8usize {
            let mut cases = vec![];
            for length in [None, Some(0), Some(1), Some(7), Some(8), Some(9), Some(u64::MAX - 1)] {
                for limit in [None, Some(0), Some(1), Some(7), Some(8), Some(9)] {
                    for (eof, truncate) in [(false, false), (true, false), (false, true), (true, true)] {
                        for hint in [None, Some(3), Some(8), Some(u64::MAX)] {
                            for max_prealloc in [16 << 20, 4] {
                                cases.push(Case {
                                    bytes,
                                    length,
                                    eof,
                                    hint,
                                    limit,
                                    truncate,
                                    max_prealloc,
                                });
                            }
                        }
                    }
                }
            }
            for case in &cases {
                for how in [Drive::Pull, Drive::Push, Drive::Window] {
                    for goal in GOALS {
                        for most in [1, 100] {
                            check(&pool, case, how, goal, most, &mut random);
                        }
                    }
                }
            }
        }
        settled(&pool);
    }
}

#[test]
fn every_random_body_gives_the_models_outcome_wherever_it_stops() {
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    for pool in pools() {
        for _ in 0..300 {
            let around = [4096, 16384, 20480, 65536, 262_144, 1 << 20][random.below(6)];
            let bytes = (around + random.below(5)).saturating_sub(2);
            let near = |random: &mut Random| match random.below(5) {
                0 => Some((bytes + random.below(3)).saturating_sub(1) as u64),
                1 => Some(random.below(2 * bytes) as u64),
                2 => Some(1 << 40),
                _ => None,
            };
            let case = Case {
                bytes,
                length: near(&mut random),
                eof: random.below(2) == 0,
                hint: near(&mut random),
                limit: near(&mut random),
                truncate: random.below(2) == 0,
                max_prealloc: [16 << 20, 0, 100_000][random.below(3)],
            };
            for how in [Drive::Pull, Drive::Push, Drive::Window, Drive::Descriptor] {
                for goal in GOALS {
                    let most = [7000, 65536, 1 << 21][random.below(3)];
                    check(&pool, &case, how, goal, most, &mut random);
                }
            }
        }
        settled(&pool);
    }
}
