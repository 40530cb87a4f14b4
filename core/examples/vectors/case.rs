//! One vector as the JSON says it. Keys that are not known are refused, so that no expectation is passed over.

use brimful::{End, Options};
use serde_json::{Map, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Drive {
    Pull,
    Push,
    Window,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Pooled,
    Exact,
}

/// What a pull call answers beside its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    Go,
    Pending,
    Retry,
    Failed(i32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Give { count: u64, each: u64, then: Then },
    Answer { times: u64, then: Then },
    Over(u64),
    Cancel,
    End,
}

#[derive(Default)]
pub(crate) struct Expect {
    pub(crate) status: String,
    pub(crate) length: Option<u64>,
    pub(crate) partial: Option<u64>,
    pub(crate) received: Option<u64>,
    pub(crate) min_received: Option<u64>,
    pub(crate) source_error: Option<i32>,
    pub(crate) pendings: Option<u64>,
    pub(crate) truncated: Option<bool>,
    pub(crate) max_calls: Option<u64>,
    pub(crate) max_asked: Option<u64>,
    pub(crate) max_copied: PerKind,
    pub(crate) max_allocated: PerKind,
}

/// A bound that may differ between the two results.
#[derive(Clone, Copy, Default)]
pub(crate) struct PerKind {
    pooled: Option<u64>,
    exact: Option<u64>,
}

impl PerKind {
    pub(crate) fn of(self, kind: Kind) -> Option<u64> {
        match kind {
            Kind::Pooled => self.pooled,
            Kind::Exact => self.exact,
        }
    }
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) drives: Vec<Drive>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) source: Vec<Step>,
    pub(crate) expect: Expect,
}

/// The case, or its name (as far as it has one) and what is wrong with it.
pub(crate) fn parse(value: &Value) -> Result<Case, (String, String)> {
    let name = value
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or("(no name)")
        .to_owned();
    parse_named(value, &name).map_err(|problem| (name, problem))
}

fn parse_named(value: &Value, name: &str) -> Result<Case, String> {
    let map = object(value)?;
    known(map, &["name", "why", "options", "drive", "results", "source", "expect"])?;
    let drives = match map.get("drive").map_or(Some("all"), Value::as_str) {
        Some("pull") => vec![Drive::Pull],
        Some("push") => vec![Drive::Push],
        Some("window") => vec![Drive::Window],
        Some("all") => vec![Drive::Pull, Drive::Push, Drive::Window],
        _ => return Err(format!("drive must be pull, push, window or all, not {}", map["drive"])),
    };
    let kinds = match map.get("results") {
        None => vec![Kind::Pooled, Kind::Exact],
        Some(list) => array(list)?.iter().map(kind).collect::<Result<_, _>>()?,
    };
    let source = array(map.get("source").ok_or("source is missing")?)?
        .iter()
        .map(step)
        .collect::<Result<_, _>>()?;
    Ok(Case {
        name: name.to_owned(),
        options: map.get("options").map_or(Ok(Options::default()), options)?,
        drives,
        kinds,
        source,
        expect: expect(map.get("expect").ok_or("expect is missing")?)?,
    })
}

fn options(value: &Value) -> Result<Options, String> {
    let map = object(value)?;
    known(
        map,
        &[
            "length",
            "end",
            "size_hint",
            "limit",
            "max_prealloc",
            "max_window",
            "truncate",
        ],
    )?;
    let mut options = Options {
        length: number(map, "length")?,
        size_hint: number(map, "size_hint")?,
        limit: number(map, "limit")?,
        ..Options::default()
    };
    options.end = match map.get("end").map(Value::as_str) {
        None => options.end,
        Some(Some("length")) => End::Length,
        Some(Some("eof")) => End::Eof,
        _ => return Err(format!("end must be length or eof, not {}", map["end"])),
    };
    options.truncate = flag(map, "truncate")?.unwrap_or(false);
    options.max_prealloc = number(map, "max_prealloc")?.unwrap_or(options.max_prealloc);
    options.max_window = number(map, "max_window")?.unwrap_or(options.max_window);
    Ok(options)
}

