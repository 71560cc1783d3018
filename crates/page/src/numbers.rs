//! Compact numbers: `31.8 µs`, `1,488,095`, `50 k`.
//!
//! For text only; data is exported in base units. Pure.

use crate::Unit;
use measure::Nanos;
use measure::quantile::upper_median;

use crate::words::{BIT_RATES, BYTES, Scaled, TIMES, fitting, group};

/// Formats a value in its unit.
pub fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => scaled(value, TIMES),
        Unit::BitsPerSecond => scaled(value, BIT_RATES),
        Unit::Bytes => scaled(value, BYTES),
        Unit::FramesPerSecond | Unit::ConnectionsPerSecond => format!("{} /s", grouped(value)),
        Unit::Count => grouped(value),
        Unit::OperationsPerSecond => format!("{value:.1} /s"),
        Unit::Flag => if value == 0.0 { "no" } else { "yes" }.to_owned(),
        Unit::Ratio => format!("{} %", significant(value * 100.0)),
    }
}

/// Formats an interval: `3.80…4.40 µs`.
pub fn interval(unit: Unit, low: f64, high: f64) -> String {
    let (low, high) = (value(unit, low), value(unit, high));
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, a)), Some((_, b))) if a == b => format!("{number}…{high}"),
        _ => format!("{low}…{high}"),
    }
}

/// Formats a whole number in groups of three: `1,488,095`.
pub fn grouped(value: f64) -> String {
    // Adding zero removes the sign of a negative zero.
    group(&format!("{:.0}", value.round() + 0.0))
}

/// Formats three digits and a suffix, where space matters more than the last digit: `1.23 M`, `50
/// k`.
pub fn short(value: f64) -> String {
    let (divisor, suffix) = match value.abs() {
        v if v >= 999.5e6 => (1e9, " G"),
        v if v >= 999.5e3 => (1e6, " M"),
        v if v >= 9_999.5 || (v >= 1e3 && v % 100.0 < 1e-9) => (1e3, " k"),
        _ => return format!("{value:.0}"),
    };
    let text = significant(value / divisor);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

/// Formats three significant digits, grouped, without a unit: the column's heading has it.
pub fn plain(value: f64) -> String {
    if value.abs() >= 999.5 { grouped(value) } else { significant(value) }
}

/// Common unit for all times of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds: ns.
    Nanoseconds,
    /// Microseconds: µs.
    Microseconds,
    /// Milliseconds: ms.
    Milliseconds,
    /// Seconds: s.
    Seconds,
}

impl TimeUnit {
    const ALL: [Self; 4] =
        [Self::Nanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds];

    /// Returns the smallest unit that gives the median a short integer part and the largest at most
    /// six digits before the point.
    pub fn fit(nanoseconds: impl Iterator<Item = f64>) -> Self {
        let all: Vec<f64> = nanoseconds.map(f64::abs).filter(|ns| *ns > 0.0).collect();
        let median = upper_median(&all).unwrap_or(1e3);
        let largest = all.into_iter().max_by(f64::total_cmp).unwrap_or(1e3);
        let fits = |unit: &&Self| {
            median < 1e3 * unit.nanoseconds() && largest < 999_999.5 * unit.nanoseconds()
        };
        Self::ALL.iter().find(fits).copied().unwrap_or(Self::Seconds)
    }

    /// Symbol of the unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// Formats a time in this unit, without its symbol, to at most three decimals.
    pub fn number(self, nanoseconds: f64) -> String {
        let value = nanoseconds / self.nanoseconds();
        if value.abs() >= 0.995 || value == 0.0 {
            return plain(value);
        }
        let text = format!("{value:.3}");
        if text == "-0.000" { "0.000".to_owned() } else { text }
    }

    const fn nanoseconds(self) -> f64 {
        match self {
            Self::Nanoseconds => 1.0,
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1e6,
            Self::Seconds => 1e9,
        }
    }
}

/// Formats a time span: `4 s`, `1 min 20 s`, `2 h 5 min`.
pub fn span(time: Nanos) -> String {
    let secs = time.as_secs_f64().round() as u64;
    match secs {
        0..60 => format!("{secs} s"),
        60..3600 => format!("{} min {} s", secs / 60, secs % 60),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}

fn scaled(value: f64, units: &[Scaled]) -> String {
    let (divisor, name) = fitting(units, value);
    format!("{} {name}", significant(value / divisor))
}

/// Formats three significant digits, without exponent.
fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v => (2 - v.log10().floor() as i32).clamp(2, 6) as usize,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_one_unit() {
        let check = |values: &[f64], unit: &str, texts: &[&str]| {
            let fit = TimeUnit::fit(values.iter().copied());
            assert_eq!(fit.name(), unit);
            let shown: Vec<String> = values.iter().map(|ns| fit.number(*ns)).collect();
            assert_eq!(shown, texts);
        };
        check(&[303.0, 31_812.0, 1.2e6], "µs", &["0.303", "31.8", "1,200"]);
        check(&[1.0, 999.4], "ns", &["1.00", "999"]);
        check(&[1.0, 2.0, 3.0, 4e9], "ms", &["0.000", "0.000", "0.000", "4,000"]);
        check(&[-412.0, 0.0], "ns", &["-412", "0"]);
        check(&[], "µs", &[]);
    }

    #[test]
    fn short_numbers_are_short() {
        let table = [
            (0.0, "0"),
            (999.0, "999"),
            (1234.0, "1234"),
            (5000.0, "5 k"),
            (50_000.0, "50 k"),
            (270_489.0, "270 k"),
            (999_999.0, "1 M"),
            (1_488_095.0, "1.49 M"),
            (1.234_567e9, "1.23 G"),
        ];
        for (value, text) in table {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn values_have_three_digits_and_a_fitting_unit() {
        assert_eq!(value(Unit::Nanoseconds, 31_812.0), "31.8 µs");
        assert_eq!(value(Unit::Nanoseconds, -412.0), "-412 ns");
        assert_eq!(value(Unit::Bytes, 999_640.0), "1.00 MB");
        assert_eq!(value(Unit::Bytes, 99_970.0), "100 kB");
        assert_eq!(value(Unit::Ratio, 0.999_96), "100 %");
        assert_eq!(value(Unit::BitsPerSecond, 98.7e6), "98.7 Mbit/s");
        assert_eq!(value(Unit::FramesPerSecond, 1_488_095.2), "1,488,095 /s");
        assert_eq!(value(Unit::Ratio, 0.000_12), "0.0120 %");
        assert_eq!(span(Nanos::from_secs(80)), "1 min 20 s");
    }
}
