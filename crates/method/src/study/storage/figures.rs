//! From blocks to the storage study's figures: what was done, where its time went, what a device
//! adds and what that is worth.
//!
//! Owns when figures contradict each other, and that nothing is said of a network that the
//! operations do not cross. Pure.

use std::collections::BTreeMap;

use measure::quantile;

use super::super::rows::{Row, too_few};
use super::super::ways::{Way, Ways};
use super::added::{Added, Which, agrees, latency, messages, over, practical};
use super::budget::{Crossing, PARTS};
use super::cell::{Cell, CellData, Kind, QUANTILES, Sample};
use super::fill::Path;
use super::{StorageSpec, what_if};
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates, Setting};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Topology;
use trial::record::StorageLocation;

/// Names of estimates, as `estimate` in the conditions has them.
const FROM_LATENCY: &str = "under way / mean latency";
const NO_LATENCY: &str = "at most, with the same link without latency";
const FASTER_LINK: &str = "at most, with a faster link";
const NO_DEVICE: &str = "at most, with a device without latency";
const PREDICTED: &str = "predicted from the round trips";
const REST: &str = "observed less predicted";

type Data = BTreeMap<(usize, Way), CellData>;
/// Every figure of the study, cell by cell.
pub(super) fn all(
    spec: &StorageSpec,
    cells: &[Cell],
    data: &Data,
    (ways, topology): (&Ways, &Topology),
    seed: u64,
) -> Vec<Figure> {
    let empty = CellData::default();
    let mut figures = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let side = |way| data.get(&(at, way)).unwrap_or(&empty);
        let crossing = |way| {
            let path = || Path::of((spec, *cell), side(way), topology, ways.pair(way));
            Crossing::of(spec, side(way), side(way).is_remote().then(path).flatten())
        };
        for way in spec.measured(ways) {
            let (own, bypass) = (side(way), ways.bypass_of(way).map_or(&empty, side));
            let crossing = crossing(way);
            let row = row(spec, *cell, (own, &crossing), ways, way);
            let of = Of { spec, cell: *cell, own, bypass, crossing, ways, way };
            figures.extend(of.done(&row));
            if of.own.is_remote() {
                figures.extend(of.round_trips(&row));
                figures.extend(of.shares(&row));
            }
            figures.extend(of.parts(&row));
        }
        for way in ways.subjects().into_iter().filter(|way| side(*way).is_remote()) {
            let crossing = crossing(way);
            let row = row(spec, *cell, (side(way), &crossing), ways, way);
            if let Some(cable) = ways.bypass_of(way).filter(|_| spec.job.replicas.is_empty()) {
                let setting = ways.setting(way);
                let sides = (side(way), side(cable));
                let crossing = (&crossing, cell.under_way(spec));
                figures.extend(added(&row, sides, crossing, setting, seed));
            }
            figures.extend(what_if::rows(spec, *cell, &row, (side(way), &crossing)));
        }
    }
    figures
}

fn row(
    spec: &StorageSpec,
    cell: Cell,
    (data, crossing): (&CellData, &Crossing<'_>),
    ways: &Ways,
    way: Way,
) -> Row {
    let mut row = Row::of(ways, way, spec.profile);
    row.caveats.extend(crossing.is_full.then_some(Caveat::PathFull));
    row.note(&data.noted);
    (row.n, row.verdict) = (data.operations, ways.judge(way, &Evidence::Nothing));
    row.conditions.extend(cell.conditions(spec));
    if !spec.job.replicas.is_empty() && ways.subject(way).is_some() {
        // There may be a cable, and it leads to no replica.
        row.caveats.remove(&Caveat::NoBypass);
        row.caveats.insert(Caveat::BypassWithoutReplicas);
    }
    row.caveats.extend(match data.location() {
        _ if data.samples.is_empty() => None,
        StorageLocation::Remote => None,
        StorageLocation::Local => Some(Caveat::LocalStorage),
        StorageLocation::Unknown => Some(Caveat::StorageLocationUnknown),
    });
    let bounds = |sample: &Sample| sample.kinds.iter().any(|kind| crossing.is_bound(kind));
    if data.is_remote() && data.most(bounds) {
        row.caveats.insert(Caveat::NetworkAtMost);
    }
    if data.is_inconsistent() {
        row.caveats.insert(Caveat::Inconsistent);
    }
    row
}

/// One cell on one way.
struct Of<'a> {
    spec: &'a StorageSpec,
    cell: Cell,
    own: &'a CellData,
    bypass: &'a CellData,
    crossing: Crossing<'a>,
    ways: &'a Ways,
    way: Way,
}

