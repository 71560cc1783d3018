//! Profiles: how much time a trial takes besides its load.

use measure::Nanos;
use serde::{Deserialize, Serialize};
use trial::Phases;

use crate::{Estimate, TRIAL_OVERHEAD};

/// Length of the phases around a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Shortened for a first look; every figure is marked.
    Quick,
    /// RFC 2544 §23: two seconds before, two after, five to settle.
    Strict,
}

impl Profile {
    /// Phases around a load of the given length.
    pub const fn phases(self, load: Nanos) -> Phases {
        match self {
            Self::Quick => Phases::quick(load),
            Self::Strict => Phases::strict(load),
        }
    }

    /// Estimates one trial with a load of the given length.
    pub(crate) fn trial(self, load: Nanos) -> Estimate {
        Estimate::trial(self.phases(load).total() + TRIAL_OVERHEAD)
    }
}
