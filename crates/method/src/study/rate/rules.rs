//! Which rules a request's floods and searches keep to: those of the version that recorded it.
//!
//! Never decides what a rule does.

use serde::{Deserialize, Serialize};

/// The rules that a search keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchRules {
    /// A pattern's, of runs recorded before both studies had the same: beside one flood of the
    /// cables, from the mean of the senders' floods on, and without care for few frames or for
    /// floods that were held back.
    #[default]
    OfPatterns,
    /// Of runs recorded before token buckets were looked for: the same for every pattern, and the
    /// direct cables are searched too.
    Common,
    /// The same, and whatever a token bucket may have given is told from the rate.
    Buckets,
}

impl SearchRules {
    /// How closely the tester's own limit is looked for, where the device's is to that precision.
    /// What is *at least* so much is no better known by more trials that the tester can't carry
    /// out.
    pub(super) fn tester_width(self, precision: f64) -> f64 {
        match self {
            Self::Buckets => precision.max(0.05),
            Self::OfPatterns | Self::Common => precision,
        }
    }

    /// Of requests that say nothing of it, of studies whose first rules were these.
    pub(super) const fn common() -> Self {
        Self::Common
    }
}
