//! The testbed of a run: agents on hosts or a model in virtual time, with a person's hands and
//! recorded cables around it, and copies of journals on other machines.
//!
//! Owns the choice between agents and a model ([`Opened`]). Never carries a trial out itself: the
//! crates `agents` and `sim` do.

pub mod far_journal;
mod manual_steps;
mod opened;
mod recorded_cable;
mod simulated;

pub use opened::Opened;
pub use recorded_cable::{CableRun, RecordedCable};
pub use simulated::Simulated;
