//! Tables of typed columns: a cell holds a text, a figure's value with its interval, the samples
//! behind it, or whose limit it shows.
//!
//! Owns what stands where. How a number is written and which columns find room is a renderer's.

use std::collections::BTreeSet;

use crate::words::{self, Scaled};
use crate::{Caveat, Figure, Key, RowId, Style, Unit, Verdict};

/// The rank of the column that goes first.
const FIRST_TO_GO: u8 = 100;

/// Rows under columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows, in a line.
    pub title: String,
    /// What a reader has to know besides; where there is little room it is left out.
    pub note: String,
    /// As many as every row has cells.
    pub columns: Vec<Column>,
    /// In their order.
    pub rows: Vec<Vec<Cell>>,
    /// The unit that the title or the columns' names state already.
    pub stated: Option<Unit>,
    /// The magnitude in which all its values are written; none where it follows from them.
    pub scale: Option<Scaled>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What stands over it.
    pub name: String,
    /// When it may be left out.
    pub room: Room,
}

/// When a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// Always.
    Always,
    /// Where there is room; the highest goes first.
    Spare(u8),
    /// On a page alone, never in a terminal.
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
    /// A table of these columns, without a row.
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

    /// Whose values of this unit stand without it: the title or the columns' names state it.
    #[must_use]
    pub const fn stating(mut self, unit: Unit) -> Self {
        self.stated = Some(unit);
        self
    }

    /// Whose values are all written in this magnitude.
    #[must_use]
    pub const fn written_in(mut self, scale: Scaled) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Where there is little room these columns go, the first of them first.
    #[must_use]
    pub fn sparing(mut self, names: &[&str]) -> Self {
        for (name, rank) in names.iter().zip((0..=FIRST_TO_GO).rev()) {
            self.place(name, Room::Spare(rank));
        }
        self
    }

    /// These columns a page alone shows.
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

    /// With a note below the title.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// With rows.
    #[must_use]
    pub fn with_rows(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        self.rows.extend(rows);
        debug_assert!(self.rows.iter().all(|row| row.len() == self.columns.len()), "{self:?}");
        self
    }

    /// Itself where it has a row.
    pub fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Cell {
    /// Nothing belongs there.
    #[default]
    Blank,
    /// Something belongs there and is not known.
    Missing,
    /// Words, or a number that was written already; a smaller text beneath.
    Text {
        /// The text.
        text: String,
        /// Beneath it; may be empty.
        note: String,
        /// How it is set.
        style: Style,
    },
    /// A value with its interval.
    Value {
        /// The value.
        quantity: Quantity,
        /// Before the interval; may be empty.
        note: String,
    },
    /// What is behind a row.
    Samples(Samples),
    /// Whose limit a row shows, and every doubt.
    Limit(Limit),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), note: String::new(), style: Style::Plain }
    }

    /// A number that is written already.
    pub fn number(text: impl Into<String>) -> Self {
        Self::text(text).with_style(Style::Number)
    }

    /// A number, or the sign that it is not known.
    pub fn number_or_missing(text: Option<String>) -> Self {
        text.map_or(Self::Missing, Self::number)
    }

    /// Which way, its ports beneath: never broken.
    pub fn path(text: impl Into<String>) -> Self {
        Self::text(text).with_style(Style::Path)
    }

    /// A figure's value with its interval.
    pub fn value(figure: &Figure) -> Self {
        Self::Value { quantity: Quantity::of(figure), note: String::new() }
    }

    /// As [`Cell::value`], where there is a figure.
    pub fn value_or_missing(figure: Option<&Figure>) -> Self {
        figure.map_or(Self::Missing, Self::value)
    }

    /// A value alone, without an interval.
    pub const fn quantity(unit: Unit, value: Option<f64>) -> Self {
        let ends = Ends::Unnamed;
        let quantity =
            Quantity { unit, value, low: None, high: None, ends, at_least: false, row: None };
        Self::Value { quantity, note: String::new() }
    }

    /// What is behind a row of figures.
    pub fn samples(row: &[&Figure]) -> Self {
        Self::Samples(Samples {
            n: row.iter().map(|f| f.n).max().unwrap_or(0),
            blocks: row.iter().map(|f| f.blocks).max().unwrap_or(0),
            rows: ids(row),
        })
    }

    /// Whose limit a row of figures shows, and every doubt.
    pub fn limit(row: &[&Figure]) -> Self {
        Limit::of(row).map_or(Self::Blank, Self::Limit)
    }

    /// The limit of a row of figures, led by one of them, and every doubt of the whole row.
    pub fn limit_of(leading: &Figure, row: &[&Figure]) -> Self {
        Limit::led_by(leading, row).map_or(Self::Blank, Self::Limit)
    }

    /// A value that is a lower bound.
    #[must_use]
    pub const fn as_bound(mut self) -> Self {
        if let Self::Value { quantity, .. } = &mut self {
            quantity.at_least = true;
        }
        self
    }

    /// With a smaller text beneath.
    #[must_use]
    pub fn with_note(mut self, said: impl Into<String>) -> Self {
        if let Self::Text { note, .. } | Self::Value { note, .. } = &mut self {
            *note = said.into();
        }
        self
    }

    /// A text set otherwise.
    #[must_use]
    pub fn with_style(mut self, set: Style) -> Self {
        if let Self::Text { style, .. } = &mut self {
            *style = set;
        }
        self
    }
}

