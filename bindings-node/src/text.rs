//! Text: bodies as strings, straight from where their bytes lie (E41).

use crate::host::{Arguments, Host, Value, number};
use crate::string::{self, Unmade};
use brimful_core::{Charset, Encoding, Error, Faults, Segments, Text};
use napi::sys;
use std::ptr;

/// The answer for a text that is longer than a string can be; scratch 0 has its length.
const TOO_LONG: f64 = 1.0;

/// The string at `index`, up to a length that no name has; `None` for what is none.
fn name(arguments: &Arguments, index: usize) -> Option<Vec<u8>> {
    let (env, value) = (arguments.env(), arguments.value(index));
    let mut length = 0;
    // SAFETY: the value was given to this very call; what is no string is an error status. The buffer has room for the
    // bytes and a NUL.
    unsafe {
        let status = sys::napi_get_value_string_utf8(env, value, ptr::null_mut(), 0, &raw mut length);
        if status != sys::Status::napi_ok {
            return None;
        }
        let mut name: Vec<u8> = Vec::new();
        name.try_reserve_exact(length + 1).ok()?;
        sys::napi_get_value_string_utf8(env, value, name.as_mut_ptr().cast(), length + 1, &raw mut length);
        name.set_len(length);
        Some(name)
    }
}

fn named(encoding: Option<Encoding>) -> Value {
    encoding.map_or(Value::Number(0.0), |encoding| Value::Text(encoding.name().to_owned()))
}

/// (label) -> the name of the encoding, or 0 for none.
pub(crate) fn encoding(_: &Host, arguments: &Arguments) -> Value {
    named(name(arguments, 0).and_then(Encoding::for_label))
}

/// (value of a Content-Type header) -> the name of the encoding that its charset names, or 0 for none.
pub(crate) fn charset(_: &Host, arguments: &Arguments) -> Value {
    let charset = name(arguments, 0).and_then(Charset::of_content_type);
    named(charset.and_then(|charset| charset.encoding()))
}

/// The text as arguments 1 to 3 ask for it: the encoding's name or undefined, 1 for strict, the most units.
fn decode<S: Segments + ?Sized>(host: &Host, arguments: &Arguments, bytes: &S) -> Value {
    let encoding = name(arguments, 1).and_then(Encoding::for_label);
    let faults = if arguments.number(2) == 1.0 {
        Faults::Strict
    } else {
        Faults::Replace
    };
    let most = arguments.count(3).unwrap_or(0);
    let text = Text::new(bytes, encoding);
    match string::make(arguments.env(), bytes, &text, faults, most) {
        Ok(string) => Value::Js(string),
        Err(Unmade::NoMemory) => Error::NoMemory.into(),
        Err(Unmade::TooLong(units)) => {
            host.tell(&[number(units as u64)]);
            TOO_LONG.into()
        }
        Err(Unmade::Fault(fault)) => {
            host.tell(&[number(fault.offset as u64)]);
            host.say(fault.to_string());
            Error::Encoding.into()
        }
    }
}

/// (buffer, encoding, strict, most units) -> the string; 1, too long; or a status, for a fault with its offset in
/// scratch 0.
pub(crate) fn of_buffer(host: &Host, arguments: &Arguments) -> Value {
    let decoded = host.buffers.with(arguments.handle(0), |buffer| {
        if buffer
            .pieces()
            .any(|(id, length, _)| id != 0 && !host.blocks.has(id, length))
        {
            return Err(Error::Contract);
        }
        Ok(decode(host, arguments, buffer))
    });
    decoded.into()
}

/// (Uint8Array, ...) -> as `of_buffer`.
pub(crate) fn of_chunk(host: &Host, arguments: &Arguments) -> Value {
    let (start, length) = arguments.bytes(0);
    // SAFETY: the view's memory is attached now and stays so until JavaScript runs, which it does not before the string is
    // made; lib/bytes.js copies what other threads see.
    decode(host, arguments, unsafe {
        std::slice::from_raw_parts(start.as_ptr(), length)
    })
}

/// (array of Uint8Arrays, ...) -> as `of_buffer`.
pub(crate) fn of_chunks(host: &Host, arguments: &Arguments) -> Value {
    let (env, array) = (arguments.env(), arguments.value(0));
    let mut length = 0;
    // SAFETY: the value was given to this very call; what is no array is an error status.
    unsafe { sys::napi_get_array_length(env, array, &raw mut length) };
    let mut chunks: Vec<&[u8]> = Vec::new();
    if chunks.try_reserve_exact(length as usize).is_err() {
        return Error::NoMemory.into();
    }
    for index in 0..length {
        let mut chunk = ptr::null_mut();
        // SAFETY: the array is one; its elements are the library's own.
        unsafe { sys::napi_get_element(env, array, index, &raw mut chunk) };
        let (start, length) = arguments.bytes_of(chunk);
        // SAFETY: as for one.
        chunks.push(unsafe { std::slice::from_raw_parts(start.as_ptr(), length) });
    }
    decode(host, arguments, &chunks[..])
}
