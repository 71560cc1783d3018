//! Labs on the real kernel. They run one at a time: each compares what the machine has before and
//! after.

#![allow(clippy::disallowed_methods, reason = "these tests face the kernel")]

mod deeds;
mod emulated;
mod ends;
mod holding;
mod kinds;
mod machines;
mod plans;
mod silence;
mod variants;
mod vm;
