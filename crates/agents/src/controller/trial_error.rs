//! Reasons why a trial did not complete.
//!
//! Never recorded as such: its text becomes the record's reason.

use super::handle::AgentError;
use crate::failed::Failed;

/// Cause of a trial's end.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The user asked to stop.
    #[error("interrupted")]
    Stopped,
    /// An agent died, was silent, or could not do its part.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// This testbed lacks something that the trial needs, or another resource was not available.
    #[error(transparent)]
    Failed(#[from] Failed),
    /// A disturbance could not be undone: the device is left changed.
    #[error(transparent)]
    NotUndone(Failed),
}

impl TrialError {
    /// True if a host refused to start because the start had passed. The trial has no result, and
    /// an earlier order may succeed.
    pub fn missed_the_start(&self) -> bool {
        matches!(self, Self::Agent(AgentError::Refused { ask: "start", .. }))
    }
}
