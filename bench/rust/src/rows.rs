//! The rows, each as its documentation shows it.

use crate::Job;
use crate::source::{BLOCK, PERIOD, Source};
use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use std::convert::Infallible;
use std::io::Read;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// A row's name, and what reads one body.
type Row = (&'static str, fn(&mut Job));

pub const ROWS: &[Row] = &[
    ("read-to-end", read_to_end),
    ("bytes-mut", bytes_mut),
    ("http-body-util", http_body_util),
    ("vec-push", vec_push),
    ("bytes-mut-push", bytes_mut_push),
];

/// <https://doc.rust-lang.org/std/io/trait.Read.html#method.read_to_end>; where the length is known, into a vector made
/// with that capacity, and never asking for more.
fn read_to_end(job: &mut Job) {
    let mut result = if job.known {
        Vec::with_capacity(job.n)
    } else {
        Vec::new()
    };
    let limit = if job.known { job.n as u64 } else { u64::MAX };
    match job.file.take() {
        Some(file) if job.known => file.take(limit).read_to_end(&mut result),
        Some(mut file) => file.read_to_end(&mut result),
        None if job.known => job.source().take(limit).read_to_end(&mut result),
        None => job.source().read_to_end(&mut result),
    }
    .expect("a body");
    job.show(&result, result.capacity());
}

/// Fills what room there is, as tokio's `read_buf` does with a `BytesMut`
/// (<https://docs.rs/tokio/latest/tokio/io/trait.AsyncReadExt.html#method.read_buf>).
fn fill(buffer: &mut BytesMut, source: &mut Source) -> usize {
    let window = buffer.chunk_mut();
    // SAFETY: the window is valid for writes of its length, and `count` bytes of it were written.
    unsafe {
        let count = source.fill(window.as_mut_ptr(), window.len());
        buffer.advance_mut(count);
        count
    }
}

/// <https://docs.rs/bytes/latest/bytes/struct.BytesMut.html>: it grows when it is full; frozen at the end.
fn bytes_mut(job: &mut Job) {
    let mut source = job.source();
    let mut buffer = BytesMut::with_capacity(if job.known { job.n } else { 4096 });
    loop {
        if buffer.len() == buffer.capacity() {
            if job.known {
                break;
            }
            buffer.reserve(buffer.len().max(4096));
        }
        if fill(&mut buffer, &mut source) == 0 {
            break;
        }
    }
    let capacity = buffer.capacity();
    job.show(&buffer.freeze(), capacity);
}

/// A body whose frames are read as hyper reads them: into one buffer that is split off frame by frame.
struct Frames {
    source: Source,
    buffer: BytesMut,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if this.buffer.capacity() == 0 {
            this.buffer.reserve(65536);
        }
        match fill(&mut this.buffer, &mut this.source) {
            0 => Poll::Ready(None),
            _ => Poll::Ready(Some(Ok(Frame::data(this.buffer.split().freeze())))),
        }
    }
}

/// <https://docs.rs/http-body-util/latest/http_body_util/trait.BodyExt.html#method.collect>, then `to_bytes`.
fn http_body_util(job: &mut Job) {
    let body = Frames {
        source: job.source(),
        buffer: BytesMut::with_capacity(8192),
    };
    let mut collect = pin!(body.collect());
    let Poll::Ready(collected) = Future::poll(collect.as_mut(), &mut Context::from_waker(Waker::noop())) else {
        unreachable!("the body is always ready")
    };
    let result = match collected {
        Ok(collected) => collected.to_bytes(),
        Err(never) => match never {},
    };
    job.show(&result, result.len());
}

fn piece(n: usize, each: usize, at: usize) -> &'static [u8] {
    &BLOCK[at % PERIOD..][..each.min(n - at)]
}

/// <https://doc.rust-lang.org/std/vec/struct.Vec.html#method.extend_from_slice>, `push` for one byte.
fn vec_push(job: &mut Job) {
    let mut result = Vec::new();
    while result.len() < job.n {
        match piece(job.n, job.each, result.len()) {
            [byte] => result.push(*byte),
            bytes => result.extend_from_slice(bytes),
        }
        std::hint::black_box(&mut result);
    }
    job.show(&result, result.capacity());
}

/// <https://docs.rs/bytes/latest/bytes/trait.BufMut.html#method.put_slice>, `put_u8` for one byte.
fn bytes_mut_push(job: &mut Job) {
    let mut buffer = BytesMut::new();
    while buffer.len() < job.n {
        match piece(job.n, job.each, buffer.len()) {
            [byte] => buffer.put_u8(*byte),
            bytes => buffer.put_slice(bytes),
        }
        std::hint::black_box(&mut buffer);
    }
    let capacity = buffer.capacity();
    job.show(&buffer.freeze(), capacity);
}
