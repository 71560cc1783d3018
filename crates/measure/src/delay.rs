//! Delays of one flow as they arrive: round trips, their variation, and their dependence.
//!
//! Owns the selection of pairs for IPDV (RFC 3393: consecutive sequence numbers only) and the two
//! variations of RFC 5481, IPDV and PDV. Never reads a clock: the caller subtracts the timestamps.

use crate::autocorrelation::effective_samples;
use crate::{Histogram, Nanos};

/// Recorder of a flow's round trips.
#[derive(Debug, Clone)]
pub struct DelayRecorder {
    rtt: Histogram,
    ipdv_up: Histogram,
    ipdv_down: Histogram,
    previous: Option<(u64, Nanos)>,
    kept: Vec<f64>,
    capacity: usize,
}

/// Distributions of a flow's round trips.
#[derive(Debug, Clone, PartialEq)]
pub struct DelaySummary {
    /// Distribution of all delays.
    pub rtt: Histogram,
    /// Distribution of IPDV(i) = D(i) - D(i-1), where zero or more.
    pub ipdv_up: Histogram,
    /// Distribution of negative IPDV, as magnitudes.
    pub ipdv_down: Histogram,
    /// Effective number of independent samples, 0…`rtt.count()`.
    pub effective_samples: f64,
}

impl DelayRecorder {
    /// Creates a recorder that keeps the first `capacity` delays (8 octets each) to estimate their
    /// dependence. The histograms take any number. All memory is allocated here: recording never
    /// allocates.
    pub fn new(capacity: usize) -> Self {
        // Written once, so that its pages are mapped before the first packet arrives.
        let mut kept = vec![1.0; capacity];
        kept.clear();
        let [rtt, ipdv_up, ipdv_down] = [(); 3].map(|()| Histogram::new());
        Self { rtt, ipdv_up, ipdv_down, previous: None, kept, capacity }
    }

    /// Creates a recorder that allocates as delays arrive, for use where no packet waits.
    pub const fn growing(capacity: usize) -> Self {
        Self {
            rtt: Histogram::growing(),
            ipdv_up: Histogram::growing(),
            ipdv_down: Histogram::growing(),
            previous: None,
            kept: Vec::new(),
            capacity,
        }
    }

    /// Records the delay of packet `sequence`, at its first arrival and in order of arrival.
    ///
    /// A difference is taken only between consecutive packets that arrived one right after the
    /// other. RFC 3393 §4.5 leaves an IPDV undefined if either packet is lost, so a gap must not
    /// look like a jump.
    #[inline]
    pub fn record(&mut self, sequence: u64, rtt: Nanos) {
        self.rtt.record(rtt);
        if self.kept.len() < self.capacity {
            self.kept.push(rtt.0 as f64);
        }
        if let Some((before, earlier)) = self.previous
            && before.checked_add(1) == Some(sequence)
        {
            if rtt >= earlier {
                self.ipdv_up.record(rtt - earlier);
            } else {
                self.ipdv_down.record(earlier - rtt);
            }
        }
        self.previous = Some((sequence, rtt));
    }

    /// Number of delays recorded.
    pub fn count(&self) -> u64 {
        self.rtt.count()
    }

    /// Returns the distributions and the effective number of samples. Delays beyond those kept are
    /// assumed to be as dependent as the kept ones.
    pub fn finish(self) -> DelaySummary {
        let effective = if self.kept.is_empty() {
            // Without knowledge of their dependence, assume the fewest independent samples.
            self.rtt.count().min(1) as f64
        } else {
            effective_samples(&self.kept) * (self.rtt.count() as f64 / self.kept.len() as f64)
        };
        DelaySummary {
            rtt: self.rtt.compact(),
            ipdv_up: self.ipdv_up.compact(),
            ipdv_down: self.ipdv_down.compact(),
            effective_samples: effective,
        }
    }
}

/// Returns PDV at quantile `q` (0…1): the delay there minus the smallest (RFC 5481 §4.2). A
/// constant offset between two clocks cancels. Zero when empty.
pub fn pdv_quantile(delays: &Histogram, q: f64) -> Nanos {
    delays.quantile(q).saturating_sub(delays.min())
}

/// Returns the signed IPDV in nanoseconds at quantile `q` (0…1) of upward and downward differences
/// together; zero when both are empty.
pub fn ipdv_quantile(up: &Histogram, down: &Histogram, q: f64) -> i64 {
    let (ups, downs) = (up.count(), down.count());
    let total = ups + downs;
    let rank = ((q.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total.max(1));
    // From the lowest: the largest fall comes first, then the smaller falls, then the rises.
    let signed = if rank <= downs {
        down.value_at_rank(downs - rank + 1).map(|fall| -(fall.0 as i64))
    } else {
        up.value_at_rank(rank - downs).map(|rise| rise.0 as i64)
    };
    signed.unwrap_or(0)
}