impl Of<'_> {
    /// A job with so many operations under way does no more than its path lets it, and loses
    /// nothing.
    fn rate(&self, row: &Row, value: impl Fn(&Sample) -> Option<f64>) -> Figure {
        let pairs = self.in_blocks(&value);
        let link = self.crossing.path.as_ref().filter(|path| path.is_link()).and_then(|_| {
            let most = |sample: &Sample| Some(value(sample)? * self.crossing.room(sample));
            quantile::median(&self.own.values(most))
        });
        let plain = RateEvidence::of(Rates::Paired(&pairs), Driven::HeldBack);
        let verdict = self.ways.judge(self.way, &Evidence::Rate(RateEvidence { link, ..plain }));
        // Whether a link is full decides whose limit it is.
        let is_open =
            self.crossing.may_be_full && !self.crossing.is_full && verdict != Verdict::LinkLimited;
        let verdict = if is_open { Verdict::Undetermined } else { verdict };
        let row = Row { verdict, ..row.clone() };
        row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &self.own.values(&value))
    }

    fn delay(&self, row: &Row, metric: Metric, value: impl Fn(&Sample) -> Option<f64>) -> Figure {
        let both =
            self.in_blocks(&value).into_iter().filter_map(|(own, other)| Some((own, other?)));
        let pairs: Vec<(f64, f64)> = both.collect();
        let verdict = self.ways.judge(self.way, &Evidence::Delay(Delays::paired(&pairs)));
        let row = Row { verdict, ..row.clone() };
        row.over_blocks(metric, Unit::Nanoseconds, &self.own.values(&value))
    }

    /// Its own of each block, and the bypass's in the same one. Of operations that cross no network
    /// there is nothing that a direct cable could be compared with.
    fn in_blocks(&self, value: impl Fn(&Sample) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
        if !self.own.is_remote() {
            return Vec::new();
        }
        let beside = |own: &Sample| {
            self.bypass.samples.iter().find(|other| other.block == own.block).and_then(&value)
        };
        self.own.samples.iter().filter_map(|own| Some((value(own)?, beside(own)))).collect()
    }

    /// Of the quantile, which a block's count may be too small for.
    fn at_quantile(
        &self,
        mut figure: Figure,
        (q, write): (f64, bool),
        count: impl Fn(&Kind) -> u64,
    ) -> Figure {
        figure.quantile = Some(q);
        let few = |sample: &Sample| too_few(sample.kind(write).map_or(0, &count) as f64, q);
        if self.own.samples.iter().any(few) {
            figure.caveats.push(Caveat::FewSamples);
            figure.caveats.sort();
        }
        figure
    }

    /// Operations a second, how long they take, and whether the two fit each other.
    fn done(&self, row: &Row) -> Vec<Figure> {
        let mut figures = Vec::new();
        for which in kinds(self.own) {
            let row = of_kind(row, which);
            figures.push(self.rate(&row, |sample| per_second(sample, which)));
            let mean = with(&row, &[(Key::Statistic, "mean".into())]);
            figures.push(self.delay(&mean, Metric::IoLatency, |sample| latency(sample, which)));
            if which.is_none() {
                let row = with(&row, &[(Key::Estimate, FROM_LATENCY.into())]);
                let asked = self.cell.under_way(self.spec);
                figures.push(self.rate(&row, |sample| Some(asked * 1e9 / sample.latency)));
            }
            let Some(write) = which else { continue };
            for (at, q) in QUANTILES.into_iter().enumerate() {
                let value = |sample: &Sample| Some(sample.kind(write)?.quantiles[at]);
                let figure = self.delay(&row, Metric::IoLatency, value);
                figures.push(self.at_quantile(figure, (q, write), |kind| kind.count));
            }
        }
        figures
    }

    /// The round trips of the operations' sizes.
    fn round_trips(&self, row: &Row) -> Vec<Figure> {
        let mut figures = Vec::new();
        for write in kinds(self.own).into_iter().flatten() {
            let row = with(&of_kind(row, Some(write)), &[(Key::Protocol, "tcp".into())]);
            let mean = with(&row, &[(Key::Statistic, "mean".into())]);
            figures.push(self.delay(&mean, Metric::Rtt, |sample| Some(sample.kind(write)?.beside)));
            for (at, q) in QUANTILES.into_iter().enumerate().filter(|(_, q)| *q > 0.0 && *q < 0.999)
            {
                let value = |sample: &Sample| Some(sample.kind(write)?.rtt_quantiles[at]);
                let figure = self.delay(&row, Metric::Rtt, value);
                figures.push(self.at_quantile(figure, (q, write), |kind| kind.round_trips));
            }
        }
        figures
    }

    /// Where the operations' time went.
    fn parts(&self, row: &Row) -> Vec<Figure> {
        let mut figures = Vec::new();
        for write in kinds(self.own).into_iter().flatten() {
            let row = of_kind(row, Some(write));
            for (at, part) in PARTS.into_iter().enumerate() {
                let value = |sample: &Sample| self.crossing.parts(sample.kind(write)?)[at];
                if self.own.values(value).is_empty() {
                    continue;
                }
                let row = with(&row, &[(Key::Part, part.into()), (Key::Statistic, "mean".into())]);
                figures.push(self.delay(&row, Metric::IoLatency, value));
            }
        }
        figures
    }

    /// The network's share, and what there would be without its latency, or over a faster link.
    fn shares(&self, row: &Row) -> Vec<Figure> {
        let mut figures = Vec::new();
        for which in kinds(self.own) {
            let row = of_kind(row, which);
            let values = self.own.values(|sample| {
                let network = over(sample, which, |kind| self.crossing.network(kind))?;
                Some(network / latency(sample, which)?)
            });
            figures.push(row.over_blocks(Metric::NetworkShare, Unit::Ratio, &values));
        }
        let row = of_kind(row, None);
        let asked = self.cell.under_way(self.spec) * 1e9;
        let same_link = |sample: &Sample| {
            let then = self.crossing.without_latency(sample);
            (then > 0.0).then(|| (asked / then).min(self.crossing.most(sample)))
        };
        let faster_link = |sample: &Sample| {
            let then = self.crossing.over_faster_link(sample)?;
            (then > 0.0).then(|| asked / then)
        };
        let data = (self.own, self.crossing.reads());
        figures.extend(at_most(&row, NO_LATENCY, data, same_link));
        figures.extend(at_most(&row, FASTER_LINK, data, faster_link));
        figures
    }
}

