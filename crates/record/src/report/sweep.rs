//! A sweep's page: what each answer is at every value, as plots and as one table, and which run
//! holds each point.
//!
//! Owns the page of several runs that differ in one or two parameters. Each point's own page is its
//! run's.

mod charts;

use page::{Answer, Block, Cell, Figure, Page, Picture, Section, Table, Unit, Verdict};

use super::html::{self, ReportError};
use super::{caveats, conditions, picture};
use crate::run::{RunMeta, RunStatus, SweptValue};
use crate::svg::{Axis, PALETTE, Plot, Point, Scale, Series};
use crate::words;

pub use charts::{Chart, Line, charts};

/// One point's run.
#[derive(Debug, Clone)]
pub struct SweptRun {
    /// The run; its `sweep` says which point it is.
    pub meta: RunMeta,
    /// How it ended.
    pub status: RunStatus,
    /// What was found; nothing where it did not come to its end.
    pub figures: Vec<Figure>,
}

impl SweptRun {
    /// The figures get the swept values among their conditions.
    pub fn new(meta: RunMeta, status: RunStatus, figures: Vec<Figure>) -> Self {
        let mut run = Self { meta, status, figures };
        let told = run.values().iter().map(|v| (v.condition.clone(), v.as_condition()));
        let told: Vec<_> = told.collect();
        for figure in &mut run.figures {
            figure.conditions.extend(told.iter().cloned());
        }
        run
    }

    /// The swept parameters here; none where the run is of no sweep.
    pub fn values(&self) -> &[SweptValue] {
        self.meta.sweep.as_ref().map_or(&[], |point| &point.values)
    }
}

/// So many lines can be told apart; the table has all of them.
const MOST_LINES: usize = 2 * PALETTE;
/// So many sentences stand above.
const MOST_ANSWERS: usize = 4;
/// Values that span more than this are drawn by decades.
const WIDE: f64 = 8.0;

/// One self-contained HTML file for a sweep's points, in their order. `generated_unix_ns` is the
/// caller's wall clock.
pub fn render(runs: &[SweptRun], generated_unix_ns: u64) -> Result<String, ReportError> {
    let page = runs.first().map(|first| page_of(&first.meta, &runs.iter().collect::<Vec<_>>()));
    let title = page.as_ref().map_or_else(|| "switchmark".to_owned(), |p| p.heading.clone());
    html::render(title, page.into_iter().collect(), generated_unix_ns)
}

fn page_of(meta: &RunMeta, points: &[&SweptRun]) -> Page {
    let charts = charts(points);
    let parameters: Vec<&str> =
        points[0].values().iter().map(|value| value.parameter.as_str()).collect();
    let (sweep, of) = meta.sweep.as_ref().map_or((meta.id.as_str(), 1), |p| (&p.sweep, p.of));
    let done = points.iter().filter(|run| run.status == RunStatus::Done).count();
    let mut notes = meta.notes.clone();
    if done < of as usize {
        notes.insert(0, format!("Incomplete: {done} of {of} points ran to their end."));
    }
    let all: Vec<Figure> = points.iter().flat_map(|run| run.figures.iter().cloned()).collect();
    let anchor = "sweep";
    let mut sections: Vec<Section> = sections(anchor, &charts, points);
    sections.push(points_section(anchor, points));
    sections.extend(caveats::section(anchor, &all));
    sections.push(conditions::of_sweep(anchor, meta));
    Page {
        id: anchor.to_owned(),
        heading: format!("{} over {} on {}", meta.verb, parameters.join(" and "), device(meta)),
        line: format!(
            "Sweep {sweep}, {}, switchmark {}",
            words::moment(meta.created_unix_ns),
            meta.version
        ),
        notes,
        answers: answers(&charts, points),
        picture: picture::picture(&meta.topology),
        sections,
    }
}

/// What the sweep is of: the devices, or the whole testbed.
fn device(meta: &RunMeta) -> String {
    let names: Vec<&str> = meta.topology.devices.iter().map(|d| d.name.as_str()).collect();
    if names.is_empty() { meta.topology.name.clone() } else { names.join(", ") }
}

