//! Words for people and programs, on stdout and in colours.
//!
//! Keeps the promises of [`agents::speak`] here too: what comes from elsewhere cannot command the
//! terminal, and speaking never panics; a page is written though `| head` has seen enough of the
//! text. The macros that print panic then; nothing of this crate uses them.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use agents::speak::escaped;
pub use agents::speak::{clear, plain, redraw, speak};
use render::text::PAINTS;
use serde::Serialize;

use crate::terminal::ascii;

/// True if stdout was a pipe whose reader closed it early.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// Prints a text on stdout.
pub fn print(text: &str) -> io::Result<()> {
    clear();
    print_bytes(painted(text).as_bytes())
}

/// Writes octets on stdout as they are. Those that a closed pipe would take are dropped.
pub fn print_bytes(octets: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(octets).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            UNREAD.store(true, Ordering::Relaxed);
            Ok(())
        }
        written => written,
    }
}

/// True if any output was dropped.
pub fn is_unread() -> bool {
    UNREAD.load(Ordering::Relaxed)
}

/// Prints an object on stdout, as JSON that people can read.
pub fn print_json(object: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(object)?;
    // Outside of strings JSON has no such characters.
    if let Cow::Owned(escaped) = escaped(&text, |c| format!("\\u{:04x}", u32::from(c))) {
        text = escaped;
    }
    text.push('\n');
    // At once: a reader may have seen enough before the last line.
    print_bytes(text.as_bytes())
}

/// Writes a text on stderr, however long it and the reader take.
pub fn print_stderr(text: &str) {
    clear();
    let _ = io::stderr().lock().write_all(painted(text).as_bytes());
}

/// Makes a text safe for a terminal, except for the few colours that a text of ours may have.
fn painted(text: &str) -> String {
    let text = &*ascii::for_locale(text);
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    let next =
        |rest: &str| PAINTS.iter().filter_map(|paint| Some((rest.find(paint)?, *paint))).min();
    while let Some((at, paint)) = next(rest) {
        out.push_str(&plain(&rest[..at]));
        out.push_str(paint);
        rest = &rest[at + paint.len()..];
    }
    out.push_str(&plain(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        assert_eq!(
            painted("\u{1b}[1mlink\u{1b}[0m \u{1b}[2J"),
            "\u{1b}[1mlink\u{1b}[0m \\u{1b}[2J"
        );
    }
}
