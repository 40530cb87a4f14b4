//! The charset that a Content-Type header names.

use super::Encoding;
use core::fmt;
use core::ops::Deref;

/// Longer names are names of nothing: the longest label of the Encoding Standard has 19 bytes.
const LONGEST: usize = 64;

/// The charset of a Content-Type header as it was written there, without quotes. See [`Charset::encoding`] for what it
/// names.
#[derive(Clone, Copy)]
pub struct Charset {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Charset {
    /// Reads it out of a header's value, by the rules of the MIME Sniffing Standard: names in any case, quoted values
    /// with their escapes, the first of several. `None`: the header has none, or none that can be a name (empty, more
    /// than 64 bytes, other than ASCII), or cannot be parsed.
    #[must_use]
    pub fn of_content_type(header: impl AsRef<[u8]>) -> Option<Charset> {
        let header = header.as_ref().trim_ascii();
        let (essence, mut rest) = split(header, |byte| byte == b';');
        let slash = essence.iter().position(|&byte| byte == b'/')?;
        if !is_token(&essence[..slash]) || !is_token(essence[slash + 1..].trim_ascii_end()) {
            return None;
        }
        while let [_semicolon, parameter @ ..] = rest {
            let (name, value) = split(parameter.trim_ascii_start(), |byte| matches!(byte, b';' | b'='));
            let [b'=', value @ ..] = value else {
                rest = value;
                continue;
            };
            let mut charset = Charset {
                bytes: [0; LONGEST],
                length: 0,
            };
            let fits;
            (fits, rest) = match value {
                [b'"', quoted @ ..] => {
                    let (fits, behind) = charset.take_quoted(quoted);
                    (fits, split(behind, |byte| byte == b';').1)
                }
                _ => {
                    let (plain, behind) = split(value, |byte| byte == b';');
                    (plain.trim_ascii_end().iter().all(|&byte| charset.take(byte)), behind)
                }
            };
            if name.eq_ignore_ascii_case(b"charset") && charset.length > 0 {
                return fits.then_some(charset);
            }
        }
        None
    }

    /// The encoding that it names; `None` where it names none, and then the body is decoded as if no charset had been
    /// there. A name that was given by the caller itself is an error instead (E42).
    #[must_use]
    pub fn encoding(&self) -> Option<Encoding> {
        Encoding::for_label(&**self)
    }

    /// Takes one more byte; false where it cannot be of a name.
    fn take(&mut self, byte: u8) -> bool {
        let fits = byte.is_ascii() && (!byte.is_ascii_control() || byte == b'\t') && self.length < LONGEST;
        if fits {
            self.bytes[self.length] = byte;
            self.length += 1;
        }
        fits
    }

    /// Takes all up to the closing quote, or the end, and says whether all of it fits, and what lies behind.
    fn take_quoted<'a>(&mut self, mut quoted: &'a [u8]) -> (bool, &'a [u8]) {
        let mut fits = true;
        loop {
            let byte;
            (byte, quoted) = match quoted {
                [] => return (fits, quoted),
                [b'"', behind @ ..] => return (fits, behind),
                [b'\\', byte, behind @ ..] => (*byte, behind),
                [byte, behind @ ..] => (*byte, behind),
            };
            fits &= self.take(byte);
        }
    }
}

impl Deref for Charset {
    type Target = str;

    fn deref(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default() // only ASCII was taken
    }
}

impl fmt::Debug for Charset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

/// What lies before the first such byte, and the rest, which begins with it.
fn split(bytes: &[u8], at: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().position(|&byte| at(byte)).unwrap_or(bytes.len()))
}

/// Whether it is what HTTP calls a token.
fn is_token(bytes: &[u8]) -> bool {
    let of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(of_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_of_a_content_type_is_found_in_quotes_in_any_case_and_behind_other_parameters() {
        for (header, charset) in [
            ("text/html; charset=utf-8", Some("utf-8")),
            ("text/html;CHARSET=UTF-8", Some("UTF-8")),
            ("  text/html ;  charset=utf-8  ", Some("utf-8")),
            ("text/html; charset=\"utf-8\"", Some("utf-8")),
            ("text/html; charset=\"utf\\-8\"; x=y", Some("utf-8")),
            ("text/html; charset=\"utf-8", Some("utf-8")),
            ("text/html; charset=\"utf-8\"junk; charset=koi8-r", Some("utf-8")),
            ("text/html; charset='utf-8'", Some("'utf-8'")),
            (
                "text/html; boundary=\";charset=koi8-r\"; charset=latin1",
                Some("latin1"),
            ),
            ("text/html; charset; charset=latin1", Some("latin1")),
            ("text/html; charset=; charset=latin1", Some("latin1")),
            ("text/html;;; charset=latin1", Some("latin1")),
            ("text/html; charset=no-such-thing", Some("no-such-thing")),
            ("text/html; xcharset=utf-8", None),
            ("text/html; charset = utf-8", None),
            ("text/html; charset=", None),
            ("text/html; charset=\"\"", None),
            ("text/html; charset=h\u{e9}", None),
            ("text/html", None),
            ("", None),
            ("charset=utf-8", None),
            ("; charset=utf-8", None),
            ("text/; charset=utf-8", None),
            ("/html; charset=utf-8", None),
            ("te xt/html; charset=utf-8", None),
            ("text/html charset=utf-8", None),
        ] {
            let found = Charset::of_content_type(header);
            assert_eq!(found.as_deref(), charset, "{header}");
        }
        let long = format!("text/plain; charset={}", "x".repeat(64));
        assert_eq!(Charset::of_content_type(&long).map(|found| found.len()), Some(64));
        assert!(Charset::of_content_type(long + "x").is_none());
    }

    #[test]
    fn a_charset_that_names_no_encoding_has_none() {
        let encoding = |header| Charset::of_content_type(header).and_then(|charset| charset.encoding());
        assert_eq!(encoding("text/plain; charset=\" Utf-16BE \""), Some(Encoding::UTF_16BE));
        assert_eq!(encoding("text/plain; charset='utf8'"), Some(Encoding::UTF_8));
        assert_eq!(encoding("text/plain; charset=none"), None);
    }
}
