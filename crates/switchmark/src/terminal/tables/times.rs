//! Distributions of time: one row for each path and load, one column for each quantile. Pure.

use comfy_table::{ColumnConstraint, Table, Width};
use method::{Figure, Metric};

use super::{Footnotes, condition, grouped, shown, styled};
use crate::terminal::numbers;

/// In the order in which they are shown.
pub const TITLES: [(Metric, &str); 4] = [
    (Metric::Rtt, "Round-trip time"),
    (Metric::RttAdded, "Round-trip time added by the device: its path less the direct cable"),
    (Metric::Pdv, "Delay variation above the minimum (PDV)"),
    (Metric::Ipdv, "Delay variation from packet to packet (IPDV)"),
];

const KEYS: [&str; 4] = ["protocol", "frame_size", "load", "path"];

/// One table of one metric.
pub fn table(figures: &[&Figure], notes: &mut Footnotes) -> Option<Table> {
    // The minimum stands in --json and the report; the width is for the tail.
    let mut quantiles: Vec<f64> =
        figures.iter().filter_map(|f| f.quantile).filter(|q| *q > 0.0).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    if quantiles.is_empty() {
        return None;
    }
    let mut header: Vec<String> = ["proto", "size", "load", "path"].map(str::to_owned).to_vec();
    for q in &quantiles {
        header.push(numbers::quantile(*q));
        if is_median(*q) {
            header.push("interval".to_owned());
        }
    }
    header.extend(["n", "limited by"].map(str::to_owned));
    let mut table = styled(&header);
    let interval = header.iter().position(|name| name == "interval");
    if let Some(column) = interval.and_then(|at| table.column_mut(at)) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(10)));
    }
    for row in grouped(figures, &KEYS) {
        let median = row.iter().find(|f| f.quantile.is_some_and(is_median));
        let leading = median.copied().unwrap_or(row[0]);
        let mut cells: Vec<String> = KEYS.map(|key| condition(leading, key)).to_vec();
        for q in &quantiles {
            let figure = row.iter().find(|f| f.quantile == Some(*q));
            cells.push(figure.map_or_else(String::new, |f| shown(f)));
            if is_median(*q) {
                cells.push(figure.map_or_else(String::new, |f| numbers::ends(f)));
            }
        }
        cells.push(numbers::grouped(leading.n as f64));
        cells.push(notes.limit(leading, &row));
        table.add_row(cells);
    }
    Some(table)
}

fn is_median(q: f64) -> bool {
    (q - 0.5).abs() < 1e-9
}
