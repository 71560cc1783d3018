//! Back-to-back frames (RFC 2544 §26.4 as updated by RFC 9004): the longest burst without loss by
//! frame size, and the buffer time that follows, implied and corrected. Never computes either.

use std::collections::BTreeMap;

use page::{Block, Cell, Figure, Key, Metric, Table};

use super::super::frames::{self, Frames};
use super::super::reading;
use super::super::subject::{self, Who};
use page::words;

pub(super) fn blocks(figures: &[Figure]) -> Vec<Block> {
    let mut rows: BTreeMap<_, Vec<&Figure>> = BTreeMap::new();
    let bursts = |f: &&Figure| matches!(f.metric, Metric::BackToBack | Metric::BufferTime);
    for figure in figures.iter().filter(bursts) {
        let who = (Who::of_figure(figure), subject::beside(figure));
        let way = (reading::way(figure), reading::direction(figure));
        rows.entry((Frames::of_figure(figure), who, way)).or_default().push(figure);
    }
    if rows.is_empty() {
        return Vec::new();
    }
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
    let rows = rows.into_values().map(|row| cells(&row));
    let note = "The longest burst at minimum gap that lost no frame: mean, smallest, largest and standard deviation of N searches. Implied buffer time: the \
                   burst over the rate it was sent at. Corrected: less what the device forwarded \
                   meanwhile, at its throughput.";
    let table = Table::new("Back-to-back frames without loss (RFC 9004)", head)
        .page_only(&["sent at, frames/s", "drained at, frames/s"])
        .sparing(&["st. dev.", "max", "min"])
        .with_note(note)
        .with_rows(rows);
    vec![Block::Table(table)]
}

fn cells(row: &[&Figure]) -> Vec<Cell> {
    let burst = row.iter().find(|f| f.metric == Metric::BackToBack);
    let time = |estimate: &str| {
        let is = |f: &&&Figure| {
            f.metric == Metric::BufferTime
                && reading::text(f, Key::Estimate).as_deref() == Some(estimate)
        };
        row.iter().find(is).copied()
    };
    let frames =
        |value: Option<f64>| Cell::number_or_missing(value.map(|v| words::count(v.round() as u64)));
    let told = |figure: Option<&Figure>| {
        let figure = figure.filter(|f| f.value.is_some());
        let spread = figure.and_then(|f| f.number(Key::StandardDeviation));
        let note = spread.map_or_else(String::new, |s| format!("± {}", words::time(s)));
        Cell::number_or_missing(figure.and_then(|f| f.value).map(words::time)).with_note(note)
    };
    let deviation = burst.and_then(|f| f.number(Key::StandardDeviation));
    let rate = |figure: Option<&Figure>, key: Key| frames(figure.and_then(|f| f.number(key)));
    let searches = burst.filter(|f| f.value.is_some()).map(|f| f.blocks.to_string());
    vec![
        frames::cell(row[0]),
        subject::cell(row[0]),
        frames(burst.and_then(|f| f.value)),
        frames(burst.and_then(|f| f.low)),
        frames(burst.and_then(|f| f.high)),
        Cell::number_or_missing(deviation.map(|d| words::trimmed(d, 1))),
        Cell::number_or_missing(searches),
        told(time("implied")),
        told(time("corrected")),
        rate(burst.copied(), Key::MediaRate),
        rate(time("corrected"), Key::ThroughputRate),
        Cell::limit(row),
    ]
}
