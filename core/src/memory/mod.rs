//! Where blocks come from. One trait, several memories: a range of address space that is committed as data arrives
//! ([`system`]), plain heap blocks ([`heap`]), and the host's own (Node's ArrayBuffers, a C program's allocator).
//!
//! All memory of the engine is obtained through [`Memory::allocate`] of one of these, or through [`try_place`] and
//! [`push`] for its own bookkeeping. All of them can say no, and nothing here aborts (E31).

mod heap;
mod huge;
mod malloc;
mod poison;
#[cfg(target_os = "linux")]
mod system;

use heap::HEAP;
pub(crate) use huge::{HUGE_FROM, HUGE_PAGE};
pub use malloc::{Calls, prefer_huge_pages};
pub(crate) use poison::show_only;

use crate::shared::Shared;
use core::alloc::Layout;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;

/// The unit in which touched memory is counted: the page of every platform this is built for. Where pages are larger
/// the counts are low, never wrong about what may be read.
pub(crate) const PAGE: usize = 4096;

/// What exact results are aligned to: malloc's alignment (E4).
pub(crate) const EXACT_ALIGN: usize = 16;

/// A piece of memory as a memory knows it.
#[derive(Debug)]
pub struct Raw {
    /// Its first byte; stays the same while the piece is out, but for [`Memory::reallocate`].
    pub pointer: NonNull<u8>,
    /// Bytes that may be written now.
    pub capacity: usize,
    /// Bytes up to which [`Memory::grow`] may extend it in place; equal to `capacity` where it cannot.
    pub reserve: usize,
    /// Whatever the memory wants to know it by.
    pub token: usize,
    /// Whether pages are only taken when touched (true), or the whole piece counts at once (false) (E51).
    pub lazy: bool,
    /// Whether huge pages were asked for beyond the first 4 MiB, so that touched memory counts in 2 MiB there (E51).
    pub huge: bool,
    /// Up to here bytes may be other than zero, so that a cleared window has to clear them (E49).
    pub dirty: usize,
}

// SAFETY: a piece is plain memory that belongs to whoever holds it, and its memory is Send and Sync.
unsafe impl Send for Raw {}
// SAFETY: a shared piece is only looked at.
unsafe impl Sync for Raw {}

/// What a memory can do; asked for once, when a pool is made.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Whether pieces above [`Profile::fixed_up_to`] grow in place. Then a body that outgrows its small first block
    /// moves into one of them; else it goes on in a list of ever-larger blocks.
    pub grows: bool,
    /// The largest piece that is not made to grow.
    pub fixed_up_to: usize,
    /// Whether objects of the host hold the pieces (ArrayBuffers), so that a viewer of a part reaches the whole piece
    /// and may take it away behind the engine's back. Asks for [`Memory::is_attached`] before each use; and where a
    /// cleared window is shown, all of the piece behind the body is cleared (E49).
    pub detachable: bool,
    /// Whether [`Memory::reallocate`] may work. Then an exact result of unknown length grows by it instead of being
    /// copied at the end (E34).
    pub reallocates: bool,
}

/// What [`Memory::reallocate`] has cost (E51).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Requests to the allocator.
    pub requests: u64,
    /// Bytes that were copied by us; what the allocator itself moves is not seen.
    pub copied: u64,
}

/// Where blocks and exact results come from.
///
/// # Safety
/// A piece that was allocated stays readable and writable over its capacity, at the same address, and belongs to
/// nobody else, until it is given to `deallocate` (or, where the profile says `detachable`, until `is_attached` says
/// no). It is aligned to the `align` asked for.
pub unsafe trait Memory: Send + Sync {
    /// What this memory can do.
    fn profile(&self) -> Profile;

    /// A piece of at least `size` bytes, or `None`. `size` may be 0. `align` is 16 or 64. Where `size` is above
    /// `profile().fixed_up_to` and the memory grows, the piece should grow in place, but need not.
    fn allocate(&self, size: usize, align: usize) -> Option<Raw>;

    /// Makes `capacity` bytes writable without moving the piece; false, with nothing changed, when it cannot.
    ///
    /// # Safety
    /// The piece came from this memory as it is and is still out; `capacity` is above `raw.capacity` and at most
    /// `raw.reserve`.
    unsafe fn grow(&self, raw: &mut Raw, capacity: usize) -> bool {
        let _ = (raw, capacity);
        false
    }

    /// Changes the piece to exactly `size` bytes, moving it if need be, its first bytes kept; `None`, with nothing
    /// changed, when it cannot.
    ///
    /// # Safety
    /// The piece came from this memory as it is and is still out, and nobody else looks at it.
    unsafe fn reallocate(&self, raw: &mut Raw, size: usize) -> Option<Cost> {
        let _ = (raw, size);
        None
    }

    /// Gives the pages behind the first `keep` bytes back without giving the piece back; false when it cannot.
    /// Afterwards those bytes are zero.
    ///
    /// # Safety
    /// The piece came from this memory as it is and is still out, and nobody looks at the bytes behind `keep`.
    unsafe fn cut(&self, raw: &mut Raw, keep: usize) -> bool {
        let _ = (raw, keep);
        false
    }

