//! What a body is allowed to be, and how its memory is laid out (E1 to E5).

use crate::cancel::Cancel;
use crate::error::InvalidOption;
use crate::memory::MemoryRef;
use crate::pool::Pool;

/// The largest body there can be: the address space (E2).
pub(crate) const ADDRESS_SPACE: u64 = isize::MAX as u64;

/// How the end of a body of announced length is known (E1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum End {
    /// Complete as soon as the length has arrived; the source is never asked for a byte beyond it.
    #[default]
    Length,
    /// The source must then also say that it ends; one byte more is [`crate::Error::Long`].
    Eof,
}

/// Which result the collector is to be ready for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prefer {
    /// The pooled buffer: the blocks themselves.
    #[default]
    Pooled,
    /// The exact buffer: a known length is read straight into it.
    Exact,
}

/// Options of one body. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The body has exactly this many bytes, and that is enforced (E1). `None`: unknown.
    pub length: Option<u64>,
    /// About how many bytes are expected. Never an error, too small or too big (E1).
    pub size_hint: Option<u64>,
    /// The most bytes the body may have (E2). `None`: the pool's limit, else the address space.
    pub limit: Option<u64>,
    /// How the end is known where `length` is given.
    pub end: End,
    /// More than `limit` bytes is not an error: the result has the first `limit` bytes and says so (E17).
    pub truncate: bool,
    /// Windows for unsafe sources are cleared too before they are shown (E49). Safe sources always get cleared ones.
    pub scrub: bool,
    /// Which result the collector is to be ready for.
    pub prefer: Prefer,
    /// The most memory that a mere announcement can cause to be taken (E3).
    pub max_prealloc: u64,
    /// The size of the first block of a body of unknown length (E4).
    pub first_block: u64,
    /// The most bytes asked of a source at once (E4).
    pub max_window: u64,
    /// The most bytes that one call of read takes before it answers [`crate::Progress::More`], so that one fast source
    /// cannot hold an event loop (E4). `None`: no such share.
    pub max_step: Option<u64>,
    /// So many zero bytes are readable behind an exact or contiguous result, uncounted (E4). At most 64 KiB. Not behind
    /// slices, segments and results in the caller's own memory.
    pub padding: u32,
    /// Where exact results come from; `None`: malloc, realloc and free.
    pub exact_memory: Option<MemoryRef>,
    /// Stops the body from any thread (E24).
    pub cancel: Option<Cancel>,
}

impl Options {
    /// Default of [`Options::max_prealloc`]: 16 MiB, the measure of the work this generalises (dotnet/runtime#109642).
    pub const MAX_PREALLOC: u64 = 16 << 20;
    /// Default of [`Options::first_block`].
    pub const FIRST_BLOCK: u64 = 16 << 10;
    /// Default of [`Options::max_window`].
    pub const MAX_WINDOW: u64 = 1 << 20;
    /// The smallest `first_block` and `max_window` (E5).
    pub const SMALLEST: u64 = 4 << 10;
    /// The largest `first_block` and `max_window` (E4, E5).
    pub const LARGEST: u64 = 1 << 30;

    /// The largest [`Options::padding`] (E5).
    pub const LARGEST_PADDING: u32 = 64 << 10;

    /// Says which option is out of range, if one is (E5).
    ///
    /// # Errors
    /// The first option that is out of range.
    pub fn check(&self) -> Result<(), InvalidOption> {
        for (name, came) in [("first_block", self.first_block), ("max_window", self.max_window)] {
            if !(Options::SMALLEST..=Options::LARGEST).contains(&came) {
                return Err(InvalidOption {
                    name,
                    expected: "4096 (4 KiB) to 1073741824 (1 GiB)",
                    came,
                });
            }
        }
        if self.padding > Options::LARGEST_PADDING {
            let came = u64::from(self.padding);
            return Err(InvalidOption {
                name: "padding",
                expected: "at most 65536 (64 KiB)",
                came,
            });
        }
        if self.max_step == Some(0) {
            return Err(InvalidOption {
                name: "max_step",
                expected: "1 or more, or none",
                came: 0,
            });
        }
        Ok(())
    }

    /// Where exact results come from.
    pub(crate) fn exact_memory(&self) -> &MemoryRef {
        static MALLOC: MemoryRef = MemoryRef::malloc();
        self.exact_memory.as_ref().unwrap_or(&MALLOC)
    }

    /// The most bytes that the body may have on this pool: its own limit, else the pool's, else the address space (E2).
    pub(crate) fn limit_on(&self, pool: &Pool) -> u64 {
        self.limit
            .or(pool.options().limit)
            .unwrap_or(ADDRESS_SPACE)
            .min(ADDRESS_SPACE)
    }

    /// Below so many bytes a body with these options is neither complete nor refused on this pool, and takes nothing from a
    /// budget: for hosts that put the bytes of a small body by before they make a collector. 0 where it may be at any time.
    #[must_use]
    pub fn quiet_on(&self, pool: &Pool) -> u64 {
        let may_speak = self.length.is_some() || pool.options().budget.is_some() || self.check().is_err();
        if may_speak { 0 } else { self.limit_on(pool) }
    }

    /// Whether just so many bytes and then the end are a whole, uncut body on this pool: for hosts that hold these
    /// bytes as an object of their own already, which can then be the result as it is.
    #[must_use]
    pub fn is_whole(&self, pool: &Pool, bytes: u64) -> bool {
        bytes <= self.limit_on(pool) && self.length.is_none_or(|length| length == bytes)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            length: None,
            size_hint: None,
            limit: None,
            end: End::Length,
            truncate: false,
            scrub: false,
            prefer: Prefer::Pooled,
            max_prealloc: Options::MAX_PREALLOC,
            first_block: Options::FIRST_BLOCK,
            max_window: Options::MAX_WINDOW,
            max_step: None,
            padding: 0,
            exact_memory: None,
            cancel: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::PoolOptions;

    #[test]
    fn bytes_are_a_whole_body_where_neither_the_length_nor_a_limit_says_otherwise() {
        let pool = |limit| {
            Pool::new(PoolOptions {
                limit,
                ..PoolOptions::default()
            })
            .expect("memory")
        };
        let table = [
            // length, limit, the pool's limit, whether 10 bytes are whole
            (None, None, None, true),
            (None, Some(10), None, true),
            (None, Some(9), None, false),
            (None, None, Some(9), false),
            (None, Some(10), Some(9), true),
            (Some(10), None, None, true),
            (Some(9), None, None, false),
            (Some(11), None, None, false),
            (Some(10), Some(9), None, false),
        ];
        for (length, limit, pool_limit, whole) in table {
            let options = Options {
                length,
                limit,
                ..Options::default()
            };
            assert_eq!(
                options.is_whole(&pool(pool_limit), 10),
                whole,
                "{length:?} {limit:?} {pool_limit:?}"
            );
        }
    }
}
