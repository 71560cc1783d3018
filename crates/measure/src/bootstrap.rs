//! Bootstrap intervals of any statistic over block values, bias-corrected and accelerated (BCa;
//! Efron & Tibshirani, "An Introduction to the Bootstrap", ch. 14).
//!
//! Resamples whole blocks, which the caller knows to be independent. Never resamples packets, and
//! draws only from the given seed.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{Interval, normal};

/// Enough for the ends of a 95 % interval to repeat within a few per cent of its width.
pub const RESAMPLES: usize = 10_000;

/// The bias-corrected and accelerated interval of `statistic`, from [`RESAMPLES`] resamples of
/// `values`; `None` when empty. `statistic` may reorder the slice it is given.
pub fn bca(
    values: &[f64],
    statistic: impl Fn(&mut [f64]) -> f64,
    confidence: f64,
    seed: u64,
) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let resampled = resample(values, &statistic, seed);
    let estimate = statistic(&mut values.to_vec());
    let bias = normal::point_at_share(share_below(&resampled, estimate));
    let acceleration = acceleration(values, &statistic);
    let adjusted = |share: f64| {
        let z = bias + normal::point_at_share(share);
        normal::share_below(bias + z / (1.0 - acceleration * z))
    };
    let tail = (1.0 - confidence) / 2.0;
    Some(between(&resampled, adjusted(tail), adjusted(1.0 - tail), confidence))
}

/// The statistic of each resample, in ascending order.
fn resample(values: &[f64], statistic: &impl Fn(&mut [f64]) -> f64, seed: u64) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut drawn = vec![0.0; values.len()];
    let mut resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for place in &mut drawn {
                *place = values[random.random_range(0..values.len())];
            }
            statistic(&mut drawn)
        })
        .collect();
    resampled.sort_by(f64::total_cmp);
    resampled
}

/// The share of resamples below the estimate, ties counted half (a median meets itself often), and
/// kept off 0 and 1, where no correction is defined.
fn share_below(resampled: &[f64], estimate: f64) -> f64 {
    let below = resampled.partition_point(|value| *value < estimate);
    let at_most = resampled.partition_point(|value| *value <= estimate);
    let n = resampled.len() as f64;
    ((below + at_most) as f64 / 2.0).clamp(0.5, n - 0.5) / n
}

/// Efron's acceleration, from the statistic with each value left out in turn.
fn acceleration(values: &[f64], statistic: &impl Fn(&mut [f64]) -> f64) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let without: Vec<f64> = (0..values.len())
        .map(|left_out| {
            let mut rest = values.to_vec();
            rest.swap_remove(left_out);
            statistic(&mut rest)
        })
        .collect();
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let (squares, cubes) = without.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let distance = mean - value;
        (squares + distance.powi(2), cubes + distance.powi(3))
    });
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

fn between(sorted: &[f64], low: f64, high: f64, confidence: f64) -> Interval {
    let last = (sorted.len() - 1) as f64;
    let at = |share: f64| sorted[(share.clamp(0.0, 1.0) * last).round() as usize];
    Interval { low: at(low), high: at(high), confidence }
}
