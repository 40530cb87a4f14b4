//! What sources may answer, and what comes of it (E4, E19 to E24).
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are small")]

mod common;

use brimful::{
    Answer, Cancel, Collector, Descriptor, End, Error, FromFn, FromRead, MemoryRef, Options, Prefer, Progress, Then,
};
use common::{MIB, both, is_painted, paint, painted, pool};
use std::io;

#[test]
fn a_claim_beyond_the_room_is_a_breach_and_its_block_is_not_used_again() {
    for (_, memory) in both() {
        for over in [1usize, usize::MAX] {
            let pool = pool(memory.clone());
            let mut collector = Collector::new(&pool, Options::default()).expect("in range");
            let mut calls = 0;
            let mut source = FromFn(|window: &mut [u8]| {
                calls += 1;
                if calls == 1 {
                    window[..500]
                        .iter_mut()
                        .enumerate()
                        .for_each(|(index, byte)| *byte = paint(index));
                    return Answer::filled(500);
                }
                Answer::filled(window.len().saturating_add(over))
            });
            assert_eq!(collector.read(&mut source), Err(Error::Contract));
            assert_eq!(collector.info().received, 500);
            let partial = collector.take_partial().expect("what came before (E23)");
            assert!(is_painted(partial.contiguous().expect("memory")) && partial.len() == 500);
            drop(partial);
            assert_eq!(pool.stats().retained, 0);
        }
    }
}

#[test]
fn bytes_that_come_with_an_error_count_and_may_complete_the_body() {
    let answers = |length, filled, then| {
        let options = Options {
            length,
            limit: Some(20),
            ..Options::default()
        };
        let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
        let outcome = collector.read(&mut FromFn(|_: &mut [u8]| Answer { filled, then }));
        (outcome, collector.info().received, collector.info().source_error)
    };
    assert_eq!(answers(None, 15, Then::Failed(-9)), (Err(Error::Source), 15, -9));
    assert_eq!(answers(Some(15), 15, Then::Failed(-9)), (Ok(Progress::Complete), 15, 0));
    assert_eq!(answers(None, 21, Then::Failed(-9)), (Err(Error::Limit), 21, 0));
    assert_eq!(answers(Some(15), 15, Then::Pending), (Ok(Progress::Complete), 15, 0));
    assert_eq!(answers(None, 3, Then::Unknown), (Err(Error::Contract), 0, 0));
}

#[test]
fn the_1001st_retry_without_a_byte_is_no_progress() {
    for (retries, outcome) in [(1000, Ok(Progress::Complete)), (1001, Err(Error::NoProgress))] {
        let mut calls = 0;
        let mut source = FromFn(|_: &mut [u8]| {
            calls += 1;
            if calls <= retries { Answer::RETRY } else { Answer::END }
        });
        let mut collector = Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range");
        assert_eq!(collector.read(&mut source), outcome);
    }
}

#[test]
fn cancelling_is_seen_before_and_after_each_call_and_comes_after_bytes() {
    let cancel = Cancel::new().expect("memory");
    let options = Options {
        cancel: Some(cancel.clone()),
        length: Some(20),
        ..Options::default()
    };
    let mut collector = Collector::new(&pool(MemoryRef::system()), options.clone()).expect("in range");
    let trigger = cancel.clone();
    let mut source = FromFn(move |window: &mut [u8]| {
        trigger.trigger();
        Answer::filled(window.len().min(10))
    });
    assert_eq!(collector.read(&mut source), Err(Error::Cancelled));
    assert_eq!((collector.info().received, collector.info().source_calls), (10, 1));
    let mut collector = Collector::new(&pool(MemoryRef::system()), options.clone()).expect("in range");
    assert_eq!(collector.read(&mut painted(20, 20, 0)), Err(Error::Cancelled));
    assert_eq!(collector.info().source_calls, 0);
    let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
    collector.write(&[1; 20]).expect("write does not look at it (E24)");
    assert_eq!(collector.is_complete(), Ok(true));
}

