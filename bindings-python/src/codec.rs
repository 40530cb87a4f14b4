//! Which codec a name means (E42), and bytes decoded by it: the engine's decoders for UTF-8, UTF-16 and UTF-32 and for
//! labels of the Encoding Standard that Python has no codec for; for every other name, and for what only Python's error
//! handlers do, Python's own codecs.

use crate::buffer::PooledBuffer;
use crate::client;
use crate::source::Kind;
use crate::strings::{self, Unmade};
use brimful_core::{self as core, Charset, Encoding, Faults, Segments, Text};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyUnicodeDecodeError, PyUnicodeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PySlice, PyString, PyTuple};

/// Codecs of Python that are no charset of text on the wire, so that no header is to choose them: they are slow by
/// design, decode escapes, or are blocked by browsers for what they can smuggle.
const NOT_BY_HEADER: [&str; 8] = [
    "idna",
    "mbcs",
    "oem",
    "punycode",
    "raw-unicode-escape",
    "undefined",
    "unicode-escape",
    "utf-7",
];

/// Codecs whose incremental decoders give something else for pieces than for the whole: they take each piece for a whole
/// text, end an escape at a piece's end, or lose a mark that is not whole.
const NOT_IN_PIECES: [&str; 5] = ["idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-8-sig"];

/// Error handlers of Python's that do not look beyond the fault itself. Others are shown the whole body: `surrogateescape`
/// loses bytes of a character that a cut goes through in Python's decoders of many bytes, and one of the caller's own is
/// told offsets.
const IN_PIECES: [&str; 2] = ["ignore", "backslashreplace"];

/// How bytes are to become text.
pub(crate) struct Decoding {
    codec: Codec,
    errors: Errors,
}

enum Codec {
    /// The engine's; None where no encoding was given.
    Engine(Option<Encoding>),
    /// What Python calls utf-16 and utf-32: the byte order is the mark's, else little endian.
    ByMark {
        little: Encoding,
        big: Encoding,
    },
    Python(Foreign),
}

/// One of Python's codecs: its `CodecInfo`.
struct Foreign(Py<PyAny>);

enum Errors {
    /// Both the engine and Python know it.
    Known(Faults),
    /// The name of an error handler of Python's.
    Python(Py<PyString>),
}

/// Why bytes did not become text.
pub(crate) enum Undecoded {
    /// They are none in the encoding.
    Fault(Fault),
    Raised(PyErr),
}

/// The first bytes that are no text.
pub(crate) struct Fault {
    /// Where they begin; None where a codec does not tell.
    pub(crate) offset: Option<usize>,
    pub(crate) encoding: String,
    pub(crate) reason: String,
}

impl From<PyErr> for Undecoded {
    fn from(raised: PyErr) -> Undecoded {
        Undecoded::Raised(raised)
    }
}

/// The bytes of a whole body.
pub(crate) enum Whole<'a, 'py> {
    Buffer(&'a core::Buffer),
    /// Objects that are the body, one after the other.
    Objects(&'a [Bound<'py, PyBytes>]),
}

impl Decoding {
    /// By the arguments of a call. Nothing is left to be found wrong once the body has been read.
    ///
    /// Raises TypeError, ValueError, LookupError for an unknown error handler and UnknownEncodingError.
    pub(crate) fn asked(encoding: Option<&Bound<'_, PyAny>>, errors: Option<&Bound<'_, PyAny>>) -> PyResult<Decoding> {
        let errors = errors.map_or(Ok(Errors::Known(Faults::Strict)), Errors::named)?;
        let Some(encoding) = encoding.filter(|encoding| !encoding.is_none()) else {
            let codec = Codec::Engine(None);
            return Ok(Decoding { codec, errors });
        };
        let py = encoding.py();
        let name = encoding.cast::<PyString>().map_err(|_| {
            PyTypeError::new_err(format!("encoding must be a str or None, not {}", encoding.get_type()))
        })?;
        let unknown = |why: &str| {
            let name = name.repr().map(|name| name.to_string()).unwrap_or_default();
            let message = format!(
                "invalid: {name} {why}; give a label of the Encoding Standard or the name of a codec of Python's"
            );
            crate::errors::unknown_encoding(py, &message)
        };
        let codec = match Codec::named(py, name.to_str().unwrap_or_default())? {
            Named::Codec(codec) => codec,
            Named::Nothing => return Err(unknown("names no encoding")),
            Named::NoText => return Err(unknown("is a codec of Python's that makes no text")),
        };
        Decoding { codec, errors }.possible(py)
    }

