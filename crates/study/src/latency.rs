//! The study `latency`: RTTs of a path by size and protocol, idle and under a stated load.
//!
//! Its parts: the request, the background load, the trials, the finding and its page. Never reports
//! an absolute switch latency, because software stamps contain the hosts' own stacks.

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
