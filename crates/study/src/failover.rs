//! The study `failover`: the interruption of steady flows when a deed is done to the device or to
//! one of its paths, and again when it is undone (RFC 6201, RFC 6412).
//!
//! Its request is in `spec`, the order of its trials in `run`. `cell` reads their records, `rows`
//! and `sharing` compute values, `finding` is their structure and `page` shows it. Never does a
//! deed itself, and never one that the testbed does not know.

mod cell;
mod finding;
mod page;
mod request;
mod rows;
mod run;
mod sharing;
mod spec;
mod treatment;

pub use request::Failover;
pub use spec::FailoverSpec;
