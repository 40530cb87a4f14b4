//! Chunks that a source gives as `bytes` objects, kept as they are for results that can be made of several of them.
//! Nobody changes such objects, and each has its memory to itself, so that together they take what a copy would.

use crate::answer;
use crate::drive::{Bytes, Item, Pace, Reading, next_item};
use crate::source::{self, Kind};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyTuple};
use smallvec::SmallVec;

/// Chunks of at least so many bytes on average are kept, and so are a few of any size: an object takes up to 48 bytes more
/// than it shows, and its place in the list 8.
const WORTH_KEEPING: usize = 1 << 10;
const FEW: usize = 16;

/// No more than so many: what a read of 256 KiB has answered is a mapping of its own, however little came, and has a page to
/// itself. A process may have 65530 of them.
const MOST: usize = 4096;

/// One or two, which is what a small body has, take no memory of their own.
pub(crate) type Objects<'py> = SmallVec<[Bound<'py, PyBytes>; 2]>;

/// What is known of a source's objects.
pub(crate) enum Gathered<'py> {
    /// They are the body, one after the other.
    Whole(Objects<'py>),
    /// An iterator has given these, and is to be gone on with.
    Begun(Begun<'py>),
    /// It was not asked for any.
    Nothing,
}

pub(crate) struct Begun<'py> {
    iterator: Bound<'py, PyIterator>,
    chunks: Vec<Bytes>,
    /// What came then, if that is no chunk to be kept.
    other: Option<Item>,
}

impl Begun<'_> {
    /// What the iterator gave goes first into the body.
    pub(crate) fn go_on(self, reading: &mut Reading) {
        reading.begun(&self.iterator, self.chunks, [self.other, None]);
    }
}

/// Looks at the objects of a list, and asks an iterator, or a response for its own, for the chunks if `asks`. `is_whole`:
/// whether so many bytes are within the limit, and may be all.
pub(crate) fn gather<'py>(
    source: &Bound<'py, PyAny>,
    kind: Kind,
    asks: bool,
    is_whole: impl Fn(u64) -> bool,
) -> PyResult<Gathered<'py>> {
    let objects = match kind {
        Kind::Bytes => exact_bytes([source.clone()]),
        Kind::Iterate => {
            if let Ok(list) = source.cast_exact::<PyList>() {
                exact_bytes(list)
            } else if let Ok(tuple) = source.cast_exact::<PyTuple>() {
                exact_bytes(tuple)
            } else if asks {
                return ask(&source.try_iter()?, is_whole);
            } else {
                None
            }
        }
        Kind::Requests | Kind::Httpx if asks => {
            let opened = source::open(source, kind, false)?;
            return match opened.iterator {
                Some(iterator) => ask(iterator.bind(source.py()).cast::<PyIterator>()?, is_whole),
                None => Ok(Gathered::Nothing),
            };
        }
        _ => None,
    };
    let whole = objects.filter(|objects| is_whole(length_of(objects)));
    Ok(whole.map_or(Gathered::Nothing, Gathered::Whole))
}

fn ask<'py>(iterator: &Bound<'py, PyIterator>, is_whole: impl Fn(u64) -> bool) -> PyResult<Gathered<'py>> {
    let (mut objects, mut length, mut pace) = (Objects::new(), 0, Pace::default());
    let other = loop {
        pace.between(iterator.py())?;
        let chunk = match next_item(iterator) {
            Ok(None) => return Ok(Gathered::Whole(objects)),
            Ok(Some(chunk)) => chunk,
            Err(raised) if answer::is_failure(iterator.py(), &raised) => return Err(raised),
            Err(nothing_yet) => break Some(Err(nothing_yet)),
        };
        match chunk.cast_into_exact::<PyBytes>() {
            Ok(bytes) if !bytes.as_bytes().is_empty() => {
                pace.add(bytes.as_bytes().len());
                length += bytes.as_bytes().len() as u64;
                objects.try_reserve(1).map_err(|_| PyMemoryError::new_err(()))?;
                objects.push(bytes);
            }
            Ok(nothing_yet) => break Some(Ok(Some(nothing_yet.into_any().unbind()))),
            Err(no_bytes) => break Some(Ok(Some(no_bytes.into_inner().unbind()))),
        }
        // Where the limit is passed already, the source is not called again (E15).
        let small = objects.len() >= FEW && length < (objects.len() * WORTH_KEEPING) as u64;
        if small || objects.len() >= MOST || !is_whole(length) {
            break None;
        }
    };
    let mut chunks = Vec::new();
    let room = chunks.try_reserve_exact(objects.len());
    room.map_err(|_| PyMemoryError::new_err(()))?;
    chunks.extend(objects.into_iter().map(Bound::unbind));
    Ok(Gathered::Begun(Begun {
        iterator: iterator.clone(),
        chunks,
        other,
    }))
}

/// The objects, if each of them is a `bytes` object, and if there is memory for a list of them.
fn exact_bytes<'py>(objects: impl IntoIterator<Item = Bound<'py, PyAny>>) -> Option<Objects<'py>> {
    let mut found = Objects::new();
    for object in objects {
        found.try_reserve(1).ok()?;
        found.push(object.cast_into_exact().ok()?);
    }
    Some(found)
}

/// How many bytes they have together.
pub(crate) fn length_of(objects: &[Bound<'_, PyBytes>]) -> u64 {
    objects.iter().map(|object| object.as_bytes().len() as u64).sum()
}
