//! Shifts by ranks: the Hodges-Lehmann estimate with its exact interval and tests, for paired
//! blocks (Wilcoxon's signed ranks) and for two separate sets of blocks (the Mann-Whitney rank
//! sum).
//!
//! Owns the two exact distributions. Assumes only symmetric noise for pairs, and noise of one shape
//! for separate sets (Hollander, Wolfe & Chicken, "Nonparametric Statistical Methods", 3rd ed.,
//! §3.1-3.3, §4.1-4.3). Never decides whether a shift matters.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::{Interval, normal};

/// Largest number of blocks per side with exact distributions; beyond, the normal law is as good.
const EXACT: usize = 60;

/// Cumulative probabilities of signed ranks by number of pairs, cached because every verdict uses
/// them.
static SIGNED_RANKS: [OnceLock<Vec<f64>>; EXACT + 1] = [const { OnceLock::new() }; EXACT + 1];

/// Shift between two sides, with all estimates that ranks give.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// All elementary estimates, ascending: means of two pairs' differences (Walsh averages), or
    /// differences of one block from each side.
    elementary: Vec<f64>,
    law: Law,
}

/// Distribution of the number of elementary estimates above the true shift.
#[derive(Debug, Clone, PartialEq)]
enum Law {
    /// Probability of at most n, by n.
    Exact(Cow<'static, [f64]>),
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl Shift {
    /// Shift from the differences of pairs measured in the same block. `None` without any, or if
    /// one is not finite.
    pub fn of_pairs(differences: &[f64]) -> Option<Self> {
        if differences.is_empty() || !differences.iter().all(|d| d.is_finite()) {
            return None;
        }
        let walsh = differences.iter().enumerate().flat_map(|(at, one)| {
            differences[at..].iter().map(move |other| f64::midpoint(*one, *other))
        });
        let n = differences.len();
        Some(Self { elementary: ascending(walsh.collect()), law: Law::of_signed_ranks(n) })
    }

    /// Shift of blocks of `a` against blocks of `b` measured separately. `None` if a side is empty
    /// or a value is not finite.
    pub fn of_sides(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.is_empty() || b.is_empty() || !a.iter().chain(b).all(|value| value.is_finite()) {
            return None;
        }
        let differences = a.iter().flat_map(|one| b.iter().map(move |other| one - other));
        let law = Law::of_rank_sum(a.len(), b.len());
        Some(Self { elementary: ascending(differences.collect()), law })
    }

    /// Hodges-Lehmann estimate: the median of the elementary ones.
    pub fn estimate(&self) -> f64 {
        let n = self.elementary.len();
        f64::midpoint(self.elementary[(n - 1) / 2], self.elementary[n / 2])
    }

    /// Returns the narrowest exact interval with at least that confidence, 0…1. With too few blocks
    /// it is the whole range, at the confidence that it has.
    pub fn interval(&self, confidence: f64) -> Interval {
        let n = self.elementary.len();
        let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
        let mut left_out = 0;
        while left_out + 1 < n.div_ceil(2) && self.law.at_most(left_out + 1, n) <= tail {
            left_out += 1;
        }
        Interval {
            low: self.elementary[left_out],
            high: self.elementary[n - 1 - left_out],
            confidence: (1.0 - 2.0 * self.law.at_most(left_out, n)).max(0.0),
        }
    }

    /// One-sided p-value against a shift of at most `threshold`.
    pub fn chance_if_not_above(&self, threshold: f64) -> f64 {
        // Ties with the threshold count against the claim.
        let at_or_below = self.elementary.partition_point(|value| *value <= threshold);
        self.law.at_most(at_or_below, self.elementary.len())
    }

    /// One-sided p-value against a shift of at least `threshold`.
    pub fn chance_if_not_below(&self, threshold: f64) -> f64 {
        let below = self.elementary.partition_point(|value| *value < threshold);
        self.law.at_most(self.elementary.len() - below, self.elementary.len())
    }
}

fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

impl Law {
    /// Distribution of the rank sum of positive differences among n: each rank is in it or not.
    fn of_signed_ranks(n: usize) -> Self {
        if n > EXACT {
            let n = n as f64;
            let mean = n * (n + 1.0) / 4.0;
            return Self::Normal { mean, deviation: (mean * (2.0 * n + 1.0) / 6.0).sqrt() };
        }
        Self::Exact(Cow::Borrowed(SIGNED_RANKS[n].get_or_init(|| cumulated(&signed_ranks(n)))))
    }

    /// Distribution of the number of positive differences between sides of m and n blocks, from the
    /// coefficients of the Gaussian binomial.
    fn of_rank_sum(m: usize, n: usize) -> Self {
        if m.max(n) > EXACT {
            let (m, n) = (m as f64, n as f64);
            let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
            return Self::Normal { mean: m * n / 2.0, deviation };
        }
        let mut ways = vec![0.0; m * n + 1];
        ways[0] = 1.0;
        for i in 1..=m {
            for at in (n + i..ways.len()).rev() {
                ways[at] -= ways[at - n - i];
            }
            for at in i..ways.len() {
                ways[at] += ways[at - i];
            }
        }
        let all: f64 = ways.iter().sum();
        let chance: Vec<f64> = ways.iter().map(|ways| ways / all).collect();
        Self::Exact(Cow::Owned(cumulated(&chance)))
    }

    /// Probability that at most `count` of `n` elementary estimates lie on one side of the true
    /// shift.
    fn at_most(&self, count: usize, n: usize) -> f64 {
        match self {
            _ if count >= n => 1.0,
            Self::Exact(at_most) => at_most[count].min(1.0),
            Self::Normal { mean, deviation } => {
                normal::share_below((count as f64 + 0.5 - mean) / deviation)
            }
        }
    }
}

/// Probability of each sum of ranks.
fn signed_ranks(n: usize) -> Vec<f64> {
    let mut chance = vec![0.0; n * (n + 1) / 2 + 1];
    chance[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..chance.len()).rev() {
            let with = if sum >= rank { chance[sum - rank] } else { 0.0 };
            chance[sum] = f64::midpoint(chance[sum], with);
        }
    }
    chance
}

fn cumulated(chance: &[f64]) -> Vec<f64> {
    let sums = chance.iter().scan(0.0, |sum, chance| {
        *sum += chance;
        Some(*sum)
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published critical values (Hollander, Wolfe & Chicken, tables A.4 and A.6), which R's
    /// `psignrank` and `pwilcox` give too.
    #[test]
    fn chances_as_tables_have_them() {
        for (n, sum, chance) in [(6, 0, 0.015_625), (10, 8, 0.024_414_062_5), (8, 3, 0.019_531_25)]
        {
            let law = Law::of_signed_ranks(n);
            assert!((law.at_most(sum, n * (n + 1) / 2) - chance).abs() < 1e-12, "{n} {sum}");
        }
        for (m, n, count, chance) in
            [(3, 3, 0, 1.0 / 20.0), (6, 6, 5, 19.0 / 924.0), (4, 5, 2, 4.0 / 126.0)]
        {
            let law = Law::of_rank_sum(m, n);
            assert!((law.at_most(count, m * n) - chance).abs() < 1e-12, "{m} {n} {count}");
        }
    }

    /// Just past the last exact size the normal law takes over without a step.
    #[test]
    fn laws_join() {
        let (exact, normal) = (Law::of_signed_ranks(EXACT), Law::of_signed_ranks(EXACT + 1));
        let all = EXACT * (EXACT + 1) / 2;
        let share = |law: &Law, n: usize, z: f64| {
            let n = n as f64;
            let mean = n * (n + 1.0) / 4.0;
            let deviation = (mean * (2.0 * n + 1.0) / 6.0).sqrt();
            law.at_most((mean + z * deviation).round() as usize, all + EXACT + 1)
        };
        for z in [-2.5, -1.96, -1.0, 0.0] {
            let (one, other) = (share(&exact, EXACT, z), share(&normal, EXACT + 1, z));
            assert!((one - other).abs() < 2e-3, "{z}: {one} {other}");
        }
    }

    /// Ten pairs, worked by hand: the ninth smallest and ninth largest of 55 averages, at 95.1 %.
    #[test]
    fn ten_pairs() {
        let differences = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let shift = Shift::of_pairs(&differences).expect("finite");
        let interval = shift.interval(0.95);
        assert!((shift.estimate() - 5.5).abs() < 1e-12);
        assert_eq!((interval.low, interval.high), (3.0, 8.0));
        assert!((interval.confidence - 0.951_171_875).abs() < 1e-12, "{}", interval.confidence);
        // All ten above zero: 1 of 1024.
        assert!((shift.chance_if_not_above(0.0) - 1.0 / 1024.0).abs() < 1e-12);
        assert!((shift.chance_if_not_below(0.0) - 1.0).abs() < 1e-12);
    }
}
