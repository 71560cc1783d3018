//! A figure as a claim states it: as a share of line rate, one way of a round trip, counted from a
//! frame's last bit, or as the whole of what it is a part of.
//!
//! Owns that arithmetic. Decides nothing.

use measure::units::WIRE_OVERHEAD_OCTETS;

use super::claim::{Reading, SheetClaim};
use page::{Caveat, Figure, Key, Unit, Verdict};

/// Octets before a frame, its delimiter among them.
pub(super) const PREAMBLE: f64 = 8.0;

/// What the figure's frames take of a link.
pub(super) fn wire_octets(figure: &Figure) -> Option<f64> {
    Some(figure.number(Key::FrameSize)? + f64::from(WIRE_OVERHEAD_OCTETS))
}

/// The figure as the claim is stated; `None` where it says nothing of it.
pub(super) fn read(claim: &SheetClaim, figure: &Figure) -> Option<Figure> {
    let line = figure.number(Key::PatternRate).or_else(|| figure.number(Key::LineRate));
    let mut read = figure.clone();
    if let (Verdict::LinkLimited, Some(line)) = (figure.verdict, line) {
        // Line rate was reached, whatever a thousandth of it that a short trial can't tell.
        read.low = Some(line.max(read.value.unwrap_or(line)));
    }
    let nothing = read.value.is_none() && read.low.is_none() && read.high.is_none();
    match claim.about.reading {
        // A test that can't be made has a row that says so.
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
            // Without the reserves of ports that have no host, or one output's part.
            "sharing" | "one-shot" => Some(part_of_whole(read)),
            _ => None,
        },
    }
}

/// A frame's time on the wire in nanoseconds, where it is known: with its preamble, by which it
/// begins to leave, and without the gap, which a line's rate has in it.
pub(super) fn frame_time(figure: &Figure) -> Option<f64> {
    let share = (figure.number(Key::FrameSize)? + PREAMBLE) / wire_octets(figure)?;
    Some(1e9 * share / figure.number(Key::LineRate)?)
}

/// A delay that is counted from later on by so much.
pub(super) fn shortened(figure: &Figure, by: f64) -> Figure {
    let mut figure = figure.clone();
    for end in [&mut figure.value, &mut figure.low, &mut figure.high] {
        *end = end.map(|value| value - by);
    }
    figure
}

/// Of a delay counted from the last bit in no more is known than that it is not longer than from
/// the first.
fn at_most(mut figure: Figure) -> Figure {
    figure.value = figure.high.or(figure.value);
    figure.low = None;
    figure.set(Key::Bound, page::AT_MOST);
    figure
}

/// Of the whole no more is known than that it is not less.
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
