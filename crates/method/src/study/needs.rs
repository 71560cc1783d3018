//! Needs of a study as its request has them: the testbed's part in it, and what is told before and
//! during a run.
//!
//! Owns the questions. Each study answers in its `spec.rs`, and a campaign by its parts.

use super::SpecProblem;
use measure::{FrameRate, FrameSize, Nanos};
use trial::{Backend, Headers, Offloads, Reception};

/// Needs of a study; those of one that says nothing are any testbed's with agents at every host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Needs {
    /// Frames that have to fit the ports, the largest of each mix.
    pub sizes: Vec<FrameSize>,
    /// Loads that have to fit a link.
    pub loads: Vec<PacedFrames>,
    /// Headers for which ports have to have addresses.
    pub headers: Vec<Headers>,
    /// The frames' source.
    pub backend: Backend,
    /// A test whose loads have even gaps.
    pub even_gaps: Option<&'static str>,
    /// The frames' counter.
    pub receiver: Reception,
    /// Threads that share a load each way.
    pub senders: u16,
    /// True if flows are connections, which take more memory than datagrams.
    pub connections: bool,
    /// Offloads of the hosts during trials.
    pub offloads: Offloads,
    /// Hosts that need an agent.
    pub agents: Agents,
    /// The direct cable's place in time.
    pub bypass: Bypass,
    /// Warm-up before the seconds that are printed while a trial runs; none: none are.
    pub printed_after: Option<Nanos>,
}

impl Needs {
    /// Refuses super-frames for even gaps: they leave at line rate, which is no constant load.
    pub(super) fn check_bursts(&self) -> Result<(), SpecProblem> {
        match (self.backend, self.even_gaps) {
            (Backend::UdpGso, Some(test)) => {
                Err(SpecProblem::Bursts { backend: self.backend.as_str(), test })
            }
            _ => Ok(()),
        }
    }
}

/// A load of even gaps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacedFrames {
    /// Size of each frame.
    pub size: FrameSize,
    /// Frames a second.
    pub rate: FrameRate,
}

/// Hosts that need an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Agents {
    /// All.
    #[default]
    Everywhere,
    /// All but those with an iperf3 server.
    NotAtServers,
    /// All but those before which a device counts.
    NotWhereCounted,
    /// None.
    Nowhere,
}

/// The direct cable's place in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bypass {
    /// Beside the device.
    #[default]
    Beside,
    /// Also in another run.
    Recorded,
}
