//! A step in a few runs: the same quantity of run after run, each run one value, and whether those
//! from some run on lie elsewhere.
//!
//! Owns the test at every place where a step may be, Student's law, and the interval for the place.
//! A run is the sampling unit, however many repetitions it had: what two runs of the same thing
//! differ by is the noise. Assumes that noise to be normal on the scale of the values, for a few
//! runs can't tell; a long series is `change`'s. Never says that anything is equal.

use crate::Interval;

/// How far the log-likelihood may fall below its largest within the interval for the place, at
/// 95 % (Siegmund, "Confidence sets in change-point problems", Int. Stat. Rev. 56, 1988).
const WITHIN: f64 = 3.68;

/// Runs split in two at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The first run of the second part.
    pub first: usize,
    /// Mean of the second part - mean of the first.
    pub difference: f64,
    /// At the confidence that was asked for.
    pub interval: Interval,
    /// The chance of such runs were the step here no larger than the margin; two-sided.
    pub p: f64,
    /// What is left of the squares around both means.
    left: f64,
}

/// The runs split before `first`. `within` is the variance that a run's own repetitions leave in
/// its value: runs that happen to agree better than that are no better known. `None` with fewer
/// than three runs, or without any on a side.
pub fn at(values: &[f64], first: usize, within: f64, margin: f64, confidence: f64) -> Option<Step> {
    if values.len() < 3 || first == 0 || first >= values.len() {
        return None;
    }
    let (before, after) = values.split_at(first);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let squares = |part: &[f64]| {
        let mean = mean(part);
        part.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let freedom = values.len() - 2;
    let left = squares(before) + squares(after);
    let variance = (left / freedom as f64).max(within);
    let each = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let error = (variance * each).sqrt();
    let difference = mean(after) - mean(before);
    let beyond = (difference.abs() - margin).max(0.0);
    let p = if error > 0.0 {
        outside(beyond / error, freedom)
    } else if beyond > 0.0 {
        0.0
    } else {
        1.0
    };
    let half = error * point(confidence, freedom);
    let interval = Interval { low: difference - half, high: difference + half, confidence };
    Some(Step { first, difference, interval, p, left })
}

/// The most likely of some places, and between which two of them the step lies at 95 %.
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

/// The chance of Student's t at least so far from zero, either way (Abramowitz & Stegun, 26.7.3 and
/// 26.7.4).
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

/// The t outside of which the rest of a confidence lies.
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
        let steps: Vec<Step> =
            (1..7).filter_map(|first| at(&values, first, 0.0, 0.01, 0.95)).collect();
        let (step, earliest, latest) = most_likely(&steps, values.len()).expect("runs");
        assert_eq!((step.first, earliest, latest), (4, 4, 4));
        assert!(step.p < 1e-5 && step.interval.low > 0.25 && step.interval.high < 0.35, "{step:?}");
        assert!(at(&values[..2], 1, 0.0, 0.01, 0.95).is_none());
        let same = at(&[2.0; 5], 2, 0.0, 0.01, 0.95).expect("runs");
        assert!(same.p > 0.999 && same.difference.abs() < 1e-12);
    }
}
