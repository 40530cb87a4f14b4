//! Text in memory of its own, of exactly its length in the end.

use super::Undecoded;
use crate::buffer::Exact;
use crate::memory::{EXACT_ALIGN, MemoryRef, Raw};
use crate::stats::{Info, State};

/// No encoding makes more bytes of text of a byte: U+FFFD has three, and so have the widest characters of one byte.
const MOST_PER_BYTE: usize = 3;
/// What a character that was cut through may add to that.
const BEGUN: usize = 16;
/// Text that turns out longer gets at least a fourth more, so that a text is moved a few times at most: from 1 to 3
/// times the bytes in five steps.
const LEAST_GROWTH: usize = 4;
/// A sixteenth more than what text like the text so far would take, since it never is quite alike.
const MARGIN: usize = 16;

pub(super) struct Writer<'a> {
    memory: &'a MemoryRef,
    raw: Option<Raw>,
    used: usize,
    /// Bytes that may be used: what there is but for the padding.
    room: usize,
    padding: usize,
    /// Bytes of the source that are decoded, and all of them.
    consumed: usize,
    source: usize,
    /// Bytes of text that were moved when the memory was made larger or smaller.
    copied: u64,
    allocations: u64,
    allocated_bytes: u64,
    /// The most bytes held at once.
    most: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        memory: &'a MemoryRef,
        room: usize,
        padding: usize,
        source: usize,
    ) -> Result<Writer<'a>, Undecoded> {
        let size = room.checked_add(padding).ok_or(Undecoded::NoMemory)?;
        let raw = memory.allocate(size, EXACT_ALIGN).ok_or(Undecoded::NoMemory)?;
        Ok(Writer {
            memory,
            raw: Some(raw),
            used: 0,
            room,
            padding,
            consumed: 0,
            source,
            copied: 0,
            allocations: 1,
            allocated_bytes: size as u64,
            most: size,
        })
    }

    /// So many more bytes of the source have been decoded.
    pub(super) fn consumed(&mut self, bytes: usize) {
        self.consumed += bytes;
    }

    pub(super) fn push(&mut self, piece: &str) -> Result<(), Undecoded> {
        if piece.len() > self.room - self.used {
            self.grow(piece.len())?;
        }
        let raw = self.raw.as_mut().ok_or(Undecoded::NoMemory)?;
        // SAFETY: `used + piece.len() <= room`, which is at most the piece of memory's capacity, and the piece is ours
        // alone, so the text does not lie in it.
        unsafe {
            raw.pointer
                .add(self.used)
                .copy_from_nonoverlapping(core::ptr::NonNull::from(piece.as_bytes()).cast(), piece.len());
        }
        self.used += piece.len();
        Ok(())
    }

    /// Makes room for a piece, and for the text to come if it goes on like the text so far.
    fn grow(&mut self, piece: usize) -> Result<(), Undecoded> {
        let needed = self.used.checked_add(piece).ok_or(Undecoded::NoMemory)?;
        let left = self.source - self.consumed;
        let alike = (needed as u128) * (left as u128) / (self.consumed.max(1) as u128);
        let alike = usize::try_from(alike).unwrap_or(usize::MAX);
        let usual = alike.saturating_add(alike / MARGIN).max(needed / LEAST_GROWTH);
        let most = left.saturating_mul(MOST_PER_BYTE).saturating_add(BEGUN);
        let room = needed.checked_add(usual.min(most)).ok_or(Undecoded::NoMemory)?;
        self.resize(room)?;
        self.room = room;
        Ok(())
    }

    /// Memory of room for so much text, what there is kept; in place or moved by the memory itself where it can.
    fn resize(&mut self, room: usize) -> Result<(), Undecoded> {
        let size = room.checked_add(self.padding).ok_or(Undecoded::NoMemory)?;
        let raw = self.raw.as_mut().ok_or(Undecoded::NoMemory)?;
        self.most = self.most.max(size);
        // SAFETY: the piece is this memory's, as it gave it, and ours alone.
        if let Some(cost) = unsafe { self.memory.reallocate(raw, size) } {
            self.copied += cost.copied;
            self.allocations += cost.requests;
        } else {
            self.most = self.most.max(size.saturating_add(raw.capacity));
            let fresh = self.memory.allocate(size, EXACT_ALIGN).ok_or(Undecoded::NoMemory)?;
            // SAFETY: both hold at least `used` bytes (the new one by `used <= room`), and are two pieces.
            unsafe { fresh.pointer.copy_from_nonoverlapping(raw.pointer, self.used) };
            // SAFETY: the piece is this memory's, and the new one takes its place.
            unsafe { self.memory.deallocate(core::mem::replace(raw, fresh)) };
            self.copied += self.used as u64;
            self.allocations += 1;
        }
        self.allocated_bytes += size as u64;
        Ok(())
    }

    /// The text, cut to its length, its padding cleared.
    pub(super) fn finish(mut self) -> Result<Exact, Undecoded> {
        if self.used < self.room {
            self.resize(self.used)?;
        }
        let raw = self.raw.take().ok_or(Undecoded::NoMemory)?;
        // SAFETY: the piece has room for the text and the padding behind it, and is ours alone.
        unsafe { raw.pointer.add(self.used).write_bytes(0, self.padding) };
        let info = Info {
            error: None,
            source_error: 0,
            truncated: false,
            state: State::Taken,
            received: self.source as u64,
            expected: None,
            limit: None,
            length: self.used as u64,
            source_calls: 0,
            pendings: 0,
            copied: self.copied + self.used as u64,
            rents: 0,
            allocations: self.allocations,
            allocated_bytes: self.allocated_bytes,
            peak_held: self.most as u64,
            waste: 0,
        };
        Ok(Exact::new(raw, self.used, info, self.memory))
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if let Some(raw) = self.raw.take() {
            // SAFETY: the piece is this memory's, and nobody else has it.
            unsafe { self.memory.deallocate(raw) };
        }
    }
}
