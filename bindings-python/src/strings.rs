//! Python's `str`, made of the engine's text without a `bytes` in between: allocated once, as long and as wide as the
//! text is, and filled in place before anybody else has seen it.
//!
//! The stable interface has no call that allocates a `str` to be filled, and does not say where its characters lie.
//! `PyUnicode_New`, which every CPython has, is looked up when the module is loaded; where the characters lie follows
//! from `str.__sizeof__` of strings that the stable interface has made, and is held against those strings. Where any of it
//! is not as expected, strings are made by the stable interface alone.

use crate::buffer::WORTH_DETACHING;
use brimful_core::memory::prefer_huge_pages;
use brimful_core::{Encoding, Fault, Faults, Measure, Segments, Text, Unit, Widest};
use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString};
use pyo3::{ffi, intern};
use std::sync::atomic::{AtomicBool, Ordering};

/// UTF-8 of at most so many bytes that lies in one piece is decoded by the interpreter itself.
const SMALL: usize = 64;

/// ASCII is looked at first in so many bytes: more are not in the cache any more when they are copied.
const LOOKED_AT: usize = 16 << 10;

/// Why there is no `str`.
pub(crate) enum Unmade {
    Fault(Fault),
    Raised(PyErr),
}

impl From<Fault> for Unmade {
    fn from(fault: Fault) -> Unmade {
        Unmade::Fault(fault)
    }
}

impl From<PyErr> for Unmade {
    fn from(raised: PyErr) -> Unmade {
        Unmade::Raised(raised)
    }
}

/// The bytes as a `str`; `given` is the encoding, if one was given.
pub(crate) fn decode<'py, S: Segments + Sync + ?Sized>(
    py: Python<'py>,
    bytes: &S,
    given: Option<Encoding>,
    faults: Faults,
) -> Result<Bound<'py, PyString>, Unmade> {
    if given.is_none_or(|given| given == Encoding::UTF_8)
        && let Some(piece) = only_piece(bytes.segments())
        && let Some(made) = short_ascii(py, piece)
    {
        return Ok(made);
    }
    let text = Text::new(bytes, given);
    let layout = Layout::known(py);
    if text.encoding() == Encoding::UTF_8 {
        if (text.byte_length() <= SMALL || layout.is_none())
            && let Some(piece) = only_piece(text.segments())
            && let Some(made) = by_interpreter(py, piece, faults)
        {
            return Ok(made);
        }
        if let Some(layout) = layout
            && let Some(made) = layout.make_ascii(py, &text, faults)?
        {
            return Ok(made);
        }
    }
    match layout {
        Some(layout) => layout.make(py, &text, faults),
        None => in_pieces(py, &text, faults),
    }
}

/// A little ASCII, which has no mark; None for all else.
fn short_ascii<'py>(py: Python<'py>, bytes: &[u8]) -> Option<Bound<'py, PyString>> {
    if !(SMALL..=LOOKED_AT).contains(&bytes.len()) || !bytes.is_ascii() {
        return None;
    }
    let layout = Layout::known(py)?;
    let object = layout.allocated(py, bytes.len(), Widest::Ascii).ok()?;
    let characters = layout.characters::<u8>(&object, bytes.len(), Widest::Ascii);
    for (character, &byte) in characters.iter_mut().zip(bytes) {
        character.write(byte);
    }
    Some(object)
}

/// The bytes, if they lie in one piece.
fn only_piece<'a>(mut segments: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    let first = segments.next().unwrap_or_default();
    segments.next().is_none().then_some(first)
}

/// UTF-8 decoded by the interpreter; None where it refuses, whatever its reason.
fn by_interpreter<'py>(py: Python<'py>, bytes: &[u8], faults: Faults) -> Option<Bound<'py, PyString>> {
    let errors = match faults {
        Faults::Strict => c"strict",
        Faults::Replace => c"replace",
    };
    let length = ffi::Py_ssize_t::try_from(bytes.len()).ok()?;
    // SAFETY: attached; so many bytes can be read there, and the handler's name ends in a NUL.
    let made = unsafe {
        let object = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast::<c_char>(), length, errors.as_ptr());
        Bound::from_owned_ptr_or_err(py, object)
    };
    // SAFETY: the call gives a str.
    made.ok().map(|made| unsafe { made.cast_into_unchecked() })
}

/// The text by the stable interface alone: one `str` for each of the engine's pieces, joined.
fn in_pieces<'py, S: Segments + ?Sized>(
    py: Python<'py>,
    text: &Text<'_, S>,
    faults: Faults,
) -> Result<Bound<'py, PyString>, Unmade> {
    let pieces = PyList::empty(py);
    text.pieces(faults, |piece| -> Result<(), Unmade> {
        Ok(pieces.append(PyString::from_bytes(py, piece.as_bytes())?)?)
    })?;
    let joined = PyString::new(py, "").call_method1(intern!(py, "join"), (pieces,))?;
    Ok(joined.cast_into::<PyString>().map_err(PyErr::from)?)
}

