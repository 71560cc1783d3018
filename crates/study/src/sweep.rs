//! Sweeps: the same studies at every combination of values of a testbed's parameters, each
//! combination a run of its own. Rows and page of the sweep.
//!
//! Owns the results of several runs that differ in one or two parameters. Each run has its own
//! page.

mod enough;
mod lines;
mod page;

use ::page::{Condition, Figure, Key, SCHEMA};
use serde_json::{Value, json};

use crate::run::{RunMeta, RunStatus, SweptValue};

/// Run of one point.
#[derive(Debug, Clone)]
pub struct SweptRun {
    /// The run; its `sweep` says which point it is.
    pub meta: RunMeta,
    /// Status of the run.
    pub status: RunStatus,
    /// Figures of the run; empty if it did not complete.
    pub figures: Vec<Figure>,
}

impl SweptRun {
    /// Adds the swept values to the conditions of the figures, and the cell that they form.
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

    /// Swept parameters of the run; empty for a run outside a sweep.
    fn values(&self) -> &[SweptValue] {
        self.meta.sweep.as_ref().map_or(&[], |point| &point.values)
    }

    fn conditions(&self) -> impl Iterator<Item = (&str, Condition)> {
        self.values().iter().map(|v| (v.condition.as_str(), v.as_condition()))
    }

    /// Values of the cell: `4MiB 25ms`.
    fn cell(&self) -> String {
        let texts: Vec<&str> = self.values().iter().map(|value| value.text.as_str()).collect();
        texts.join(" ")
    }

    /// Names and values of the cell: `buffer 4MiB, delay 25ms`.
    fn at(&self) -> String {
        let said: Vec<String> =
            self.values().iter().map(|v| format!("{} {}", v.parameter, v.text)).collect();
        said.join(", ")
    }
}

/// Sweep with the runs so far.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Prefix of its runs' ids.
    pub id: String,
    /// Number of requested points.
    pub of: usize,
    /// Runs that were started, in order.
    pub runs: Vec<SweptRun>,
}

impl Sweep {
    /// Number of completed points.
    pub fn done(&self) -> usize {
        self.runs.iter().filter(|one| one.status == RunStatus::Done).count()
    }

    /// Figures of all points.
    pub fn figures(&self) -> Vec<Figure> {
        self.runs.iter().flat_map(|one| one.figures.iter().cloned()).collect()
    }

    /// Serialises the rows of all runs, and the status of each point.
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
