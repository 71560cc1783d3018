//! The conformance lists on the page: every clause, what it asks, what was done, deviations first.
//! The lists themselves are the method's; never weighs a clause.

use method::conformance::{Clause, conformance};
use method::numbered;
use method::study::{ForwardingTest, StudySpec};
use page::{Block, Cell, Section, Style, Table};

use super::ReportInput;
use super::studies::of_number;

/// The sections; none where no test of an RFC was made.
pub(super) fn sections(prefix: &str, run: &ReportInput<'_>) -> Vec<Section> {
    forwarding(prefix, run).into_iter().chain(switching(prefix, run)).collect()
}

fn switching(prefix: &str, run: &ReportInput<'_>) -> Option<Section> {
    let specs = numbered(&run.meta.studies).filter_map(|(place, study)| match study {
        StudySpec::Switching(spec) => Some((place.number, spec)),
        _ => None,
    });
    let mut blocks = Vec::new();
    for (number, spec) in specs {
        let figures = of_number(run.figures, number);
        let clauses = method::conformance::switching(spec, &run.meta.topology, &figures);
        blocks.push(Block::Paragraph(counted(&clauses, "RFC 2889 or RFC 8239")));
        blocks.push(Block::Table(table(clauses)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-switching-conformance"),
        heading: "Conformance to RFC 2889 and RFC 8239".to_owned(),
        blocks,
    })
}

fn forwarding(prefix: &str, run: &ReportInput<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    let specs = numbered(&run.meta.studies).filter_map(|(place, study)| match study {
        StudySpec::Forwarding(spec) => Some((place.number, spec)),
        _ => None,
    });
    let made: Vec<_> =
        specs.filter(|(_, s)| ForwardingTest::RFC2544.iter().any(|test| s.wants(*test))).collect();
    for (number, spec) in &made {
        if made.len() > 1 {
            blocks.push(Block::Subheading(format!("Forwarding, study {number}")));
        }
        let figures = of_number(run.figures, *number);
        let clauses = conformance(spec, &run.meta.topology, &figures);
        blocks.push(Block::Paragraph(counted(&clauses, "RFC 2544")));
        blocks.push(Block::Table(table(clauses)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-conformance"),
        heading: "Conformance to RFC 2544".to_owned(),
        blocks,
    })
}

fn counted(clauses: &[Clause], of: &str) -> String {
    let kept = clauses.iter().filter(|clause| clause.conforms).count();
    format!(
        "Of {} clauses {kept} were kept and {} were not. A figure that leaves this page as a result \
         of {of} has to name the deviations with it.",
        clauses.len(),
        clauses.len() - kept
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
    let caption =
        "Each clause that bears on the tests made, in our words; deviations first.".to_owned();
    Table::new(caption, head).with_rows(rows)
}
