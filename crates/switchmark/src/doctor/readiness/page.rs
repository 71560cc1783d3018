//! The page of the readiness checks: what is wrong first, each with its fix. Never judges.

use page::{Answer, Block, Cell, Listing, Page, Section, Style, Table};

use super::{Finding, State};

/// Every finding, in a table for each state.
pub fn page(testbed: &str, findings: &[Finding]) -> Page {
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
        blocks: tables.map(Block::Table).collect(),
    };
    let heading = "Readiness of the hosts".to_owned();
    Page { heading, answers: vec![Answer::new(counted)], sections: vec![checks], ..Page::default() }
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