#[test]
fn a_reader_of_the_standard_library_is_read_whole_and_its_error_is_kept() {
    struct Fails(u8);
    impl io::Read for Fails {
        fn read(&mut self, window: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2 => Err(io::ErrorKind::WouldBlock.into()),
                3 => {
                    window[0] = 9;
                    Ok(1)
                }
                _ => Err(io::Error::from_raw_os_error(104)),
            }
        }
    }
    let mut source = FromRead::new(Fails(0));
    let mut collector = Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range");
    assert_eq!(collector.read(&mut source), Ok(Progress::Pending));
    assert_eq!(collector.read(&mut source), Err(Error::Source));
    assert_eq!(collector.info().source_error, -104);
    assert_eq!(source.error.and_then(|error| error.raw_os_error()), Some(104));
    assert_eq!(collector.take_partial().expect("what came").contiguous(), Ok(&[9][..]));
}

#[test]
fn one_call_takes_its_share_and_answers_more() {
    for (_, memory) in both() {
        let options = Options {
            max_step: Some(50_000),
            ..Options::default()
        };
        let mut collector = Collector::new(&pool(memory), options).expect("in range");
        let mut source = painted(220_000, 30_000, 0);
        for taken in [50_000, 100_000, 150_000, 200_000] {
            assert_eq!(collector.read(&mut source), Ok(Progress::More));
            assert_eq!(
                collector.info().received,
                taken,
                "no byte beyond the share is asked for (E4)"
            );
        }
        assert_eq!(collector.read(&mut source), Ok(Progress::Complete));
        assert!(is_painted(
            collector.finish().expect("complete").contiguous().expect("memory")
        ));
    }
}

#[test]
fn a_regular_file_is_read_in_one_piece_by_its_size_and_a_growing_one_whole() {
    let path = std::env::temp_dir().join(format!("brimful-file-{}", std::process::id()));
    let bytes: Vec<u8> = (0..3 * MIB).map(paint).collect();
    std::fs::write(&path, &bytes).expect("a file");
    let file = std::fs::File::open(&path).expect("a file");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    for (prefer, appended) in [(Prefer::Exact, 0), (Prefer::Exact, 1000), (Prefer::Pooled, 1000)] {
        io::Seek::rewind(&mut &file).expect("a regular file");
        let mut never = || false;
        let mut source = Descriptor::new(fd, &mut never);
        let mut collector = Collector::new(
            &pool(MemoryRef::system()),
            Options {
                prefer,
                ..Options::default()
            },
        )
        .expect("in range");
        collector.suggest(source.size_hint().expect("a regular file"));
        if appended > 0 {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("a file");
            io::Write::write_all(&mut file, &vec![7; appended]).expect("room on the disk");
        }
        assert_eq!(collector.read(&mut source), Ok(Progress::Complete));
        let info = collector.info();
        assert_eq!(collector.options().length, None, "a hint, since files grow");
        if appended == 0 {
            // Beside the one for the file only the small block in which the end is seen (E10).
            assert_eq!((info.allocations - info.rents, info.copied), (1, 0), "{info:?}");
        }
        let length = info.length as usize;
        assert_eq!(length, std::fs::metadata(&path).expect("a file").len() as usize);
        let exact = collector.finish_exact().expect("complete");
        assert!(is_painted(&exact.as_slice()[..3 * MIB]));
    }
    std::fs::remove_file(&path).expect("ours");
}

#[test]
fn what_is_no_file_or_no_descriptor_gives_no_hint_and_the_systems_own_error() {
    let mut never = || false;
    let mut source = Descriptor::new(-1, &mut never);
    assert_eq!(source.size_hint(), None);
    let mut collector = Collector::new(&pool(MemoryRef::system()), Options::default()).expect("in range");
    assert_eq!(collector.read(&mut source), Err(Error::Source));
    assert_eq!(collector.info().source_error, -libc::EBADF);
}

