//! Visits: results of single trials of a watch, as stored.

use measure::{Histogram, Nanos};
use serde::{Deserialize, Serialize};
use trial::record::{Defect, FlowRecord, Outcome};
use trial::{Trial, TrialRecord};

use super::plan::{Turn, What};

/// Result of one trial on a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    /// Index of the path in the watch.
    pub way: usize,
    /// Number of the round.
    pub round: u32,
    /// Kind of the trial.
    pub what: What,
    /// Start of the load, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// Outcome of the visit.
    pub came: Came,
    /// Round-trip times; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<RoundTrips>,
    /// Frames from the first port to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<Counted>,
    /// Frames in the other direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Counted>,
    /// TCP payload received, in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<f64>,
}

/// Outcome of a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Came {
    /// With figures.
    Valid,
    /// Nothing arrived, in one direction or both: the path's fault.
    Nothing,
    /// A gate did not hold: the tester's fault, and no figure.
    Invalid(Vec<Defect>),
    /// The trial did not complete.
    Failed(String),
}

impl Came {
    /// Name of the outcome: `valid`, `nothing`, `invalid`, `failed`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Nothing => "nothing",
            Self::Invalid(_) => "invalid",
            Self::Failed(_) => "failed",
        }
    }
}

/// Round trips of a visit, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Median.
    pub p50_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// Number of round trips.
    pub n: u64,
}

/// Frames of a visit in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
    /// Frames received after later ones (RFC 4737).
    pub reordered: u64,
}

impl Visit {
    /// Creates a visit from a trial's record; returns its individual round trips too.
    pub fn from_trial(turn: Turn, trial: &Trial, record: &TrialRecord) -> (Self, Histogram) {
        let mut visit = Self {
            way: turn.way,
            round: turn.round,
            what: turn.what,
            at_unix_ns: record.started_unix_ns,
            came: classify_outcome(record),
            rtt: None,
            there: None,
            back: None,
            goodput: None,
        };
        let mut trips = Histogram::growing();
        if !matches!(visit.came, Came::Valid | Came::Nothing) {
            return (visit, trips);
        }
        for (flow, record) in trial.flows.iter().zip(&record.flows) {
            match record {
                FlowRecord::Echo(echo) if !echo.rtt.is_empty() => {
                    let at = |quantile| echo.rtt.quantile(quantile).0 as f64;
                    let (p50_ns, p99_ns) = (at(0.5), at(0.99));
                    visit.rtt = Some(RoundTrips { p50_ns, p99_ns, n: echo.rtt.count() });
                    trips.merge(&echo.rtt);
                }
                FlowRecord::Datagrams(seen) => {
                    let counted = Counted {
                        sent: seen.sent,
                        lost: seen.received.lost(seen.sent),
                        reordered: seen.received.reordered,
                    };
                    let is_back = flow.from != trial.flows[0].from;
                    *(if is_back { &mut visit.back } else { &mut visit.there }) = Some(counted);
                }
                FlowRecord::Bulk(bulk) if bulk.elapsed > Nanos::ZERO => {
                    let bits = bulk.received.0 as f64 * 8.0;
                    visit.goodput = Some(bits / bulk.elapsed.as_secs_f64());
                }
                _ => {}
            }
        }
        (visit, trips)
    }
}

fn classify_outcome(record: &TrialRecord) -> Came {
    match &record.outcome {
        Outcome::Failed { .. } if record.unanswered => Came::Nothing,
        Outcome::Valid => Came::Valid,
        Outcome::Failed { reason } => Came::Failed(reason.clone()),
        Outcome::Invalid { reasons } => {
            let is_path = |defect: &Defect| matches!(defect, Defect::NothingReceived { .. });
            // Where nothing arrived, other counts say nothing about the hosts.
            if reasons.iter().any(is_path) {
                return Came::Nothing;
            }
            Came::Invalid(reasons.clone())
        }
    }
}
