//! Bootstrap intervals against SciPy's, and paired figures over blocks.

use measure::bootstrap::bca;
use measure::quantile::{median, median_interval};
use measure::{BlockEstimate, Interval, blocks};
use proptest::prelude::*;

const TIMES: [f64; 12] = [31.8, 31.5, 32.1, 30.9, 35.2, 31.1, 31.7, 33.0, 31.4, 32.6, 31.9, 31.2];
const SKEWED: [f64; 10] = [1.0, 1.2, 1.1, 1.5, 0.9, 8.0, 1.3, 2.0, 1.05, 3.5];

fn mean(values: &mut [f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn middle(values: &mut [f64]) -> f64 {
    median(values).expect("not empty")
}

/// SciPy 1.17.1: `scipy.stats.bootstrap((v,), f, n_resamples=200000, confidence_level=0.95,
/// method=m)`. Ours are 10,000 resamples, so a twentieth of the width is allowed between them.
#[test]
fn as_scipy_has_it() {
    let check = |name, found: Option<Interval>, low: f64, high: f64| {
        let found = found.expect("not empty");
        let allowed = (high - low) / 20.0;
        let near = (found.low - low).abs() <= allowed && (found.high - high).abs() <= allowed;
        assert!(near, "{name}: {found:?} beside {low}…{high}");
    };
    for seed in [1, 2, 3] {
        check("mean, BCa", bca(&TIMES, mean, 0.95, seed), 31.58, 32.99);
        check("median, BCa", bca(&TIMES, middle, 0.95, seed), 31.30, 32.35);
        check("skewed, BCa", bca(&SKEWED, mean, 0.95, seed), 1.325, 4.55);
    }
}

#[test]
fn the_seed_decides() {
    assert_eq!(bca(&TIMES, mean, 0.95, 7), bca(&TIMES, mean, 0.95, 7));
    assert_ne!(bca(&TIMES, mean, 0.95, 7), bca(&TIMES, mean, 0.95, 8));
}

#[test]
fn degenerate_blocks() {
    assert_eq!(bca(&[], mean, 0.95, 1), None);
    let same = Some(Interval { low: 2.0, high: 2.0, confidence: 0.95 });
    assert_eq!(bca(&[2.0; 12], mean, 0.95, 1), same);
    assert_eq!(bca(&[2.0], mean, 0.95, 1), same);
    assert_eq!(BlockEstimate::from_values(&[], 0.95), None);
}

#[test]
fn a_ratio_forgets_what_both_sides_share() {
    let pairs: Vec<(f64, f64)> = (1..=12).map(|i| (f64::from(i) * 3.0, f64::from(i))).collect();
    let ratio = blocks::paired_ratio(&pairs, 0.95, 1).expect("positive");
    assert!((ratio.value - 3.0).abs() < 1e-12 && ratio.blocks == 12);
    assert!((ratio.interval.high - ratio.interval.low).abs() < 1e-12);
    let shift = blocks::paired_shift(&pairs, 0.95, 1).expect("finite");
    assert!((shift.value - 13.0).abs() < 1e-12, "2, 4, … 24 have the median 13");
    assert!(shift.interval.low < 13.0 && shift.interval.high > 13.0);
}

#[test]
fn values_without_a_ratio() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(blocks::paired_ratio(&[(1.0, 2.0), (bad, 1.0)], 0.95, 1), None, "{bad}");
        assert_eq!(blocks::paired_ratio(&[(1.0, 2.0), (1.0, bad)], 0.95, 1), None, "{bad}");
    }
    assert_eq!(blocks::paired_shift(&[(f64::NAN, 1.0)], 0.95, 1), None);
    assert_eq!(blocks::paired_ratio(&[], 0.95, 1), None);
}

#[test]
fn few_blocks_say_so() {
    let two = blocks::paired_shift(&[(3.0, 1.0), (5.0, 1.0)], 0.95, 1).expect("finite");
    assert_eq!((two.value, two.interval.low, two.interval.high), (3.0, 2.0, 4.0));
    assert!((two.interval.confidence - 0.5).abs() < 1e-12);
}

proptest! {
    #[test]
    fn turning_the_pairs_turns_the_ratio(
        pairs in prop::collection::vec((0.1f64..10.0, 0.1f64..10.0), 1..10),
    ) {
        let turned: Vec<_> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let (ratio, inverse) = (
            blocks::paired_ratio(&pairs, 0.95, 1).expect("positive"),
            blocks::paired_ratio(&turned, 0.95, 1).expect("positive"),
        );
        prop_assert!((ratio.value * inverse.value - 1.0).abs() < 1e-9);
        prop_assert!((ratio.interval.low * inverse.interval.high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_bootstrap_stays_within_its_values(
        values in prop::collection::vec(-1e3f64..1e3, 1..15), seed: u64,
    ) {
        let range = median_interval(&values, 1.0).expect("not empty");
        let found = bca(&values, middle, 0.95, seed).expect("not empty");
        prop_assert!(range.low <= found.low && found.low <= found.high && found.high <= range.high);
    }
}
