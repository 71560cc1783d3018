//! How much of links and processors the trials may take: when each port and each host is free for
//! the next.
//!
//! Pure: moments are nanoseconds of the caller's clock that stands still for nobody.

use std::collections::BTreeMap;

use measure::{Nanos, Rate};
use trial::topology::Topology;
use trial::{PortRef, TrialRecord};

use super::plan::{Turn, WatchSpec, WatchedWay, What};

/// What a link whose speed nobody knows is taken for.
const UNKNOWN_LINK: f64 = 1e9;
/// Of a port whose share was used up long ago nothing is saved: trials never come in a heap.
const NOTHING: f64 = 0.0;

/// What a trial took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Of a link, in seconds at its rate.
    pub link: f64,
    /// Of one processor of each of the two hosts, in seconds.
    pub processor: f64,
}

/// Who may be asked when.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    ports: BTreeMap<PortRef, u64>,
    hosts: BTreeMap<String, u64>,
}

impl Budget {
    /// When both ends of a way are free.
    pub fn free_at(&self, way: &WatchedWay) -> u64 {
        let ports = [&way.from, &way.to].map(|port| self.ports.get(port));
        let hosts = [&way.from.host, &way.to.host].map(|host| self.hosts.get(host));
        ports.into_iter().chain(hosts).flatten().copied().max().unwrap_or(0)
    }

    /// A trial that began at `began` took so much.
    pub fn spend(&mut self, spec: &WatchSpec, way: &WatchedWay, (began, cost): (u64, Cost)) {
        let until = |seconds: f64, share: f64| {
            let rest = if share > 0.0 { seconds / share } else { NOTHING };
            began.saturating_add(Nanos::from_secs_f64(rest.min(1e8)).0)
        };
        let (link, processor) =
            (until(cost.link, spec.link_share), until(cost.processor, spec.processor_share));
        for port in [&way.from, &way.to] {
            let free = self.ports.entry(port.clone()).or_default();
            *free = link.max(*free);
        }
        for host in [&way.from.host, &way.to.host] {
            let free = self.hosts.entry(host.clone()).or_default();
            *free = processor.max(*free);
        }
    }
}

impl Cost {
    /// Of a turn: what its record tells of processors, of which a host has so many; where it tells
    /// nothing, one processor for as long as the trial lasted.
    pub fn of(
        spec: &WatchSpec,
        turn: Turn,
        (topology, record): (&Topology, &TrialRecord),
        processors: impl Fn(&str) -> Option<f64>,
    ) -> Self {
        let way = &spec.ways[turn.way];
        let rate = [&way.from, &way.to].into_iter().filter_map(|port| topology.rate(port)).min();
        let rate = rate.map_or(UNKNOWN_LINK, Rate::bits_per_second);
        let load = match (turn.what, spec.goodput) {
            (What::Goodput, Some(load)) => load,
            _ => spec.load,
        };
        let seconds = load.as_secs_f64();
        let link = match turn.what {
            What::Frames => spec.bits() / rate,
            What::Goodput => seconds,
        };
        let used = |host: &trial::record::HostUsage| {
            let share = (host.usage.busy - host.usage.foreign).max(0.0);
            Some(share * processors(&host.host)? * seconds)
        };
        let known = record.hosts.iter().filter_map(used).fold(0.0, f64::max);
        Self { link, processor: if known > 0.0 { known } else { seconds } }
    }
}
