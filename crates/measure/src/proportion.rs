//! Confidence interval of a proportion, by Clopper and Pearson (1934).
//!
//! Exact, and therefore never too narrow, however few or one-sided the counts are.

use crate::Interval;
use crate::binomial::Binomial;

/// Halvings of 0…1: finer than any difference that matters.
const HALVINGS: u32 = 60;

/// Returns the interval of the probability behind `hits` out of `trials`; `None` without trials.
pub fn proportion(hits: u64, trials: u64, confidence: f64) -> Option<Interval> {
    if trials == 0 || hits > trials {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    // With a larger probability, at least this many hits become likelier, and at most this many
    // less likely.
    let low = match hits.checked_sub(1) {
        None => 0.0,
        Some(below) => first(|p| 1.0 - Binomial::new(trials, p).at_most(below) > tail),
    };
    let high =
        if hits == trials { 1.0 } else { first(|p| Binomial::new(trials, p).at_most(hits) < tail) };
    Some(Interval { low, high, confidence })
}

/// Smallest value in 0…1 for which the condition holds.
fn first(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= 0.0 || middle >= 1.0 {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside R's `binom.test`.
    #[test]
    fn known_intervals() {
        let check = |hits, trials, low: f64, high: f64| {
            let found = proportion(hits, trials, 0.95).expect("trials");
            assert!((found.low - low).abs() < 1e-4, "{hits} of {trials}: {found:?}");
            assert!((found.high - high).abs() < 1e-4, "{hits} of {trials}: {found:?}");
        };
        check(0, 10, 0.0, 0.3085);
        check(10, 10, 0.6915, 1.0);
        check(5, 10, 0.1871, 0.8129);
        check(1, 100, 0.0003, 0.0545);
        check(95, 100, 0.8872, 0.9836);
        assert_eq!(proportion(0, 0, 0.95), None);
    }
}
