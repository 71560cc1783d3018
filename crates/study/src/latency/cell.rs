//! Cell of the latency study: a load, a protocol and a size; its trial, and what is kept of each
//! record.
//!
//! Quantiles are taken per block, as the block is the sampling unit. One distribution over all
//! blocks is kept for plots; never takes a value from it.

use std::collections::BTreeMap;

use measure::delay::{ipdv_quantile, pdv_quantile};
use measure::quantile::median;
use measure::reading::{Segment, Stamps};
use measure::{FrameSize, Histogram, Nanos};

use super::load::DirectedLoad;
use super::spec::LatencySpec;
use crate::Noted;
use crate::responsiveness::{trimmed_mean, trimmed_mean_of};
use crate::session::Tried;
use crate::ways::Way;
use page::{Caveat, Condition, Conditions, Key, Metric};
use trial::record::{BulkRecord, EchoRecord, FlowRecord, StreamRecord, TrialRecord};
use trial::topology::Pair;
use trial::{Echo, Flow, FlowKind, Protocol, Role, Schedule};

/// Points taken of each block's distributions: minimum and maximum included for RTTs, both tails
/// for the signed differences.
pub(super) const POINTS: [(Metric, f64); 14] = [
    (Metric::Rtt, 0.0),
    (Metric::Rtt, 0.5),
    (Metric::Rtt, 0.9),
    (Metric::Rtt, 0.99),
    (Metric::Rtt, 0.999),
    (Metric::Rtt, 1.0),
    (Metric::Pdv, 0.5),
    (Metric::Pdv, 0.9),
    (Metric::Pdv, 0.99),
    (Metric::Pdv, 0.999),
    (Metric::Pdv, 1.0),
    (Metric::Ipdv, 0.01),
    (Metric::Ipdv, 0.5),
    (Metric::Ipdv, 0.99),
];

/// Indices in [`POINTS`]: of RTTs the shortest, the median and the 99th percentile, and of signed
/// differences the median.
pub(super) const SHORTEST: usize = 0;
pub(super) const MEDIAN: usize = 1;
pub(super) const P99: usize = 3;
const MIDDLE_IPDV: usize = 12;

/// Combination to measure, and its blocks on each path.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) load: DirectedLoad,
    pub(super) protocol: Protocol,
    pub(super) size: FrameSize,
    pub(super) data: BTreeMap<Way, CellData>,
}

impl Cell {
    /// Creates a cell without blocks on any of these paths.
    pub(super) fn new(
        load: &DirectedLoad,
        protocol: Protocol,
        size: FrameSize,
        paths: &[Way],
    ) -> Self {
        let data = paths.iter().map(|way| (*way, CellData::default())).collect();
        Self { load: load.clone(), protocol, size, data }
    }

    /// True if the two differ only in the frame size.
    pub(super) fn is_of_one_case(&self, other: &Self) -> bool {
        (&self.load, self.protocol) == (&other.load, other.protocol)
    }

    /// `rtt udp 64 idle`
    pub(super) fn label(&self) -> String {
        format!("rtt {} {} {}", self.protocol.as_str(), self.size, self.load.describe())
    }

    /// True if the two differ only in the load.
    pub(super) fn has_same_requests(&self, other: &Self) -> bool {
        (self.protocol, self.size) == (other.protocol, other.size)
    }

    /// Flows of the round trips, and of the background load.
    pub(super) fn flows(&self, pair: &Pair, spec: &LatencySpec) -> Vec<Flow> {
        let echo = FlowKind::Echo(Echo {
            protocol: self.protocol,
            frame_size: self.size,
            schedule: spec.schedule,
            messages: None,
        });
        let flow = |id, Pair { from, to }, role, kind| Flow { id, from, to, role, kind };
        let mut flows = vec![flow(1, pair.clone(), Role::Measured, echo)];
        if let Some(load) = self.load.load.flow(spec.duration) {
            let pairs = (2..).zip(self.load.pairs(pair));
            flows.extend(pairs.map(|(id, pair)| flow(id, pair, Role::Load, load.clone())));
        }
        flows
    }

    /// Conditions: protocol, size, load and schedule.
    pub(super) fn conditions(&self, schedule: Schedule) -> Conditions {
        let mut conditions = self.load.conditions();
        conditions.extend([
            (Key::Protocol, self.protocol.as_str().into()),
            (Key::FrameSize, u64::from(self.size.octets()).into()),
        ]);
        conditions.extend(match schedule {
            Schedule::Paced(rate) => {
                let rate = Condition::from_number(rate.0);
                vec![(Key::Schedule, "open-loop".into()), (Key::ScheduleRate, rate)]
            }
            _ => vec![(Key::Schedule, "closed-loop".into())],
        });
        conditions
    }
}

