//! Figures of each collective: its time, the two bandwidths, its share of what the links allow, and
//! how alike its ranks are.
//!
//! Owns the rows of collectives. A repetition lasts as long as its slowest rank. Never blames: the
//! exchanges tell which port is slow.

use measure::ByteCount;
use measure::quantile::median;
use page::{Figure, Key, Metric, Unit};
use trial::Collective;

use super::super::collective::{CollectiveCell, CollectiveData, CollectiveSample};
use super::Measured;

/// Collective of one size among some ranks.
#[derive(Debug)]
pub(in super::super) struct CollectiveFinding {
    pub(in super::super) collective: Collective,
    pub(in super::super) size: ByteCount,
    pub(in super::super) ranks: usize,
    /// Time of a repetition.
    pub(in super::super) time: Figure,
    pub(in super::super) algorithm_bandwidth: Figure,
    pub(in super::super) bus_bandwidth: Figure,
    /// Least time that the links need, as a share of the time; `None` if their rates are unknown.
    pub(in super::super) share: Option<Figure>,
    /// Slowest rank's mean step time as a multiple of the mean over ranks.
    pub(in super::super) spread: Figure,
    /// Jain's index over the ranks' mean step times.
    pub(in super::super) jain: Figure,
    /// Port of the rank that was last; `None` without a repetition.
    pub(in super::super) last: Option<String>,
}

impl CollectiveFinding {
    /// All values, in the order of their rows.
    pub(super) fn values(&mut self) -> Vec<&mut Figure> {
        [&mut self.time, &mut self.algorithm_bandwidth, &mut self.bus_bandwidth]
            .into_iter()
            .chain(&mut self.share)
            .chain([&mut self.spread, &mut self.jain])
            .collect()
    }
}

/// Collectives of one scene.
pub(super) fn all(measured: Measured<'_>, at: usize) -> Vec<CollectiveFinding> {
    let none = CollectiveData::default();
    let cells = measured.scenes[at].collectives.iter().enumerate();
    cells
        .map(|(number, cell)| {
            let data = measured.collectives.get(&(at, number)).unwrap_or(&none);
            collective(measured, at, cell, data)
        })
        .collect()
}

fn collective(
    measured: Measured<'_>,
    at: usize,
    cell: &CollectiveCell,
    data: &CollectiveData,
) -> CollectiveFinding {
    let last = last(data).map(|rank| cell.ports[rank].to_string());
    let mut row = measured.row(&measured.scenes[at]);
    row.note(&data.noted);
    row.n = data.samples.iter().map(|sample| sample.repetitions).sum();
    row.set(Key::Collective, cell.collective.as_str());
    row.set(Key::Message, cell.size.0);
    row.set(Key::Nodes, cell.ports.len() as u64);
    if let Some(last) = &last {
        row.set(Key::LastRank, last.clone());
    }
    let values = |of: &dyn Fn(&CollectiveSample) -> Option<f64>| -> Vec<f64> {
        data.samples.iter().filter_map(of).collect()
    };
    let seconds = |sample: &CollectiveSample| Some(sample.time()? / 1e9);
    let bits = 8.0 * cell.size.0 as f64;
    let bandwidth = |factor: f64| {
        values(&|sample| Some(factor * bits / seconds(sample)?.max(f64::MIN_POSITIVE)))
    };
    let bus = cell.bus_factor();
    let share = cell.least.map(|least| {
        let shares = values(&|sample| Some(least / seconds(sample)?.max(f64::MIN_POSITIVE)));
        row.over_blocks(Metric::LinkShare, Unit::Ratio, &shares)
    });
    let mut of_bus = row.clone();
    if let Some(least) = cell.least {
        of_bus.set(Key::WireLimit, bus * bits / least);
    }
    let of_payload = row.clone();
    row.conditions.remove(&Key::RateConvention);
    CollectiveFinding {
        collective: cell.collective,
        size: cell.size,
        ranks: cell.ports.len(),
        time: row.over_blocks(
            Metric::CollectiveTime,
            Unit::Nanoseconds,
            &values(&CollectiveSample::time),
        ),
        algorithm_bandwidth: of_payload.over_blocks(
            Metric::AlgorithmBandwidth,
            Unit::BitsPerSecond,
            &bandwidth(1.0),
        ),
        bus_bandwidth: of_bus.over_blocks(
            Metric::BusBandwidth,
            Unit::BitsPerSecond,
            &bandwidth(bus),
        ),
        share,
        spread: row.over_blocks(
            Metric::StepSpread,
            Unit::Ratio,
            &values(&CollectiveSample::spread),
        ),
        jain: row.over_blocks(Metric::JainIndex, Unit::Ratio, &values(&CollectiveSample::jain)),
        last,
    }
}

/// Rank with the longest time of a repetition, by the median over blocks.
fn last(data: &CollectiveData) -> Option<usize> {
    let ranks = data.samples.first()?.ranks.len();
    let middle = |rank: usize| {
        let times = data.samples.iter().filter_map(|sample| sample.ranks[rank].finish);
        Some((rank, median(&times.collect::<Vec<f64>>())?))
    };
    let all = (0..ranks).filter_map(middle);
    all.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(rank, _)| rank)
}
