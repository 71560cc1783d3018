//! Pacing of a load, at the sender and at the receiver.
//!
//! Owns the definitions of a burst and a pause by gaps. Never judges a trial: the gates do.

use measure::{FrameRate, Histogram, Nanos};

use crate::rows::Row;
use crate::view::values;
use page::{Figure, Key, Metric, Unit, Verdict};
use trial::record::DatagramsRecord;
use trial::validity::EDGE;

/// Quantiles of the gaps.
pub(super) const QUANTILES: [f64; 4] = [0.01, 0.5, 0.99, 0.999];

/// Share of the nominal gap below which a frame belongs to a burst.
const CLOSE: f64 = 0.5;

/// Number of usual arrival gaps after which a silent path counts as empty.
const EMPTY_GAPS: u64 = 3;

/// Share of a greedy flow's time in which its sender paused and the path had drained. Without
/// pauses, the path may forward that much more. Programs that share the sender's processor cause
/// such pauses.
pub(super) fn starved(seen: &DatagramsRecord) -> f64 {
    both_pause(&seen.departures, &seen.arrivals)
}

fn both_pause(departures: &Histogram, arrivals: &Histogram) -> f64 {
    let empty = Nanos(arrivals.quantile(0.5).0 * EMPTY_GAPS).max(EDGE);
    share_of_gaps(departures, EDGE).min(share_of_gaps(arrivals, empty))
}

/// Share of the time in gaps of at least `least`. Gaps of several threads count separately, so it
/// is the mean of their shares.
fn share_of_gaps(gaps: &Histogram, least: Nanos) -> f64 {
    let time = |least: Nanos| {
        let long = gaps.buckets().filter(|(gap, _)| *gap >= least);
        long.map(|(gap, count)| gap.0 as f64 * count as f64).sum::<f64>()
    };
    let all = time(Nanos::ZERO);
    if all > 0.0 { time(least) / all } else { 0.0 }
}

/// Gaps of one trial.
#[derive(Debug, Clone)]
pub(super) struct Pacing {
    /// Nominal gap in nanoseconds, 1 / rate.
    nominal_ns: f64,
    departures: Gaps,
    arrivals: Gaps,
    /// Share of the departures that belong to bursts.
    burst_fraction: f64,
}

/// Values of a load's pacing.
#[derive(Debug)]
pub(super) struct PacingValues {
    pub(super) nominal_ns: f64,
    /// Gaps at each of [`QUANTILES`]; empty if none was stamped.
    pub(super) departures: Vec<Figure>,
    pub(super) arrivals: Vec<Figure>,
    /// Share of frames that left close behind the previous one.
    pub(super) bursts: Option<Figure>,
}

values! { PacingValues: departures, arrivals, bursts; }

#[derive(Debug, Clone, Copy)]
struct Gaps {
    count: u64,
    at: [Nanos; QUANTILES.len()],
}

impl Gaps {
    fn from_histogram(gaps: &Histogram) -> Self {
        Self { count: gaps.count(), at: QUANTILES.map(|q| gaps.quantile(q)) }
    }
}

impl Pacing {
    /// Measures a flow that was paced at `rate`.
    pub(super) fn from_flow(seen: &DatagramsRecord, rate: FrameRate) -> Self {
        let nominal_ns = 1e9 / rate.0;
        let burst_fraction = seen.departures.share_below(Nanos((nominal_ns * CLOSE) as u64));
        let (departures, arrivals) =
            (Gaps::from_histogram(&seen.departures), Gaps::from_histogram(&seen.arrivals));
        Self { nominal_ns, departures, arrivals, burst_fraction }
    }

    /// Quantiles of the gaps and the burst fraction; empty if no gap was stamped. They describe the
    /// load, so they have no verdict.
    pub(super) fn measured(&self, mut row: Row) -> PacingValues {
        row.verdict = Verdict::Undetermined;
        row.set(Key::NominalGap, self.nominal_ns);
        let mut quantiles = |metric, gaps: &Gaps| {
            row.n = gaps.count;
            let at = |(q, gap): (f64, Nanos)| Figure {
                quantile: Some(q),
                ..row.single(metric, Unit::Nanoseconds, Some(gap.0 as f64))
            };
            let known = gaps.count > 0;
            QUANTILES.into_iter().zip(gaps.at).filter(|_| known).map(at).collect()
        };
        let arrivals = quantiles(Metric::ArrivalGap, &self.arrivals);
        let departures = quantiles(Metric::DepartureGap, &self.departures);
        let bursts = (self.departures.count > 0)
            .then(|| row.single(Metric::BurstFraction, Unit::Ratio, Some(self.burst_fraction)));
        PacingValues { nominal_ns: self.nominal_ns, departures, arrivals, bursts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of so many microseconds, so many times.
    type Runs = &'static [(u64, u64)];

    fn gaps(of: Runs) -> Histogram {
        let mut all = Histogram::growing();
        for (micros, times) in of {
            all.record_many(Nanos::from_micros(*micros), *times);
        }
        all
    }

    /// 1,000 frames/s come out of a path that a sender floods for 300 ms.
    #[test]
    fn a_path_is_starved_where_its_sender_paused_and_nothing_came() {
        let cases: [(&str, Runs, Runs, f64); 4] = [
            ("without a pause", &[(1, 300_000)], &[(1_000, 300)], 0.0),
            ("pauses that a queue outlasts", &[(1, 150_000), (15_000, 10)], &[(1_000, 300)], 0.0),
            ("it stands still itself", &[(1, 300_000)], &[(1_000, 150), (15_000, 10)], 0.0),
            ("both", &[(1, 150_000), (15_000, 10)], &[(1_000, 150), (15_000, 10)], 0.5),
        ];
        for (case, departures, arrivals, share) in cases {
            let own = both_pause(&gaps(departures), &gaps(arrivals));
            assert!((own - share).abs() < 0.01, "{case}: {own}");
        }
    }
}
