//! A page as plain text, at most 100 columns wide: its answers, its tables, and the caveats as
//! footnotes.
//!
//! Draws any section and knows no study. Pictures, notes and glossaries are a page's alone.

mod grid;
mod notes;
pub mod numbers;
mod table;

use std::fmt::Write as _;

use page::{Answer, Block, Figure, Reply, Section, Table, Verdict};

pub use grid::{Grid, WIDTH};
pub use notes::Footnotes;

/// The answers, each behind its reply and its verdict; the sections' open tables, under their titles;
/// the caveats of these figures.
pub(crate) fn told(answers: &[Answer], sections: &[Section], figures: &[Figure]) -> String {
    let mut notes = Footnotes::of(figures);
    let mut out = String::new();
    let replied = answers.iter().any(|answer| answer.reply.is_some());
    for answer in answers {
        let text = [answer.question.as_str(), &answer.text].join(" ").replace('→', "->");
        put_wrapped(&mut out, &lead(answer, replied), text.trim_start());
    }
    if !out.is_empty() {
        out.push('\n');
    }
    for block in sections.iter().flat_map(|section| &section.blocks) {
        if let Block::Table(table) = block {
            put_table(&mut out, table, &mut notes);
        }
    }
    out.push_str(&notes.render());
    out
}

/// The reply, in a column of its own where some sentence has one, and whose limit the figure shows.
fn lead(answer: &Answer, replied: bool) -> String {
    let reply = answer.reply.map_or("", Reply::word);
    let limit = answer.verdict.map_or("", Verdict::as_str);
    if replied { format!("{reply:<13}{limit:<13}") } else { format!("{limit:<13}") }
}

/// A table of its own, under its title.
pub fn table(table: &Table) -> String {
    let mut out = String::new();
    put_table(&mut out, table, &mut Footnotes::of(&[]));
    out
}

/// One table under its title.
pub(crate) fn put_table(out: &mut String, table: &Table, notes: &mut Footnotes) {
    if let Some((title, text)) = table::draw(table, notes) {
        put_wrapped(out, "", &title);
        let _ = writeln!(out, "{text}\n");
    }
}

/// Words in lines of 100 columns, those after the first indented as far as `lead` reaches. A
/// no-break space holds until the lines are made.
pub fn put_wrapped(out: &mut String, lead: &str, text: &str) {
    let indent = lead.chars().count();
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.replace('\u{a0}', " "));
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.replace('\u{a0}', " "));
}
