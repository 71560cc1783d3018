//! The protocol between controller and agent: messages are understood, and any octets are survived.
//! All tests run in parallel.

mod any_bytes;
mod protocol;
