//! Tables of typed columns: a cell holds a text, a figure's value with its interval, the samples
//! behind it, or its limit.
//!
//! Owns the content of the cells. Number format and choice of columns belong to the renderer.

use std::collections::BTreeSet;

use crate::words::{self, Scaled};
use crate::{Caveat, Figure, Key, RowId, Style, Unit, Verdict};

/// Rank of the column that is omitted first.
const FIRST_TO_GO: u8 = 100;

/// Table of rows and columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Title in one line.
    pub title: String,
    /// Additional note; omitted if there is little room.
    pub note: String,
    /// Columns; every row has one cell for each.
    pub columns: Vec<Column>,
    /// Rows in order.
    pub rows: Vec<Vec<Cell>>,
    /// Unit that the title or the column names state already.
    pub stated: Option<Unit>,
    /// Common magnitude of all values; `None` if it follows from the values.
    pub scale: Option<Scaled>,
}

/// Column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Heading of the column.
    pub name: String,
    /// Condition under which it is shown.
    pub room: Room,
}

/// Condition under which a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// Always shown.
    Always,
    /// Shown if there is room; the highest rank is omitted first.
    Spare(u8),
    /// Shown on a page only, never in a terminal.
    Page,
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), room: Room::Always }
    }
}

impl From<String> for Column {
    fn from(name: String) -> Self {
        Self { name, room: Room::Always }
    }
}

impl Table {
    /// Creates a table of these columns, without rows.
    pub fn new<C: Into<Column>>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        Self {
            title: title.into(),
            note: String::new(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            stated: None,
            scale: None,
        }
    }

    /// Sets the unit that the title or the column names state, so that values omit it.
    #[must_use]
    pub const fn stating(mut self, unit: Unit) -> Self {
        self.stated = Some(unit);
        self
    }

    /// Sets one magnitude for all values.
    #[must_use]
    pub const fn written_in(mut self, scale: Scaled) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Sets the columns to omit if there is little room, the first of them first.
    #[must_use]
    pub fn sparing(mut self, names: &[&str]) -> Self {
        for (name, rank) in names.iter().zip((0..=FIRST_TO_GO).rev()) {
            self.place(name, Room::Spare(rank));
        }
        self
    }

    /// Sets the columns that only a page shows.
    #[must_use]
    pub fn page_only(mut self, names: &[&str]) -> Self {
        for name in names {
            self.place(name, Room::Page);
        }
        self
    }

    fn place(&mut self, name: &str, room: Room) {
        let column = self.columns.iter_mut().find(|column| column.name == name);
        debug_assert!(column.is_some(), "no column {name} in {}", self.title);
        if let Some(column) = column {
            column.room = room;
        }
    }

    /// Adds a note below the title.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds rows.
    #[must_use]
    pub fn with_rows(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        self.rows.extend(rows);
        debug_assert!(self.rows.iter().all(|row| row.len() == self.columns.len()), "{self:?}");
        self
    }

    /// Returns the table if it has rows; `None` otherwise.
    pub fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}

/// Cell of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Cell {
    /// Nothing belongs here.
    #[default]
    Blank,
    /// A value belongs here and is unknown.
    Missing,
    /// Words or a formatted number, with a smaller text beneath.
    Text {
        /// Main text.
        text: String,
        /// Text beneath; may be empty.
        note: String,
        /// Style of the text.
        style: Style,
    },
    /// Value with its interval.
    Value {
        /// The value.
        quantity: Quantity,
        /// Text before the interval; may be empty.
        note: String,
    },
    /// Samples behind a row.
    Samples(Samples),
    /// Limit of a row, with all caveats.
    Limit(Limit),
}