/// Values of one block of a cell on one path.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    /// Values in nanoseconds, in the order of [`POINTS`].
    pub(super) points: [f64; POINTS.len()],
    pub(super) effective: f64,
    pub(super) answers: u64,
    /// Mean RTT of the shortest 95 %, in nanoseconds.
    pub(super) trimmed: f64,
    /// TCP flows of the load, in the trial's order.
    pub(super) bulks: Vec<BulkSample>,
}

impl Sample {
    /// Difference between the median RTT and the shortest.
    pub(super) fn waited(&self) -> f64 {
        self.points[MEDIAN] - self.points[SHORTEST]
    }

    /// Growth of RTTs up to the middle of the trial as a share of the median, if most were longer
    /// than the previous one.
    pub(super) fn grew(&self) -> f64 {
        self.points[MIDDLE_IPDV] * self.answers as f64 / 2.0 / self.points[MEDIAN]
    }
}

/// TCP flow of a load during the trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct BulkSample {
    /// Payload in bits a second.
    pub(super) goodput: f64,
    /// Median over the intervals of the payload in bits a second: slow start does not count.
    pub(super) steady: Option<f64>,
    pub(super) retransmits: u64,
    /// Mean of the smallest 95 % of the smoothed RTTs, in nanoseconds; `None` without readings.
    pub(super) smoothed: Option<f64>,
    pub(super) segment: Option<Segment>,
}

impl BulkSample {
    fn new(done: &BulkRecord, interval: Nanos) -> Self {
        let arrived: Vec<_> = done.streams.iter().map(StreamRecord::arrived).collect();
        let count = arrived.iter().map(|stream| stream.len()).min().unwrap_or(0);
        let octets = |at: usize| arrived.iter().map(|stream| stream[at].0).sum::<u64>() as f64;
        let rates: Vec<f64> =
            (0..count).map(|at| octets(at) * 8.0 / interval.as_secs_f64()).collect();
        let points = done.streams.iter().flat_map(|stream| &stream.points);
        let smoothed: Vec<f64> =
            points.map(|point| point.srtt.0 as f64).filter(|rtt| *rtt > 0.0).collect();
        Self {
            goodput: done.goodput(),
            steady: median(&rates),
            retransmits: done.retransmits(),
            smoothed: trimmed_mean(&smoothed),
            segment: done.segment,
        }
    }
}

/// Blocks of a cell on one path.
#[derive(Debug, Clone, Default)]
pub(super) struct CellData {
    pub(super) samples: Vec<Sample>,
    /// RTTs of all blocks.
    pub(super) round_trips: Option<Histogram>,
    pub(super) answers: u64,
    pub(super) stamps: Option<Stamps>,
    pub(super) frame_size: Option<FrameSize>,
    pub(super) some_lost: bool,
    /// Trials of the cell, and those repeated or given up.
    pub(super) noted: Noted,
}

impl CellData {
    /// Keeps the result of one block's trial.
    pub(super) fn take(&mut self, block: u32, tried: &Tried) {
        self.noted.observe(tried);
        let Some((record, echo)) = tried.valid().and_then(|r| Some((r, echo_of(r)?))) else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        self.round_trips.get_or_insert_with(Histogram::growing).merge(&echo.rtt);
        self.answers += echo.answers.unique;
        self.some_lost |= echo.answers.lost(echo.sent) > 0;
        self.stamps = Some(echo.stamps);
        self.frame_size = Some(echo.frame_size);
        self.samples.push(Sample {
            block,
            points: POINTS.map(|(metric, q)| point(echo, metric, q)),
            effective: echo.effective_samples,
            answers: echo.answers.unique,
            trimmed: trimmed_mean_of(&echo.rtt),
            bulks: bulks(&tried.trial.flows, &record.flows),
        });
    }
}

fn echo_of(record: &TrialRecord) -> Option<&EchoRecord> {
    match record.flows.first()? {
        FlowRecord::Echo(echo) => Some(echo),
        _ => None,
    }
}

fn bulks(asked: &[Flow], done: &[FlowRecord]) -> Vec<BulkSample> {
    let sample = |(flow, done): (&Flow, &FlowRecord)| match &flow.kind {
        FlowKind::Bulk(bulk) => Some(BulkSample::new(done.bulk()?, bulk.interval)),
        _ => None,
    };
    asked.iter().zip(done).filter_map(sample).collect()
}

fn point(echo: &EchoRecord, metric: Metric, q: f64) -> f64 {
    match metric {
        Metric::Pdv => pdv_quantile(&echo.rtt, q).0 as f64,
        Metric::Ipdv => ipdv_quantile(&echo.ipdv_up, &echo.ipdv_down, q) as f64,
        _ if q <= 0.0 => echo.rtt.min().0 as f64,
        _ if q >= 1.0 => echo.rtt.max().0 as f64,
        _ => echo.rtt.quantile(q).0 as f64,
    }
}
