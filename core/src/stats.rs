//! What can be read of one body and of a pool: plain numbers, the same in every language (E47, E51).

use crate::error::Error;

/// What a collector is doing. The numbers are those of `brimful_info.state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum State {
    /// Bytes may come.
    Open = 0,
    /// A window is out and waits for its commit.
    WindowOut = 1,
    /// The body is complete and waits to be taken.
    Complete = 2,
    /// An error ended the body; what came can be taken.
    Failed = 3,
    /// The result or the partial has been taken.
    Taken = 4,
}

/// Statistics of one body (E51). Bytes unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// What ended the body, if an error did.
    pub error: Option<Error>,
    /// The source's own error number; 0 where there is none.
    pub source_error: i32,
    /// Whether the result was cut at the limit (E17).
    pub truncated: bool,
    /// What the collector is doing.
    pub state: State,
    /// Bytes that the source delivered, those beyond a limit or length included.
    pub received: u64,
    /// The announced length.
    pub expected: Option<u64>,
    /// The limit that holds; `None`: only the address space.
    pub limit: Option<u64>,
    /// Bytes of the result, or of what can be taken so far.
    pub length: u64,
    /// Calls to the source.
    pub source_calls: u64,
    /// How often the source had nothing.
    pub pendings: u64,
    /// Bytes that the engine moved again after they had landed.
    pub copied: u64,
    /// Blocks rented from the pool.
    pub rents: u64,
    /// Pieces of memory obtained fresh from the memory or the allocator.
    pub allocations: u64,
    /// Bytes of fresh memory: obtained from a heap, or touched for the first time in a reserved range.
    pub allocated_bytes: u64,
    /// The most bytes held at once.
    pub peak_held: u64,
    /// Bytes that the result holds beyond its length.
    pub waste: u64,
}

impl Info {
    /// One line that says what was expected, what came, and what to do, for an error that ended this body.
    #[must_use]
    pub fn message(&self, error: Error) -> String {
        let Info { received, length, .. } = *self;
        let expected = self.expected.unwrap_or(0);
        match error {
            Error::Limit => match self.limit {
                Some(limit) if self.expected.is_some_and(|length| length > limit) => {
                    format!(
                        "limit: the announced length of {expected} bytes is above the limit of {limit}; nothing was read"
                    )
                }
                Some(limit) => {
                    format!(
                        "limit: the body has more than the limit of {limit} bytes ({received} came); the first {length} can be taken as the partial"
                    )
                }
                None => "limit: the body is larger than the address space".into(),
            },
            Error::Short => {
                format!(
                    "short: {expected} bytes were announced and the source ended after {received}; they can be taken as the partial"
                )
            }
            Error::Long => {
                format!(
                    "long: {expected} bytes were announced and at least {received} came; the first {length} can be taken as the partial"
                )
            }
            Error::Source => {
                format!(
                    "source: the source failed with its own error {} after {received} bytes; they can be taken as the partial",
                    self.source_error
                )
            }
            Error::Contract => {
                format!(
                    "contract: the source claimed more bytes than its window has, or gave an unknown answer, after {received} bytes; it must answer 0 to the window's length"
                )
            }
            Error::Cancelled => {
                format!("cancelled: the body was cancelled after {received} bytes; they can be taken as the partial")
            }
            Error::NoProgress => {
                format!(
                    "no_progress: the source asked to be called again more than 1000 times in a row without a byte, after {received} bytes"
                )
            }
            Error::State => match self.state {
                State::Open => "state: the body is not complete yet; go on reading, or take the partial".into(),
                State::WindowOut => "state: a window is out; commit it first".into(),
                State::Complete => "state: the body is complete; finish it, or reset the collector".into(),
                State::Failed => "state: the body has failed; take the partial, or reset the collector".into(),
                State::Taken => "state: the result was taken already; reset the collector to use it again".into(),
            },
            other => format!("{}: {}", other.name(), other.text()),
        }
    }
}

/// Statistics of a pool (E47). After any sequence: allocated - freed = outstanding + retained, in counts and in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolStats {
    /// Blocks given to bodies.
    pub rented: u64,
    /// Bytes of those blocks as they were given.
    pub rented_bytes: u64,
    /// Blocks given back.
    pub released: u64,
    /// Bytes of those blocks as they came back.
    pub released_bytes: u64,
    /// Rents that were served by a recycled block.
    pub reused: u64,
    /// Bytes of those blocks.
    pub reused_bytes: u64,
    /// Blocks obtained from the memory.
    pub allocated: u64,
    /// Bytes obtained from the memory, growth in place included.
    pub allocated_bytes: u64,
    /// Blocks given back to the memory.
    pub freed: u64,
    /// Bytes given back to the memory, cuts included.
    pub freed_bytes: u64,
    /// Blocks that bodies hold.
    pub outstanding: u64,
    /// Bytes that bodies hold.
    pub outstanding_bytes: u64,
    /// Blocks that lie in the pool.
    pub retained: u64,
    /// Bytes that lie in the pool.
    pub retained_bytes: u64,
    /// The most bytes owned at once, outstanding and retained together.
    pub peak_bytes: u64,
    /// Rents that could not be served: no memory, or beyond the budget.
    pub refused: u64,
}
