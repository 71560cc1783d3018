//! A comparison as a Markdown table, for a ticket or a commit's message.
//!
//! Writes what a page's table has; never decides.

use std::fmt::Write as _;

use page::{Cell, Table};

use super::{Compared, parts, sentence, table};

/// The columns that are of use there.
const KEPT: [&str; 7] =
    ["figure", "of", "ratio", "interval", "difference", "its interval", "decision"];

/// The sentence, the table, and whose doing it is.
pub fn markdown(compared: &Compared) -> String {
    let mut out = format!("{}\n", plain(&sentence(compared)));
    for table in [Some(table(compared)), parts(compared)].into_iter().flatten() {
        if !table.rows.is_empty() {
            out.push('\n');
            put(&mut out, compared, &table);
        }
    }
    let _ = writeln!(out, "\n{}", plain(&compared.attribution.sentence()));
    out
}

fn put(out: &mut String, compared: &Compared, table: &Table) {
    let kept: Vec<usize> = (0..table.columns.len())
        .filter(|at| {
            let name = table.columns[*at].name.as_str();
            KEPT.contains(&name) || name == compared.subject || name == compared.reference
        })
        .collect();
    let names: Vec<String> = kept.iter().map(|at| plain(&table.columns[*at].name)).collect();
    let rule: Vec<&str> =
        kept.iter().map(|at| if is_number(table, *at) { "---:" } else { "---" }).collect();
    let _ = writeln!(out, "| {} |\n| {} |", names.join(" | "), rule.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = kept.iter().map(|at| written(&row[*at])).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

fn is_number(table: &Table, at: usize) -> bool {
    table
        .rows
        .iter()
        .any(|row| matches!(&row[at], Cell::Text { style, .. } if *style == page::Style::Number))
}

fn written(cell: &Cell) -> String {
    match cell {
        Cell::Text { text, .. } => plain(text),
        Cell::Missing => "–".to_owned(),
        _ => String::new(),
    }
}

/// A bar would end a cell.
fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ").replace('|', "\\|")
}
