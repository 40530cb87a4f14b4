//! Runs conformance vectors through the public Rust API: `cargo run --release --example vectors -- DIR`.
//!
//! Prints a line for each case that fails, ends with `rust: A passed, B failed`, and exits with 1 if any failed.

mod case;
mod run;
mod script;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: vectors DIR   (DIR holds *.json in the format of tests/vectors)");
        return ExitCode::from(2);
    };
    match run::folder(folder.as_ref()) {
        Ok(tally) => {
            for line in &tally.failures {
                println!("{line}");
            }
            println!("rust: {} passed, {} failed", tally.passed, tally.failures.len());
            ExitCode::from(u8::from(!tally.failures.is_empty()))
        }
        Err(problem) => {
            eprintln!("vectors: {problem}");
            ExitCode::from(2)
        }
    }
}
