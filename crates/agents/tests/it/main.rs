//! The protocol between controller and agent: what is said is understood, and any octets are
//! survived. All run beside each other.

mod any_bytes;
mod protocol;
