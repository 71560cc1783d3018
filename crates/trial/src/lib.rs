//! The ground that everybody stands on: where trials run, what a trial asks for, and what its
//! record says.
//!
//! Owns topology, flows, trials, records and their books, the gates that make a trial invalid, and
//! the `Testbed` seam. Never does I/O, never reads a clock, and knows neither a study nor a
//! testbed.

mod alike;
pub mod books;
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
