//! Effective number of independent samples of a series: n / (1 + 2 * sum of its autocorrelations).
//!
//! Owns the truncation of that sum: Geyer's initial positive sequence ("Practical Markov Chain
//! Monte Carlo", Statistical Science 7, 1992). Cost is bounded for any series: long-lived
//! correlation is followed through means of pairs of neighbours, not through ever more lags.

/// Lags looked at before neighbours are averaged; a pass costs at most this many products a value.
const LAGS: usize = 256;

/// The effective number of independent samples for the mean of `series` (in order, finite values).
///
/// Between 1 and the series' length: a series of negative correlation is not credited with more
/// samples than it has. A constant series counts as independent.
///
/// The autocorrelations are summed in pairs (lags 2k and 2k + 1) until a pair is not positive.
/// Where none of the first 256 lags ends the sum, the series is replaced by the means of its
/// neighbours, which keeps the variance of its mean, and the sum begins again; so two million
/// values cost at most about 512 products each.
pub fn effective_samples(series: &[f64]) -> f64 {
    let n = series.len();
    if n < 4 {
        return n as f64;
    }
    let mut centred = centre(series);
    let variance = mean_square(&centred);
    if variance <= 0.0 {
        return n as f64;
    }
    let mut batch = 1.0;
    loop {
        let level_variance = mean_square(&centred);
        let (time, ended) = correlation_time(&centred, level_variance);
        // The last level has too few values to average again: its sum is what can be known.
        if ended || centred.len() < 2 * LAGS {
            let long_run_variance = batch * level_variance * time;
            return (n as f64 * variance / long_run_variance).clamp(1.0, n as f64);
        }
        centred = centred.chunks_exact(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
        batch *= 2.0;
    }
}

fn centre(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    series.iter().map(|value| value - mean).collect()
}

fn mean_square(centred: &[f64]) -> f64 {
    centred.iter().map(|value| value * value).sum::<f64>() / centred.len() as f64
}

/// 1 + 2 * sum of the autocorrelations by the initial positive sequence, and whether the sequence
/// ended within the lags allowed.
fn correlation_time(centred: &[f64], variance: f64) -> (f64, bool) {
    if variance <= 0.0 {
        return (1.0, true);
    }
    let n = centred.len();
    let last = LAGS.min(n / 2);
    // Divided by n at every lag, as usual: it biases far lags towards zero, where they are noise.
    let rho = |lag: usize| {
        let products: f64 =
            centred[lag..].iter().zip(centred).map(|(late, early)| late * early).sum();
        products / n as f64 / variance
    };
    let mut sum = 0.0_f64;
    for lag in (0..last).step_by(2) {
        let pair = if lag == 0 { 1.0 } else { rho(lag) } + rho(lag + 1);
        if pair <= 0.0 {
            return ((2.0 * sum - 1.0).max(f64::MIN_POSITIVE), true);
        }
        sum += pair;
    }
    ((2.0 * sum - 1.0).max(f64::MIN_POSITIVE), false)
}
