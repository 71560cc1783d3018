//! Why a trial did not run to its end.
//!
//! Never recorded as such: its words become the record's reason.

use super::assemble::MissingSide;
use super::handle::AgentError;
use super::orders::OrderError;
use super::subjects::SubjectError;

/// What ended a trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The user asked to stop.
    #[error("interrupted")]
    Stopped,
    /// The trial asks for what this testbed has not.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// An agent died, was silent, or could not do its part.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A flow's side broke while it ran.
    #[error("flow {flow} on host `{host}`: {reason}")]
    Flow {
        /// The flow's number.
        flow: u16,
        /// The host's name.
        host: String,
        /// The agent's own words.
        reason: String,
    },
    /// A report is missing although every agent answered.
    #[error(transparent)]
    MissingSide(#[from] MissingSide),
    /// A host without an agent.
    #[error("ask for {ask} on host `{host}`: it has no agent")]
    NoAgent {
        /// The host's name.
        host: String,
        /// The request.
        ask: &'static str,
    },
    /// The device's counters could not be read.
    #[error("read the counters of device `{device}`")]
    Device {
        /// The device's name.
        device: String,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A device is not as the trial asks for it, or was not reset.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// A clock was set while it was read.
    #[error("compare clocks with host `{host}`: its readings contradict each other")]
    Clock {
        /// The host's name.
        host: String,
    },
    /// No randomness for the trial's token.
    #[error("draw the trial's token")]
    Token(#[source] std::io::Error),
}

impl TrialError {
    /// Whether a host refused to start, which it does where it hears of a start that has passed: no
    /// figure came of that, and told earlier it may be in time.
    pub fn missed_the_start(&self) -> bool {
        matches!(self, Self::Agent(AgentError::Refused { ask: "start", .. }))
    }
}
