//! Run as a page: its studies' answers, plots and tables, followed by the conditions.
//!
//! Everything on it was measured: selects and words, and computes nothing but sums.

use std::collections::BTreeSet;

use page::{Document, Found, Page, Shared, words};

use super::{
    ReportInput, RunMeta, TrialAccount, TrialTotals, books, caveats, conditions, conformance,
    devices, picture, studies, trials,
};
use crate::acceptance::Acceptance;
use crate::campaign;

/// Sentences about lost frames, one per device with counters.
pub fn loss_sentences(trials: &TrialTotals) -> Vec<String> {
    books::sentences(&trials.books)
}

/// Document of all `runs`, one page each.
pub fn document(runs: &[ReportInput<'_>]) -> Document {
    let verbs: BTreeSet<&str> = runs.iter().map(|run| run.meta.verb.as_str()).collect();
    let title = match (runs, verbs.first()) {
        ([one], _) => title(one),
        (_, Some(verb)) if verbs.len() == 1 => format!("switchmark {verb}: {} runs", runs.len()),
        _ => format!("switchmark: {} runs", runs.len()),
    };
    let mut pages: Vec<Page> = runs.iter().zip(1..).map(|(run, number)| run.page(number)).collect();
    if runs.len() > 1 {
        for ((page, run), number) in pages.iter_mut().zip(runs).zip(1..) {
            page.heading = format!("{number}. {}", among_others(run.meta));
        }
    }
    Document { title, pages, ..Document::default() }
}

/// Title of a run's page: what was found, then the study and the testbed.
fn title(run: &ReportInput<'_>) -> String {
    let heading = heading(run.meta);
    run.found()
        .map_or_else(|| format!("switchmark: {heading}"), |found| format!("{found} · {heading}"))
}

/// Heading with study and testbed: `latency on lab:bridge`.
pub fn heading(meta: &RunMeta) -> String {
    if meta.is_import() {
        // An import's testbed is named after the imported file.
        return words::capital(&meta.topology.name);
    }
    format!("{} on {}", meta.verb, meta.topology.name)
}

/// Heading by studies instead of the verb: runs of one demo share their verb.
fn among_others(meta: &RunMeta) -> String {
    let studies = meta.study_names();
    if studies.is_empty() || meta.is_import() {
        return heading(meta);
    }
    format!("{studies} on {}", meta.topology.name)
}

impl ReportInput<'_> {
    /// First answer of the run's page; `None` if it has none, or only sentences.
    pub fn found(&self) -> Option<Found> {
        let mut answers = Vec::new();
        if !self.claims.is_empty() {
            answers.extend(Acceptance::from_figures(self.claims, self.figures).answers());
        }
        answers.extend(studies::answers(self));
        Found::from_answers(&answers).or_else(|| {
            let told = campaign::report("run", self.meta, self.figures, self.comparable)?;
            Found::from_answers(&told.answers)
        })
    }

    /// Builds the run's page, number `number` of its document.
    pub fn page(&self, number: usize) -> Page {
        let anchor = format!("run{number}");
        let Self { meta, figures, claims, trials, .. } = *self;
        let account = trials.account();
        let mut page = Page {
            heading: heading(meta),
            line: format!(
                "{} · {} · run {} · switchmark {}",
                heading(meta),
                words::moment(meta.created_unix_ns),
                meta.id,
                meta.version
            ),
            notes: meta.notes.iter().cloned().chain(left_out(&account)).collect(),
            picture: picture(&meta.topology),
            shared: Shared::from_figures(figures),
            ..Page::default()
        };
        if !claims.is_empty() {
            let held = Acceptance::from_figures(claims, figures);
            page.answers.extend(held.answers());
            page.sections.push(held.section(&anchor));
        }
        page.answers.extend(studies::answers(self));
        if figures.is_empty() {
            page.notes.push(NO_FIGURE.to_owned());
        }
        self.add_sections(&mut page, &anchor);
        if let Some(found) = Found::from_answers(&page.answers) {
            page.heading = found.to_string();
        }
        page.background.extend(devices::section(&anchor, &trials.devices));
        page.background.extend(caveats::section(&anchor, figures));
        page.background.extend(trials::section(&anchor, &trials.sums, &account));
        page.background.push(conditions::section(&anchor, meta, &trials.ran));
        page.background.extend(conditions::every_figure(&anchor, figures));
        page.id = anchor;
        page
    }

    /// Adds the results of the campaign or of each study, and the places of frame loss.
    fn add_sections(&self, page: &mut Page, anchor: &str) {
        if let Some(told) = campaign::report(anchor, self.meta, self.figures, self.comparable) {
            page.answers.extend(told.answers);
            page.sections.extend(told.sections);
        } else {
            page.sections.extend(studies::sections(anchor, self));
            page.background.extend(conformance::sections(anchor, self));
        }
        if let Some((said, section)) = books::report_losses(anchor, &self.trials.books) {
            // A lab's own devices go to the background.
            let place = if said.is_empty() { &mut page.background } else { &mut page.sections };
            place.push(section);
            page.answers.extend(said);
        }
    }
}

const NO_FIGURE: &str =
    "There is no figure to state: no study finished with a valid trial. The trials below say why.";

/// Reasons against trials, if so many are unusable that a reader should know at once; otherwise
/// `None`.
fn left_out(account: &TrialAccount) -> Option<String> {
    let many = account.failed > 0 || account.valid < account.invalid;
    account.describe_unusable().filter(|_| many)
}
