//! Back-to-back frames (RFC 2544 §26.4 as updated by RFC 9004): the longest burst without loss by
//! frame size, and the buffer time that follows, implied and corrected.
//!
//! Owns the columns that RFC 9004 asks for. Never computes either time.

use page::{Answer, Cell, Table, words};

use super::super::finding::{BurstSide, ForwardingFinding, Spread};
use super::smallest::{Part, sentences};
use super::{rate_cell, shows_bound};

/// The longest burst at the smallest frames.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let parts = found.bursts.iter().map(|case| part(&case.device));
    sentences("Longest burst?", parts.collect())
}

fn part(BurstSide { traffic, burst, .. }: &BurstSide) -> Part<'_> {
    let way = traffic.with(&burst.value);
    let least = if shows_bound(&way) { "at least " } else { "" };
    let searches = match way.found.blocks {
        1 => "1 search".to_owned(),
        n => format!("{n} searches"),
    };
    let frames = count(way.found.value).unwrap_or_default();
    let begins = format!("The longest burst without loss, frames of {}", traffic.frames.in_words());
    let text = format!("{} {least}{frames} ({searches})", traffic.place.who.in_words());
    Part { percent: None, begins, text, way, others: Vec::new() }
}

fn count(frames: Option<f64>) -> Option<String> {
    frames.map(|frames| words::count(frames.round() as u64))
}

pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let cases = found.bursts.iter();
    let sides = cases.flat_map(|case| std::iter::once(&case.device).chain(&case.cable));
    let mut sides: Vec<&BurstSide> = sides.collect();
    sides.sort_by_key(|side| side.traffic.with(side).order());
    let head = [
        "octets",
        "device",
        "burst, mean",
        "min",
        "max",
        "st. dev.",
        "N",
        "buffer time, implied",
        "corrected",
        "sent at, frames/s",
        "drained at, frames/s",
        "limited by",
    ];
    let note = "The longest burst at minimum gap that lost no frame: mean, smallest, largest and \
                standard deviation of N searches. Implied buffer time: the burst over the rate it \
                was sent at. Corrected: less what the device forwarded meanwhile, at its \
                throughput.";
    Table::new("Back-to-back frames without loss (RFC 9004)", head)
        .page_only(&["sent at, frames/s", "drained at, frames/s"])
        .sparing(&["st. dev.", "max", "min"])
        .with_note(note)
        .with_rows(sides.into_iter().map(row))
        .unless_empty()
}

fn row(side: &BurstSide) -> Vec<Cell> {
    let way = side.traffic.with(&side.burst.value);
    let (value, times) = (way.found, side.times.as_ref());
    let mean = Cell::value(value);
    let time = |time: Option<&Spread>| {
        let Some(time) = time.filter(|time| time.value.value.is_some()) else {
            return Cell::Missing;
        };
        let note = time.deviation.map(|deviation| format!("± {}", words::time(deviation)));
        Cell::value(&time.value).with_note(note.unwrap_or_default())
    };
    way.row([
        if shows_bound(&way) { mean.as_bound() } else { mean },
        Cell::number_or_missing(count(value.low)),
        Cell::number_or_missing(count(value.high)),
        Cell::number_or_missing(side.burst.deviation.map(|d| words::trimmed(d, 1))),
        Cell::number_or_missing(value.value.map(|_| value.blocks.to_string())),
        time(times.map(|times| &times.implied)),
        time(times.map(|times| &times.corrected)),
        rate_cell(side.media),
        rate_cell(times.map(|times| times.drain)),
        Cell::limit(&side.all()),
    ])
}
