//! Values of one case from its blocks: operations, latency budget, and predictions for another
//! link.
//!
//! Owns the conditions and caveats that all values of a case share, and the rule against network
//! values for operations that cross none. Pure.

use std::collections::BTreeMap;

use measure::quantile;

use super::StorageSpec;
use super::budget::{Crossing, PARTS};
use super::cell::{Cell, CellData, Kind, QUANTILES, Sample, Which};
use super::fill::Path;
use super::finding::{Operations, StorageCase, StorageFinding};
use crate::rows::{Row, too_few};
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates};
use crate::{Way, Ways};
use page::{AT_MOST, Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::record::StorageLocation;
use trial::{Pattern, Topology};

/// Blocks of each cell and path, by the cell's index.
pub(super) type Data = BTreeMap<(usize, Way), CellData>;

impl StorageFinding {
    /// Computes the findings from the blocks of each cell on each path.
    pub(super) fn new(
        spec: &StorageSpec,
        data: &Data,
        ways: &Ways,
        topology: &Topology,
        seed: u64,
    ) -> Self {
        let empty = CellData::default();
        let case = |at: usize, cell: Cell, way: Way| {
            let blocks = |way| data.get(&(at, way)).unwrap_or(&empty);
            let (own, cable) = (blocks(way), ways.bypass_of(way).map_or(&empty, blocks));
            let path = || Path::for_cell(spec, cell, own, topology, ways.pair(way));
            let crossing = Crossing::new(spec, own, own.is_remote().then(path).flatten());
            Blocks { spec, cell, own, cable, crossing, ways, way }.case(seed)
        };
        let cases = |(at, cell): (usize, Cell)| {
            spec.measured(ways).into_iter().map(|way| case(at, cell, way)).collect()
        };
        Self { cells: spec.cells().into_iter().enumerate().map(cases).collect() }
    }
}

/// Blocks of one size and depth on one path.
pub(super) struct Blocks<'a> {
    pub(super) spec: &'a StorageSpec,
    pub(super) cell: Cell,
    pub(super) own: &'a CellData,
    /// Blocks of the direct cable; empty without one.
    pub(super) cable: &'a CellData,
    pub(super) crossing: Crossing<'a>,
    pub(super) ways: &'a Ways,
    pub(super) way: Way,
}

/// Getter of a count of samples, and their [`QUANTILES`].
type Pick = fn(&Kind) -> (u64, [f64; QUANTILES.len()]);

