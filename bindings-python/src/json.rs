//! A whole body as JSON: by the standard library from text, or by a faster parser from the block itself.

use crate::buffer::PooledBuffer;
use crate::codec::Decoding;
use crate::options::{Around, Keywords};
use crate::source;
use crate::text::Collected;
use brimful_core::Prefer;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyString};

/// Modules whose parsers read UTF-8 from any bytes-like object.
const READ_BYTES: [&str; 2] = ["orjson", "msgspec"];

/// Reads a whole body and returns what it means as JSON.
///
/// loads: what parses it, by default json.loads. It is called with the body as str, decoded by its byte order mark (UTF-8,
/// UTF-32LE, UTF-16LE, UTF-16BE), else as UTF-8: a charset has no meaning for JSON. Functions and decoders of orjson and
/// msgspec, also in a functools.partial, are called with a read-only memoryview of the body in its block, or a bytes object
/// that the source is; nothing is copied, and what they keep of it (msgspec.Raw) stays valid.
/// Sources and other options are those of collect().
///
/// Raises what `loads` raises, unchanged; EncodingError where a str was to be made and the bytes are no text (.partial is
/// the body; half of a surrogate pair is none either, which json.loads lets through in bytes); else what collect() raises. To have the body where JSON is wrong, use collect_pooled() and its json().
#[pyfunction]
#[pyo3(signature = (source, *, loads = None, **options))]
pub(crate) fn collect_json<'py>(
    source: &Bound<'py, PyAny>,
    loads: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    let loads = Loads::asked(py, loads)?;
    let around = options.map_or_else(|| Ok(Around::default()), Around::taken_from)?;
    let asked = || match options {
        Some(options) => Keywords::asked_of("collect_json", options, Prefer::Pooled),
        None => Keywords::default().asked(Prefer::Pooled),
    };
    let kind = source::recognise(source, false)?;
    Collected::of(source, kind, &around, !loads.reads_bytes, asked)?.into_json(py, &loads, true)
}

/// What parses a body that is awaited: found right or wrong before it is read.
#[pyclass(frozen, module = "brimful", name = "_Loads")]
pub(crate) struct AsyncLoads {
    function: Py<PyAny>,
    reads_bytes: bool,
}

#[pymethods]
impl AsyncLoads {
    #[new]
    fn new(py: Python<'_>, loads: Option<&Bound<'_, PyAny>>) -> PyResult<AsyncLoads> {
        let Loads { function, reads_bytes } = Loads::asked(py, loads)?;
        let function = function.unbind();
        Ok(AsyncLoads { function, reads_bytes })
    }

    /// What a body that has come means.
    fn json<'py>(&self, body: &Bound<'py, PooledBuffer>) -> PyResult<Bound<'py, PyAny>> {
        let py = body.py();
        let loads = Loads {
            function: self.function.bind(py).clone(),
            reads_bytes: self.reads_bytes,
        };
        Collected::Buffer(body.get().open()?).into_json(py, &loads, true)
    }
}

/// What parses JSON.
pub(crate) struct Loads<'py> {
    function: Bound<'py, PyAny>,
    reads_bytes: bool,
}

impl<'py> Loads<'py> {
    /// Raises TypeError for what cannot be called.
    pub(crate) fn asked(py: Python<'py>, loads: Option<&Bound<'py, PyAny>>) -> PyResult<Loads<'py>> {
        let Some(function) = loads else {
            let function = py.import(intern!(py, "json"))?.getattr(intern!(py, "loads"))?;
            return Ok(Loads {
                function,
                reads_bytes: false,
            });
        };
        if !function.is_callable() {
            let message = format!("loads must be a callable f(document), not {}", function.get_type());
            return Err(PyTypeError::new_err(message));
        }
        Ok(Loads {
            function: function.clone(),
            reads_bytes: reads_bytes(function)?,
        })
    }
}

/// Whether it is known to read bytes-like objects: by the module of the function, of the type whose method it is, or of
/// what a functools.partial calls.
fn reads_bytes(function: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = function.py();
    let partial = py.import(intern!(py, "functools"))?.getattr(intern!(py, "partial"))?;
    let mut function = function.clone();
    // Only of a partial: any other object may have a `func` that has a `func`, without end.
    while function.is_instance(&partial)? {
        function = function.getattr(intern!(py, "func"))?;
    }
    let of = |object: &Bound<'_, PyAny>| -> PyResult<bool> {
        let Some(module) = object.getattr_opt(intern!(py, "__module__"))? else {
            return Ok(false);
        };
        let Ok(module) = module.cast_into::<PyString>() else {
            return Ok(false);
        };
        let top = module.to_str()?.split('.').next().unwrap_or_default();
        Ok(READ_BYTES.contains(&top))
    };
    if of(&function)? {
        return Ok(true);
    }
    match function.getattr_opt(intern!(py, "__self__"))? {
        Some(owner) => of(owner.get_type().as_any()),
        None => Ok(false),
    }
}

impl<'py> Collected<'py> {
    /// What the body means. `carry`: whether an EncodingError is to carry the body.
    pub(crate) fn into_json(self, py: Python<'py>, loads: &Loads<'py>, carry: bool) -> PyResult<Bound<'py, PyAny>> {
        if !loads.reads_bytes {
            let text = self.into_text(py, &Decoding::asked(None, None)?, carry)?;
            return loads.function.call1((text,));
        }
        if let Collected::Objects(objects) = &self
            && let [whole] = &objects[..]
        {
            return loads.function.call1((whole,));
        }
        // Views are not released by hand: what was made of them may look at them still.
        let body = Bound::new(py, PooledBuffer::new(self.into_buffer(py)?))?;
        loads.function.call1((PyMemoryView::from(body.as_any())?,))
    }
}
