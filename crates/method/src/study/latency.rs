//! The study `latency`: how slow is a path, by size and protocol, at rest and under a stated load.
//!
//! Its parts: the request, the load beside the round trips, the trials, the finding and its page.
//! Never reports an absolute switch latency, because software stamps contain the hosts' own stacks.

mod cell;
mod finding;
mod load;
mod page;
mod request;
mod run;
mod spec;

pub use load::Load;
pub use request::Latency;
pub use spec::LatencySpec;
