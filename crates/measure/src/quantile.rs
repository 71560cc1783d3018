//! Distribution-free intervals for quantiles: two order statistics, chosen by the exact binomial
//! law (David & Nagaraja, "Order Statistics", §7.1).
//!
//! Never overstates: with too few samples for the requested confidence, the interval is the whole
//! range and states its actual confidence.

use crate::Interval;
use crate::binomial::Binomial;

/// Two ranks, counted from 1, and the probability that the quantile lies between their samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    /// Rank of the lower end.
    pub low: u64,
    /// Rank of the upper end.
    pub high: u64,
    /// Confidence, 0…1; below the requested one only if `low` is 1 and `high` is n.
    pub confidence: f64,
}

/// Returns the ranks whose samples enclose quantile `q` of the population with at least
/// `confidence`, out of `n` independent samples.
///
/// Each end gets half of the allowed error. If one tail is heavier than that even at the extreme,
/// the extreme is taken there and the other end gets the rest. `q` of 0 or 1 has no such interval:
/// both ranks are the extreme's, at confidence 0.
pub fn quantile_ranks(n: u64, q: f64, confidence: f64) -> Ranks {
    let n = n.max(1);
    if q <= 0.0 || q >= 1.0 || q.is_nan() {
        let rank = if q >= 1.0 { n } else { 1 };
        return Ranks { low: rank, high: rank, confidence: 0.0 };
    }
    let below = Binomial::new(n, q);
    let error = 1.0 - confidence.clamp(0.0, 1.0);
    // Unavoidable error: all samples above the quantile, or all below it.
    let (least_low, least_high) = (below.at_most(0), 1.0 - below.at_most(n - 1));
    let tail_low = if least_high > error / 2.0 { error - least_high } else { error / 2.0 };
    let tail_high = if least_low > error / 2.0 { error - least_low } else { error / 2.0 };
    let low = below.lower_rank(tail_low).clamp(1, n);
    let high = below.upper_rank(tail_high).clamp(low, n);
    let lost = below.at_most(low - 1) + (1.0 - below.at_most(high - 1));
    Ranks { low, high, confidence: (1.0 - lost).clamp(0.0, 1.0) }
}

/// Returns the smallest of `sorted` at or below which a share `q` (0…1) of them lie; `None` when
/// empty.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = (q.clamp(0.0, 1.0) * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// Returns an interval for quantile `q` (0…1) from independent samples in ascending order; `None`
/// when empty.
pub fn quantile_interval(sorted: &[f64], q: f64, confidence: f64) -> Option<Interval> {
    debug_assert!(sorted.is_sorted(), "samples must be in ascending order");
    if sorted.is_empty() {
        return None;
    }
    let ranks = quantile_ranks(sorted.len() as u64, q, confidence);
    Some(Interval {
        low: sorted[ranks.low as usize - 1],
        high: sorted[ranks.high as usize - 1],
        confidence: ranks.confidence,
    })
}

/// Returns the median of `values`, in any order: the mean of the middle two if their number is
/// even. `None` when empty.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    (!values.is_empty()).then(|| median_in_place(&mut values))
}

/// Returns the upper of the middle two of `values`, in any order, or the middle one; `None` when
/// empty.
pub fn upper_median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Returns an interval for the median from independent values in any order, such as one per block;
/// `None` when empty. Six values give their whole range at 96.9 %, ten the second to the ninth at
/// 97.9 %; fewer than six never reach 95 %.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_interval(&sorted, 0.5, confidence)
}

/// Median of at least one value, reordering them.
pub(crate) fn median_in_place(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    f64::midpoint(lower, upper)
}
