//! The C interface of brimful: one file per noun, with the names that the engine has. `include/brimful.h` is
//! generated from here, and the comments on public items are its text: they are written for readers of C.
//!
//! No rule about bytes, lengths, limits, growth or errors lives here. What does: turning pointers and numbers into
//! the engine's types and back, NULL, `struct_size`, and keeping panics in (see [`guard`]).

#![deny(missing_docs)]
#![allow(non_camel_case_types, reason = "types are named as they are in C")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the comments are the header's text; what every pointer must be is said once, in its conventions"
)]

pub mod status;

pub mod options;

pub mod memory;

pub mod info;

pub mod cancel;

pub mod pool;

pub mod collect;

pub mod collector;

pub mod buffer;

pub mod queue;

mod guard;
