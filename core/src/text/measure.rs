//! How long a text is in the units of each host.

use super::units::sealed::Sealed;

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

/// Fewer bytes, between faults, are counted sooner one by one.
const FEW: usize = 16;

impl Widest {
    fn of(character: char) -> Widest {
        match character {
            ..'\u{80}' => Widest::Ascii,
            ..'\u{100}' => Widest::Latin1,
            ..'\u{10000}' => Widest::Bmp,
            _ => Widest::Astral,
        }
    }
}

impl Measure {
    /// Counts one more piece.
    pub(super) fn add(&mut self, piece: &str) {
        self.utf8 += piece.len();
        if piece.is_ascii() {
            self.utf16 += piece.len();
            self.chars += piece.len();
            return;
        }
        if piece.len() < FEW {
            for character in piece.chars() {
                self.chars += 1;
                self.utf16 += character.len_utf16();
                self.widest = self.widest.max(Widest::of(character));
            }
            return;
        }
        self.utf16 += u16::count(piece);
        self.chars += u32::count(piece);
        let highest = piece.bytes().fold(0, u8::max);
        self.widest = self.widest.max(match highest {
            0xF0.. => Widest::Astral,
            0xC4..0xF0 => Widest::Bmp, // the first bytes of U+0100 and above
            0x80..0xC4 => Widest::Latin1,
            ..0x80 => Widest::Ascii,
        });
    }
}
