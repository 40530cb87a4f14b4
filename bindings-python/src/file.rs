//! What Python's own files say of their size: a hint, no more, since files grow and shrink.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};

struct Types {
    bytes_io: Py<PyAny>,
    files: [Py<PyAny>; 3],
}

fn types(py: Python<'_>) -> PyResult<&Types> {
    static TYPES: PyOnceLock<Types> = PyOnceLock::new();
    TYPES.get_or_try_init(py, || {
        let io = py.import("io")?;
        let get = |name| io.getattr(name).map(Bound::unbind);
        Ok(Types {
            bytes_io: get("BytesIO")?,
            files: [get("FileIO")?, get("BufferedReader")?, get("BufferedRandom")?],
        })
    })
}

/// What a file has from where it stands to its end: of an in-memory file, or a regular file that the built-in types
/// read. None for all else, and where anything is wrong: then reading says what.
pub(crate) fn rest(file: &Bound<'_, PyAny>) -> Option<u64> {
    let py = file.py();
    let types = types(py).ok()?;
    let of_type: Bound<'_, PyType> = file.get_type();
    let tell = || file.call_method0(intern!(py, "tell")).ok()?.extract::<u64>().ok();
    let position = tell()?;
    let size = if of_type.is(&types.bytes_io) {
        // By its end: its getbuffer() would copy the bytes that it shares with the object it was made of.
        let seek = intern!(py, "seek");
        let end = file.call_method1(seek, (0, 2)).ok()?.extract::<u64>().ok()?;
        file.call_method1(seek, (position,)).ok()?;
        end
    } else if types.files.iter().any(|known| of_type.is(known)) {
        let descriptor = file.call_method0(intern!(py, "fileno")).ok()?.extract().ok()?;
        size_of(descriptor)?
    } else {
        return None;
    };
    Some(size.saturating_sub(position)).filter(|&rest| rest > 0)
}

/// The size of a regular file.
pub(crate) fn size_of(descriptor: RawFd) -> Option<u64> {
    if descriptor < 0 {
        return None;
    }
    // SAFETY: only its status is asked for, which a descriptor that is not open answers with an error; it is not closed.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let status = file.metadata().ok()?;
    status.is_file().then_some(status.len())
}
