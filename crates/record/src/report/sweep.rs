//! A sweep: the same studies at every combination of values of a testbed's parameters, each
//! combination a run of its own. Its rows, its text and its page.
//!
//! Owns what several runs show that differ in one or two parameters. A combination's own page is
//! its run's.

mod enough;
mod lines;
mod plots;

use std::fmt::Write as _;

use crate::moment;
use page::{Answer, Block, Cell, Condition, Figure, Key, Page, Section, Table};
use serde_json::{Value, json};

use super::html::{self, ReportError};
use super::{campaign, caveats, conditions, picture};
use crate::rows::SCHEMA;
use crate::run::{RunMeta, RunStatus, SweptValue};
use crate::text;
use crate::text::Screen;
use lines::{Line, lines};
use page::words;

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
    /// The figures get the swept values among their conditions, and the cell that these make.
    pub fn new(meta: RunMeta, status: RunStatus, figures: Vec<Figure>) -> Self {
        let mut run = Self { meta, status, figures };
        let mut own: Vec<(Key, Condition)> =
            run.conditions().map(|(name, value)| (Key::named(name), value)).collect();
        own.push((Key::Cell, run.cell().into()));
        for figure in &mut run.figures {
            figure.conditions.extend(own.iter().cloned());
        }
        run
    }

    /// The swept parameters here; none where the run is of no sweep.
    fn values(&self) -> &[SweptValue] {
        self.meta.sweep.as_ref().map_or(&[], |point| &point.values)
    }

    fn conditions(&self) -> impl Iterator<Item = (&str, Condition)> {
        self.values().iter().map(|v| (v.condition.as_str(), v.as_condition()))
    }

    /// `4MiB 25ms`
    fn cell(&self) -> String {
        let texts: Vec<&str> = self.values().iter().map(|value| value.text.as_str()).collect();
        texts.join(" ")
    }

    /// `buffer 4MiB, delay 25ms`
    fn at(&self) -> String {
        let said: Vec<String> =
            self.values().iter().map(|v| format!("{} {}", v.parameter, v.text)).collect();
        said.join(", ")
    }
}

/// A sweep, as far as it came.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// What its runs' ids begin with.
    pub id: String,
    /// How many points were asked for.
    pub of: usize,
    /// Those that were begun, in their order.
    pub runs: Vec<SweptRun>,
}

/// So many sentences stand above, beside what is enough.
const MOST_ANSWERS: usize = 4;

impl Sweep {
    /// How many points ran to their end.
    pub fn done(&self) -> usize {
        self.ended().len()
    }

    /// Of all points.
    pub fn figures(&self) -> Vec<Figure> {
        self.runs.iter().flat_map(|one| one.figures.iter().cloned()).collect()
    }

    /// The rows of any run, and what became of each point.
    pub fn json(&self) -> Value {
        let point = |one: &SweptRun| {
            let place: serde_json::Map<String, Value> =
                one.conditions().map(|(name, value)| (name.to_owned(), json!(value))).collect();
            json!({ "run": one.meta.id, "status": one.status.as_str(), "where": place })
        };
        json!({
            "schema": SCHEMA,
            "run": self.id,
            "verb": self.runs.first().map(|one| one.meta.verb.as_str()),
            "complete": self.done() == self.of,
            "points": self.runs.iter().map(point).collect::<Vec<_>>(),
            "figures": self.figures(),
        })
    }

    /// The points that ran to their end as text, and how many did not.
    pub fn text(&self, screen: Screen) -> String {
        let Some(first) = self.runs.first().map(|one| &one.meta) else { return String::new() };
        let (done, of) = (self.done(), self.of);
        let mut out = format!("sweep {}  {done} of {of} points  seed {}\n", self.id, first.seed);
        for note in &first.notes {
            text::put_wrapped(&mut out, screen, "", note);
        }
        out.push('\n');
        let ended = self.ended();
        let lines = lines(&ended);
        let figures: Vec<Figure> =
            lines.iter().flat_map(|line| line.figures.iter().copied().flatten()).cloned().collect();
        let section = section(&lines, &ended);
        out.push_str(&text::told(&answers(&lines, &ended), &[section], &figures, screen));
        let unfinished = self.runs.len() - done;
        if unfinished > 0 {
            let _ = writeln!(out, "points begun that did not come to their end: {unfinished}");
        }
        out
    }

    /// One self-contained HTML file. `generated_unix_ns` is the caller's wall clock.
    pub fn render(&self, generated_unix_ns: u64) -> Result<String, ReportError> {
        let page = self.runs.first().map(|first| self.page(&first.meta));
        let title = page.as_ref().map_or_else(|| "switchmark".to_owned(), |p| p.heading.clone());
        html::render(title, page.into_iter().collect(), generated_unix_ns)
    }

    fn ended(&self) -> Vec<&SweptRun> {
        self.runs.iter().filter(|one| one.status == RunStatus::Done).collect()
    }

    fn page(&self, first: &RunMeta) -> Page {
        let points: Vec<&SweptRun> = self.runs.iter().collect();
        let (done, of) = (self.done(), self.of);
        let mut notes = first.notes.clone();
        if done < of {
            notes.insert(0, format!("Incomplete: {done} of {of} points ran to their end."));
        }
        let lines = lines(&points);
        let mut sections = vec![section(&lines, &points), runs(&points)];
        sections.extend(caveats::section(ANCHOR, &self.figures()));
        sections.push(conditions::of_sweep(ANCHOR, first));
        Page {
            id: ANCHOR.to_owned(),
            heading: format!("{} over {} on {}", first.verb, swept(&points), device(first)),
            line: format!(
                "Sweep {}, {}, switchmark {}",
                self.id,
                moment::moment(first.created_unix_ns),
                first.version
            ),
            notes,
            answers: answers(&lines, &points),
            picture: picture::picture(&first.topology),
            sections,
        }
    }
}

const ANCHOR: &str = "sweep";

/// `buffer and delay`
fn swept(points: &[&SweptRun]) -> String {
    let values = points.first().map_or(&[][..], |point| point.values());
    values.iter().map(|value| value.parameter.as_str()).collect::<Vec<_>>().join(" and ")
}

/// What the sweep is of: the devices, or the whole testbed.
fn device(meta: &RunMeta) -> String {
    let names: Vec<&str> = meta.topology.devices.iter().map(|d| d.name.as_str()).collect();
    if names.is_empty() { meta.topology.name.clone() } else { names.join(", ") }
}

/// What is enough, and of the first figures how they change from the first point to the last.
fn answers(lines: &[Line<'_>], points: &[&SweptRun]) -> Vec<Answer> {
    let mut answers = enough::answers(lines, points);
    let groups = lines.chunk_by(Line::is_beside).take(MOST_ANSWERS);
    answers.extend(groups.filter_map(|group| from_first_to_last(&group[0], points)));
    answers
}

fn from_first_to_last(line: &Line<'_>, points: &[&SweptRun]) -> Option<Answer> {
    let known = line.figures.iter().zip(points).filter_map(|(figure, point)| {
        let figure = (*figure)?;
        Some((figure, words::value(figure.unit, figure.value?), point.at()))
    });
    let known: Vec<(&Figure, String, String)> = known.collect();
    let ((_, from, here), (last, to, there)) = (known.first()?, known.last()?);
    let name = if line.name.is_empty() { String::new() } else { format!(" ({})", line.name) };
    let text = format!("{}{name}: {from} at {here}, {to} at {there}.", line.of);
    Some(Answer::new(text).limited_by(last.verdict))
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

/// Which run holds each point, and how it ended.
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
