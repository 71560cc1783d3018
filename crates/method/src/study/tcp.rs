//! The study `tcp`: how much TCP payload a path carries, each way alone and both ways at once.
//!
//! Never changes what the hosts' kernels do with segments: TCP runs as any program's would.

mod cell;
mod finding;
mod page;
mod request;
mod rows;
mod run;
mod spec;

pub use request::Tcp;
pub use spec::{TcpDirection, TcpSpec};
