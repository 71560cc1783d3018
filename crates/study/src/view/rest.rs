//! Rows of a study that no table of its page shows, in a table of their own; and a page without the
//! lines that an unfinished run leaves empty.
//!
//! Owns the rule that each row is in one table of its study. Works for all studies alike, by the
//! table of conditions.

use std::collections::BTreeSet;

use page::{Block, Cell, Figure, Listing, Role, RowId, Table, phrase, words};

use super::StudyPage;

impl StudyPage {
    /// Adds a folded table of the rows that are in none of its tables, after the last section.
    #[must_use]
    pub fn with_rest(mut self, rows: &[Figure]) -> Self {
        let known = self.rows_in_tables();
        let is_left = |row: &&Figure| row.id().is_some_and(|id| !known.contains(&id));
        let rest: Vec<&Figure> = rows.iter().filter(is_left).collect();
        if let (Some(last), false) = (self.sections.last_mut(), rest.is_empty()) {
            let summary = match rest.len() {
                1 => "1 more figure".to_owned(),
                more => format!("{more} more figures"),
            };
            last.blocks.push(Block::Folded { summary, table: rest_table(&rest) });
        }
        self
    }

    /// Removes the table lines and the answers that show only these rows.
    #[must_use]
    pub fn without(mut self, dropped: &BTreeSet<RowId>) -> Self {
        let is_dropped =
            |rows: &[RowId]| !rows.is_empty() && rows.iter().all(|id| dropped.contains(id));
        self.answers.retain(|(_, answer)| !is_dropped(&answer.rows));
        for table in self.tables_mut() {
            table.rows.retain(|line| !is_dropped(&rows_in(line)));
        }
        self
    }

    fn rows_in_tables(&mut self) -> BTreeSet<RowId> {
        self.tables_mut().flat_map(|table| &table.rows).flat_map(|line| rows_in(line)).collect()
    }

    fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        let blocks = self.sections.iter_mut().flat_map(|section| &mut section.blocks);
        blocks.filter_map(|block| match block {
            Block::Table(table) | Block::Folded { table, .. } => Some(table),
            _ => None,
        })
    }
}

/// Rows whose values a line of a table shows.
fn rows_in(line: &[Cell]) -> Vec<RowId> {
    let row = |cell: &Cell| match cell {
        Cell::Value { quantity, .. } => quantity.row,
        _ => None,
    };
    line.iter().filter_map(row).collect()
}

fn rest_table(rows: &[&Figure]) -> Table {
    Listing::new("The study's other figures", rows)
        .column("figure", |row| {
            let quantile = row.quantile.map(words::quantile).unwrap_or_default();
            Cell::text(row.metric.as_str()).with_note(quantile)
        })
        .column("of", |row| Cell::text(conditions_in_words(row)))
        .value("value", |row| row)
        .samples("n", |row| vec![row])
        .limit(|row| vec![row])
        .table()
}

/// Conditions that identify the row: `frame size 64, protocol udp`.
fn conditions_in_words(row: &Figure) -> String {
    let all = phrase::conditions(&row.conditions).into_iter();
    let told = all.filter(|(key, _)| key.role() != Role::Explains);
    let words = told.map(|(key, said)| format!("{} {said}", key.as_str().replace('_', " ")));
    words.collect::<Vec<_>>().join(", ")
}