    /// Whether the piece is still there; see [`Profile::detachable`].
    fn is_attached(&self, raw: &Raw) -> bool {
        let _ = raw;
        true
    }

    /// Called when a body lets a piece of its pool go, before anybody else may have it: the host revokes the views that
    /// it gave of it. False: it cannot, and the piece is given back instead of recycled. It may lower `raw.dirty` where
    /// it has cleared bytes itself.
    fn recycle(&self, raw: &mut Raw) -> bool {
        let _ = raw;
        true
    }

    /// Takes the piece back.
    ///
    /// # Safety
    /// The piece came from this memory as it is, nobody looks at it any more, and it is not given back again.
    unsafe fn deallocate(&self, raw: Raw);
}

/// A memory that lives in a static, or one that is counted and goes with its last block.
#[derive(Clone)]
pub struct MemoryRef(Kind);

#[derive(Clone)]
enum Kind {
    /// The engine's own, whose answers to what every small body asks are seen through by the compiler.
    #[cfg(target_os = "linux")]
    System,
    Heap,
    Malloc,
    Fixed(&'static dyn Memory),
    Counted(Shared<Box<dyn Memory>>),
}

impl MemoryRef {
    /// A memory that is always there.
    #[must_use]
    pub const fn fixed(memory: &'static dyn Memory) -> MemoryRef {
        MemoryRef(Kind::Fixed(memory))
    }

    /// A memory that goes when its last block has gone; `None` when no memory can be had for its count.
    #[must_use]
    pub fn counted<M: Memory + 'static>(memory: M) -> Option<MemoryRef> {
        let boxed: Box<dyn Memory> = place(memory)?;
        Some(MemoryRef(Kind::Counted(Shared::new(boxed)?)))
    }

    /// The default memory of pools: growing ranges where the system has them, heap blocks where it has not.
    #[must_use]
    pub const fn system() -> MemoryRef {
        #[cfg(target_os = "linux")]
        return MemoryRef(Kind::System);
        #[cfg(not(target_os = "linux"))]
        return MemoryRef::heap();
    }

    /// Heap blocks only: a body lies in a list of doubling blocks, and no address space is reserved.
    #[must_use]
    pub const fn heap() -> MemoryRef {
        MemoryRef(Kind::Heap)
    }

    /// The default memory of exact results: malloc, realloc and free, so that C's `free` frees them.
    #[must_use]
    pub const fn malloc() -> MemoryRef {
        MemoryRef(Kind::Malloc)
    }

    /// As [`Memory::profile`].
    #[inline]
    #[must_use]
    pub fn profile(&self) -> Profile {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Kind::System => system::PROFILE,
            Kind::Heap => heap::PROFILE,
            Kind::Malloc => malloc::PROFILE,
            Kind::Fixed(_) | Kind::Counted(_) => (**self).profile(),
        }
    }

    /// As [`Memory::recycle`].
    #[inline]
    pub(crate) fn recycle(&self, raw: &mut Raw) -> bool {
        match &self.0 {
            Kind::Fixed(_) | Kind::Counted(_) => (**self).recycle(raw),
            _ => true, // nobody has views of the engine's own
        }
    }
}

impl Deref for MemoryRef {
    type Target = dyn Memory;

    fn deref(&self) -> &(dyn Memory + 'static) {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Kind::System => &system::SYSTEM,
            Kind::Heap => &HEAP,
            Kind::Malloc => &malloc::MALLOC,
            Kind::Fixed(memory) => *memory,
            Kind::Counted(memory) => &***memory,
        }
    }
}

impl fmt::Debug for MemoryRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.profile().fmt(formatter)
    }
}

/// A place on the heap for a value of the engine's own; `None` when no memory can be had.
pub(crate) fn place_uninit<T>() -> Option<Box<MaybeUninit<T>>> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Some(Box::new(MaybeUninit::uninit())); // takes no memory
    }
    // SAFETY: the layout's size is not 0.
    let pointer = NonNull::new(unsafe { std::alloc::alloc(layout) })?.cast::<MaybeUninit<T>>();
    // SAFETY: the pointer is fresh and has T's layout, which is what Box frees it with.
    Some(unsafe { Box::from_raw(pointer.as_ptr()) })
}

/// Puts a value of the engine's own on the heap.
///
/// # Errors
/// The value itself when no memory can be had.
pub fn try_place<T>(value: T) -> Result<Box<T>, T> {
    match place_uninit() {
        Some(place) => Ok(Box::write(place, value)),
        None => Err(value),
    }
}

/// Puts a value of the engine's own on the heap; `None`, the value dropped, when no memory can be had.
#[must_use]
pub fn place<T>(value: T) -> Option<Box<T>> {
    try_place(value).ok()
}

/// Pushes onto a list of the engine's own; gives the value back when no memory can be had.
pub(crate) fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), T> {
    if list.len() == list.capacity() && list.try_reserve(1).is_err() {
        return Err(value);
    }
    list.push(value);
    Ok(())
}
