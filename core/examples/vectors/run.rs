//! Drives the engine through a vector in every way that the vector applies to, and compares.

use super::case::{self, Case, Drive, Kind, Step};
use super::script::{Paint, Script};
use brimful::{Cancel, Collector, Error, FromFn, Info, MemoryRef, Options, Pool, PoolOptions, Prefer, Progress};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// How many cases passed, and a line for each that did not.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failures: Vec<String>,
}

/// Runs every `*.json` of the folder.
pub(crate) fn folder(folder: &Path) -> Result<Tally, String> {
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(problem)?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(problem)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: no *.json in it", folder.display()));
    }
    let paint = Paint::new();
    let mut tally = Tally::default();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let cases: Vec<serde_json::Value> =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        for value in &cases {
            match case::parse(value).and_then(|case| check(&case, &paint).map_err(|problem| (case.name, problem))) {
                Ok(()) => tally.passed += 1,
                Err((name, problem)) => tally.failures.push(format!("{name}: {problem}")),
            }
        }
    }
    Ok(tally)
}

/// The first way of running the case that does not hold, and what was expected and what came.
fn check(case: &Case, paint: &Paint) -> Result<(), String> {
    for &drive in &case.drives {
        for &kind in &case.kinds {
            for (name, memory) in [("default", PoolOptions::default().memory), ("list", MemoryRef::heap())] {
                // A panic of the engine is a failure of this case and not the end of the others.
                let attempt = AssertUnwindSafe(|| run(case, drive, kind, memory, paint));
                let outcome = catch_unwind(attempt).unwrap_or_else(|_| Err("panicked".into()));
                let held = outcome.and_then(|outcome| compare(case, drive, kind, &outcome));
                held.map_err(|problem| format!("{drive:?}, {kind:?}, {name} memory: {problem}").to_lowercase())?;
            }
        }
    }
    Ok(())
}

/// What came of one run.
struct Outcome {
    status: &'static str,
    length: Option<u64>,
    partial: Option<u64>,
    pendings: u64,
    calls: u64,
    asked: u64,
    info: Option<Info>,
}

fn run(case: &Case, drive: Drive, kind: Kind, memory: MemoryRef, paint: &Paint) -> Result<Outcome, String> {
    let pool = Pool::new(PoolOptions {
        memory,
        ..PoolOptions::default()
    })
    .ok_or("no memory for a pool")?;
    let cancel = Cancel::new().ok_or("no memory for a cancel")?;
    let prefer = if kind == Kind::Exact {
        Prefer::Exact
    } else {
        Prefer::Pooled
    };
    let options = Options {
        prefer,
        cancel: Some(cancel.clone()),
        ..case.options.clone()
    };
    let mut outcome = Outcome {
        status: "ok",
        length: None,
        partial: None,
        pendings: 0,
        calls: 0,
        asked: 0,
        info: None,
    };
    let Ok(mut collector) = Collector::new(&pool, options) else {
        outcome.status = "invalid";
        return Ok(outcome);
    };
    let driven = match drive {
        Drive::Pull => {
            let mut script = Script::new(&case.source, paint, &cancel);
            let driven = pull(&mut collector, &mut script, &mut outcome.pendings);
            (outcome.calls, outcome.asked) = (script.calls, script.asked);
            driven
        }
        Drive::Push => gives(case, |count, each, given| {
            push(&mut collector, paint, count, each, given)
        })
        .and_then(|()| collector.end()),
        Drive::Window => gives(case, |count, each, given| {
            fill(&mut collector, paint, count, each, given)
        })
        .and_then(|()| collector.end()),
    };
    match driven {
        Ok(()) => take(&mut collector, kind, paint, &mut outcome)?,
        Err(error) => {
            outcome.status = error.name();
            outcome.info = Some(collector.info());
            let partial = collector
                .take_partial()
                .map_err(|error| format!("take_partial: {}", error.name()))?;
            outcome.partial = Some(partial.len() as u64);
            painted(paint, partial.segments())?;
        }
    }
    Ok(outcome)
}

/// Takes the result, checks its bytes, and keeps its statistics.
fn take(collector: &mut Collector, kind: Kind, paint: &Paint, outcome: &mut Outcome) -> Result<(), String> {
    let refused = |error: Error| format!("finish: {}", error.name());
    match kind {
        Kind::Pooled => {
            let buffer = collector.finish().map_err(refused)?;
            outcome.length = Some(buffer.len() as u64);
            outcome.info = Some(buffer.info());
            if buffer.is_truncated() != buffer.info().truncated {
                return Err("the buffer and its statistics differ about truncated".into());
            }
            painted(paint, buffer.segments())
        }
        Kind::Exact => {
            let exact = collector.finish_exact().map_err(refused)?;
            outcome.length = Some(exact.len() as u64);
            outcome.info = Some(exact.info());
            painted(paint, [exact.as_slice()])
        }
    }
}

