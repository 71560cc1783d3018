//! Responsiveness under a load: the queue that explains a loaded RTT, and round trips a minute
//! (draft-ietf-ippm-responsiveness-08, *Aggregating the Measurements*).
//!
//! Owns the arithmetic and its rows. Never sees a trial. Pure.

use measure::{Histogram, Nanos};

use super::rows::Row;
use page::{Figure, Key, Metric, Unit, words};

/// Share of the shortest round trips that count: the draft's `TMP`.
const KEPT: f64 = 0.95;

/// Quantiles of the waiting octets: what stands in the queue, and what fills it.
pub(super) const WAITING: [f64; 2] = [0.5, 0.99];

/// Ratio of a load's goodput to that of a load in the other direction, above which its
/// acknowledgements may fill the queue of the way back. At one of 84 octets on the wire for each
/// segment of 1538 they would at 18.
const ASYMMETRY: f64 = 10.0;

/// True if a load's acknowledgements, not the load, may have waited.
pub(super) fn acknowledgements_wait(goodput: Option<f64>, back: Option<f64>) -> bool {
    goodput.zip(back).is_some_and(|(goodput, back)| goodput > ASYMMETRY * back)
}

/// Round trips a minute of a mean RTT in nanoseconds; `None` without one.
pub(super) fn per_minute(rtt: f64) -> Option<f64> {
    (rtt > 0.0).then(|| 60e9 / rtt)
}

/// Mean of the shortest 95 %; `None` without values.
pub(super) fn trimmed_mean(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let kept = (sorted.len() as f64 * KEPT).ceil() as usize;
    (kept > 0).then(|| sorted[..kept].iter().sum::<f64>() / kept as f64)
}

/// Mean of the shortest 95 % of the round trips, in nanoseconds; 0 without any.
pub(super) fn trimmed_mean_of(round_trips: &Histogram) -> f64 {
    let kept = (round_trips.count() as f64 * KEPT).ceil() as u64;
    let (mut left, mut sum) = (kept, 0.0);
    for (Nanos(value), count) in round_trips.buckets() {
        let taken = count.min(left);
        sum += value as f64 * taken as f64;
        left -= taken;
    }
    if kept > left { sum / (kept - left) as f64 } else { 0.0 }
}

/// Queue of one block, behind the RTT that it causes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    /// RTT under load at each of [`WAITING`], in nanoseconds.
    pub(super) loaded: [f64; 2],
    /// Idle RTT, in nanoseconds.
    pub(super) idle: f64,
    /// Payload of the load in bits a second.
    pub(super) goodput: f64,
    /// True if segments were lost.
    pub(super) lost: bool,
}

/// Payload of a full segment, and its frame with FCS, in octets.
#[derive(Debug, Clone, Copy)]
pub(super) struct FullFrame {
    pub(super) mss: u32,
    pub(super) octets: u32,
}

impl FullFrame {
    /// Bits a second of frames that carry this payload.
    fn rate(self, goodput: f64) -> f64 {
        goodput * f64::from(self.octets) / f64::from(self.mss)
    }

    /// Octets that waited, at one of [`WAITING`].
    fn waiting(self, queue: &Queue, at: usize) -> f64 {
        (queue.loaded[at] - queue.idle).max(0.0) * self.rate(queue.goodput) / 8e9
    }
}

/// Figures of the waiting octets at each of [`WAITING`]. Their intervals are a frame wider below,
/// as the idle RTT may be one of a shorter frame, and two above: a frame that no longer fits, and
/// one that has partly left.
pub(super) fn waiting(row: &Row, queues: &[Queue], frame: Option<FullFrame>) -> Vec<Figure> {
    let Some(frame) = frame.filter(|_| !queues.is_empty()) else { return Vec::new() };
    let lost = 2 * queues.iter().filter(|queue| queue.lost).count() > queues.len();
    let middle = |value: fn(&Queue) -> f64| {
        measure::quantile::median(&queues.iter().map(value).collect::<Vec<f64>>())
    };
    let mut row = row.clone();
    if let (Some(idle), Some(goodput)) = (middle(|q| q.idle), middle(|q| q.goodput)) {
        row.set(Key::IdleRtt, idle);
        row.set(Key::QueueRate, frame.rate(goodput));
    }
    let figure = |at: usize| {
        let octets: Vec<f64> = queues.iter().map(|queue| frame.waiting(queue, at)).collect();
        let mut figure = row.over_blocks(Metric::BottleneckBuffer, Unit::Bytes, &octets);
        figure.quantile = Some(WAITING[at]);
        figure.low = figure.low.map(|low| (low - f64::from(frame.octets)).max(0.0));
        figure.high = figure.high.map(|high| high + 2.0 * f64::from(frame.octets));
        if at == 1 && !lost {
            figure.set(Key::Bound, page::AT_LEAST);
            figure.high = None;
        }
        figure
    };
    (0..WAITING.len()).map(figure).collect()
}

/// Octets that wait, in words: `at least 262 kB`, `up to 262 kB`.
pub(super) fn amount(waiting: &Figure, octets: f64) -> String {
    let bound = if waiting.text(Key::Bound).is_some() { "at least" } else { "up to" };
    format!("{bound} {}", words::value(waiting.unit, octets))
}

/// Figure of round trips a minute, from one value per block.
pub(super) fn rpm(row: &Row, probes: &str, values: &[f64]) -> Figure {
    let row = row.clone().with(Key::Probes, probes);
    row.over_blocks(Metric::NetworkRpm, Unit::Count, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_twentieth_does_not_count() {
        let mut values = vec![2e6; 95];
        values.extend([900e6; 5]);
        let mean = trimmed_mean(&values).expect("values");
        assert!((mean - 2e6).abs() < 1.0, "{mean}");
        let mut histogram = Histogram::new();
        for value in &values {
            histogram.record(Nanos(*value as u64));
        }
        let mean = trimmed_mean_of(&histogram);
        assert!((mean / 2e6 - 1.0).abs() < 2e-3, "{mean}");
        assert_eq!((trimmed_mean(&[]), trimmed_mean_of(&Histogram::new())), (None, 0.0));
    }

    #[test]
    fn twenty_milliseconds_are_three_thousand_a_minute() {
        assert_eq!(per_minute(20e6), Some(3000.0));
        assert_eq!(per_minute(0.0), None);
    }

    #[test]
    fn waiting_octets_are_delay_times_rate() {
        let frame = FullFrame { mss: 1448, octets: 1518 };
        let goodput = 100e6 * 1448.0 / 1518.0;
        let queue = Queue { loaded: [10.1e6, 20.1e6], idle: 0.1e6, goodput, lost: true };
        assert!((frame.waiting(&queue, 0) - 125_000.0).abs() < 1e-3);
        assert!((frame.waiting(&queue, 1) - 250_000.0).abs() < 1e-3);
    }
}
