//! Reads a whole body (an HTTP response, a database value, an upload, a pipe, a decompressed stream) into memory.
//!
//! ```text
//! source ──window──▶ collector ──rents──▶ pool ──asks──▶ memory
//!                        │ finish
//!                        ├──▶ pooled buffer   (the blocks themselves, no copy)      ──release──▶ pool
//!                        └──▶ exact buffer    (filled in place when the length is known; else one copy)
//!
//! producer ──write──▶ queue ──read──▶ reader            in blocks of the same pool
//!                       └──move──▶ collector            whole blocks become the body's, no copy
//! ```
//!
//! Four invariants:
//! 1. Bytes move at most once after they have landed, and not at all when the length was known or the result is pooled
//!    (the first few hundred kB of a body that outgrows small blocks aside: once more).
//! 2. The memory held is bounded by what has *arrived* (times a small factor) plus `max_prealloc`, never by what was
//!    announced.
//! 3. A collector that stops (nothing now, error, limit) has lost nothing: what arrived can be taken, and where it may
//!    go on, it goes on.
//! 4. No view or result ever shows a byte that this body's source did not deliver, and no window shows one to
//!    interpreted code or safe Rust.
//!
//! ```
//! use brimful::{Collector, FromRead, Options, Pool, Progress};
//!
//! let mut source = FromRead::new(&b"a whole body"[..]);
//! let mut collector = Collector::new(&Pool::process_default(), Options { limit: Some(1 << 20), ..Options::default() })?;
//! assert_eq!(collector.read(&mut source)?, Progress::Complete);
//! assert_eq!(collector.finish()?.contiguous()?, b"a whole body");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(missing_docs)]

mod block;
mod body;
mod buffer;
mod cancel;
mod collector;
mod error;
mod exact;
mod finish;
mod growth;
mod handle;
mod handoff;
mod host;
pub mod memory;
mod options;
mod pool;
mod queue;
mod room;
mod shard;
mod shared;
mod source;
mod stats;
mod supply;
mod text;

pub use buffer::{Buffer, Exact, Quarantined};
pub use cancel::Cancel;
pub use collector::Collector;
pub use error::{Error, InvalidOption, Progress, status_name, status_text};
pub use handle::{Handle, Turn};
pub use memory::{Memory, MemoryRef};
pub use options::{End, Options, Prefer};
pub use pool::{Pool, PoolOptions};
pub use queue::{Got, Queue};
#[cfg(unix)]
pub use source::Descriptor;
pub use source::{Answer, Flow, FromFn, FromRead, Source, Then, Window};
pub use stats::{Info, PoolStats, State};
pub use text::{Charset, Encoding, Fault, Faults, Filled, Measure, Segments, Text, Undecoded, Unit, Widest};
