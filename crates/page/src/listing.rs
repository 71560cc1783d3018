//! Tables built column by column: each heading beside the code for its cells.
//!
//! Owns that every row has a cell in every column. Never decides how a cell is written.

use crate::{Cell, Column, Figure, Table};

/// Table under construction, with one row per subject.
#[derive(Debug)]
pub struct Listing<R> {
    subjects: Vec<R>,
    table: Table,
}

impl<R> Listing<R> {
    /// Creates a row per subject, without columns.
    pub fn new(title: impl Into<String>, subjects: impl IntoIterator<Item = R>) -> Self {
        let subjects: Vec<R> = subjects.into_iter().collect();
        let rows = subjects.iter().map(|_| Vec::new());
        Self { table: Table::new::<Column>(title, []).with_rows(rows), subjects }
    }

    /// Adds a column of any cells.
    #[must_use]
    pub fn column(mut self, head: impl Into<Column>, cell: impl Fn(&R) -> Cell) -> Self {
        self.table.columns.push(head.into());
        let rows = self.table.rows.iter_mut().zip(&self.subjects);
        rows.for_each(|(row, subject)| row.push(cell(subject)));
        self
    }

    /// Adds a column for each of these headings; the cells get its index.
    #[must_use]
    pub fn columns<C: Into<Column>>(
        self,
        heads: impl IntoIterator<Item = C>,
        cell: impl Fn(&R, usize) -> Cell,
    ) -> Self {
        let heads = heads.into_iter().enumerate();
        heads.fold(self, |table, (at, head)| table.column(head, |subject| cell(subject, at)))
    }

    /// Adds a column of values.
    #[must_use]
    pub fn value(self, head: impl Into<Column>, value: impl Fn(&R) -> &Figure) -> Self {
        self.column(head, |subject| Cell::value(value(subject)))
    }

    /// Adds a column of values, with a sign for unknown ones.
    #[must_use]
    pub fn value_or_missing(
        self,
        head: impl Into<Column>,
        value: impl Fn(&R) -> Option<&Figure>,
    ) -> Self {
        self.column(head, |subject| Cell::value_or_missing(value(subject)))
    }

    /// Adds a column of values, with blanks for missing ones.
    #[must_use]
    pub fn optional(self, head: impl Into<Column>, value: impl Fn(&R) -> Option<&Figure>) -> Self {
        self.column(head, |subject| value(subject).map_or(Cell::Blank, Cell::value))
    }

    /// Adds a column of the samples behind these values.
    #[must_use]
    pub fn samples(self, head: impl Into<Column>, values: impl Fn(&R) -> Vec<&Figure>) -> Self {
        self.column(head, |subject| Cell::samples(&values(subject)))
    }

    /// Adds a column of the limit that these values show.
    #[must_use]
    pub fn limit(self, values: impl Fn(&R) -> Vec<&Figure>) -> Self {
        self.column("limited by", |subject| Cell::limit(&values(subject)))
    }

    /// Finished table.
    pub fn table(self) -> Table {
        self.table
    }
}
