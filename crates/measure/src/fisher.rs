//! Fisher's distribution of the ratio of two mean squares, as far as model fits need it. No
//! approximation with magic constants: a continued fraction for the distribution, bisection for its
//! inverse.
//!
//! Owns only the arithmetic. With one degree of freedom above, its root is two-sided Student's t.

use std::f64::consts::PI;

/// Number of degrees of freedom above which the limit is used.
const MANY: f64 = 1e6;
/// Largest number of terms of the continued fraction: it needs about the root of the larger
/// argument.
const TERMS: u32 = 20_000;
const TINY: f64 = 1e-300;

/// Returns the share of the distribution with `above` and `below` degrees of freedom that lies
/// below `ratio`.
pub fn share_below(ratio: f64, above: f64, below: f64) -> f64 {
    if ratio <= 0.0 {
        return 0.0;
    }
    let below = below.min(MANY);
    beta(above / 2.0, below / 2.0, above * ratio / (above * ratio + below))
}

/// Returns the ratio below which this share of the distribution lies.
pub fn point_at_share(share: f64, above: f64, below: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while share_below(high, above, below) < share && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if share_below(middle, above, below) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function (DLMF §8.17.22; Lentz's method).
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only on this side of the middle.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    let front = (a * x.ln() + b * (-x).ln_1p() - (log_gamma(a) + log_gamma(b) - log_gamma(a + b)))
        .exp()
        / a;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut upper, mut lower) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = lower;
    for term in 1..TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for part in [even, odd] {
            lower = 1.0 / away(1.0 + part * lower);
            upper = away(1.0 + part / upper);
            change = upper * lower;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// Logarithm of the gamma function of a positive number, by Stirling's series where it is accurate.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 15.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of F at 95 % and 99 % (NIST/SEMATECH e-Handbook §1.3.6.7.3), three decimals.
    #[test]
    fn points_as_the_tables_have_them() {
        for (share, above, below, point) in [
            (0.95, 1.0, 1.0, 161.448),
            (0.95, 1.0, 10.0, 4.965),
            (0.95, 3.0, 20.0, 3.098),
            (0.95, 10.0, 100.0, 1.927),
            (0.99, 1.0, 20.0, 8.096),
            (0.99, 3.0, 20.0, 4.938),
        ] {
            let found = point_at_share(share, above, below);
            assert!((found - point).abs() < 6e-4, "{share} {above} {below}: {found}");
        }
    }

    /// With infinitely many below and one above it is the square of a normal variable: 1.959964².
    #[test]
    fn many_degrees_of_freedom_are_a_normal_variables() {
        assert!((point_at_share(0.95, 1.0, f64::INFINITY) - 3.841_459).abs() < 1e-4);
    }

    #[test]
    fn a_share_and_its_point_belong_together() {
        for above in [1.0, 2.0, 7.5] {
            for below in [1.0, 3.3, 40.0] {
                for share in [0.01, 0.5, 0.9, 0.999] {
                    let point = point_at_share(share, above, below);
                    assert!((share_below(point, above, below) - share).abs() < 1e-9);
                }
            }
        }
    }
}
