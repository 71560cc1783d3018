//! Output of a finished run: JSON on stdout, or tables, and a report file.
//!
//! Owns which stream gets what. Never computes a figure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use method::acceptance::{Acceptance, Decision};
use method::comparison::Comparable;
use method::run::{self, ReportInput, RunMeta, TrialTotals};
use method::{Conformance, StudySpec, numbered, sizes_in_words};
use page::{Caveat, Document, Figure, Page};
use render::{RunLabels, figures_json};
use trial::Topology;

use super::figures::StudyPages;
use super::options::Data;
use super::{Failure, Outcome, lone};
use crate::config::ConfigError;
use crate::config::source::plain;
use crate::controller::far_journal;
use crate::files;
use crate::speak;
use crate::terminal::screen::{is_full, screen, wrapped};

/// A run that has ended, with everything it showed.
#[derive(Debug)]
pub struct Finished {
    /// Description of the run.
    pub meta: RunMeta,
    /// Figures of the run.
    pub figures: Vec<Figure>,
    /// Parts of the page, one per study, by the study's number.
    pub pages: StudyPages,
    /// Totals of the trials behind the figures.
    pub trials: TrialTotals,
    /// Figures per block of a campaign; `None` for other runs.
    pub comparable: Option<Comparable>,
}

impl Finished {
    /// Returns the input for pages and texts.
    pub fn input(&self) -> ReportInput<'_> {
        let Self { meta, figures, pages, trials, comparable } = self;
        let (claims, comparable) = (&meta.claims, comparable.as_ref());
        ReportInput { meta, figures, claims, pages, trials, comparable }
    }

    /// Returns the run as JSON for scripts.
    pub fn json(&self) -> serde_json::Value {
        let account = self.trials.account();
        let mut object = figures_json(labels(&self.meta), &self.figures, &account);
        if !self.meta.claims.is_empty() {
            object["acceptance"] = Acceptance::of(&self.meta.claims, &self.figures).json();
        }
        if let Some(unread) = self.meta.studies.iter().find_map(StudySpec::unread) {
            object["unread"] = serde_json::json!(unread);
        }
        object
    }
}

/// A run's labels on its rows.
pub fn labels(meta: &RunMeta) -> RunLabels<'_> {
    RunLabels {
        id: &meta.id,
        verb: &meta.verb,
        testbed: &meta.topology.name,
        version: &meta.version,
        created_unix_ns: meta.created_unix_ns,
    }
}

/// The store's path: as given, or in the user's data directory.
pub fn store_path(data: &Data) -> Result<PathBuf, ConfigError> {
    if let Some(path) = &data.store {
        far_journal::refuse_elsewhere(path)?;
        return Ok(path.clone());
    }
    let base = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        // XDG base directory specification: a relative path is invalid and must be ignored.
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    base.map(|base| base.join("switchmark/journal.db")).ok_or_else(|| {
        ConfigError::bare("find the user's data directory", "name the journal with --journal FILE")
    })
}

/// Prints a run's figures and gives the exit code.
pub fn show(run: &Finished, data: &Data) -> Result<Outcome, Failure> {
    if data.json {
        speak::print_json(&run.json())?;
    }
    say(data, &text(run))?;
    Ok(match &run.meta.claims[..] {
        [] => outcome(&run.figures),
        claims => accepted(&Acceptance::of(claims, &run.figures)),
    })
}

/// Worse if a claim is broken; some invalid if one is open and none is broken.
pub fn accepted(acceptance: &Acceptance) -> Outcome {
    match acceptance.overall() {
        Decision::Pass => Outcome::Done,
        Decision::Fail => Outcome::Worse,
        Decision::Inconclusive => Outcome::SomeInvalid,
    }
}

