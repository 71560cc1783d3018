//! A reader and its device, on loopback: Debian's snmpd if it is installed, and responders with
//! scripted answers. Every test has a device of its own, on a port that the kernel chose.

#![allow(clippy::disallowed_methods, reason = "these tests wait for a device")]

mod any_answer;
mod responder;
mod scripted;
mod signed;
mod snmpd;
