//! The study `storage`: what a network does to reads and writes, and how much of their time is its
//! own.
//!
//! Round trips of the operations' own sizes run alone and then beside a job of fio's. Never claims
//! a device's share without a direct cable beside it.

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
