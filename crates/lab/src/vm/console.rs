//! Output of a machine's console, and of the emulator's standard error.
//!
//! Owns the last lines, kept for error messages, and the detection of a kernel panic. Never prints.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of lines kept, and of characters per line.
const LINES: usize = 12;
const LINE_CHARACTERS: usize = 200;
const PANIC: &str = "Kernel panic";

/// Last lines of output; shared between the reading thread and error messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Console(Arc<Mutex<VecDeque<String>>>);

impl Console {
    /// Reads until the last writer has closed; calls `panicked` with each line that reports a
    /// panic.
    pub fn listen(&self, from: impl Read, mut panicked: impl FnMut(&str)) {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line);
            if let Some(at) = text.find(PANIC) {
                panicked(text[at..].trim_end());
            }
            self.keep(&text);
            line.clear();
        }
    }

    /// Returns the last lines, oldest first, joined into one.
    pub fn last_words(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return "none".to_owned();
        }
        lines.iter().map(String::as_str).collect::<Vec<_>>().join(" / ")
    }

    fn keep(&self, text: &str) {
        let plain: String =
            text.chars().filter(|c| !c.is_control()).take(LINE_CHARACTERS).collect();
        if plain.trim().is_empty() {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(plain.trim().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_a_panic_is_noticed() {
        let console = Console::default();
        assert_eq!(console.last_words(), "none");
        let mut text = (0..100).map(|n| format!("line {n}\r\n\r\n")).collect::<Vec<_>>().concat();
        text.push_str("[ 1.0] Kernel panic - not syncing: no init\r\n\x1b[0mend");
        let mut panics = Vec::new();
        console.listen(text.as_bytes(), |words| panics.push(words.to_owned()));
        let words = console.last_words();
        assert_eq!(panics, ["Kernel panic - not syncing: no init"]);
        assert!(words.starts_with("line 90 / line 91 / "), "{words}");
        assert!(words.ends_with("Kernel panic - not syncing: no init / [0mend"), "{words}");
    }
}
