//! The study `tcp`: TCP payload that a path carries, in each direction alone and in both at once.
//!
//! Never changes the offloads of the hosts' kernels: TCP runs as in any program.

mod cell;
mod finding;
mod page;
mod request;
mod rows;
mod run;
mod spec;

pub use request::Tcp;
pub use spec::{TcpDirection, TcpSpec};
