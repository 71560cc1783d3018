//! Quantiles, ranks and intervals against SciPy and against brute force.

#![expect(clippy::float_cmp, reason = "both sides are the same sample or the same law's share")]

use measure::quantile::{
    Ranks, median, median_interval, quantile, quantile_interval, quantile_ranks,
};
use proptest::prelude::*;

/// SciPy 1.17.1, with F = `scipy.stats.binom.cdf(., n, q)`: low is the largest l with F(l-1) <=
/// error/2, high the smallest u with 1 - F(u-1) <= error/2 (what one tail cannot have goes to the
/// other), confidence is F(high-1) - F(low-1).
#[test]
fn ranks_as_scipy_has_them() {
    for (n, q, asked, low, high, confidence) in [
        (1, 0.5, 0.95, 1, 1, 0.0),
        (5, 0.5, 0.95, 1, 5, 0.9375),
        (6, 0.5, 0.95, 1, 6, 0.968_75),
        (10, 0.5, 0.95, 2, 9, 0.978_515_625),
        (20, 0.5, 0.95, 6, 15, 0.958_610_534_667_968_8),
        (100, 0.5, 0.99, 37, 64, 0.993_362_879_484_073_9),
        (100, 0.9, 0.95, 84, 96, 0.955_690_107_191_223),
        (100, 0.99, 0.95, 1, 100, 0.633_967_658_726_770_9),
        (299, 0.99, 0.95, 289, 299, 0.950_206_303_456_065_4),
        (1_000, 0.999, 0.95, 1, 1_000, 0.632_304_575_229_036_3),
        (5_000, 0.999, 0.95, 4_990, 5_000, 0.979_628_935_515_951_8),
        (100_000, 0.999, 0.95, 99_880, 99_920, 0.954_789_056_801_905),
        (1_000_000, 0.5, 0.95, 499_020, 500_981, 0.950_121_031_347_631_4),
        (10_000_000, 0.99, 0.99, 9_899_189, 9_900_811, 0.990_049_121_568_583),
        (40, 0.01, 0.95, 1, 40, 0.331_028_241_430_319_5),
    ] {
        let ranks = quantile_ranks(n, q, asked);
        assert_eq!((ranks.low, ranks.high), (low, high), "n {n}, q {q}, {asked}");
        assert!((ranks.confidence - confidence).abs() < 1e-10, "n {n}, q {q}: {ranks:?}");
    }
}

/// The usual approximation floor((n - z sqrt n)/2) … ceil(1 + (n + z sqrt n)/2) agrees from fifty
/// on, and below is a rank wider at either end.
#[test]
fn median_ranks_beside_the_normal_approximation() {
    let z = 1.959_963_984_540_054;
    for (n, wider) in [(10, 1), (20, 1), (50, 0), (100, 0), (200, 0), (1_000, 0)] {
        let (count, ranks) = (n as f64, quantile_ranks(n, 0.5, 0.95));
        let low = ((count - z * count.sqrt()) / 2.0).floor() as u64;
        let high = (1.0 + f64::midpoint(count, z * count.sqrt())).ceil() as u64;
        assert_eq!((ranks.low - wider, ranks.high + wider), (low, high), "{n}");
    }
}

#[test]
fn an_extreme_has_no_interval() {
    let sorted = [1.0, 2.0, 3.0];
    for (q, value) in [(0.0, 1.0), (1.0, 3.0), (f64::NAN, 1.0)] {
        let interval = quantile_interval(&sorted, q, 0.95).expect("not empty");
        assert_eq!((interval.low, interval.high, interval.confidence), (value, value, 0.0));
    }
}

#[test]
fn nothing_has_no_figures() {
    assert_eq!(median(&[]), None);
    assert_eq!(quantile(&[], 0.5), None);
    assert_eq!(median_interval(&[], 0.95), None);
}

#[test]
fn six_blocks_give_their_range() {
    let interval = median_interval(&[5.0, 1.0, 4.0, 2.0, 6.0, 3.0], 0.95).expect("not empty");
    assert_eq!((interval.low, interval.high), (1.0, 6.0));
    assert!((interval.confidence - 0.968_75).abs() < 1e-12);
}

/// Bin(n, q) by its definition, for small n.
fn binomial(n: u64, q: f64) -> Vec<f64> {
    let mut shares = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; shares.len() + 1];
        for (k, share) in shares.iter().enumerate() {
            next[k] += share * (1.0 - q);
            next[k + 1] += share * q;
        }
        shares = next;
    }
    shares
}

/// The probability that `low..high` (ranks) enclose the quantile, by summing.
fn enclosed(shares: &[f64], low: u64, high: u64) -> f64 {
    shares[low as usize..high as usize].iter().sum()
}

proptest! {
    #[test]
    fn ranks_state_their_confidence_and_keep_the_promise(
        n in 1u64..150, q in 0.001f64..0.999, asked in 0.5f64..0.999,
    ) {
        let Ranks { low, high, confidence } = quantile_ranks(n, q, asked);
        let shares = binomial(n, q);
        prop_assert!(1 <= low && low <= high && high <= n);
        prop_assert!((enclosed(&shares, low, high) - confidence).abs() < 1e-9);
        prop_assert!(confidence >= asked - 1e-9 || (low, high) == (1, n));
        // Never wider than need be: one rank less at either end would cost that end more than its
        // half of the error, or both together more than all of it.
        if confidence >= asked && low < high {
            let half = (1.0 - asked) / 2.0 - 1e-9;
            let below: f64 = shares[..=low as usize].iter().sum();
            let above: f64 = shares[high as usize - 1..].iter().sum();
            prop_assert!(below > half || enclosed(&shares, low + 1, high) < asked + 1e-9);
            prop_assert!(above > half || enclosed(&shares, low, high - 1) < asked + 1e-9);
        }
    }

    #[test]
    fn the_interval_holds_the_quantile(
        mut values in prop::collection::vec(0f64..1e9, 1..200), q in 0.0f64..=1.0, asked in 0.5f64..0.99,
    ) {
        values.sort_by(f64::total_cmp);
        let interval = quantile_interval(&values, q, asked).expect("not empty");
        let value = quantile(&values, q).expect("not empty");
        prop_assert!(interval.low <= value && value <= interval.high);
    }

    #[test]
    fn a_quantile_is_the_smallest_value_with_its_share(
        mut values in prop::collection::vec(-100i32..100, 1..60), q in 0.0f64..=1.0,
    ) {
        values.sort_unstable();
        let sorted: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        let found = quantile(&sorted, q).expect("not empty");
        let share = |value: f64| {
            sorted.iter().filter(|other| **other <= value).count() as f64 / sorted.len() as f64
        };
        let expected = sorted.iter().copied().find(|value| share(*value) >= q - 1e-12);
        prop_assert_eq!(Some(found), expected);
    }

    #[test]
    fn a_median_is_the_middle(mut values in prop::collection::vec(-1e6f64..1e6, 1..60)) {
        let found = median(&values).expect("not empty");
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        let expected = if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) };
        prop_assert_eq!(found, expected);
    }
}
