//! The imported figures, each with what its source says of it.
//!
//! Owns which conditions have a name here and which only describe the case. Never draws.

use crate::study::view::values;
use page::{Figure, Key, UnreadLine, phrase};

/// Conditions that have a field of their own, or say nothing here.
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

/// What was imported.
#[derive(Debug)]
pub struct ImportedFinding {
    pub(super) entries: Vec<Entry>,
    /// Lines that nobody understood.
    pub(super) unread: Vec<UnreadLine>,
}

/// One value of another tool.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) value: Figure,
    pub(super) tool: String,
    pub(super) device: String,
    /// The file, and which of several outputs in it.
    pub(super) source: String,
    /// The lines of that file.
    pub(super) lines: String,
    /// Under which conditions, in words.
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
        let said = |key: &Key| value.in_words(key).unwrap_or_default();
        let conditions = phrase::conditions(&value.conditions);
        let conditions = conditions.into_iter().filter(|(key, _)| !NAMED.contains(key));
        let case =
            conditions.map(|(key, said)| format!("{} {said}", key.as_str().replace('_', " ")));
        // Repeats are told apart by their file and their place in it.
        let source = match value.conditions.get(&Key::Position) {
            Some(position) => format!("{}, output {}", said(&Key::File), position.in_words()),
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
