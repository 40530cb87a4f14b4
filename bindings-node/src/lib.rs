//! The native half of the npm package `brimful`: free functions over integer handles, which `lib/*.js` wraps.
//!
//! ```text
//! lib/*.js      what users see: classes, sources, errors, the objects that hold the bytes
//!    │ integers, and numbers in shared memory
//! src/*.rs      this: converts, and owns the engine's things
//!    │
//! brimful       the engine: every rule about bytes, lengths, limits and errors
//! ```
//!
//! The loops over a source are JavaScript (`begin`, `answer`), so that a callback, an async callback and a stream are
//! one path, and no native frame lies below code of the user.

mod blocks;
mod buffer;
mod collector;
mod descriptor;
mod host;
mod info;
mod memory;
mod pool;
mod string;
mod target;
mod text;

use napi::bindgen_prelude::Object;
use napi::{Env, Error, JsValue, Result};
use napi_derive::napi;

/// Pairs each name with a function that Node can call.
macro_rules! functions {
    ($($name:literal => $function:path,)*) => {
        &[$(($name, {
            unsafe extern "C" fn call(
                env: napi::sys::napi_env,
                info: napi::sys::napi_callback_info,
            ) -> napi::sys::napi_value {
                // SAFETY: Node calls this as the function that `Host::register` made of it.
                unsafe { host::enter(env, info, $function) }
            }
            call
        })),*]
    };
}

/// What JavaScript calls each function.
const FUNCTIONS: &[(
    &str,
    unsafe extern "C" fn(napi::sys::napi_env, napi::sys::napi_callback_info) -> napi::sys::napi_value,
)] = functions! {
    "setUp" => set_up,
    "statusName" => info::status_name,
    "said" => info::said,
    "poolNew" => pool::new,
    "poolStats" => pool::stats,
    "poolTrim" => pool::trim,
    "poolClose" => pool::close,
    "poolFree" => pool::free,
    "collectorNew" => collector::new,
    "collectorQuiet" => collector::quiet,
    "collectorReset" => collector::reset,
    "collectorBegin" => collector::begin,
    "collectorAbandon" => collector::abandon,
    "collectorWanted" => collector::wanted,
    "collectorOpen" => descriptor::open,
    "collectorReadFile" => descriptor::read,
    "collectorCloseFile" => descriptor::close,
    "collectorAnswer" => collector::answer,
    "collectorCount" => collector::count_kept,
    "collectorWrite" => collector::write,
    "collectorWriteSome" => collector::write_some,
    "collectorReserve" => collector::reserve,
    "collectorCommit" => collector::commit,
    "collectorEnd" => collector::end,
    "collectorComplete" => collector::complete,
    "collectorFinish" => collector::finish,
    "collectorFinishExact" => collector::finish_exact,
    "collectorTakePartial" => collector::take_partial,
    "collectorCancel" => collector::cancel,
    "collectorCopy" => collector::copy,
    "collectorSegments" => collector::segments,
    "collectorInfo" => collector::info,
    "collectorMessage" => collector::message,
    "collectorFree" => collector::free,
    "descriptorLook" => descriptor::look,
    "descriptorCopy" => descriptor::copy,
    "bufferInfo" => buffer::info,
    "bufferShow" => buffer::show,
    "bufferCopy" => buffer::copy,
    "bufferSlice" => buffer::slice,
    "bufferRelease" => buffer::release,
    "textEncoding" => text::encoding,
    "textCharset" => text::charset,
    "textOfBuffer" => text::of_buffer,
    "textOfChunk" => text::of_chunk,
    "textOfChunks" => text::of_chunks,
};

/// Says whether the memory and the hooks that the JavaScript half gives were taken.
fn set_up(host: &host::Host, arguments: &host::Arguments) -> host::Value {
    host::Value::Number(f64::from(u8::from(host.set_up(arguments))))
}

#[napi(module_exports)]
fn load(exports: Object, env: Env) -> Result<()> {
    // SAFETY: Node is loading the addon into this environment, on its thread, in an open scope.
    match unsafe { host::Host::register(env.raw(), exports.raw(), FUNCTIONS) } {
        true => Ok(()),
        false => Err(Error::from_reason(
            "brimful: the native functions could not be registered",
        )),
    }
}
