//! The report: one HTML file that holds a run's answers, plots, tables and conditions.
//!
//! It asks nothing of the network, reads without scripts and prints; a short script only shows
//! values under the pointer sooner. What stands in it was measured: this module selects and words,
//! and computes nothing but merged histograms, sums and rates in other conventions.

pub mod acceptance;
mod books;
mod campaign;
mod caveats;
pub mod comparison;
mod conditions;
mod conformance;
mod devices;
mod html;
pub mod picture;
pub mod prove;
mod studies;
pub mod sweep;
mod totals;
pub mod trend;
mod trials;
mod variance;
pub mod watch;

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use crate::accounting::TrialAccount;
use crate::moment;
use crate::run::RunMeta;
use crate::text;
use crate::text::Screen;
use method::StudySpec;
use method::acceptance::Acceptance;
use method::comparison::Comparable;
use method::study::StudyPage;
use page::words;
use page::{Answer, Figure, Page, Section};

pub use html::{Preface, ReportError};
pub use totals::TrialTotals;

/// What the report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The run.
    pub meta: &'a RunMeta,
    /// Its figures.
    pub figures: &'a [Figure],
    /// What its studies show of what they found, by their numbers.
    pub pages: &'a [(NonZeroU16, StudyPage)],
    /// What its trials come to.
    pub trials: &'a TrialTotals,
    /// Of a campaign: its figures block by block, where they can be told.
    pub comparable: Option<&'a Comparable>,
}

/// Where the frames died that devices lost, a sentence a device that counts.
pub fn books(trials: &TrialTotals) -> Vec<String> {
    books::sentences(&trials.books)
}

/// One self-contained HTML file for all `runs`. `generated_unix_ns` is the caller's wall clock.
pub fn render(runs: &[ReportInput<'_>], generated_unix_ns: u64) -> Result<String, ReportError> {
    let verbs: BTreeSet<&str> = runs.iter().map(|run| run.meta.verb.as_str()).collect();
    let title = match (runs, verbs.first()) {
        ([one], _) => format!("switchmark: {}", heading(one.meta)),
        (_, Some(verb)) if verbs.len() == 1 => format!("switchmark {verb}: {} runs", runs.len()),
        _ => format!("switchmark: {} runs", runs.len()),
    };
    render_behind(Preface { title, blocks: Vec::new() }, runs, generated_unix_ns)
}

/// The same behind what is known of all of them.
pub fn render_behind(
    preface: Preface,
    runs: &[ReportInput<'_>],
    generated_unix_ns: u64,
) -> Result<String, ReportError> {
    let mut pages: Vec<Page> = (0..).zip(runs).map(|(at, run)| page_of(at, run)).collect();
    if runs.len() > 1 {
        for ((page, run), number) in pages.iter_mut().zip(runs).zip(1..) {
            page.heading = format!("{number}. {}", among_others(run.meta));
        }
    }
    html::render_all(preface, (None, pages), generated_unix_ns)
}

/// `latency on lab:bridge`
fn heading(meta: &RunMeta) -> String {
    match meta.verb.as_str() {
        // The testbed is called by what was imported.
        "import" => words::capital(&meta.topology.name),
        verb => format!("{verb} on {}", meta.topology.name),
    }
}

/// By its studies: runs of one demo share their verb.
fn among_others(meta: &RunMeta) -> String {
    let mut studies: Vec<&str> = meta.studies.iter().map(StudySpec::name).collect();
    studies.dedup();
    if studies.is_empty() || meta.verb == "import" {
        return heading(meta);
    }
    format!("{} on {}", studies.join(", "), meta.topology.name)
}

/// The same as text, at most 100 columns wide: the answers, the studies' tables, the caveats as
/// footnotes. Empty where there is no figure.
pub fn text(run: &ReportInput<'_>, screen: Screen) -> String {
    let mut answers = claims(run).map(|held| acceptance::answers(&held)).unwrap_or_default();
    answers.extend(studies::answers(run));
    let sections = if let Some(told) = campaign::told("", run) {
        answers.extend(told.answers);
        told.sections
    } else {
        // Trials make pictures, and text has none.
        studies::sections("", &ReportInput { trials: &TrialTotals::default(), ..*run })
    };
    // Of a lab's own devices the page has it.
    let books = books::told("", &run.trials.books).filter(|(said, _)| !said.is_empty());
    let sections: Vec<Section> = match books {
        Some((said, section)) => {
            answers.extend(said);
            sections.into_iter().chain([section]).collect()
        }
        None => sections,
    };
    text::told(&answers, &sections, run.figures, screen)
}

/// What is claimed of the device, held against the figures, where anything is.
fn claims(run: &ReportInput<'_>) -> Option<Acceptance> {
    let claims = &run.meta.claims;
    (!claims.is_empty()).then(|| Acceptance::of(claims, run.figures))
}

fn page_of(index: usize, run: &ReportInput<'_>) -> Page {
    let anchor = format!("run{}", index + 1);
    let meta = run.meta;
    let mut sections = Vec::new();
    let mut answers = Vec::new();
    // Where accept shows its claims before its runs, they are not shown twice.
    if let Some(held) = claims(run).filter(|_| meta.verb != acceptance::VERB) {
        answers.extend(acceptance::answers(&held));
        sections.push(acceptance::section(&anchor, &held));
    }
    answers.extend(studies::answers(run));
    if run.figures.is_empty() {
        answers.push(Answer::new(NO_FIGURE));
    }
    if let Some(told) = campaign::told(&anchor, run) {
        answers.extend(told.answers);
        sections.extend(told.sections);
    } else {
        sections.extend(studies::sections(&anchor, run));
        sections.extend(conformance::sections(&anchor, run));
    }
    if let Some((said, section)) = books::told(&anchor, &run.trials.books) {
        answers.extend(said);
        sections.push(section);
    }
    sections.extend(devices::section(&anchor, &run.trials.devices));
    sections.extend(caveats::section(&anchor, run.figures));
    let account = run.trials.account();
    sections.extend(trials::section(&anchor, &run.trials.sums, &account));
    sections.push(conditions::section(&anchor, run));
    sections.extend(conditions::every_figure(&anchor, run.figures));
    Page {
        heading: heading(meta),
        line: format!(
            "Run {}, {}, switchmark {}",
            meta.id,
            moment::moment(meta.created_unix_ns),
            meta.version
        ),
        notes: meta.notes.iter().cloned().chain(left_out(&account)).collect(),
        answers,
        picture: picture::picture(&meta.topology),
        sections,
        id: anchor,
    }
}

const NO_FIGURE: &str =
    "There is no figure to state: no study finished with a valid trial. The trials below say why.";

/// Why trials were left out, where so many were that a reader should know at once.
fn left_out(account: &TrialAccount) -> Option<String> {
    let many = account.failed > 0 || account.valid < account.invalid;
    account.in_words().filter(|_| many)
}
