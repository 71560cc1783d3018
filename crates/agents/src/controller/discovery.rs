//! Discovery of hosts' ports and cables, before there is a testbed file.
//!
//! Owns the whole procedure: agents are started on hosts of which only the address is known, their
//! ports taken up, and frames sent out of each. Ports that are needed otherwise send nothing. Ports
//! that were taken up go down again with the agents.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use measure::Nanos;
use trial::Topology;
use trial::topology::{CableEnd, Host, HostPort, PortRef};

use super::Stop;
use super::launching::{Launching, useless};
use super::own_addresses::OwnAddresses;
use super::pool::AgentPool;
use super::program::own_file;
use super::readiness::Proof;
use super::rights;
use super::testbed::LiveTestbed;
use crate::failed::Failed;
use crate::hosts::{HostsConfig, Reach};
use crate::protocol::{Answer, Ask, Kept, NicFacts};

/// Time-out for listing links.
const LISTING: Duration = Duration::from_secs(20);
/// Time after which frames are sent again, because a switch's ports may then forward: with spanning
/// tree a port waits twice 15 s (IEEE Std 802.1D-2004, table 17-1).
const FORWARDING: Nanos = Nanos::from_secs(32);

/// A host to examine.
#[derive(Debug, Clone)]
pub struct Known {
    /// Name of the host.
    pub name: String,
    /// Address and transport of the host.
    pub reach: Reach,
    /// Command prefix that makes its agent root's; `None` if not needed.
    pub becomes: Option<String>,
}

/// Result of the discovery.
#[derive(Debug)]
pub struct Surroundings {
    /// Ports by host, in the order of the hosts.
    pub nics: Vec<(String, Vec<NicFacts>)>,
    /// Ports reached by the frames out of each port that is free to use.
    pub proofs: Vec<Proof>,
    /// Host whose agent may not send such frames, so that none were sent; `None` if all may.
    pub without_probes: Option<String>,
}

impl Surroundings {
    /// Discovers ports and cables. `mark` identifies our own frames. `patient` waits for switches
    /// with a spanning tree if a port with a link heard nothing. Without the right to send frames,
    /// only the ports are listed.
    pub fn discover(hosts: &[Known], mark: u32, patient: bool, stop: Stop) -> Result<Self, Failed> {
        let program = own_file()?;
        let config = portless(hosts);
        let mut topology = config.topology("hosts");
        let mut launching = Launching::of_hosts(&program, &config, &topology);
        let mut pool = AgentPool::new(stop, topology.one_machine());
        launching.start(&topology, None, &mut pool)?;
        let listed = list(hosts, &topology, &mut pool)?;
        if let Some(host) = rights::without_probes(&topology, &mut pool)? {
            return Ok(Self { nics: listed, proofs: Vec::new(), without_probes: Some(host) });
        }
        for (host, (_, nics)) in topology.hosts.iter_mut().zip(&listed) {
            host.ports = nics.iter().filter(|nic| nic.kept.is_none()).map(unknown).collect();
        }
        launching.agree(&topology, &mut pool)?;
        let ports = topology
            .hosts
            .iter()
            .flat_map(|host| host.ports.iter().map(|port| (host.name.clone(), port.name.clone())));
        let up = OwnAddresses::none_but_up(ports);
        up.apply(None, &mut pool).map_err(Failed::to("take the hosts' ports up"))?;
        // A link that was down reports its speed only now.
        let nics = list(hosts, &topology, &mut pool)?;
        let proofs = prove(&mut LiveTestbed::over(pool, topology, launching), mark, patient)?;
        Ok(Self { nics, proofs, without_probes: None })
    }
}

/// Lists every host's ports.
fn list(
    hosts: &[Known],
    topology: &Topology,
    pool: &mut AgentPool,
) -> Result<Vec<(String, Vec<NicFacts>)>, Failed> {
    let of_host = |(known, host): (&Known, &Host)| {
        let nics = pool.ask(&host.name, Ask::Nics, LISTING, |answer| match answer {
            Answer::Nics { nics } => Some(nics),
            _ => None,
        });
        let mut nics = nics.map_err(|cause| useless(&host.name, cause))?;
        doubt_default_route(&known.reach, &mut nics);
        Ok((host.name.clone(), nics))
    };
    hosts.iter().zip(&topology.hosts).map(of_host).collect()
}

