//! One table of a page as text: a unit for a whole column, intervals beside their values.
//!
//! Owns how a cell is written where there is little room. Never chooses what a table shows.

use page::{Cell, Column, Quantity, Room, Style, Table, Unit};

use super::{Footnotes, Grid};
use measure::quantile::upper_median;
use page::numbers::{self, TimeUnit};
use page::words::{BIT_RATES, BYTES, Scaled};

/// Sign for an unknown value.
const MISSING: &str = "–";
/// Columns of intervals are dropped early, but the first of them late.
const FIRST_INTERVAL: u8 = 1;
const INTERVAL: u8 = 40;

/// Form in which a column's cells are written.
enum Form {
    Words,
    Sentences,
    Numbers,
    /// Values in one unit, stated by the column's name unless it is stated elsewhere.
    Scaled(Scale),
    /// Values each in their own unit.
    Mixed,
    Samples,
    Limit,
}

/// Unit and magnitude that one column's values share.
#[derive(Clone, Copy)]
struct Scale {
    unit: Unit,
    time: TimeUnit,
    /// Divisor for bits and octets, and the name of the unit that it gives.
    divisor: f64,
    name: &'static str,
}

/// Returns the title and the table, at most `width` columns wide; `None` if there is nothing to
/// show.
pub(super) fn draw(
    table: &Table,
    notes: &mut Footnotes<'_>,
    width: usize,
) -> Option<(String, String)> {
    let shown: Vec<usize> =
        (0..table.columns.len()).filter(|at| table.columns[*at].room < Room::Page).collect();
    if shown.is_empty() {
        return None;
    }
    let times = TimeUnit::fit(table.rows.iter().flatten().filter_map(nanoseconds));
    let forms: Vec<Form> = shown.iter().map(|at| form(table, *at, times)).collect();
    let all_times = forms.iter().all(|form| match form {
        Form::Scaled(scale) => scale.unit == Unit::Nanoseconds,
        _ => true,
    }) && forms.iter().any(|form| matches!(form, Form::Scaled(_)));
    let noted: Vec<bool> = shown.iter().map(|at| needs_notes(table, *at)).collect();

    let mut grid = Grid::new();
    let mut intervals = 0;
    let mut with_interval = Vec::new();
    for (at, form) in shown.iter().zip(&forms) {
        let column = &table.columns[*at];
        grid = add_column(grid, column, form, all_times, table.stated);
        let bounded = table.rows.iter().any(|row| has_interval(&row[*at]));
        let own = matches!(form, Form::Scaled(_) | Form::Mixed) && bounded;
        if own {
            // An interval never stays without its value.
            let spare = match column.room {
                Room::Spare(value) => value.saturating_add(1),
                _ if intervals == 0 => FIRST_INTERVAL,
                _ => INTERVAL + intervals,
            };
            grid = grid.spare("interval", spare);
            intervals += u8::from(column.room == Room::Always);
        }
        with_interval.push(own);
    }
    grid = grid.lead(lead(table, &shown));
    for row in &table.rows {
        let mut cells = Vec::new();
        for (place, at) in shown.iter().enumerate() {
            cells.push(written(&row[*at], &forms[place], noted[place], notes));
            if with_interval[place] {
                cells.push(interval(&row[*at], &forms[place]));
            }
        }
        grid.row(cells);
    }
    let title = if all_times && table.stated != Some(Unit::Nanoseconds) {
        format!("{}, {}", table.title, times.name())
    } else {
        table.title.clone()
    };
    Some((title, grid.render(width)?))
}

/// Counts the columns from the left that tell rows apart: those before the first value.
fn lead(table: &Table, shown: &[usize]) -> usize {
    let is_text = |at: &usize| {
        let is_text = |cell: &Cell| matches!(cell, Cell::Text { .. } | Cell::Blank | Cell::Missing);
        table.rows.iter().all(|row| is_text(&row[*at]))
    };
    let texts = shown.iter().take_while(|at| is_text(at)).count();
    // Where nothing but texts stand, the first column alone tells them apart.
    if texts == shown.len() { 1 } else { texts.saturating_sub(1) }
}

const fn nanoseconds(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Value { quantity: Quantity { unit: Unit::Nanoseconds, value, .. }, .. } => *value,
        _ => None,
    }
}

const fn has_interval(cell: &Cell) -> bool {
    match cell {
        Cell::Value { quantity, .. } => {
            quantity.value.is_some() && quantity.low.is_some() && quantity.high.is_some()
        }
        _ => false,
    }
}

fn form(table: &Table, at: usize, times: TimeUnit) -> Form {
    let cells = || table.rows.iter().map(|row| &row[at]);
    let quantities: Vec<&Quantity> = cells()
        .filter_map(|cell| match cell {
            Cell::Value { quantity, .. } => Some(quantity),
            _ => None,
        })
        .collect();
    if let Some(first) = quantities.first() {
        if quantities.iter().any(|other| other.unit != first.unit) {
            return Form::Mixed;
        }
        let fitting = scale(first.unit, times, &quantities);
        let fixed = table.scale.map(|(divisor, name)| Scale { divisor, name, ..fitting });
        return Form::Scaled(fixed.unwrap_or(fitting));
    }
    if cells().any(|cell| matches!(cell, Cell::Limit(_))) {
        return Form::Limit;
    }
    if cells().any(|cell| matches!(cell, Cell::Samples(_))) {
        return Form::Samples;
    }
    let is_set = |style: Style| {
        cells().any(|cell| matches!(cell, Cell::Text { style: own, .. } if *own == style))
    };
    if is_set(Style::Number) || cells().any(|cell| *cell == Cell::Missing) {
        Form::Numbers
    } else if is_set(Style::Long) {
        Form::Sentences
    } else {
        Form::Words
    }
}

