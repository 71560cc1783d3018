//! A text the user wrote, and errors that show the very place they speak of.
//!
//! Owns the rendering in three lines: `file:line:column` and the message, the line itself, carets
//! under the place with the hint behind them. Never knows what the text means.

use std::ops::Range;

use measure::Refused;
use study::request::given::{Place, RefusedAt};

use crate::files;

/// Longest line shown in full; of a longer one, only the part around the place is shown.
const WIDEST: usize = 160;

/// Fault in a text, and its place: byte offsets, not yet lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Bytes of the text it speaks of.
    pub span: Range<usize>,
    /// Message: lower case, no full stop.
    pub message: String,
    /// Advice on what to do about it.
    pub hint: String,
    /// Place in another text that this one names; `None` if it is in this one.
    elsewhere: Option<Box<ConfigError>>,
}

impl Fault {
    /// A fault in `span`.
    pub fn new(span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: hint.into(), elsewhere: None }
    }

    /// Creates the fault of a refused value, at its place.
    pub fn refused(span: Range<usize>, refused: Refused) -> Self {
        Self::new(span, refused.message, refused.hint)
    }

    /// Creates the fault of a request's value: it names a flag, or points to a plan's key.
    pub fn of_request(RefusedAt { place, refused }: RefusedAt) -> Self {
        match place {
            Place::Flag(flag) => Self::new(0..0, format!("{flag}: {refused}"), refused.hint),
            Place::Key(span) => Self::refused(span, refused),
            Place::Nowhere => Self::refused(0..0, refused),
        }
    }

    /// A fault in another text, whose place is found already.
    pub fn elsewhere(error: ConfigError) -> Self {
        let (message, hint) = (error.message.clone(), error.hint.clone());
        Self { span: 0..0, message, hint, elsewhere: Some(Box::new(error)) }
    }
}

/// Part of a text, and its place.
#[derive(Debug)]
pub struct Word<'a> {
    /// Text as written.
    pub text: &'a str,
    /// Byte offsets of its place.
    pub span: Range<usize>,
}

/// A file or an argument, as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    /// The path, or the flag: `--testbed`.
    pub name: String,
    /// Whole text.
    pub text: String,
    /// True if lines count: false for an argument.
    pub is_file: bool,
}

/// A text cannot be used. Shown with its place; the exit code is 2.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
#[error("{}{message}", lead(.place))]
pub struct ConfigError {
    /// `file:line:column`, or the flag; empty where there is no text.
    pub place: String,
    /// Message: what is wrong.
    pub message: String,
    /// The line, and carets under the place; empty where there is no text.
    pub excerpt: String,
    /// Advice on what to do about it.
    pub hint: String,
    /// Further faults of the same text, ready to print below; mostly empty.
    pub also: String,
}

fn lead(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("{place}: ") }
}

impl From<Refused> for ConfigError {
    fn from(refused: Refused) -> Self {
        Self::bare(refused.message, refused.hint)
    }
}

impl ConfigError {
    /// An error about something that is in no text.
    pub fn bare(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), ..Self::default() }
    }

    /// Formats it in three lines, or in two where there is no text, with this advice.
    pub fn render(&self, hint: &str) -> String {
        let Self { excerpt, also, .. } = self;
        // The advice begins behind the carets.
        let before = if excerpt.is_empty() { "" } else { " " };
        format!("{self}\n{}{before}hint: {hint}\n{also}", excerpt.trim_end_matches('\n'))
    }

    /// A fault of flags, which is in no text but says which flag it is about.
    pub fn of_flags(fault: Fault) -> Self {
        let bare = |fault: Fault| Self::bare(fault.message, fault.hint);
        fault.elsewhere.clone().map_or_else(|| bare(fault), |elsewhere| *elsewhere)
    }
}

impl SourceText {
    /// A file's text.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), is_file: true }
    }

    /// A command-line argument's text.
    pub fn argument(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), is_file: false }
    }

    /// Reads a file; a file that cannot be read, or is no text, is bad input.
    pub fn read(path: &std::path::Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        match files::text(path) {
            Ok(text) => Ok(Self::file(name, text)),
            Err(cause) => Err(ConfigError::bare(
                format!("read {name}: {}", plain(&cause)),
                "paths are relative to the file that names them, or to the working directory",
            )),
        }
    }

    /// Turns byte offsets into an error that shows the place.
    pub fn locate(&self, fault: Fault) -> ConfigError {
        if let Some(elsewhere) = fault.elsewhere {
            return *elsewhere;
        }
        let (message, hint) = (fault.message, fault.hint);
        ConfigError { message, hint, ..self.shown(&fault.span) }
    }

    /// Finds the line and the column of a place, and shows them.
    fn shown(&self, span: &Range<usize>) -> ConfigError {
        let start = floor_char(&self.text, span.start.min(self.text.len()));
        let end = floor_char(&self.text, span.end.clamp(start, self.text.len()));
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let number = self.text[..start].matches('\n').count() + 1;
        // A tab would make the caret drift, whatever width the terminal gives it.
        let line = self.text[line_start..line_end].trim_end_matches('\r').replace('\t', " ");
        let column = self.text[line_start..start].chars().count() + 1;
        let width = self.text[start..end.min(line_end)].chars().count().max(1);
        let (line, caret, width) = window(&line, column - 1, width);

        let place = if self.is_file {
            format!("{}:{number}:{column}", self.name)
        } else {
            self.name.clone()
        };
        let [indent, carets] = [(" ", caret), ("^", width)].map(|(text, times)| text.repeat(times));
        let margin = " ".repeat(number.to_string().len());
        let excerpt = format!("{number} | {line}\n{margin} | {indent}{carets}\n");
        ConfigError { place, excerpt, ..ConfigError::default() }
    }
}

/// Cuts a line to what a screen shows around `caret`; returns the caret's place in that, and how
/// wide it may be.
fn window(line: &str, caret: usize, width: usize) -> (String, usize, usize) {
    if line.chars().count() <= WIDEST {
        return (line.to_owned(), caret, width);
    }
    let from = caret.saturating_sub(WIDEST / 2);
    let shown: String = line.chars().skip(from).take(WIDEST).collect();
    let before = if from > 0 { "…" } else { "" };
    let caret = caret - from + before.chars().count();
    (format!("{before}{shown}…"), caret, width.min(WIDEST + 1 - caret.min(WIDEST)))
}

/// The kernel's words without the error number, in lower case.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
