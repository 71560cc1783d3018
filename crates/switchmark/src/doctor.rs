//! Checks of hosts before they measure, each as data and as a page: their readiness, the rates of
//! their generator, the limits of emulated devices.
//!
//! Owns which checks there are, and how a page shows each. Never measures by itself: every figure
//! comes out of trials on a testbed like any other.

mod emulator;
mod generator;
mod line_rates;
mod outliers;
mod paths;
mod readiness;

use std::collections::BTreeMap;

use agents::controller::LiveTestbed;
use agents::protocol::Examination;
use measure::Nanos;
use trial::topology::{HostPort, PortRef};
use trial::{Testbed as _, Topology};

use crate::cli::{Failure, lone};

pub use emulator::{Effort, Limits};
pub use generator::Calibration;
pub use line_rates::{LineRates, Place};
pub use readiness::{Checked, DIRECTIONS, Finding, Spoils, State, page as readiness_page};

use outliers::Difference;
use paths::BestRates;

/// MAC address of a link without a cable.
const NO_MAC: &str = "00:00:00:00:00:00";
/// MTU of a port whose host does not report one.
const ORDINARY_MTU: u32 = 1500;
/// Time for which the doctor watches other programs on the hosts.
const WATCHED: Nanos = Nanos::from_millis(800);

/// Runs every check of the hosts, measures what the ports carry if anything passes at all, and
/// compares the hosts with each other.
pub fn look_hard(live: &mut LiveTestbed) -> Result<Checked, Failure> {
    let facts = live.examine(WATCHED).map_err(Failure::unusable)?;
    let mut findings = check(live, &facts)?;
    let prevented = |finding: &Finding| finding.spoils != Spoils::Figures;
    let mut best = BestRates::default();
    if !findings.iter().any(prevented) {
        let pairs = paths::pairs(live.topology());
        let mut carried = paths::carried(live, &pairs)?;
        best = BestRates::from_carried(&carried);
        // A moment's dip is no slow port: a second look decides.
        if differences(live, &facts, &best).iter().any(Difference::is_of_rates) {
            carried.extend(paths::carried(live, &pairs)?);
            best = BestRates::from_carried(&carried);
        }
        findings.extend(readiness::slow_ports(&best));
    }
    Ok(Checked { differences: differences(live, &facts, &best), findings })
}

fn differences(
    live: &LiveTestbed,
    facts: &BTreeMap<String, Examination>,
    best: &BestRates,
) -> Vec<Difference> {
    outliers::compare(&outliers::compared_ports(live.topology(), facts, best))
}

/// Result of a look at the hosts, or at everything.
#[derive(Debug)]
pub struct Looked {
    /// Result of every check.
    pub findings: Vec<Finding>,
    /// Tunnel with the smallest MTU among the test ports, and that MTU; `None` without a tunnel.
    pub shortest_tunnel: Option<(PortRef, u32)>,
}

fn shortest_tunnel(
    topology: &Topology,
    facts: &BTreeMap<String, Examination>,
) -> Option<(PortRef, u32)> {
    let ports = topology.hosts.iter().flat_map(|host| {
        let named = |port: &HostPort| PortRef { host: host.name.clone(), port: port.name.clone() };
        host.ports.iter().map(named)
    });
    let tunnels = ports.filter_map(|at| {
        let link = readiness::link_of(facts, topology, &at)?;
        link.tunnel.then_some((at, link.mtu))
    });
    tunnels.min_by_key(|(_, mtu)| *mtu)
}

/// Runs the checks that need no cable.
pub fn look_at_hosts(live: &mut LiveTestbed) -> Result<Looked, Failure> {
    let facts = live.examine(Nanos::ZERO).map_err(Failure::unusable)?;
    let findings = readiness::judge(live.topology(), &facts, &[], &[]);
    Ok(Looked { findings, shortest_tunnel: shortest_tunnel(live.topology(), &facts) })
}

/// Runs every check of hosts, cables and paths; other programs are watched for as long as
/// `watched`.
pub fn look(live: &mut LiveTestbed, watched: Nanos) -> Result<Looked, Failure> {
    let facts = live.examine(watched).map_err(Failure::unusable)?;
    let findings = check(live, &facts)?;
    Ok(Looked { findings, shortest_tunnel: shortest_tunnel(live.topology(), &facts) })
}

/// Checks hosts, cables and paths, given the facts of the hosts.
fn check(
    live: &mut LiveTestbed,
    facts: &BTreeMap<String, Examination>,
) -> Result<Vec<Finding>, Failure> {
    let topology = live.topology().clone();
    let link = |at: &PortRef| readiness::link_of(facts, &topology, at);
    let may_probe = |at: &PortRef| facts.get(&at.host).is_some_and(readiness::may_probe);
    let mtu = |at: &PortRef| link(at).map_or(ORDINARY_MTU, |link| link.mtu);
    // A loopback leads nowhere, and marked frames take packet sockets.
    let is_cabled = |at: &PortRef| {
        let mac = link(at).and_then(|link| link.mac.as_deref());
        may_probe(at) && mac.is_some_and(|mac| mac != NO_MAC)
    };
    let mark = lone::seed() as u32;
    let proofs = live.prove_cables(&is_cabled, &mtu, mark).map_err(Failure::unusable)?;
    let mut passages = paths::try_passages(live, &paths::pairs(&topology), &mtu)?;
    for passage in passages.iter_mut().filter(|passage| !may_probe(&passage.from)) {
        // Pings take packet sockets too; UDP takes no right.
        (passage.small, passage.full) = (passage.served, passage.served);
        passage.forward.iter_mut().for_each(|way| way.icmp = way.udp);
    }
    for passage in passages.iter_mut().filter(|passage| !may_probe(&passage.to)) {
        passage.back.iter_mut().for_each(|way| way.icmp = way.udp);
    }
    live.learn_openings(paths::openings(&passages));
    Ok(readiness::judge(&topology, facts, &proofs, &passages))
}
