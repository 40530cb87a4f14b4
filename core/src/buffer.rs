//! The results: the pooled buffer (the blocks themselves) and the exact one (memory of exactly its length).

use crate::block::{Block, Blocks, Home};
use crate::body::{Body, Kept};
use crate::error::Error;
use crate::memory::{self, EXACT_ALIGN, MemoryRef, Raw};
use crate::pool::Pool;
use crate::shared::{Place, Shared};
use crate::stats::Info;
use core::cell::UnsafeCell;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The pooled buffer: the blocks that the body arrived in, without a copy (E33).
///
/// Immutable. Cloning counts (retain); when the last holder drops it, the blocks go back to the pool (E37). Any number
/// of threads may read it, and any may drop it.
#[derive(Clone, Debug)]
pub struct Buffer(ManuallyDrop<Shared<Inner>>);

#[derive(Debug)]
pub(crate) struct Inner {
    blocks: Blocks,
    side: Option<Block>,
    /// The buffer that a slice shares the memory of, itself never a slice, and where the slice begins in it (E39).
    whole: UnsafeCell<Option<(Buffer, usize)>>,
    length: usize,
    /// Zero bytes that are to be readable behind the contiguous result, and whether they are already (E4).
    padding: usize,
    padded: bool,
    info: Info,
    /// Made by the first call of `contiguous` where the body lies in several pieces.
    joined: AtomicPtr<Block>,
    copied: AtomicU64,
    /// Bytes of fresh memory that the join took; 0 where it was recycled.
    fresh: AtomicU64,
    pool: Pool,
    exact: MemoryRef,
}

// SAFETY: all of it is read only once the buffer is made, but for `joined` and `copied`, which are atomic, and `whole`,
// which only `detach_in_place` writes, whose caller makes sure that nobody else is there.
unsafe impl Sync for Inner {}
// SAFETY: blocks may be released on any thread.
unsafe impl Send for Inner {}

impl Drop for Buffer {
    /// The last one gives the blocks back, and the handle's place with them: where a block is warm, so is that.
    fn drop(&mut self) {
        // SAFETY: this is the end of the buffer, so nobody uses what was taken out.
        let shared = unsafe { ManuallyDrop::take(&mut self.0) };
        let Some(mut last) = shared.let_go() else { return };
        let inner = last.value();
        if inner.blocks.len() != 1 {
            return; // the value goes with its place
        }
        let Some(mut block) = inner.blocks.pop() else { return };
        inner.give_back();
        let pool = core::mem::replace(&mut inner.pool, Pool::process_default());
        if block.home != Home::Pool || block.leaked {
            return block.release(&pool, &inner.exact);
        }
        block.spare = Some(last.into_place());
        block.release_to(&pool);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Inner {
    fn give_back(&mut self) {
        while let Some(block) = self.blocks.pop() {
            block.release(&self.pool, &self.exact);
        }
        if let Some(side) = self.side.take() {
            side.release(&self.pool, &self.exact);
        }
        let joined = *self.joined.get_mut();
        if !joined.is_null() {
            // SAFETY: a joined block comes from `memory::place` in `contiguous` and is owned by this buffer alone.
            unsafe { Box::from_raw(joined) }.release(&self.pool, &self.exact);
            *self.joined.get_mut() = ptr::null_mut();
        }
    }

    fn new(info: Info, pool: &Pool, exact: &MemoryRef) -> Inner {
        Inner {
            blocks: Blocks::new_const(),
            side: None,
            whole: UnsafeCell::new(None),
            length: 0,
            padding: 0,
            padded: false,
            info,
            joined: AtomicPtr::new(ptr::null_mut()),
            copied: AtomicU64::new(0),
            fresh: AtomicU64::new(0),
            pool: pool.clone(),
            exact: exact.clone(),
        }
    }
}

impl Buffer {
    /// A place for the handle of a buffer over this body: the one that came with its block, where one did.
    pub(crate) fn place(body: &mut Body) -> Result<Place<Inner>, Error> {
        let spare = body.blocks.first_mut().and_then(|block| block.spare.take());
        spare.or_else(memory::place_uninit).ok_or(Error::NoMemory)
    }

    /// Takes the body's blocks. `padding` that is not `padded` yet comes with a join.
    #[inline]
    pub(crate) fn at(
        place: Place<Inner>,
        body: &mut Body,
        info: Info,
        (pool, exact): (Pool, &MemoryRef),
        (padding, padded): (usize, bool),
    ) -> Buffer {
        Buffer(ManuallyDrop::new(Shared::at(place, || Inner {
            blocks: core::mem::take(&mut body.blocks),
            side: match body.side.take() {
                Some(side) if side.used == 0 => {
                    side.release(&pool, exact);
                    None
                }
                side => side,
            },
            whole: UnsafeCell::new(None),
            length: body.length,
            padding,
            padded,
            info,
            joined: AtomicPtr::new(ptr::null_mut()),
            copied: AtomicU64::new(0),
            fresh: AtomicU64::new(0),
            exact: exact.clone(),
            pool,
        })))
    }

    /// A buffer over what this says.
    fn over(inner: Inner) -> Result<Buffer, Error> {
        let shared = Shared::new(inner).ok_or(Error::NoMemory)?;
        Ok(Buffer(ManuallyDrop::new(shared)))
    }

    /// Bytes of the body. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.length
    }

    /// Whether the body has no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it was cut at the limit (E17).
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.0.info.truncated
    }

