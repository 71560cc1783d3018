//! The journal as `serve` asks for it: runs, reports, comparisons, figures, runs under way.
//!
//! Never writes to it, never brings it up to date, and holds no transaction open: whoever measures
//! is not waited for, and does not wait.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use record::exposition::{self, Family, names};
use record::progress::{Progress, Tracker};
use record::{RunStatus, RunSummary, Store, StoreError};
use serve::{Kind, Source, Unavailable, Watch};

use crate::cli::{Failure, compare, lone, report, version};

/// Of so many runs `/metrics` has the figures: the newest of each verb on each testbed.
const MOST_IN_METRICS: usize = 8;
/// So many of a run's trials are read when somebody begins to follow it.
const MOST_FOLLOWED: u64 = 500;

/// A journal's file.
pub struct Journal {
    path: PathBuf,
    /// What `/metrics` says of a finished run, by its id, and of how many trials.
    known: Mutex<BTreeMap<String, (u64, Vec<Family>)>>,
}

impl Journal {
    /// One that can be read; the user's own may be yet to come.
    pub fn open(path: &Path, is_default: bool) -> Result<Self, StoreError> {
        if path.exists() || !is_default {
            Store::untouched(path)?.uncounted()?;
        }
        Ok(Self { path: path.to_owned(), known: Mutex::default() })
    }

    fn store(&self) -> Result<Store, Unavailable> {
        opened(&self.path)
    }
}

fn opened(path: &Path) -> Result<Store, Unavailable> {
    // Before the first run there is not even a folder.
    let missing = !path.exists() && path.parent().is_some_and(|folder| !folder.is_dir());
    let path = if missing { Path::new(":memory:") } else { path };
    Store::untouched(path).map_err(broken)
}

fn broken(error: StoreError) -> Unavailable {
    unavailable(&Failure::from(error), Kind::Journal)
}

/// Of a question that was asked in vain the question is at fault, else the journal.
fn asked(failure: &Failure) -> Unavailable {
    let kind = match failure {
        failure if failure.is_missing() => Kind::Missing,
        failure if failure.is_bad_input() => Kind::Question,
        _ => Kind::Journal,
    };
    unavailable(failure, kind)
}

fn unavailable(failure: &Failure, kind: Kind) -> Unavailable {
    let (message, hint) = failure.in_words();
    Unavailable { kind, message, hint }
}

fn now() -> u64 {
    lone::unix_ns(Timestamp::now())
}

/// Those whose process is gone are not under way.
fn told_dead(run: &mut RunSummary) {
    if run.status == RunStatus::Running && run.holder.as_deref().is_some_and(lone::is_gone) {
        run.status = RunStatus::Died;
    }
}

fn runs(store: &Store) -> Result<Vec<RunSummary>, Unavailable> {
    let mut runs = store.uncounted().map_err(broken)?;
    runs.iter_mut().for_each(told_dead);
    Ok(runs)
}

impl Source for Journal {
    fn name(&self) -> String {
        format!("{}, as it is now; switchmark {}", self.path.display(), version())
    }

    fn runs(&self) -> Result<Vec<RunSummary>, Unavailable> {
        runs(&self.store()?)
    }

    fn count(&self, runs: &mut [RunSummary]) -> Result<(), Unavailable> {
        let store = self.store()?;
        runs.iter_mut().try_for_each(|run| store.count(run)).map_err(broken)
    }

    fn report(&self, run: &str) -> Result<String, Unavailable> {
        let store = self.store()?;
        let made = || -> Result<String, Failure> {
            let mut finished = report::replay(&store, run)?;
            let mut summary = store.summary(&finished.meta.id)?;
            told_dead(&mut summary);
            if summary.status == RunStatus::Running {
                let own = store.load(&finished.meta.id)?.notes;
                let so_far = "Under way: what is shown comes from the trials recorded so far.";
                finished.meta.notes = [vec![so_far.to_owned()], own].concat();
            }
            let said = report::said_of(&store, &finished.meta.id)?;
            finished.meta.notes.splice(0..0, said);
            Ok(record::report::render(&[finished.input()], now())?)
        };
        made().map_err(|failure| asked(&failure))
    }

