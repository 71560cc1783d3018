//! The study `sessions`: new TCP connections a second, connections at once, and the time of a
//! handshake, after RFC 9411 §7.2 and §7.5 without HTTP.
//!
//! Never changes the offloads of the hosts' kernels: connections run as in any program.

mod cell;
mod finding;
mod page;
mod request;
mod rows;
mod run;
mod search;
mod spec;

pub use request::Sessions;
pub use spec::{MostConnections, OpeningRate, SessionsSpec, SessionsTest};