/// Operations a second that there would be at most, from what each block tells: the upper end of by
/// how many times more. What blocks differ by themselves is no gain, and the share of reads that
/// chance drew is not the job's.
fn at_most(
    row: &Row,
    estimate: &str,
    (data, reads): (&CellData, f64),
    most: impl Fn(&Sample) -> Option<f64>,
) -> Option<Figure> {
    let bound = [(Key::Estimate, estimate.into()), (Key::Bound, "at most".into())];
    // A block that allows for any number allows for any number.
    let samples: Option<Vec<Sample>> =
        data.samples.iter().map(|sample| sample.with_reads(reads)).collect();
    let samples = samples?;
    let times: Option<Vec<f64>> =
        samples.iter().map(|sample| Some(most(sample)? / sample.per_second)).collect();
    let per_second: Vec<f64> = samples.iter().map(|sample| sample.per_second).collect();
    let now = quantile::median(&per_second)?;
    let row = with(row, &bound);
    let mut figure = row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &times?);
    figure.value = Some(figure.high.unwrap_or(figure.value?) * now);
    figure.set_interval(None);
    Some(figure)
}

/// What the device adds to an operation, as it was and as its round trips tell, and what is left
/// between the two.
fn added(
    row: &Row,
    (device, cable): (&CellData, &CellData),
    (crossing, under_way): (&Crossing<'_>, f64),
    setting: Setting,
    seed: u64,
) -> Vec<Figure> {
    // Operations that wait for each other's octets do not show what a round trip adds to them.
    if row.caveats.contains(&Caveat::PathFull) {
        return Vec::new();
    }
    let mut figures = Vec::new();
    let pairs: Vec<(&Sample, &Sample)> = device
        .samples
        .iter()
        .filter_map(|own| Some((own, cable.samples.iter().find(|s| s.block == own.block)?)))
        .collect();
    let unsteady = device.is_inconsistent() || cable.is_inconsistent();
    for which in kinds(device) {
        let row = with(&of_kind(row, which), &[(Key::Statistic, "mean".into())]);
        let found = Added::of((&pairs, crossing), which, seed);
        let verdicts = if unsteady { [Verdict::Undetermined; 3] } else { found.verdicts(setting) };
        let beside: Vec<f64> = pairs.iter().filter_map(|(_, s)| latency(s, which)).collect();
        let agrees = agrees(found.observed, found.rest, practical(&beside));
        let estimates = [None, Some(PREDICTED), Some(REST)];
        let shifts = [found.observed, found.predicted, found.rest];
        for ((estimate, shift), verdict) in estimates.into_iter().zip(shifts).zip(verdicts) {
            let mut row = Row { verdict, ..row.clone() };
            row.conditions.extend(estimate.map(|name| (Key::Estimate, name.into())));
            if estimate == Some(REST) {
                row.set(Key::Agrees, agrees);
            } else if verdict != Verdict::DeviceLimited {
                row.caveats.insert(Caveat::NotResolved);
            }
            figures.push(row.of_estimate(Metric::IoLatencyAdded, Unit::Nanoseconds, shift));
        }
    }
    let all = of_kind(row, None);
    // The cable's operations with the round trips' difference added: what the device should do.
    let predicted: Vec<f64> = pairs
        .iter()
        .filter_map(|(own, beside)| {
            let longer = messages(crossing, own, None)? - messages(crossing, beside, None)?;
            (beside.latency + longer > 0.0)
                .then(|| beside.per_second * beside.latency / (beside.latency + longer))
        })
        .collect();
    let (asked, reads) = (under_way * 1e9, crossing.reads());
    // What the messages tell, or what was seen, whichever is more; and no messages beside it.
    let without = |own: &Sample| {
        let beside = cable.samples.iter().find(|other| other.block == own.block)?;
        let beside = &beside.with_reads(reads)?;
        let told = messages(crossing, own, None)? - messages(crossing, beside, None)?;
        let over = beside.over_kinds(|kind| crossing.never_waiting(beside, kind));
        let through = own.over_kinds(|kind| crossing.undisturbed(own, kind));
        let then = over.min(through - told.max(0.0));
        (then > 0.0).then(|| (asked / then).min(crossing.most(own)))
    };
    let row = with(&all, &[(Key::Estimate, PREDICTED.into())]);
    figures.push(row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &predicted));
    figures.extend(at_most(&all, NO_DEVICE, (device, reads), without));
    figures
}

/// All together, then each kind that there was.
fn kinds(data: &CellData) -> Vec<Which> {
    let each = [false, true].into_iter().filter(|write| data.has(*write));
    std::iter::once(None).chain(each.map(Some)).collect()
}

fn per_second(sample: &Sample, which: Which) -> Option<f64> {
    match which {
        None => Some(sample.per_second),
        Some(write) => Some(sample.kind(write)?.per_second),
    }
}

fn of_kind(row: &Row, which: Which) -> Row {
    let name = match which {
        None => "all",
        Some(false) => "read",
        Some(true) => "write",
    };
    with(row, &[(Key::Operation, name.into())])
}

fn with(row: &Row, conditions: &[(Key, Condition)]) -> Row {
    let mut row = row.clone();
    row.conditions.extend(conditions.iter().cloned());
    row
}
