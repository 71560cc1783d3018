//! A page as Markdown, for a ticket or a commit's message: its answers, then its open tables.
//!
//! Writes the columns that a terminal may have; never decides.

use std::fmt::Write as _;

use page::{Block, Cell, Page, Room, Style, Table, words};

/// Formats the answers, a paragraph each, and the tables of findings.
pub fn markdown(page: &Page) -> String {
    let answers: Vec<String> = page.answers.iter().map(|answer| plain(&answer.text)).collect();
    let mut out = format!("{}\n", answers.join("\n\n"));
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        if let Block::Table(table) = block
            && !table.rows.is_empty()
        {
            out.push('\n');
            put_table(&mut out, table);
        }
    }
    out
}

fn put_table(out: &mut String, table: &Table) {
    let kept: Vec<usize> =
        (0..table.columns.len()).filter(|at| table.columns[*at].room < Room::Page).collect();
    let names: Vec<String> = kept.iter().map(|at| plain(&table.columns[*at].name)).collect();
    let is_number = |at: usize| table.rows.iter().any(|row| is_number(&row[at]));
    let rule: Vec<&str> =
        kept.iter().map(|at| if is_number(*at) { "---:" } else { "---" }).collect();
    let _ = writeln!(out, "| {} |\n| {} |", names.join(" | "), rule.join(" | "));
    for row in &table.rows {
        out.push_str(&markdown_row(kept.iter().map(|at| &row[*at])));
    }
}

/// One row of a table.
pub fn markdown_row<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| plain(&written(cell))).collect();
    format!("| {} |\n", cells.join(" | "))
}

const fn is_number(cell: &Cell) -> bool {
    matches!(cell, Cell::Text { style: Style::Number, .. } | Cell::Value { .. } | Cell::Samples(_))
}

fn written(cell: &Cell) -> String {
    match cell {
        Cell::Blank => String::new(),
        Cell::Missing => "–".to_owned(),
        Cell::Text { text, .. } => text.clone(),
        Cell::Value { quantity, .. } => words::quantity(quantity),
        Cell::Samples(samples) => words::count(samples.n),
        Cell::Limit(limit) => limit.verdict.as_str().to_owned(),
    }
}

/// A bar would end a cell.
fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ").replace('|', "\\|")
}
