//! The options of one body.

use brimful_core::{Cancel, End, Error, Options, Prefer};
use core::ptr::{self, NonNull};

use crate::cancel::{self, brimful_cancel};
use crate::guard::{self, versioned};
use crate::info::brimful_info;
use crate::memory::{self, brimful_allocator};

/// A length or a size hint that is not known.
pub const BRIMFUL_UNKNOWN: u64 = u64::MAX;
/// A limit or a budget that there is not.
pub const BRIMFUL_UNLIMITED: u64 = u64::MAX;

/// For brimful_options.end: the body is complete as soon as `length` bytes have arrived, and the source is never
/// asked for a byte beyond it, so that a connection stays usable for what comes next.
pub const BRIMFUL_END_LENGTH: u32 = 0;
/// For brimful_options.end: after `length` bytes the source must also say that it ends. It is asked once more, for 1
/// byte; if it has one, the outcome is BRIMFUL_ERR_LONG.
pub const BRIMFUL_END_EOF: u32 = 1;

/// For brimful_options.prefer: be ready for brimful_collector_finish.
pub const BRIMFUL_PREFER_POOLED: u32 = 0;
/// For brimful_options.prefer: be ready for brimful_collector_finish_exact. A length that is known is then read
/// straight into the exact result.
pub const BRIMFUL_PREFER_EXACT: u32 = 1;

/// A flag of brimful_options: more than `limit` bytes is no error; the result has the first `limit` bytes and says
/// that it was cut.
pub const BRIMFUL_TRUNCATE: u32 = 1;
/// A flag of brimful_options: windows are cleared before the source sees them, so that it never sees bytes of another
/// body (what it has itself written beyond what it claimed may still be there). Without it they hold whatever was there,
/// which is fine for a source that only writes, as read(2) does.
pub const BRIMFUL_SCRUB: u32 = 2;

/// What a body may be, and how it is collected. Begin with BRIMFUL_OPTIONS_INIT or brimful_options_init and change
/// what you need; sizes are in bytes. NULL in the place of options means the same as BRIMFUL_OPTIONS_INIT. A value out
/// of range is BRIMFUL_ERR_INVALID when the options are used, with nothing done.
///
/// Threads: a plain struct of yours. It is read, never written, during the call that is given it.
/// Lifetime: may go as soon as that call returns; what `cancel` points to is held by the collector itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct brimful_options {
    /// sizeof(brimful_options).
    pub struct_size: usize,
    /// The body has exactly this many bytes, and that is enforced: fewer is BRIMFUL_ERR_SHORT, more BRIMFUL_ERR_LONG.
    /// Or BRIMFUL_UNKNOWN. Above `limit` it is BRIMFUL_ERR_LIMIT at the first call, before the source is asked.
    pub length: u64,
    /// About how many bytes are expected, or BRIMFUL_UNKNOWN. Only advice: too small or too big is no error.
    pub size_hint: u64,
    /// The most bytes that the body may have; 0 allows only the empty body (options that are all zero are a mistake:
    /// use INIT). BRIMFUL_UNLIMITED: the pool's own limit, if it has one.
    pub limit: u64,
    /// BRIMFUL_END_LENGTH or BRIMFUL_END_EOF. Of no matter where the length is not known.
    pub end: u32,
    /// BRIMFUL_TRUNCATE, BRIMFUL_SCRUB, both (|) or 0.
    pub flags: u32,
    /// BRIMFUL_PREFER_POOLED or BRIMFUL_PREFER_EXACT.
    pub prefer: u32,
    /// So many zero bytes are readable behind an exact result, and behind what brimful_buffer_data and
    /// brimful_buffer_to_exact give; no length counts them. At most 65536. 1 makes a C string of a text, 64 lets a parser
    /// read beyond the end by whole vectors. They are not behind segments, slices and a target of the caller's own.
    pub padding: u32,
    /// The most memory that a mere announcement, by `length` or `size_hint`, can cause to be taken. 0 is the default:
    /// 16 MiB. What is above it is taken as bytes arrive.
    pub max_prealloc: u64,
    /// The first block of a body of unknown length: 4 KiB to 1 GiB. 0 is the default: 16 KiB.
    pub first_block: u64,
    /// The most bytes asked of the source at once: 4 KiB to 1 GiB. 0 is the default: 1 MiB.
    pub max_window: u64,
    /// The most bytes that one call of brimful_collector_read, _read_fd or a one-shot function takes before it answers
    /// BRIMFUL_MORE, so that one fast source cannot hold an event loop. 0 is the default: none.
    pub max_step: u64,
    /// Where exact results come from. NULL: malloc, realloc and free.
    pub allocator: *const brimful_allocator,
    /// What stops this body from outside, or NULL. The collector takes a hold of its own.
    pub cancel: *mut brimful_cancel,
    /// Filled by the one-shot calls on every outcome, BRIMFUL_ERR_INVALID included, or NULL. Its struct_size must be
    /// set. Other calls do not look at it: see brimful_collector_info.
    pub info: *mut brimful_info,
}
versioned!(brimful_options {
    length,
    size_hint,
    limit,
    end,
    flags,
    prefer,
    padding,
    max_prealloc,
    first_block,
    max_window,
    max_step,
    allocator,
    cancel,
    info,
});