    /// The same with what the Content-Type of an HTTP message says, where no encoding was given. A charset that names
    /// nothing is none.
    pub(crate) fn or_of(mut self, source: &Bound<'_, PyAny>, kind: Kind) -> PyResult<Decoding> {
        let py = source.py();
        if let Codec::Engine(None) = self.codec
            && let Some(header) = client::content_type(source, kind)
            && let Some(charset) = Charset::of_content_type(header)
            && let Some(codec) = Codec::of_charset(py, &charset)?
        {
            self.codec = codec;
            return self.possible(py);
        }
        Ok(self)
    }

    /// Whether a charset names an encoding of text.
    pub(crate) fn names_text(py: Python<'_>, charset: &str) -> PyResult<bool> {
        Codec::of_charset(py, charset).map(|codec| codec.is_some())
    }

    /// Raises ValueError where only Python has the error handler, and only the engine the encoding.
    fn possible(self, py: Python<'_>) -> PyResult<Decoding> {
        if let (Codec::Engine(Some(encoding)), Errors::Python(handler)) = (&self.codec, &self.errors)
            && !is_unicode(*encoding)
        {
            let handler = handler.bind(py);
            let message = format!(
                "errors must be 'strict' or 'replace' for {encoding}, which Python has no codec for, not '{handler}'"
            );
            return Err(PyValueError::new_err(message));
        }
        Ok(self)
    }

    /// The bytes as a `str`.
    pub(crate) fn decode<'py>(
        &self,
        py: Python<'py>,
        bytes: &Whole<'_, 'py>,
    ) -> Result<Bound<'py, PyString>, Undecoded> {
        match bytes {
            Whole::Buffer(buffer) => self.decode_segments(py, bytes, *buffer),
            Whole::Objects([object]) => self.decode_segments(py, bytes, object.as_bytes()),
            Whole::Objects(objects) => {
                let mut segments: Vec<&[u8]> = Vec::new();
                let room = segments.try_reserve_exact(objects.len());
                room.map_err(|_| PyMemoryError::new_err(()))?;
                segments.extend(objects.iter().map(|object| object.as_bytes()));
                self.decode_segments(py, bytes, &segments[..])
            }
        }
    }

    fn decode_segments<'py, S: Segments + Sync + ?Sized>(
        &self,
        py: Python<'py>,
        bytes: &Whole<'_, 'py>,
        segments: &S,
    ) -> Result<Bound<'py, PyString>, Undecoded> {
        let given = match &self.codec {
            Codec::Engine(given) => *given,
            Codec::ByMark { little, big } => {
                let has_mark = Text::new(segments, Some(*big)).mark_length() > 0;
                Some(if has_mark { *big } else { *little })
            }
            Codec::Python(foreign) => return foreign.decode(py, bytes, 0, &self.errors),
        };
        match &self.errors {
            Errors::Known(faults) => strings::decode(py, segments, given, *faults).map_err(|unmade| match unmade {
                Unmade::Raised(raised) => Undecoded::Raised(raised),
                Unmade::Fault(fault) => Undecoded::Fault(Fault {
                    offset: Some(fault.offset),
                    encoding: fault.encoding.name().into(),
                    reason: format!("no text in {}", fault.encoding),
                }),
            }),
            Errors::Python(_) => {
                let text = Text::new(segments, given);
                match Foreign::of(py, text.encoding())? {
                    Some(foreign) => foreign.decode(py, bytes, text.mark_length(), &self.errors),
                    None => Err(PyValueError::new_err("errors must be 'strict' or 'replace' here").into()),
                }
            }
        }
    }
}

/// What a name names.
enum Named {
    Codec(Codec),
    Nothing,
    /// A codec of Python's, but not one of text.
    NoText,
}

