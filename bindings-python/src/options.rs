//! The options of a body as Python gives them.

use crate::collector::Collector;
use crate::memory;
use crate::pool::{Pool, size};
use brimful_core::{self as core, Cancel, End, Options, Prefer};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// What was asked for: the engine's options, and whether `end` is to be chosen by the kind of source.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) options: Options,
    pub(crate) end_by_source: bool,
}

/// The keyword arguments that every way of collecting a body has. None is the default.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keywords<'a, 'py> {
    pub(crate) length: Option<&'a Bound<'py, PyAny>>,
    pub(crate) size_hint: Option<&'a Bound<'py, PyAny>>,
    pub(crate) end: Option<&'a str>,
    pub(crate) limit: Option<&'a Bound<'py, PyAny>>,
    pub(crate) truncate: bool,
    pub(crate) max_prealloc: Option<&'a Bound<'py, PyAny>>,
    pub(crate) first_block: Option<&'a Bound<'py, PyAny>>,
    pub(crate) max_window: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Keywords<'_, 'py> {
    /// Whether nothing was asked for.
    pub(crate) fn is_default(&self) -> bool {
        let Keywords {
            length,
            size_hint,
            end,
            limit,
            truncate,
            max_prealloc,
            first_block,
            max_window,
        } = *self;
        let given = [length, size_hint, limit, max_prealloc, first_block, max_window];
        !truncate && end.is_none_or(|end| end == "auto") && given.iter().all(Option::is_none)
    }

    /// Raises TypeError or ValueError for what is no number of bytes, and for an unknown `end`.
    pub(crate) fn asked(&self, prefer: Prefer) -> PyResult<Asked> {
        let default = Options::default();
        let (end, end_by_source) = match self.end.unwrap_or("auto") {
            "auto" => (End::Length, true),
            "length" => (End::Length, false),
            "eof" => (End::Eof, false),
            other => {
                let message = format!("end must be \"auto\", \"length\" or \"eof\", not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        let options = Options {
            length: size("length", self.length)?,
            size_hint: size("size_hint", self.size_hint)?,
            limit: size("limit", self.limit)?,
            end,
            truncate: self.truncate,
            prefer,
            max_prealloc: size("max_prealloc", self.max_prealloc)?.unwrap_or(default.max_prealloc),
            first_block: size("first_block", self.first_block)?.unwrap_or(default.first_block),
            max_window: size("max_window", self.max_window)?.unwrap_or(default.max_window),
            exact_memory: Some(memory::bytes()),
            ..default
        };
        Ok(Asked { options, end_by_source })
    }

    /// The same from a dictionary of keyword arguments, as `reset` and others take it.
    pub(crate) fn asked_of(call: &str, dict: &Bound<'py, PyDict>, prefer: Prefer) -> PyResult<Asked> {
        const NAMES: [&str; 8] = [
            "length",
            "size_hint",
            "end",
            "limit",
            "truncate",
            "max_prealloc",
            "first_block",
            "max_window",
        ];
        for name in dict.keys() {
            if !NAMES.iter().any(|known| name.eq(known).unwrap_or(false)) {
                return Err(PyTypeError::new_err(format!(
                    "{call}() has no option {name}; it has {}",
                    NAMES.join(", ")
                )));
            }
        }
        let get = |name| dict.get_item(name).map(|value| value.filter(|value| !value.is_none()));
        let truncate = match dict.get_item("truncate")? {
            Some(truncate) => truncate
                .extract::<bool>()
                .map_err(|_| PyTypeError::new_err(format!("truncate must be a bool, not {}", truncate.get_type())))?,
            None => false,
        };
        let end = get("end")?.map(|end| end.extract::<String>()).transpose()?;
        let [length, size_hint, limit] = ["length", "size_hint", "limit"].map(get);
        let [max_prealloc, first_block, max_window] = ["max_prealloc", "first_block", "max_window"].map(get);
        Keywords {
            length: length?.as_ref(),
            size_hint: size_hint?.as_ref(),
            end: end.as_deref(),
            limit: limit?.as_ref(),
            truncate,
            max_prealloc: max_prealloc?.as_ref(),
            first_block: first_block?.as_ref(),
            max_window: max_window?.as_ref(),
        }
        .asked(prefer)
    }
}

/// A new cancel object (E24).
pub(crate) fn new_cancel() -> PyResult<Cancel> {
    Cancel::new().ok_or_else(|| PyMemoryError::new_err("no memory for the collector"))
}

/// The keyword arguments of a collecting call besides the options of the body.
#[derive(Default)]
pub(crate) struct Around<'py> {
    pub(crate) pool: Option<Bound<'py, Pool>>,
    pub(crate) collector: Option<Bound<'py, Collector>>,
    pub(crate) on_progress: Option<Bound<'py, PyAny>>,
}

impl<'py> Around<'py> {
    /// Takes them out of a call's own dictionary of keyword arguments; what is left are the options of the body.
    pub(crate) fn taken_from(options: &Bound<'py, PyDict>) -> PyResult<Around<'py>> {
        let py = options.py();
        let take = |name: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
            let value = options.get_item(name)?;
            if value.is_some() {
                options.del_item(name)?;
            }
            Ok(value.filter(|value| !value.is_none()))
        };
        let around = Around {
            pool: take(intern!(py, "pool"))?.map(Bound::cast_into).transpose()?,
            collector: take(intern!(py, "collector"))?.map(Bound::cast_into).transpose()?,
            on_progress: take(intern!(py, "on_progress"))?,
        };
        if around.collector.is_some() && (around.pool.is_some() || !options.is_empty()) {
            return Err(other_options());
        }
        Ok(around)
    }

    pub(crate) fn engine_pool(&self) -> core::Pool {
        engine_pool(self.pool.as_ref())
    }
}

/// The pool that was given, or that of the process.
pub(crate) fn engine_pool(pool: Option<&Bound<'_, Pool>>) -> core::Pool {
    pool.map_or_else(core::Pool::process_default, |pool| pool.get().pool.clone())
}

/// The TypeError for options beside `collector=`.
pub(crate) fn other_options() -> PyErr {
    PyTypeError::new_err("with collector= the collector's own options and pool hold; give no others")
}
