//! Detection of a step in a few runs of the same quantity, one value per run.
//!
//! Owns the test at every possible place of the step, Student's law, and the interval for the
//! place. The run is the sampling unit, however many repetitions it has: the difference between two
//! runs of the same thing is the noise. Assumes normal noise on the scale of the values, which few
//! runs cannot show; `change` handles long series. Never states equality.

use crate::Interval;

/// Largest drop of the log-likelihood below its maximum within the interval for the place, at 95 %
/// (Siegmund, "Confidence sets in change-point problems", Int. Stat. Rev. 56, 1988).
const WITHIN: f64 = 3.68;

/// Split of the runs in two, with the difference between the parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Index of the first run of the second part.
    pub first: usize,
    /// Mean of the second part - mean of the first.
    pub difference: f64,
    /// Interval of the difference, at the requested confidence.
    pub interval: Interval,
    /// Standard error of the difference.
    error: f64,
    /// Excess of the difference over the margin.
    beyond: f64,
    freedom: usize,
    /// Sum of squares around both means.
    left: f64,
}

impl Step {
    /// Two-sided p-value against a step no larger than the margin.
    pub fn p(&self) -> f64 {
        if self.error > 0.0 {
            outside(self.beyond / self.error, self.freedom)
        } else if self.beyond > 0.0 {
            0.0
        } else {
            1.0
        }
    }
}

/// List of runs that may be split at any place.
#[derive(Debug, Clone, Copy)]
pub struct Splits<'a> {
    values: &'a [f64],
    within: f64,
    margin: f64,
    confidence: f64,
    freedom: usize,
    /// Student's t at the confidence, the same at every place.
    point: f64,
}

impl<'a> Splits<'a> {
    /// Prepares the splits of these runs. `within` is the variance of a run's value due to its own
    /// repetitions: runs that agree better by chance are not known better. `None` with fewer than
    /// three runs.
    pub fn new(values: &'a [f64], within: f64, margin: f64, confidence: f64) -> Option<Self> {
        let freedom = values.len().checked_sub(2).filter(|freedom| *freedom > 0)?;
        let point = point(confidence, freedom);
        Some(Self { values, within, margin, confidence, freedom, point })
    }

    /// Splits before `first`; `None` if a side has no run.
    pub fn at(&self, first: usize) -> Option<Step> {
        let Self { values, confidence, freedom, .. } = *self;
        if first == 0 || first >= values.len() {
            return None;
        }
        let (before, after) = values.split_at(first);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let squares =
            |part: &[f64], mean: f64| part.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let (low, high) = (mean(before), mean(after));
        let left = squares(before, low) + squares(after, high);
        let variance = (left / freedom as f64).max(self.within);
        let each = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
        let error = (variance * each).sqrt();
        let difference = high - low;
        let beyond = (difference.abs() - self.margin).max(0.0);
        let half = error * self.point;
        let interval = Interval { low: difference - half, high: difference + half, confidence };
        Some(Step { first, difference, interval, error, beyond, freedom, left })
    }
}

/// Returns the most likely of some places, and the first and last place within its 95 % interval.
pub fn most_likely(steps: &[Step], runs: usize) -> Option<(Step, usize, usize)> {
    let best = steps.iter().min_by(|a, b| a.left.total_cmp(&b.left))?;
    let is_within = |step: &&Step| {
        let times = if best.left > 0.0 { step.left / best.left } else { f64::INFINITY };
        step.first == best.first || runs as f64 / 2.0 * times.ln() <= WITHIN
    };
    let earliest = steps.iter().find(is_within)?.first;
    let latest = steps.iter().rev().find(is_within)?.first;
    Some((*best, earliest, latest))
}

/// Probability that Student's t is at least this far from zero, either way (Abramowitz & Stegun,
/// 26.7.3 and 26.7.4).
pub fn outside(t: f64, freedom: usize) -> f64 {
    let angle = (t.abs() / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (cosine, 0.0) } else { (1.0, 0.0) };
    let mut at = usize::from(odd);
    while at + 2 <= freedom {
        sum += term;
        at += 2;
        term *= cosine * cosine * (at - 1) as f64 / at as f64;
    }
    let inside = if odd { (angle + sine * sum) / std::f64::consts::FRAC_PI_2 } else { sine * sum };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// Student's t that is exceeded, either way, with probability 1 - `confidence`.
fn point(confidence: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if outside(middle, freedom) > 1.0 - confidence { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published 97.5 % points of Student's t.
    #[test]
    fn points_as_tables_have_them() {
        for (freedom, t) in
            [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (30, 2.042)]
        {
            assert!((point(0.95, freedom) - t).abs() < 1e-3, "{freedom}: {}", point(0.95, freedom));
        }
    }

    #[test]
    fn a_step_is_placed() {
        let values = [1.0, 1.02, 0.99, 1.01, 1.3, 1.31, 1.29];
        let splits = |values| Splits::new(values, 0.0, 0.01, 0.95);
        let all = splits(&values).expect("runs");
        let steps: Vec<Step> = (1..7).filter_map(|first| all.at(first)).collect();
        let (step, earliest, latest) = most_likely(&steps, values.len()).expect("runs");
        assert_eq!((step.first, earliest, latest), (4, 4, 4));
        assert!(
            step.p() < 1e-5 && step.interval.low > 0.25 && step.interval.high < 0.35,
            "{step:?}"
        );
        assert!(splits(&values[..2]).is_none());
        let same = splits(&[2.0; 5]).and_then(|runs| runs.at(2)).expect("runs");
        assert!(same.p() > 0.999 && same.difference.abs() < 1e-12);
    }
}
