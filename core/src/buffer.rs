//! The results: the pooled buffer (the blocks themselves) and the exact one (memory of exactly its length).

use crate::body::{Block, Body, Kept};
use crate::error::Error;
use crate::memory::{self, MemoryRef};
use crate::pool::Pool;
use crate::shared::Shared;
use crate::stats::Info;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use smallvec::SmallVec;

/// The pooled buffer: the blocks that the body arrived in, without a copy (E33).
///
/// Immutable. Cloning counts (retain); when the last holder drops it, the blocks go back to the pool (E37). Any number
/// of threads may read it, and any may drop it.
#[derive(Clone, Debug)]
pub struct Buffer(Shared<Inner>);

#[derive(Debug)]
struct Inner {
    blocks: SmallVec<[Block; 1]>,
    side: Option<Block>,
    length: usize,
    info: Info,
    /// Made by the first call of `contiguous` where the body lies in several pieces.
    joined: AtomicPtr<Block>,
    copied: AtomicU64,
    /// Bytes of fresh memory that the join took; 0 where it was recycled.
    fresh: AtomicU64,
    pool: Pool,
    exact: MemoryRef,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for block in self.blocks.drain(..).chain(self.side.take()) {
            block.release(&self.pool, &self.exact);
        }
        let joined = *self.joined.get_mut();
        if !joined.is_null() {
            // SAFETY: a joined block comes from `memory::place` in `contiguous` and is owned by this buffer alone.
            unsafe { Box::from_raw(joined) }.release(&self.pool, &self.exact);
        }
    }
}

impl Buffer {
    /// Takes the body's blocks. When no memory can be had for the handle, the body keeps them.
    pub(crate) fn new(body: &mut Body, info: Info, pool: &Pool, exact: &MemoryRef) -> Result<Buffer, Error> {
        let mut inner = Shared::new(Inner {
            blocks: SmallVec::new_const(),
            side: None,
            length: body.length,
            info,
            joined: AtomicPtr::new(ptr::null_mut()),
            copied: AtomicU64::new(0),
            fresh: AtomicU64::new(0),
            pool: pool.clone(),
            exact: exact.clone(),
        })
        .ok_or(Error::NoMemory)?;
        if let Some(inner) = inner.get_mut() {
            inner.blocks = core::mem::take(&mut body.blocks);
            match body.side.take() {
                Some(side) if side.used == 0 => side.release(pool, exact),
                side => inner.side = side,
            }
        }
        Ok(Buffer(inner))
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
        let side = self.0.side.iter().map(Block::bytes);
        self.0
            .blocks
            .iter()
            .map(Block::bytes)
            .chain(side)
            .filter(|bytes| !bytes.is_empty())
    }

    /// How many pieces the body lies in.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.segments().count()
    }

    /// For hosts whose own objects hold the bytes: each piece's token, its length, and whether it is a piece of the
    /// exact result's memory. The side window has token 0.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        let side = self.0.side.iter().map(|side| (0, side.used, false));
        let blocks = self
            .0
            .blocks
            .iter()
            .map(|block| (block.raw.token, block.used, !block.pooled));
        blocks.chain(side).filter(|piece| piece.1 > 0)
    }

    /// All bytes in one range: the body's own where it lies in one block, else joined once, which counts as copied
    /// and leaves the segments as they are (E33).
    ///
    /// # Errors
    /// [`Error::NoMemory`] or [`Error::Budget`] when the join finds no memory; nothing changed.
    pub fn contiguous(&self) -> Result<&[u8], Error> {
        let mut segments = self.segments();
        let first = segments.next().unwrap_or_default();
        if segments.next().is_none() {
            return Ok(first);
        }
        let joined = self.0.joined.load(Ordering::Acquire);
        if joined.is_null() {
            return self.join();
        }
        // SAFETY: published below; lives as long as this buffer.
        Ok(unsafe { &*joined }.bytes())
    }

    fn join(&self) -> Result<&[u8], Error> {
        let inner = &*self.0;
        let rented = inner.pool.rent(inner.length)?;
        let mut block = rented.block;
        let fresh = if rented.fresh {
            block.touched.max(inner.length)
        } else {
            0
        };
        let from = self.segments();
        // SAFETY: the block was rented for `length` bytes, and nobody else has it.
        let target = unsafe { core::slice::from_raw_parts_mut(block.raw.pointer.as_ptr().cast(), inner.length) };
        copy_segments(from, 0, target);
        block.use_all(inner.length);
        let block = match memory::try_place(block) {
            Ok(block) => Box::into_raw(block),
            Err(block) => {
                inner.pool.release(block);
                return Err(Error::NoMemory);
            }
        };
        match inner
            .joined
            .compare_exchange(ptr::null_mut(), block, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                inner.copied.fetch_add(inner.length as u64, Ordering::Relaxed);
                inner.fresh.fetch_add(fresh as u64, Ordering::Relaxed);
                // SAFETY: just published; lives as long as this buffer.
                Ok(unsafe { &*block }.bytes())
            }
            Err(other) => {
                // SAFETY: this one was not published, so it is still ours alone.
                unsafe { Box::from_raw(block) }.release(&inner.pool, &inner.exact);
                // SAFETY: the other thread published it; lives as long as this buffer.
                Ok(unsafe { &*other }.bytes())
            }
        }
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
        let length = self.len();
        let raw = memory.allocate(length, 16).ok_or(Error::NoMemory)?;
        // SAFETY: the piece is ours and at least `length` long.
        let target = unsafe { core::slice::from_raw_parts_mut(raw.pointer.as_ptr().cast(), length) };
        copy_segments(self.segments(), 0, target);
        let mut info = self.info();
        info.copied += length as u64;
        info.allocations += 1;
        info.allocated_bytes += length as u64;
        Ok(Exact {
            block: Some(Block::new(raw, false)),
            length,
            info,
            memory: memory.clone(),
        })
    }

    /// Gives the count up as a pointer, for the C interface; undone by [`Buffer::from_raw`].
    #[must_use]
    pub fn into_raw(self) -> NonNull<()> {
        self.0.into_raw().cast()
    }

    /// Takes back what [`Buffer::into_raw`] gave up.
    ///
    /// # Safety
    /// `raw` comes from `into_raw`, and each is taken back at most once.
    #[must_use]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Buffer {
        // SAFETY: the caller hands over a count that into_raw gave up; the cast restores the pointer's type.
        Buffer(unsafe { Shared::from_raw(raw.cast()) })
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
    block: Option<Block>,
    length: usize,
    info: Info,
    memory: MemoryRef,
}

impl Exact {
    pub(crate) fn new(block: Block, length: usize, info: Info, memory: &MemoryRef) -> Exact {
        Exact {
            block: Some(block),
            length,
            info,
            memory: memory.clone(),
        }
    }

    /// The body.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        match &self.block {
            // SAFETY: the piece holds `length` initialised bytes.
            Some(block) => unsafe { core::slice::from_raw_parts(block.raw.pointer.as_ptr(), self.length) },
            None => &[],
        }
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
    pub fn into_raw_parts(mut self) -> (NonNull<u8>, usize, usize) {
        match self.block.take() {
            Some(block) => (block.raw.pointer, self.length, block.raw.token),
            None => (NonNull::dangling(), 0, 0),
        }
    }
}

impl Drop for Exact {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.memory.deallocate(block.raw);
        }
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
