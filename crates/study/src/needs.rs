//! Needs of a study by its request: requirements on the testbed, and options for the display during
//! a run.
//!
//! Owns their structure. Each study fills them in its `spec.rs`, and a campaign by its parts.

use super::SpecProblem;
use measure::{FrameRate, FrameSize, Nanos};
use trial::{Backend, Headers, Offloads, Protocol, Reception};

/// Needs of a study. The default suits any testbed with agents on every host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Needs {
    /// Frame sizes that the ports must carry, the largest of each mix.
    pub sizes: Vec<FrameSize>,
    /// Loads that a link must carry.
    pub loads: Vec<PacedFrames>,
    /// Headers for which ports must have addresses.
    pub headers: Vec<Headers>,
    /// Backend that sends the frames.
    pub backend: Backend,
    /// Name of a test whose loads have even gaps; `None` if there is none.
    pub even_gaps: Option<&'static str>,
    /// Receiver that counts the frames.
    pub receiver: Reception,
    /// Threads that share a load in each direction.
    pub senders: u16,
    /// True if flows are connections, which take more memory than datagrams.
    pub connections: bool,
    /// Protocols without which no trial is valid; UDP if none is named.
    pub protocols: Vec<Protocol>,
    /// Offloads of the hosts during trials.
    pub offloads: Offloads,
    /// Hosts that need an agent.
    pub agents: Agents,
    /// Time at which the direct cable is measured.
    pub bypass: Bypass,
    /// Warm-up before the seconds that are printed while a trial runs; `None` if none are printed.
    pub printed_after: Option<Nanos>,
}

impl Needs {
    /// True if trials need flows of this protocol.
    pub fn carries(&self, protocol: Protocol) -> bool {
        let unnamed = self.protocols.is_empty() && protocol == Protocol::Udp;
        unnamed || self.protocols.contains(&protocol)
    }

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

/// Load with even gaps.
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
    /// All hosts.
    #[default]
    Everywhere,
    /// All hosts except those with an iperf3 server.
    NotAtServers,
    /// All hosts except those where the device's counter is used.
    NotWhereCounted,
    /// No hosts.
    Nowhere,
}

/// Time at which the direct cable is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bypass {
    /// In the same run as the device.
    #[default]
    Beside,
    /// In the same or in another run.
    Recorded,
}
