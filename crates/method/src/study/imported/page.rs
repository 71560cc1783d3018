//! The imported figures on a page: one table, each row with its tool, its case and its doubts.
//!
//! Never draws a plot: a tool's few points are no distribution.

use std::collections::BTreeSet;

use page::{Answer, Block, Cell, Figure, Table, words};

use super::finding::{Entry, ImportedFinding};
use crate::study::view::{Finding, StudyPage, Topic};

impl Finding for ImportedFinding {
    fn values(&mut self) -> Vec<&mut Figure> {
        self.values_mut()
    }

    fn page(&self) -> StudyPage {
        page(self)
    }
}

fn page(found: &ImportedFinding) -> StudyPage {
    if found.entries.is_empty() {
        return StudyPage::default();
    }
    let head = ["tool", "through", "figure", "of", "value", "samples", "limited by"];
    let rows = found.entries.iter().map(row);
    let table = Table::new("What other tools measured", head).with_rows(rows);
    StudyPage::new("imported", "Imported", vec![Block::Table(table)])
        .with_answers(Topic::Imported, [answer(found)])
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
    Answer::new(format!(
        "{} {figures} {by}, each with what its source leaves open. `compare` holds them against another run's.",
        words::count(count as u64)
    ))
}

fn row(entry: &Entry) -> Vec<Cell> {
    let value = &entry.value;
    let quantile = value.quantile.map_or_else(String::new, |q| format!(" {}", words::quantile(q)));
    vec![
        Cell::text(&entry.tool).with_note(&entry.source),
        Cell::text(&entry.device),
        Cell::text(format!("{}{quantile}", value.metric.as_str())),
        Cell::text(&entry.case),
        Cell::value(value),
        Cell::samples(&[value]),
        Cell::limit(&[value]),
    ]
}
