//! Pictures in README.md: what a run prints and its page, of a real run of this version.
//!
//! Owns which run that is and how a terminal is drawn. Needs root or user namespaces for the lab,
//! and chromium for the page. Never touches a page's text.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::steps::{self, root};

/// The run that both pictures show.
const RUN: &[&str] = &[
    "forwarding",
    "--testbed",
    "lab:bridge,rate=100Mbit",
    "--flood",
    "--search",
    "rfc2544",
    "--size",
    "512,1518",
    "-t",
    "0.5",
    "--seed",
    "7",
];

/// The page's part in the picture, in pixels.
const WINDOW: &str = "--window-size=1280,800";

/// Width and height of a letter in the terminal's picture, and the space around the text.
const LETTER: (f64, f64) = (8.43, 19.0);
const MARGIN: f64 = 16.0;

/// Makes `docs/pictures/terminal.svg` and `docs/pictures/page.png`.
pub fn make() -> Result<()> {
    steps::step("build", || {
        steps::run(&mut steps::cargo(&["build", "--release", "--package", "switchmark"]))
    })?;
    let place = root().join("target/pictures");
    fs::create_dir_all(&place).with_context(|| format!("make {}", place.display()))?;
    let pictures = root().join("docs/pictures");
    let page = place.join("page.html");
    steps::step("run", || {
        let ran = Command::new(steps::built()?)
            .args(RUN)
            .arg("--report")
            .arg(&page)
            .env("XDG_DATA_HOME", &place)
            .env("COLUMNS", "80")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .context("start switchmark")?;
        ensure!(ran.status.success(), "the run ended with {}", ran.status);
        let said = String::from_utf8(ran.stdout).context("read what it printed")?;
        // The report's place is this machine's.
        let kept = said.lines().filter(|line| !line.starts_with("report: "));
        let lines: Vec<&str> = kept.collect();
        let drawn = terminal(&format!("switchmark {}", RUN.join(" ")), &lines);
        Ok(fs::write(pictures.join("terminal.svg"), drawn)?)
    })?;
    steps::step("page", || photograph(&page, &pictures.join("page.png"), &place))
}

/// A terminal with a command and what it printed.
fn terminal(command: &str, lines: &[&str]) -> String {
    let prompt = format!("$ {command}");
    let all: Vec<&str> = std::iter::once(&*prompt).chain(lines.iter().copied()).collect();
    let longest = all.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let width = 2.0 * MARGIN + longest as f64 * LETTER.0;
    let height = 2.0 * MARGIN + all.len() as f64 * LETTER.1;
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="What the command prints">
<rect width="100%" height="100%" rx="8" fill="#14181c"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e5e9ed">
"##
    );
    for (at, line) in all.iter().enumerate() {
        let y = MARGIN + (at as f64 + 0.8) * LETTER.1;
        // Several spaces would be drawn as one.
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
        let _ = writeln!(out, r#"<text x="{MARGIN}" y="{y:.1}">{text}</text>"#);
    }
    out + "</g>\n</svg>\n"
}

/// Photographs the first screen of a page.
fn photograph(page: &Path, picture: &Path, place: &Path) -> Result<()> {
    let profile = place.join("profile");
    let mut chromium = Command::new("chromium");
    chromium
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", WINDOW])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(page)
        .stderr(Stdio::null());
    steps::run(&mut chromium)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_each_line_and_escapes_it() {
        let drawn = terminal("x -t 1", &["a < b & c", "  d"]);
        for line in ["$\u{a0}x", "&lt;\u{a0}b\u{a0}&amp;", ">\u{a0}\u{a0}d<"] {
            assert!(drawn.contains(line), "{line} in {drawn}");
        }
        assert_eq!(drawn.matches("<text").count(), 3);
    }
}