impl Blocks<'_> {
    /// Case of these blocks.
    pub(super) fn case(&self, seed: u64) -> StorageCase {
        let kind = |write: bool| self.own.has(write).then(|| self.operations(Some(write), seed));
        let (crossing, is_compared) = (&self.crossing, self.has_comparison());
        StorageCase {
            place: self.ways.place(self.way),
            cable: self.ways.bypass_of(self.way).map(|cable| self.ways.place(cable)),
            has_device: self.ways.subject(self.way).is_some(),
            job: self.cell.job(self.spec),
            location: self.own.location(),
            is_full: crossing.is_full,
            is_network_at_most: self.is_network_at_most(),
            all: self.operations(None, seed),
            reads: kind(false),
            writes: kind(true),
            without_latency: self.at_most("link-without-latency", true, |sample| {
                Some(crossing.without_latency(sample))
            }),
            over_faster_link: self.at_most("faster-link", false, |s| crossing.over_faster_link(s)),
            predicted: is_compared.then(|| self.predicted_rate()),
            without_device: is_compared.then(|| self.rate_without_device()).flatten(),
            what_if: self.what_if(),
        }
    }

    /// Operations of a kind, their latency budget, and the latency added by the device.
    fn operations(&self, which: Which, seed: u64) -> Operations {
        let is_remote = self.own.is_remote();
        let row = self.row(which);
        let rate = self.rate(row.clone(), |sample| sample.per_second_of(which));
        let latency = |sample: &Sample| sample.latency_of(which);
        let from_latency = || {
            let asked = self.cell.under_way(self.spec);
            let row = self.row(None).with(Key::Estimate, "from-latency");
            self.rate(row, |sample| Some(asked * 1e9 / sample.latency))
        };
        Operations {
            word: word(which),
            rate,
            latency: self.delay(row.with(Key::Statistic, "mean"), Metric::IoLatency, latency),
            rate_from_latency: which.is_none().then(from_latency),
            quantiles: which.map(|write| self.quantiles(write)),
            round_trips: which.filter(|_| is_remote).map(|write| self.round_trips(write)),
            network_share: is_remote.then(|| self.network_share(which)),
            parts: which.map_or_else(Default::default, |write| self.parts(write)),
            added: self.has_comparison().then(|| self.added(which, seed)),
        }
    }

    /// Quantiles of the operations' latency.
    fn quantiles(&self, write: bool) -> [Figure; QUANTILES.len()] {
        let row = self.row(Some(write));
        let pick: Pick = |kind| (kind.count, kind.quantiles);
        std::array::from_fn(|at| self.quantile(row.clone(), Metric::IoLatency, write, pick, at))
    }

    /// RTTs of the operations' sizes: the mean, the median and p99.
    fn round_trips(&self, write: bool) -> [Figure; 3] {
        let row = self.row(Some(write)).with(Key::Protocol, "tcp");
        let beside = |sample: &Sample| Some(sample.kind(write)?.beside);
        let pick: Pick = |kind| (kind.round_trips, kind.rtt_quantiles);
        let quantile = |at| self.quantile(row.clone(), Metric::Rtt, write, pick, at);
        let mean = row.clone().with(Key::Statistic, "mean");
        [self.delay(mean, Metric::Rtt, beside), quantile(1), quantile(2)]
    }

    /// Value of [`QUANTILES`], marked if a block's count is too small for it.
    fn quantile(&self, row: Row, metric: Metric, write: bool, pick: Pick, at: usize) -> Figure {
        let q = QUANTILES[at];
        let value = |sample: &Sample| Some(pick(sample.kind(write)?).1[at]);
        let mut figure = Figure { quantile: Some(q), ..self.delay(row, metric, value) };
        let count = |sample: &Sample| sample.kind(write).map_or(0, |kind| pick(kind).0);
        if self.own.samples.iter().any(|sample| too_few(count(sample) as f64, q)) {
            figure.doubt(Caveat::FewSamples);
        }
        figure
    }

    /// Share of the network in the operations' latency.
    fn network_share(&self, which: Which) -> Figure {
        let values = self.own.values(|sample| {
            let network = sample.mean_of(which, |kind| self.crossing.network(kind))?;
            Some(network / sample.latency_of(which)?)
        });
        self.row(which).over_blocks(Metric::NetworkShare, Unit::Ratio, &values)
    }

    /// Parts of the operations' latency, as far as known.
    fn parts(&self, write: bool) -> [Option<Figure>; PARTS.len()] {
        std::array::from_fn(|at| {
            let value = |sample: &Sample| self.crossing.parts(sample.kind(write)?)[at];
            let row = self.row(Some(write)).with(Key::Statistic, "mean").with(Key::Part, PARTS[at]);
            let is_known = !self.own.values(value).is_empty();
            is_known.then(|| self.delay(row, Metric::IoLatency, value))
        })
    }

    /// Maximum operations a second if an operation had the given latency: the upper end of each
    /// block's gain. Variation between blocks is no gain, and a random share of reads is not the
    /// job's. `None` for operations that cross no network.
    pub(super) fn at_most(
        &self,
        name: &str,
        is_same_link: bool,
        time: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Figure> {
        let asked = self.cell.under_way(self.spec) * 1e9;
        // A block without a limit allows any number.
        let times = |own: &Sample| {
            let own = own.with_reads(self.crossing.reads())?;
            let most = if is_same_link { self.crossing.most(&own) } else { f64::INFINITY };
            let then = time(&own).filter(|time| *time > 0.0)?;
            Some((own.per_second, (asked / then).min(most) / own.per_second))
        };
        let blocks = self.own.samples.iter().filter(|_| self.own.is_remote()).map(times);
        let (now, times): (Vec<f64>, Vec<f64>) =
            blocks.collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let now = quantile::median(&now)?;
        let row = self.row(None).with(Key::Estimate, name).with(Key::Bound, AT_MOST);
        let mut figure = row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &times);
        figure.value = Some(figure.high.unwrap_or(figure.value?) * now);
        figure.set_interval(None);
        Some(figure)
    }

    /// Rate of a job with a fixed number of operations in flight, which sends only what its path
    /// allows and loses nothing.
    fn rate(&self, row: Row, value: impl Fn(&Sample) -> Option<f64>) -> Figure {
        let pairs = self.in_blocks(&value);
        let link = self.crossing.path.as_ref().filter(|path| path.is_link()).and_then(|_| {
            let most = |sample: &Sample| Some(value(sample)? * self.crossing.room(sample));
            quantile::median(&self.own.values(most))
        });
        let plain = RateEvidence::new(Rates::Paired(&pairs), Driven::HeldBack);
        let verdict = self.ways.judge(self.way, &Evidence::Rate(RateEvidence { link, ..plain }));
        // A full link decides the limiting component.
        let is_open =
            self.crossing.may_be_full && !self.crossing.is_full && verdict != Verdict::LinkLimited;
        let verdict = if is_open { Verdict::Undetermined } else { verdict };
        let row = Row { verdict, ..row };
        row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &self.own.values(&value))
    }

    fn delay(&self, row: Row, metric: Metric, value: impl Fn(&Sample) -> Option<f64>) -> Figure {
        let both = self.in_blocks(&value).into_iter();
        let pairs: Vec<(f64, f64)> = both.filter_map(|(own, cable)| Some((own, cable?))).collect();
        let verdict = self.ways.judge(self.way, &Evidence::Delay(Delays::paired(&pairs)));
        let row = Row { verdict, ..row };
        row.over_blocks(metric, Unit::Nanoseconds, &self.own.values(&value))
    }

    /// Value of each block, paired with the cable's in that block. Operations that cross no network
    /// have no comparable cable.
    fn in_blocks(&self, value: impl Fn(&Sample) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
        if !self.own.is_remote() {
            return Vec::new();
        }
        let both = |own: &Sample| Some((value(own)?, self.cable_at(own).and_then(&value)));
        self.own.samples.iter().filter_map(both).collect()
    }

    /// True if the network's part is only what the other parts leave, in most of the blocks.
    pub(super) fn is_network_at_most(&self) -> bool {
        let is_bound =
            |sample: &Sample| sample.kinds.iter().any(|kind| self.crossing.is_bound(kind));
        self.own.is_remote() && self.own.most(is_bound)
    }

    /// Block of the direct cable that belongs to one of its own.
    pub(super) fn cable_at(&self, own: &Sample) -> Option<&Sample> {
        self.cable.samples.iter().find(|cable| cable.block == own.block)
    }

    /// Row that all values of such operations share.
    pub(super) fn row(&self, which: Which) -> Row {
        let Self { spec, cell, own, ways, way, .. } = *self;
        let mut row = Row::for_path(ways, way, spec.profile);
        row.note(&own.noted);
        (row.n, row.verdict) = (own.operations, ways.judge(way, &Evidence::Nothing));
        let job = &spec.job;
        let pattern = match job.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        };
        row.conditions.extend([
            (Key::Engine, job.ioengine.clone().into()),
            (Key::Pattern, pattern.into()),
            (Key::ReadPercent, u64::from(job.rwmixread.get()).into()),
            (Key::BlockSize, cell.size.0.into()),
            (Key::Jobs, u64::from(job.numjobs.get()).into()),
            (Key::IoDepth, u64::from(cell.depth).into()),
            (Key::Replicas, (job.replicas.len() as u64).into()),
            (Key::Operation, word(which).into()),
        ]);
        if !job.replicas.is_empty() && ways.subject(way).is_some() {
            // A cable may exist, but it leads to no replica.
            row.caveats.remove(&Caveat::NoBypass);
            row.caveats.insert(Caveat::BypassWithoutReplicas);
        }
        let location = own.location();
        let doubts = [
            (location == Some(StorageLocation::Local), Caveat::LocalStorage),
            (location == Some(StorageLocation::Unknown), Caveat::StorageLocationUnknown),
            (self.crossing.is_full, Caveat::PathFull),
            (self.is_network_at_most(), Caveat::NetworkAtMost),
            (own.is_inconsistent(), Caveat::Inconsistent),
        ];
        row.caveats.extend(doubts.into_iter().filter_map(|(is_so, doubt)| is_so.then_some(doubt)));
        row
    }
}

/// Word for such operations.
const fn word(which: Which) -> &'static str {
    match which {
        None => "all",
        Some(false) => "read",
        Some(true) => "write",
    }
}
