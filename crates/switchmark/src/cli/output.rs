//! Output of a finished run: JSON on stdout, or tables, and a report file.
//!
//! Owns which stream gets what. Never computes a figure.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use page::{Caveat, Document, Figure, Page};
use render::{RunLabels, figures_json};
use study::acceptance::{Acceptance, Decision};
use study::comparison::Comparable;
use study::run::{self, ReportInput, RunMeta, TrialAccount, TrialTotals};
use study::{Conformance, StudySpec, numbered, sizes_in_words};
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
            object["acceptance"] =
                Acceptance::from_figures(&self.meta.claims, &self.figures).json();
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
    print_text(data, &text(run))?;
    Ok(match &run.meta.claims[..] {
        [] => outcome(&run.figures, &run.trials.account()),
        claims => accepted(&Acceptance::from_figures(claims, &run.figures)),
    })
}

/// Worse where a claim is broken; open where one is undecided and none is broken.
pub fn accepted(acceptance: &Acceptance) -> Outcome {
    let counts = acceptance.counts_in_words();
    match acceptance.overall() {
        Decision::Pass => Outcome::Done,
        Decision::Fail => Outcome::Worse(counts),
        Decision::Inconclusive => {
            Outcome::Open(format!("{counts} More or longer repetitions may decide."))
        }
    }
}

/// Prints a result: as an object if JSON is requested, and as a text behind a head. Writes its page
/// if a file is named.
pub fn publish(
    data: &Data,
    object: impl FnOnce() -> serde_json::Value,
    head: String,
    page: Page,
    report: Option<&Path>,
) -> Result<(), Failure> {
    if data.json {
        speak::print_json(&object())?;
    }
    print_text(data, &page_text(head, &page))?;
    write_page(data, report, || page.into())
}

/// Prints for people: on stdout, or on stderr if stdout has the data; nothing if quiet as well.
pub fn print_text(data: &Data, text: &str) -> std::io::Result<()> {
    if data.json && data.quiet {
        Ok(())
    } else if data.json {
        speak::print_stderr(text);
        Ok(())
    } else {
        speak::print(text)
    }
}

/// Returns open if a figure has no value because no trial of it was valid, or if no figure has one.
/// A figure may lack a value for other reasons, such as a device that cannot be reset: those are
/// answers.
pub fn outcome(figures: &[Figure], account: &TrialAccount) -> Outcome {
    if tells_nothing(figures) {
        let line = "Open: no figure has a value. `switchmark doctor` looks for the cause.";
        return Outcome::Open(line.to_owned());
    }
    let open: Vec<&Figure> = figures.iter().filter(|figure| is_open(figure)).collect();
    if open.is_empty() {
        return Outcome::Done;
    }
    let named: BTreeSet<String> = open.iter().map(|figure| name_and_size(figure)).collect();
    Outcome::Open(format!(
        "Open: {} of {} figures have no value, because none of their trials was valid: {}. {}",
        open.len(),
        figures.len(),
        join_first(named, MOST_NAMED),
        account.remedy()
    ))
}

/// Maximum figures named in a line.
const MOST_NAMED: usize = 4;

/// Joins the first names, and states how many more there are.
fn join_first(names: BTreeSet<String>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let mut shown: Vec<String> = names.into_iter().take(most).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}

/// `loss ratio at 256 octets`
fn name_and_size(figure: &Figure) -> String {
    let size = figure.frame_size();
    let size = size.map_or_else(String::new, |size| format!(" at {size} octets"));
    format!("{}{size}", figure.metric.as_str().replace('_', " "))
}

fn tells_nothing(figures: &[Figure]) -> bool {
    let tells = |f: &Figure| f.value.is_some() || f.low.is_some() || f.high.is_some();
    !figures.iter().any(tells)
}

fn is_open(figure: &Figure) -> bool {
    figure.value.is_none() && figure.caveats.contains(&Caveat::NoValidTrial)
}

/// The run as text: at a glance, or what it was, what its sizes mean, its tables.
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
    let mut out = account.describe_unusable().map(|said| said + "\n").unwrap_or_default();
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
    Ok(print_text(data, &format!("report: {}\n", path.display()))?)
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
        let open = |figures: &[Figure]| match outcome(figures, &TrialAccount::default()) {
            Outcome::Open(line) => Some(line),
            _ => None,
        };
        let lines = [vec![], vec![unknown()]].map(|figures| open(&figures).unwrap());
        assert!(lines.iter().all(|line| line.contains("no figure has a value")), "{lines:?}");
        assert_eq!(open(&[unknown(), told()]), None);
        assert_eq!(open(&[bounded()]), None);
        let line = open(&[told(), figure(None, Caveat::NoValidTrial)]).unwrap();
        assert!(line.starts_with("Open: 1 of 2 figures have no value"), "{line}");
    }
}
