//! Description of the JSON where a path stops matching: helps to fix a wrong map.
//!
//! Owns the wording. Never tries to repair a path.

use serde_json::Value;
use serde_json_path::JsonPath;

/// Maximum number of keys to list.
const NAMED: usize = 12;

/// Describes the content at the longest beginning of `path` that matches.
pub(super) fn instead(path: &str, value: &Value) -> String {
    let ends = path.char_indices().rev().filter(|(_, c)| matches!(c, '.' | '[')).map(|(at, _)| at);
    for end in ends {
        let part = path[..end].trim_end_matches('.');
        let Ok(parsed) = JsonPath::parse(part) else { continue };
        // Of several matches, the one with the most members is the most informative.
        let found = parsed.query(value);
        if let Some(richest) = found.iter().max_by_key(|value| size(value)) {
            return format!("`{part}` {}", has(richest));
        }
    }
    format!("it {}", has(value))
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len(),
        Value::Array(members) => members.len(),
        _ => 0,
    }
}

fn has(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "is an empty object".to_owned(),
        Value::Object(members) => {
            let keys: Vec<&str> = members.keys().take(NAMED).map(String::as_str).collect();
            let more = members.len() - keys.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("has {}{more}", keys.join(", "))
        }
        Value::Array(members) if members.is_empty() => "is an empty list".to_owned(),
        Value::Array(members) => format!("is a list of {}", members.len()),
        one => format!("is {}", in_short(one)),
    }
}

/// Shortens an unexpected value for an error message.
pub(super) fn in_short(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => format!("\"{}\"", text.chars().take(40).collect::<String>()),
        one => one.to_string(),
    }
}
