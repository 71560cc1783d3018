//! Outputs in the pages of docs/: each fenced block that begins with `$ switchmark …` is run again
//! and written anew.
//!
//! Owns which blocks those are and how much of an output is shown. A block below the line `<!-- by
//! hand -->` is left alone: it needs what a page cannot set up, or holds an excerpt that somebody
//! chose. Never decides what a page says.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::pages;
use crate::steps::{self, root};

/// Maximum lines of a block: the rest is cut, and a line says so.
const MOST: usize = 40;
const BY_HAND: &str = "<!-- by hand -->";
const PROMPT: &str = "$ switchmark ";

/// Runs the blocks of these pages, of all where none is named.
pub fn regenerate(named: &[&str]) -> Result<()> {
    steps::step("build", || {
        steps::run(&mut steps::cargo(&["build", "--release", "--package", "switchmark"]))
    })?;
    let pages: Vec<PathBuf> = if named.is_empty() {
        pages::all(&root())?.into_keys().filter(|page| is_ours(page)).collect()
    } else {
        named.iter().map(PathBuf::from).collect()
    };
    // One journal for all: a page may tell of what another measured.
    let place = root().join("target/docs");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    for page in pages {
        let path = root().join(&page);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", page.display()))?;
        let commands = text.lines().filter(|line| line.starts_with(PROMPT)).count();
        if commands > 0 {
            steps::step(&page.display().to_string(), || {
                let written = rewritten(&text, |command| output(command, &place))?;
                Ok(fs::write(&path, written)?)
            })?;
        }
    }
    Ok(())
}

/// An example's outputs stay as they were when it was worked out.
fn is_ours(page: &Path) -> bool {
    page == Path::new("README.md") || page.starts_with("docs")
}

/// The page with what its commands print now.
fn rewritten(text: &str, mut run: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    let mut by_hand = false;
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        // What is written into a file is not shown.
        let is_shown = |line: &&str| line.starts_with(PROMPT) && !line.contains(" > ");
        let begins = line.starts_with("```") && lines.peek().is_some_and(is_shown);
        if begins && !by_hand {
            let mut command = lines.next().unwrap_or_default().to_owned();
            while command.ends_with('\\') {
                command.push('\n');
                command.push_str(lines.next().context("a command that goes on ends")?);
            }
            for old in lines.by_ref() {
                if old.starts_with("```") {
                    break;
                }
            }
            let said = run(&command)?;
            out.extend([&command, "\n", &cut(&said), "```\n"]);
        }
        by_hand = line == BY_HAND || (by_hand && line.is_empty());
    }
    Ok(out)
}

/// Cuts an output to [`MOST`] lines.
fn cut(said: &str) -> String {
    let lines: Vec<&str> = said.trim_end().lines().map(str::trim_end).collect();
    let mut shown = lines.iter().take(MOST).copied().collect::<Vec<_>>();
    if lines.len() > MOST {
        shown.truncate(MOST - 1);
        shown.push("[…]");
    }
    shown.join("\n") + "\n"
}

/// Returns both streams as they came, without the lines of progress.
fn output(command: &str, place: &Path) -> Result<String> {
    let words = command.trim_start_matches("$ switchmark").replace("\\\n", " ");
    let said = place.join("said");
    let file = File::create(&said)?;
    let status = Command::new(steps::built()?)
        .args(words.split_whitespace())
        .current_dir(root())
        .env("XDG_DATA_HOME", place)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .with_context(|| format!("run {command}"))?;
    if status.code().is_none() {
        bail!("{command} ended with {status}");
    }
    let text = fs::read_to_string(&said)?;
    let kept = text.lines().filter(|line| !line.contains(" trials done, "));
    Ok(kept.map(|line| line.to_owned() + "\n").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_program_printed_is_written_anew() {
        let page = "a\n```\n$ switchmark runs \\\n  --json\nold\n```\n<!-- by hand -->\n```\n$ switchmark x\nkept\n```\n```\ncode\n```\n";
        let mut asked = Vec::new();
        let written = rewritten(page, |command| {
            asked.push(command.to_owned());
            Ok((0..50).map(|n| n.to_string()).collect::<Vec<_>>().join("\n"))
        })
        .unwrap();
        assert_eq!(asked, ["$ switchmark runs \\\n  --json"]);
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(lines[..5], ["a", "```", "$ switchmark runs \\", "  --json", "0"]);
        assert_eq!(lines[MOST + 3..MOST + 5], ["[…]", "```"]);
        assert!(written.ends_with("$ switchmark x\nkept\n```\n```\ncode\n```\n"), "{written}");
    }
}
