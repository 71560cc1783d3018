//! Back-to-back frames (RFC 2544 §26.4 as updated by RFC 9004): the longest burst without loss by
//! frame size, and the buffer time that follows, implied and corrected.
//!
//! Owns the columns that RFC 9004 asks for. Never computes either time.

use page::{Answer, Cell, Table, Verdict, words};

use super::super::finding::{BurstSide, ForwardingFinding, Spread};
use super::smallest::{Part, sentences};
use super::{rate_cell, value_alone};

/// The longest burst at the smallest frames.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let parts = found.bursts.iter().filter_map(|case| part(&case.device));
    sentences("Longest burst?", parts.collect())
}

fn part(side: &BurstSide) -> Option<Part<'_>> {
    let BurstSide { traffic, burst, .. } = side;
    let value = &burst.value;
    let is_bound = value.verdict == Verdict::TesterLimited;
    let least = if is_bound { "at least " } else { "" };
    let searches = match value.blocks {
        1 => "1 search".to_owned(),
        n => format!("{n} searches"),
    };
    let frames = words::count(value.value?.round() as u64);
    let begins = format!("The longest burst without loss, frames of {}", traffic.frames.in_words());
    let text = format!("{} {least}{frames} ({searches})", traffic.place.who.in_words());
    Some(Part { text, ..Part::new(traffic, None, begins, value) })
}

pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let cases = found.bursts.iter();
    let sides = cases.flat_map(|case| std::iter::once(&case.device).chain(&case.cable));
    let mut sides: Vec<&BurstSide> = sides.collect();
    sides.sort_by_key(|side| (side.traffic.frames.clone(), side.traffic.place.clone()));
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
        .with_rows(sides.into_iter().map(cells))
        .unless_empty()
}

fn cells(side: &BurstSide) -> Vec<Cell> {
    let value = &side.burst.value;
    let frames = |end: Option<f64>| {
        Cell::number_or_missing(end.map(|frames| words::count(frames.round() as u64)))
    };
    let time = |time: Option<&Spread>| {
        let Some(time) = time.filter(|time| time.value.value.is_some()) else {
            return Cell::Missing;
        };
        let note = time.deviation.map(|deviation| format!("± {}", words::time(deviation)));
        value_alone(&time.value).with_note(note.unwrap_or_default())
    };
    let is_bound = value.verdict == Verdict::TesterLimited && !side.traffic.place.is_cable();
    let (mean, times) = (value_alone(value), side.times.as_ref());
    let searches = value.value.map(|_| value.blocks.to_string());
    vec![
        side.traffic.frames.cell(),
        side.traffic.place.cell(),
        if is_bound { mean.as_bound() } else { mean },
        frames(value.low),
        frames(value.high),
        Cell::number_or_missing(side.burst.deviation.map(|d| words::trimmed(d, 1))),
        Cell::number_or_missing(searches),
        time(times.map(|times| &times.implied)),
        time(times.map(|times| &times.corrected)),
        rate_cell(side.media),
        rate_cell(times.map(|times| times.drain)),
        Cell::limit(&side.all()),
    ]
}