fn scale(unit: Unit, time: TimeUnit, quantities: &[&Quantity]) -> Scale {
    let values: Vec<f64> =
        quantities.iter().filter_map(|q| q.value.or(q.high)).map(f64::abs).collect();
    let middle = upper_median(&values).unwrap_or(0.0);
    let fit = |table: &[Scaled]| {
        *table.iter().find(|(from, _)| middle >= *from).unwrap_or(&table[table.len() - 1])
    };
    let (divisor, name) = match unit {
        Unit::Nanoseconds => (1.0, time.name()),
        Unit::BitsPerSecond => fit(BIT_RATES),
        Unit::Bytes => fit(BYTES),
        Unit::Ratio => (0.01, "%"),
        Unit::FramesPerSecond => (1.0, "frames/s"),
        Unit::OperationsPerSecond | Unit::ConnectionsPerSecond => (1.0, "/s"),
        Unit::Count | Unit::Flag => (1.0, ""),
    };
    Scale { unit, time, divisor, name }
}

fn add_column(
    grid: Grid,
    column: &Column,
    form: &Form,
    all_times: bool,
    stated: Option<Unit>,
) -> Grid {
    let name = match form {
        Form::Scaled(scale) => {
            let said = (all_times && scale.unit == Unit::Nanoseconds)
                || stated == Some(scale.unit)
                || scale.name.is_empty()
                || column.name.contains(scale.name);
            if said { column.name.clone() } else { format!("{} {}", column.name, scale.name) }
        }
        _ => column.name.clone(),
    };
    match (form, column.room) {
        (Form::Words | Form::Limit, _) => grid.words(&name),
        (Form::Sentences, _) => grid.sentences(&name),
        (_, Room::Spare(spare)) => grid.spare(&name, spare),
        _ => grid.numbers(&name),
    }
}

/// True if rows with equal text differ in their notes.
fn needs_notes(table: &Table, at: usize) -> bool {
    let said = |row: &Vec<Cell>| match &row[at] {
        Cell::Text { text, note, style: Style::Plain | Style::Path } => {
            Some((text.clone(), note.clone()))
        }
        _ => None,
    };
    let all: Vec<(String, String)> = table.rows.iter().filter_map(said).collect();
    all.iter()
        .any(|(text, note)| all.iter().any(|(other, beneath)| other == text && beneath != note))
}

fn written(cell: &Cell, form: &Form, noted: bool, notes: &mut Footnotes<'_>) -> String {
    match cell {
        Cell::Blank => String::new(),
        Cell::Missing => MISSING.to_owned(),
        Cell::Text { text, note, .. } if noted && !note.is_empty() => {
            plain(&format!("{text}, {note}"))
        }
        Cell::Text { text, note, style: Style::Long } if !note.is_empty() => {
            plain(&format!("{text}\n{note}"))
        }
        Cell::Text { text, .. } => plain(text),
        Cell::Value { quantity, .. } => value(quantity, form),
        Cell::Samples(samples) => numbers::short(samples.n as f64),
        Cell::Limit(limit) => notes.limit(limit),
    }
}

fn plain(text: &str) -> String {
    text.replace('→', "->")
}

/// A value, or the bound that is known.
fn value(quantity: &Quantity, form: &Form) -> String {
    match (quantity.value, quantity.low, quantity.high) {
        (Some(value), ..) if quantity.at_least => {
            format!("≥ {}", number(value, quantity.unit, form))
        }
        (Some(value), ..) => number(value, quantity.unit, form),
        (None, None, Some(high)) => format!("< {}", number(high, quantity.unit, form)),
        (None, Some(low), None) => format!("> {}", number(low, quantity.unit, form)),
        (None, ..) => MISSING.to_owned(),
    }
}

fn number(value: f64, unit: Unit, form: &Form) -> String {
    let Form::Scaled(scale) = form else { return numbers::value(unit, value) };
    match scale.unit {
        Unit::Nanoseconds => scale.time.number(value),
        Unit::FramesPerSecond | Unit::ConnectionsPerSecond => numbers::grouped(value),
        Unit::Flag | Unit::Count => numbers::value(unit, value),
        Unit::BitsPerSecond | Unit::Bytes | Unit::Ratio | Unit::OperationsPerSecond => {
            numbers::plain(value / scale.divisor)
        }
    }
}

fn interval(cell: &Cell, form: &Form) -> String {
    let Cell::Value { quantity, .. } = cell else { return String::new() };
    match (form, quantity.value, quantity.low, quantity.high) {
        (_, None, ..) | (_, _, None, _) | (_, _, _, None) => String::new(),
        (Form::Scaled(_), _, Some(low), Some(high)) => {
            format!("{}…{}", number(low, quantity.unit, form), number(high, quantity.unit, form))
        }
        (_, _, Some(low), Some(high)) => numbers::interval(quantity.unit, low, high),
    }
}
