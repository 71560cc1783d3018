//! Budget of a watch: the share of links and processors that its trials may take, and when each
//! port and host is free for the next. Pure: moments are nanoseconds of the caller's monotonic
//! clock.

use std::collections::BTreeMap;

use measure::{Nanos, Rate};
use trial::topology::Topology;
use trial::{PortRef, TrialRecord};

use super::plan::{Turn, WatchSpec, WatchedWay, What};

/// Rate assumed for a link of unknown speed, in bits per second.
const UNKNOWN_LINK: f64 = 1e9;
/// Wait in seconds if the share is zero. Unused time is not saved up: trials never come in bursts.
const NOTHING: f64 = 0.0;

/// Cost of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Link time, in seconds at its rate.
    pub link: f64,
    /// Processor time of one processor of each of the two hosts, in seconds.
    pub processor: f64,
}

/// Times at which ports and hosts are free again.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    ports: BTreeMap<PortRef, u64>,
    hosts: BTreeMap<String, u64>,
}

impl Budget {
    /// Time at which both ends of a path are free.
    pub fn free_at(&self, way: &WatchedWay) -> u64 {
        let ports = [&way.from, &way.to].map(|port| self.ports.get(port));
        let hosts = [&way.from.host, &way.to.host].map(|host| self.hosts.get(host));
        ports.into_iter().chain(hosts).flatten().copied().max().unwrap_or(0)
    }

    /// Charges the cost of a trial that began at `began`.
    pub fn spend(&mut self, spec: &WatchSpec, way: &WatchedWay, began: u64, cost: Cost) {
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

/// Longest duration of a round: as if each trial kept one processor busy.
pub fn round_takes(spec: &WatchSpec, topology: &Topology) -> Nanos {
    let (mut budget, mut now, mut first) = (Budget::default(), 0, 0);
    for round in 0..3 {
        for turn in spec.round(0, round) {
            let way = &spec.ways[turn.way];
            now = budget.free_at(way).max(now);
            let cost = Cost::expected(spec, turn, topology);
            budget.spend(spec, way, now, cost);
            now += spec.trial(turn).phases.total().0;
        }
        if round == 0 {
            // The first round has no waits.
            first = now;
        }
    }
    Nanos((now - first) / 2)
}

impl Cost {
    /// Estimates the cost of a turn in advance.
    pub fn expected(spec: &WatchSpec, turn: Turn, topology: &Topology) -> Self {
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
        Self { link, processor: seconds }
    }

    /// Cost of a turn by its record, given the hosts' numbers of processors. Without data, one
    /// processor for the duration of the trial.
    pub fn from_record(
        spec: &WatchSpec,
        turn: Turn,
        topology: &Topology,
        record: &TrialRecord,
        processors: impl Fn(&str) -> Option<f64>,
    ) -> Self {
        let expected = Self::expected(spec, turn, topology);
        let seconds = expected.processor;
        let used = |host: &trial::record::HostUsage| {
            let share = (host.usage.busy - host.usage.foreign).max(0.0);
            Some(share * processors(&host.host)? * seconds)
        };
        let known = record.hosts.iter().filter_map(used).fold(0.0, f64::max);
        Self { processor: if known > 0.0 { known } else { seconds }, ..expected }
    }
}
