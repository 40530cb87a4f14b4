//! Bytes to text, straight from the blocks (E41): which encoding applies (E42), what is no text in it (E43), and the
//! text in pieces, measured, or in memory of its own. Nothing here makes one piece of the bytes first, and no outcome
//! depends on where they are cut.
//!
//! ```
//! use brimful::{Encoding, Faults, Text};
//!
//! let bytes: [&[u8]; 3] = [b"\xEF\xBB", b"\xBFh\xC3", b"\xA9"]; // a byte order mark, "h", "é", cut anywhere
//! let text = Text::new(&bytes[..], None);
//! assert_eq!(text.encoding(), Encoding::UTF_8);
//! let mut whole = String::new();
//! text.pieces(Faults::Strict, |piece| Ok::<(), brimful::Fault>(whole.push_str(piece)))?;
//! assert_eq!(whole, "hé");
//! # Ok::<(), brimful::Fault>(())
//! ```

mod charset;
mod decoder;
mod encoding;
mod fetch;
#[cfg(feature = "legacy-encodings")]
mod legacy;
mod length;
mod measure;
mod units;
mod utf16;
mod utf32;
mod utf8;
mod writer;

pub use charset::Charset;
pub use encoding::Encoding;
pub use measure::{Measure, Widest};
pub use units::Unit;

use crate::buffer::{Buffer, Exact};
use crate::error::Error;
use crate::memory::MemoryRef;
use core::fmt;
use core::mem::MaybeUninit;
use decoder::Decoder;
use units::{Ended, Filling};
use writer::Writer;

/// After so many bytes it is known again how much text bytes make, in case that more memory is needed.
const DECODED_AT_ONCE: usize = 64 << 10;

/// A text that is not ASCII, or not Latin-1, mostly shows that in so many bytes.
const GLANCED_AT: usize = 4 << 10;

/// What is done about bytes that are no text in the encoding (E43).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faults {
    /// They are an error that says where they begin.
    Strict,
    /// Each becomes U+FFFD, as many as the Encoding Standard says.
    Replace,
}

/// The first bytes that are no text in the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Where they begin: bytes from the start of the body, a byte order mark counted. For a character that is cut off
    /// by the end this is its first byte.
    pub offset: usize,
    /// What they were read as.
    pub encoding: Encoding,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offset, name) = (self.offset, self.encoding.name());
        write!(formatter, "the bytes from offset {offset} on are no text in {name}")
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for Error {
    fn from(_: Fault) -> Error {
        Error::Encoding
    }
}

/// Why there is no text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecoded {
    /// [`Error::Encoding`]: with [`Faults::Strict`] only.
    Fault(Fault),
    /// [`Error::NoMemory`]; nothing changed.
    NoMemory,
}

impl From<Fault> for Undecoded {
    fn from(fault: Fault) -> Undecoded {
        Undecoded::Fault(fault)
    }
}

impl From<Undecoded> for Error {
    fn from(undecoded: Undecoded) -> Error {
        match undecoded {
            Undecoded::Fault(_) => Error::Encoding,
            Undecoded::NoMemory => Error::NoMemory,
        }
    }
}

impl fmt::Display for Undecoded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undecoded::Fault(fault) => fault.fmt(formatter),
            Undecoded::NoMemory => Error::NoMemory.fmt(formatter),
        }
    }
}

impl std::error::Error for Undecoded {}

/// What of a text is in a host's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filled {
    /// So many units from the start are written.
    pub units: usize,
    /// Whether that is all of the text.
    pub whole: bool,
}

/// Bytes that lie in pieces, in order.
pub trait Segments {
    /// The pieces; each call gives the same ones. They may be empty.
    fn segments(&self) -> impl Iterator<Item = &[u8]>;
}

impl Segments for Buffer {
    fn segments(&self) -> impl Iterator<Item = &[u8]> {
        Buffer::segments(self)
    }
}

impl Segments for [u8] {
    fn segments(&self) -> impl Iterator<Item = &[u8]> {
        core::iter::once(self)
    }
}

impl Segments for [&[u8]] {
    fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.iter().copied()
    }
}

impl Buffer {
    /// The body as text; `None`: no encoding was given (E42).
    #[must_use]
    pub fn text(&self, encoding: Option<Encoding>) -> Text<'_, Buffer> {
        Text::new(self, encoding)
    }
}

/// Bytes seen as text in an encoding. Nothing is decoded before one of its functions asks for it.
#[derive(Debug)]
pub struct Text<'a, S: Segments + ?Sized> {
    bytes: &'a S,
    encoding: Encoding,
    /// Bytes of the byte order mark, which are no text.
    mark: usize,
    /// Bytes of all segments.
    length: usize,
}

