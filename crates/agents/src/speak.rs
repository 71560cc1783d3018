//! Messages for people on stderr, from any source.
//!
//! Owns two guarantees. Text from elsewhere (a file, a name, another machine's messages) cannot
//! control the terminal: control characters are written as escapes. Writing never panics: if the
//! terminal is closed or nobody reads the pipe, the text is lost, and the caller continues. The
//! standard macros for printing would panic then; this crate does not use them.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Minimum octets that a pipe with space accepts (POSIX's PIPE_BUF is 512, Linux's 4096).
const MOST: usize = 4096;

/// Sequence that erases the current line and returns to its beginning.
const CLEARED: &str = "\r\u{1b}[2K";

/// True if the last text on stderr was a line to be overwritten.
static STANDING: AtomicBool = AtomicBool::new(false);

/// Writes a text to stderr, however long that takes.
pub fn print_stderr(text: &str) {
    clear();
    let _ = io::stderr().lock().write_all(plain(text).as_bytes());
}

/// Writes one line to stderr, cut to what a pipe accepts at once. Never waits.
pub fn speak(words: &str) {
    let words = plain(words);
    let cut = words.floor_char_boundary(MOST - 1 - CLEARED.len());
    let before = if STANDING.swap(false, Ordering::Relaxed) { CLEARED } else { "" };
    without_waiting(&format!("{before}{}\n", &words[..cut]));
}

/// Overwrites the current line on a terminal; the next text of any kind replaces it. Never waits.
pub fn redraw(line: &str, columns: usize) {
    // In the last column some terminals begin the next line.
    let line: String = plain(line).chars().take(columns.saturating_sub(1)).collect();
    STANDING.store(true, Ordering::Relaxed);
    without_waiting(&format!("{CLEARED}{line}"));
}

/// Erases the line that [`redraw`] wrote.
pub fn clear() {
    if STANDING.swap(false, Ordering::Relaxed) {
        without_waiting(CLEARED);
    }
}

fn without_waiting(text: &str) {
    let stderr = io::stderr();
    let mut wait = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let ready = poll(&mut wait, PollTimeout::ZERO).is_ok_and(|count| count > 0)
        && wait[0].revents().is_some_and(|seen| {
            seen.contains(PollFlags::POLLOUT)
                && !seen.intersects(PollFlags::POLLERR | PollFlags::POLLNVAL)
        });
    if ready {
        let _ = nix::unistd::write(&stderr, text.as_bytes());
    }
}

/// Replaces everything that is not plain text by escapes: `\u{1b}`.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.escape_unicode().to_string())
}

/// Replaces characters that would control a terminal by what `written` returns.
pub fn escaped(text: &str, written: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if commands(c) { out.push_str(&written(c)) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// True for control characters, and for those that change the direction of writing and so disguise
/// a line.
fn commands(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        assert_eq!(plain("a\u{1b}]0;PWNED\u{7}b\n"), "a\\u{1b}]0;PWNED\\u{7}b\n");
        assert_eq!(plain("\u{9b}2J \u{202e}"), "\\u{9b}2J \\u{202e}");
        assert_eq!(plain("10 µs, 日本\ta\n"), "10 µs, 日本\ta\n");
    }
}
