//! Collectives among the ports of a scene: their trials, the least time that the links need, and
//! the results kept of each trial.
//!
//! Owns the checks, the flows and the length of a trial. `trial::collective` owns the schedules,
//! `finding` interprets the results. Never orders ports: the first is rank 0.

use std::collections::BTreeMap;

use measure::{ByteCount, Histogram, Nanos};
use page::Caveat;
use trial::collective::{LARGEST_COLLECTIVE, MOST_RANKS, Schedule};
use trial::record::{ExchangeRecord, FlowRecord, ReceiptRecord};
use trial::topology::{Pair, PortRef, Topology};
use trial::{Carrier, Collective, Exchange, Flow, FlowKind, RankPair};

use super::payload::wire_limit;
use super::{FabricSpec, Nodes};
use crate::problem::{self, out_of_range};
use crate::session::Tried;
use crate::{Noted, SpecProblem};

/// Repetitions that a trial has time for if the links carry what they can. The first is not
/// counted, and a fabric that blocks takes longer.
const REPETITIONS: f64 = 6.0;

/// Least number of intervals in a trial.
const INTERVALS: u64 = 10;

/// Largest number of ranks of an all-to-all: each pair has a connection, and a flow's number has 16
/// bits.
const MOST_RANKS_ALL_TO_ALL: usize = 256;

/// Collective of one size among the first ports of a scene.
#[derive(Debug, Clone)]
pub(super) struct CollectiveCell {
    pub(super) collective: Collective,
    pub(super) size: ByteCount,
    /// Ports by rank.
    pub(super) ports: Vec<PortRef>,
    /// Least time that the links need, in seconds; `None` if a rate is unknown.
    pub(super) least: Option<f64>,
    pub(super) duration: Nanos,
    /// Pairs of ranks that exchange something.
    pub(super) pairs: Vec<[u32; 2]>,
}

/// Mean times of one rank in a trial, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RankTimes {
    /// Time of a repetition; `None` for a rank that receives nothing, such as a broadcast's root.
    pub(super) finish: Option<f64>,
    /// Time of a step in which the rank receives something.
    pub(super) step: Option<f64>,
}

/// Trial of a collective in one block.
#[derive(Debug, Clone)]
pub(super) struct CollectiveSample {
    /// Times by rank.
    pub(super) ranks: Vec<RankTimes>,
    /// Repetitions counted.
    pub(super) repetitions: u64,
}

/// All blocks of a collective.
#[derive(Debug, Clone, Default)]
pub(super) struct CollectiveData {
    pub(super) samples: Vec<CollectiveSample>,
    pub(super) noted: Noted,
}

/// All collectives of a study, by scene and place there.
pub(super) type Collectives = BTreeMap<(usize, usize), CollectiveData>;

/// Checks what does not depend on the testbed.
pub(super) fn check(spec: &FabricSpec) -> Result<(), SpecProblem> {
    if spec.collectives.is_empty() {
        return Ok(());
    }
    problem::some("collective size", &spec.collective_sizes)?;
    for size in &spec.collective_sizes {
        if !(1..=LARGEST_COLLECTIVE).contains(&size.0) {
            return Err(out_of_range("a collective's size", size, "from 1B to 1GiB"));
        }
    }
    if spec.carrier != Carrier::Tcp {
        return Err(out_of_range("the carrier of a collective", &"datagrams", "tcp"));
    }
    Ok(())
}

/// Checks the number of ranks.
pub(super) fn check_ports(
    spec: &FabricSpec,
    device: Option<&str>,
    ports: usize,
) -> Result<(), SpecProblem> {
    if spec.collectives.is_empty() {
        return Ok(());
    }
    for ranks in counts(spec, ports) {
        let of_ranks = |range| Err(out_of_range("the number of ranks", &ranks, range));
        // A cable joins two ports only.
        if device.is_none() && ranks != 2 {
            return of_ranks("2 where there is no device between the ports");
        }
        if ranks > MOST_RANKS as usize {
            return of_ranks("at most 1,024: `--nodes N` asks for fewer");
        }
        if spec.collectives.contains(&Collective::AllToAll) && ranks > MOST_RANKS_ALL_TO_ALL {
            return of_ranks("at most 256 in an all-to-all: `--nodes N` asks for fewer");
        }
    }
    Ok(())
}

/// Numbers of ranks: those stated, or all ports.
fn counts(spec: &FabricSpec, ports: usize) -> Vec<usize> {
    match &spec.nodes {
        Nodes::Doubling => vec![ports],
        Nodes::These(_) => spec.nodes.counts(ports),
    }
}