impl<'a, S: Segments + ?Sized> Text<'a, S> {
    /// Decides which encoding applies: the one given, else that of the byte order mark, else UTF-8 (E42).
    #[must_use]
    pub fn new(bytes: &'a S, given: Option<Encoding>) -> Text<'a, S> {
        let (mut head, mut filled, mut length) = ([0; encoding::LONGEST_MARK], 0, 0);
        for segment in bytes.segments() {
            let count = segment.len().min(head.len() - filled);
            head[filled..filled + count].copy_from_slice(&segment[..count]);
            filled += count;
            length += segment.len();
        }
        let (encoding, mark) = Encoding::applying(given, &head[..filled]);
        Text {
            bytes,
            encoding,
            mark,
            length,
        }
    }

    /// The encoding that applies.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Bytes of the byte order mark at the start, which is dropped; 0 where there is none that matches.
    #[must_use]
    pub fn mark_length(&self) -> usize {
        self.mark
    }

    /// The bytes behind the mark, as they lie.
    pub fn segments(&self) -> impl Iterator<Item = &'a [u8]> + use<'a, S> {
        let mut skip = self.mark;
        self.bytes.segments().map(move |segment| {
            let skipped = skip.min(segment.len());
            skip -= skipped;
            &segment[skipped..]
        })
    }

    /// Shows the text in pieces, in order, each of them whole characters and none of them empty. Well-formed UTF-8 is
    /// shown where it lies.
    ///
    /// # Errors
    /// Those of `visit`, which end it; a [`Fault`] where [`Faults::Strict`] finds one, after the pieces before it have
    /// been shown.
    pub fn pieces<E: From<Fault>>(
        &self,
        faults: Faults,
        mut visit: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut decoder = Decoder::new(self.encoding, faults, self.mark);
        for segment in self.segments() {
            decoder.push(segment, &mut visit)?;
        }
        decoder.finish(&mut visit)
    }

    /// How many bytes lie behind the mark.
    #[must_use]
    pub fn byte_length(&self) -> usize {
        self.length - self.mark
    }

    /// What the widest character among the first ones needs, and so the text at least, without looking at all of it.
    #[must_use]
    pub fn glance(&self) -> Widest {
        let (mut measure, mut left) = (Measure::default(), GLANCED_AT);
        let mut decoder = Decoder::new(self.encoding, Faults::Replace, self.mark);
        for segment in self.segments() {
            let part = &segment[..segment.len().min(left)];
            let _: Result<(), Fault> = decoder.push(part, &mut |piece: &str| {
                measure.add(piece);
                Ok(())
            });
            left -= part.len();
            if left == 0 {
                break;
            }
        }
        measure.widest
    }

    /// How long the text is in each host's units, and what the widest character needs.
    ///
    /// # Errors
    /// A [`Fault`] where [`Faults::Strict`] finds one.
    pub fn measure(&self, faults: Faults) -> Result<Measure, Fault> {
        let mut measure = Measure::default();
        self.pieces(faults, |piece| {
            measure.add(piece);
            Ok::<(), Fault>(())
        })?;
        Ok(measure)
    }

    /// Writes the text to the front of `target` in units of a host's strings: Latin-1, UTF-16 or UTF-32, as far as there is
    /// room for whole characters, and up to one that has no place in the unit (above U+00FF in Latin-1). The units that it
    /// says are initialised; of those behind them nothing is known.
    ///
    /// A text that [`Text::measure`] has measured with the same `faults` has exactly so many units as that said. One in
    /// UTF-8 never has more than bytes.
    ///
    /// # Errors
    /// A [`Fault`] where [`Faults::Strict`] finds one.
    pub fn fill<U: Unit>(&self, faults: Faults, target: &mut [MaybeUninit<U>]) -> Result<Filled, Fault> {
        let mut filling = Filling { target, units: 0 };
        let mut decoder = Decoder::new(self.encoding, faults, self.mark);
        let pushed = self
            .segments()
            .try_for_each(|segment| decoder.push(segment, &mut filling));
        let ended = pushed.and_then(|()| decoder.finish(&mut filling));
        let units = filling.units;
        match ended {
            Err(Ended::Fault(fault)) => Err(fault),
            Ok(()) => Ok(Filled { units, whole: true }),
            Err(Ended::Early) => Ok(Filled { units, whole: false }),
        }
    }

    /// The text as UTF-8 in this memory, of exactly its length, with `padding` zero bytes behind it that are not
    /// counted (1 for C). One allocation where the length is that of the bytes or follows from them (UTF-8, UTF-16 and
    /// UTF-32 without faults, ASCII in every encoding); else the memory is grown as the text turns out longer, and cut
    /// to the text in the end.
    ///
    /// # Errors
    /// [`Undecoded`]; nothing is left of the memory then.
    pub fn to_exact(&self, faults: Faults, memory: &MemoryRef, padding: usize) -> Result<Exact, Undecoded> {
        let length = self.byte_length();
        let room = length::utf8_length(self.encoding, self.segments()).unwrap_or(length);
        let mut writer = Writer::new(memory, room, padding, length)?;
        let mut decoder = Decoder::new(self.encoding, faults, self.mark);
        for chunk in self.segments().flat_map(|segment| segment.chunks(DECODED_AT_ONCE)) {
            decoder.push(chunk, &mut |piece: &str| writer.push(piece))?;
            writer.consumed(chunk.len());
        }
        decoder.finish(&mut |piece: &str| writer.push(piece))?;
        writer.finish()
    }
}