impl Codec {
    fn named(py: Python<'_>, name: &str) -> PyResult<Named> {
        let label = Encoding::bare_label(name);
        let standard = Encoding::for_label(label);
        if let Some(encoding) = standard.filter(|&encoding| is_unicode(encoding)) {
            let by_mark = label.eq_ignore_ascii_case("utf-16") || label.eq_ignore_ascii_case("utf-32");
            return Ok(Named::Codec(Codec::unicode(encoding, by_mark)));
        }
        match Foreign::named(py, label)? {
            Some(foreign) if !foreign.is_text(py)? => Ok(Named::NoText),
            Some(foreign) => {
                let own_name = foreign.name(py)?;
                let encoding = Encoding::for_label(&own_name).filter(|&encoding| is_unicode(encoding));
                Ok(Named::Codec(match (encoding, &*own_name) {
                    (Some(encoding), name) => Codec::unicode(encoding, name == "utf-16" || name == "utf-32"),
                    // Their names are no labels.
                    (None, "utf-16-le") => Codec::Engine(Some(Encoding::UTF_16LE)),
                    (None, "utf-16-be") => Codec::Engine(Some(Encoding::UTF_16BE)),
                    (None, "utf-32-le") => Codec::Engine(Some(Encoding::UTF_32LE)),
                    (None, "utf-32-be") => Codec::Engine(Some(Encoding::UTF_32BE)),
                    (None, _) => Codec::Python(foreign),
                }))
            }
            None => Ok(standard.map_or(Named::Nothing, |encoding| Named::Codec(Codec::Engine(Some(encoding))))),
        }
    }

    fn unicode(encoding: Encoding, by_mark: bool) -> Codec {
        match encoding {
            Encoding::UTF_16LE if by_mark => Codec::ByMark {
                little: encoding,
                big: Encoding::UTF_16BE,
            },
            Encoding::UTF_32LE if by_mark => Codec::ByMark {
                little: encoding,
                big: Encoding::UTF_32BE,
            },
            _ => Codec::Engine(Some(encoding)),
        }
    }

    /// The codec that a header's charset names, if it names one of text.
    ///
    /// Python keeps every name that it was ever asked for, so that a peer must not choose them: it is asked only for
    /// labels of the standard and for names that it has itself.
    fn of_charset(py: Python<'_>, charset: &str) -> PyResult<Option<Codec>> {
        if Encoding::for_label(charset).is_none() && !is_own_name(py, charset)? {
            return Ok(None);
        }
        let Named::Codec(codec) = Codec::named(py, charset)? else {
            return Ok(None);
        };
        let chosen = match &codec {
            Codec::Python(foreign) => !NOT_BY_HEADER.contains(&&*foreign.name(py)?),
            _ => true,
        };
        Ok(chosen.then_some(codec))
    }
}

/// Whether a name is one that Python has a codec of its own for.
fn is_own_name(py: Python<'_>, name: &str) -> PyResult<bool> {
    let encodings = py.import(intern!(py, "encodings"))?;
    let bare = Encoding::bare_label(name);
    let normal = encodings.call_method1(intern!(py, "normalize_encoding"), (bare.to_lowercase(),))?;
    let aliases = encodings
        .getattr(intern!(py, "aliases"))?
        .getattr(intern!(py, "aliases"))?;
    let names = aliases.call_method0(intern!(py, "values"))?;
    Ok(aliases.contains(&normal)? || names.contains(&normal)?)
}

fn is_unicode(encoding: Encoding) -> bool {
    python_name(encoding).is_some()
}

/// What Python calls the encodings that the engine decodes itself.
fn python_name(encoding: Encoding) -> Option<&'static str> {
    Some(match encoding {
        Encoding::UTF_8 => "utf-8",
        Encoding::UTF_16LE => "utf-16-le",
        Encoding::UTF_16BE => "utf-16-be",
        Encoding::UTF_32LE => "utf-32-le",
        Encoding::UTF_32BE => "utf-32-be",
        _ => return None,
    })
}

