//! The master property (E16, E28): however the bytes are cut and wherever the body stops, pull, push and window,
//! pooled and exact, range and list give the outcome of a model of ten lines.
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

use brimful::{
    Answer, Collector, End, Error, MemoryRef, Options, Pool, PoolOptions, Prefer, Progress, Source, Then, Window,
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
}

fn drive(collector: &mut Collector, case: &Case, drive: Drive, most: usize, random: &mut Random) -> Result<(), Error> {
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
                    Ok(Progress::Pending) => {}
                    Err(error) => break Err(error),
                }
            };
            assert!(source.cleared_windows, "a window showed a foreign byte (E49)");
            outcome
        }
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

fn check(pool: &Pool, case: &Case, how: Drive, prefer: Prefer, most: usize, random: &mut Random) {
    let options = Options {
        length: case.length,
        size_hint: case.hint,
        limit: case.limit,
        truncate: case.truncate,
        end: if case.eof { End::Eof } else { End::Length },
        prefer,
        max_prealloc: case.max_prealloc,
        ..Options::default()
    };
    let mut collector = Collector::new(pool, options).expect("options in range");
    let outcome = drive(&mut collector, case, how, most, random);
    let label = format!("{case:?} {how:?} {prefer:?} in pieces of {most}");
    // A window asks for no byte beyond the length, as a pull does.
    let expected = model(case, how != Drive::Push);
    assert_eq!(outcome.err(), expected.error, "{label}");
    let painted = |bytes: &[u8]| bytes.iter().enumerate().all(|(index, &byte)| byte == paint(index));
    if outcome.is_err() || prefer == Prefer::Pooled {
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
    } else {
        let exact = collector.finish_exact().expect("complete");
        assert!(painted(exact.as_slice()) && exact.len() == expected.length, "{label}");
        assert_eq!(exact.info().truncated, expected.truncated, "{label}");
        assert_eq!(exact.info().waste, 0, "{label}");
    }
    assert_eq!(collector.info().state, brimful::State::Taken);
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
                        for hint in [None, Some(0), Some(3), Some(8), Some(u64::MAX)] {
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
                    for prefer in [Prefer::Pooled, Prefer::Exact] {
                        for most in [1, 3, 100] {
                            check(&pool, case, how, prefer, most, &mut random);
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
        for _ in 0..600 {
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
            for how in [Drive::Pull, Drive::Push, Drive::Window] {
                for prefer in [Prefer::Pooled, Prefer::Exact] {
                    let most = [7000, 65536, 1 << 21][random.below(3)];
                    check(&pool, &case, how, prefer, most, &mut random);
                }
            }
        }
        settled(&pool);
    }
}
