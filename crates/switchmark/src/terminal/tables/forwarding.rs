//! Frame rates: under flood, without loss, and the loss by load. Pure.

use std::collections::BTreeSet;

use comfy_table::Table;
use method::figure::Condition;
use method::{Figure, Metric};

use super::{Footnotes, bit_rates, condition, frames, grouped, styled};
use crate::terminal::numbers;

const KEYS: [&str; 4] = ["frame_size", "path", "backend", "goal"];
const BITS: &str = "Mbit/s L1/L2/L3/payload";

/// What was offered, and what became of it.
pub fn flood(figures: &[&Figure], notes: &mut Footnotes) -> Option<Table> {
    let header = [
        "size",
        "path",
        "offered",
        "sent",
        "received",
        "lost",
        "dup.",
        "reord.",
        BITS,
        "limited by",
    ];
    let mut table = styled(&header);
    for row in grouped(figures, &KEYS) {
        let mut cells = vec![condition(row[0], "frame_size"), condition(row[0], "path")];
        for metric in [
            Metric::Offered,
            Metric::Sent,
            Metric::Received,
            Metric::Lost,
            Metric::Duplicated,
            Metric::Reordered,
        ] {
            cells.push(rate(frames(&row, metric)));
        }
        cells.push(bit_rates(&row, Metric::Received));
        let leading = frames(&row, Metric::Received).unwrap_or(row[0]);
        cells.push(notes.limit(leading, &row));
        table.add_row(cells);
    }
    (!figures.is_empty()).then_some(table)
}

/// What a search found, with its bracket.
pub fn throughput(figures: &[&Figure], notes: &mut Footnotes) -> Option<Table> {
    let header = ["size", "path", "goal", "frames/s", "bracket", BITS, "trials", "limited by"];
    let mut table = styled(&header);
    for row in grouped(figures, &KEYS) {
        let leading = frames(&row, Metric::Throughput).unwrap_or(row[0]);
        table.add_row([
            condition(leading, "frame_size"),
            condition(leading, "path"),
            condition(leading, "goal"),
            rate(Some(leading)),
            numbers::ends(leading),
            bit_rates(&row, Metric::Throughput),
            numbers::grouped(leading.n as f64),
            notes.limit(leading, &row),
        ]);
    }
    (!figures.is_empty()).then_some(table)
}

/// One row for each path, one column for each load.
pub fn loss_curve(figures: &[&Figure], notes: &mut Footnotes) -> Option<Table> {
    let load = |f: &Figure| match f.conditions.get("load_percent") {
        Some(Condition::Integer(percent)) => Some(*percent),
        _ => None,
    };
    let loads: BTreeSet<u64> = figures.iter().filter_map(|f| load(f)).collect();
    let mut header: Vec<String> = ["size", "path"].map(str::to_owned).to_vec();
    header.extend(loads.iter().rev().map(|percent| format!("{percent} %")));
    header.push("limited by".to_owned());
    let mut table = styled(&header);
    for row in grouped(figures, &KEYS) {
        let mut cells = vec![condition(row[0], "frame_size"), condition(row[0], "path")];
        for percent in loads.iter().rev() {
            let figure = row.iter().find(|f| load(f) == Some(*percent));
            cells.push(figure.map_or_else(String::new, |f| super::shown(f)));
        }
        cells.push(notes.limit(row[0], &row));
        table.add_row(cells);
    }
    (!loads.is_empty()).then_some(table)
}

fn rate(figure: Option<&Figure>) -> String {
    match figure.map(|f| f.value) {
        None => String::new(),
        Some(None) => "–".to_owned(),
        Some(Some(value)) => numbers::grouped(value),
    }
}
