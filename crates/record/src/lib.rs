//! What was measured, kept and shown: the journal of trials, the rows of figures, the report.
//!
//! Owns the SQLite store and its schema, the `Journal` (a testbed that records and replays
//! another), the one JSON object a verb prints, and the HTML report with its plots. Never measures,
//! never reads a clock, never draws randomness: run ids and times come from the caller.

mod accounting;
pub mod export;
pub mod exposition;
pub mod journal;
mod moment;
pub mod progress;
pub mod report;
pub mod rows;
pub mod run;
pub mod store;
mod svg;
pub mod text;

pub use accounting::{Accounting, LeftOut, TrialAccount};
pub use journal::{Journal, JournalCounts, ReplayError, hint_for};
pub use report::{Preface, ReportError, ReportInput, TrialTotals};
pub use rows::figures_json;
pub use run::{RunMeta, RunStatus, RunSummary, SweepPoint, SweptValue, is_run_id};
pub use store::{BegunDeed, Merged, Store, StoreError};
pub use svg::escape;
