//! What a sweep leaves: tables on the terminal, one JSON object, and a page.
//!
//! Owns which stream gets what. Shows points that ran to their end, and says how many did not.

use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;
use page::Figure;
use record::report::sweep::{self, SweptRun};
use record::{RunStatus, SweptValue};
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
    pub runs: Vec<SweptRun>,
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
        let html = sweep::render(&self.runs, lone::unix_ns(Timestamp::now()))?;
        output::write_page(&html, path)?;
        output::say(data, &format!("report: {}\n", path.display()))?;
        Ok(())
    }

    fn json(&self) -> Value {
        let point = |one: &SweptRun| {
            let place = |v: &SweptValue| (v.condition.clone(), json!(v.as_condition()));
            let place: serde_json::Map<String, Value> = one.values().iter().map(place).collect();
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
        let done: Vec<&SweptRun> =
            self.runs.iter().filter(|one| one.status == RunStatus::Done).collect();
        out.push_str(&tables::sweep(&done));
        let unfinished = self.runs.len() - done.len();
        if unfinished > 0 {
            let _ = writeln!(out, "points begun that did not come to their end: {unfinished}");
        }
        out
    }
}
