//! A visit: what one trial of a watch came to, as it is kept.

use measure::{Histogram, Nanos};
use serde::{Deserialize, Serialize};
use trial::record::{Defect, FlowRecord, Outcome};
use trial::{Trial, TrialRecord};

use super::plan::{Turn, What};

/// What one trial of a way came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    /// By its place among the watch's ways.
    pub way: usize,
    /// The round.
    pub round: u32,
    /// What was asked.
    pub what: What,
    /// When the load began, nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// Whether it counts.
    pub came: Came,
    /// Of its round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<RoundTrips>,
    /// Frames from the first port to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<Counted>,
    /// Frames the other way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Counted>,
    /// TCP payload received, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<f64>,
}

/// How a visit ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Came {
    /// With figures.
    Valid,
    /// Nothing of what was sent came, one way or both: the path's doing.
    Nothing,
    /// A gate did not hold: the tester's doing, and no figure.
    Invalid(Vec<Defect>),
    /// It did not run to its end.
    Failed(String),
}

impl Came {
    /// `valid`, `nothing`, `invalid`, `failed`
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Nothing => "nothing",
            Self::Invalid(_) => "invalid",
            Self::Failed(_) => "failed",
        }
    }
}

/// Round trips of a visit, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// The median.
    pub p50_ns: f64,
    /// The 99th percentile.
    pub p99_ns: f64,
    /// How many.
    pub n: u64,
}

/// Frames of a visit, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Sent.
    pub sent: u64,
    /// Of those, never received.
    pub lost: u64,
    /// Received after later ones (RFC 4737).
    pub reordered: u64,
}

impl Visit {
    /// Of a trial's record, with its round trips one by one.
    pub fn of(turn: Turn, trial: &Trial, record: &TrialRecord) -> (Self, Histogram) {
        let mut visit = Self {
            way: turn.way,
            round: turn.round,
            what: turn.what,
            at_unix_ns: record.started_unix_ns,
            came: came(record),
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

fn came(record: &TrialRecord) -> Came {
    match &record.outcome {
        Outcome::Failed { .. } if record.unanswered => Came::Nothing,
        Outcome::Valid => Came::Valid,
        Outcome::Failed { reason } => Came::Failed(reason.clone()),
        Outcome::Invalid { reasons } => {
            let is_path = |defect: &Defect| matches!(defect, Defect::NothingReceived { .. });
            // Where nothing came, what was counted beside it says nothing of the hosts.
            if reasons.iter().any(is_path) {
                return Came::Nothing;
            }
            Came::Invalid(reasons.clone())
        }
    }
}