/// A value, and the interval around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// Base unit of all three.
    pub unit: Unit,
    /// None: not found, or known only to be a bound.
    pub value: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// What the two ends are.
    pub ends: Ends,
    /// The value is a lower bound.
    pub at_least: bool,
    /// The row that it is; none of a number that was worked out for the page.
    pub row: Option<RowId>,
}

/// What an interval's ends are.
#[derive(Debug, Clone, PartialEq)]
pub enum Ends {
    /// Of an interval of this confidence, 0…1.
    Confidence(f64),
    /// A search's bracket, a range.
    Named(String),
    /// Nothing says.
    Unnamed,
}

impl Quantity {
    /// A figure's.
    pub fn of(figure: &Figure) -> Self {
        Self {
            unit: figure.unit,
            value: figure.value,
            low: figure.low,
            high: figure.high,
            ends: match (figure.confidence, figure.in_words(Key::Interval)) {
                (Some(confidence), _) => Ends::Confidence(confidence),
                (None, Some(name)) => Ends::Named(name),
                (None, None) => Ends::Unnamed,
            },
            at_least: false,
            row: figure.id(),
        }
    }
}

/// How much is behind a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    /// Packets, trials, operations.
    pub n: u64,
    /// Repetitions: the sampling unit.
    pub blocks: u32,
    /// The rows that it is about.
    pub rows: Vec<RowId>,
}

/// Whose limit a row of figures shows, and every doubt; where not all figures of the row share one,
/// the quantiles that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The median's, or the first figure's.
    pub verdict: Verdict,
    /// Those that differ, each with the quantiles or metrics that it is about.
    pub others: Vec<(Verdict, Vec<String>)>,
    /// Every caveat.
    pub caveats: Vec<(Caveat, Vec<f64>)>,
    /// The rows that it is about.
    pub rows: Vec<RowId>,
}

impl Limit {
    /// Of a row; none of no figures.
    pub fn of(row: &[&Figure]) -> Option<Self> {
        let median = row.iter().find(|f| f.quantile == Some(0.5));
        Self::led_by(median.or(row.first())?, row)
    }

    /// Of a row that one of its figures leads; none of no figures.
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

/// The quantiles of the figures that have a verdict, or their metrics.
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

/// The quantiles of those of whom it is said; empty where it is said of all.
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
        let limit = Limit::of(&row.iter().collect::<Vec<_>>()).expect("three figures");
        assert_eq!(limit.verdict, device);
        assert_eq!(limit.others, [(open, vec!["p99.9".to_owned(), "max".to_owned()])]);
        let mut caveats = limit.caveats;
        caveats.sort_by_key(|(_, quantiles)| quantiles.len());
        let expected = [(Caveat::QuickProfile, vec![]), (Caveat::FewSamples, vec![0.999, 1.0])];
        assert_eq!(caveats, expected);
        assert_eq!(Limit::of(&[]), None);
    }
}
