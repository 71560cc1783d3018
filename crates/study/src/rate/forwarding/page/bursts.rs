//! Back-to-back frames (RFC 2544 §26.4 as updated by RFC 9004): the longest burst without loss by
//! frame size, and the resulting buffer time, implied and corrected.
//!
//! Owns the columns that RFC 9004 asks for. Never computes either time.

use page::{Answer, Bound, Cell, Table, words};

use super::super::finding::{BufferTimes, BurstSide, ForwardingFinding, Spread};
use super::smallest::{self, Part};
use super::{bounded, listing, rate_cell, shows_bound};

/// Answers on the longest burst at the smallest frames.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let parts = found.bursts.iter().map(|case| {
        let (way, cable) = (case.device.way(), case.cable.as_ref());
        let bound = shows_bound(&way).then_some(Bound::Least);
        let cable = cable.map(|cable| &cable.burst.value);
        Part { way, cable, bound, percent: None, conditions: String::new() }
    });
    smallest::answers("Longest burst", parts)
}

fn count(frames: Option<f64>) -> Option<String> {
    frames.map(|frames| words::count(frames.round() as u64))
}

pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let cases = found.bursts.iter();
    let sides = cases.flat_map(|case| std::iter::once(&case.device).chain(&case.cable));
    let mut sides: Vec<&BurstSide> = sides.collect();
    sides.sort_by_key(|side| side.way().order());
    let time = |side: &BurstSide, pick: fn(&BufferTimes) -> &Spread| {
        let Some(time) = side.times.as_ref().map(pick).filter(|time| time.value.value.is_some())
        else {
            return Cell::Missing;
        };
        let note = time.deviation.map(|deviation| format!("± {}", words::time(deviation)));
        Cell::value(&time.value).with_note(note.unwrap_or_default())
    };
    let note = "The longest burst at minimum gap that lost no frame: mean, smallest, largest and \
                standard deviation of N searches. Implied buffer time: the burst over the rate it \
                was sent at. Corrected: less what the device forwarded meanwhile, at its \
                throughput.";
    listing("Back-to-back frames without loss (RFC 9004)", sides, |side| side.way())
        .column("burst, mean", |side| bounded(&side.way()))
        .column("min", |side| Cell::number_or_missing(count(side.burst.value.low)))
        .column("max", |side| Cell::number_or_missing(count(side.burst.value.high)))
        .column("st. dev.", |side| {
            Cell::number_or_missing(side.burst.deviation.map(|d| words::trimmed(d, 1)))
        })
        .column("N", |side| {
            let value = &side.burst.value;
            Cell::number_or_missing(value.value.map(|_| value.blocks.to_string()))
        })
        .column("buffer time, implied", |side| time(side, |times| &times.implied))
        .column("corrected", |side| time(side, |times| &times.corrected))
        .column("sent at, frames/s", |side| rate_cell(side.media))
        .column("drained at, frames/s", |side| {
            rate_cell(side.times.as_ref().map(|times| times.drain))
        })
        .limit(|side| side.all())
        .table()
        .page_only(&["sent at, frames/s", "drained at, frames/s"])
        .sparing(&["st. dev.", "max", "min"])
        .with_note(note)
        .unless_empty()
}
