//! The one JSON object that a verb prints: its figures, under a schema name that scripts can check.
//! docs/reference/figures.md describes the rows. Never rounds or converts: base units throughout.

use page::Figure;
use serde_json::{Value, json};

use crate::accounting::TrialAccount;
use crate::run::RunMeta;

/// The shape's name; a change that breaks readers takes the next number.
pub const SCHEMA: &str = "switchmark/2";

/// `{"schema": "switchmark/2", "run": "…", "verb": "latency", "trials": {…}, "figures": [...]}`
pub fn figures_json(run: &RunMeta, figures: &[Figure], trials: &TrialAccount) -> Value {
    json!({
        "schema": SCHEMA,
        "run": run.id,
        "verb": run.verb,
        "trials": trials,
        "figures": figures,
    })
}
