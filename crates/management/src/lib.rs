//! What a switch or router says of its own ports, over its management path.
//!
//! Owns one form of what is said, [`Account`], and each way of hearing it: SNMP ([`snmp`]), and a
//! command's JSON by a map of paths ([`json`]). Never runs a command, never knows a trial, and
//! never guesses at prose: what is not found is an error that says what was there instead.

pub mod account;
pub mod json;
pub mod snmp;

pub use account::{Account, Changes, Counter, Doubt, PortAccount};