impl Cell {
    /// Creates a cell of words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), note: String::new(), style: Style::Plain }
    }

    /// Creates a cell of a formatted number.
    pub fn number(text: impl Into<String>) -> Self {
        Self::text(text).with_style(Style::Number)
    }

    /// Creates a cell of a number, or the sign for an unknown one.
    pub fn number_or_missing(text: Option<String>) -> Self {
        text.map_or(Self::Missing, Self::number)
    }

    /// Creates a cell of a path that is never broken; its ports can go beneath.
    pub fn path(text: impl Into<String>) -> Self {
        Self::text(text).with_style(Style::Path)
    }

    /// Creates a cell of a figure's value with its interval.
    pub fn value(figure: &Figure) -> Self {
        Self::Value { quantity: Quantity::from_figure(figure), note: String::new() }
    }

    /// Creates a cell of a figure's value, or the sign for an unknown one.
    pub fn value_or_missing(figure: Option<&Figure>) -> Self {
        figure.map_or(Self::Missing, Self::value)
    }

    /// Creates a cell of a value without an interval.
    pub const fn quantity(unit: Unit, value: Option<f64>) -> Self {
        let ends = Ends::Unnamed;
        let quantity =
            Quantity { unit, value, low: None, high: None, ends, at_least: false, row: None };
        Self::Value { quantity, note: String::new() }
    }

    /// Creates a cell of the samples behind a row of figures.
    pub fn samples(row: &[&Figure]) -> Self {
        Self::Samples(Samples {
            n: row.iter().map(|f| f.n).max().unwrap_or(0),
            blocks: row.iter().map(|f| f.blocks).max().unwrap_or(0),
            rows: ids(row),
        })
    }

    /// Creates a cell of a row's limit and all its caveats.
    pub fn limit(row: &[&Figure]) -> Self {
        Limit::from_row(row).map_or(Self::Blank, Self::Limit)
    }

    /// Creates a cell of the limit of one leading figure, with all caveats of the row.
    pub fn limit_of(leading: &Figure, row: &[&Figure]) -> Self {
        Limit::led_by(leading, row).map_or(Self::Blank, Self::Limit)
    }

    /// Marks the value as a lower bound.
    #[must_use]
    pub const fn as_bound(mut self) -> Self {
        if let Self::Value { quantity, .. } = &mut self {
            quantity.at_least = true;
        }
        self
    }

    /// Sets the smaller text beneath.
    #[must_use]
    pub fn with_note(mut self, said: impl Into<String>) -> Self {
        if let Self::Text { note, .. } | Self::Value { note, .. } = &mut self {
            *note = said.into();
        }
        self
    }

    /// Sets the style of a text.
    #[must_use]
    pub fn with_style(mut self, set: Style) -> Self {
        if let Self::Text { style, .. } = &mut self {
            *style = set;
        }
        self
    }
}

/// Value and its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// Base unit of all three.
    pub unit: Unit,
    /// Value; `None` if not found, or if only a bound is known.
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Kind of the interval.
    pub ends: Ends,
    /// True if the value is a lower bound.
    pub at_least: bool,
    /// Row of the value; `None` for a number computed for the page.
    pub row: Option<RowId>,
}

/// Kind of an interval.
#[derive(Debug, Clone, PartialEq)]
pub enum Ends {
    /// Confidence interval of this confidence, 0…1.
    Confidence(f64),
    /// Named interval: a search's bracket, a range.
    Named(String),
    /// Unknown kind.
    Unnamed,
}

impl Quantity {
    /// Creates the quantity of a figure.
    pub fn from_figure(figure: &Figure) -> Self {
        Self {
            unit: figure.unit,
            value: figure.value,
            low: figure.low,
            high: figure.high,
            ends: match (figure.confidence, figure.condition_text(Key::Interval)) {
                (Some(confidence), _) => Ends::Confidence(confidence),
                (None, Some(name)) => Ends::Named(name),
                (None, None) => Ends::Unnamed,
            },
            at_least: false,
            row: figure.id(),
        }
    }
}

/// Samples behind a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    /// Number of packets, trials or operations.
    pub n: u64,
    /// Number of repetitions: the sampling unit.
    pub blocks: u32,
    /// Rows that the samples belong to.
    pub rows: Vec<RowId>,
}

