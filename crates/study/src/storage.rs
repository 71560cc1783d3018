//! The study `storage`: storage I/O over the network, and the network's share of its latency.
//!
//! Messages of the operations' own sizes run alone and then next to a fio job. Never claims a
//! device's share without a direct cable for comparison.

mod added;
mod budget;
mod cell;
mod fill;
mod finding;
pub mod job;
mod measured;
mod page;
mod request;
mod run;
mod spec;
mod what_if;

pub use job::JobFile;
pub use request::Storage;
pub use spec::StorageSpec;
