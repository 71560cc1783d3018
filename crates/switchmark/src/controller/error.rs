//! Why a testbed could not be brought up.

use lab::LabError;
use measure::Nanos;

use super::launcher::LaunchError;

/// The testbed could not be brought up.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The lab could not be planned, built or prepared.
    #[error("build lab `{name}`")]
    Lab {
        /// As the user named it.
        name: String,
        /// Why.
        #[source]
        cause: LabError,
    },
    /// A simulated testbed has no hosts that an agent could be started on.
    #[error("start agents on testbed `{name}`: it is simulated, and its hosts are models")]
    NotReal {
        /// As the user named it.
        name: String,
    },
    /// This program's own file is unknown, so no agent can be started from it.
    #[error("find this program's own file")]
    Program(#[source] std::io::Error),
    /// An agent could not be started.
    #[error("reach host `{host}`")]
    Launch {
        /// The host's name.
        host: String,
        /// Why.
        #[source]
        cause: Box<LaunchError>,
    },
    /// Hosts could not be made to add delay.
    #[error("have every frame that arrives at a host wait for {delay}")]
    Delay {
        /// For each frame.
        delay: Nanos,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A lab's device does not tell of itself.
    #[error("ask device `{device}` for its facts")]
    Device {
        /// The device's name.
        device: String,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An agent was started and is of no use.
    #[error("bring up the agent on host `{host}`")]
    Agent {
        /// The host's name.
        host: String,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}