/// Limit of a row of figures, with all caveats. Where figures of the row differ, the quantiles
/// concerned are named.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Verdict of the median, or of the first figure.
    pub verdict: Verdict,
    /// Other verdicts, each with its quantiles or metrics.
    pub others: Vec<(Verdict, Vec<String>)>,
    /// All caveats, each with its quantiles.
    pub caveats: Vec<(Caveat, Vec<f64>)>,
    /// Rows that the limit belongs to.
    pub rows: Vec<RowId>,
}

impl Limit {
    /// Finds the limit of a row; `None` without figures.
    pub fn from_row(row: &[&Figure]) -> Option<Self> {
        let median = row.iter().find(|f| f.quantile == Some(0.5));
        Self::led_by(median.or(row.first())?, row)
    }

    /// Finds the limit of a row with a given leading figure; `None` without figures.
    pub fn led_by(leading: &Figure, row: &[&Figure]) -> Option<Self> {
        row.first()?;
        let verdict = leading.verdict;
        let others: BTreeSet<Verdict> =
            row.iter().map(|f| f.verdict).filter(|other| *other != verdict).collect();
        let caveats: BTreeSet<Caveat> =
            row.iter().flat_map(|f| f.caveats.iter().copied()).collect();
        Some(Self {
            verdict,
            others: others.into_iter().map(|other| (other, names(row, other))).collect(),
            caveats: caveats
                .into_iter()
                .map(|caveat| (caveat, concerned(row, |f| f.caveats.contains(&caveat))))
                .collect(),
            rows: ids(row),
        })
    }
}

fn ids(figures: &[&Figure]) -> Vec<RowId> {
    figures.iter().filter_map(|figure| figure.id()).collect()
}

/// Names the quantiles, or the metrics, of the figures with this verdict.
fn names(row: &[&Figure], verdict: Verdict) -> Vec<String> {
    let own = || row.iter().filter(|figure| figure.verdict == verdict);
    let quantiles = concerned(row, |figure| figure.verdict == verdict);
    if !quantiles.is_empty() {
        return quantiles.into_iter().map(words::quantile).collect();
    }
    let mut metrics: Vec<String> = Vec::new();
    for name in own().map(|figure| figure.metric.as_str().replace('_', " ")) {
        if !metrics.contains(&name) {
            metrics.push(name);
        }
    }
    metrics
}

/// Quantiles of the selected figures; empty if all are selected.
fn concerned(row: &[&Figure], of: impl Fn(&Figure) -> bool) -> Vec<f64> {
    let of: Vec<&&Figure> = row.iter().filter(|f| of(f)).collect();
    if of.len() == row.len() {
        return Vec::new();
    }
    let mut quantiles: Vec<f64> = of.iter().filter_map(|f| f.quantile).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    quantiles
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::Metric;

    #[test]
    fn a_doubt_names_its_quantiles_where_not_all_share_it() {
        let figure = |quantile, caveats: &[Caveat], verdict| Figure {
            quantile: Some(quantile),
            n: 1,
            blocks: 1,
            verdict,
            caveats: caveats.to_vec(),
            ..Figure::new(Metric::Rtt, Unit::Nanoseconds, Some(1.0))
        };
        let (device, open) = (Verdict::DeviceLimited, Verdict::Undetermined);
        let row = [
            figure(1.0, &[Caveat::FewSamples, Caveat::QuickProfile], open),
            figure(0.5, &[Caveat::QuickProfile], device),
            figure(0.999, &[Caveat::FewSamples, Caveat::QuickProfile], open),
        ];
        let limit = Limit::from_row(&row.iter().collect::<Vec<_>>()).expect("three figures");
        assert_eq!(limit.verdict, device);
        assert_eq!(limit.others, [(open, vec!["p99.9".to_owned(), "max".to_owned()])]);
        let mut caveats = limit.caveats;
        caveats.sort_by_key(|(_, quantiles)| quantiles.len());
        let expected = [(Caveat::QuickProfile, vec![]), (Caveat::FewSamples, vec![0.999, 1.0])];
        assert_eq!(caveats, expected);
        assert_eq!(Limit::from_row(&[]), None);
    }
}