fn painted<'a>(paint: &Paint, segments: impl IntoIterator<Item = &'a [u8]>) -> Result<(), String> {
    let mut offset = 0;
    for segment in segments {
        if let Some(at) = paint.first_difference(offset, segment) {
            return Err(format!("byte {at} is {}, expected {}", segment[at - offset], at % 251));
        }
        offset += segment.len();
    }
    Ok(())
}

fn pull(collector: &mut Collector, script: &mut Script<'_>, pendings: &mut u64) -> Result<(), Error> {
    let mut source = FromFn(|window: &mut [u8]| script.answer(window));
    while collector.read(&mut source)? == Progress::Pending {
        *pendings += 1;
    }
    Ok(())
}

/// Calls `give` with each give step's bytes, their pieces and where they begin; the other steps say nothing to a push.
fn gives(case: &Case, mut give: impl FnMut(usize, usize, usize) -> Result<(), Error>) -> Result<(), Error> {
    let mut given = 0;
    for step in &case.source {
        match *step {
            Step::Give { count, each, .. } => {
                let count = usize::try_from(count).map_err(|_| Error::Invalid)?;
                give(count, usize::try_from(each).unwrap_or(usize::MAX), given)?;
                given += count;
            }
            Step::End => break,
            _ => {}
        }
    }
    Ok(())
}

fn push(collector: &mut Collector, paint: &Paint, count: usize, each: usize, mut given: usize) -> Result<(), Error> {
    let mut piece = vec![0; count.min(each)];
    let end = given + count;
    while given < end && !collector.is_complete()? {
        let length = piece.len().min(end - given);
        paint.fill(given, &mut piece[..length]);
        collector.write(&piece[..length])?;
        given += length;
    }
    Ok(())
}

fn fill(collector: &mut Collector, paint: &Paint, count: usize, each: usize, mut given: usize) -> Result<(), Error> {
    let end = given + count;
    while given < end && !collector.is_complete()? {
        let window = collector.reserve(end - given, true)?;
        let length = window.room.min(each).min(end - given);
        // SAFETY: reserve hands out a cleared window of `room` bytes that nobody else uses until commit.
        paint.fill(given, unsafe {
            std::slice::from_raw_parts_mut(window.pointer.as_ptr(), length)
        });
        // SAFETY: the first `length` bytes of the window were just painted.
        unsafe { collector.commit(length) }?;
        given += length;
    }
    Ok(())
}

fn compare(case: &Case, drive: Drive, kind: Kind, outcome: &Outcome) -> Result<(), String> {
    let expect = &case.expect;
    let same = |what: &str, expected: Option<u64>, came: Option<u64>| match expected {
        Some(_) if expected != came => {
            let say = |number: Option<u64>| number.map_or("none".to_owned(), |number| number.to_string());
            Err(format!("{what}: expected {}, came {}", say(expected), say(came)))
        }
        _ => Ok(()),
    };
    let at_most = |what: &str, most: Option<u64>, came: Option<u64>| match (most, came) {
        (Some(most), Some(came)) if came > most => Err(format!("{what}: expected at most {most}, came {came}")),
        _ => Ok(()),
    };
    if outcome.status != expect.status {
        return Err(format!("status: expected {}, came {}", expect.status, outcome.status));
    }
    let info = outcome.info.as_ref();
    same("length", expect.length, outcome.length)?;
    same("partial", expect.partial, outcome.partial)?;
    same("received", expect.received, info.map(|info| info.received))?;
    if let (Some(least), Some(info)) = (expect.min_received, info)
        && info.received < least
    {
        return Err(format!("received: expected at least {least}, came {}", info.received));
    }
    if let Some(number) = expect.source_error
        && info.map(|info| info.source_error) != Some(number)
    {
        return Err(format!(
            "source_error: expected {number}, came {:?}",
            info.map(|info| info.source_error)
        ));
    }
    if let Some(truncated) = expect.truncated
        && info.map(|info| info.truncated) != Some(truncated)
    {
        return Err(format!(
            "truncated: expected {truncated}, came {:?}",
            info.map(|info| info.truncated)
        ));
    }
    if drive == Drive::Pull {
        same("pendings", expect.pendings, Some(outcome.pendings))?;
        at_most("calls to the source", expect.max_calls, Some(outcome.calls))?;
        at_most("bytes asked for", expect.max_asked, Some(outcome.asked))?;
    }
    at_most("bytes copied", expect.max_copied.of(kind), info.map(|info| info.copied))?;
    at_most(
        "bytes allocated",
        expect.max_allocated.of(kind),
        info.map(|info| info.allocated_bytes),
    )
}
