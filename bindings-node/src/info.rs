//! Numbers that both halves see: statistics of a body, statuses by name, and refused options.

use crate::host::{Arguments, Host, Value, number};
use brimful_core::Info;

/// Writes the statistics where JavaScript reads them; `lib/info.js` knows the same order. -1 stands for "none".
pub(crate) fn tell(host: &Host, info: &Info) {
    let optional = |value: Option<u64>| value.map_or(-1.0, number);
    host.tell(&[
        f64::from(info.error.map_or(0, brimful_core::Error::code)),
        f64::from(info.source_error),
        f64::from(u8::from(info.truncated)),
        f64::from(info.state as i32),
        number(info.received),
        optional(info.expected),
        optional(info.limit),
        number(info.length),
        number(info.source_calls),
        number(info.pendings),
        number(info.copied),
        number(info.rents),
        number(info.allocations),
        number(info.allocated_bytes),
        number(info.peak_held),
        number(info.waste),
    ]);
}

/// The name of a status number.
pub(crate) fn status_name(_: &Host, arguments: &Arguments) -> Value {
    Value::Text(
        brimful_core::status_name(status(arguments, 0))
            .to_string_lossy()
            .into_owned(),
    )
}

/// The sentence that goes with the last `invalid` (which option was out of range) or `encoding` (where the fault is).
pub(crate) fn said(host: &Host, _: &Arguments) -> Value {
    Value::Text(host.said())
}

/// A status number among the arguments; 1, which no error has, for what is none.
#[allow(
    clippy::cast_possible_truncation,
    reason = "checked to be a whole number of the type"
)]
pub(crate) fn status(arguments: &Arguments, index: usize) -> i32 {
    let status = arguments.number(index);
    let whole = status.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&status);
    if whole { status as i32 } else { 1 }
}