    /// Statistics of the body, with what a join has copied and taken (E33, E51).
    #[must_use]
    pub fn info(&self) -> Info {
        let mut info = self.0.info;
        info.copied += self.0.copied.load(Ordering::Relaxed);
        info.rents += u64::from(!self.0.joined.load(Ordering::Relaxed).is_null());
        let fresh = self.0.fresh.load(Ordering::Relaxed);
        info.allocations += u64::from(fresh > 0);
        info.allocated_bytes += fresh;
        info
    }

    /// The body's pieces in order; none is empty, and an empty body has none.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        let (whole, mut skip) = self.whole();
        let mut left = self.0.length;
        let side = whole.0.side.iter().map(Block::bytes);
        whole
            .0
            .blocks
            .iter()
            .map(Block::bytes)
            .chain(side)
            .filter_map(move |bytes| {
                let skipped = skip.min(bytes.len());
                skip -= skipped;
                let bytes = &bytes[skipped..];
                let bytes = &bytes[..bytes.len().min(left)];
                left -= bytes.len();
                (!bytes.is_empty()).then_some(bytes)
            })
    }

    /// What the bytes lie in and where they begin there: this buffer itself, or the one that it is a slice of.
    fn whole(&self) -> (&Buffer, usize) {
        // SAFETY: `whole` is only written by `detach_in_place`, whose caller makes sure that nobody else is there.
        match unsafe { &*self.0.whole.get() } {
            Some((whole, offset)) => (whole, *offset),
            None => (self, 0),
        }
    }

    /// `length` bytes from `offset` on as a buffer of their own that shares the memory: no byte is copied, and the
    /// slice counts as a holder of all of it (E39). Padding is not behind slices.
    ///
    /// # Errors
    /// [`Error::Invalid`] when that is not within the buffer; [`Error::NoMemory`] when there is none for the handle.
    pub fn slice(&self, offset: usize, length: usize) -> Result<Buffer, Error> {
        if offset.checked_add(length).is_none_or(|end| end > self.len()) {
            return Err(Error::Invalid);
        }
        let (whole, begin) = self.whole();
        let mut inner = Inner::new(self.0.info, &whole.0.pool, &whole.0.exact);
        inner.whole = UnsafeCell::new(Some((whole.clone(), begin + offset)));
        inner.length = length;
        inner.info.length = length as u64;
        Buffer::over(inner)
    }

    /// A copy in memory of its own, for a slice that pins far more than it shows (E39).
    ///
    /// # Errors
    /// [`Error::NoMemory`] or [`Error::Budget`]; nothing changed.
    pub fn detach(&self) -> Result<Buffer, Error> {
        let mut inner = Inner::new(self.0.info, &self.0.pool, &self.0.exact);
        inner.length = self.len();
        inner.info.copied += self.len() as u64;
        if !self.is_empty() {
            let (block, fresh) = self.copied_block(0)?;
            inner.info.rents += 1;
            inner.info.allocations += u64::from(fresh.is_some());
            inner.info.allocated_bytes += fresh.unwrap_or(0) as u64;
            inner.blocks.push(block); // in place: the list has room for one
        }
        Buffer::over(inner)
    }

    /// Makes a slice show a copy of its own instead of a part of what it was cut from, which is let go. Nothing happens
    /// to a buffer that pins no more than it shows.
    ///
    /// # Errors
    /// As [`Buffer::detach`].
    ///
    /// # Safety
    /// No other thread uses the buffer during the call, and nobody uses a reference to its bytes from before it.
    pub unsafe fn detach_in_place(&self) -> Result<(), Error> {
        if self.whole().0.len() == self.len() {
            return Ok(());
        }
        let copy = self.detach()?;
        // SAFETY: the caller makes sure that nobody else is there.
        unsafe { *self.0.whole.get() = Some((copy, 0)) };
        Ok(())
    }

    /// How many pieces the body lies in.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.segments().count()
    }

    /// For hosts whose own objects hold the bytes: each piece's token, its length, and whether it is a piece of the
    /// exact result's memory, of all that a slice pins. The side window has token 0.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        let (whole, _) = self.whole();
        let side = whole.0.side.iter().map(|side| (0, side.used, false));
        let piece = |block: &Block| (block.raw.token, block.used, block.home == Home::Exact);
        whole.0.blocks.iter().map(piece).chain(side).filter(|piece| piece.1 > 0)
    }

    /// All bytes in one range: the body's own where it lies in one block, else joined once, which counts as copied
    /// and leaves the segments as they are (E33).
    ///
    /// # Errors
    /// [`Error::NoMemory`] or [`Error::Budget`] when the join finds no memory; nothing changed.
    pub fn contiguous(&self) -> Result<&[u8], Error> {
        let mut segments = self.segments();
        let first = segments.next().unwrap_or_default();
        if segments.next().is_none() && (self.0.padded || self.0.padding == 0) {
            return Ok(first);
        }
        let joined = self.0.joined.load(Ordering::Acquire);
        if joined.is_null() {
            return self.join();
        }
        // SAFETY: published below; lives as long as this buffer.
        Ok(unsafe { &*joined }.bytes())
    }

    /// A block of the pool with a copy of the bytes and so many zeros behind them, and how many of its bytes are fresh
    /// (`None`: the block itself is not).
    fn copied_block(&self, padding: usize) -> Result<(Block, Option<usize>), Error> {
        let pool = &self.0.pool;
        let size = self.len().checked_add(padding).ok_or(Error::NoMemory)?;
        let mut list = Blocks::new_const();
        let fresh = pool.rent(size, &mut list)?;
        let mut block = list.pop().ok_or(Error::NoMemory)?; // the pool has just put it there
        // SAFETY: the block was rented for more than `length` bytes, and nobody else has it.
        let target = unsafe { core::slice::from_raw_parts_mut(block.raw.pointer.as_ptr().cast(), self.len()) };
        copy_segments(self.segments(), 0, target);
        block.use_all(self.len(), pool);
        block.pad(padding);
        let fresh = fresh.then_some(block.touched);
        Ok((block, fresh))
    }

    fn join(&self) -> Result<&[u8], Error> {
        let inner = &*self.0;
        let (block, fresh) = self.copied_block(inner.padding)?;
        let block = match memory::try_place(block) {
            Ok(block) => Box::into_raw(block),
            Err(block) => {
                block.release(&inner.pool, &inner.exact);
                return Err(Error::NoMemory);
            }
        };
        let published = inner
            .joined
            .compare_exchange(ptr::null_mut(), block, Ordering::AcqRel, Ordering::Acquire);
        if let Err(other) = published {
            // SAFETY: this one was not published, so it is still ours alone.
            unsafe { Box::from_raw(block) }.release(&inner.pool, &inner.exact);
            // SAFETY: the other thread published it; lives as long as this buffer.
            return Ok(unsafe { &*other }.bytes());
        }
        inner.copied.fetch_add(inner.length as u64, Ordering::Relaxed);
        inner.fresh.fetch_add(fresh.unwrap_or(0) as u64, Ordering::Relaxed);
        // SAFETY: just published; lives as long as this buffer.
        Ok(unsafe { &*block }.bytes())
    }

    /// Copies from `offset` into `target`, as much as there is and fits; says how many bytes.
    pub fn copy(&self, offset: usize, target: &mut [u8]) -> usize {
        // SAFETY: initialised bytes may be written as possibly uninitialised ones.
        let target = unsafe { &mut *(ptr::from_mut(target) as *mut [core::mem::MaybeUninit<u8>]) };
        copy_segments(self.segments(), offset, target)
    }

    /// A copy of exactly the body's length in this memory (E34).
    ///
    /// # Errors
    /// [`Error::NoMemory`]; nothing changed.
    pub fn to_exact(&self, memory: &MemoryRef) -> Result<Exact, Error> {
        let (length, padding) = (self.len(), self.0.padding);
        let size = length.checked_add(padding).ok_or(Error::NoMemory)?;
        let mut block = Block::new(memory.allocate(size, EXACT_ALIGN).ok_or(Error::NoMemory)?, Home::Exact);
        // SAFETY: the piece is ours and at least `length` long.
        let target = unsafe { core::slice::from_raw_parts_mut(block.raw.pointer.as_ptr().cast(), length) };
        block.used = copy_segments(self.segments(), 0, target);
        block.pad(padding);
        let mut info = self.info();
        info.copied += length as u64;
        info.allocations += 1;
        info.allocated_bytes += size as u64;
        Ok(Exact::new(block.raw, length, info, memory))
    }

    /// Gives the count up as a pointer, for the C interface; undone by [`Buffer::from_raw`].
    #[must_use]
    pub fn into_raw(self) -> NonNull<()> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the buffer is not dropped, so what is taken out here is the one holder.
        unsafe { ManuallyDrop::take(&mut this.0) }.into_raw().cast()
    }

    /// Takes back what [`Buffer::into_raw`] gave up.
    ///
    /// # Safety
    /// `raw` comes from `into_raw`, and each is taken back at most once.
    #[must_use]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Buffer {
        // SAFETY: the caller hands over a count that into_raw gave up; the cast restores the pointer's type.
        Buffer(ManuallyDrop::new(unsafe { Shared::from_raw(raw.cast()) }))
    }
}