impl Foreign {
    /// Python's codec of this name. Python takes punctuation in names for an underscore, or for nothing at the end;
    /// what no encoding is written with is no name here, as in other languages (`utf-8;`).
    fn named(py: Python<'_>, name: &str) -> PyResult<Option<Foreign>> {
        let of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:() ".contains(&byte);
        if name.is_empty() || !name.bytes().all(of_names) {
            return Ok(None);
        }
        let codecs = py.import(intern!(py, "codecs"))?;
        match codecs.call_method1(intern!(py, "lookup"), (name,)) {
            Ok(info) => Ok(Some(Foreign(info.unbind()))),
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyLookupError>(py) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Python's codec for an encoding that the engine decodes itself, where there is one.
    fn of(py: Python<'_>, encoding: Encoding) -> PyResult<Option<Foreign>> {
        python_name(encoding).map_or(Ok(None), |name| Foreign::named(py, name))
    }

    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.0.bind(py).getattr(intern!(py, "name"))?.extract()
    }

    /// Whether it makes a `str` of bytes, as Python itself tells.
    fn is_text(&self, py: Python<'_>) -> PyResult<bool> {
        match self.0.bind(py).getattr_opt(intern!(py, "_is_text_encoding"))? {
            Some(is_text) => is_text.is_truthy(),
            None => Ok(true),
        }
    }

    /// The bytes from `skip` on as a `str`: at once where they lie in one piece, else piece by piece.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        bytes: &Whole<'_, 'py>,
        skip: usize,
        errors: &Errors,
    ) -> Result<Bound<'py, PyString>, Undecoded> {
        let pieces = bytes.pieces(py, skip)?;
        let in_pieces = match &pieces[..] {
            [] => self.at_once(py, PyBytes::new(py, b"").as_any(), errors),
            [whole] => self.at_once(py, whole, errors),
            _ => match self.incremental(py, errors)? {
                Some(decoder) => piece_by_piece(&decoder, &pieces),
                None => self.at_once(py, &bytes.joined(py, skip)?, errors),
            },
        };
        let refused = match in_pieces {
            Ok(text) => return Ok(text),
            Err(refused) if !refused.is_instance_of::<PyUnicodeError>(py) => return Err(refused.into()),
            Err(refused) => refused,
        };
        // Where a piece's decoder has found a fault, only the bytes as a whole tell where that is.
        let refused = if pieces.len() > 1 {
            match bytes
                .joined(py, skip)
                .and_then(|whole| self.at_once(py, &whole, errors))
            {
                Ok(text) => return Ok(text),
                Err(of_whole) if of_whole.is_instance_of::<PyUnicodeError>(py) => of_whole,
                Err(_) => return Err(self.fault(py, &refused, None)),
            }
        } else {
            refused
        };
        Err(self.fault(py, &refused, Some(skip)))
    }

    /// `skip`: what lies before the bytes that the error counts from; None where that is not known.
    fn fault(&self, py: Python<'_>, refused: &PyErr, skip: Option<usize>) -> Undecoded {
        let value = refused.value(py);
        let decoding = value.is_instance_of::<PyUnicodeDecodeError>();
        let get = |name: &str| value.getattr(name).ok().filter(|_| decoding);
        let start = get("start").and_then(|start| start.extract::<usize>().ok());
        let reason = get("reason").unwrap_or_else(|| value.clone().into_any());
        Undecoded::Fault(Fault {
            offset: start.and_then(|start| skip.map(|skip| start + skip)),
            encoding: self.name(py).unwrap_or_default(),
            reason: reason.to_string(),
        })
    }

    fn at_once<'py>(
        &self,
        py: Python<'py>,
        bytes: &Bound<'py, PyAny>,
        errors: &Errors,
    ) -> PyResult<Bound<'py, PyString>> {
        let decode = self.0.bind(py).getattr(intern!(py, "decode"))?;
        let decoded = decode.call1((bytes, errors.name(py)))?.cast_into::<PyTuple>()?;
        Ok(decoded.get_item(0)?.cast_into::<PyString>()?)
    }

    /// A decoder that is given one piece after the other.
    fn incremental<'py>(&self, py: Python<'py>, errors: &Errors) -> PyResult<Option<Bound<'py, PyAny>>> {
        let class = self.0.bind(py).getattr(intern!(py, "incrementaldecoder"))?;
        let handler = errors.in_pieces(py);
        if class.is_none() || !handler || NOT_IN_PIECES.contains(&&*self.name(py)?) {
            return Ok(None);
        }
        class.call1((errors.name(py),)).map(Some)
    }
}

