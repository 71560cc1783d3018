//! Our own rows, such as another machine's run or figures that were only published as numbers.
//!
//! Never imports a verdict: the limit of a figure is determined again from the imported rows.

use page::{Caveat, Figure};
use serde_json::Value;

use crate::ImportError;
use crate::found::Found;

/// Supported schemas: the first had port groups as text, both had words where rows have code words
/// and fields now.
const SCHEMAS: [&str; 3] = ["switchmark/1", "switchmark/2", "switchmark/3"];

pub(crate) fn read(value: &Value, found: &mut Found) -> Result<(), ImportError> {
    if !SCHEMAS.iter().any(|schema| value["schema"] == **schema) {
        return Err(ImportError::UnknownJson { number: 0 });
    }
    let rows = value["figures"].as_array();
    let rows = rows.ok_or(ImportError::missing("switchmark", "figures"))?;
    for row in rows {
        let read: Result<Figure, _> = serde_json::from_value(filled(row.clone()));
        let mut figure =
            read.map_err(|error| ImportError::BrokenJson { number: 0, why: error.to_string() })?;
        if !figure.caveats.contains(&Caveat::Imported) {
            figure.caveats.push(Caveat::Imported);
            figure.caveats.sort();
        }
        found.figures.push(figure);
    }
    found.tools.push("switchmark");
    Ok(())
}

/// Fills in values that a row written by hand may omit.
fn filled(mut row: Value) -> Value {
    if let Some(fields) = row.as_object_mut() {
        for (name, value) in [
            ("n", Value::from(1)),
            ("blocks", Value::from(1)),
            ("where", Value::Object(serde_json::Map::new())),
            ("verdict", Value::from("undetermined")),
            ("caveats", Value::Array(Vec::new())),
        ] {
            fields.entry(name).or_insert(value);
        }
    }
    row
}
