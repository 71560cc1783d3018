//! A sweep: the same studies at every combination of values of a testbed's parameters, each
//! combination a run of its own. Its rows and its page.
//!
//! Owns what several runs show that differ in one or two parameters. A combination's own page is
//! its run's.

mod enough;
mod lines;
mod page;

use ::page::{Condition, Figure, Key, SCHEMA};
use serde_json::{Value, json};

use crate::run::{RunMeta, RunStatus, SweptValue};

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

impl Sweep {
    /// How many points ran to their end.
    pub fn done(&self) -> usize {
        self.runs.iter().filter(|one| one.status == RunStatus::Done).count()
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
}
