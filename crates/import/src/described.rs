//! Distribution as a tool describes it: some of its points, its mean, its deviation.
//!
//! Owns the decision that no samples have all of these. Never has the samples.

use crate::contradiction::Contradiction;

/// Points, mean and deviation of a distribution, in one unit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Described {
    /// Quantiles and their values, in ascending order: 0 is the least sample, 1 the most.
    points: Vec<(f64, f64)>,
    pub mean: Option<f64>,
    /// Standard deviation, of the population or estimated from the samples.
    pub deviation: Option<f64>,
    /// Number of samples, if it is not that of the row: 0 if unknown.
    n: Option<u64>,
    /// Largest error of a printed value.
    pub step: f64,
}

impl Described {
    pub(crate) fn new(points: &[(f64, f64)], mean: Option<f64>) -> Self {
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { points, mean, ..Self::default() }
    }

    /// Creates the description by the least sample, the mean and the most.
    pub(crate) fn by_ends([least, mean, most]: [f64; 3]) -> Self {
        Self::new(&[(0.0, least), (1.0, most)], Some(mean))
    }

    /// Sets the number of samples if it is not that of the row; 0 is unknown.
    #[must_use]
    pub(crate) fn of_samples(self, n: Option<u64>) -> Self {
        Self { n, ..self }
    }

    #[must_use]
    pub(crate) fn with(self, deviation: Option<f64>, step: f64) -> Self {
        Self { deviation, step, ..self }
    }

    pub(crate) fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Contradiction if no samples, `n` unless another number is known, have these points, this
    /// mean and this deviation. An `n` below 2 is unknown.
    pub(crate) fn contradiction(&self, n: u64) -> Option<Contradiction> {
        let n = self.n.unwrap_or(n);
        let n = if n > 1 { n as f64 } else { f64::INFINITY };
        self.order().or_else(|| self.of_mean(n)).or_else(|| self.of_deviation(n))
    }

    fn order(&self) -> Option<Contradiction> {
        let (low, high) = self.points.windows(2).map(|two| (two[0].1, two[1].1)).find(
            // Tools round to the middle of a bin.
            |(low, high)| *low > 1.02 * high + self.step,
        )?;
        Some(Contradiction::new("order-of-points", low, high))
    }

    /// Contradiction if the mean is not between what the points leave for it: between two
    /// neighbours all samples are at the lower one, or all at the higher one.
    fn of_mean(&self, n: f64) -> Option<Contradiction> {
        let mean = self.mean?;
        let (first, last) = (*self.points.first()?, *self.points.last()?);
        let ends = [first, last];
        // Without a count a quantile may be another sample's by any share.
        let points = if n.is_finite() { &self.points[..] } else { &ends };
        let shares = points.windows(2);
        let shares = shares.map(|two| (two[1].0 - two[0].0, two[0].1, two[1].1));
        let (low, high) = shares.fold((0.0, 0.0), |(low, high), (share, below, above)| {
            (low + share * below, high + share * above)
        });
        let low = low + (1.0 - last.0) * last.1;
        let high = if last.0 < 1.0 { f64::INFINITY } else { high + first.0 * first.1 };
        // A quantile may be the next sample's; of two ends each has one sample at least.
        let only_ends = points.len() == 2 && first.0 <= 0.0 && last.0 >= 1.0;
        let one = (last.1 - first.1) / n * if only_ends { 1.0 } else { -1.0 };
        let slack = if only_ends { 1e-3 } else { 0.02 };
        let (low, high) = (low + one, high - one);
        let (least, most) = ((1.0 - slack) * low - self.step, (1.0 + slack) * high + self.step);
        let bound = if mean < least { low } else { high };
        (mean < least || mean > most).then(|| Contradiction::new("mean-of-points", mean, bound))
    }

    /// Contradiction if the deviation is less than a point so far from the mean makes it, or more
    /// than the ends allow.
    fn of_deviation(&self, n: f64) -> Option<Contradiction> {
        let (mean, deviation) = (self.mean?, self.deviation?);
        let needed = |(q, value): &(f64, f64)| {
            let beyond = if *value > mean { 1.0 - q } else { *q };
            let beyond = (beyond - 1.0 / n).max(1.0 / n).min(0.5);
            let away = ((value - mean).abs() - 2.0 * self.step).max(0.0);
            away * (beyond / (1.0 - beyond)).sqrt()
        };
        let needed = self.points.iter().map(needed).fold(0.0, f64::max);
        if needed > 1.02 * deviation + self.step {
            return Some(Contradiction::new("deviation-of-points", deviation, needed));
        }
        let (first, last) = (self.points.first()?, self.points.last()?);
        if first.0 > 0.0 || last.0 < 1.0 {
            return None;
        }
        let room = (last.1 - mean + 2.0 * self.step) * (mean - first.1 + 2.0 * self.step);
        // Some tools take the square of a rounded mean from the mean of the squares.
        let most = room * (1.0 + 1.0 / (n - 1.0)) + 2.0 * mean * self.step;
        let most = most.max(0.0).sqrt();
        (deviation > 1.02 * most + self.step)
            .then(|| Contradiction::new("deviation-of-points", deviation, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_possible(points: &[(f64, f64)], mean: f64, deviation: Option<f64>, n: u64) -> bool {
        Described::new(points, Some(mean)).with(deviation, 0.0).contradiction(n).is_none()
    }

    #[test]
    fn points_that_fall_and_means_outside_of_them_are_contradictions() {
        let points = [(1.0, 9.0), (0.5, 3.0), (0.0, 1.0)];
        for (mean, is) in [(4.0, true), (0.5, false), (10.0, false), (1.9, false), (6.2, false)] {
            assert_eq!(is_possible(&points, mean, None, 1000), is, "{mean}");
        }
        let falls = Described::new(&[(0.5, 9.0), (0.99, 3.0)], None);
        assert!(falls.contradiction(0).is_some());
        assert!(falls.with(None, 6.0).contradiction(0).is_none());
    }

    #[test]
    fn few_samples_leave_a_mean_and_a_deviation_little_room() {
        let ends = [(0.0, 1.0), (1.0, 9.0)];
        for (n, mean, deviation, is) in [
            (2, 5.0, None, true),
            (2, 4.0, None, false),
            (4, 3.0, None, true),
            (4, 2.9, None, false),
            (4, 7.1, None, false),
            (2, 5.0, Some(4.0), true),
            (2, 5.0, Some(5.66), true),
            (2, 5.0, Some(3.0), false),
            (100, 2.0, Some(0.9), true),
            (100, 2.0, Some(0.6), false),
            (100, 2.0, Some(2.6), true),
            (100, 2.0, Some(3.0), false),
        ] {
            assert_eq!(is_possible(&ends, mean, deviation, n), is, "{n} {mean} {deviation:?}");
        }
    }
}
