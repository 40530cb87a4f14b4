//! The table of states, truncation, reset, and what a handle does from inside a callback (E17, E26, E40).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

mod common;

use brimful::{
    Answer, Collector, Error, FromFn, Handle, MemoryRef, Options, Pool, PoolOptions, Prefer, Progress, State,
};
use common::{both, is_painted, paint, painted, pool, read_all};

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
    // SAFETY: the window, if there were one, would be a cleared one.
    assert_eq!(unsafe { open.begin(true) }, Err(Error::State));
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
fn a_collector_over_the_callers_memory_begins_again_in_it_after_a_reset() {
    let mut target = vec![0xEE; 100];
    let start = std::ptr::NonNull::new(target.as_mut_ptr()).expect("not null");
    // SAFETY: the target outlives the collector, and is looked at only after its last use.
    let made = unsafe { Collector::new_into(&pool(MemoryRef::system()), Options::default(), start, 50) };
    let mut collector = made.expect("in range");
    assert_eq!(collector.write(&[1; 51]), Err(Error::Limit), "more than fits (E35)");
    assert_eq!(collector.info().length, 50);
    collector.reset(None).expect("the same options");
    collector.write(&[2; 7]).expect("open");
    collector.end().expect("open");
    assert_eq!(collector.finish().expect("a pooled copy").contiguous(), Ok(&[2; 7][..]));
    assert_eq!((collector.info().length, collector.info().copied), (7, 7));
    drop(collector);
    assert_eq!(
        (&target[..7], &target[7..50], &target[50..]),
        (&[2; 7][..], &[1; 43][..], &[0xEE; 50][..])
    );
}

#[test]
fn a_body_in_the_callers_own_memory_lies_there_after_a_reset_whatever_the_new_options_prefer() {
    let mut target = vec![0xEE; 100];
    let start = std::ptr::NonNull::new(target.as_mut_ptr()).expect("a vector's memory");
    // SAFETY: the vector outlives the collector and is not touched before it is dropped.
    let made = unsafe { Collector::new_into(&pool(MemoryRef::system()), Options::default(), start, 100) };
    let mut collector = made.expect("in range");
    collector.write(&[1; 10]).expect("open");
    let options = Options {
        length: Some(80),
        prefer: Prefer::Exact,
        max_prealloc: 10, // so that an exact result would be staged first (E8)
        padding: 8,
        ..Options::default()
    };
    collector.reset(Some(options)).expect("in range");
    read_all(&mut collector, &mut painted(80, 7, 0)).expect("complete");
    assert_eq!((collector.info().length, collector.info().copied), (80, 0));
    drop(collector);
    assert!(is_painted(&target[..80]) && target[80..].iter().all(|&byte| byte == 0xEE));
}

#[test]
fn the_callers_own_memory_is_let_go_of_when_its_body_is_finished_in_it() {
    let mut target = vec![0xEE; 100];
    let start = std::ptr::NonNull::new(target.as_mut_ptr()).expect("a vector's memory");
    // SAFETY: the vector outlives the use of its memory, which ends with finish_into.
    let made = unsafe { Collector::new_into(&pool(MemoryRef::system()), Options::default(), start, 100) };
    let mut collector = made.expect("in range");
    collector.write(&[1; 10]).expect("open");
    assert_eq!(collector.finish_into(), Err(Error::State), "not complete");
    collector.end().expect("open");
    assert_eq!(collector.finish_into(), Ok(10));
    assert_eq!(
        (collector.info().state, collector.info().length, collector.info().copied),
        (State::Taken, 10, 0)
    );
    assert_eq!(collector.finish_into(), Err(Error::State), "taken");
    assert_eq!((&target[..10], &target[10..]), (&[1; 10][..], &[0xEE; 90][..]));
    collector.reset(None).expect("the same options");
    collector.write(&[2; 200]).expect("no capacity holds any more");
    collector.end().expect("open");
    assert_eq!(
        collector.finish_into(),
        Err(Error::State),
        "it lies in the pool's memory"
    );
    assert_eq!(collector.finish().expect("complete").len(), 200);
    assert_eq!(&target[..10], &[1; 10]);
}

#[test]
fn bytes_pushed_from_the_callers_own_memory_may_overlap_it() {
    let mut target: Vec<u8> = (0..100).map(paint).collect();
    let start = std::ptr::NonNull::new(target.as_mut_ptr()).expect("not null");
    // SAFETY: the target outlives the collector, and is looked at only after its last use.
    let made = unsafe { Collector::new_into(&pool(MemoryRef::system()), Options::default(), start, 100) };
    let mut collector = made.expect("in range");
    // SAFETY: within the target, which the collector only writes during the call.
    let own = unsafe { std::slice::from_raw_parts(start.as_ptr().add(3), 90) };
    collector.write(own).expect("it fits");
    drop(collector);
    assert!(
        target[..90]
            .iter()
            .enumerate()
            .all(|(index, &byte)| byte == paint(index + 3))
    );
}

#[test]
fn a_share_of_each_call_says_nothing_of_reserved_windows_and_ends_with_the_body() {
    let options = Options {
        max_step: Some(4096),
        ..Options::default()
    };
    let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
    let mut source = painted(100_000, usize::MAX, 0);
    for _ in 0..2 {
        assert_eq!(collector.read(&mut source), Ok(Progress::More));
        assert!(collector.reserve(0, true).expect("a window").room >= 4096, "E12");
        // SAFETY: the window is a cleared one.
        unsafe { collector.commit(0) }.expect("open");
    }
    collector.reset(None).expect("the same options");
    assert!(collector.reserve(0, true).expect("a window").room >= 4096);
}

#[test]
fn below_as_many_bytes_as_options_say_a_body_is_neither_complete_nor_refused() {
    let plain = Pool::new(PoolOptions::default()).expect("memory");
    let limited = Pool::new(PoolOptions {
        limit: Some(7),
        ..PoolOptions::default()
    })
    .expect("memory");
    let budgeted = Pool::new(PoolOptions {
        budget: Some(1 << 20),
        ..PoolOptions::default()
    })
    .expect("memory");
    let options = |limit, length, truncate| Options {
        limit,
        length,
        truncate,
        ..Options::default()
    };
    assert_eq!(options(None, None, false).quiet_on(&limited), 7);
    assert_eq!(options(Some(3), None, false).quiet_on(&limited), 3);
    assert_eq!(options(Some(3), Some(2), false).quiet_on(&plain), 0);
    assert_eq!(options(Some(3), None, false).quiet_on(&budgeted), 0);
    let senseless = Options {
        first_block: 0,
        ..Options::default()
    };
    assert_eq!(senseless.quiet_on(&plain) == 0, senseless.check().is_err());
    for truncate in [false, true] {
        for limit in [0, 1, 2, 100] {
            let asked = options(Some(limit), None, truncate);
            let mut collector = Collector::new(&plain, asked.clone()).expect("options");
            for byte in 1..asked.quiet_on(&plain) {
                collector.write(&[byte.to_le_bytes()[0]]).expect("below the limit");
                assert!(!collector.is_complete().expect("below the limit"), "{limit} {byte}");
            }
        }
    }
}
