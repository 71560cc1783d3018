//! How even a paced load was, at the sender and at the receiver.
//!
//! Owns which gaps count as a burst. Never judges a trial: the gates do.

use measure::{FrameRate, Histogram, Nanos};

use crate::study::rows::Row;
use page::{Figure, Key, Metric, Unit, Verdict};
use trial::record::DatagramsRecord;

/// Where the gaps are read off.
const QUANTILES: [f64; 4] = [0.01, 0.5, 0.99, 0.999];

/// Of the nominal gap: a frame that follows more closely than this is part of a burst.
const CLOSE: f64 = 0.5;

/// The gaps of one trial.
#[derive(Debug, Clone)]
pub(super) struct Pacing {
    /// 1 / rate, nanoseconds.
    nominal_ns: f64,
    departures: Gaps,
    arrivals: Gaps,
    /// Of the departures.
    burst_fraction: f64,
}

#[derive(Debug, Clone, Copy)]
struct Gaps {
    count: u64,
    at: [Nanos; QUANTILES.len()],
}

impl Gaps {
    fn of(gaps: &Histogram) -> Self {
        Self { count: gaps.count(), at: QUANTILES.map(|q| gaps.quantile(q)) }
    }
}

impl Pacing {
    /// Of a flow that was asked to keep to `rate`.
    pub(super) fn of(seen: &DatagramsRecord, rate: FrameRate) -> Self {
        let nominal_ns = 1e9 / rate.0;
        // The largest gap that the histogram surely tells from half the nominal one.
        let close = seen.departures.lowest_equivalent(Nanos((nominal_ns * CLOSE) as u64));
        let below = Nanos(close.0.saturating_sub(1));
        let burst_fraction =
            if seen.departures.is_empty() { 0.0 } else { seen.departures.share_at_or_below(below) };
        let (departures, arrivals) = (Gaps::of(&seen.departures), Gaps::of(&seen.arrivals));
        Self { nominal_ns, departures, arrivals, burst_fraction }
    }

    /// Every gap's quantile and the burst fraction; nothing where no gap was stamped. They are
    /// about the load, so that no verdict is theirs.
    pub(super) fn figures(&self, mut row: Row) -> Vec<Figure> {
        row.verdict = Verdict::Undetermined;
        row.set(Key::NominalGap, self.nominal_ns);
        let sides =
            [(Metric::DepartureGap, &self.departures), (Metric::ArrivalGap, &self.arrivals)];
        let mut figures = Vec::new();
        for (metric, gaps) in sides.into_iter().filter(|(_, gaps)| gaps.count > 0) {
            row.n = gaps.count;
            for (q, gap) in QUANTILES.into_iter().zip(gaps.at) {
                let mut figure = row.single(metric, Unit::Nanoseconds, Some(gap.0 as f64));
                figure.quantile = Some(q);
                figures.push(figure);
            }
        }
        if self.departures.count > 0 {
            row.n = self.departures.count;
            figures.push(row.single(Metric::BurstFraction, Unit::Ratio, Some(self.burst_fraction)));
        }
        figures
    }
}