/// Prints a result: as an object if JSON is requested, and as a text behind a head. Writes its page
/// if a file is named.
pub fn publish(
    data: &Data,
    object: impl FnOnce() -> serde_json::Value,
    (head, page): (String, Page),
    report: Option<&Path>,
) -> Result<(), Failure> {
    if data.json {
        speak::print_json(&object())?;
    }
    say(data, &page_text(head, &page))?;
    write_page(data, report, || page.into())
}

/// Prints for people: on stdout, or on stderr if stdout has the data; nothing if quiet as well.
pub fn say(data: &Data, text: &str) -> std::io::Result<()> {
    if data.json && data.quiet {
        Ok(())
    } else if data.json {
        speak::tell(text);
        Ok(())
    } else {
        speak::print(text)
    }
}

/// Returns some invalid if trials failed for good, or the run has no value at all. A figure without
/// a value for another reason, such as a device that cannot be reset, is an answer.
pub fn outcome(figures: &[Figure]) -> Outcome {
    let open = tells_nothing(figures) || figures.iter().any(is_open);
    if open { Outcome::SomeInvalid } else { Outcome::Done }
}

fn tells_nothing(figures: &[Figure]) -> bool {
    let tells = |f: &Figure| f.value.is_some() || f.low.is_some() || f.high.is_some();
    !figures.iter().any(tells)
}

fn is_open(figure: &Figure) -> bool {
    figure.value.is_none() && figure.caveats.contains(&Caveat::NoValidTrial)
}

/// Counts the figures without any valid trial, in one line; `None` if there are none.
pub fn open_in_words(figures: &[Figure]) -> Option<String> {
    if tells_nothing(figures) {
        return Some("Open: no figure has a value.".to_owned());
    }
    let mut open: BTreeMap<String, u32> = BTreeMap::new();
    for figure in figures.iter().filter(|figure| is_open(figure)) {
        let size = figure.frame_size();
        let size = size.map_or_else(String::new, |size| format!(" at {size} octets"));
        *open.entry(format!("{}{size}", figure.metric.as_str())).or_default() += 1;
    }
    let count: u32 = open.values().sum();
    let which: Vec<String> = open.iter().map(|(what, count)| format!("{what} ({count})")).collect();
    let (all, which) = (figures.len(), which.join(", "));
    (count > 0).then(|| {
        format!(
            "Open: {count} of {all} figures have no value, because none of their trials was \
             valid: {which}. They need a machine with less other work."
        )
    })
}

/// Formats the run as text: at a glance, or its description, the meaning of its sizes, and its
/// tables.
pub fn text(run: &Finished) -> String {
    if is_full() { full_text(run) } else { glance(run) }
}

/// Formats the run's heading and number of trials in a line, and the answers.
fn glance(run: &Finished) -> String {
    let account = run.trials.account();
    let trials = account.valid + account.invalid + account.failed;
    let head = format!("{} · {trials} trials", run::heading(&run.meta));
    // Excluded trials are listed after the answers.
    let page = Page { notes: run.meta.notes.clone(), ..run.input().page(1) };
    page_text(wrapped("", &head), &page) + &left_out(run)
}

/// Describes excluded trials and why; if none was valid, names the command that looks for the
/// cause.
fn left_out(run: &Finished) -> String {
    let (account, topology) = (run.trials.account(), &run.meta.topology);
    let mut out = account.in_words().map(|said| said + "\n").unwrap_or_default();
    if account.valid == 0 && account.failed > 0 && !topology.is_simulated() {
        let testbed = &topology.name;
        let _ = writeln!(out, "hint: `switchmark doctor --testbed {testbed}` looks for the cause");
    }
    out
}

