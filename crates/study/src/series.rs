//! TCP of one trial over time: all streams of a flow together, in steps of about a second.
//!
//! Owns the definition of a step, and the criterion for a fall of the window. Never judges, and
//! never sees another trial.

use measure::{ByteCount, Nanos};

use trial::record::{BulkRecord, StreamRecord};

/// Length of a step, as in iperf3's reports.
const STEP: Nanos = Nanos::from_secs(1);

/// Minimum number of steps; shorter trials have shorter ones.
const LEAST_STEPS: u64 = 5;

/// Share of its last peak below which a window counts as cut, not rounded. CUBIC cuts to 0.7, Reno
/// to 0.5, H-TCP to between 0.5 and 0.8.
const FALL: f64 = 0.85;

/// Rise of a cut window after which it can be cut again: recovery lasts an RTT, in which readings
/// fall more than once.
const RISE: f64 = 1.05;

/// Octets, RTTs and windows of one trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// Received payload and retransmitted segments, by step from the start of the load.
    pub(super) steps: Vec<Step>,
    pub(super) step: Nanos,
    /// Index of the first step that counts.
    pub(super) first: usize,
    /// Readings, summed over the streams.
    pub(super) totals: Vec<Total>,
    omit: Nanos,
    falls: u32,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// Payload in bits a second.
    pub(super) goodput: f64,
    pub(super) retransmits: u64,
}

/// State of all senders at one moment; counters are totals since the start of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Total {
    pub(super) at: Nanos,
    pub(super) acked: u64,
    pub(super) retransmits: u64,
    pub(super) cwnd: u64,
    /// Mean over the streams.
    pub(super) srtt: Nanos,
    pub(super) min_rtt: Nanos,
    /// Sum over the streams, so at most the elapsed time multiplied by their number.
    pub(super) busy: Nanos,
    pub(super) rwnd_limited: Nanos,
    pub(super) sndbuf_limited: Nanos,
}

impl Total {
    /// Time that the senders waited for anything but the network.
    pub(super) fn stalled(&self) -> Nanos {
        self.rwnd_limited + self.sndbuf_limited
    }
}

impl Series {
    /// Builds the series of a trial that was read every `interval`; `omit` of it is warm-up,
    /// followed by `counted`.
    pub(super) fn from_record(
        bulk: &BulkRecord,
        omit: Nanos,
        counted: Nanos,
        interval: Nanos,
    ) -> Self {
        let interval = interval.max(Nanos(1));
        let most = (counted.0 / LEAST_STEPS / interval.0).max(1);
        let in_step = (STEP.0 / interval.0).clamp(1, most);
        let step = interval * in_step;
        let totals = totals(&bulk.streams);
        let count = ((omit + counted).0 / step.0) as usize;
        let received = received(&bulk.streams, in_step as usize, count);
        let steps = (0..count).map(|at| Step {
            goodput: received[at] as f64 * 8.0 / step.as_secs_f64(),
            retransmits: retransmits_by(&totals, step * (at as u64 + 1), interval)
                - retransmits_by(&totals, step * at as u64, interval),
        });
        let falls = bulk.streams.iter().map(|stream| falls(stream, omit)).sum();
        let first = (omit.0.div_ceil(step.0) as usize).min(count);
        Self { steps: steps.collect(), step, first, totals, omit, falls }
    }

    /// Mean payload bits a second after the warm-up.
    pub(super) fn goodput(&self) -> f64 {
        mean(&self.goodputs(self.first))
    }

    /// Goodput of the steps from `from` on.
    pub(super) fn goodputs(&self, from: usize) -> Vec<f64> {
        self.steps[from.min(self.steps.len())..].iter().map(|step| step.goodput).collect()
    }

    /// Retransmitted segments from step `from` on.
    pub(super) fn retransmits(&self, from: usize) -> u64 {
        self.steps[from.min(self.steps.len())..].iter().map(|step| step.retransmits).sum()
    }

    /// Received payload from step `from` on, in octets.
    pub(super) fn octets(&self, from: usize) -> f64 {
        self.goodputs(from).iter().sum::<f64>() * self.step.as_secs_f64() / 8.0
    }

