//! A table made a column at a time: each head stands beside what its cells are made of.
//!
//! Owns that every row has a cell in every column. Never decides how a cell is written.

use crate::{Cell, Column, Figure, Table};

/// A table in the making: a row for each of its subjects.
#[derive(Debug)]
pub struct Listing<R> {
    subjects: Vec<R>,
    table: Table,
}

impl<R> Listing<R> {
    /// Rows of these subjects, without a column yet.
    pub fn new(title: impl Into<String>, subjects: impl IntoIterator<Item = R>) -> Self {
        let subjects: Vec<R> = subjects.into_iter().collect();
        let rows = subjects.iter().map(|_| Vec::new());
        Self { table: Table::new::<Column>(title, []).with_rows(rows), subjects }
    }

    /// With a column of any cells.
    #[must_use]
    pub fn column(mut self, head: impl Into<Column>, cell: impl Fn(&R) -> Cell) -> Self {
        self.table.columns.push(head.into());
        let rows = self.table.rows.iter_mut().zip(&self.subjects);
        rows.for_each(|(row, subject)| row.push(cell(subject)));
        self
    }

    /// With a column for each of these heads, whose cells know its place among them.
    #[must_use]
    pub fn columns<C: Into<Column>>(
        self,
        heads: impl IntoIterator<Item = C>,
        cell: impl Fn(&R, usize) -> Cell,
    ) -> Self {
        let heads = heads.into_iter().enumerate();
        heads.fold(self, |table, (at, head)| table.column(head, |subject| cell(subject, at)))
    }

    /// With a column of values.
    #[must_use]
    pub fn value(self, head: impl Into<Column>, value: impl Fn(&R) -> &Figure) -> Self {
        self.column(head, |subject| Cell::value(value(subject)))
    }

    /// With a column of values, or the sign that one is not known.
    #[must_use]
    pub fn known(self, head: impl Into<Column>, value: impl Fn(&R) -> Option<&Figure>) -> Self {
        self.column(head, |subject| Cell::value_or_missing(value(subject)))
    }

    /// With a column of values, blank where there is none.
    #[must_use]
    pub fn optional(self, head: impl Into<Column>, value: impl Fn(&R) -> Option<&Figure>) -> Self {
        self.column(head, |subject| value(subject).map_or(Cell::Blank, Cell::value))
    }

    /// With a column of the samples behind these values.
    #[must_use]
    pub fn samples(self, head: impl Into<Column>, values: impl Fn(&R) -> Vec<&Figure>) -> Self {
        self.column(head, |subject| Cell::samples(&values(subject)))
    }

    /// With a column of the limit that these values show.
    #[must_use]
    pub fn limit(self, values: impl Fn(&R) -> Vec<&Figure>) -> Self {
        self.column("limited by", |subject| Cell::limit(&values(subject)))
    }

    /// The table.
    pub fn table(self) -> Table {
        self.table
    }
}
