//! Foundation of all other crates: topologies, trials and trial records.
//!
//! Owns topology, flows, trials, records and their frame accounting, the validity gates, and the
//! `Testbed` trait. Never does I/O, never reads a clock, and knows neither studies nor testbeds.

mod alike;
pub mod books;
pub mod collective;
pub mod counters;
pub mod credits;
mod flow;
mod futile;
pub mod other_traffic;
pub mod record;
mod recorded;
mod round_trips;
mod testbed;
pub mod topology;
mod trial;
pub mod validity;

pub use collective::{Collective, RankPair};
pub use flow::*;
pub use futile::Futile;
pub use other_traffic::{OtherTraffic, other_traffic};
pub use record::{FlowRecord, Outcome, TrialRecord};
pub use recorded::{BlockIndex, PlanChanged, Recorded, Records, Unread};
pub use round_trips::RoundTrips;
pub use testbed::{Observed, Result, Testbed, TestbedError};
pub use topology::{PortRef, Topology};
pub use trial::*;
pub use validity::judge;
