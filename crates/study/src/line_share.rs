//! Share of line rate of a rate, if the link's rate is known.
//!
//! Owns the choice of figures with a line rate, and the caveat of one that exceeds it. Never judges
//! a rate by it: that is for the verdict.

use crate::verdict::{BEYOND_LINE, LINE_RATE};
use page::{Caveat, Figure, Key, Metric, Unit, words};

/// Adds `of_line_rate` to every throughput and to every flood's received rate that a device
/// forwarded.
pub(super) fn mark<'a>(figures: impl IntoIterator<Item = &'a mut Figure>) {
    for figure in figures {
        figure.conditions.remove(&Key::OfLineRate);
        if let (Some(value), Some(line)) = (figure.value, line(figure)) {
            figure.set(Key::OfLineRate, value / line);
            doubt_beyond(figure, value / line);
        }
    }
}

/// Share of line rate of a marked value; `None` if its link's rate is unknown.
pub(crate) fn share(value: &Figure) -> Option<f64> {
    value.number(Key::OfLineRate)
}

/// Line rate of a marked value.
pub(crate) fn line_rate_of(value: &Figure) -> Option<f64> {
    let share = share(value).filter(|share| *share > 0.0)?;
    Some(value.value? / share)
}

/// Share of line rate in words: `97.3 %`.
pub(crate) fn share_in_words(value: &Figure) -> Option<String> {
    share(value).map(|share| words::share_of_line(share, LINE_RATE))
}

/// Adds a caveat to a rate above the stated rate of its link, which it contradicts.
pub(super) fn doubt_beyond(figure: &mut Figure, share: f64) {
    if share > BEYOND_LINE {
        figure.doubt(Caveat::Contradicted);
    }
}

/// Line rate in frames a second for a figure's frames. A direct cable need not have the device's
/// rate.
fn line(figure: &Figure) -> Option<f64> {
    let is_rate = matches!(figure.metric, Metric::Throughput | Metric::Received)
        && figure.unit == Unit::FramesPerSecond;
    if !is_rate || figure.is_bypass() {
        return None;
    }
    let pattern = figure.number(Key::PatternRate);
    // A switching test without a pattern's rate concerns some ports only, without a common line
    // rate.
    let one = figure.number(Key::LineRate).filter(|_| figure.text(Key::Suite).is_none());
    let ways = if figure.text(Key::Direction) == Some("total") { 2.0 } else { 1.0 };
    pattern.or(one.map(|line| line * ways)).filter(|line| *line > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_share_of_all_its_lines() {
        let check = |conditions: &[(Key, &str)], numbers: &[(Key, f64)], expect: Option<f64>| {
            let mut figure = Figure {
                n: 1,
                blocks: 1,
                ..Figure::new(Metric::Throughput, Unit::FramesPerSecond, Some(1_000.0))
            };
            for (key, text) in conditions {
                figure.set(key.clone(), *text);
            }
            for (key, number) in numbers {
                figure.set(key.clone(), *number);
            }
            mark([&mut figure]);
            assert_eq!(figure.number(Key::OfLineRate), expect, "{figure:?}");
            let beyond = expect.is_some_and(|share| share > 1.01);
            assert_eq!(figure.caveats.contains(&Caveat::Contradicted), beyond, "{figure:?}");
        };
        let line = &[(Key::LineRate, 2_000.0)];
        check(&[], &[], None);
        check(&[], line, Some(0.5));
        check(&[(Key::Direction, "total")], line, Some(0.25));
        check(&[(Key::Path, "bypass")], line, None);
        check(&[(Key::Suite, "rfc2889")], line, None);
        check(&[], &[(Key::LineRate, 900.0)], Some(1_000.0 / 900.0));
        let pattern = &[(Key::LineRate, 2_000.0), (Key::PatternRate, 8_000.0)];
        check(&[(Key::Suite, "rfc2889")], pattern, Some(0.125));
    }
}
