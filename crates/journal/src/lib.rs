//! Journal: storage and replay of measurements.
//!
//! Owns the SQLite store and its schema, the `Journal` (a testbed that records and replays
//! another), and the progress of a run. Never makes figures, never reads a clock, never draws
//! randomness: run ids and times come from the caller.

mod journal;
pub mod progress;
pub mod store;
mod summary;

pub use journal::{Journal, JournalCounts, ReplayError, hint_for};
pub use store::{BegunDeed, Merged, Store, StoreError};
pub use study::run::{RunStatus, is_run_id};
pub use summary::RunSummary;
