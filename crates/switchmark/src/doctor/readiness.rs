//! What would spoil a measurement on these hosts, and the one command that puts each right.
//!
//! Pure: facts and proofs in, findings out. Owns what counts as good. Never asks a host.

mod cables;
mod hosts;
mod page;
mod ports;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use agents::controller::Proof;
use agents::protocol::{Examination, Link, PortExamination, Setting};
use serde::Serialize;
use trial::Topology;
use trial::topology::PortRef;

pub(super) use hosts::BUSY;
pub use page::page;

use super::paths::{Carried, Passage};
use crate::config::written::Part;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing to do.
    Good,
    /// The kernel does not tell.
    Unknown,
    /// It may cost precision.
    Doubtful,
    /// It spoils figures, or nothing can be measured at all.
    Bad,
}

/// One check of one host or port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `h1`, `h1/eth1`.
    pub place: String,
    /// What was looked at.
    pub check: &'static str,
    /// How it came out.
    pub state: State,
    /// What was found.
    pub found: String,
    /// The one command that puts it right, on that host.
    pub fix: Option<String>,
    /// The same, as an agent can do it and undo it.
    #[serde(skip)]
    pub settings: Vec<Setting>,
    /// What is bad about it, where it is.
    #[serde(skip)]
    pub spoils: Spoils,
}

/// What something bad does to a run, and which part of the testbed file speaks of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Spoils {
    /// Figures, which are measured all the same.
    #[default]
    Figures,
    /// All of it: no trial can be valid, or none is of what the file says.
    Everything {
        /// A host or a port, as the file names it.
        of: String,
        /// What the file says of it.
        part: Part,
    },
}

impl Finding {
    fn new(place: &str, check: &'static str, state: State, found: impl Into<String>) -> Self {
        let (place, found) = (place.to_owned(), found.into());
        let (fix, settings, spoils) = (None, Vec::new(), Spoils::Figures);
        Self { place, check, state, found, fix, settings, spoils }
    }

    /// With it nothing can be measured.
    fn prevents_all(self, of: &str, part: Part) -> Self {
        Self { spoils: Spoils::Everything { of: of.to_owned(), part }, ..self }
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
            all.extend(cables::mtu(&place, topology, port, facts));
        }
    }
    let hearing = cables::Hearing::of(topology, proofs);
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

/// Whether the host's agent may send and hear marked frames.
pub fn may_probe(known: &Examination) -> bool {
    hosts::has(known, hosts::CAP_NET_RAW)
}

/// Ports that carry far less than the others do.
pub fn slow_ports(carried: &[Carried]) -> Vec<Finding> {
    cables::slow_ports(carried)
}

fn file(path: &str, value: &str) -> Setting {
    Setting::File { path: path.to_owned(), value: value.to_owned() }
}