#[test]
fn a_signal_on_a_quiet_pipe_lets_the_host_stop_and_a_cancel_object_be_seen() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: a handler that does nothing, without SA_RESTART, so that read(2) is interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(
            libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()),
            0
        );
    }
    let (reader, mut writer) = std::os::unix::net::UnixStream::pair().expect("sockets");
    io::Write::write_all(&mut writer, b"abc").expect("open");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&reader);
    let cancel = Cancel::new().expect("memory");
    for stops in [true, false] {
        let options = Options {
            cancel: Some(cancel.clone()),
            ..Options::default()
        };
        let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
        // SAFETY: this thread lives for the whole test.
        let thread = unsafe { libc::pthread_self() };
        let trigger = cancel.clone();
        let kicker = std::thread::spawn(move || {
            for round in 0..20 {
                std::thread::sleep(std::time::Duration::from_millis(10));
                if !stops && round == 2 {
                    trigger.trigger();
                }
                // SAFETY: the thread waits for this one below.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
            }
        });
        let mut asked = 0;
        let mut interrupted = || {
            asked += 1;
            stops && asked == 2
        };
        let outcome = collector.read(&mut Descriptor::new(fd, &mut interrupted));
        kicker.join().expect("no panic");
        if stops {
            assert_eq!((outcome, asked), (Ok(Progress::Pending), 2));
            assert_eq!(collector.info().received, 3, "what came is in the collector");
        } else {
            assert_eq!(outcome, Err(Error::Cancelled));
        }
    }
}

#[test]
fn what_is_wanted_never_passes_the_length_or_the_byte_that_shows_more() {
    let window = Options::default().max_window;
    let table = [
        // length, end, limit, written before, wanted
        (None, End::Length, None, 0, window),
        (None, End::Length, Some(100), 0, 101),
        (None, End::Length, Some(100), 60, 41),
        (Some(100), End::Length, None, 60, 40),
        (Some(100), End::Eof, None, 60, 41),
        (Some(100), End::Eof, None, 100, 1),
        (Some(100), End::Length, None, 100, 0),
        (Some(100), End::Length, Some(99), 0, 0),
    ];
    for (length, end, limit, written, wanted) in table {
        let options = Options {
            length,
            end,
            limit,
            ..Options::default()
        };
        let mut collector = Collector::new(&pool(MemoryRef::system()), options).expect("in range");
        let _ = collector.write(&vec![7; written]);
        assert_eq!(
            collector.wanted(),
            wanted,
            "{length:?} {end:?} {limit:?} after {written}"
        );
    }
}

#[test]
fn counted_bytes_lead_where_written_ones_do() {
    for (length, end) in [(None, End::Length), (Some(100), End::Length), (Some(100), End::Eof)] {
        for limit in [None, Some(0), Some(99), Some(100), Some(101)] {
            for (truncate, each) in [false, true]
                .into_iter()
                .flat_map(|cut| [1, 7, 100, 150].map(|each| (cut, each)))
            {
                let options = Options {
                    length,
                    end,
                    limit,
                    truncate,
                    ..Options::default()
                };
                let make = || Collector::new(&pool(MemoryRef::system()), options.clone()).expect("in range");
                let (mut written, mut counted) = (make(), make());
                let mut kept = 0;
                for _ in 0..160 / each {
                    let wrote = written.write(&vec![7; each]);
                    let count = counted.count(each as u64);
                    kept += count.unwrap_or(0);
                    assert_eq!(
                        count.map(|_| ()).and(counted.is_complete().map(|_| ())),
                        wrote.and(written.is_complete().map(|_| ()))
                    );
                    assert_eq!(counted.is_complete(), written.is_complete());
                    assert_eq!(counted.info().received, written.info().received);
                    assert_eq!(counted.info().truncated, written.info().truncated);
                    assert_eq!(
                        (kept, counted.info().length),
                        (written.info().length, written.info().length)
                    );
                }
                assert_eq!(counted.end(), written.end());
                assert_eq!(counted.take_partial().expect("there").len(), 0, "no result shows them");
            }
        }
    }
}
