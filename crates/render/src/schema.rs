//! JSON Schema of the object that `--json` prints.
//!
//! Owns its form; the names of metrics, units, verdicts, caveats and conditions come from their
//! tables, so that the schema lists every one that this version can print. Never checks an object.

use page::{Caveat, Key, Metric, SCHEMA, Unit, Verdict};
use serde_json::{Map, Value, json};

/// The schema, by JSON Schema's draft 2020-12. A verb may add keys beside those that all have.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:{}", SCHEMA.replace('/', ":")),
        "title": format!("{SCHEMA}: figures of switchmark, as --json prints them"),
        "type": "object",
        "required": ["schema"],
        "properties": {
            "schema": { "const": SCHEMA },
            "run": described("string", "Id of the run."),
            "verb": described("string", "Verb that made the run."),
            "trials": { "$ref": "#/$defs/trials" },
            "figures": { "type": "array", "items": { "$ref": "#/$defs/figure" } },
        },
        "$defs": { "trials": trials(), "figure": figure(), "condition": condition() },
    })
}

fn described(kind: &str, what: &str) -> Value {
    json!({ "type": kind, "description": what })
}

fn trials() -> Value {
    let count = |what| json!({ "type": "integer", "minimum": 0, "description": what });
    json!({
        "type": "object",
        "required": ["valid", "invalid", "failed"],
        "properties": {
            "valid": count("Trials that figures rest on."),
            "invalid": count("Trials left out because a check of theirs failed."),
            "failed": count("Trials that could not be carried out."),
            "reasons": { "type": "array", "items": { "type": "object" } },
        },
    })
}

fn figure() -> Value {
    let number = |what| json!({ "type": ["number", "null"], "description": what });
    let count = |what| json!({ "type": "integer", "minimum": 0, "description": what });
    let share = |what| json!({ "type": "number", "minimum": 0, "maximum": 1, "description": what });
    json!({
        "type": "object",
        "required": ["metric", "unit", "value", "n", "blocks", "where", "verdict", "caveats"],
        "properties": {
            "case": {
                "type": "object",
                "properties": { "study": count("Study, from 1."), "index": count("Case, from 1.") },
            },
            "row": count("Number of the row within its study, from 1."),
            "metric": { "enum": names(Metric::ALL, Metric::as_str) },
            "quantile": share("Point of a distribution: 0 the minimum, 1 the maximum."),
            "unit": { "enum": names(Unit::ALL, Unit::as_str) },
            "value": number("In the base unit; null if the trials gave none."),
            "low": number("Lower end of the interval."),
            "high": number("Upper end of the interval."),
            "confidence": share("Confidence of the interval; absent for a search's bracket."),
            "n": count("Samples."),
            "blocks": count("Repetitions: the sampling unit."),
            "where": {
                "type": "object",
                "description": "Conditions. Those that a user named (factors, swept quantities) \
                                come beside these.",
                "properties": conditions(),
                "additionalProperties": { "$ref": "#/$defs/condition" },
            },
            "verdict": { "enum": names(Verdict::ALL, Verdict::as_str) },
            "caveats": {
                "type": "array",
                "items": { "enum": names(Caveat::ALL, Caveat::as_str) },
            },
            "trials": {
                "type": "array",
                "description": "Trials behind the value: first and last of each range.",
            },
        },
    })
}

/// Conditions with their meanings.
fn conditions() -> Map<String, Value> {
    let condition = |(name, meaning): (&str, &str)| {
        let value = json!({ "$ref": "#/$defs/condition", "description": meaning });
        (name.to_owned(), value)
    };
    Key::meanings().map(condition).collect()
}

fn condition() -> Value {
    json!({
        "description": "A number has its unit at the end of its name; a text is a name or a code word.",
        "type": ["boolean", "integer", "number", "string", "array"],
    })
}

fn names<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|one| name(*one)).collect()
}
