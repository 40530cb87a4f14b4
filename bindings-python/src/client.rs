//! HTTP clients by duck type, none of them imported: `requests.Response`, `httpx.Response`, `aiohttp.ClientResponse`,
//! Starlette's requests, and what their headers say of the body's size.

use crate::source::{Kind, has};
use brimful_core::{self as core, Options};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// What `requests` is asked for at once, in bytes.
const CONTENT: u32 = 1 << 20;

/// Which client's this type is.
pub(crate) fn of_type(of_type: &Bound<'_, PyType>) -> PyResult<Option<Kind>> {
    if has(of_type, "iter_content")? {
        return Ok(Some(Kind::Requests));
    }
    if has(of_type, "iter_bytes")? || has(of_type, "aiter_bytes")? {
        return Ok(Some(Kind::Httpx));
    }
    if has(of_type, "stream")? && has(of_type, "receive")? {
        return Ok(Some(Kind::Starlette));
    }
    // `content` of a response class is None, or a property; its `read` takes no size.
    let content = of_type.getattr_opt(intern!(of_type.py(), "content"))?.is_some();
    Ok((content && is_coroutine_function(of_type, "read")?).then_some(Kind::Aiohttp))
}

fn is_coroutine_function(of_type: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    const COROUTINE: u32 = 0x80; // CO_COROUTINE, as `inspect` tells
    let py = of_type.py();
    let Some(function) = of_type.getattr_opt(name)? else {
        return Ok(false);
    };
    let Some(code) = function.getattr_opt(intern!(py, "__code__"))? else {
        return Ok(false);
    };
    Ok(code.getattr(intern!(py, "co_flags"))?.extract::<u32>()? & COROUTINE != 0)
}

/// The chunks of a `requests.Response`, decoded.
pub(crate) fn iter_content<'py>(response: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    response.call_method1(intern!(response.py(), "iter_content"), (CONTENT,))
}

/// Whether a response of httpx was asked for by its asynchronous client, or has its body already.
pub(crate) fn is_asynchronous(response: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !has(response, "aiter_bytes")? {
        return Ok(false);
    }
    match response.getattr_opt(intern!(response.py(), "stream"))? {
        Some(stream) => has(&stream, "__aiter__"),
        None => Ok(true),
    }
}

/// Completes the options of a body of unknown length by its headers. What was announced, and is above the limit, is
/// refused before the source is called (E14). Else it is a hint: the client itself sees to it that as much comes, and a
/// part of the body may have been read before.
pub(crate) fn complete_options(options: &mut Options, kind: Kind, source: &Bound<'_, PyAny>, pool: &core::Pool) {
    let plain = is_plain(source);
    let announced = if kind == Kind::Sized {
        remaining(source)
    } else if plain {
        content_length(source)
    } else {
        None
    };
    match announced {
        Some(announced) if plain && !options.is_whole(pool, announced) => options.length = Some(announced),
        announced => options.size_hint = options.size_hint.or(announced),
    }
}

/// What the source says of the kind of its content, if it is an HTTP message that was recognised as one.
pub(crate) fn content_type(source: &Bound<'_, PyAny>, kind: Kind) -> Option<String> {
    use Kind::{Aiohttp, Http, Httpx, Requests, Sized, Starlette};
    let is_message = matches!(kind, Requests | Httpx | Aiohttp | Starlette | Http | Sized);
    if is_message {
        header(source, "content-type")
    } else {
        None
    }
}

/// What a response says it has left.
fn remaining(response: &Bound<'_, PyAny>) -> Option<u64> {
    let remaining = response.getattr(intern!(response.py(), "length_remaining")).ok()?;
    remaining.extract().ok()
}

/// Whether the bytes come as they were counted: not decoded on their way.
fn is_plain(message: &Bound<'_, PyAny>) -> bool {
    header(message, "content-encoding").is_none_or(|encoding| encoding.is_empty() || encoding == "identity")
}

/// The Content-Length of a message that has a body.
fn content_length(message: &Bound<'_, PyAny>) -> Option<u64> {
    let py = message.py();
    if header(message, "transfer-encoding").is_some() {
        return None;
    }
    let request = message.getattr(intern!(py, "request")).ok();
    let method = request.as_ref().unwrap_or(message).getattr(intern!(py, "method"));
    if method.is_ok_and(|method| method.eq("HEAD").unwrap_or(false)) {
        return None;
    }
    for name in [intern!(py, "status_code"), intern!(py, "status")] {
        let status = message.getattr(name).and_then(|status| status.extract::<u16>());
        if matches!(status, Ok(204 | 304)) {
            return None;
        }
    }
    header(message, "content-length")?.parse().ok()
}

/// A header; messages whose headers cannot be had just have none.
fn header(message: &Bound<'_, PyAny>, name: &str) -> Option<String> {
    let py = message.py();
    let headers = message.getattr(intern!(py, "headers")).ok()?;
    let value = headers.call_method1(intern!(py, "get"), (name,)).ok()?;
    Some(
        value
            .cast::<PyString>()
            .ok()?
            .to_str()
            .ok()?
            .trim()
            .to_ascii_lowercase(),
    )
}
