//! Conversion of a figure to the quantity of a claim: a share of line rate, one direction of a
//! round trip, a delay from the last bit in, or a whole of which it is a part.
//!
//! Owns that arithmetic. Decides nothing.

use measure::units::WIRE_OVERHEAD_OCTETS;

use super::claim::{Reading, SheetClaim};
use page::{Caveat, Figure, Key, Unit, Verdict};

/// Octets before a frame, its delimiter included.
pub(super) const PREAMBLE: f64 = 8.0;

/// Octets that each of the figure's frames occupies on a link; `None` if unknown.
pub(super) fn wire_octets(figure: &Figure) -> Option<f64> {
    Some(figure.number(Key::FrameSize)? + f64::from(WIRE_OVERHEAD_OCTETS))
}

/// Converts the figure to the claim's quantity; `None` if it says nothing about it.
pub(super) fn read(claim: &SheetClaim, figure: &Figure) -> Option<Figure> {
    let line = figure.number(Key::PatternRate).or_else(|| figure.number(Key::LineRate));
    let mut read = figure.clone();
    if let (Verdict::LinkLimited, Some(line)) = (figure.verdict, line) {
        // Line rate was reached; a short trial cannot resolve a thousandth of it.
        read.low = Some(line.max(read.value.unwrap_or(line)));
    }
    let nothing = read.value.is_none() && read.low.is_none() && read.high.is_none();
    match claim.about.reading {
        // A test that cannot be run has a row that says so.
        _ if nothing && figure.caveats.contains(&Caveat::Unsupported) => None,
        Reading::Itself => Some(read),
        Reading::ShareOfLine => Some(scaled(read, 1.0 / line?, Unit::Ratio)),
        Reading::OneWay | Reading::FromFirstBit => Some(scaled(read, 0.5, figure.unit)),
        Reading::FromLastBit => {
            let one_way = scaled(read, 0.5, figure.unit);
            Some(match frame_time(figure) {
                Some(frame) => shortened(&one_way, frame),
                None => at_most(one_way),
            })
        }
        Reading::SwitchingCapacity => {
            Some(scaled(read, 2.0 * 8.0 * wire_octets(figure)?, Unit::BitsPerSecond))
        }
        Reading::WholeBuffer => match figure.text(Key::Estimator)? {
            // Without the reserves of ports that have no host, or only one output's part.
            "sharing" | "one-shot" => Some(part_of_whole(read)),
            _ => None,
        },
    }
}

/// Frame time on the wire in nanoseconds, if known. Includes the preamble, with which it starts to
/// leave, and excludes the gap, which is part of the line rate.
pub(super) fn frame_time(figure: &Figure) -> Option<f64> {
    let share = (figure.number(Key::FrameSize)? + PREAMBLE) / wire_octets(figure)?;
    Some(1e9 * share / figure.number(Key::LineRate)?)
}

/// Subtracts `by` from a delay, because counting starts later.
pub(super) fn shortened(figure: &Figure, by: f64) -> Figure {
    let mut figure = figure.clone();
    for end in [&mut figure.value, &mut figure.low, &mut figure.high] {
        *end = end.map(|value| value - by);
    }
    figure
}

/// Turns a delay into an upper bound: from the last bit in, it is at most as long as from the
/// first.
fn at_most(mut figure: Figure) -> Figure {
    figure.value = figure.high.or(figure.value);
    figure.low = None;
    figure.set(Key::Bound, page::AT_MOST);
    figure
}

/// Turns a value into a lower bound: the whole is at least as large as its part.
fn part_of_whole(mut figure: Figure) -> Figure {
    figure.value = figure.low.or(figure.value);
    figure.high = None;
    figure.set(Key::Bound, page::AT_LEAST);
    figure
}

fn scaled(mut figure: Figure, by: f64, unit: Unit) -> Figure {
    for end in [&mut figure.value, &mut figure.low, &mut figure.high] {
        *end = end.map(|value| value * by);
    }
    figure.unit = unit;
    figure
}
