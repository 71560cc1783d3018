//! A page as plain text, as wide as the screen it is for: its answers, its tables, and the caveats
//! as footnotes.
//!
//! Draws any page and knows no study. Pictures, notes and glossaries are a page's alone.

mod glance;
mod grid;
mod notes;
mod paint;
mod short;
mod table;

use std::fmt::Write as _;

use page::{Answer, Block, Page, Reply, Shared, Table, Tone, Verdict};

pub use paint::PAINTS;

use grid::Grid;
use notes::Footnotes;
use paint::{painted, unpainted};

/// Width, colours and detail of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Widest line, in characters.
    pub columns: usize,
    /// True if answers have colours.
    pub coloured: bool,
    /// True if all tables and caveats are shown, not the answers alone.
    pub full: bool,
}

impl Screen {
    /// A file, or a pipe.
    pub const PLAIN: Self = Self { columns: 100, coloured: false, full: true };
    /// Sentences are not set wider: eyes lose the line.
    const PROSE: usize = 120;
}

/// Formats a page at a glance, or in full: its answers, each behind its reply and its verdict; the
/// open tables of findings, each under its title; the caveats. A page whose answers are sentences
/// alone shows its tables, at a glance their first rows.
pub fn text(page: &Page, screen: Screen) -> String {
    if !screen.full && page.answers.iter().any(|answer| answer.in_short().is_some()) {
        return glance::glance(page, screen);
    }
    let mut out = sentences(page, screen);
    if !screen.full {
        let footer = glance::footer(page, screen);
        let taken = page.notes.len() + out.lines().count() + footer.lines().count();
        return out + &short::tables(page, screen, glance::LINES.saturating_sub(taken)) + &footer;
    }
    let mut notes = Footnotes::new(&page.shared);
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        if let Block::Table(table) = block {
            put_table(&mut out, screen, table, &mut notes);
        }
    }
    out.push_str(&notes.render(screen));
    out
}

/// Formats the answers in full.
fn sentences(page: &Page, screen: Screen) -> String {
    let mut out = String::new();
    let leads = Leads::from_answers(&page.answers);
    for answer in &page.answers {
        let text = arrows(&in_full(answer));
        put_wrapped(&mut out, screen, &leads.lead(answer, screen), text.trim_start());
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Removes colours, and replaces arrows that not every terminal has.
fn arrows(text: &str) -> String {
    unpainted(text).replace('→', "->")
}

/// The question with its case, the number with its interval, and the sentence: `Added latency, UDP
/// 64, idle: +7.16 µs [7.151, 7.160].`
fn in_full(answer: &Answer) -> String {
    let after = if answer.question.ends_with('?') { " " } else { ", " };
    let subject = join(&[&answer.question, &answer.case], after);
    let number = answer.headline.as_ref().map_or_else(String::new, |headline| {
        join(&[&headline.value, &headline.interval], " ") + "."
    });
    let behind = if number.is_empty() && subject.ends_with('?') { " " } else { ": " };
    let told = join(&[&number, &answer.text], " ");
    join(&[&subject, &told], behind)
}

fn join(parts: &[&str], between: &str) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(between)
}

/// Columns before the sentences, for those replies and verdicts that the answers have.
#[derive(Clone, Copy)]
struct Leads {
    replies: bool,
    limits: bool,
}

impl Leads {
    fn from_answers(answers: &[Answer]) -> Self {
        Self {
            replies: answers.iter().any(|answer| answer.reply.is_some()),
            limits: answers.iter().any(|answer| answer.verdict.is_some()),
        }
    }

    /// The reply, and whose limit the figure shows: a verdict is neither good nor bad, so that only
    /// replies have colours.
    fn lead(self, answer: &Answer, screen: Screen) -> String {
        let in_colour =
            |text: String, paint| if screen.coloured { painted(&text, paint) } else { text };
        let reply = answer.reply.map_or("", Reply::word);
        let tone = match answer.reply.map(Reply::tone) {
            Some(Tone::Good) => paint::GREEN,
            Some(Tone::Bad) => paint::RED,
            _ => paint::BOLD,
        };
        let limit = answer.verdict.map_or("", Verdict::as_str);
        let paint = if self.replies { paint::DIM } else { paint::BOLD };
        let mut lead = String::new();
        if self.replies {
            lead.push_str(&in_colour(format!("{reply:<13}"), tone));
        }
        if self.limits {
            lead.push_str(&in_colour(format!("{limit:<13}"), paint));
        }
        lead
    }
}

/// A table of its own, under its title.
pub fn table(table: &Table, screen: Screen) -> String {
    let mut out = String::new();
    put_table(&mut out, screen, table, &mut Footnotes::new(&Shared::default()));
    out
}

/// One table under its title.
fn put_table(out: &mut String, screen: Screen, table: &Table, notes: &mut Footnotes<'_>) {
    if let Some((title, text)) = table::draw(table, notes, screen.columns) {
        if !title.is_empty() {
            put_wrapped(out, screen, "", &title);
        }
        let _ = writeln!(out, "{text}\n");
    }
}

/// Words in lines of the screen's width, those after the first indented as far as `lead` reaches. A
/// no-break space holds until the lines are made.
pub fn put_wrapped(out: &mut String, screen: Screen, lead: &str, text: &str) {
    let indent = unpainted(lead).chars().count();
    let room = screen.columns.min(Screen::PROSE).saturating_sub(indent);
    for (at, line) in wrap(text, room).into_iter().enumerate() {
        let before = if at == 0 { lead.to_owned() } else { " ".repeat(indent) };
        let _ = writeln!(out, "{before}{}", line.replace('\u{a0}', " "));
    }
}

/// Wraps words into lines of at most `columns` without breaking any; at least one line for each of
/// `text`.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| wrap_line(line, columns)).collect()
}

fn wrap_line(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for (at, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && used + 1 + length > columns {
            lines.push(std::mem::take(&mut line));
            used = 0;
        } else if at > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines.push(line);
    lines
}
