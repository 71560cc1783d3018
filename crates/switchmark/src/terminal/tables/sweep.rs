//! A sweep as tables: a row for each value of its first parameter, a column for each case and value
//! of the second. Never computes.

use std::fmt::Write as _;

use page::{Figure, Verdict};
use record::report::sweep::{Chart, SweptRun, charts};

use super::enough::enough;
use record::text::Footnotes;
use record::text::Grid;
use record::text::WIDTH;
use record::text::numbers;

/// So many columns stand in tables; the rows of `--json` have the others.
const MOST: usize = 20;
/// A column's head is no longer than this.
const HEAD: usize = 32;
/// Behind a value that is only a bound.
const BOUND: &str = "*";

/// What stands below one another.
struct Column<'a> {
    name: String,
    cells: Vec<Option<&'a Figure>>,
}

/// All of them, and what holds for all figures.
pub fn sweep(points: &[&SweptRun]) -> String {
    let mut out = enough(points);
    let rows = distinct(points, 0);
    let parameter = points.first().and_then(|point| point.values().first());
    let parameter = parameter.map_or("", |value| value.parameter.as_str());
    let mut shown: Vec<&Figure> = Vec::new();
    for chart in &charts(points) {
        let columns = columns(chart, points, &rows);
        let mut left = &columns[..columns.len().min(MOST)];
        while !left.is_empty() {
            let (part, rest) = left.split_at(abreast(parameter, &rows, left));
            if let Some(table) = table(parameter, &rows, part) {
                let _ = writeln!(out, "{}\n{table}\n", chart.title);
            }
            left = rest;
        }
        if columns.len() > MOST {
            let _ = writeln!(out, "{} columns more: --json has them\n", columns.len() - MOST);
        }
        shown.extend(chart.lines.iter().flat_map(|line| line.figures.iter().copied().flatten()));
    }
    if shown.iter().any(|figure| is_bound(figure)) {
        let _ = writeln!(out, "{BOUND} a bound: the hosts were the limit, not the device");
    }
    let shown: Vec<Figure> = shown.into_iter().cloned().collect();
    out.push_str(&Footnotes::of(&shown).render());
    out
}

/// The values of a parameter, in their order; one empty text where there is no such parameter.
fn distinct<'a>(points: &[&'a SweptRun], parameter: usize) -> Vec<&'a str> {
    let mut all = Vec::new();
    for point in points {
        let text = point.values().get(parameter).map_or("", |value| value.text.as_str());
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

fn head(name: &str) -> String {
    if name.chars().count() <= HEAD {
        return name.to_owned();
    }
    let kept: String = name.chars().take(HEAD - 1).collect();
    format!("{kept}…")
}

fn columns<'a>(chart: &Chart<'a>, points: &[&'a SweptRun], rows: &[&str]) -> Vec<Column<'a>> {
    let second = points.first().and_then(|point| point.values().get(1));
    let mut columns = Vec::new();
    for line in &chart.lines {
        for text in distinct(points, 1) {
            let beside = second.map(|value| format!("{} {text}", value.parameter));
            let words = std::iter::once(line.name.clone()).chain(beside);
            let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
            let name = if words.is_empty() { "value".to_owned() } else { head(&words.join(" ")) };
            let mut cells = vec![None; rows.len()];
            for (figure, point) in line.figures.iter().zip(points) {
                let here = |at: usize| point.values().get(at).map_or("", |v| v.text.as_str());
                if let Some(row) = rows.iter().position(|row| *row == here(0) && here(1) == text) {
                    cells[row] = *figure;
                }
            }
            columns.push(Column { name, cells });
        }
    }
    columns
}

/// How many of the columns fit beside each other behind the rows' names; at least one.
fn abreast(parameter: &str, rows: &[&str], columns: &[Column<'_>]) -> usize {
    let width = |text: &str| text.chars().count() + 2;
    let mut room =
        WIDTH.saturating_sub(rows.iter().map(|row| width(row)).fold(width(parameter), usize::max));
    let mut fit = 0;
    for column in columns {
        let cells = column.cells.iter().map(|figure| width(&cell(*figure)));
        let Some(left) = room.checked_sub(cells.fold(width(&column.name), usize::max)) else {
            break;
        };
        room = left;
        fit += 1;
    }
    fit.max(1)
}

fn table(parameter: &str, rows: &[&str], columns: &[Column<'_>]) -> Option<String> {
    let mut grid = Grid::new().words(parameter);
    for column in columns {
        grid = grid.numbers(&column.name);
    }
    for (at, row) in rows.iter().enumerate() {
        let mut cells = vec![(*row).to_owned()];
        cells.extend(columns.iter().map(|column| cell(column.cells[at])));
        grid.row(cells);
    }
    grid.render()
}

fn is_bound(figure: &Figure) -> bool {
    figure.verdict == Verdict::TesterLimited
}

fn cell(figure: Option<&Figure>) -> String {
    let Some((figure, value)) = figure.and_then(|f| Some((f, f.value?))) else {
        return "–".to_owned();
    };
    let bound = if is_bound(figure) { BOUND } else { "" };
    format!("{}{bound}", numbers::value(figure.unit, value))
}