    fn comparison(&self, reference: &str, subject: &str) -> Result<String, Unavailable> {
        let sides = [reference.to_owned(), subject.to_owned()];
        compare::page(&self.store()?, &sides, now()).map_err(|failure| asked(&failure))
    }

    fn metrics(&self) -> Result<Vec<Family>, Unavailable> {
        let store = self.store()?;
        let mut runs = runs(&store)?;
        let mut families = vec![
            names::BUILD_INFO.info(&[version()]),
            states(&runs),
            under_way(&store, &mut runs)?,
        ];
        let mut kept = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = std::mem::take(&mut *kept);
        for mut run in newest(runs) {
            store.count(&mut run).map_err(broken)?;
            let found = match known.remove(&run.id) {
                Some((trials, found)) if trials == run.trials => found,
                _ => figures(&store, &run.id).map_err(|failure| asked(&failure))?,
            };
            families.extend(found.iter().cloned());
            kept.insert(run.id, (run.trials, found));
        }
        Ok(families)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, Unavailable> {
        let store = self.store()?;
        let revision = store.revision().map_err(broken)?;
        Ok(Box::new(Follower { store, revision, trackers: BTreeMap::new() }))
    }
}

fn figures(store: &Store, run: &str) -> Result<Vec<Family>, Failure> {
    let run = report::replay(store, run)?;
    let mut families = vec![exposition::run_info(&run.meta)];
    families.extend(exposition::figures(&run.meta, &run.figures));
    families.push(exposition::distributions(&run.meta, &run.records));
    Ok(families)
}

/// How many runs stand how.
fn states(runs: &[RunSummary]) -> Family {
    let mut family = names::JOURNAL_RUNS.family();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for run in runs {
        *counts.entry(run.status.as_str()).or_default() += 1;
    }
    for (state, count) in counts {
        family.add(&[state], count as f64);
    }
    family
}

/// The trials of runs under way.
fn under_way(store: &Store, runs: &mut [RunSummary]) -> Result<Family, Unavailable> {
    let mut family = names::RUN_TRIALS.family();
    for run in runs.iter_mut().filter(|run| run.status == RunStatus::Running) {
        store.count(run).map_err(broken)?;
        let valid = run.trials - run.invalid - run.failed;
        for (outcome, count) in [("valid", valid), ("invalid", run.invalid), ("failed", run.failed)]
        {
            family.add(&[&run.id, &run.verb, &run.testbed, outcome], count as f64);
        }
    }
    Ok(family)
}

/// The newest finished run of each verb on each testbed.
fn newest(runs: Vec<RunSummary>) -> Vec<RunSummary> {
    let mut newest: Vec<RunSummary> = Vec::new();
    for run in runs.into_iter().filter(|run| run.status == RunStatus::Done) {
        let is_like =
            |other: &RunSummary| (&other.verb, &other.testbed) == (&run.verb, &run.testbed);
        if newest.len() < MOST_IN_METRICS && !newest.iter().any(is_like) {
            newest.push(run);
        }
    }
    newest
}

/// Reads each trial of the runs that are followed once.
struct Follower {
    store: Store,
    revision: i64,
    trackers: BTreeMap<String, Tracker>,
}

impl Watch for Follower {
    fn changed(&mut self) -> Result<bool, Unavailable> {
        let revision = self.store.revision().map_err(broken)?;
        Ok(std::mem::replace(&mut self.revision, revision) != revision)
    }

    fn progress(&mut self, run: &str) -> Result<Progress, Unavailable> {
        let mut read = || -> Result<Progress, StoreError> {
            let mut summary = self.store.summary(run)?;
            told_dead(&mut summary);
            let tracker = match self.trackers.remove(run) {
                Some(tracker) => tracker,
                None => Tracker::new(&self.store.load(run)?),
            };
            let tracker = self.trackers.entry(run.to_owned()).or_insert(tracker);
            let from = tracker.newest().unwrap_or(0);
            for (at, trial, record) in self.store.newest_records(run, from, MOST_FOLLOWED)? {
                tracker.take(at, &trial, &record);
            }
            let counts = (summary.trials, summary.invalid + summary.failed);
            let ended = summary.status != RunStatus::Running;
            Ok(tracker.progress(summary.status.as_str(), ended, counts))
        };
        read().map_err(broken)
    }
}
