//! Encodings by their labels, and byte order marks (E42).

use core::fmt;

/// The bytes of the longest byte order mark.
pub(super) const LONGEST_MARK: usize = 4;

/// An encoding that text can be decoded from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Encoding(pub(super) Kind);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Utf8,
    Utf16Le,
    Utf16Be,
    Utf32Le,
    Utf32Be,
    #[cfg(feature = "legacy-encodings")]
    Legacy(&'static encoding_rs::Encoding),
}

/// The labels that the Encoding Standard has for the encodings that are always there, and UTF-32's, which it lacks.
/// Without a byte order in the name it is little endian, as the standard has it for UTF-16.
const LABELS: [(&str, Kind); 18] = [
    ("utf-8", Kind::Utf8),
    ("utf8", Kind::Utf8),
    ("unicode-1-1-utf-8", Kind::Utf8),
    ("unicode11utf8", Kind::Utf8),
    ("unicode20utf8", Kind::Utf8),
    ("x-unicode20utf8", Kind::Utf8),
    ("utf-16", Kind::Utf16Le),
    ("utf-16le", Kind::Utf16Le),
    ("csunicode", Kind::Utf16Le),
    ("iso-10646-ucs-2", Kind::Utf16Le),
    ("ucs-2", Kind::Utf16Le),
    ("unicode", Kind::Utf16Le),
    ("unicodefeff", Kind::Utf16Le),
    ("utf-16be", Kind::Utf16Be),
    ("unicodefffe", Kind::Utf16Be),
    ("utf-32", Kind::Utf32Le),
    ("utf-32le", Kind::Utf32Le),
    ("utf-32be", Kind::Utf32Be),
];

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Encoding = Encoding(Kind::Utf8);
    /// UTF-16, little endian.
    pub const UTF_16LE: Encoding = Encoding(Kind::Utf16Le);
    /// UTF-16, big endian.
    pub const UTF_16BE: Encoding = Encoding(Kind::Utf16Be);
    /// UTF-32, little endian.
    pub const UTF_32LE: Encoding = Encoding(Kind::Utf32Le);
    /// UTF-32, big endian.
    pub const UTF_32BE: Encoding = Encoding(Kind::Utf32Be);

    /// The encoding that a label names: any of the Encoding Standard's, and `utf-32`, `utf-32le`, `utf-32be`; in any
    /// case, with white space around it, and with one pair of quotes, double or single. `None`: it names none (E42).
    /// Without the feature `legacy-encodings` only UTF-8, UTF-16 and UTF-32 are there.
    #[must_use]
    pub fn for_label(label: impl AsRef<[u8]>) -> Option<Encoding> {
        let label = unquoted(label.as_ref());
        let own = LABELS
            .iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(label));
        if let Some((_, kind)) = own {
            return Some(Encoding(*kind));
        }
        #[cfg(feature = "legacy-encodings")]
        return encoding_rs::Encoding::for_label(label).map(|legacy| Encoding(Kind::Legacy(legacy)));
        #[cfg(not(feature = "legacy-encodings"))]
        None
    }

    /// A label without the white space and the pair of quotes that [`Encoding::for_label`] looks past, for hosts that
    /// have encodings of their own.
    #[must_use]
    pub fn bare_label(label: &str) -> &str {
        core::str::from_utf8(unquoted(label.as_bytes())).unwrap_or_default() // only ASCII was cut off
    }

    /// Its name as the Encoding Standard writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Utf8 => "UTF-8",
            Kind::Utf16Le => "UTF-16LE",
            Kind::Utf16Be => "UTF-16BE",
            Kind::Utf32Le => "UTF-32LE",
            Kind::Utf32Be => "UTF-32BE",
            #[cfg(feature = "legacy-encodings")]
            Kind::Legacy(legacy) => legacy.name(),
        }
    }

    /// Its byte order mark; empty where it has none.
    fn mark(self) -> &'static [u8] {
        match self.0 {
            Kind::Utf8 => b"\xEF\xBB\xBF",
            Kind::Utf16Le => b"\xFF\xFE",
            Kind::Utf16Be => b"\xFE\xFF",
            Kind::Utf32Le => b"\xFF\xFE\0\0",
            Kind::Utf32Be => b"\0\0\xFE\xFF",
            #[cfg(feature = "legacy-encodings")]
            Kind::Legacy(_) => b"",
        }
    }

    /// The encoding that applies to a body with this head, and how many bytes of the head are its byte order mark.
    pub(super) fn applying(given: Option<Encoding>, head: &[u8]) -> (Encoding, usize) {
        // UTF-32LE before UTF-16LE, whose mark its own begins with.
        let looked_for = [Self::UTF_8, Self::UTF_32LE, Self::UTF_16LE, Self::UTF_16BE];
        let marked = |encoding: &Encoding| head.starts_with(encoding.mark());
        let encoding = given
            .or_else(|| looked_for.into_iter().find(marked))
            .unwrap_or(Self::UTF_8);
        let mark = if marked(&encoding) { encoding.mark().len() } else { 0 };
        (encoding, mark)
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Without white space around it, and without a pair of quotes around what is left.
fn unquoted(label: &[u8]) -> &[u8] {
    match label.trim_ascii() {
        [b'"', inside @ .., b'"'] | [b'\'', inside @ .., b'\''] => inside.trim_ascii(),
        plain => plain,
    }
}
