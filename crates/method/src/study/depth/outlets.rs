//! Which outputs are overfilled, and by whom.
//!
//! Owns the choice where the request leaves it open. Never sees a record.

use measure::Rate;

use super::DepthSpec;
use crate::study::SpecProblem;
use crate::study::buffer::attached;
use trial::topology::{Pair, PortRef, Topology};

/// How an output comes to more than it can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feeding {
    /// One host whose port is faster.
    Conversion,
    /// Several hosts together.
    FanIn,
}

/// One output: the host at its cable's end, and who sends there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outlet {
    pub(super) to: PortRef,
    pub(super) senders: Vec<PortRef>,
    /// Who else could send there.
    pub(super) others: Vec<PortRef>,
    pub(super) feeding: Feeding,
    /// The rate of its cable, where that is known.
    pub(super) link: Option<Rate>,
}

impl Outlet {
    /// Its first sender, and itself.
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

/// Every output asked for, fed by one host where that suffices and by several where there are
/// several.
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

/// Hosts' ports to the device, with its name as [`attached`] gives it.
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
    // Those at the same device first: nothing else is then between.
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

/// Whether one host alone can overfill the other's output: its port is faster, or the device holds
/// its ports to a rate that the hosts' cables don't have.
fn is_faster(topology: &Topology, from: &PortRef, to: &PortRef) -> bool {
    match (topology.rate(from), topology.rate(to)) {
        (Some(from), Some(to)) => from > to,
        (None, None) => topology.limit(to).is_some(),
        _ => false,
    }
}

/// One output, two, three… at once, each with senders of its own: hosts send and receive at the
/// same time, and each sends to one output, so that up to half of the hosts' outputs can be
/// overfilled.
pub(super) fn together(spec: &DepthSpec, topology: &Topology, first: &Outlet) -> Vec<Vec<Outlet>> {
    let mut ports = alike(spec, topology, first);
    // The first estimators' output is the first here too.
    if let Some(at) = ports.iter().position(|port| *port == first.to) {
        ports.swap(0, at);
    }
    let most = usize::from(spec.congested.get()).min(ports.len() / 2);
    (1..=most).map(|count| at_once(spec, &ports, count, first.link)).collect()
}

/// Ports of the same rate at the same device, the output's own among them.
fn alike(spec: &DepthSpec, topology: &Topology, first: &Outlet) -> Vec<PortRef> {
    let all = candidates(spec, topology).unwrap_or_default();
    let place = all.iter().find(|(port, _)| *port == first.to).map(|(_, place)| place.clone());
    let same = |port: &PortRef| topology.rate(port) == first.link;
    let here = all.into_iter().filter(|(port, at)| Some(at) == place.as_ref() && same(port));
    here.map(|(port, _)| port).collect()
}

/// Each port's neighbour sends to it, all at once: as much as the hosts can send, and no output
/// gets more than its cable carries.
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

/// How many hosts' ports are at the same device as this one, itself among them.
pub(super) fn beside(spec: &DepthSpec, topology: &Topology, first: &Outlet) -> u32 {
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
