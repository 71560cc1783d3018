//! Conditions of rows: each text is a code word, or a name; all together tell every row from the
//! others.

use std::collections::BTreeMap;

use page::{Key, Role};
use serde_json::Value;

use super::Rows;

/// Conditions whose values are names: of ports, devices, files and hosts, of what plans call by
/// several words at once, of standards' clauses and of layers.
const NAMES: [Key; 23] = [
    Key::From,
    Key::To,
    Key::WorstFrom,
    Key::Device,
    Key::Variant,
    Key::BesideDevice,
    Key::BesideVariant,
    Key::Deed,
    Key::File,
    Key::Member,
    Key::Cell,
    Key::Of,
    Key::FrameSize,
    Key::FrameSizeSent,
    Key::Arrangement,
    Key::Clause,
    Key::RateConvention,
    Key::Groups,
    Key::GroupsUnhindered,
    Key::GroupPorts,
    Key::PortsMissing,
    Key::SlowPort,
    Key::LastRank,
];

/// Rows with prose among their conditions, and rows that are not told apart.
pub fn wrong(rows: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for (id, row) in rows {
        let conditions = row["where"].as_object().expect("conditions");
        let told = || conditions.iter().map(|(name, value)| (Key::named(name), value));
        for (key, value) in told().filter(|(key, _)| !NAMES.contains(key)) {
            for text in texts(value).filter(|text| !is_code_word(text)) {
                // Other tools call their tests as they like.
                let is_tools_own = key == Key::Test && row["where"]["study"] == "imported";
                if !is_tools_own {
                    wrong.push(format!("row {id}: {key} is `{text}`, no code word"));
                }
            }
        }
        let identity = told().filter(|(key, _)| key.role() != Role::Explains);
        let identity: Vec<_> = identity.map(|(key, value)| format!("{key} {value}")).collect();
        let what = [&row["case"]["study"], &row["metric"], &row["quantile"], &row["unit"]];
        if let Some(other) = known.insert(format!("{what:?} {identity:?}"), id) {
            wrong.push(format!("rows {other} and {id} are not told apart: {what:?} {identity:?}"));
        }
    }
    wrong
}

/// A text, or those of a list.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter().flat_map(texts)),
        other => Box::new(other.as_str().into_iter()),
    }
}

fn is_code_word(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_letter)
}
