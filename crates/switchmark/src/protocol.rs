//! What controller and agent say to each other, and how it is put into bytes.
//!
//! Owns the messages and their framing: a big-endian u32 length, then JSON. Never does anything a
//! message asks for, and never trusts a length or a byte that it reads.

mod frame;

pub use frame::{FRAME_LIMIT, FrameError};
