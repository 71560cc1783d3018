//! The standard normal distribution, as far as the bootstrap needs it. Never an approximation with
//! magic constants: a series for the distribution, bisection for its inverse.

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
