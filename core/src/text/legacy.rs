//! The Encoding Standard's other encodings, by `encoding_rs`.

use super::Fault;
use super::decoder::{Place, REPLACEMENT};
use core::str;
use encoding_rs::DecoderResult;

/// Bytes of text that are decoded before they are shown: in the nearest cache when they are copied on.
const DECODED_AT_ONCE: usize = 4 << 10;
/// More than what can be left of a character when the bytes end.
const LEFT_AT_MOST: usize = 64;

pub(super) struct Legacy {
    decoder: encoding_rs::Decoder,
}

impl Legacy {
    pub(super) fn new(encoding: &'static encoding_rs::Encoding) -> Legacy {
        Legacy {
            decoder: encoding.new_decoder_without_bom_handling(),
        }
    }

    pub(super) fn push<E: From<Fault>>(
        &mut self,
        place: &Place,
        bytes: &[u8],
        visit: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.decode(place, bytes, false, &mut [0; DECODED_AT_ONCE], visit)
    }

    /// The end, which only what was left makes text of.
    pub(super) fn finish<E: From<Fault>>(
        mut self,
        place: &Place,
        visit: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.decode(place, &[], true, &mut [0; LEFT_AT_MOST], visit)
    }

    fn decode<E: From<Fault>>(
        &mut self,
        place: &Place,
        bytes: &[u8],
        last: bool,
        buffer: &mut [u8],
        visit: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let text = str::from_utf8_mut(buffer).unwrap_or_default(); // zeros are text
        let mut done = 0;
        loop {
            let (result, read, written) = self
                .decoder
                .decode_to_str_without_replacement(&bytes[done..], text, last);
            done += read;
            if written > 0 {
                visit(&text[..written])?;
            }
            match result {
                DecoderResult::InputEmpty => return Ok(()),
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(length, behind) => {
                    place.fault(place.at + done - usize::from(length) - usize::from(behind))?;
                    visit(REPLACEMENT)?;
                }
            }
        }
    }
}
