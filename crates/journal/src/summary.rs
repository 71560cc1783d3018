//! One line of `runs`: a run as a list has it.
//!
//! Data only.

use method::run::RunStatus;
use serde::{Deserialize, Serialize};

/// One line of `runs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run.
    pub id: String,
    /// Nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// The verb.
    pub verb: String,
    /// The testbed's name.
    pub testbed: String,
    /// How it stands.
    pub status: RunStatus,
    /// Trials recorded, of any outcome.
    pub trials: u64,
    /// Of those, invalid.
    pub invalid: u64,
    /// Of those, failed.
    pub failed: u64,
    /// By whom it is carried out, or was: the process, or [`MERGED`](crate::store::MERGED).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What people wrote about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
