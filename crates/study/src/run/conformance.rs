//! Conformance lists on the page: every clause with its requirement and the actual procedure,
//! deviations first. The method makes the lists; never weighs a clause.

use crate::conformance::{Clause, Conformance};
use crate::numbered;
use page::{Block, Cell, Figure, Section, Style, Table};

use super::ReportInput;

/// One section per study; empty if no test of an RFC was made.
pub(super) fn sections(prefix: &str, run: &ReportInput<'_>) -> Vec<Section> {
    let of_study = |(place, study)| {
        let place: crate::StudyPlace = place;
        let own = run.figures.iter().filter(|figure| figure.case.study == place.number);
        let rows: Vec<Figure> = own.cloned().collect();
        let found = Conformance::from_study(study, &run.meta.topology, &rows)?;
        let several = run.meta.studies.len() > 1;
        let number = if several { format!(", study {}", place.number) } else { String::new() };
        Some(Section {
            id: format!("{prefix}-conformance-{}", place.number),
            heading: format!("Conformance to {}{number}", found.rfcs),
            blocks: vec![Block::Paragraph(count_kept(&found)), Block::Table(table(found.clauses))],
        })
    };
    numbered(&run.meta.studies).filter_map(of_study).collect()
}

fn count_kept(found: &Conformance) -> String {
    let (all, kept) = (found.clauses.len(), found.kept());
    format!(
        "{kept} of {all} clauses were kept and {} were not. A figure that leaves this page as a \
         result of {} has to name the deviations with it.",
        all - kept,
        found.rfcs
    )
}

/// In the order of the RFC, deviations first.
fn table(mut clauses: Vec<Clause>) -> Table {
    clauses.sort_by_key(|clause| clause.conforms);
    let row = |clause: Clause| {
        let (kept, style) =
            if clause.conforms { ("conforms", Style::Good) } else { ("deviates", Style::Bad) };
        vec![
            Cell::text(kept).with_style(style),
            Cell::text(clause.clause).with_style(Style::Path),
            Cell::text(clause.requirement).with_style(Style::Long),
            Cell::text(clause.done).with_style(Style::Long),
        ]
    };
    let rows = clauses.into_iter().map(row);
    let head = ["", "clause", "what it asks", "what was done"];
    Table::new("Each clause that bears on the tests made, in our words; deviations first.", head)
        .with_rows(rows)
}
