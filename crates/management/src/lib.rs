//! Port counters of a switch or router, over its management network.
//!
//! Owns their common form, [`Account`], and two sources: SNMP ([`snmp`]), and a command's JSON by a
//! map of paths ([`json`]). Never runs a command, never knows a trial, and never parses prose: a
//! value that is not found is an error that says what was there instead.

pub mod account;
pub mod json;
pub mod snmp;

pub use account::{Account, Changes, Counter, Doubt, PortAccount};