/// What BRIMFUL_OPTIONS_INIT says.
const DEFAULTS: brimful_options = brimful_options {
    struct_size: size_of::<brimful_options>(),
    length: BRIMFUL_UNKNOWN,
    size_hint: BRIMFUL_UNKNOWN,
    limit: BRIMFUL_UNLIMITED,
    end: BRIMFUL_END_LENGTH,
    flags: 0,
    prefer: BRIMFUL_PREFER_POOLED,
    padding: 0,
    max_prealloc: 0,
    first_block: 0,
    max_window: 0,
    max_step: 0,
    allocator: ptr::null(),
    cancel: ptr::null_mut(),
    info: ptr::null_mut(),
};

/// Does what BRIMFUL_OPTIONS_INIT does, for languages without macros: puts the defaults into the first `size` bytes of
/// *options, its struct_size included. `size` is what your own description of the struct has; what it has beyond this
/// release becomes 0. NULL, or a size below that of struct_size itself, does nothing.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn brimful_options_init(options: *mut brimful_options, size: usize) {
    // SAFETY: the conventions: the caller gives `size` writable bytes or NULL.
    guard::catch((), || unsafe { guard::init(options, size, &DEFAULTS) });
}

/// The caller's options as they stand, with NULL as the defaults.
///
/// # Safety
/// `options` is NULL or readable over the size that it says it has.
pub(crate) unsafe fn read(options: *const brimful_options) -> Result<brimful_options, Error> {
    if options.is_null() {
        return Ok(DEFAULTS);
    }
    // SAFETY: passed on from the caller.
    unsafe { guard::read(options, DEFAULTS) }
}

/// A number that says "there is none" by being the largest.
pub(crate) fn optional(value: u64) -> Option<u64> {
    (value != u64::MAX).then_some(value)
}

/// A size whose 0 means the default.
fn or_default(value: u64, default: u64) -> u64 {
    if value == 0 { default } else { value }
}

impl brimful_options {
    /// The same for the engine, which checks the ranges itself when a collector is made.
    ///
    /// # Safety
    /// `allocator` and `cancel` are NULL or what the header says they are.
    #[inline(always)]
    pub(crate) unsafe fn for_engine(&self) -> Result<Options, Error> {
        let unknown_flags = self.flags & !(BRIMFUL_TRUNCATE | BRIMFUL_SCRUB);
        if unknown_flags != 0 {
            return Err(Error::Invalid);
        }
        Ok(Options {
            length: optional(self.length),
            size_hint: optional(self.size_hint),
            limit: optional(self.limit),
            end: match self.end {
                BRIMFUL_END_LENGTH => End::Length,
                BRIMFUL_END_EOF => End::Eof,
                _ => return Err(Error::Invalid),
            },
            truncate: self.flags & BRIMFUL_TRUNCATE != 0,
            scrub: self.flags & BRIMFUL_SCRUB != 0,
            prefer: match self.prefer {
                BRIMFUL_PREFER_POOLED => Prefer::Pooled,
                BRIMFUL_PREFER_EXACT => Prefer::Exact,
                _ => return Err(Error::Invalid),
            },
            max_prealloc: or_default(self.max_prealloc, Options::MAX_PREALLOC),
            first_block: or_default(self.first_block, Options::FIRST_BLOCK),
            max_window: or_default(self.max_window, Options::MAX_WINDOW),
            max_step: (self.max_step != 0).then_some(self.max_step),
            padding: self.padding,
            // SAFETY: passed on from the caller.
            exact_memory: unsafe { memory::from_allocator(self.allocator) }?,
            // SAFETY: as above; a cancel handle is one that is held.
            cancel: NonNull::new(self.cancel).map(|handle| Cancel::clone(&*unsafe { cancel::borrow(handle) })),
        })
    }
}
