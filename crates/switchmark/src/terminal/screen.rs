//! The terminal itself: its width, and whether it can be written over or has colours.
//!
//! Owns what is asked of the kernel and of the environment. Never writes anything.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use clap::ValueEnum;
use render::Screen;
use terminal_size::{Width, terminal_size_of};

/// Limits of a table's width: at least so many columns, and no more than eyes follow.
const NARROWEST: usize = 60;
const WIDEST: usize = 200;

/// Use of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Sets the use of colours for as long as the program runs.
pub fn colour(when: Colour) {
    let _ = COLOUR.set(when);
}

static FULL: OnceLock<()> = OnceLock::new();

/// Shows all tables and caveats for as long as the program runs.
pub fn show_all() {
    let _ = FULL.set(());
}

/// Returns the width, colours and detail of a text on stdout.
pub fn screen() -> Screen {
    Screen { columns: columns(), coloured: is_coloured(), full: is_full() }
}

/// True if all tables and caveats are shown.
pub fn is_full() -> bool {
    FULL.get().is_some()
}

/// Words in lines of the screen's width, those after the first indented as far as `lead` reaches.
pub fn wrapped(lead: &str, text: &str) -> String {
    let mut out = String::new();
    render::text::put_wrapped(&mut out, screen(), lead, text);
    out
}

fn is_coloured() -> bool {
    match COLOUR.get().copied().unwrap_or_default() {
        Colour::Always => true,
        Colour::Never => false,
        // https://no-color.org: any value but an empty one.
        Colour::Auto => {
            let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            std::io::stdout().is_terminal() && !is_dumb() && !refused
        }
    }
}

/// Returns the width: `COLUMNS`, even without a terminal, or else the terminal's own.
fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let own = || terminal_size_of(std::io::stdout()).map(|(Width(width), _)| usize::from(width));
    said.filter(|columns| *columns > 0)
        .or_else(own)
        .unwrap_or(Screen::PLAIN.columns)
        .clamp(NARROWEST, WIDEST)
}

/// Returns the width of a line on stderr that is written over.
pub fn line() -> usize {
    terminal_size_of(std::io::stderr()).map_or(80, |(Width(width), _)| usize::from(width))
}

/// True if a line on stderr can be written over.
pub fn is_redrawn() -> bool {
    std::io::stderr().is_terminal() && !is_dumb()
}

/// True for editors and logs by their TERM: they show terminal commands as text.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}
