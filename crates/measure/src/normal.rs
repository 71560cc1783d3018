//! The standard normal distribution, as far as the bootstrap needs it. Never an approximation with
//! magic constants: a series for the distribution, bisection for its inverse.
//!
//! Private to the crate. Intervals of quantiles never use it: they are exact.

use std::f64::consts::PI;

/// Beyond this many standard deviations the distribution is 0 or 1 to the last digit of a share.
const FAR: f64 = 9.0;

/// The share of a standard normal distribution below `x`, to about 1e-15 absolutely
/// (Marsaglia, "Evaluating the Normal Distribution", J. Stat. Software 11(4), 2004).
pub fn share_below(x: f64) -> f64 {
    if x.abs() > FAR {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * PI).sqrt()
}

/// The point below which a share of a standard normal distribution lies, within ±9.
pub fn point_at_share(share: f64) -> f64 {
    let (mut low, mut high) = (-FAR, FAR);
    // 60 halvings of 18 come below the spacing of doubles around 1.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if share_below(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy 1.17.1: `scipy.stats.norm.cdf(x)`.
    #[test]
    fn shares_as_scipy_has_them() {
        for (x, share) in [
            (-6.0, 9.865_876_450_376_946e-10),
            (-3.0, 0.001_349_898_031_630_093_3),
            (-1.96, 0.024_997_895_148_220_435),
            (0.0, 0.5),
            (0.5, 0.691_462_461_274_013_1),
            (2.5, 0.993_790_334_674_223_8),
            (6.0, 0.999_999_999_013_412_3),
        ] {
            assert!((share_below(x) - share).abs() < 1e-14, "{x}: {}", share_below(x));
        }
        assert_eq!((share_below(-50.0), share_below(50.0)), (0.0, 1.0));
    }

    /// SciPy 1.17.1: `scipy.stats.norm.ppf(share)`.
    #[test]
    fn points_as_scipy_has_them() {
        for (share, x) in [
            (1e-6, -4.753_424_308_822_899),
            (0.025, -1.959_963_984_540_054_5),
            (0.5, 0.0),
            (0.9, 1.281_551_565_544_600_4),
            (0.999_999, 4.753_424_308_817_087),
        ] {
            assert!((point_at_share(share) - x).abs() < 1e-8, "{share}: {}", point_at_share(share));
        }
    }
}
