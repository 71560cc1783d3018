//! Suspicions that complete frame accounting removes.
//!
//! Owns when a loss is the device's although other programs used a host's processors, or its sender
//! was late. Never removes a counted loss: a drop of the tester's own stays one.

use std::collections::BTreeSet;

use super::{UNTIMELY_TOLERANCE, missed};
use crate::books::{Counts, Place, balance_counts};
use crate::counters::QDISC_DROPS;
use crate::record::{DatagramsRecord, Defect, FlowRecord, Side};
use crate::{Datagrams, FlowKind, Schedule, Trial};

/// Gap between two arrivals, in mean gaps, above which a frame is missing.
const PAUSE: f64 = 2.0;

/// Removes the suspicions that the accounting contradicts.
pub(super) fn lift(reasons: &mut Vec<Defect>, trial: &Trial, counts: Counts<'_>) {
    let suspicion = |reason: &Defect| {
        matches!(reason, Defect::ForeignLoad { .. } | Defect::Late { .. }) || begun_late(reason)
    };
    if !reasons.iter().any(suspicion) {
        return;
    }
    if let Some(evidence) = Evidence::from_counts(trial, counts) {
        reasons.retain(|reason| !evidence.lifts(reason));
    }
}

/// Evidence from accounting that places each lost frame in the device.
struct Evidence {
    /// True if the device has processors of its own: other load does not slow it.
    is_apart: bool,
    /// True if all were lost in egress queues of its ports.
    at_egress: bool,
    /// Flows that lost frames, and those of them whose frames arrived without pauses.
    lossy: BTreeSet<u16>,
    steady: BTreeSet<u16>,
}

impl Evidence {
    fn from_counts(trial: &Trial, counts: Counts<'_>) -> Option<Self> {
        let books = balance_counts(trial, counts)?;
        let in_device = books.deaths.iter().all(|death| death.place.is_device());
        if !books.closed() || books.mixed || !in_device || books.deaths.is_empty() {
            return None;
        }
        let is_apart = counts.ports.iter().all(|port| port.side != Side::Device);
        let at_egress = books.deaths.iter().all(|death| {
            let queue = is_apart || death.counter.as_deref() == Some(QDISC_DROPS);
            queue && matches!(death.place, Place::Egress(_))
        });
        let flows =
            || trial.flows.iter().zip(counts.flows).filter(|(_, record)| missed(record) > 0);
        let steady = flows().filter(|(flow, record)| match (&flow.kind, record) {
            (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) => is_steady(asked, seen),
            _ => false,
        });
        Some(Self {
            is_apart,
            at_egress,
            lossy: flows().map(|(flow, _)| flow.id).collect(),
            steady: steady.map(|(flow, _)| flow.id).collect(),
        })
    }

    fn lifts(&self, reason: &Defect) -> bool {
        match reason {
            Defect::ForeignLoad { .. } => {
                self.is_apart || (self.at_egress && self.lossy == self.steady)
            }
            Defect::Late { flow, .. } => self.at_egress && self.steady.contains(flow),
            Defect::OfferedLoad { flow, .. } if begun_late(reason) => {
                self.at_egress && self.steady.contains(flow)
            }
            _ => false,
        }
    }
}

/// True if the load was faster than requested: its first frame was late, and the others followed.
fn begun_late(reason: &Defect) -> bool {
    matches!(reason, Defect::OfferedLoad { asked, sent, .. } if sent > asked)
}

/// True if the queue that lost frames was never, or hardly ever, empty. It then delivered all that
/// it can, whenever frames arrived. Late frames, and processors that reached it late, cost only the
/// frames that could have left while it was idle.
fn is_steady(asked: &Datagrams, seen: &DatagramsRecord) -> bool {
    let (gaps, came) = (seen.arrivals.count(), seen.received.unique);
    if gaps == 0 || gaps + u64::from(asked.senders.max(1)) < came {
        return false;
    }
    let mean = seen.arrivals.mean();
    let idle = |(gap, count): (measure::Nanos, u64)| {
        let beyond = gap.0 as f64 - mean;
        if gap.0 as f64 > PAUSE * mean { beyond * count as f64 } else { 0.0 }
    };
    let begun_late = match asked.schedule {
        Schedule::Paced(rate) if rate.0 > 0.0 => {
            let due = seen.offered.saturating_sub(1) as f64 / rate.0 * 1e9;
            (due - seen.sending.0 as f64).max(0.0)
        }
        _ => 0.0,
    };
    let paused: f64 = seen.arrivals.buckets().map(idle).sum();
    let cost = (paused + begun_late) / mean.max(1.0);
    let lost = seen.received.lost(seen.sent) as f64;
    cost < lost && cost <= UNTIMELY_TOLERANCE * came as f64
}
