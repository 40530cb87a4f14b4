//! Bodies whose byte `i` is `i` mod 251, and pools on each memory.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use brimful::{Answer, Collector, Error, FromFn, MemoryRef, Pool, PoolOptions, Progress};

pub(crate) const MIB: usize = 1 << 20;

pub(crate) fn paint(index: usize) -> u8 {
    (index % 251) as u8
}

pub(crate) fn pool(memory: MemoryRef) -> Pool {
    Pool::new(PoolOptions {
        memory,
        ..PoolOptions::default()
    })
    .expect("memory")
}

pub(crate) fn both() -> [(&'static str, MemoryRef); 2] {
    [("range", MemoryRef::system()), ("list", MemoryRef::heap())]
}

/// A source of `bytes` painted bytes in answers of at most `most`; every `stop`th call has nothing (0: never).
pub(crate) fn painted(bytes: usize, most: usize, stop: usize) -> FromFn<impl FnMut(&mut [u8]) -> Answer> {
    let (mut given, mut calls) = (0, 0);
    FromFn(move |window: &mut [u8]| {
        calls += 1;
        if stop > 0 && calls % stop == 0 {
            return Answer::PENDING;
        }
        let count = window.len().min(most).min(bytes - given);
        for byte in &mut window[..count] {
            *byte = paint(given);
            given += 1;
        }
        Answer::filled(count)
    })
}

pub(crate) fn read_all<F: FnMut(&mut [u8]) -> Answer>(
    collector: &mut Collector,
    source: &mut FromFn<F>,
) -> Result<(), Error> {
    while collector.read(source)? == Progress::Pending {}
    Ok(())
}

pub(crate) fn is_painted(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(index, &byte)| byte == paint(index))
}
