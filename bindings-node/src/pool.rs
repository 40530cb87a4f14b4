//! Pools, whose blocks are ArrayBuffers.

use crate::host::{Arguments, Host, Value, number};
use crate::info;
use crate::memory;
use brimful_core::{Error, Pool, PoolOptions, PoolStats};

/// Bits of the flags of `poolNew`.
const SCRUB: i32 = 1;
const LIST: i32 = 2;

/// (flags; scratch: max_retained, limit, idle_milliseconds, budget, each -1 for the default) -> a handle, or a status.
pub(crate) fn new(host: &Host, arguments: &Arguments) -> Value {
    let flags = info::status(arguments, 0);
    let defaults = PoolOptions::DEFAULT;
    let optional = |index| crate::collector::optional(host, index);
    // SAFETY: the pool lives in the host's table, which is cleared before the blocks go.
    let memory = unsafe { memory::pool_memory(&host.blocks, flags & LIST == 0) };
    let pool = memory.and_then(|memory| {
        Pool::new(PoolOptions {
            max_retained: optional(0).unwrap_or(defaults.max_retained),
            limit: optional(1),
            idle_milliseconds: optional(2).unwrap_or(defaults.idle_milliseconds),
            scrub: flags & SCRUB != 0,
            budget: optional(3),
            memory,
        })
    });
    pool.ok_or(Error::NoMemory).and_then(|pool| host.pools.add(pool)).into()
}

/// (pool; scratch: the statistics in the order of `lib/info.js`) -> 0, or a status.
pub(crate) fn stats(host: &Host, arguments: &Arguments) -> Value {
    let told = host.pools.with(arguments.handle(0), |pool| {
        let PoolStats {
            rented,
            rented_bytes,
            released,
            released_bytes,
            reused,
            reused_bytes,
            allocated,
            allocated_bytes,
            freed,
            freed_bytes,
            outstanding,
            outstanding_bytes,
            retained,
            retained_bytes,
            peak_bytes,
            refused,
        } = pool.stats();
        let counts = [
            rented,
            rented_bytes,
            released,
            released_bytes,
            reused,
            reused_bytes,
            allocated,
            allocated_bytes,
            freed,
            freed_bytes,
            outstanding,
            outstanding_bytes,
            retained,
            retained_bytes,
            peak_bytes,
            refused,
        ];
        host.tell(&counts.map(number));
        Ok(0.0)
    });
    told.into()
}

/// (pool, keep) -> bytes given back, or a status.
pub(crate) fn trim(host: &Host, arguments: &Arguments) -> Value {
    let keep = arguments.count(1).unwrap_or(0) as u64;
    host.pools
        .with(arguments.handle(0), |pool| Ok(number(pool.trim(keep))))
        .into()
}

/// (pool) -> 0, or a status. The pool stays usable; it keeps nothing any more.
pub(crate) fn close(host: &Host, arguments: &Arguments) -> Value {
    let closed = host.pools.with(arguments.handle(0), |pool| {
        pool.close();
        Ok(0.0)
    });
    closed.into()
}

/// (pool): the JavaScript object is gone. Bodies and buffers that are out keep what they need.
pub(crate) fn free(host: &Host, arguments: &Arguments) -> Value {
    drop(host.pools.take(arguments.handle(0)));
    Value::Number(0.0)
}
