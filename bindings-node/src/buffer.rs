//! Pooled buffers: finished bodies in the blocks they arrived in.

use crate::host::{Arguments, Host, Value, number};
use crate::info as told;
use brimful_core::{Buffer, Error};

/// Answers a pooled buffer: its handle, and in scratch its statistics.
pub(crate) fn answer(host: &Host, buffer: Result<Buffer, Error>) -> Value {
    let added = buffer.and_then(|buffer| {
        let info = buffer.info();
        let handle = host.buffers.add(buffer)?;
        told::tell(host, &info);
        Ok(handle)
    });
    added.into()
}

/// (buffer; scratch: the statistics) -> 0, or a status.
pub(crate) fn info(host: &Host, arguments: &Arguments) -> Value {
    let told = host.buffers.with(arguments.handle(0), |buffer| {
        told::tell(host, &buffer.info());
        Ok(0.0)
    });
    told.into()
}

/// Shows the piece at `index`. 1, and scratch 0 to 2 have its block, where in the block, and its length; block 0: it
/// lies in none and is to be copied, from the offset in the body that scratch 1 says. 0: there is none at this index.
/// `last`: the body grows no more.
pub(crate) fn show_piece(
    host: &Host,
    pieces: impl Iterator<Item = (usize, usize, bool)>,
    index: usize,
    last: bool,
) -> Result<f64, Error> {
    let mut before = 0;
    for (place, (id, length, _)) in pieces.enumerate() {
        if place == index {
            let offset = match id {
                0 => before,
                id => host.blocks.show(id, length, last).ok_or(Error::Contract)?,
            };
            host.tell(&[number(id as u64), number(offset as u64), number(length as u64)]);
            return Ok(1.0);
        }
        before += length;
    }
    Ok(0.0)
}

/// (buffer, index of a piece; scratch: as `show_piece` says) -> 1, 0 behind the last piece, or a status.
pub(crate) fn show(host: &Host, arguments: &Arguments) -> Value {
    let index = arguments.handle(1);
    let shown = host.buffers.with(arguments.handle(0), |buffer| {
        show_piece(host, buffer.pieces(), index, true)
    });
    shown.into()
}

/// (buffer, offset, target) -> bytes copied, or a status.
pub(crate) fn copy(host: &Host, arguments: &Arguments) -> Value {
    let offset = arguments.count(1).unwrap_or(usize::MAX);
    let copied = host.buffers.with(arguments.handle(0), |buffer| {
        if !buffer
            .pieces()
            .all(|(id, length, _)| id == 0 || host.blocks.has(id, length))
        {
            return Err(Error::Contract);
        }
        let (target, length) = arguments.bytes(2);
        // SAFETY: the memory of a view that is none of a block of ours (lib/bytes.js sees to that), and no JavaScript
        // runs before the copy is done.
        let target = unsafe { std::slice::from_raw_parts_mut(target.as_ptr(), length) };
        Ok(number(buffer.copy(offset, target) as u64))
    });
    copied.into()
}

/// (buffer, offset, length) -> the handle of a slice, which holds all that it was cut from, or a status.
pub(crate) fn slice(host: &Host, arguments: &Arguments) -> Value {
    let offset = arguments.count(1).unwrap_or(usize::MAX);
    let length = arguments.count(2).unwrap_or(usize::MAX);
    let sliced = host
        .buffers
        .with(arguments.handle(0), |buffer| buffer.slice(offset, length));
    sliced.and_then(|slice| host.buffers.add(slice)).into()
}

/// (buffer, abandoned: 1 when the garbage collector found it, so that views of it may be left) -> 0. The blocks go when
/// the last of the buffers that share them does.
pub(crate) fn release(host: &Host, arguments: &Arguments) -> Value {
    let Some(buffer) = host.buffers.take(arguments.handle(0)) else {
        return Value::Number(0.0);
    };
    if arguments.number(1) == 1.0 {
        buffer.pieces().for_each(|(id, ..)| host.blocks.abandon(id));
    }
    Value::Number(0.0)
}
