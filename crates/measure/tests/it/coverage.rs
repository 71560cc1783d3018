//! Do the intervals cover as often as they say? Simulated; the seed is fixed and printed on
//! failure.
//!
//! The quick profile takes well under two seconds; `SWITCHMARK_TESTS=full` takes fifty times the
//! runs.

use crate::draws::{exponential, normal};
use measure::Interval;
use measure::autocorrelation::effective_samples;
use measure::blocks::{paired_ratio, paired_shift};
use measure::quantile::{median_interval, quantile_interval, quantile_ranks};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SEED: u64 = 20_261_121;

fn runs(quick: u32) -> u32 {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|profile| profile == "full");
    if full { quick * 50 } else { quick }
}

/// How often `interval` covers `truth`, and the mean confidence that it stated.
fn coverage(
    runs: u32,
    truth: f64,
    mut interval: impl FnMut(&mut Pcg64Mcg) -> Interval,
) -> (f64, f64) {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let (mut covered, mut stated) = (0u32, 0.0);
    for _ in 0..runs {
        let interval = interval(&mut random);
        covered += u32::from(interval.low <= truth && truth <= interval.high);
        stated += interval.confidence;
    }
    (f64::from(covered) / f64::from(runs), stated / f64::from(runs))
}

/// Four standard errors of a share over so many runs.
fn noise(share: f64, runs: u32) -> f64 {
    4.0 * (share * (1.0 - share) / f64::from(runs)).sqrt()
}

#[test]
fn order_statistics_cover_as_often_as_they_say() {
    let runs = runs(3_000);
    // blocks or samples, quantile, confidence asked
    for (n, q, asked) in [
        (6, 0.5, 0.95),
        (10, 0.5, 0.95),
        (15, 0.5, 0.9),
        (100, 0.9, 0.95),
        (300, 0.99, 0.95),
        (50, 0.99, 0.95),
    ] {
        let truth = -(1.0f64 - q).ln();
        let (covered, stated) = coverage(runs, truth, |random| {
            let mut values: Vec<f64> = (0..n).map(|_| exponential(random)).collect();
            let of_median = median_interval(&values, asked).expect("not empty");
            values.sort_by(f64::total_cmp);
            let interval = quantile_interval(&values, q, asked).expect("not empty");
            assert!(q > 0.5 || interval == of_median, "two ways to one interval differ");
            interval
        });
        let told = format!("n {n}, q {q}: covered {covered}, stated {stated}, seed {SEED}");
        assert!((covered - stated).abs() <= noise(stated, runs), "{told}");
        assert!(stated >= asked || n == 50, "{told}");
    }
}

/// The effective number of samples is the mean's; an indicator of a quantile is less correlated
/// than the values, so the interval may only be wider than it need be.
#[test]
fn correlated_samples_are_covered_at_least_as_often_as_asked() {
    let runs = runs(150);
    let (phi, n, level) = (0.8f64, 2_000, 1_000_000.0);
    for (q, z) in [(0.5, 0.0), (0.9, 1.281_551_565_544_600_4)] {
        let truth = level + z * 50_000.0;
        let (covered, stated) = coverage(runs, truth, |random| {
            let mut state = normal(random);
            let series: Vec<f64> = (0..n)
                .map(|_| {
                    state = phi * state + (1.0 - phi * phi).sqrt() * normal(random);
                    level + state * 50_000.0
                })
                .collect();
            // The ranks for so many as they are worth, stretched outwards to all of them.
            let worth = effective_samples(&series) as u64;
            let ranks = quantile_ranks(worth, q, 0.95);
            let mut sorted = series;
            sorted.sort_by(f64::total_cmp);
            Interval {
                low: sorted[((ranks.low - 1) * n / worth) as usize],
                high: sorted[(ranks.high * n).div_ceil(worth) as usize - 1],
                confidence: ranks.confidence,
            }
        });
        let told = format!("q {q}: covered {covered}, stated {stated}, seed {SEED}");
        assert!(covered >= 0.95 - noise(0.95, runs), "{told}");
    }
}

#[test]
fn pairs_are_covered_nearly_as_often_as_asked() {
    let runs = runs(150);
    for blocks in [6, 10, 20] {
        let pair = |random: &mut Pcg64Mcg| {
            // Noise that both sides of a block share cancels; a hundredth of it does not.
            let block = (0.2 * normal(random)).exp();
            (1.1 * block * (0.01 * normal(random)).exp(), block * (0.01 * normal(random)).exp())
        };
        let (ratio, stated) = coverage(runs, 1.1, |random| {
            let pairs: Vec<_> = (0..blocks).map(|_| pair(random)).collect();
            paired_ratio(&pairs, 0.95, random.random()).expect("positive").interval
        });
        let (shift, _) = coverage(runs, 0.0, |random| {
            let pairs: Vec<_> =
                (0..blocks).map(|_| (exponential(random), exponential(random))).collect();
            paired_shift(&pairs, 0.95, random.random()).expect("finite").interval
        });
        // The bootstrap of a median of ten to twenty covers 93.6 to 94.0 % where 95 % is asked
        // (7,500 runs each); the exact ranks that fewer blocks get cover 96.9 %.
        let least = if blocks < 10 { stated } else { 0.935 };
        let told = format!("{blocks} blocks: ratio {ratio}, shift {shift}, stated {stated}");
        assert!(ratio >= least - noise(least, runs), "{told}, seed {SEED}");
        assert!(shift >= least - noise(least, runs), "{told}, seed {SEED}");
    }
}
