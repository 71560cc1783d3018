//! Numbers as people read them: `31.8 µs`, `1,488,095`, `98.7 Mbit/s`. The one place for it.
//!
//! Only for the terminal; data leaves in base units. Pure.

use measure::Nanos;
use method::{Figure, Unit};

/// A value in its unit.
pub fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => scaled(value, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]),
        Unit::BitsPerSecond => {
            scaled(value, &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")])
        }
        Unit::Bytes => scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]),
        Unit::FramesPerSecond => format!("{} /s", grouped(value)),
        Unit::Count => grouped(value),
        Unit::Ratio => format!("{} %", significant(value * 100.0)),
    }
}

/// `3.80…4.40 µs`; nothing where there is no interval.
pub fn interval(figure: &Figure) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => {
            let (low, high) = (value(figure.unit, low), value(figure.unit, high));
            match (low.rsplit_once(' '), high.rsplit_once(' ')) {
                (Some((number, a)), Some((_, b))) if a == b => format!("{number}…{high}"),
                _ => format!("{low}…{high}"),
            }
        }
        _ => String::new(),
    }
}

/// `3.80…4.40`: the interval beside a value that already shows its unit. The unit is repeated only
/// where an end has another one.
pub fn ends(figure: &Figure) -> String {
    let text = interval(figure);
    let own = figure.value.map(|v| value(figure.unit, v)).unwrap_or_default();
    match (text.rsplit_once(' '), own.rsplit_once(' ')) {
        (Some((numbers, unit)), Some((_, own))) if unit == own && !numbers.contains(' ') => {
            numbers.to_owned()
        }
        _ => text,
    }
}

/// A whole number in groups of three: `1,488,095`.
pub fn grouped(value: f64) -> String {
    let rounded = value.round();
    let digits = format!("{:.0}", rounded.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if rounded < 0.0 { format!("-{out}") } else { out }
}

/// `p50`, `p99.9`, `max`
pub fn quantile(q: f64) -> String {
    if q <= 0.0 {
        "min".to_owned()
    } else if q >= 1.0 {
        "max".to_owned()
    } else {
        format!("p{}", (q * 100_000.0).round() / 1000.0)
    }
}

/// A span for people: `4 s`, `1 min 20 s`, `2 h 5 min`.
pub fn span(time: Nanos) -> String {
    let secs = time.as_secs_f64().round() as u64;
    match secs {
        0..60 => format!("{secs} s"),
        60..3600 => format!("{} min {} s", secs / 60, secs % 60),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let (divisor, name) = units
        .iter()
        .find(|(scale, _)| value.abs() >= *scale)
        .or(units.last())
        .copied()
        .unwrap_or((1.0, ""));
    format!("{} {name}", significant(value / divisor))
}

/// Three significant digits, no exponent.
fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v => (2 - v.log10().floor() as i32).clamp(2, 6) as usize,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_a_fitting_unit() {
        assert_eq!(value(Unit::Nanoseconds, 31_812.0), "31.8 µs");
        assert_eq!(value(Unit::Nanoseconds, -412.0), "-412 ns");
        assert_eq!(value(Unit::BitsPerSecond, 98.7e6), "98.7 Mbit/s");
        assert_eq!(value(Unit::FramesPerSecond, 1_488_095.2), "1,488,095 /s");
        assert_eq!(value(Unit::Ratio, 0.000_12), "0.0120 %");
        assert_eq!(quantile(0.999), "p99.9");
        assert_eq!(span(Nanos::from_secs(80)), "1 min 20 s");
    }
}