/// How a `str` is made to be filled, and where its characters lie in it.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// `PyUnicode_New(length, highest character)`.
    allocate: unsafe extern "C" fn(ffi::Py_ssize_t, u32) -> *mut ffi::PyObject,
    /// Bytes before the characters of a `str` that is all ASCII, and of any other.
    ascii: usize,
    other: usize,
}

/// None where the stable interface alone is used.
static LAYOUT: PyOnceLock<Option<Layout>> = PyOnceLock::new();
static SWITCHED_OFF: AtomicBool = AtomicBool::new(false);

/// For the tests: whether strings may be filled in place from now on; says whether they are.
#[pyfunction]
pub(crate) fn _fill_strings(py: Python<'_>, allowed: bool) -> bool {
    SWITCHED_OFF.store(!allowed, Ordering::Relaxed);
    Layout::known(py).is_some()
}

impl Layout {
    /// What is known of this interpreter's strings, found out once.
    fn known(py: Python<'_>) -> Option<Layout> {
        let layout = LAYOUT.get_or_init(py, || Layout::find(py).ok().flatten());
        layout.filter(|_| !SWITCHED_OFF.load(Ordering::Relaxed))
    }

    fn offset(&self, widest: Widest) -> usize {
        if widest == Widest::Ascii {
            self.ascii
        } else {
            self.other
        }
    }

