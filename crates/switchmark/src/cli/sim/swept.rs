//! What a sweep leaves: tables on the terminal, one JSON object, and a page.
//!
//! Owns which stream gets what. Shows points that ran to their end, and says how many did not.

use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;
use page::Condition;
use page::Figure;
use record::report::sweep::{self, SweptFigures, SweptRun};
use record::{RunMeta, RunStatus, SweptValue};
use serde_json::{Value, json};

use crate::cli::options::Data;
use crate::cli::{Failure, lone, output};
use crate::speak;
use crate::terminal::tables;

/// A sweep, as far as it came.
#[derive(Debug)]
pub struct Swept {
    /// What its runs' ids begin with.
    pub id: String,
    /// How many points were asked for.
    pub of: usize,
    /// Those that were begun, in order.
    pub runs: Vec<SweptOne>,
}

/// One point.
#[derive(Debug)]
pub struct SweptOne {
    /// Its run.
    pub meta: RunMeta,
    /// How it ended.
    pub status: RunStatus,
    /// What was found; nothing where it did not come to its end.
    pub figures: Vec<Figure>,
}

impl SweptOne {
    /// The figures get the swept values among their conditions.
    pub fn new(meta: RunMeta, status: RunStatus, mut figures: Vec<Figure>) -> Self {
        let values = values(&meta);
        for figure in &mut figures {
            let conditions = values.iter().map(|v| (v.condition.clone(), condition(v.number)));
            figure.conditions.extend(conditions);
        }
        Self { meta, status, figures }
    }
}

fn values(meta: &RunMeta) -> &[SweptValue] {
    meta.sweep.as_ref().map_or(&[], |point| &point.values)
}

fn condition(number: f64) -> Condition {
    let whole = number >= 0.0 && number.fract() == 0.0 && number < 1e15;
    if whole { Condition::Integer(number as u64) } else { Condition::Number(number) }
}

impl Swept {
    /// How many points ran to their end.
    pub fn done(&self) -> usize {
        self.runs.iter().filter(|one| one.status == RunStatus::Done).count()
    }

    /// Of all points.
    pub fn figures(&self) -> Vec<Figure> {
        self.runs.iter().flat_map(|one| one.figures.iter().cloned()).collect()
    }

    /// Prints it, and writes the page where one is asked for.
    pub fn show(&self, data: &Data, report: Option<&Path>) -> Result<(), Failure> {
        if data.json {
            speak::print_json(&self.json())?;
        }
        output::say(data, &self.text())?;
        let Some(path) = report else { return Ok(()) };
        let runs: Vec<SweptRun<'_>> = self
            .runs
            .iter()
            .map(|one| SweptRun { meta: &one.meta, status: &one.status, figures: &one.figures })
            .collect();
        let html = sweep::render(&runs, lone::unix_ns(Timestamp::now()))?;
        output::write_page(&html, path)?;
        output::say(data, &format!("report: {}\n", path.display()))?;
        Ok(())
    }

    fn json(&self) -> Value {
        let point = |one: &SweptOne| {
            let place = |v: &SweptValue| (v.condition.clone(), json!(condition(v.number)));
            let place: serde_json::Map<String, Value> =
                values(&one.meta).iter().map(place).collect();
            json!({ "run": one.meta.id, "status": one.status.as_str(), "where": place })
        };
        json!({
            "schema": record::rows::SCHEMA,
            "verb": self.runs.first().map_or("sim", |one| one.meta.verb.as_str()),
            "sweep": self.id,
            "complete": self.done() == self.of,
            "points": self.runs.iter().map(point).collect::<Vec<_>>(),
            "figures": self.figures(),
        })
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let Some(first) = self.runs.first() else { return out };
        let seed = first.meta.seed;
        let _ =
            writeln!(out, "sweep {}  {} of {} points  seed {seed}", self.id, self.done(), self.of);
        for note in &first.meta.notes {
            record::text::put_wrapped(&mut out, "", note);
        }
        out.push('\n');
        let done: Vec<&SweptOne> =
            self.runs.iter().filter(|one| one.status == RunStatus::Done).collect();
        let points: Vec<SweptFigures<'_>> = done
            .iter()
            .map(|one| SweptFigures { values: values(&one.meta), figures: &one.figures })
            .collect();
        out.push_str(&tables::sweep(&points));
        let unfinished = self.runs.len() - done.len();
        if unfinished > 0 {
            let _ = writeln!(out, "points begun that did not come to their end: {unfinished}");
        }
        out
    }
}
