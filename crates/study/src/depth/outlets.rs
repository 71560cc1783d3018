//! Outputs to overfill, and their senders.
//!
//! Owns the choice where the request leaves it open. Never sees a record.

use measure::Rate;

use super::DepthSpec;
use crate::SpecProblem;
use crate::buffer::attached;
use trial::topology::{Pair, PortRef, Topology};

/// Way in which an output gets more than it can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feeding {
    /// One host with a faster port.
    Conversion,
    /// Several hosts at once.
    FanIn,
}

/// Output of the device: the host at its cable's end, and its senders.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outlet {
    pub(super) to: PortRef,
    pub(super) senders: Vec<PortRef>,
    /// Other hosts' ports that could send to it.
    pub(super) others: Vec<PortRef>,
    pub(super) feeding: Feeding,
    /// Rate of its cable; `None` if unknown.
    pub(super) link: Option<Rate>,
}

impl Outlet {
    /// Pair of the first sender and the output.
    pub(super) fn pair(&self) -> Pair {
        Pair { from: self.senders[0].clone(), to: self.to.clone() }
    }

    /// `h1/eth1, h3/eth1`
    pub(super) fn senders_in_words(&self) -> String {
        self.senders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// `1 to 1`, `2 to 1`
    pub(super) fn feeding_in_words(&self) -> String {
        format!("{} to 1", self.senders.len())
    }
}

/// Chooses every requested output, with one sender if that is fast enough, and with several if
/// there are several.
pub(super) fn choose(spec: &DepthSpec, topology: &Topology) -> Result<Vec<Outlet>, SpecProblem> {
    let all = candidates(spec, topology)?;
    let ports: Vec<PortRef> = all.iter().map(|(port, _)| port.clone()).collect();
    let outputs = match &spec.outputs[..] {
        [] => ports.get(1).cloned().into_iter().collect(),
        asked => asked.to_vec(),
    };
    let mut outlets = Vec::new();
    for to in outputs {
        if !ports.contains(&to) {
            let known = ports.iter().map(ToString::to_string).collect();
            return Err(SpecProblem::NoPort { port: to.to_string(), known });
        }
        outlets.extend(fed(spec, topology, &all, &to));
    }
    if outlets.is_empty() {
        let testbed = topology.name.clone();
        return Err(SpecProblem::TooFewHosts { testbed, needed: 3, found: ports.len() });
    }
    Ok(outlets)
}

/// Ports of hosts on the device, with its name as [`attached`] returns it.
fn candidates(
    spec: &DepthSpec,
    topology: &Topology,
) -> Result<Vec<(PortRef, String)>, SpecProblem> {
    let all = attached(topology);
    let device = spec.subject.as_ref().map(|subject| subject.device.as_str());
    let device = device.or_else(|| topology.devices.first().map(|d| d.name.as_str()));
    let Some(device) = device else {
        return Err(SpecProblem::NoPair { testbed: topology.name.clone() });
    };
    let leads = |name: &str| name == device || name.starts_with(&format!("{device}/"));
    Ok(all.into_iter().filter(|(_, name)| leads(name)).collect())
}

fn fed(
    spec: &DepthSpec,
    topology: &Topology,
    all: &[(PortRef, String)],
    to: &PortRef,
) -> Vec<Outlet> {
    let place = all.iter().find(|(port, _)| port == to).map(|(_, place)| place);
    let link = topology.rate(to);
    // Ports on the same device come first: nothing else is in between.
    let (near, far): (Vec<_>, Vec<_>) =
        all.iter().filter(|(port, _)| port != to).partition(|(_, other)| Some(other) == place);
    let others: Vec<PortRef> = near.iter().chain(&far).map(|(port, _)| port.clone()).collect();
    let outlet = |senders: Vec<PortRef>, feeding| {
        let rest = others.iter().filter(|port| !senders.contains(port)).cloned().collect();
        Outlet { to: to.clone(), senders, others: rest, feeding, link }
    };
    let mut outlets = Vec::new();
    let faster = |port: &&PortRef| is_faster(topology, port, to);
    if let Some(port) = others.iter().find(faster) {
        outlets.push(outlet(vec![port.clone()], Feeding::Conversion));
    }
    if others.len() >= 2 {
        let count = usize::from(spec.senders.get()).clamp(2, others.len());
        outlets.push(outlet(others[..count].to_vec(), Feeding::FanIn));
    }
    outlets
}

/// True if one host alone can overfill the output. Either its port is faster, or only the device
/// limits its ports' rates.
fn is_faster(topology: &Topology, from: &PortRef, to: &PortRef) -> bool {
    match (topology.rate(from), topology.rate(to)) {
        (Some(from), Some(to)) => from > to,
        (None, None) => topology.limit(to).is_some(),
        _ => false,
    }
}

/// Groups of one, two, three… outputs to overfill at once, with senders of their own. Hosts send
/// and receive at the same time, and send to one output only. Thus up to half of the hosts' outputs
/// can be overfilled.
pub(super) fn together(spec: &DepthSpec, topology: &Topology, first: &Outlet) -> Vec<Vec<Outlet>> {
    let mut ports = alike(spec, topology, first);
    // The first output is the one that the first estimators measured.
    if let Some(at) = ports.iter().position(|port| *port == first.to) {
        ports.swap(0, at);
    }
    let most = usize::from(spec.congested.get()).min(ports.len() / 2);
    (1..=most).map(|count| at_once(spec, &ports, count, first.link)).collect()
}

/// Ports of the same rate on the same device, including the output's own.
fn alike(spec: &DepthSpec, topology: &Topology, first: &Outlet) -> Vec<PortRef> {
    let all = candidates(spec, topology).unwrap_or_default();
    let place = all.iter().find(|(port, _)| *port == first.to).map(|(_, place)| place.clone());
    let same = |port: &PortRef| topology.rate(port) == first.link;
    let here = all.into_iter().filter(|(port, at)| Some(at) == place.as_ref() && same(port));
    here.map(|(port, _)| port).collect()
}

/// Ring of outputs, each fed by its neighbour, all at once. All hosts send at full rate, and no
/// output gets more than its cable carries.
pub(super) fn ring(spec: &DepthSpec, topology: &Topology, first: &Outlet) -> Vec<Outlet> {
    let ports = alike(spec, topology, first);
    let next = ports.iter().cycle().skip(1);
    let outlet = |(to, sender): (&PortRef, &PortRef)| Outlet {
        to: to.clone(),
        senders: vec![sender.clone()],
        others: Vec::new(),
        feeding: Feeding::FanIn,
        link: first.link,
    };
    ports.iter().zip(next).map(outlet).collect()
}

/// Number of hosts' ports on the same device as this output, including its own.
pub(super) fn count_ports_on_device(spec: &DepthSpec, topology: &Topology, first: &Outlet) -> u32 {
    let all = candidates(spec, topology).unwrap_or_default();
    let place = all.iter().find(|(port, _)| *port == first.to).map(|(_, place)| place);
    all.iter().filter(|(_, other)| Some(other) == place).count() as u32
}

fn at_once(spec: &DepthSpec, ports: &[PortRef], count: usize, link: Option<Rate>) -> Vec<Outlet> {
    let mut outlets: Vec<Outlet> = ports[..count]
        .iter()
        .map(|to| Outlet {
            to: to.clone(),
            senders: Vec::new(),
            others: Vec::new(),
            feeding: Feeding::FanIn,
            link,
        })
        .collect();
    for (at, port) in ports.iter().enumerate() {
        let goal = if at < count { (at + 1) % count } else { at % count };
        let outlet = &mut outlets[goal];
        let room = outlet.senders.len() < usize::from(spec.senders.get()).max(2);
        if outlet.to != *port && room {
            outlet.senders.push(port.clone());
        }
    }
    outlets
}