fn piece_by_piece<'py>(decoder: &Bound<'py, PyAny>, pieces: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyString>> {
    let py = decoder.py();
    let last = pieces.len() - 1;
    let decoded = pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| decoder.call_method1(intern!(py, "decode"), (piece, index == last)));
    let decoded = decoded.collect::<PyResult<Vec<_>>>()?;
    let text = PyString::new(py, "").call_method1(intern!(py, "join"), (decoded,))?;
    Ok(text.cast_into::<PyString>()?)
}

impl Errors {
    /// Raises LookupError for what is no error handler, which is found out before anything is read.
    fn named(name: &Bound<'_, PyAny>) -> PyResult<Errors> {
        let name = name
            .cast::<PyString>()
            .map_err(|_| PyTypeError::new_err(format!("errors must be a str, not {}", name.get_type())))?;
        match name.to_str() {
            Ok("strict") => Ok(Errors::Known(Faults::Strict)),
            Ok("replace") => Ok(Errors::Known(Faults::Replace)),
            _ => {
                let py = name.py();
                py.import(intern!(py, "codecs"))?
                    .call_method1(intern!(py, "lookup_error"), (name,))?;
                Ok(Errors::Python(name.clone().unbind()))
            }
        }
    }

    /// Whether faults come out alike however the bytes are cut.
    fn in_pieces(&self, py: Python<'_>) -> bool {
        match self {
            Errors::Known(_) => true,
            Errors::Python(name) => name.bind(py).to_str().is_ok_and(|name| IN_PIECES.contains(&name)),
        }
    }

    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        match self {
            Errors::Known(Faults::Strict) => intern!(py, "strict").clone(),
            Errors::Known(Faults::Replace) => intern!(py, "replace").clone(),
            Errors::Python(name) => name.bind(py).clone(),
        }
    }
}

impl<'py> Whole<'_, 'py> {
    /// Objects that show the bytes from `skip` on, in order. Whoever keeps one of them keeps its memory.
    fn pieces(&self, py: Python<'py>, mut skip: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        match self {
            Whole::Buffer(buffer) => {
                let mut at = 0;
                let shown = buffer.segments().map(|segment| {
                    let skipped = skip.min(segment.len());
                    skip -= skipped;
                    at += segment.len();
                    shown(py, buffer, at - segment.len() + skipped, segment.len() - skipped)
                });
                shown.collect()
            }
            Whole::Objects(objects) => {
                let shown = objects.iter().map(|object| {
                    let skipped = skip.min(object.as_bytes().len());
                    skip -= skipped;
                    if skipped == 0 {
                        Ok(object.clone().into_any())
                    } else {
                        behind(object.as_any(), skipped)
                    }
                });
                shown.collect()
            }
        }
    }

    /// The bytes from `skip` on in one piece.
    fn joined(&self, py: Python<'py>, skip: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Whole::Buffer(buffer) => behind(&shown(py, buffer, 0, buffer.len())?, skip),
            Whole::Objects(objects) => {
                let whole = PyBytes::new(py, b"").call_method1(intern!(py, "join"), (objects.to_vec(),))?;
                behind(&whole, skip)
            }
        }
    }
}

/// A view of a part of the body that keeps it.
fn shown<'py>(py: Python<'py>, buffer: &core::Buffer, at: usize, length: usize) -> PyResult<Bound<'py, PyAny>> {
    let part = buffer
        .slice(at, length)
        .map_err(|error| crate::errors::of_status(py, error, &buffer.info(), None))?;
    let part = Bound::new(py, PooledBuffer::new(part))?;
    Ok(PyMemoryView::from(part.as_any())?.into_any())
}

/// The bytes of an object from `skip` on.
fn behind<'py>(object: &Bound<'py, PyAny>, skip: usize) -> PyResult<Bound<'py, PyAny>> {
    let view = PyMemoryView::from(object)?;
    // PySlice::new of pyo3 0.30 keeps a reference to each of its numbers for ever.
    let slice = object.py().get_type::<PySlice>().call1((skip, object.py().None()))?;
    view.get_item(slice)
}