    /// Number of cuts of a stream's window after the warm-up.
    pub(super) const fn falls(&self) -> u32 {
        self.falls
    }

    /// Readings after the warm-up.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Total> {
        self.totals.iter().filter(|total| total.at > self.omit)
    }

    /// Readings at the start and the end of the counted part; `None` with fewer than two.
    pub(super) fn span(&self) -> Option<(&Total, &Total)> {
        let before = self.totals.iter().rev().find(|total| total.at <= self.omit);
        let first = before.or_else(|| self.totals.first())?;
        let last = self.totals.last()?;
        (first.at < last.at).then_some((first, last))
    }

    pub(super) fn min_rtt(&self) -> Option<Nanos> {
        self.totals.iter().map(|total| total.min_rtt).filter(|rtt| *rtt > Nanos::ZERO).min()
    }

    pub(super) fn cwnd_max(&self) -> Option<ByteCount> {
        self.totals.iter().map(|total| ByteCount(total.cwnd)).max()
    }
}

/// Mean; zero without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Standard deviation divided by the mean; zero with fewer than two values or a mean of zero.
pub(super) fn variation(values: &[f64]) -> f64 {
    let middle = mean(values);
    if values.len() < 2 || middle <= 0.0 {
        return 0.0;
    }
    let squares = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
    (squares / (values.len() - 1) as f64).sqrt() / middle
}

/// Totals by reading; as many as the stream with the fewest readings has.
fn totals(streams: &[StreamRecord]) -> Vec<Total> {
    let count = streams.iter().map(|stream| stream.points.len()).min().unwrap_or(0);
    let of = |at: usize| {
        let points = || streams.iter().map(move |stream| &stream.points[at]);
        let sum = |pick: fn(&measure::reading::StreamPoint) -> u64| points().map(pick).sum::<u64>();
        Total {
            at: points().map(|p| p.at).max().unwrap_or_default(),
            acked: sum(|p| p.acked.0),
            retransmits: sum(|p| p.retransmits),
            cwnd: sum(|p| p.cwnd.0),
            srtt: Nanos(sum(|p| p.srtt.0)) / streams.len().max(1) as u64,
            min_rtt: points().map(|p| p.min_rtt).min().unwrap_or_default(),
            busy: Nanos(sum(|p| p.busy.0)),
            rwnd_limited: Nanos(sum(|p| p.rwnd_limited.0)),
            sndbuf_limited: Nanos(sum(|p| p.sndbuf_limited.0)),
        }
    };
    (0..count).map(of).collect()
}

/// Octets in each of `count` steps. A receiver counts every interval of the load, so a missing one
/// is zero.
fn received(streams: &[StreamRecord], in_step: usize, count: usize) -> Vec<u64> {
    let mut steps = vec![0; count];
    for stream in streams {
        for (at, octets) in stream.received.iter().enumerate() {
            if let Some(step) = steps.get_mut(at / in_step) {
                *step += octets.0;
            }
        }
    }
    steps
}

/// Value of the counter at a moment; a live sender is read slightly late.
fn retransmits_by(totals: &[Total], at: Nanos, interval: Nanos) -> u64 {
    let until = at + interval / 2;
    totals.iter().rev().find(|total| total.at <= until).map_or(0, |total| total.retransmits)
}

fn falls(stream: &StreamRecord, omit: Nanos) -> u32 {
    let (mut falls, mut peak, mut valley) = (0, 0.0_f64, f64::INFINITY);
    for point in stream.points.iter().filter(|point| point.at > omit) {
        let cwnd = point.cwnd.0 as f64;
        let recovering = valley.is_finite();
        if recovering && cwnd > RISE * valley {
            (peak, valley) = (cwnd, f64::INFINITY);
        } else if recovering {
            valley = valley.min(cwnd);
        } else if cwnd < FALL * peak {
            falls += 1;
            valley = cwnd;
        } else {
            peak = peak.max(cwnd);
        }
    }
    falls
}