/// Collectives of a scene with these ports.
pub(super) fn cells(
    spec: &FabricSpec,
    ports: &[PortRef],
    topology: &Topology,
) -> Vec<CollectiveCell> {
    let mut wanted = Vec::new();
    for &collective in &spec.collectives {
        for ranks in counts(spec, ports.len()) {
            for size in &spec.collective_sizes {
                // Whatever is named twice is measured once.
                let schedule = Schedule::new(collective, ranks as u32, size.0).ok();
                wanted.extend(schedule.filter(|schedule| !wanted.contains(schedule)));
            }
        }
    }
    let cell = |schedule: Schedule| {
        let ports = ports.get(..schedule.ranks() as usize)?;
        Some(CollectiveCell::new(spec, schedule, ports, topology))
    };
    wanted.into_iter().filter_map(cell).collect()
}

impl CollectiveCell {
    fn new(spec: &FabricSpec, schedule: Schedule, ports: &[PortRef], topology: &Topology) -> Self {
        // In a lab the device's ports are limited, and not the links.
        let rate = |port| {
            let rate = topology.rate(port).or_else(|| topology.limit(port))?;
            Some(wire_limit(rate.0 as f64, Carrier::Tcp))
        };
        let rates: Option<Vec<f64>> = ports.iter().map(rate).collect();
        let least = rates.map(|rates| least_time(&schedule, &rates));
        let enough = Nanos::from_secs_f64(REPETITIONS * least.unwrap_or(0.0));
        Self {
            collective: schedule.collective(),
            size: ByteCount(schedule.octets()),
            ports: ports.to_vec(),
            least,
            duration: enough.max(spec.duration),
            pairs: schedule.pairs().into_iter().collect(),
        }
    }

    /// `collective allreduce:ring 64KiB, 8 nodes`
    pub(super) fn label(&self) -> String {
        format!("collective {} {}, {} nodes", self.collective, self.size, self.ports.len())
    }

    /// Factor from algorithm to bus bandwidth.
    pub(super) fn bus_factor(&self) -> f64 {
        self.collective.bus_factor(self.ports.len() as u32)
    }

    /// Exchanges between the ranks.
    pub(super) fn flows(&self, spec: &FabricSpec) -> Vec<Flow> {
        let interval = spec.interval.max(self.duration / INTERVALS);
        let flow = |(id, [from, to]): (u16, &[u32; 2])| {
            let [source, target] = [from, to].map(|rank| self.ports[*rank as usize].clone());
            let ranks = self.ports.len() as u32;
            let part = RankPair { collective: self.collective, ranks, from: *from, to: *to };
            let kind = FlowKind::Exchange(Exchange {
                message: self.size,
                carrier: Carrier::Tcp,
                interval,
                collective: Some(part),
            });
            Flow { id, ..Flow::measured(&Pair { from: source, to: target }, kind) }
        };
        (1..).zip(&self.pairs).map(flow).collect()
    }
}

/// Least time of a schedule in seconds, for ranks whose ports carry `rates` bits of payload a
/// second each way: a part moves at the slower of its two ports' rates, and one part after another.
fn least_time(schedule: &Schedule, rates: &[f64]) -> f64 {
    // Times at which each rank may begin its step, and at which its port has received all so far.
    let mut begins = vec![0.0_f64; rates.len()];
    let mut received = vec![0.0_f64; rates.len()];
    for at in 0..schedule.steps() {
        let mut over = begins.clone();
        for (rank, begin) in begins.iter().enumerate() {
            let Some(part) = schedule.step(rank as u32, at).send else { continue };
            let peer = part.peer as usize;
            let time = 8.0 * part.octets as f64 / rates[rank].min(rates[peer]);
            let arrival = begin.max(received[peer]) + time;
            received[peer] = arrival;
            over[rank] = over[rank].max(arrival);
            over[peer] = over[peer].max(arrival);
        }
        begins = over;
    }
    begins.into_iter().fold(0.0, f64::max)
}

