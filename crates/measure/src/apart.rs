//! Differences between two sides that cannot be measured at the same time. Each is measured in
//! rounds of its own, such as a direct cable before and after the device that takes its place.
//!
//! Owns the variation between rounds, which no repetition within one of them shows. Never decides
//! what a difference means.

use crate::Interval;
use crate::between_times::between_times;
use crate::quantile::median;
use crate::ranks::Shift;
use crate::variance::student;

/// Confidence of every interval here.
const CONFIDENCE: f64 = 0.95;

/// Difference between two sides measured at different times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apart {
    /// Mean of one side's rounds minus that of the other's; a steady drift cancels if rounds
    /// alternate.
    pub value: f64,
    /// Interval that covers both the variation between repetitions (by ranks, of two separate
    /// sides) and the variation between rounds (Student's t). Its confidence is that of the
    /// repetitions.
    pub interval: Interval,
    /// Change from the second side's first round to its last; `None` with a single round.
    pub drift: Option<Drift>,
    /// Number of repetitions per side.
    pub blocks: (usize, usize),
}

/// Change of a side without any intervention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Last round minus first round.
    pub value: f64,
    /// Interval by ranks, of two separate sides.
    pub interval: Interval,
}

impl Drift {
    /// Largest change that the interval allows, in either direction.
    pub fn most(&self) -> f64 {
        self.interval.low.abs().max(self.interval.high.abs())
    }
}

impl Apart {
    /// Compares two sides, each a list of rounds of repetitions. If neither side has a second
    /// round, the variation between rounds is unknown. The larger of [`between_times`] and
    /// `allowance` is then added at both ends. `None` if a side has no repetition, or a value is
    /// not finite.
    pub fn from_rounds(side: &[Vec<f64>], other: &[Vec<f64>], allowance: f64) -> Option<Self> {
        let whole = |rounds: &[Vec<f64>]| rounds.concat();
        let (all, others) = (whole(side), whole(other));
        let within = Shift::of_sides(&all, &others)?.interval(CONFIDENCE);
        let typical = |rounds: &[Vec<f64>]| -> Vec<f64> {
            rounds.iter().filter_map(|round| median(round)).collect()
        };
        let (own, beside) = (typical(side), typical(other));
        let value = mean(&own) - mean(&beside);
        let freedom = own.len() + beside.len() - 2;
        let interval = if freedom == 0 {
            let allowance = allowance.max(between_times([&all[..], &others]));
            Interval { low: within.low - allowance, high: within.high + allowance, ..within }
        } else {
            let variance = (squares(&own) + squares(&beside)) / freedom as f64;
            let rounds = 1.0 / own.len() as f64 + 1.0 / beside.len() as f64;
            let reach = student(freedom) * (variance * rounds).sqrt();
            let (low, high) = (within.low.min(value - reach), within.high.max(value + reach));
            Interval { low, high, ..within }
        };
        let drift = match other {
            [first, .., last] => Shift::of_sides(last, first).map(|shift| Drift {
                value: shift.estimate(),
                interval: shift.interval(CONFIDENCE),
            }),
            _ => None,
        };
        Some(Self { value, interval, drift, blocks: (all.len(), others.len()) })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(at: f64) -> Vec<f64> {
        [-0.2, -0.1, 0.0, 0.1, 0.2].map(|noise| at + noise).to_vec()
    }

    #[test]
    fn a_single_round_a_side_is_widened_by_what_is_allowed_for() {
        let found = Apart::from_rounds(&[round(12.0)], &[round(10.0)], 0.5).expect("values");
        assert!((found.value - 2.0).abs() < 1e-9 && found.drift.is_none(), "{found:?}");
        assert!(found.interval.low <= 1.5 && found.interval.high >= 2.5, "{found:?}");
        assert!(found.interval.confidence >= 0.95, "{found:?}");
        let least = Apart::from_rounds(&[round(12.0)], &[round(10.0)], 0.0).expect("values");
        let allowed = between_times([&round(12.0)[..], &round(10.0)]);
        assert!((0.4..0.7).contains(&allowed), "{allowed}");
        assert!(least.interval.low <= 2.0 - allowed && least.interval.high >= 2.0 + allowed);
    }

    #[test]
    fn rounds_that_differ_widen_the_interval_and_a_steady_drift_cancels() {
        let steady = Apart::from_rounds(
            &[round(12.5), round(13.5)],
            &[round(10.0), round(11.0), round(12.0)],
            0.0,
        )
        .expect("values");
        assert!((steady.value - 2.0).abs() < 1e-9, "{steady:?}");
        let drift = steady.drift.expect("three rounds of the cable");
        assert!((drift.value - 2.0).abs() < 1e-9 && drift.most() > 2.0, "{drift:?}");
        assert!(steady.interval.low < 0.0, "as large as what is claimed: {steady:?}");
        let still = Apart::from_rounds(
            &[round(12.0), round(12.0)],
            &[round(10.0), round(10.0), round(10.0)],
            0.0,
        )
        .expect("values");
        assert!(still.interval.low > 1.7 && still.interval.high < 2.3, "{still:?}");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(Apart::from_rounds(&[], &[round(1.0)], 0.0), None);
        assert_eq!(Apart::from_rounds(&[vec![f64::NAN]], &[round(1.0)], 0.0), None);
        let one = Apart::from_rounds(&[vec![2.0]], &[vec![1.0]], 0.0).expect("values");
        assert!(one.interval.confidence < 0.95, "{one:?}");
    }
}
