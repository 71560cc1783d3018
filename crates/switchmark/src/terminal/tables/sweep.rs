//! A sweep as tables: a row for each point, a column for each case. Never computes.

use std::fmt::Write as _;

use method::{Figure, Verdict};
use record::report::sweep::{Chart, SweptFigures, charts};

use super::Grid;
use super::notes::Footnotes;
use crate::terminal::numbers;

/// So many cases stand beside each other.
const ABREAST: usize = 5;
/// So many stand in tables at all; the rows of `--json` have the others.
const MOST: usize = 4 * ABREAST;
/// Behind a value that is only a bound.
const BOUND: &str = "*";

/// All of them, and what holds for all figures.
pub fn sweep(points: &[SweptFigures<'_>]) -> String {
    let mut out = String::new();
    let charts = charts(points);
    for chart in &charts {
        for lines in chart.lines[..chart.lines.len().min(MOST)].chunks(ABREAST) {
            let part = Chart { lines: lines.to_vec(), ..chart.clone() };
            if let Some(table) = table(&part, points) {
                let _ = writeln!(out, "{}\n{table}\n", chart.title);
            }
        }
        if chart.lines.len() > MOST {
            let _ = writeln!(out, "{} more: --json\n", chart.lines.len() - MOST);
        }
    }
    let shown = || charts.iter().flat_map(|c| &c.lines).flat_map(|line| &line.figures).flatten();
    if shown().any(|figure| figure.verdict == Verdict::TesterLimited) {
        let _ = writeln!(out, "{BOUND} a bound: the hosts were the limit, not the device");
    }
    let all: Vec<Figure> = shown().map(|figure| (*figure).clone()).collect();
    out.push_str(&Footnotes::of(&all).render());
    out
}

fn table(chart: &Chart<'_>, points: &[SweptFigures<'_>]) -> Option<String> {
    let mut grid = Grid::new();
    for value in points.first()?.values {
        grid = grid.words(&value.parameter);
    }
    for line in &chart.lines {
        grid = grid.numbers(if line.name.is_empty() { "value" } else { &line.name });
    }
    for (at, point) in points.iter().enumerate() {
        let mut cells: Vec<String> = point.values.iter().map(|v| v.text.clone()).collect();
        cells.extend(chart.lines.iter().map(|line| cell(line.figures[at])));
        grid.row(cells);
    }
    grid.render()
}

fn cell(figure: Option<&Figure>) -> String {
    let Some((figure, value)) = figure.and_then(|f| Some((f, f.value?))) else {
        return "–".to_owned();
    };
    let bound = if figure.verdict == Verdict::TesterLimited { BOUND } else { "" };
    format!("{}{bound}", numbers::value(figure.unit, value))
}
