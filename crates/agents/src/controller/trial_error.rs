//! Why a trial did not run to its end.
//!
//! Never recorded as such: its words become the record's reason.

use super::handle::AgentError;
use crate::failed::Failed;

/// What ended a trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The user asked to stop.
    #[error("interrupted")]
    Stopped,
    /// An agent died, was silent, or could not do its part.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The trial asks for what this testbed has not, or anything else that it needs was not to be
    /// had.
    #[error(transparent)]
    Failed(#[from] Failed),
    /// What was done to a device could not be undone: it is left changed.
    #[error(transparent)]
    NotUndone(Failed),
}

impl TrialError {
    /// Whether a host refused to start, which it does where it hears of a start that has passed: no
    /// figure came of that, and told earlier it may be in time.
    pub fn missed_the_start(&self) -> bool {
        matches!(self, Self::Agent(AgentError::Refused { ask: "start", .. }))
    }
}
