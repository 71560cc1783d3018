//! Summary of a run: one line of `runs`.
//!
//! Data only.

use page::Found;
use serde::{Deserialize, Serialize};
use study::run::RunStatus;

/// Summary of a run: one line of `runs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Id of the run.
    pub id: String,
    /// Time of creation, in nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// Verb of the run.
    pub verb: String,
    /// Name of the testbed.
    pub testbed: String,
    /// Status of the run.
    pub status: RunStatus,
    /// Trials recorded, of any outcome.
    pub trials: u64,
    /// Invalid trials among them.
    pub invalid: u64,
    /// Failed trials among them.
    pub failed: u64,
    /// Process that carries or carried the run out, or [`MERGED`](crate::store::MERGED).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// First answer of its page; `None` if it has none, or is not known without computing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// Label that a user gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Note that a user wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
