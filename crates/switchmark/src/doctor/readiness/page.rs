//! The page of the readiness checks: hosts that differ from the others, then what is wrong, each
//! with its fix. Never judges.

use page::{Answer, Block, Cell, Listing, Page, Section, Style, Table};

use super::{Checked, Finding, State};
use crate::doctor::outliers;

/// The differences among the hosts, and every finding, in a table for each state.
pub fn page(testbed: &str, checked: &Checked) -> Page {
    let Checked { findings, differences } = checked;
    let having = |state| findings.iter().filter(move |finding| finding.state == state);
    let [bad, doubtful, unknown] =
        [State::Bad, State::Doubtful, State::Unknown].map(|state| having(state).count());
    let checks = findings.len();
    let counted = format!(
        "{testbed}: {checks} checks: {bad} bad, {doubtful} doubtful, {unknown} without an answer"
    );
    let tables = [
        ("Bad: it spoils figures", State::Bad),
        ("Doubtful: it may cost precision", State::Doubtful),
        ("Not reported by the kernel", State::Unknown),
        ("Good", State::Good),
    ];
    let tables =
        tables.into_iter().filter_map(|(title, state)| table(title, having(state)).unless_empty());
    let checks = Section {
        id: "checks".to_owned(),
        heading: "Checks".to_owned(),
        blocks: outliers::table(differences).into_iter().chain(tables).map(Block::Table).collect(),
    };
    let heading = "Readiness of the hosts".to_owned();
    let mut answers = vec![Answer::new(counted)];
    answers.extend(outliers::sentences(differences).into_iter().map(Answer::new));
    Page { heading, answers, sections: vec![checks], ..Page::default() }
}

fn table<'a>(title: &str, findings: impl Iterator<Item = &'a Finding>) -> Table {
    Listing::new(title, findings)
        .column("place", |finding| Cell::path(&finding.place))
        .column("check", |finding| Cell::text(finding.check))
        .column("found", |finding| {
            let fix = finding.fix.as_ref().filter(|_| finding.state > State::Unknown);
            let fix = fix.map_or_else(String::new, |fix| format!("fix: {fix}"));
            Cell::text(&finding.found).with_note(fix).with_style(Style::Long)
        })
        .table()
}
