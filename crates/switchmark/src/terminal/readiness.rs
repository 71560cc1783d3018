//! What the doctor found, as people read it: what is wrong first, each with its command. Never
//! judges.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cli::{Finding, State};
use crate::protocol::Mended;

/// What killed agents had left changed: what is right again, by host, and what is not.
pub fn restored(mended: &BTreeMap<String, Mended>, left: &[String], devices: &[String]) -> String {
    let mut out = String::new();
    for (host, Mended { restored, left }) in mended {
        for what in restored {
            let _ = writeln!(out, "{host}: put back {what}");
        }
        for what in left {
            let _ = writeln!(out, "{host}: left as it is: {what}");
        }
    }
    if out.is_empty() {
        out.push_str("nothing to put back\n");
    }
    for what in left.iter().chain(devices) {
        let _ = writeln!(out, "not put back: {what}");
    }
    if !left.is_empty() {
        out.push_str(
            "hint: it belongs to another network namespace: name its testbed with --testbed\n",
        );
    }
    out
}

/// All of it.
pub fn render(testbed: &str, findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let mut out = format!(
        "{testbed}: {} checks, {} bad, {} doubtful, {} not told\n",
        findings.len(),
        count(State::Bad),
        count(State::Doubtful),
        count(State::Unknown)
    );
    let width = findings.iter().map(|finding| finding.place.len()).max().unwrap_or(0);
    for (state, title) in [
        (State::Bad, "Bad: it spoils figures"),
        (State::Doubtful, "Doubtful: it may cost precision"),
        (State::Unknown, "Not told by the kernel"),
        (State::Good, "Good"),
    ] {
        let mut these = findings.iter().filter(|finding| finding.state == state).peekable();
        if these.peek().is_some() {
            let _ = writeln!(out, "\n{title}");
        }
        for finding in these {
            let _ = writeln!(
                out,
                "  {:<width$} {:<18} {}",
                finding.place, finding.check, finding.found
            );
            if let Some(fix) = finding.fix.as_ref().filter(|_| state > State::Unknown) {
                let _ = writeln!(out, "  {:<width$} {:<18} fix: {fix}", "", "");
            }
        }
    }
    out
}
