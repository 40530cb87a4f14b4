//! Queues of bytes in Rust, side by side: brimful's, `BytesMut` and a `VecDeque` of `Bytes` (both of the bytes crate), and
//! the standard library's `VecDeque` of bytes. The workloads are those of queue.c.
//!
//! ```text
//! queue                      names of the queues
//! queue QUEUE WORK ROUNDS    ns per round, and the most memory that was resident beyond the start, in bytes
//! ```

use brimful::{Collector, Got, Options, Pool, Queue};
use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::hint::black_box;
use std::io::Read;
use std::time::Instant;

trait Kind {
    fn write(&mut self, data: &[u8]);
    /// By a window, where there are any.
    fn fill(&mut self, data: &[u8]) {
        self.write(data);
    }
    fn read(&mut self, target: &mut [u8]);
    /// All that waits becomes a body, which is given back.
    fn hand_off(&mut self);
}

struct Ours {
    queue: Queue,
    collector: Collector,
}

impl Kind for Ours {
    fn write(&mut self, data: &[u8]) {
        assert_eq!(self.queue.write(data), Ok(data.len()));
    }

    fn fill(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let window = self.queue.reserve(data.len(), false).expect("memory").expect("not full");
            let count = window.room.min(data.len());
            // SAFETY: the window has that much room, and is committed with what was written.
            unsafe {
                window.pointer.as_ptr().copy_from_nonoverlapping(data.as_ptr(), count);
                self.queue.commit(count).expect("it fits");
            }
            data = &data[count..];
        }
    }

    fn read(&mut self, target: &mut [u8]) {
        assert_eq!(self.queue.read(target), Got::Bytes(target.len()));
    }

    fn hand_off(&mut self) {
        self.queue.move_to(&mut self.collector).expect("memory");
        self.collector.end().expect("open");
        black_box(self.collector.finish().expect("complete"));
        self.collector.reset(None).expect("in range");
    }
}

impl Kind for BytesMut {
    fn write(&mut self, data: &[u8]) {
        self.extend_from_slice(data);
    }

    fn read(&mut self, target: &mut [u8]) {
        self.copy_to_slice(target);
    }

    fn hand_off(&mut self) {
        black_box(self.split().freeze());
    }
}

impl Kind for VecDeque<Bytes> {
    fn write(&mut self, data: &[u8]) {
        self.push_back(Bytes::copy_from_slice(data));
    }

    fn read(&mut self, target: &mut [u8]) {
        let mut at = 0;
        while at < target.len() {
            let front = self.front_mut().expect("so many wait");
            let count = front.len().min(target.len() - at);
            front.copy_to_slice(&mut target[at..at + count]);
            at += count;
            if front.is_empty() {
                self.pop_front();
            }
        }
    }

    fn hand_off(&mut self) {
        black_box(self.drain(..).collect::<Vec<_>>());
    }
}

impl Kind for VecDeque<u8> {
    fn write(&mut self, data: &[u8]) {
        self.extend(data);
    }

    fn read(&mut self, target: &mut [u8]) {
        self.read_exact(target).expect("so many wait");
    }

    fn hand_off(&mut self) {
        black_box(Vec::from(std::mem::take(self)));
    }
}

fn work(queue: &mut impl Kind, name: &str, rounds: usize, data: &[u8], target: &mut [u8]) {
    match name {
        "small" => {
            for _ in 0..rounds {
                queue.write(&data[..16]);
                queue.read(&mut target[..16]);
            }
        }
        "backlog" => {
            (0..655).for_each(|_| queue.write(&data[..100]));
            for _ in 0..rounds {
                queue.write(&data[..100]);
                queue.read(&mut target[..100]);
            }
        }
        "chunks" => {
            (0..64).for_each(|_| queue.write(&data[..16384]));
            for _ in 0..rounds {
                queue.write(&data[..16384]);
                queue.read(&mut target[..16384]);
            }
        }
        "windows" => {
            for _ in 0..rounds {
                queue.fill(&data[..16384]);
                (0..16).for_each(|_| queue.read(&mut target[..1024]));
            }
        }
        "flood" => {
            for _ in 0..rounds {
                (0..16384).for_each(|_| queue.write(&data[..4096]));
                (0..1024).for_each(|_| queue.read(&mut target[..65536]));
            }
        }
        "handoff" => {
            for _ in 0..rounds {
                (0..256).for_each(|_| queue.write(&data[..4096]));
                queue.hand_off();
            }
        }
        _ => panic!("no such work"),
    }
}

/// A number of kB from /proc/self/status, in bytes.
fn resident(field: &str) -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("it is there");
    let number: String = line.chars().filter(char::is_ascii_digit).collect();
    number.parse::<i64>().expect("a number") * 1024
}

fn measure(mut queue: impl Kind, name: &str, rounds: usize) {
    // No part of the queue, and so there before its memory is looked at.
    let (data, mut target) = (black_box(vec![1; 1 << 20]), black_box(vec![1; 1 << 20]));
    let held = resident("VmRSS:");
    let started = Instant::now();
    work(&mut queue, name, rounds, &data, &mut target);
    let took = started.elapsed().as_nanos() as f64 / rounds as f64;
    println!("{took:.3} {}", resident("VmHWM:") - held);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, queue, name, rounds] = &arguments[..] else {
        return println!("brimful-rust\nBytesMut\nVecDeque<Bytes>\nVecDeque<u8>");
    };
    let rounds = rounds.parse().expect("a number");
    match &**queue {
        "brimful-rust" => {
            let pool = Pool::process_default();
            let ours = Ours {
                queue: Queue::new(&pool, u64::MAX).expect("not 0"),
                collector: Collector::new(&pool, Options::default()).expect("in range"),
            };
            measure(ours, name, rounds);
        }
        "BytesMut" => measure(BytesMut::new(), name, rounds),
        "VecDeque<Bytes>" => measure(VecDeque::<Bytes>::new(), name, rounds),
        "VecDeque<u8>" => measure(VecDeque::<u8>::new(), name, rounds),
        _ => panic!("no such queue"),
    }
}
