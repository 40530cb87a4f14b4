//! How long a text is in the units of each host.

/// What the widest character of a text needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Widest {
    /// All are below U+0080.
    #[default]
    Ascii,
    /// All are below U+0100.
    Latin1,
    /// All are below U+10000.
    Bmp,
    /// Some are above.
    Astral,
}

/// How long a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measure {
    /// Bytes as UTF-8.
    pub utf8: usize,
    /// Units of two bytes as UTF-16.
    pub utf16: usize,
    /// Characters (code points).
    pub chars: usize,
    /// What the widest of them needs.
    pub widest: Widest,
}

/// As many bytes as a counter of one byte can count.
const COUNTED_AT_ONCE: usize = 255;

impl Measure {
    /// Counts one more piece.
    pub(super) fn add(&mut self, piece: &str) {
        if piece.is_ascii() {
            self.utf8 += piece.len();
            self.utf16 += piece.len();
            self.chars += piece.len();
            return;
        }
        let (mut inner, mut astral, mut highest) = (0, 0, 0);
        for chunk in piece.as_bytes().chunks(COUNTED_AT_ONCE) {
            let (mut inner_here, mut astral_here) = (0_u8, 0_u8);
            for &byte in chunk {
                // At most 255 times; a check for overflow would keep the loop from being made one of vectors.
                inner_here = inner_here.wrapping_add(u8::from(byte & 0xC0 == 0x80));
                astral_here = astral_here.wrapping_add(u8::from(byte >= 0xF0));
                highest = byte.max(highest);
            }
            inner += usize::from(inner_here);
            astral += usize::from(astral_here);
        }
        let chars = piece.len() - inner;
        self.utf8 += piece.len();
        self.chars += chars;
        self.utf16 += chars + astral;
        self.widest = self.widest.max(match highest {
            0xF0.. => Widest::Astral,
            0xC4..0xF0 => Widest::Bmp, // the first bytes of U+0100 and above
            0x80..0xC4 => Widest::Latin1,
            ..0x80 => Widest::Ascii,
        });
    }
}
