//! Conditions on these hosts that would skew results, and the one command that fixes each.
//!
//! Pure: facts and proofs in, findings out. Owns what counts as good. Never asks a host.

mod cables;
mod hosts;
mod page;
mod ports;
#[cfg(test)]
mod tests;
mod tunnels;

use std::collections::BTreeMap;

use agents::controller::Proof;
use agents::protocol::{Examination, Link, PortExamination, Setting};
use serde::Serialize;
use trial::topology::PortRef;
use trial::{Protocol, Topology};

pub use cables::DIRECTIONS;
pub(super) use hosts::BUSY;
pub use page::page;

use super::outliers::Difference;
use super::paths::{BestRates, Passage};
use crate::config::written::Part;

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing to do.
    Good,
    /// The kernel does not report it.
    Unknown,
    /// Precision may suffer.
    Doubtful,
    /// Figures are spoilt, or nothing can be measured at all.
    Bad,
}

/// One check of one host or port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `h1`, `h1/eth1`.
    pub place: String,
    /// Name of the check.
    pub check: &'static str,
    /// Result of the check.
    pub state: State,
    /// State that was found, in words.
    pub found: String,
    /// Command that fixes it, on that host.
    pub fix: Option<String>,
    /// Settings of the fix, which an agent can make and undo.
    #[serde(skip)]
    pub settings: Vec<Setting>,
    /// Effect on a run, if it is bad.
    #[serde(skip)]
    pub spoils: Spoils,
}

/// Effect of a bad finding on a run, and the part of the testbed file that it concerns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Spoils {
    /// Figures, which are measured all the same.
    #[default]
    Figures,
    /// All of it: no trial can be valid, or none is of what the file says.
    Everything {
        /// A host or a port, as the file names it.
        of: String,
        /// Part of its entry in the file.
        part: Part,
    },
    /// Flows of one protocol.
    Flows {
        /// The protocol.
        protocol: Protocol,
        /// A port, as the file names it.
        of: String,
    },
}

/// Result of all checks of a testbed's hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Checks of each host, port and cable.
    pub findings: Vec<Finding>,
    /// Differences among the hosts.
    pub differences: Vec<Difference>,
}

impl Finding {
    fn new(place: &str, check: &'static str, state: State, found: impl Into<String>) -> Self {
        let (place, found) = (place.to_owned(), found.into());
        let (fix, settings, spoils) = (None, Vec::new(), Spoils::Figures);
        Self { place, check, state, found, fix, settings, spoils }
    }

    /// Marks it as preventing any measurement.
    fn prevents_all(self, of: &str, part: Part) -> Self {
        Self { spoils: Spoils::Everything { of: of.to_owned(), part }, ..self }
    }

    fn prevents_flows(self, protocol: Protocol, of: &str) -> Self {
        Self { spoils: Spoils::Flows { protocol, of: of.to_owned() }, ..self }
    }

    fn fixed_by(mut self, command: impl Into<String>, settings: Vec<Setting>) -> Self {
        (self.fix, self.settings) = (Some(command.into()), settings);
        self
    }
}

/// Every check of every host and port, in the topology's order.
pub fn judge(
    topology: &Topology,
    facts: &BTreeMap<String, Examination>,
    proofs: &[Proof],
    passages: &[Passage],
) -> Vec<Finding> {
    let mut all = Vec::new();
    for host in &topology.hosts {
        all.extend(cables::counted(host));
        let Some(known) = facts.get(&host.name) else { continue };
        all.extend(hosts::of_host(&host.name, known));
        for port in &host.ports {
            let place = format!("{}/{}", host.name, port.name);
            let nothing = PortExamination::default();
            let interface = port.interfaces.first();
            let examined = interface.and_then(|i| known.ports.get(i)).unwrap_or(&nothing);
            all.extend(ports::of_port(&place, port, examined));
            all.extend(tunnels::of_port(&place, port, examined));
            all.extend(cables::mtu(&place, topology, port, facts));
        }
    }
    let hearing = cables::Hearing::from_proofs(topology, proofs);
    all.extend(proofs.iter().flat_map(|proof| cables::cable(topology, facts, &hearing, proof)));
    all.extend(passages.iter().flat_map(cables::passage));
    all
}

/// The link of a port, as its host reports it.
pub fn link_of<'a>(
    facts: &'a BTreeMap<String, Examination>,
    topology: &Topology,
    at: &PortRef,
) -> Option<&'a Link> {
    let interface = topology.port(at)?.interfaces.first()?;
    facts.get(&at.host)?.ports.get(interface)?.link.as_ref()
}

/// True if the host's agent may send and receive marked frames.
pub fn may_probe(known: &Examination) -> bool {
    hosts::has(known, hosts::CAP_NET_RAW)
}

/// Ports that carry far less than the others do.
pub fn slow_ports(best: &BestRates) -> Vec<Finding> {
    cables::slow_ports(best)
}

fn file(path: &str, value: &str) -> Setting {
    Setting::File { path: path.to_owned(), value: value.to_owned() }
}
