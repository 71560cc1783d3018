//! The study `switching`: a switch with all its ports at work, by the tests of RFC 2889 and RFC
//! 8239.
//!
//! Owns a file each for the request, the order of the tests, each test, what was found and its
//! page. Never calls a frame received that came by a wrong port: it is counted as flooded. A test
//! that can't be made where it runs has a value that says why.

mod addresses;
mod broadcast;
mod congestion;
mod finding;
mod incast;
mod line_rate;
mod microburst;
mod page;
mod request;
mod rig;
mod run;
mod spec;
mod throughput;

use super::suite;

pub use super::rules::SearchRules;
pub use super::suite::{NoSuchTest, SwitchTest};
pub use crate::study::pattern::Pattern;
pub use finding::SwitchingFinding;
pub use request::Switching;
pub use spec::{LearnRate, PortCount, Stations, SwitchingSpec};
