//! Reading TOML into typed files with errors that show the place; nothing is resolved here.
//!
//! Owns the mapping of the TOML reader's own errors (unknown key, wrong type, syntax) to faults in
//! the user's terms. Never knows which keys exist: the typed structs do.

use std::ops::Range;

use serde::de::DeserializeOwned;
use study::request::given::HINT;
use toml::Spanned;

use super::source::{ConfigError, Fault, SourceText};
use super::suggest;

/// A text value with its place.
pub type Text = Spanned<String>;

/// Reads a whole file.
pub fn read<T: DeserializeOwned>(source: &SourceText) -> Result<T, ConfigError> {
    toml::from_str(&source.text).map_err(|error| source.locate(explain(&error, source)))
}

/// A value of a unit, or a fault at its place with an example of how to write it.
pub fn unit<T>(
    value: &Text,
    read: impl Fn(&str) -> Result<T, measure::UnitError>,
    example: &str,
) -> Result<T, Fault> {
    read(value.get_ref()).map_err(|error| {
        Fault::new(value.span(), error.to_string(), format!("write it as {example}"))
    })
}

fn explain(error: &toml::de::Error, source: &SourceText) -> Fault {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    if let Some((what, hint)) = message.split_once(HINT) {
        return Fault::new(span, what, hint);
    }
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field") {
        let (key, known) = quoted.split_first().unwrap_or((&"", &[]));
        return Fault::new(span, format!("unknown key `{key}`"), suggest::hint(key, known));
    }
    if message.starts_with("unknown variant") {
        let (word, known) = quoted.split_first().unwrap_or((&"", &[]));
        return Fault::new(span, format!("unknown value `{word}`"), suggest::hint(word, known));
    }
    if message.starts_with("missing field") {
        let key = quoted.first().unwrap_or(&"");
        return Fault::new(
            first_line(&span, source),
            format!("key `{key}` is missing"),
            format!("add `{key} = …` to this table"),
        );
    }
    if message.starts_with("invalid type") && message.contains("expected a sequence") {
        let message = message.lines().next().unwrap_or_default();
        let message = message.replace("expected a sequence", "expected a list");
        return Fault::new(span, message, "write it in brackets: [\"first\", \"second\"]");
    }
    if message.starts_with("invalid type") {
        return Fault::new(
            span,
            message.lines().next().unwrap_or_default().to_owned(),
            "quantities with a unit are texts (\"100Mbit\", \"5s\"), counts and sizes are bare numbers",
        );
    }
    let first = message.lines().next().unwrap_or_default();
    Fault::new(span, lower(first), "the file is TOML: https://toml.io/en/v1.0.0")
}

/// A missing key's span is its whole table; only the first line is shown.
fn first_line(span: &Range<usize>, source: &SourceText) -> Range<usize> {
    let text = source.text.get(span.clone()).unwrap_or_default();
    span.start..span.start + text.lines().next().map_or(0, str::len)
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
