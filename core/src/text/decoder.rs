//! Decodes bytes that come in pieces, cut anywhere; the state of what is cut through is kept between them.

use super::encoding::Kind;
#[cfg(feature = "legacy-encodings")]
use super::legacy::Legacy;
use super::utf8::Utf8;
use super::utf16::Utf16;
use super::utf32::Utf32;
use super::{Encoding, Fault, Faults};

/// What becomes of a fault: where it is, and the character in its place.
pub(super) const REPLACEMENT: &str = "\u{FFFD}";

/// Whoever is shown the text.
pub(super) trait Visit<E> {
    /// One more piece.
    fn text(&mut self, piece: &str) -> Result<(), E>;

    /// Takes bytes of whole characters as the next piece where it finds out by itself whether they are UTF-8; `false`: it
    /// does not, or they are not, and nothing was taken.
    fn unchecked(&mut self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }
}

impl<E, F: FnMut(&str) -> Result<(), E>> Visit<E> for F {
    fn text(&mut self, piece: &str) -> Result<(), E> {
        self(piece)
    }
}

/// The visitor, for encodings whose text is made before it can be shown.
fn shown<E>(visitor: &mut impl Visit<E>) -> impl FnMut(&str) -> Result<(), E> {
    |piece| visitor.text(piece)
}

/// Where in the body a decoder is, and what it does about faults.
#[derive(Debug)]
pub(super) struct Place {
    encoding: Encoding,
    faults: Faults,
    /// Bytes before those of the current call.
    pub(super) at: usize,
}

impl Place {
    /// A fault that begins at this offset: an error, or nothing, and then U+FFFD stands for it.
    pub(super) fn fault(&self, offset: usize) -> Result<(), Fault> {
        match self.faults {
            Faults::Replace => Ok(()),
            Faults::Strict => Err(Fault {
                offset,
                encoding: self.encoding,
            }),
        }
    }
}

/// Decodes one body. After an error it is of no use any more.
pub(super) struct Decoder {
    place: Place,
    state: State,
}

enum State {
    Utf8(Utf8),
    Utf16Le(Utf16<false>),
    Utf16Be(Utf16<true>),
    Utf32Le(Utf32<false>),
    Utf32Be(Utf32<true>),
    #[cfg(feature = "legacy-encodings")]
    Legacy(Legacy),
}

impl Decoder {
    /// Its first byte is that at `at` of the body, behind the byte order mark.
    pub(super) fn new(encoding: Encoding, faults: Faults, at: usize) -> Decoder {
        let state = match encoding.0 {
            Kind::Utf8 => State::Utf8(Utf8::default()),
            Kind::Utf16Le => State::Utf16Le(Utf16::default()),
            Kind::Utf16Be => State::Utf16Be(Utf16::default()),
            Kind::Utf32Le => State::Utf32Le(Utf32::default()),
            Kind::Utf32Be => State::Utf32Be(Utf32::default()),
            #[cfg(feature = "legacy-encodings")]
            Kind::Legacy(legacy) => State::Legacy(Legacy::new(legacy)),
        };
        let place = Place { encoding, faults, at };
        Decoder { place, state }
    }

    /// Decodes the next bytes and shows what has become text.
    pub(super) fn push<E: From<Fault>>(&mut self, bytes: &[u8], visitor: &mut impl Visit<E>) -> Result<(), E> {
        let place = &self.place;
        match &mut self.state {
            State::Utf8(state) => state.push(place, bytes, visitor),
            State::Utf16Le(state) => state.push(place, bytes, &mut shown(visitor)),
            State::Utf16Be(state) => state.push(place, bytes, &mut shown(visitor)),
            State::Utf32Le(state) => state.push(place, bytes, &mut shown(visitor)),
            State::Utf32Be(state) => state.push(place, bytes, &mut shown(visitor)),
            #[cfg(feature = "legacy-encodings")]
            State::Legacy(state) => state.push(place, bytes, &mut shown(visitor)),
        }?;
        self.place.at += bytes.len();
        Ok(())
    }

    /// The bytes have ended: shows what that makes of the rest.
    pub(super) fn finish<E: From<Fault>>(self, visitor: &mut impl Visit<E>) -> Result<(), E> {
        let visit = &mut shown(visitor);
        let place = self.place;
        let cut = match self.state {
            State::Utf8(state) => state.pending(),
            State::Utf16Le(state) => state.pending(),
            State::Utf16Be(state) => state.pending(),
            State::Utf32Le(state) => state.pending(),
            State::Utf32Be(state) => state.pending(),
            #[cfg(feature = "legacy-encodings")]
            State::Legacy(state) => return state.finish(&place, visit),
        };
        if cut > 0 {
            place.fault(place.at - cut)?;
            visit(REPLACEMENT)?;
        }
        Ok(())
    }
}
