//! The one JSON object that a verb prints: its figures, under a schema name that scripts can check.
//! docs/reference/figures.md describes the rows. Never rounds or converts: base units throughout.

use page::{Figure, SCHEMA};
use serde::Serialize;
use serde_json::{Value, json};

/// A run's own labels on its rows.
#[derive(Debug, Clone, Copy)]
pub struct RunLabels<'a> {
    /// The run's id.
    pub id: &'a str,
    /// The verb.
    pub verb: &'a str,
    /// The testbed's name.
    pub testbed: &'a str,
    /// The version that measured it.
    pub version: &'a str,
    /// The run's beginning, in nanoseconds since 1970.
    pub created_unix_ns: u64,
}

/// `{"schema": "switchmark/3", "run": "…", "verb": "latency", "trials": {…}, "figures": [...]}`
pub fn figures_json(run: RunLabels<'_>, figures: &[Figure], trials: &impl Serialize) -> Value {
    json!({
        "schema": SCHEMA,
        "run": run.id,
        "verb": run.verb,
        "trials": trials,
        "figures": figures,
    })
}
