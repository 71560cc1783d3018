//! One cell of the latency study: a load, a protocol and a size; its trial, and what is kept of
//! each record.
//!
//! Never keeps a histogram: quantiles are taken block by block, since the block is the sampling
//! unit.

use crate::study::Noted;
use measure::delay::{ipdv_quantile, pdv_quantile};
use measure::reading::Stamps;
use measure::{FrameSize, Nanos};

use super::super::session::Tried;
use super::{LatencySpec, Load};
use crate::study::burst;
use page::{Caveat, Conditions, Key, Metric};
use trial::record::{EchoRecord, FlowRecord, TrialRecord};
use trial::topology::Pair;
use trial::{Bulk, Echo, Flow, FlowKind, Protocol, Role, Schedule};

/// The points taken of each block's distributions: minimum and maximum included for round trips,
/// both tails for the signed differences.
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

/// A combination to measure.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) load: Load,
    pub(super) protocol: Protocol,
    pub(super) size: FrameSize,
}

impl Cell {
    /// `rtt udp 64 idle`
    pub(super) fn label(&self) -> String {
        format!("rtt {} {} {}", self.protocol.as_str(), self.size, describe(&self.load))
    }

    /// The round trips, and the load beside them in the same direction.
    pub(super) fn flows(&self, pair: &Pair, spec: &LatencySpec) -> Vec<Flow> {
        let echo = FlowKind::Echo(Echo {
            protocol: self.protocol,
            frame_size: self.size,
            schedule: spec.schedule,
            messages: None,
        });
        let flow =
            |id, role, kind| Flow { id, from: pair.from.clone(), to: pair.to.clone(), role, kind };
        let mut flows = vec![flow(1, Role::Measured, echo)];
        flows.extend(self.load_kind(spec.duration).map(|kind| flow(2, Role::Load, kind)));
        flows
    }

    fn load_kind(&self, duration: Nanos) -> Option<FlowKind> {
        match &self.load {
            Load::Idle => None,
            Load::Datagrams { frame_size, rate } => {
                Some(burst::plain(*frame_size, Schedule::Paced(*rate)))
            }
            Load::Bulk { streams, congestion_control } => Some(FlowKind::Bulk(Bulk {
                streams: *streams,
                congestion_control: congestion_control.clone(),
                interval: (duration / 10).clamp(Nanos::from_millis(10), Nanos::from_millis(100)),
            })),
        }
    }

    /// `protocol`, `frame_size`, `load`, `schedule`.
    pub(super) fn conditions(&self, schedule: Schedule) -> Conditions {
        let schedule = match schedule {
            Schedule::Greedy => "closed loop".to_owned(),
            Schedule::Paced(rate) => format!("open loop {}/s", rate.0),
            Schedule::Burst(_) | Schedule::Falling { .. } => "none for requests".to_owned(),
        };
        Conditions::from([
            (Key::Protocol, self.protocol.as_str().into()),
            (Key::FrameSize, u64::from(self.size.octets()).into()),
            (Key::Load, describe(&self.load).into()),
            (Key::Schedule, schedule.into()),
        ])
    }
}

/// `idle`, `udp 50000 frames/s of 1518`, `tcp 1 stream cubic`
fn describe(load: &Load) -> String {
    match load {
        Load::Idle => "idle".to_owned(),
        Load::Datagrams { frame_size, rate } => format!("udp {} frames/s of {frame_size}", rate.0),
        Load::Bulk { streams: 1, congestion_control } => {
            format!("tcp 1 stream {congestion_control}")
        }
        Load::Bulk { streams, congestion_control } => {
            format!("tcp {streams} streams {congestion_control}")
        }
    }
}

/// One block's values of a cell on one path.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    /// In nanoseconds, in the order of [`POINTS`].
    pub(super) points: [f64; POINTS.len()],
    pub(super) effective: f64,
    pub(super) answers: u64,
    pub(super) bulk: Option<BulkSample>,
}

impl Sample {
    /// By how much the middle round trip is longer than the shortest.
    pub(super) fn waited(&self) -> f64 {
        self.at(Metric::Rtt, 0.5) - self.at(Metric::Rtt, 0.0)
    }

    /// By what share of the middle one round trips grew until the middle of the trial, where most
    /// were longer than the one before.
    pub(super) fn grew(&self) -> f64 {
        self.at(Metric::Ipdv, 0.5) * self.answers as f64 / 2.0 / self.at(Metric::Rtt, 0.5)
    }

    fn at(&self, metric: Metric, q: f64) -> f64 {
        let index = POINTS.iter().position(|point| *point == (metric, q));
        index.map_or(f64::NAN, |index| self.points[index])
    }
}

/// What a TCP load did meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct BulkSample {
    /// Payload, bits a second.
    pub(super) goodput: f64,
    pub(super) retransmits: u64,
}

/// All blocks of a cell on one path.
#[derive(Debug, Clone, Default)]
pub(super) struct CellData {
    pub(super) samples: Vec<Sample>,
    pub(super) answers: u64,
    pub(super) stamps: Option<Stamps>,
    pub(super) frame_size: Option<FrameSize>,
    pub(super) some_lost: bool,
    /// Its trials, and whether they were repeated or given up.
    pub(super) noted: Noted,
}

impl CellData {
    /// Keeps what matters of a block's trial.
    pub(super) fn take(&mut self, block: u32, tried: &Tried) {
        self.noted.hear(tried);
        let Some((record, echo)) = tried.valid().and_then(|r| Some((r, echo_of(r)?))) else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        self.answers += echo.answers.unique;
        self.some_lost |= echo.answers.lost(echo.sent) > 0;
        self.stamps = Some(echo.stamps);
        self.frame_size = Some(echo.frame_size);
        self.samples.push(Sample {
            block,
            points: POINTS.map(|(metric, q)| point(echo, metric, q)),
            effective: echo.effective_samples,
            answers: echo.answers.unique,
            bulk: record.flows.iter().find_map(bulk_of),
        });
    }
}

fn echo_of(record: &TrialRecord) -> Option<&EchoRecord> {
    match record.flows.first()? {
        FlowRecord::Echo(echo) => Some(echo),
        _ => None,
    }
}

fn bulk_of(flow: &FlowRecord) -> Option<BulkSample> {
    let bulk = flow.bulk()?;
    Some(BulkSample { goodput: bulk.goodput(), retransmits: bulk.retransmits() })
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
