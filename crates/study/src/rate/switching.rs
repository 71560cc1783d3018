//! The study `switching`: a switch with all its ports at work, by the tests of RFC 2889 and RFC
//! 8239.
//!
//! Owns a file each for the request, the order of the tests, each test, the findings and the page.
//! Never counts a frame from a wrong port as received: it is flooded. A test that cannot be run has
//! a value with the reason.

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
pub use crate::pattern::Pattern;
pub use finding::SwitchingFinding;
pub use request::Switching;
pub use spec::{LearnRate, PortCount, Stations, SwitchingSpec};
