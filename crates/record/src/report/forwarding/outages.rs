//! What a device loses after an overload (RFC 2544 §26.5) and through a reset (RFC 6201), by frame
//! size. Never tells the two estimates of a reset for one.

use page::{Block, Cell, Figure, Key, Metric, Table};

use super::super::frames::{self, Frames};
use super::super::reading;
use super::super::subject::{self, Who};
use page::words;

pub(super) fn blocks(figures: &[Figure]) -> Vec<Block> {
    let tables = [recovery(figures), reset(figures)];
    tables.into_iter().flatten().map(Block::Table).collect()
}

fn sorted(figures: &[Figure], metric: Metric) -> Vec<&Figure> {
    let mut of: Vec<&Figure> = reading::of(figures, metric).collect();
    of.sort_by_key(|f| {
        let which = (reading::direction(f), reading::text(f, Key::Estimate));
        (Frames::of_figure(f), Who::of_figure(f), which)
    });
    of
}

fn rate_cell(figure: &Figure, key: Key) -> Cell {
    Cell::number_or_missing(figure.number(key).map(|rate| words::count(rate.round() as u64)))
}

fn recovery(figures: &[Figure]) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = sorted(figures, Metric::RecoveryTime)
        .into_iter()
        .map(|f| {
            let percent = f.number(Key::OverloadPercent).map(|p| words::trimmed(p, 1));
            let lasted = f.number(Key::OverloadDuration).map(words::time);
            let note: Vec<String> = percent
                .map(|p| format!("{p}\u{a0}% of the throughput"))
                .into_iter()
                .chain(lasted.map(|time| format!("for {time}")))
                .collect();
            vec![
                frames::cell(f),
                subject::cell(f),
                rate_cell(f, Key::OverloadRate).with_note(note.join(", ")),
                rate_cell(f, Key::LoadRate),
                Cell::value(f),
                Cell::samples(&[f]),
                Cell::limit(&[f]),
            ]
        })
        .collect();
    let head = [
        "octets",
        "device",
        "overload, frames/s",
        "then, frames/s",
        "recovery time",
        "trials",
        "limited by",
    ];
    let note = "From the end of an overload to the departure of the last frame lost.";
    Table::new("System recovery (RFC 2544 §26.5)", head)
        .sparing(&["trials"])
        .with_note(note)
        .with_rows(rows)
        .unless_empty()
}

fn reset(figures: &[Figure]) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = sorted(figures, Metric::ResetTime)
        .into_iter()
        .map(|f| {
            let told = match reading::text(f, Key::Estimate).as_deref() {
                Some("loss") => "frames lost",
                Some("gap") => "longest gap",
                _ => "",
            };
            vec![
                frames::cell(f),
                subject::cell(f),
                Cell::text(told),
                rate_cell(f, Key::LoadRate),
                Cell::value(f),
                Cell::samples(&[f]),
                Cell::limit(&[f]),
            ]
        })
        .collect();
    let head = [
        "octets",
        "device",
        "measured by",
        "load, frames/s",
        "interrupted for",
        "resets",
        "limited by",
    ];
    Table::new("Reset (RFC 6201)", head)
        .sparing(&["resets"])
        .with_note("How long forwarding was interrupted at a constant load: the frames lost over the rate, and \
             the longest gap between arrivals.")
        .with_rows(rows)
        .unless_empty()
}
