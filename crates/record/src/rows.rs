//! The one JSON object that a verb prints: its figures, under a schema name that scripts can check.
//! docs/reference/figures.md describes the rows. Never rounds or converts: base units throughout.

use method::acceptance::{Acceptance, Decided};
use page::Figure;
use serde_json::{Value, json};

use crate::accounting::TrialAccount;
use crate::report::acceptance::{overall, reason};
use crate::run::RunMeta;

/// The shape's name; a change that breaks readers takes the next number.
pub const SCHEMA: &str = "switchmark/3";

/// `{"schema": "switchmark/3", "run": "…", "verb": "latency", "trials": {…}, "figures": [...]}`;
/// with `acceptance` where something is claimed.
pub fn figures_json(run: &RunMeta, figures: &[Figure], trials: &TrialAccount) -> Value {
    let mut object = json!({
        "schema": SCHEMA,
        "run": run.id,
        "verb": run.verb,
        "trials": trials,
        "figures": figures,
    });
    if !run.claims.is_empty() {
        object["acceptance"] = acceptance_json(&Acceptance::of(&run.claims, figures));
    }
    object
}

/// `{"decision": "pass", "sentence": "…", "claims": [...]}`
pub fn acceptance_json(acceptance: &Acceptance) -> Value {
    let claims: Vec<Value> = acceptance.decided.iter().map(claim_json).collect();
    json!({
        "decision": acceptance.overall(),
        "sentence": overall(acceptance),
        "claims": claims,
    })
}

fn claim_json(one: &Decided) -> Value {
    let about = &one.claim.about;
    json!({
        "claim": one.claim.text,
        "metric": about.metric,
        "quantile": about.quantile,
        "where": about.conditions,
        "comparison": one.claim.keeps.as_str(),
        "value": one.claim.keeps.value(),
        "unit": about.unit(),
        "margin": one.claim.margin,
        "source": one.claim.source,
        "decision": one.decision,
        "reason": reason(one),
        "needs_ns": one.needs.map(|needs| needs.0),
        "measured": one.measured,
    })
}
