//! Rules of a request's floods and searches: those of the version that recorded it.
//!
//! Never decides what a rule does.

use serde::{Deserialize, Serialize};

/// Rules of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchRules {
    /// Rules of patterns, for runs recorded before both studies shared theirs. They use one flood
    /// of the cables and start from the mean of the senders' floods. They do not allow for few
    /// frames or for floods that were held back.
    #[default]
    OfPatterns,
    /// Rules of runs recorded before token buckets were detected: the same for every pattern, with
    /// searches of the direct cables.
    Common,
    /// Rules as in `Common`, with token buckets separated from the rate.
    Buckets,
}

impl SearchRules {
    /// Width of the search for the tester's own limit, if the device's has the given precision. An
    /// *at least* value does not improve by more trials beyond the tester's limit.
    pub(super) fn tester_width(self, precision: f64) -> f64 {
        match self {
            Self::Buckets => precision.max(0.05),
            Self::OfPatterns | Self::Common => precision,
        }
    }

    /// Rules of requests that state none, for studies that started with these.
    pub(super) const fn common() -> Self {
        Self::Common
    }
}
