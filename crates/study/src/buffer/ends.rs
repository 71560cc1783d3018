//! Ports that the buffer study's flows go between.
//!
//! Owns the choice where the request leaves it open. Never sees a rate or a record.

use super::BufferSpec;
use crate::{SpecProblem, problem};
use trial::topology::{CableEnd, Pair, PortRef, Topology};

/// All ports of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) from: PortRef,
    pub(super) to: PortRef,
    /// Sender and receiver of the background load; `None` over a direct cable.
    pub(super) background: Option<(PortRef, PortRef)>,
}

/// Returns TCP's ports if the request names one or the devices are chained; `None` for the ports
/// that every study measures between.
pub(super) fn measured_pair(
    spec: &BufferSpec,
    topology: &Topology,
) -> Result<Option<Pair>, SpecProblem> {
    let asked = &spec.ports;
    for port in [&asked.from, &asked.to, &asked.background_from, &asked.background_to] {
        port.as_ref().map_or(Ok(()), |port| problem::known_port(port, topology))?;
    }
    let row = row(topology);
    if asked.from.is_none() && asked.to.is_none() && (row.is_none() || !spec.subjects.is_empty()) {
        return Ok(None);
    }
    let no_pair = || SpecProblem::NoPair { testbed: topology.name.clone() };
    let ports = attached(topology);
    let usual = row.or_else(|| Some((ports.first()?.0.clone(), ports.get(1)?.0.clone())));
    let (first, second) = usual.ok_or_else(no_pair)?;
    let from = match (&asked.from, &asked.to) {
        (Some(from), _) => from.clone(),
        (None, Some(to)) if *to == first => second.clone(),
        (None, _) => first.clone(),
    };
    let other = || if from == second { first } else { second };
    let to = asked.to.clone().unwrap_or_else(other);
    if from.host == to.host {
        return Err(SpecProblem::OneHost { port: to.to_string() });
    }
    Ok(Some(Pair { from, to }))
}

impl Ends {
    /// Returns the ports of `pair` and of the background load.
    pub(super) fn new(
        pair: &Pair,
        spec: &BufferSpec,
        topology: &Topology,
    ) -> Result<Self, SpecProblem> {
        let (from, to) = (pair.from.clone(), pair.to.clone());
        let direct = topology.device_between(pair).is_none();
        if spec.backgrounds.is_empty() || direct {
            return Ok(Self { from, to, background: None });
        }
        let (near, far) = (device_at(&from, topology), device_at(&to, topology));
        let free = |device: &Option<String>| {
            let candidates = ports_on(device.as_deref(), topology).into_iter();
            let mut free = candidates.filter(|p| p.host != from.host && p.host != to.host);
            free.next()
        };
        let asked = &spec.ports;
        let sender = asked.background_from.clone().or_else(|| free(&near));
        let sender = sender.ok_or_else(|| too_few(topology, 3))?;
        let receiver = match &asked.background_to {
            Some(port) => port.clone(),
            // One device: both flows share the receiver's port.
            None if near == far => to.clone(),
            // Two devices: both flows share the cable between them.
            None => free(&far).unwrap_or_else(|| to.clone()),
        };
        if sender.host == receiver.host {
            return Err(SpecProblem::OneHost { port: receiver.to_string() });
        }
        Ok(Self { from, to, background: Some((sender, receiver)) })
    }
}

fn too_few(topology: &Topology, needed: usize) -> SpecProblem {
    let found = attached(topology).len();
    SpecProblem::TooFewHosts { testbed: topology.name.clone(), needed, found }
}

/// Names the device that a port is on. Several devices that are one subject name their ports
/// `leaf2.7`.
fn place(device: &str, port: &str) -> String {
    let member = port.rsplit_once('.').map(|(member, _)| member);
    member.map_or_else(|| device.to_owned(), |member| format!("{device}/{member}"))
}

/// Returns the first port of each host to a device, and that device.
pub(crate) fn attached(topology: &Topology) -> Vec<(PortRef, String)> {
    let of_host = |host: &trial::topology::Host| {
        host.ports.iter().find_map(|port| match &port.cable {
            CableEnd::Device { device, port: far } => {
                let port = PortRef { host: host.name.clone(), port: port.name.clone() };
                Some((port, place(device, far)))
            }
            CableEnd::Host(_) => None,
        })
    };
    topology.hosts.iter().filter_map(of_host).collect()
}

/// Returns one port each of the first two chained devices, else `None`. Devices are chained if no
/// host has ports to two of them.
fn row(topology: &Topology) -> Option<(PortRef, PortRef)> {
    let ports = attached(topology);
    let (first, near) = ports.first()?;
    let (second, _) = ports.iter().find(|(_, device)| device != near)?;
    Some((first.clone(), second.clone()))
}

fn device_at(port: &PortRef, topology: &Topology) -> Option<String> {
    match &topology.port(port)?.cable {
        CableEnd::Device { device, port } => Some(place(device, port)),
        CableEnd::Host(_) => None,
    }
}

/// Returns the first port of every host to the given device.
fn ports_on(name: Option<&str>, topology: &Topology) -> Vec<PortRef> {
    let mut ports = Vec::new();
    for host in &topology.hosts {
        let leads = |cable: &CableEnd| match cable {
            CableEnd::Device { device, port } => Some(place(device, port).as_str()) == name,
            CableEnd::Host(_) => false,
        };
        let port = host.ports.iter().find(|port| leads(&port.cable));
        ports.extend(port.map(|p| PortRef { host: host.name.clone(), port: p.name.clone() }));
    }
    ports
}