/// Marks the port of the default route where a launcher reaches the host by an unknown one: the
/// launcher's connection is most likely there.
fn doubt_default_route(reach: &Reach, nics: &mut [NicFacts]) {
    let is_here = matches!(reach, Reach::Local | Reach::Netns(_) | Reach::Pid(_));
    if is_here || nics.iter().any(|nic| nic.kept == Some(Kept::Launcher)) {
        return;
    }
    for nic in nics.iter_mut().filter(|nic| nic.kept == Some(Kept::DefaultRoute)) {
        nic.kept = Some(Kept::PerhapsLauncher);
    }
}

fn prove(live: &mut LiveTestbed, mark: u32, patient: bool) -> Result<Vec<Proof>, Failed> {
    let examined = live.examine(Nanos::ZERO)?;
    let link = |at: &PortRef| examined.get(&at.host)?.ports.get(&at.port)?.link.as_ref();
    let mtu = |at: &PortRef| link(at).map_or(1500, |link| link.mtu);
    let has_link = |at: &PortRef| link(at).is_some_and(|link| link.carrier);
    let proofs = live.prove_cables(&has_link, &mtu, mark)?;
    let lonely = proofs.iter().any(|proof| proof.small.is_empty());
    if !(patient && lonely) {
        return Ok(proofs);
    }
    live.pool.stop().rest(FORWARDING).map_err(Failed::to("wait for the switch's ports"))?;
    live.prove_cables(&has_link, &mtu, mark)
}

/// Builds a configuration of hosts without ports.
fn portless(hosts: &[Known]) -> HostsConfig {
    let host = |known: &Known| {
        let reach = known.reach.to_string();
        Host { name: known.name.clone(), reach, ports: Vec::new() }
    };
    let becomes = |known: &Known| Some((known.name.clone(), known.becomes.clone()?));
    HostsConfig {
        hosts: hosts.iter().map(host).collect(),
        reaches: hosts.iter().map(|known| (known.name.clone(), known.reach.clone())).collect(),
        own_addresses: BTreeMap::new(),
        macs: BTreeMap::new(),
        becomes: hosts.iter().filter_map(becomes).collect(),
        devices: Vec::new(),
        hooks: BTreeMap::new(),
        accounts: BTreeMap::new(),
        delay: Nanos::ZERO,
        limits: crate::hosts::Limits::default(),
    }
}

/// Builds a port with an unknown cable.
fn unknown(nic: &NicFacts) -> HostPort {
    HostPort::plain(&nic.name, IpAddr::V4(Ipv4Addr::UNSPECIFIED), CableEnd::device("", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_is_doubtful_where_no_port_is_the_launchers() {
        let check = |reach: Reach, kept: &[Option<Kept>], expected: &[Option<Kept>]| {
            let nic = |kept: &Option<Kept>| NicFacts { kept: kept.clone(), ..NicFacts::default() };
            let mut nics: Vec<NicFacts> = kept.iter().map(nic).collect();
            doubt_default_route(&reach, &mut nics);
            let found: Vec<Option<Kept>> = nics.into_iter().map(|nic| nic.kept).collect();
            assert_eq!(found, expected, "{reach}");
        };
        let (route, doubtful) = (Some(Kept::DefaultRoute), Some(Kept::PerhapsLauncher));
        let (launcher, bridge) = (Some(Kept::Launcher), Some(Kept::PartOf("br0".to_owned())));
        let mpirun = || Reach::Mpirun("node1".to_owned());
        check(mpirun(), &[route.clone(), None], &[doubtful, None]);
        check(mpirun(), &[route.clone(), launcher.clone()], &[route.clone(), launcher]);
        check(mpirun(), &[bridge.clone(), None], &[bridge, None]);
        let own = std::slice::from_ref(&route);
        check(Reach::Netns("left".to_owned()), own, own);
        check(Reach::Local, own, own);
    }
}
