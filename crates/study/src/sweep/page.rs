//! Sweep as a page: the figures that answer, as lines and rows over its points.
//!
//! Never computes one.

mod plots;

use page::{Answer, Block, Cell, Figure, Page, Section, Shared, Table, words};

use super::enough;
use super::lines::{Line, lines};
use super::{Sweep, SweptRun};
use crate::campaign;
use crate::run::{RunMeta, RunStatus, caveats, conditions, picture};

/// Number of answers besides those on sufficient buffers.
const MOST_ANSWERS: usize = 4;

impl Sweep {
    /// Builds the page; an empty one if no point was started.
    pub fn page(&self) -> Page {
        let Some(first) = self.runs.first().map(|one| &one.meta) else { return Page::default() };
        let points: Vec<&SweptRun> = self.runs.iter().collect();
        let (done, of) = (self.done(), self.of);
        let mut notes = first.notes.clone();
        if done < of {
            notes.insert(0, format!("Incomplete: {done} of {of} points ran to their end."));
        }
        let lines = lines(&points);
        let shown = lines.iter().flat_map(|line| line.figures.iter().copied().flatten());
        let shown: Vec<Figure> = shown.cloned().collect();
        let background = caveats::section(ANCHOR, &self.figures());
        let background = background.into_iter().chain([conditions::of_sweep(ANCHOR, first)]);
        Page {
            id: ANCHOR.to_owned(),
            heading: format!(
                "{} over {} on {}",
                first.study_names(),
                swept(&points),
                device(first)
            ),
            line: format!(
                "Sweep {}, {}, switchmark {}",
                self.id,
                words::moment(first.created_unix_ns),
                first.version
            ),
            notes,
            answers: answers(&lines, &points),
            picture: picture(&first.topology),
            sections: vec![section(&lines, &points)],
            background: [runs(&points)].into_iter().chain(background).collect(),
            shared: Shared::from_figures(&shown),
        }
    }
}

const ANCHOR: &str = "sweep";

/// Names of the swept parameters: `buffer and delay`.
fn swept(points: &[&SweptRun]) -> String {
    let values = points.first().map_or(&[][..], |point| point.values());
    values.iter().map(|value| value.parameter.as_str()).collect::<Vec<_>>().join(" and ")
}

/// Subject of the sweep: the devices, or the whole testbed.
fn device(meta: &RunMeta) -> String {
    let names: Vec<&str> = meta.topology.devices.iter().map(|d| d.name.as_str()).collect();
    if names.is_empty() { meta.topology.name.clone() } else { names.join(", ") }
}

/// Answers on sufficient buffers, then the first figures at the first point and at the last.
fn answers(lines: &[Line<'_>], points: &[&SweptRun]) -> Vec<Answer> {
    let mut answers = enough::answers(lines, points);
    let groups = lines.chunk_by(Line::is_beside).take(MOST_ANSWERS);
    answers.extend(groups.filter_map(most_changed).flat_map(|line| first_and_last(line, points)));
    answers
}

/// Line that changes most from its first value to its last; the first of several.
fn most_changed<'a, 'b>(group: &'b [Line<'a>]) -> Option<&'b Line<'a>> {
    let change = |line: &Line<'_>| {
        let mut values = line.figures.iter().flatten().filter_map(|figure| figure.value);
        let first = values.next().unwrap_or(0.0);
        let last = values.next_back().unwrap_or(first);
        let most = first.abs().max(last.abs());
        if most > 0.0 { (last - first).abs() / most } else { 0.0 }
    };
    group.iter().rev().max_by(|a, b| change(a).total_cmp(&change(b)))
}

/// Values at the first point and at the last that has one.
fn first_and_last(line: &Line<'_>, points: &[&SweptRun]) -> Vec<Answer> {
    let name = if line.name.is_empty() { String::new() } else { format!(", {}", line.name) };
    let question = format!("{}{name}", words::capital(&line.of.replace('_', " ")));
    let mut known = line.figures.iter().zip(points).filter_map(|(figure, point)| {
        let figure = figure.filter(|figure| figure.value.is_some())?;
        let answer = Answer::default().led_by(figure).limited_by(figure.verdict);
        Some(answer.with_question(question.clone()).of_case(point.at()))
    });
    let first = known.next();
    first.into_iter().chain(known.next_back()).collect()
}

fn section(lines: &[Line<'_>], points: &[&SweptRun]) -> Section {
    let plots = lines.chunk_by(Line::is_beside).filter_map(|group| plots::plot(group, points));
    let rows = lines
        .iter()
        .flat_map(|line| line.figures.iter().flatten().map(|figure| (*figure, line.name.clone())));
    let table = campaign::cell_table("Each point, through the device", &swept(points), rows);
    Section {
        id: format!("{ANCHOR}-cells"),
        heading: format!("{} points", points.len()),
        blocks: vec![Block::Pictures(plots.collect()), Block::Table(table)],
    }
}

/// Section with the run and the status of each point.
fn runs(points: &[&SweptRun]) -> Section {
    let row = |run: &&SweptRun| {
        let reason = match &run.status {
            RunStatus::Failed { reason } => reason.clone(),
            _ => String::new(),
        };
        vec![
            Cell::text(run.at()),
            Cell::text(run.meta.id.clone()),
            Cell::text(run.status.as_str()).with_note(reason),
            Cell::text(run.meta.topology.name.clone()),
        ]
    };
    let title = "Each point is a run; `switchmark report RUN` shows all of it.";
    let table =
        Table::new(title, ["point", "run", "status", "testbed"]).with_rows(points.iter().map(row));
    let heading = "The points".to_owned();
    Section { id: format!("{ANCHOR}-points"), heading, blocks: vec![Block::Table(table)] }
}
