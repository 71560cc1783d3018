//! Confidence interval of a counted share (Clopper & Pearson, Biometrika 26, 1934).
//!
//! Owns the exact interval. Events must be independent: if they come in runs, count runs.

use crate::Interval;
use crate::binomial::Binomial;

/// Halvings of the range: as fine as a double.
const HALVINGS: u32 = 60;

/// Returns an interval for the share behind `count` of `of` independent events, with at least
/// `confidence`; `None` without events. If none was counted, it still reaches up to about 3.7 /
/// `of` at 95 %.
pub fn share_interval(count: u64, of: u64, confidence: f64) -> Option<Interval> {
    if of == 0 || count > of {
        return None;
    }
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let below = |at: u64, share: f64| Binomial::new(of, share).at_most(at);
    let low = match count.checked_sub(1) {
        None => 0.0,
        Some(less) => first(|share| 1.0 - below(less, share) >= tail),
    };
    let high = if count == of { 1.0 } else { first(|share| below(count, share) <= tail) };
    Some(Interval { low, high, confidence })
}

/// Smallest share from which on a condition holds.
fn first(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut no, mut yes) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(no, yes);
        if middle <= no || middle >= yes {
            break;
        }
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R's `binom.test`.
    #[test]
    fn intervals_as_tables_have_them() {
        for (count, of, low, high) in [
            (0, 10, 0.0, 0.308_497_1),
            (1, 10, 0.002_528_579, 0.445_016_1),
            (5, 10, 0.187_086_0, 0.812_914_0),
            (10, 10, 0.691_502_9, 1.0),
            (0, 10_000, 0.0, 3.688_199e-4),
        ] {
            let found = share_interval(count, of, 0.95).expect("some");
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.max(1e-3);
            assert!(near(found.low, low) && near(found.high, high), "{count} of {of}: {found:?}");
        }
        assert_eq!(share_interval(0, 0, 0.95), None);
        let many = share_interval(50_000_000, 100_000_000, 0.95).expect("some");
        assert!(many.low > 0.4999 && many.high < 0.5001, "{many:?}");
    }
}
