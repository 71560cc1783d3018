//! The imported figures on a page: one table, each row with its tool, its case and its doubts.
//!
//! Never draws a plot: a tool's few points are no distribution.

use std::collections::BTreeSet;

use page::{Answer, Block, Cell, Headline, Listing, words};

use super::finding::{Entry, ImportedFinding};
use crate::study::view::{Finding, StudyPage, Topic};

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
            .samples("samples", |entry| vec![&entry.value])
            .limit(|entry| vec![&entry.value])
            .table();
        StudyPage::new("imported", "Imported", vec![Block::Table(table)])
            .with_answers(Topic::Imported, [answer(self)])
    }
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
        .asked(format!("Imported {by}"))
}
