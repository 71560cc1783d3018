//! Imported figures, each with the statements of its source.
//!
//! Owns the choice of conditions with a field of their own; the others describe the case. Never
//! draws.

use crate::view::values;
use page::{Figure, Key, UnreadLine, phrase};

/// Conditions that have a field of their own, or no meaning here.
const NAMED: [Key; 8] = [
    Key::Tool,
    Key::Device,
    Key::Path,
    Key::File,
    Key::FirstLine,
    Key::LastLine,
    Key::Position,
    Key::RateConvention,
];

/// Imported figures and unread lines.
#[derive(Debug)]
pub struct ImportedFinding {
    pub(super) entries: Vec<Entry>,
    /// Lines that were not understood.
    pub(super) unread: Vec<UnreadLine>,
}

/// Value measured by another tool.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) value: Figure,
    pub(super) tool: String,
    pub(super) device: String,
    /// File, and the number of the output if it has several.
    pub(super) source: String,
    /// Line numbers in the file.
    pub(super) lines: String,
    /// Conditions of the measurement, in words.
    pub(super) case: String,
}

impl ImportedFinding {
    /// Takes each figure's source and case from its conditions.
    pub(super) fn new(figures: &[Figure], unread: &[UnreadLine]) -> Self {
        Self { entries: figures.iter().map(Entry::new).collect(), unread: unread.to_vec() }
    }
}

impl Entry {
    fn new(value: &Figure) -> Self {
        let said = |key: &Key| value.condition_text(key).unwrap_or_default();
        let conditions = phrase::conditions(&value.conditions);
        let conditions = conditions.into_iter().filter(|(key, _)| !NAMED.contains(key));
        let case =
            conditions.map(|(key, said)| format!("{} {said}", key.as_str().replace('_', " ")));
        // Repetitions differ by their file and their position in it.
        let source = match value.conditions.get(&Key::Position) {
            Some(position) => format!("{}, output {}", said(&Key::File), position.to_words()),
            None => said(&Key::File),
        };
        let lines = match (said(&Key::FirstLine), said(&Key::LastLine)) {
            (first, last) if first == last => first,
            (first, last) => format!("{first}–{last}"),
        };
        Self {
            tool: said(&Key::Tool),
            device: said(&Key::Device),
            source,
            lines,
            case: case.collect::<Vec<_>>().join(", "),
            value: value.clone(),
        }
    }
}

values! {
    ImportedFinding: entries;
    Entry: value;
}