/// Copies what lies from `offset` on into `target`; every byte up to the answer is initialised then.
pub(crate) fn copy_segments<'a>(
    segments: impl Iterator<Item = &'a [u8]>,
    offset: usize,
    target: &mut [core::mem::MaybeUninit<u8>],
) -> usize {
    let (mut skip, mut done) = (offset, 0);
    for segment in segments {
        if skip >= segment.len() {
            skip -= segment.len();
            continue;
        }
        let from = &segment[skip..];
        let count = from.len().min(target.len() - done);
        // SAFETY: both ranges are `count` long by the line above, and a target is not part of a body.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), target.as_mut_ptr().add(done).cast(), count) };
        (skip, done) = (0, done + count);
        if done == target.len() {
            break;
        }
    }
    done
}

/// The exact result: memory of exactly the body's length, owned by whoever holds it (E34). Dropping it frees it.
#[derive(Debug)]
pub struct Exact {
    raw: Raw,
    length: usize,
    info: Info,
    memory: MemoryRef,
}

impl Exact {
    pub(crate) fn new(raw: Raw, length: usize, info: Info, memory: &MemoryRef) -> Exact {
        Exact {
            raw,
            length,
            info,
            memory: memory.clone(),
        }
    }

    /// The body.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the piece holds `length` initialised bytes.
        unsafe { core::slice::from_raw_parts(self.raw.pointer.as_ptr(), self.length) }
    }

    /// Bytes of the body.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the body has no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Statistics of the body (E51).
    #[must_use]
    pub fn info(&self) -> Info {
        self.info
    }

    /// Gives the memory up: its first byte, the body's length, the memory's token. It is then freed by whatever frees
    /// the memory it came from; for the default that is C's `free`.
    #[must_use]
    pub fn into_raw_parts(self) -> (NonNull<u8>, usize, usize) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the memory's count is let go of here and nowhere else.
        unsafe { ptr::drop_in_place(&raw mut this.memory) };
        (this.raw.pointer, this.length, this.raw.token)
    }
}

impl Drop for Exact {
    fn drop(&mut self) {
        // SAFETY: the piece is one of this memory's, given up here for good and not looked at again.
        unsafe { self.memory.deallocate(ptr::read(&raw const self.raw)) };
    }
}

/// Memory that a viewer kept hold of and that therefore never goes to another body. Dropping it frees it, so its
/// holder drops it when the last view has gone.
#[derive(Debug)]
pub struct Quarantined {
    kept: Option<Kept>,
    pool: Pool,
    exact: MemoryRef,
}

impl Quarantined {
    pub(crate) fn new(kept: Kept, pool: &Pool, exact: &MemoryRef) -> Quarantined {
        Quarantined {
            kept: Some(kept),
            pool: pool.clone(),
            exact: exact.clone(),
        }
    }
}

impl Drop for Quarantined {
    fn drop(&mut self) {
        if let Some(Kept::Block(block)) = self.kept.take() {
            block.release(&self.pool, &self.exact);
        }
    }
}
