//! Effective samples, against an independent implementation by FFT and against the theory of AR(1).

use std::iter;

use measure::autocorrelation::effective_samples;

/// Uniform noise from Knuth's 64-bit congruential generator (top 53 bits), through
/// x(i) = phi * x(i-1) + noise(i); made the same way in the reference.
fn series(n: usize, phi: f64, seed: u64) -> Vec<f64> {
    let (mut state, mut x) = (seed, 0.0);
    iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x = phi * x + ((state >> 11) as f64 / 9_007_199_254_740_992.0 - 0.5);
        x
    })
    .take(n)
    .collect()
}

/// NumPy: autocovariance by `numpy.fft.rfft` of the centred series padded to 2n, divided by n and
/// the variance; pairs (2k, 2k+1) summed while positive; n / (2 * sum - 1), here capped at n.
#[test]
fn as_numpy_has_it() {
    for (n, phi, seed, expected) in [
        (1_000, 0.5, 1, 359.384_505_142_927_3),
        (5_000, 0.9, 2, 301.457_147_906_419_2),
        (2_000, 0.0, 3, 1_921.624_325_731_534_8),
        (1_000, -0.5, 4, 1_000.0),
        (20_000, 0.98, 5, 242.489_855_070_453_33),
    ] {
        let found = effective_samples(&series(n, phi, seed));
        assert!((found - expected).abs() < expected * 1e-6, "n {n}, phi {phi}: {found}");
    }
}

/// Theory: n * (1 - phi) / (1 + phi). At 0.999 the correlation outlives the lags looked at
/// directly, so this also proves the averaging of neighbours.
#[test]
fn as_theory_has_it() {
    for (phi, within) in [(0.3, 0.05), (0.9, 0.1), (0.99, 0.2), (0.999, 0.35)] {
        let n = 400_000;
        let found = effective_samples(&series(n, phi, 11)) / n as f64;
        let expected = (1.0 - phi) / (1.0 + phi);
        assert!((found / expected - 1.0).abs() < within, "phi {phi}: {found} beside {expected}");
    }
}

#[test]
fn bounds() {
    let table: [(&str, Vec<f64>, f64); 5] = [
        ("empty", vec![], 0.0),
        ("three", vec![1.0, 5.0, 2.0], 3.0),
        ("constant", vec![7.0; 1_000], 1_000.0),
        ("alternating", (0..1_000).map(|i| f64::from(i % 2)).collect(), 1_000.0),
        ("one step", (0..1_000).map(|i| f64::from(i / 500)).collect(), 1.0),
    ];
    for (name, series, least) in table {
        let found = effective_samples(&series);
        assert!(found >= least && found <= series.len() as f64, "{name}: {found}");
        // A series that only steps once is worth a handful of samples, not hundreds.
        assert!(name != "one step" || found < 10.0, "{found}");
    }
}
