//! `switchmark report RUN`: figures, tables and report again, from the journal alone.
//!
//! Never measures: the run's studies are asked over its records.

use std::path::{Path, PathBuf};

use journal::Store;
use study::run::{RunStatus, SweepPoint, TrialAccount, TrialTotals};
use study::sweep::{Sweep, SweptRun};

use super::figures::{self, Computed};
use super::options::Data;
use super::output::{self, Finished};
use super::{Failure, Outcome as Exit, journals, watch};

/// `report`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the start of it, or `latest`; or a sweep's id
    #[arg(value_name = "RUN")]
    run: String,
    /// Write the HTML report here
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Renders the report.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(path) = &args.out {
        output::check_report(path)?;
    }
    let store = journals::read(&args.data)?.store;
    if let Some(swept) = sweep(&store, &args.run)? {
        show(&swept, &args.data, args.out.as_deref())?;
        return Ok(output::outcome(&swept.figures(), &TrialAccount::default()));
    }
    let meta = store.load(&args.run)?;
    if meta.watch.is_some() {
        let watched = watch::read(&store, meta)?;
        return watch::print_watch(&watched, &args.data, args.out.as_deref());
    }
    let mut finished = replay(&store, &args.run)?;
    let said = said_of(&store, &finished.meta.id)?;
    finished.meta.notes.splice(0..0, said);
    let mut outcome = output::show(&finished, &args.data)?;
    // One that broke off before its first trial says so: that is all there is to report.
    if finished.figures.is_empty() {
        outcome = Exit::Done;
    }
    output::write_report(&args.data, &[finished], args.out.as_deref())?;
    Ok(outcome)
}

/// Returns a run's label and note, a line each.
pub fn said_of(store: &Store, run: &str) -> Result<Vec<String>, Failure> {
    let summary = store.summary(run)?;
    let label = summary.label.map(|label| format!("Label: {label}"));
    let note = summary.note.map(|note| format!("Note: {note}"));
    Ok(label.into_iter().chain(note).collect())
}

/// Prints a sweep, and writes its page where one is asked for.
pub fn show(swept: &Sweep, data: &Data, report: Option<&Path>) -> Result<(), Failure> {
    let (done, of) = (swept.done(), swept.of);
    let seed = swept.runs.first().map_or_else(String::new, |run| run.meta.seed.to_string());
    let head = format!("sweep {}  {done} of {of} points  seed {seed}\n", swept.id);
    output::publish(data, || swept.json(), head, swept.page(), report)
}

/// Computes the sweep of that name again from its points' runs; `None` if there is none.
pub fn sweep(store: &Store, asked: &str) -> Result<Option<Sweep>, Failure> {
    let mut runs = Vec::new();
    let mut of = 0;
    for summary in store.runs()?.into_iter().filter(|summary| SweepPoint::is_of(&summary.id, asked))
    {
        let meta = store.load(&summary.id)?;
        let Some(point) = &meta.sweep else { return Ok(None) };
        of = point.of as usize;
        let done = summary.status == RunStatus::Done;
        let figures = if done { figures::load(store, &summary.id)?.figures } else { Vec::new() };
        runs.push(SweptRun::new(meta, summary.status, figures));
    }
    // Points run side by side: their ids have the order, not their times.
    runs.sort_by(|a, b| a.meta.id.cmp(&b.meta.id));
    Ok((!runs.is_empty()).then(|| Sweep { id: asked.to_owned(), of, runs }))
}

/// A run's figures, computed again, with what its trials come to. Of an unfinished run, those that
/// its recorded trials give.
pub fn replay(store: &Store, asked: &str) -> Result<Finished, Failure> {
    let meta = store.load(asked)?;
    let mut trials = TrialTotals::default();
    let again = figures::compute(store, meta, &mut |trial, record| trials.take(trial, record))?;
    let Computed { meta, figures, pages, .. } = again;
    let comparable = figures::of_campaign(store, &meta, &figures);
    Ok(Finished { meta, figures, pages, trials, comparable })
}