impl CollectiveData {
    /// Keeps the result of one block's trial.
    pub(super) fn take(&mut self, cell: &CollectiveCell, tried: &Tried) {
        self.noted.observe(tried);
        let Some(record) = tried.valid() else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        let mut ranks = vec![Sums::default(); cell.ports.len()];
        for (flow, record) in tried.trial.flows.iter().zip(&record.flows) {
            if let (
                FlowKind::Exchange(Exchange { collective: Some(part), .. }),
                FlowRecord::Exchange(seen),
            ) = (&flow.kind, record)
            {
                let ExchangeRecord { forward, backward } = seen;
                for (rank, receipt) in [(part.to, forward), (part.from, backward)] {
                    ranks[rank as usize].add(receipt);
                }
            }
        }
        let repetitions = ranks.iter().map(|rank| rank.finishes.count).max().unwrap_or(0);
        let ranks: Vec<RankTimes> = ranks.iter().map(Sums::times).collect();
        if ranks.iter().all(|rank| rank.finish.is_none()) {
            self.noted.doubt(Caveat::NoneCompleted);
            return;
        }
        self.samples.push(CollectiveSample { ranks, repetitions });
    }
}

/// Sum of times.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    time: f64,
    count: u64,
}

impl Sum {
    fn add(&mut self, times: &Histogram) {
        self.time += times.mean() * times.count() as f64;
        self.count += times.count();
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.time / self.count as f64)
    }
}

/// Sums over all that one rank received.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    steps: Sum,
    finishes: Sum,
}

impl Sums {
    fn add(&mut self, receipt: &ReceiptRecord) {
        if !receipt.rounds.is_empty() {
            self.steps.add(&receipt.rounds);
        }
        if !receipt.finishes.is_empty() {
            self.finishes.add(&receipt.finishes);
        }
    }

    fn times(&self) -> RankTimes {
        RankTimes { finish: self.finishes.mean(), step: self.steps.mean() }
    }
}

impl CollectiveSample {
    /// Time of a repetition: that of the slowest rank.
    pub(super) fn time(&self) -> Option<f64> {
        self.ranks.iter().filter_map(|rank| rank.finish).max_by(f64::total_cmp)
    }

    /// Slowest rank's mean step time as a multiple of the mean over ranks.
    pub(super) fn spread(&self) -> Option<f64> {
        let steps: Vec<f64> = self.ranks.iter().filter_map(|rank| rank.step).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let most = steps.iter().copied().max_by(f64::total_cmp)?;
        (mean > 0.0).then_some(most / mean)
    }

    /// Jain's index over the ranks' mean step times.
    pub(super) fn jain(&self) -> Option<f64> {
        let steps: Vec<f64> = self.ranks.iter().filter_map(|rank| rank.step).collect();
        let (sum, squares) =
            steps.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        (squares > 0.0).then(|| sum * sum / (steps.len() as f64 * squares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formulas of the textbook, for ports of one rate: latency aside.
    #[test]
    fn the_least_time_is_the_textbooks() {
        let least = |collective, ranks: u32| {
            let schedule = Schedule::new(collective, ranks, 1 << 20).unwrap();
            // One octet a second.
            least_time(&schedule, &vec![8.0; ranks as usize]) / f64::from(1 << 20)
        };
        for (collective, ranks, expected) in [
            (Collective::AllReduceRing, 8, 14.0 / 8.0),
            (Collective::AllReduceHalvingDoubling, 8, 14.0 / 8.0),
            (Collective::AllReduceHalvingDoubling, 6, 2.0 * 3.0 / 4.0 + 2.0),
            (Collective::AllReduceTree, 8, 6.0),
            (Collective::AllGather, 4, 3.0 / 4.0),
            (Collective::ReduceScatter, 2, 0.5),
            (Collective::AllToAll, 16, 15.0 / 16.0),
            (Collective::Broadcast, 8, 3.0),
        ] {
            let least = least(collective, ranks);
            assert!((least - expected).abs() < 1e-3, "{collective} of {ranks}: {least}");
        }
    }

    /// A ring is as slow as its slowest port.
    #[test]
    fn a_slow_port_holds_a_ring_up() {
        let schedule = Schedule::new(Collective::AllReduceRing, 4, 4000).unwrap();
        let least = least_time(&schedule, &[8.0, 8.0, 4.0, 8.0]);
        assert!((least - 6.0 * 2000.0).abs() < 1e-6, "{least}");
    }

    #[test]
    fn shares_of_ranks() {
        let times = |step| RankTimes { finish: Some(2.0 * step), step: Some(step) };
        let root = RankTimes::default();
        let sample = CollectiveSample { ranks: vec![root, times(1.0), times(3.0)], repetitions: 1 };
        assert_eq!(sample.time(), Some(6.0));
        assert_eq!(sample.spread(), Some(1.5));
        assert_eq!(sample.jain(), Some(16.0 / 20.0));
    }
}
