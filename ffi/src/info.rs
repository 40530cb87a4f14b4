//! Statistics of one body.

use brimful_core::{Error, Info};

use crate::guard::versioned;
use crate::options::BRIMFUL_UNKNOWN;
use crate::status::{BRIMFUL_OK, brimful_status};

/// In brimful_info.state: bytes may come.
pub const BRIMFUL_STATE_OPEN: i32 = 0;
/// In brimful_info.state: a window is out and waits for its commit.
pub const BRIMFUL_STATE_WINDOW_OUT: i32 = 1;
/// In brimful_info.state: the body is complete and waits to be taken.
pub const BRIMFUL_STATE_COMPLETE: i32 = 2;
/// In brimful_info.state: an error ended the body; what came can be taken.
pub const BRIMFUL_STATE_FAILED: i32 = 3;
/// In brimful_info.state: the result or the partial has been taken.
pub const BRIMFUL_STATE_TAKEN: i32 = 4;

/// What is known of one body. Counts start at 0 with each body; bytes where nothing else is said. Set struct_size
/// before the call that fills it.
///
/// Threads: a plain struct of yours.
/// Lifetime: yours; it holds numbers only.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct brimful_info {
    /// sizeof(brimful_info).
    pub struct_size: usize,
    /// The error that ended the body, or 0. After a one-shot call: what the call returned.
    pub status: brimful_status,
    /// The callback's own error where status is BRIMFUL_ERR_SOURCE; else 0.
    pub source_error: i32,
    /// 1 when the result was cut at the limit (BRIMFUL_TRUNCATE), else 0.
    pub truncated: i32,
    /// One of BRIMFUL_STATE_...
    pub state: i32,
    /// Bytes that the source delivered, those beyond a limit or a length included.
    pub received: u64,
    /// The announced length, or BRIMFUL_UNKNOWN.
    pub expected: u64,
    /// Bytes of the result, or of what can be taken so far.
    pub length: u64,
    /// Calls of the source. A count.
    pub source_calls: u64,
    /// How often the source had nothing (BRIMFUL_PENDING). A count.
    pub pendings: u64,
    /// Bytes that were moved again after they had landed. What a realloc moves counts as an allocation instead.
    pub copied: u64,
    /// Blocks rented from the pool. A count.
    pub rents: u64,
    /// Pieces of memory obtained fresh from the system or the allocator. A count; what a pool recycles is none.
    pub allocations: u64,
    /// Bytes of fresh memory: obtained from a heap, or touched for the first time in reserved address space.
    pub allocated_bytes: u64,
    /// The most bytes of memory held at once.
    pub peak_held: u64,
    /// Bytes that the result holds beyond its length.
    pub waste: u64,
}
versioned!(brimful_info {
    status,
    source_error,
    truncated,
    state,
    received,
    expected,
    length,
    source_calls,
    pendings,
    copied,
    rents,
    allocations,
    allocated_bytes,
    peak_held,
    waste,
});

impl From<Info> for brimful_info {
    fn from(info: Info) -> brimful_info {
        brimful_info {
            struct_size: size_of::<brimful_info>(),
            status: info.error.map_or(BRIMFUL_OK, Error::code),
            source_error: info.source_error,
            truncated: i32::from(info.truncated),
            state: info.state as i32,
            received: info.received,
            expected: info.expected.unwrap_or(BRIMFUL_UNKNOWN),
            length: info.length,
            source_calls: info.source_calls,
            pendings: info.pendings,
            copied: info.copied,
            rents: info.rents,
            allocations: info.allocations,
            allocated_bytes: info.allocated_bytes,
            peak_held: info.peak_held,
            waste: info.waste,
        }
    }
}

impl brimful_info {
    /// Of a body that never began.
    pub(crate) const NOTHING: brimful_info = brimful_info {
        struct_size: size_of::<brimful_info>(),
        status: BRIMFUL_OK,
        source_error: 0,
        truncated: 0,
        state: BRIMFUL_STATE_OPEN,
        received: 0,
        expected: BRIMFUL_UNKNOWN,
        length: 0,
        source_calls: 0,
        pendings: 0,
        copied: 0,
        rents: 0,
        allocations: 0,
        allocated_bytes: 0,
        peak_held: 0,
        waste: 0,
    };
}