fn step(value: &Value) -> Result<Step, String> {
    let map = object(value)?;
    let count = |key| number(map, key)?.ok_or(format!("{key} must be a number"));
    let (key, step) = if map.contains_key("give") {
        known(map, &["give", "each", "then"])?;
        let then = match map.get("then") {
            None => Then::Go,
            Some(then) => match then.as_str() {
                Some("pend") => Then::Pending,
                Some("retry") => Then::Retry,
                _ => Then::Failed(error_number(then)?),
            },
        };
        let each = number(map, "each")?.unwrap_or(u64::MAX);
        return Ok(Step::Give {
            count: count("give")?,
            each,
            then,
        });
    } else if map.contains_key("pend") {
        (
            "pend",
            Step::Answer {
                times: count("pend")?,
                then: Then::Pending,
            },
        )
    } else if map.contains_key("retry") {
        (
            "retry",
            Step::Answer {
                times: count("retry")?,
                then: Then::Retry,
            },
        )
    } else if let Some(number) = map.get("error") {
        (
            "error",
            Step::Answer {
                times: 1,
                then: Then::Failed(error_number(number)?),
            },
        )
    } else if map.contains_key("over") {
        ("over", Step::Over(count("over")?))
    } else if map.contains_key("cancel") {
        ("cancel", Step::Cancel)
    } else if map.contains_key("end") {
        ("end", Step::End)
    } else {
        return Err(format!("unknown step {value}"));
    };
    known(map, &[key])?;
    Ok(step)
}

fn expect(value: &Value) -> Result<Expect, String> {
    let map = object(value)?;
    known(
        map,
        &[
            "status",
            "length",
            "partial",
            "received",
            "min_received",
            "source_error",
            "pendings",
            "truncated",
            "max_calls",
            "max_asked",
            "max_copied",
            "max_allocated",
        ],
    )?;
    let status = map
        .get("status")
        .and_then(Value::as_str)
        .ok_or("expect.status is missing")?;
    let statuses = [
        "ok",
        "invalid",
        "limit",
        "short",
        "long",
        "source",
        "contract",
        "no_progress",
        "cancelled",
    ];
    if !statuses.contains(&status) {
        return Err(format!("expect.status must be one of {statuses:?}, not {status}"));
    }
    Ok(Expect {
        status: status.to_owned(),
        length: number(map, "length")?,
        partial: number(map, "partial")?,
        received: number(map, "received")?,
        min_received: number(map, "min_received")?,
        source_error: map.get("source_error").map(error_number).transpose()?,
        pendings: number(map, "pendings")?,
        truncated: flag(map, "truncated")?,
        max_calls: number(map, "max_calls")?,
        max_asked: number(map, "max_asked")?,
        max_copied: per_kind(map, "max_copied")?,
        max_allocated: per_kind(map, "max_allocated")?,
    })
}

fn per_kind(map: &Map<String, Value>, key: &str) -> Result<PerKind, String> {
    match map.get(key) {
        Some(Value::Object(bounds)) => {
            known(bounds, &["pooled", "exact"])?;
            Ok(PerKind {
                pooled: number(bounds, "pooled")?,
                exact: number(bounds, "exact")?,
            })
        }
        _ => number(map, key).map(|both| PerKind {
            pooled: both,
            exact: both,
        }),
    }
}

fn kind(value: &Value) -> Result<Kind, String> {
    match value.as_str() {
        Some("pooled") => Ok(Kind::Pooled),
        Some("exact") => Ok(Kind::Exact),
        _ => Err(format!("results may hold pooled and exact, not {value}")),
    }
}

fn known(map: &Map<String, Value>, keys: &[&str]) -> Result<(), String> {
    match map.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown key {key}; known here are {keys:?}")),
        None => Ok(()),
    }
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("an object was expected, not {value}"))
}

fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value
        .as_array()
        .ok_or_else(|| format!("a list was expected, not {value}"))
}

/// A count of bytes or calls: a number, or above 2^53 - 1 a string of digits; missing and null are none.
fn number(map: &Map<String, Value>, key: &str) -> Result<Option<u64>, String> {
    let refused = |value: &Value| format!("{key} must be a count or a string of digits, not {value}");
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value @ Value::String(digits)) => digits.parse().map(Some).map_err(|_| refused(value)),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| refused(value)),
    }
}

fn flag(map: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    map.get(key)
        .map(|value| {
            value
                .as_bool()
                .ok_or_else(|| format!("{key} must be true or false, not {value}"))
        })
        .transpose()
}

fn error_number(value: &Value) -> Result<i32, String> {
    let number = value
        .as_i64()
        .and_then(|number| i32::try_from(number).ok())
        .filter(|number| *number < 0);
    number.ok_or_else(|| format!("an error is a negative 32-bit number, not {value}"))
}