fn full_text(run: &Finished) -> String {
    let meta = &run.meta;
    let mut out = format!("run {}  {}  seed {}\n", meta.id, meta.topology.name, meta.seed);
    for note in &meta.notes {
        out += &wrapped("", note);
    }
    let mut explained: Vec<String> = Vec::new();
    for line in meta.studies.iter().flat_map(|study| sizes_in_words(study, &meta.topology)) {
        if !explained.contains(&line) {
            out += &wrapped("", &line);
            explained.push(line);
        }
    }
    out.push('\n');
    out.push_str(&render::text(&run.input().page(1), screen()));
    for (place, study) in numbered(&meta.studies) {
        let own = run.figures.iter().filter(|figure| figure.case.study == place.number);
        out.push_str(&deviations(study, &meta.topology, &own.cloned().collect::<Vec<_>>()));
    }
    out + &left_out(run)
}

/// Lists the clauses of an RFC that were not kept; empty unless the whole of it was requested.
fn deviations(study: &StudySpec, topology: &Topology, figures: &[Figure]) -> String {
    let Some(found) = Conformance::from_study(study, topology, figures).filter(|c| c.is_whole)
    else {
        return String::new();
    };
    let (kept, clauses) = (found.kept(), found.clauses);
    let mut out = format!("Conformance: {kept} of {} clauses kept; not kept:\n", clauses.len());
    for clause in clauses.iter().filter(|clause| !clause.conforms) {
        let text = format!("{}: {}", clause.requirement, clause.done);
        out += &wrapped(&format!("  {:<16}", clause.clause), &text);
    }
    out.push('\n');
    out
}

/// Formats a page as text, behind a head and notes on all that follows.
pub fn page_text(head: String, page: &Page) -> String {
    let notes: String = page.notes.iter().map(|note| wrapped("", note)).collect();
    head + &notes + "\n" + &render::text(page, screen())
}

/// Returns all `runs` as pages.
pub fn document(runs: &[Finished]) -> Document {
    run::document(&runs.iter().map(Finished::input).collect::<Vec<_>>())
}

/// Writes one HTML file for all `runs`, where one is asked for.
pub fn write_report(data: &Data, runs: &[Finished], path: Option<&Path>) -> Result<(), Failure> {
    write_page(data, path, || document(runs))
}

/// Writes the document that `make` makes, where one is asked for, and says where it is.
pub fn write_page(
    data: &Data,
    path: Option<&Path>,
    make: impl FnOnce() -> Document,
) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let html = render::html(make(), lone::unix_ns(Timestamp::now()))?;
    files::write(path, html.as_bytes()).map_err(|cause| {
        let message = format!("write report {}: {}", path.display(), plain(&cause));
        ConfigError::bare(message, "name a writable place; the run itself is kept")
    })?;
    Ok(say(data, &format!("report: {}\n", path.display()))?)
}

/// Checks that a report can be written there, before anything is measured.
pub fn check_report(path: &Path) -> Result<(), ConfigError> {
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if directory.is_dir() && !path.is_dir() {
        return Ok(());
    }
    Err(ConfigError::bare(
        format!("write report {}: no such directory, or a directory itself", path.display()),
        "name a file in a directory that exists",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use page::{Metric, Unit};

    fn figure(value: Option<f64>, caveat: Caveat) -> Figure {
        Figure {
            blocks: 1,
            caveats: vec![caveat],
            ..Figure::new(Metric::Throughput, Unit::FramesPerSecond, value)
        }
    }

    #[test]
    fn a_run_without_any_value_is_no_success() {
        let unknown = || figure(None, Caveat::MediaRateUnknown);
        let told = || figure(Some(1.0), Caveat::QuickProfile);
        let bounded = || Figure { high: Some(1.0), ..figure(None, Caveat::Irregular) };
        for (figures, ends) in [
            (vec![], Outcome::SomeInvalid),
            (vec![unknown()], Outcome::SomeInvalid),
            (vec![unknown(), told()], Outcome::Done),
            (vec![bounded()], Outcome::Done),
            (vec![told(), figure(None, Caveat::NoValidTrial)], Outcome::SomeInvalid),
        ] {
            assert_eq!(outcome(&figures), ends, "{figures:?}");
        }
    }
}
