//! The pages that are made here: the list, a run under way, the picking of two, what failed.
//!
//! Owns what the templates are given. Never asks the journal.

use askama::Template;
use jiff::Timestamp;
use journal::{RunStatus, RunSummary};
use page::Tone;

use crate::deeds::Possible;
use crate::list::{Filter, Listed, STATES, state};
use crate::parts::Fields;
use crate::source::{Testbed, Unavailable};

/// Content that every page has around it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    pub(crate) journal: String,
    pub(crate) with_token: bool,
    /// True if actions on runs are allowed.
    pub(crate) with_deeds: bool,
}

#[derive(Template)]
#[template(path = "list.html")]
struct List<'a> {
    journal: &'a str,
    with_token: bool,
    listed: &'a Listed,
    filter: &'a Filter,
    states: [&'static str; 6],
    rows: Vec<Row<'a>>,
    newer: Option<String>,
    older: Option<String>,
}

struct Row<'a> {
    id: &'a str,
    /// Question of the first answer; empty without one.
    question: &'a str,
    /// Answer to it, or what there is in its place.
    found: String,
    /// Class of the answer's tone.
    tone: &'static str,
    began_unix_ns: u64,
    began: String,
    verb: &'a str,
    testbed: &'a str,
    state: &'static str,
    /// Purpose of its own page; `None` if there is only the report.
    page: Option<&'static str>,
    trials: u64,
    /// Trials that do not count: `2 invalid, 1 failed`.
    unusable: String,
    said: String,
}

#[derive(Template)]
#[template(path = "live.html")]
struct Live<'a> {
    journal: &'a str,
    with_token: bool,
    run: &'a str,
    heading: String,
    began: String,
    state: &'static str,
    /// Possible action: its name in an address, and its label on a button.
    deed: Option<(&'static str, &'static str)>,
    is_starting: bool,
    /// True if the page reloads at the run's end, when other actions are possible.
    reloads: bool,
    said: &'a str,
    testbed: &'a Testbed,
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    journal: &'a str,
    with_token: bool,
    wrong: bool,
}

#[derive(Template)]
#[template(path = "compare.html")]
struct Compare<'a> {
    journal: &'a str,
    with_token: bool,
    reference: &'a str,
    subject: &'a str,
    message: &'a str,
    hint: &'a str,
}

#[derive(Template)]
#[template(path = "failed.html")]
struct Failed<'a> {
    journal: &'a str,
    with_token: bool,
    heading: &'a str,
    message: &'a str,
    hint: &'a str,
}

impl Frame {
    pub(crate) fn list(&self, listed: &Listed, filter: &Filter, asked: &Fields) -> String {
        let page = |number: usize| asked.with("page", &number.to_string()).encoded();
        drawn(&List {
            journal: &self.journal,
            with_token: self.with_token,
            listed,
            filter,
            states: STATES,
            rows: listed.runs.iter().map(|run| row(run, self.with_deeds)).collect(),
            newer: (listed.page > 1).then(|| page(listed.page - 1)),
            older: (listed.page < listed.pages).then(|| page(listed.page + 1)),
        })
    }

    pub(crate) fn live(&self, run: &RunSummary, possible: &Possible, testbed: &Testbed) -> String {
        drawn(&Live {
            testbed,
            journal: &self.journal,
            with_token: self.with_token,
            run: &run.id,
            heading: format!("{} on {}", run.verb, run.testbed),
            began: began(run.created_unix_ns),
            state: state(&run.status),
            deed: possible.deed.map(|deed| (deed.as_str(), deed.label())),
            is_starting: possible.is_starting,
            reloads: self.with_deeds && run.status == RunStatus::Running,
            said: possible.said.as_deref().unwrap_or_default(),
        })
    }

    /// Before anybody has logged in, the journal has no name.
    pub(crate) fn login(wrong: bool) -> String {
        drawn(&Login { journal: "switchmark", with_token: false, wrong })
    }

    pub(crate) fn compare(
        &self,
        [reference, subject]: [&str; 2],
        problem: Option<&Unavailable>,
    ) -> String {
        let hint = problem.and_then(|problem| problem.hint.as_deref());
        drawn(&Compare {
            journal: &self.journal,
            with_token: self.with_token,
            reference,
            subject,
            message: problem.map_or("", |problem| &problem.message),
            hint: hint.unwrap_or_default(),
        })
    }

    pub(crate) fn failed(&self, heading: &str, problem: &Unavailable) -> String {
        drawn(&Failed {
            journal: &self.journal,
            with_token: self.with_token,
            heading,
            message: &problem.message,
            hint: problem.hint.as_deref().unwrap_or_default(),
        })
    }
}

fn row(run: &RunSummary, with_deeds: bool) -> Row<'_> {
    let said: Vec<&str> =
        [&run.label, &run.note].into_iter().flatten().map(String::as_str).collect();
    let page = match run.status {
        RunStatus::Running => Some("follow"),
        RunStatus::Interrupted | RunStatus::Died | RunStatus::Failed { .. } if with_deeds => {
            Some("go on?")
        }
        _ => None,
    };
    let unusable = [(run.invalid, "invalid"), (run.failed, "failed")];
    let unusable = unusable.iter().filter(|(n, _)| *n > 0);
    let unusable: Vec<String> = unusable.map(|(n, how)| format!("{n} {how}")).collect();
    Row {
        id: &run.id,
        question: run.found.as_ref().map_or("", |found| &found.question),
        found: run.found.as_ref().map_or_else(|| in_place(run), |found| found.said.clone()),
        tone: tone(run),
        began_unix_ns: run.created_unix_ns,
        began: began(run.created_unix_ns),
        verb: &run.verb,
        testbed: &run.testbed,
        state: state(&run.status),
        page,
        trials: run.trials,
        unusable: unusable.join(", "),
        said: said.join(": "),
    }
}

/// What stands where no answer is known.
fn in_place(run: &RunSummary) -> String {
    match run.status {
        RunStatus::Running => "Under way".to_owned(),
        RunStatus::Died | RunStatus::Interrupted | RunStatus::Failed { .. } => {
            "Broke off".to_owned()
        }
        RunStatus::NoFigures => "No valid trial".to_owned(),
        RunStatus::Done => format!("Report of {}", run.verb),
    }
}

/// Only answers have colours.
fn tone(run: &RunSummary) -> &'static str {
    match run.found.as_ref().map(|found| found.tone) {
        Some(Some(Tone::Good)) => "reply good",
        Some(Some(Tone::Bad)) => "reply bad",
        Some(Some(Tone::Open)) => "reply open",
        Some(None) => "number",
        None => "none",
    }
}

/// `2026-11-21 14:03`
fn began(unix_ns: u64) -> String {
    Timestamp::from_nanosecond(i128::from(unix_ns))
        .map_or_else(|_| String::new(), |moment| moment.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Renders a page; rendering into memory does not fail.
fn drawn(page: &impl Template) -> String {
    page.render().unwrap_or_default()
}
