//! Decided claims as JSON: decision, sentence, and one row per claim.
//!
//! Never decides.

use serde_json::{Value, json};

use super::{Acceptance, Decided};

impl Acceptance {
    /// Serialises to `{"decision": "pass", "sentence": "…", "claims": [...]}`.
    pub fn json(&self) -> Value {
        let claims: Vec<Value> = self.decided.iter().map(claim_json).collect();
        json!({
            "decision": self.overall(),
            "sentence": self.sentence(),
            "claims": claims,
        })
    }
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
        "reason": one.reason(),
        "needs_ns": one.needs.map(|needs| needs.0),
        "measured": one.measured,
    })
}
