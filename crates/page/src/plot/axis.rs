//! Axes: from a value to its position, and the choice of ticks. Pure arithmetic.

use super::Series;
use crate::{Unit, words};

/// Spacing of values along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Linear, from zero if no value is negative.
    Linear,
    /// Logarithmic, in decades; values at or below zero are drawn on the lower edge.
    Log,
    /// Shares 0…1, with each further nine as wide as the last (as HdrHistogram plots do).
    Percentile,
    /// Names at positions 0, 1, 2…
    Names,
}

/// Axis with its range and ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Label with the unit.
    pub label: String,
    /// Values and their texts.
    pub ticks: Vec<(f64, String)>,
    scale: Scale,
    from: f64,
    to: f64,
}

const PERCENTILE_TICKS: [(f64, &str); 8] = [
    (0.0, "min"),
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
    (0.999_999, "99.9999"),
];

impl Axis {
    /// Creates an axis over all `values`; `write` formats a tick.
    pub fn over(
        label: &str,
        scale: Scale,
        values: impl Iterator<Item = f64>,
        write: impl Fn(f64) -> String,
    ) -> Self {
        let usable = values.filter(|v| v.is_finite() && (scale != Scale::Log || *v > 0.0));
        let (low, high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let (from, to) = match scale {
            Scale::Linear => linear_range(low, high),
            Scale::Log => (low / 1.12, high * 1.12),
            Scale::Percentile | Scale::Names => (low, high),
        };
        let ticks = match scale {
            Scale::Linear => linear_ticks(from, to),
            Scale::Log => log_ticks(from, to),
            Scale::Percentile | Scale::Names => Vec::new(),
        };
        let ticks = ticks.into_iter().map(|v| (v, write(v))).collect();
        Self { label: label.to_owned(), ticks, scale, from, to }
    }

    /// Creates the horizontal axis of these lines and points, in a unit.
    pub fn along(label: &str, scale: Scale, unit: Unit, series: &[Series]) -> Self {
        Self::over(label, scale, places(series).map(|(x, _)| x), |v| words::tick(unit, v))
    }

    /// Creates the vertical axis of these lines and points, in a unit.
    pub fn upwards(label: &str, scale: Scale, unit: Unit, series: &[Series]) -> Self {
        Self::over(label, scale, places(series).map(|(_, y)| y), |v| words::tick(unit, v))
    }

    /// Creates an axis of shares from none to all.
    pub fn shares(label: &str) -> Self {
        let write = |v| words::tick(Unit::Ratio, v);
        Self::over(label, Scale::Linear, [0.0, 1.0].into_iter(), write)
    }

    /// Creates an axis from zero to exactly the largest of `values`, with round ticks below it.
    pub fn exact(
        label: &str,
        values: impl Iterator<Item = f64>,
        write: impl Fn(f64) -> String,
    ) -> Self {
        let high = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let to = if high > 0.0 { high } else { 1.0 };
        let ticks = linear_ticks(0.0, to).into_iter().map(|v| (v, write(v))).collect();
        Self { label: label.to_owned(), ticks, scale: Scale::Linear, from: 0.0, to }
    }

    /// Creates an axis of percentiles from the minimum up to `highest` (below 1).
    pub fn percentiles(label: &str, highest: f64) -> Self {
        let to = highest.clamp(0.9, 0.999_999);
        let ticks = PERCENTILE_TICKS
            .iter()
            .filter(|(q, _)| nines(*q) <= nines(to) + 1e-9)
            .map(|(q, text)| (*q, (*text).to_owned()))
            .collect();
        Self { label: label.to_owned(), ticks, scale: Scale::Percentile, from: 0.0, to }
    }

    /// Creates an axis with one position per name, and half a position of space at both ends.
    pub fn names(label: &str, names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, n)| (i as f64, n.clone())).collect();
        let to = names.len().max(1) as f64 - 0.5;
        Self { label: label.to_owned(), ticks, scale: Scale::Names, from: -0.5, to }
    }

    /// Returns the position of `value`: 0 at the lower end, 1 at the upper, clamped.
    pub fn place(&self, value: f64) -> f64 {
        let along = |v: f64| match self.scale {
            Scale::Linear | Scale::Names => v,
            Scale::Log => v.max(self.from).ln(),
            Scale::Percentile => nines(v),
        };
        let (from, to) = (along(self.from), along(self.to));
        if to > from { ((along(value) - from) / (to - from)).clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// All positions of lines and points.
fn places(series: &[Series]) -> impl Iterator<Item = (f64, f64)> {
    let points = series.iter().flat_map(|series| &series.points).map(|point| (point.x, point.y));
    series.iter().flat_map(|series| &series.line).copied().chain(points)
}

/// Number of nines in a share: 0 for the minimum, 1 for 90 %, 2 for 99 %…
fn nines(share: f64) -> f64 {
    -(1.0 - share.clamp(0.0, 0.999_999_9)).log10()
}

fn linear_range(low: f64, high: f64) -> (f64, f64) {
    let from = low.min(0.0);
    let to = if high > from { high } else { from + 1.0 };
    let step = round_step((to - from) / 5.0);
    ((from / step).floor() * step, (to / step).ceil() * step)
}

fn linear_ticks(from: f64, to: f64) -> Vec<f64> {
    let step = round_step((to - from) / 5.0);
    let first = (from / step).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Smallest of 1, 2, 5 times a power of ten that is no less than `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| *s >= least * 0.999)
        .unwrap_or(power)
}

fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let within = |multiples: &[f64]| -> Vec<f64> {
        let decades = (from.log10().floor() as i32)..=(to.log10().ceil() as i32);
        decades
            .flat_map(|d| multiples.iter().map(move |m| m * 10f64.powi(d)))
            .filter(|v| (from..=to).contains(v))
            .collect()
    };
    let tries = [within(&[1.0]), within(&[1.0, 3.0]), within(&[1.0, 2.0, 5.0])];
    tries
        .into_iter()
        .find(|t| (4..=9).contains(&t.len()))
        .or_else(|| Some(within(&[1.0, 2.0, 5.0])).filter(|t| (3..=12).contains(&t.len())))
        .or_else(|| Some(within(&[1.0])).filter(|t| t.len() > 9))
        .unwrap_or_else(|| linear_ticks(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let check = |scale, low: f64, high: f64, expect: &[&str]| {
            let axis = Axis::over("", scale, [low, high].into_iter(), |v| format!("{v}"));
            let texts: Vec<&str> = axis.ticks.iter().map(|(_, t)| t.as_str()).collect();
            assert_eq!(texts, expect, "{scale:?} {low}…{high}");
        };
        check(Scale::Linear, 3.0, 9.7, &["0", "2", "4", "6", "8", "10"]);
        check(Scale::Linear, -1.0, 1.0, &["-1", "-0.5", "0", "0.5", "1"]);
        check(Scale::Log, 1.0, 1000.0, &["1", "10", "100", "1000"]);
        check(Scale::Log, 20.0, 300.0, &["20", "50", "100", "200"]);
    }

    #[test]
    fn an_exact_axis_ends_at_the_last_value() {
        let axis = Axis::exact("", [0.02, 0.12].into_iter(), |v| format!("{v:.2}"));
        assert!((axis.place(0.12) - 1.0).abs() < 1e-9);
        let texts: Vec<&str> = axis.ticks.iter().map(|(_, t)| t.as_str()).collect();
        assert_eq!(texts, ["0.00", "0.05", "0.10"]);
        assert!(Axis::exact("", [].into_iter(), |v| v.to_string()).place(0.5) > 0.0);
    }

    #[test]
    fn odd_ranges_still_give_an_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [vec![], vec![0.0], vec![5.0, 5.0], vec![f64::NAN, 2.0], vec![1e-9, 1e12]]
            {
                let axis = Axis::over("", scale, values.clone().into_iter(), |v| v.to_string());
                assert!(axis.ticks.len() < 40, "{scale:?} {values:?}: {:?}", axis.ticks);
                for v in values.into_iter().filter(|v| v.is_finite()) {
                    assert!((0.0..=1.0).contains(&axis.place(v)));
                }
            }
        }
    }

    #[test]
    fn each_nine_is_as_wide_as_the_last() {
        let axis = Axis::percentiles("", 0.9999);
        let gap = |a, b| axis.place(b) - axis.place(a);
        assert!((gap(0.0, 0.9) - gap(0.99, 0.999)).abs() < 1e-9);
        assert_eq!(axis.ticks.len(), 6);
    }
}
