//! Page of the imported figures: one table, each row with its tool, case, source lines and caveats;
//! and the lines that were not read.
//!
//! Never draws a plot: a tool's few points are no distribution.

use std::collections::BTreeSet;

use page::{Answer, Block, Cell, Headline, Listing, UnreadLine, words};

use super::finding::{Entry, ImportedFinding};
use crate::view::{Finding, StudyPage, Topic};

impl Finding for ImportedFinding {
    fn page(&self) -> StudyPage {
        if self.entries.is_empty() {
            return StudyPage::default();
        }
        let table = Listing::new("What other tools measured", &self.entries)
            .column("tool", |entry| Cell::text(&entry.tool).with_note(&entry.source))
            .column("through", |entry| Cell::text(&entry.device))
            .column("figure", |Entry { value, .. }| {
                let quantile = value.quantile.map(|q| format!(" {}", words::quantile(q)));
                Cell::text(value.metric.as_str().to_owned() + &quantile.unwrap_or_default())
            })
            .column("of", |entry| Cell::text(&entry.case))
            .value("value", |entry| &entry.value)
            .column("lines", |entry| Cell::number(&entry.lines))
            .samples("samples", |entry| vec![&entry.value])
            .limit(|entry| vec![&entry.value])
            .table();
        let mut blocks = vec![Block::Table(table)];
        blocks.extend(unread(&self.unread));
        StudyPage::new("imported", "Imported", blocks).with_answers(Topic::Imported, [answer(self)])
    }
}

/// Lists the lines that were not read, folded behind their number.
fn unread(lines: &[UnreadLine]) -> Option<Block> {
    let summary = match lines.len() {
        0 => return None,
        1 => "1 line not understood".to_owned(),
        more => format!("{more} lines not understood"),
    };
    let place =
        |line: &&UnreadLine| if line.inside { "inside a result" } else { "between results" };
    let table = Listing::new("Lines not understood", lines)
        .column("file", |line| Cell::path(&line.file))
        .column("line", |line| Cell::number(line.line.to_string()))
        .column("place", move |line| Cell::text(place(line)))
        .column("text", |line| Cell::text(&line.text))
        .table();
    Some(Block::Folded { summary, table })
}

fn answer(found: &ImportedFinding) -> Answer {
    let tools: BTreeSet<&str> = found.entries.iter().map(|entry| entry.tool.as_str()).collect();
    let tools: Vec<&str> = tools.into_iter().filter(|tool| !tool.is_empty()).collect();
    let by = if tools.is_empty() {
        "of another run".to_owned()
    } else {
        format!("by {}", tools.join(", "))
    };
    let count = found.entries.len();
    let figures = if count == 1 { "figure" } else { "figures" };
    let headline = Headline::written(format!("{} {figures}", words::count(count as u64)));
    Answer::new("`compare` holds them against another run's.")
        .with_headline(headline)
        .with_question(format!("Imported {by}"))
}
