//! Words for people on stderr, from wherever they come.
//!
//! Owns two promises. What comes from elsewhere (a file, a name, another machine's words) can't
//! command the terminal: whatever is not text is written out. And speaking never panics: a terminal
//! that was closed and a pipe that nobody reads lose the words, and what the speaker does is done
//! whether anybody hears of it. The macros that print panic then; nothing of this crate uses them.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A pipe that has room has it for this many octets at least (POSIX's PIPE_BUF is 512, Linux's
/// 4096).
const MOST: usize = 4096;

/// Takes back the line that stands there, to the beginning of it.
const CLEARED: &str = "\r\u{1b}[2K";

/// Whether the last words on stderr were a line that is to be written over.
static STANDING: AtomicBool = AtomicBool::new(false);

/// Writes a text on stderr, however long it and the reader take.
pub fn tell(text: &str) {
    clear();
    let _ = io::stderr().lock().write_all(plain(text).as_bytes());
}

/// Says one line on stderr, cut to what a pipe takes at once, and never waits.
pub fn speak(words: &str) {
    let words = plain(words);
    let cut = words.floor_char_boundary(MOST - 1 - CLEARED.len());
    let before = if STANDING.swap(false, Ordering::Relaxed) { CLEARED } else { "" };
    without_waiting(&format!("{before}{}\n", &words[..cut]));
}

/// Writes a line over the one that stands there, on a terminal that can; the next words of any kind
/// take its place. Never waits.
pub fn redraw(line: &str, columns: usize) {
    // In the last column some terminals begin the next line.
    let line: String = plain(line).chars().take(columns.saturating_sub(1)).collect();
    STANDING.store(true, Ordering::Relaxed);
    without_waiting(&format!("{CLEARED}{line}"));
}

/// Takes back what [`redraw`] wrote.
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

/// The text with whatever is none written out: `\u{1b}`.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.escape_unicode().to_string())
}

/// The text with what would command a terminal as `written` has it.
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

/// Control characters, and those that turn the direction of writing, so that a line reads as
/// another.
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
