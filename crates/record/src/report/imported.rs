//! What other tools measured, as one table: each row with its tool, its case and its doubts.
//!
//! Never draws: a tool's few points are no distribution.

use std::collections::BTreeSet;

use page::{Answer, Block, Cell, Figure, Key, Section, Table};

use super::reading;
use crate::words;

/// Conditions that have a column of their own, or say nothing here.
const SHOWN: [Key; 6] =
    [Key::Tool, Key::Device, Key::Path, Key::File, Key::Position, Key::RateConvention];

/// The section; `None` where nothing was imported.
pub(super) fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
    let rows: Vec<Vec<Cell>> =
        figures.iter().filter(|figure| figure.is_of("imported")).map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let head = ["tool", "through", "figure", "of", "value", "samples", "limited by"];
    let table = Table::new("What other tools measured".to_owned(), head).with_rows(rows);
    let blocks = vec![Block::Table(table)];
    Some(Section { id: format!("{prefix}-imported"), heading: "Imported".to_owned(), blocks })
}

/// What was taken over; none where nothing was.
pub(super) fn answer(figures: &[Figure]) -> Option<Answer> {
    let own = || figures.iter().filter(|figure| figure.is_of("imported"));
    let named = |key: Key| -> String {
        let names: BTreeSet<String> = own().filter_map(|f| reading::text(f, &key)).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    let (count, tools) = (own().count(), named(Key::Tool));
    let by = if tools.is_empty() { "of another run".to_owned() } else { format!("by {tools}") };
    let stand = if count == 1 { "figure" } else { "figures" };
    let text = format!(
        "{} {stand} {by}, each with what its source leaves open. `compare` holds them against another run's.",
        words::count(count as u64)
    );
    (count > 0).then(|| Answer::new(text))
}

fn row(figure: &Figure) -> Vec<Cell> {
    let said = |key: &Key| reading::text(figure, key).unwrap_or_default();
    let case: Vec<String> = figure
        .conditions
        .keys()
        .filter(|name| !SHOWN.contains(name))
        .map(|name| format!("{} {}", name.as_str().replace('_', " "), said(name)))
        .collect();
    let quantile = figure.quantile.map_or_else(String::new, |q| format!(" {}", words::quantile(q)));
    // Repeats are told apart by their file and their place in it.
    let place = match reading::text(figure, &Key::Position) {
        Some(position) => format!("{}, output {position}", said(&Key::File)),
        None => said(&Key::File),
    };
    vec![
        Cell::text(said(&Key::Tool)).with_note(place),
        Cell::text(said(&Key::Device)),
        Cell::text(format!("{}{quantile}", figure.metric.as_str())),
        Cell::text(case.join(", ")),
        Cell::value(figure),
        Cell::samples(&[figure]),
        Cell::limit(&[figure]),
    ]
}
