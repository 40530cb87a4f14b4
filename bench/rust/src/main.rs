//! Rust's ways of reading a whole body. The same commands and options as the worker in C (bench/c/worker.c).

mod rows;
mod source;
mod writer;

use rows::ROWS;
use source::Source;
use std::fs::File;
use std::io::{BufRead, Write};
use std::time::Instant;
use writer::Writer;

/// One row at work: what it is asked for, and what was seen of its results.
pub struct Job {
    pub n: usize,
    pub most: usize,
    pub each: usize,
    pub known: bool,
    pub counting: bool,
    pub file: Option<File>,
    checking: bool,
    shown: usize,
    waste: usize,
    wrong: bool,
}

impl Job {
    pub fn source(&self) -> Source {
        Source::new(self.n, self.most, self.counting)
    }

    /// Every result goes through here, so that no compiler drops what nobody reads.
    pub fn show(&mut self, data: &[u8], capacity: usize) {
        std::hint::black_box(data);
        if self.checking {
            let mut at = self.shown;
            for piece in data.chunks(source::WARM_BLOCK) {
                self.wrong |= piece != &source::BLOCK[at % source::PERIOD..][..piece.len()];
                at += piece.len();
            }
        }
        self.shown += data.len();
        self.waste = capacity - data.len();
    }
}

fn faults() -> i64 {
    // SAFETY: rusage is plain numbers, for which zeros are valid, and getrusage fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_minflt
    }
}

/// ns that `bodies` bodies took; with I/O the making of the connection is left out.
fn run(job: &mut Job, body: fn(&mut Job), writer: &mut Option<Writer>, bodies: u64) -> f64 {
    let started = Instant::now();
    let Some(writer) = writer else {
        for _ in 0..bodies {
            job.shown = 0;
            body(job);
        }
        return started.elapsed().as_nanos() as f64;
    };
    let mut took = 0.0;
    for _ in 0..bodies {
        job.file = Some(writer.open());
        job.shown = 0;
        let started = Instant::now();
        writer.go();
        body(job);
        took += started.elapsed().as_nanos() as f64;
        job.file = None;
        writer.close();
    }
    took
}

#[repr(C)]
#[derive(Default)]
struct Counts {
    allocations: u64,
    allocated: u64,
    peak: u64,
    copied: u64,
}

fn count(job: &mut Job, body: fn(&mut Job)) {
    // SAFETY: the names are C strings; the preloaded library has both functions with these signatures, or neither.
    unsafe {
        let begin = libc::dlsym(libc::RTLD_DEFAULT, c"counts_begin".as_ptr());
        let end = libc::dlsym(libc::RTLD_DEFAULT, c"counts_end".as_ptr());
        assert!(
            !begin.is_null() && !end.is_null(),
            "count needs the counting library, preloaded"
        );
        let begin: extern "C" fn() = std::mem::transmute(begin);
        let end: extern "C" fn(*mut Counts) = std::mem::transmute(end);
        let mut seen = Counts::default();
        job.counting = true;
        job.shown = 0;
        begin();
        body(job);
        end(&mut seen);
        job.counting = false;
        println!(
            "{{\"allocations\": {}, \"allocated\": {}, \"peak\": {}, \"copied\": {}, \"waste\": {}}}",
            seen.allocations, seen.allocated, seen.peak, seen.copied, job.waste
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        arguments
            .iter()
            .skip(2)
            .filter_map(|each| each.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let number = |name: &str, otherwise: usize| option(name).map_or(otherwise, |text| text.parse().expect("a number"));
    let Some(name) = arguments.get(1) else {
        ROWS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let body = ROWS
        .iter()
        .find(|(row, _)| row == name)
        .expect("a row of this worker")
        .1;
    if option("heap") == Some("freed") {
        std::hint::black_box(vec![1u8; (32 << 20) - (64 << 10)]);
    }
    let n = number("n", 0);
    let most = number("most", usize::MAX);
    let mut job = Job {
        n,
        most,
        each: number("each", most).min(source::WARM_BLOCK),
        known: option("length") == Some("known"),
        counting: false,
        file: None,
        checking: false,
        shown: 0,
        waste: 0,
        wrong: false,
    };
    let mut writer = option("io").map(|kind| Writer::new(kind, option("path"), n));
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a command");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["run", bodies] => {
                let bodies: u64 = bodies.parse().expect("a number");
                run(&mut job, body, &mut writer, bodies / 10 + 1);
                let before = faults();
                let took = run(&mut job, body, &mut writer, bodies);
                println!(
                    "{:.3} {:.3}",
                    took / bodies as f64,
                    (faults() - before) as f64 / bodies as f64
                );
            }
            ["cold"] => {
                let before = faults();
                let took = run(&mut job, body, &mut writer, 1);
                println!("{took:.3} {}", faults() - before);
            }
            ["check"] => {
                job.checking = true;
                run(&mut job, body, &mut writer, 1);
                job.checking = false;
                println!(
                    "{}",
                    if job.wrong || job.shown != job.n {
                        "wrong"
                    } else {
                        "right"
                    }
                );
            }
            ["count"] => count(&mut job, body),
            ["tell"] => println!("{{}}"),
            ["rest"] => println!("resting"),
            _ => panic!("no such command: {line}"),
        }
        std::io::stdout().flush().expect("standard output");
    }
}