    /// UTF-8 that is nothing but ASCII, checked while it is copied; None where it turns out that it is more. What has been
    /// copied until then was for nothing: its first bytes, mostly.
    fn make_ascii<'py, S: Segments + Sync + ?Sized>(
        self,
        py: Python<'py>,
        text: &Text<'_, S>,
        faults: Faults,
    ) -> Result<Option<Bound<'py, PyString>>, Unmade> {
        let length = text.byte_length();
        let first = text.segments().next().unwrap_or_default();
        if length <= 1 || !first[..first.len().min(LOOKED_AT)].is_ascii() {
            return Ok(None);
        }
        // For what it turns out to be there may be memory all the same.
        let Ok(object) = self.allocated(py, length, Widest::Ascii) else {
            return Ok(None);
        };
        let target = self.characters::<u8>(&object, length, Widest::Ascii);
        let filled = detached(py, length, || text.fill(faults, target))?;
        // Any other character has more bytes than one.
        Ok((filled.whole && filled.units == length).then_some(object))
    }

    /// The text in a `str` of its own.
    fn make<'py, S: Segments + Sync + ?Sized>(
        self,
        py: Python<'py>,
        text: &Text<'_, S>,
        faults: Faults,
    ) -> Result<Bound<'py, PyString>, Unmade> {
        let measure = detached(py, text.byte_length(), || text.measure(faults))?;
        if measure.chars <= 1 {
            return in_pieces(py, text, faults); // the interpreter has just one object of each
        }
        let object = self.allocated(py, measure.chars, measure.widest)?;
        let written = match measure.widest {
            Widest::Ascii | Widest::Latin1 => self.fill::<u8, S>(&object, &measure, text, faults),
            Widest::Bmp => self.fill::<u16, S>(&object, &measure, text, faults),
            Widest::Astral => self.fill::<u32, S>(&object, &measure, text, faults),
        }?;
        if written != measure.chars {
            // The bytes of a body do not change; were they to, nobody sees what was not written.
            let message = "the bytes have changed while they were decoded";
            return Err(Unmade::Raised(PyRuntimeError::new_err(message)));
        }
        Ok(object)
    }

    /// A `str` for so many characters. They are not written yet.
    fn allocated<'py>(self, py: Python<'py>, chars: usize, widest: Widest) -> PyResult<Bound<'py, PyString>> {
        let (highest, width) = match widest {
            Widest::Ascii => (0x7F, 1),
            Widest::Latin1 => (0xFF, 1),
            Widest::Bmp => (0xFFFF, 2),
            Widest::Astral => (0x0010_FFFF, 4),
        };
        let length = ffi::Py_ssize_t::try_from(chars)?;
        // SAFETY: attached. The call answers a str, or sets an exception (MemoryError, for any length too large).
        let object = unsafe { Bound::from_owned_ptr_or_err(py, (self.allocate)(length, highest))? };
        if let Some(start) = NonNull::new(object.as_ptr()) {
            // SAFETY: a str of this size comes from malloc, which has given it just now.
            unsafe { prefer_huge_pages(start.cast(), chars * width) };
        }
        // SAFETY: it is a str.
        Ok(unsafe { object.cast_into_unchecked() })
    }

    fn fill<U: Unit + Send, S: Segments + Sync + ?Sized>(
        self,
        object: &Bound<'_, PyString>,
        measure: &Measure,
        text: &Text<'_, S>,
        faults: Faults,
    ) -> Result<usize, Fault> {
        let target = self.characters::<U>(object, measure.chars, measure.widest);
        detached(object.py(), text.byte_length(), || text.fill(faults, target)).map(|filled| filled.units)
    }

    /// The characters of a `str` that was allocated for so many of this kind, and that nobody else has.
    #[expect(clippy::mut_from_ref, reason = "a new object's characters, lent once")]
    fn characters<'a, U: Unit>(
        self,
        object: &'a Bound<'_, PyString>,
        chars: usize,
        widest: Widest,
    ) -> &'a mut [MaybeUninit<U>] {
        let offset = self.offset(widest);
        // SAFETY: the object was allocated for so many characters of this width, which begin at this offset: that was
        // held against strings of the interpreter's own when the layout was found. Nobody else has the object, so that
        // they may be written without the GIL too.
        unsafe {
            let start = object.as_ptr().byte_add(offset).cast::<MaybeUninit<U>>();
            slice::from_raw_parts_mut(start, chars)
        }
    }

    /// Looks at strings of each kind; None where anything is not as expected.
    fn find(py: Python<'_>) -> PyResult<Option<Layout>> {
        let Some(allocate) = symbol() else {
            return Ok(None);
        };
        // Not sys.getsizeof, which anybody may have replaced.
        let size = py.get_type::<PyString>().getattr(intern!(py, "__sizeof__"))?;
        let size = |object: &Bound<'_, PyString>| size.call1((object,))?.extract::<usize>();
        let mut found = Layout {
            allocate,
            ascii: 0,
            other: 0,
        };
        for (sample, widest) in [
            ("brimful: ASCII\x7f", Widest::Ascii),
            ("brimful: Latin-1 \u{80}\u{e9}\u{ff}", Widest::Latin1),
            ("brimful: two bytes \u{100}\u{20ac}\u{ffff}", Widest::Bmp),
            ("brimful: four bytes \u{20ac}\u{10000}\u{10ffff}", Widest::Astral),
        ] {
            let expected = PyString::new(py, sample);
            let characters = units(sample, widest);
            let whole = size(&expected)?;
            let Some(offset) = whole.checked_sub(characters.len()) else {
                return Ok(None);
            };
            let of_kind = if widest == Widest::Ascii {
                &mut found.ascii
            } else {
                &mut found.other
            };
            if offset % 4 != 0 || offset < size_of::<ffi::PyObject>() || ![0, offset].contains(of_kind) {
                return Ok(None);
            }
            *of_kind = offset;
            // SAFETY: the interpreter says that the object has `whole` bytes, which are offset and characters.
            let there: &[u8] =
                unsafe { slice::from_raw_parts(expected.as_ptr().byte_add(offset).cast(), characters.len()) };
            let bytes = [sample.as_bytes()];
            let measure = Text::new(&bytes[..], Some(Encoding::UTF_8)).measure(Faults::Strict);
            let Some(measure) = measure.ok().filter(|measure| measure.widest == widest) else {
                return Ok(None);
            };
            if characters != *there {
                return Ok(None);
            }
            let made = found.allocated(py, measure.chars, measure.widest)?;
            if !made.is_exact_instance_of::<PyString>() || size(&made)? != whole {
                return Ok(None);
            }
            // SAFETY: as above for this object, which is as large and which nobody else has.
            let target = unsafe { slice::from_raw_parts_mut(made.as_ptr().byte_add(offset).cast(), characters.len()) };
            target.copy_from_slice(&characters);
            if !made.as_any().eq(&expected)? || made.hash()? != expected.hash()? || made.to_str()? != sample {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }
}

/// The characters as they lie in a `str`, with the zero behind them.
fn units(sample: &str, widest: Widest) -> Vec<u8> {
    let width = match widest {
        Widest::Ascii | Widest::Latin1 => 1,
        Widest::Bmp => 2,
        Widest::Astral => 4,
    };
    let of = |character: u32| {
        let bytes = character.to_ne_bytes();
        let bytes = if cfg!(target_endian = "big") {
            &bytes[4 - width..]
        } else {
            &bytes[..width]
        };
        bytes.to_vec()
    };
    sample.chars().map(u32::from).chain([0]).flat_map(of).collect()
}

/// `PyUnicode_New`, which the stable interface lacks.
#[cfg(unix)]
fn symbol() -> Option<unsafe extern "C" fn(ffi::Py_ssize_t, u32) -> *mut ffi::PyObject> {
    // SAFETY: the name ends in a NUL.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyUnicode_New".as_ptr()) };
    // SAFETY: CPython has had this function with this signature since 3.3; NULL is None.
    unsafe { core::mem::transmute(found) }
}

#[cfg(not(unix))]
fn symbol() -> Option<unsafe extern "C" fn(ffi::Py_ssize_t, u32) -> *mut ffi::PyObject> {
    None
}

/// Calls it; for bytes that take their time, other Python threads run meanwhile.
fn detached<R: Send>(py: Python<'_>, length: usize, call: impl FnOnce() -> R + Send) -> R {
    if length >= WORTH_DETACHING {
        py.detach(call)
    } else {
        call()
    }
}