/// From the first point that has a value to the last.
fn answers(charts: &[Chart<'_>], points: &[&SweptRun]) -> Vec<Answer> {
    charts.iter().take(MOST_ANSWERS).filter_map(|chart| answer(chart, points)).collect()
}

fn answer(chart: &Chart<'_>, points: &[&SweptRun]) -> Option<Answer> {
    let line = chart.lines.first()?;
    let known = line.figures.iter().zip(points).filter_map(|(figure, point)| {
        let figure = (*figure)?;
        Some((figure, words::value(figure.unit, figure.value?), at(point)))
    });
    let known: Vec<(&Figure, String, String)> = known.collect();
    let ((_, from, here), (last, to, there)) = (known.first()?, known.last()?);
    let name = if line.name.is_empty() { String::new() } else { format!(" ({})", line.name) };
    let text = format!("{}{name}: {from} at {here}, {to} at {there}.", chart.title);
    Some(Answer { text, verdict: last.verdict.limit(), style: last.verdict.into() })
}

/// `buffer 4MiB, delay 25ms`
fn at(point: &SweptRun) -> String {
    let said: Vec<String> =
        point.values().iter().map(|v| format!("{} {}", v.parameter, v.text)).collect();
    said.join(", ")
}

fn sections(prefix: &str, charts: &[Chart<'_>], points: &[&SweptRun]) -> Vec<Section> {
    let section = |(i, chart): (usize, &Chart<'_>)| Section {
        id: format!("{prefix}-chart{}", i + 1),
        heading: chart.title.clone(),
        blocks: vec![
            Block::Pictures(plot(chart, points).into_iter().collect()),
            Block::Table(table(chart, points)),
        ],
    };
    charts.iter().enumerate().map(section).collect()
}

/// Over the first parameter; each value of the second is a line of its own.
fn plot(chart: &Chart<'_>, points: &[&SweptRun]) -> Option<Picture> {
    let mut series: Vec<Series> = Vec::new();
    for line in &chart.lines {
        for (figure, point) in line.figures.iter().zip(points) {
            let (Some(figure), [first, rest @ ..]) = (figure, point.values()) else { continue };
            let Some(value) = figure.value.filter(|value| value.is_finite()) else { continue };
            let beside = rest.iter().map(|v| format!("{} {}", v.parameter, v.text));
            let words: Vec<String> = std::iter::once(line.name.clone())
                .chain(beside)
                .filter(|w| !w.is_empty())
                .collect();
            let name = if words.is_empty() { chart.title.clone() } else { words.join(", ") };
            let known = series.iter().position(|s| s.name == name);
            let place = known.unwrap_or(series.len());
            if known.is_none() {
                let dashed = place >= PALETTE;
                let (line, points) = (Vec::new(), Vec::new());
                series.push(Series { name, colour: Some(place), dashed, line, points });
            }
            series[place].line.push((first.number, value));
            series[place].points.push(Point {
                x: first.number,
                y: value,
                whisker: figure.low.zip(figure.high),
                text: format!(
                    "{} {}: {}",
                    first.parameter,
                    first.text,
                    words::with_interval(figure)
                ),
            });
        }
    }
    let left_out = series.len().saturating_sub(MOST_LINES);
    series.truncate(MOST_LINES);
    let first = points.first()?.values().first()?;
    let ends = |s: &Series| -> Vec<f64> {
        let whiskers = s.points.iter().filter_map(|p| p.whisker).flat_map(|(l, h)| [l, h]);
        s.points.iter().map(|p| p.y).chain(whiskers).collect()
    };
    let x: Vec<f64> = points.iter().filter_map(|p| Some(p.values().first()?.number)).collect();
    let y: Vec<f64> = series.iter().flat_map(ends).collect();
    if y.is_empty() {
        return None;
    }
    let caption = if left_out == 0 {
        format!("{} over {}.", chart.title, first.parameter)
    } else {
        format!("{} over {}; {left_out} lines more are in the table.", chart.title, first.parameter)
    };
    let unit = unit_of(&first.condition);
    let plot = Plot {
        title: caption.clone(),
        x: Axis::over(&first.parameter, scale(&x), x.iter().copied(), |v| tick(unit, v)),
        y: Axis::over(&chart.title, scale(&y), y.iter().copied(), |v| words::tick(chart.unit, v)),
        series,
    };
    Some(Picture { svg: plot.draw(), caption })
}

fn scale(values: &[f64]) -> Scale {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 && high / low > WIDE { Scale::Log } else { Scale::Linear }
}

/// The unit that a condition's name ends with.
fn unit_of(condition: &str) -> Option<Unit> {
    let ends = [
        ("_bytes", Unit::Bytes),
        ("_ns", Unit::Nanoseconds),
        ("_bits_per_s", Unit::BitsPerSecond),
        ("_frames_per_s", Unit::FramesPerSecond),
    ];
    ends.into_iter().find(|(end, _)| condition.ends_with(end)).map(|(_, unit)| unit)
}

fn tick(unit: Option<Unit>, value: f64) -> String {
    unit.map_or_else(|| words::trimmed(value, 3), |unit| words::tick(unit, value))
}

fn table(chart: &Chart<'_>, points: &[&SweptRun]) -> Table {
    let parameters = points.first().map(|point| point.values()).unwrap_or_default();
    let mut head: Vec<String> = parameters.iter().map(|v| v.parameter.clone()).collect();
    let name = |line: &Line<'_>| {
        if line.name.is_empty() { chart.title.clone() } else { line.name.clone() }
    };
    head.extend(chart.lines.iter().map(name));
    let row = |(at, point): (usize, &&SweptRun)| {
        let mut cells: Vec<Cell> =
            point.values().iter().map(|v| Cell::number(v.text.clone())).collect();
        cells.extend(chart.lines.iter().map(|line| {
            let Some(figure) = line.figures[at] else { return Cell::Missing };
            let value =
                figure.value.map_or_else(|| "–".to_owned(), |v| words::value(chart.unit, v));
            let bound = if figure.verdict == Verdict::TesterLimited { "a bound" } else { "" };
            Cell::number(value).with_note(bound)
        }));
        cells
    };
    let rows = points.iter().enumerate().map(row);
    Table::new(format!("{} at every point.", chart.title), head).with_rows(rows)
}

fn points_section(prefix: &str, runs: &[&SweptRun]) -> Section {
    let row = |run: &&SweptRun| {
        let values: Vec<String> =
            run.values().iter().map(|v| format!("{} {}", v.parameter, v.text)).collect();
        let reason = match &run.status {
            RunStatus::Failed { reason } => reason.clone(),
            _ => String::new(),
        };
        vec![
            Cell::text(values.join(", ")),
            Cell::text(run.meta.id.clone()),
            Cell::text(run.status.as_str()).with_note(reason),
            Cell::text(run.meta.topology.name.clone()),
        ]
    };
    let table = Table::new(
        "Each point is a run; `switchmark report RUN` shows all of it.".to_owned(),
        ["point", "run", "status", "testbed"],
    )
    .with_rows(runs.iter().map(row));
    Section {
        id: format!("{prefix}-points"),
        heading: "The points".to_owned(),
        blocks: vec![Block::Table(table)],
    }
}
