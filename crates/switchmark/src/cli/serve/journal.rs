//! The journal as `serve` reads it: runs, reports, comparisons, figures, runs under way.
//!
//! Never writes to it, never brings it up to date, and holds no transaction open: it neither delays
//! a measurement nor waits for one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use journal::progress::{Progress, Tracker};
use journal::store::WATCH;
use journal::{RunSummary, Store, StoreError};
use page::Picture;
use render::exposition::Family;
use serve::{Listing, Source, Testbed, Unavailable, Watch};
use study::run::{self, RunStatus};

use super::metrics::{self, Figures, Part};
use super::trouble::{broken, classify_failure};
use crate::cli::{Failure, compare, lone, own, report, version, watch};

/// Maximum trials of a run read when somebody begins to follow it.
const MOST_FOLLOWED: u64 = 500;
/// Limit in processor time for a page's query, since others wait for it.
const QUERY: Duration = Duration::from_millis(1500);

/// A journal's file.
pub struct Journal {
    path: PathBuf,
    /// Figures of its finished runs, for `/metrics`.
    figures: Figures,
}

impl Journal {
    /// Opens a journal that can be read; the user's own may not exist yet.
    pub fn open(path: &Path, is_default: bool) -> Result<Self, StoreError> {
        if path.exists() || !is_default {
            Store::untouched(path)?.uncounted()?;
        }
        Ok(Self::at(path))
    }

    /// Refers to a journal that may turn out not to be readable.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), figures: Figures::default() }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn store(&self) -> Result<Store, Unavailable> {
        opened(&self.path)
    }

    /// All runs, newest first, their trials not counted.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, Unavailable> {
        let mut runs = self.store()?.uncounted().map_err(broken)?;
        runs.iter_mut().for_each(own::tell_dead);
        Ok(runs)
    }

    /// Returns it with these of its runs, for `/metrics`.
    pub fn part(&self, runs: Vec<RunSummary>) -> Result<Part<'_>, Unavailable> {
        Ok(Part { store: self.store()?, figures: &self.figures, runs })
    }

    /// True if it has the run of that name.
    pub fn has(&self, run: &str) -> Result<bool, Unavailable> {
        match self.store()?.status(run) {
            Ok(_) => Ok(true),
            Err(StoreError::NoRun { .. }) => Ok(false),
            Err(error) => Err(classify_failure(&error.into())),
        }
    }

    /// Returns the folder in which one of its runs (full id) was begun.
    pub fn folder_of(&self, run: &str) -> Result<PathBuf, Unavailable> {
        let meta = self.store()?.load(run).map_err(|error| classify_failure(&error.into()))?;
        Ok(meta.folder)
    }

    /// Returns the summary of one of its runs.
    pub fn summary(&self, run: &str) -> Result<RunSummary, Unavailable> {
        let mut run =
            self.store()?.summary(run).map_err(|error| classify_failure(&error.into()))?;
        own::tell_dead(&mut run);
        Ok(run)
    }
}

/// Compares two runs, or parts of them, each of its own journal.
pub fn comparison(
    before: &Journal,
    reference: &str,
    journal: &Journal,
    subject: &str,
) -> Result<String, Unavailable> {
    let (before, store) = (before.store()?, journal.store()?);
    let made = compare::page(&before, reference, &store, subject, now());
    made.map_err(|failure| classify_failure(&failure))
}

fn opened(path: &Path) -> Result<Store, Unavailable> {
    // Before the first run there is not even a folder.
    let missing = !path.exists() && path.parent().is_some_and(|folder| !folder.is_dir());
    let path = if missing { Path::new(":memory:") } else { path };
    Store::untouched(path).map(|store| store.within(QUERY)).map_err(broken)
}

fn now() -> u64 {
    lone::unix_ns(Timestamp::now())
}

impl Source for Journal {
    fn name(&self) -> String {
        format!("{}, as it is now; switchmark {}", self.path.display(), version())
    }

    fn runs(&self) -> Result<Listing, Unavailable> {
        self.list_runs().map(Listing::from)
    }

    fn sum_up(&self, runs: &mut [RunSummary]) -> Result<(), Unavailable> {
        let store = self.store()?;
        let mut each = runs.iter_mut();
        each.try_for_each(|run| store.count(run).and_then(|()| store.set_found(run)))
            .map_err(broken)
    }

    fn report(&self, run: &str) -> Result<String, Unavailable> {
        let store = self.store()?;
        let made = || -> Result<String, Failure> {
            let meta = store.load(run)?;
            if meta.watch.is_some() {
                let page = watch::read(&store, meta)?.page();
                return Ok(render::html(page.into(), now())?);
            }
            let mut finished = report::replay(&store, run)?;
            let mut summary = store.summary(&finished.meta.id)?;
            own::tell_dead(&mut summary);
            if summary.status == RunStatus::Running {
                let own = store.load(&finished.meta.id)?.notes;
                let so_far = "Under way: what is shown comes from the trials recorded so far.";
                finished.meta.notes = [vec![so_far.to_owned()], own].concat();
            }
            let said = report::said_of(&store, &finished.meta.id)?;
            finished.meta.notes.splice(0..0, said);
            Ok(render::html(run::document(&[finished.input()]), now())?)
        };
        made().map_err(|failure| classify_failure(&failure))
    }

    fn testbed(&self, run: &str) -> Result<Testbed, Unavailable> {
        let meta = self.store()?.load(run).map_err(broken)?;
        let shown = run::picture(&meta.topology)
            .map(|Picture { image, caption }| Testbed { svg: render::svg(&image), caption });
        Ok(shown.unwrap_or_default())
    }

    fn comparison(&self, reference: &str, subject: &str) -> Result<String, Unavailable> {
        comparison(self, reference, self, subject)
    }

    fn metrics(&self) -> Result<Vec<Family>, Unavailable> {
        metrics::families(vec![self.part(self.list_runs()?)?])
    }

    fn watch(&self) -> Result<Box<dyn Watch>, Unavailable> {
        let store = self.store()?;
        let revision = store.revision().map_err(broken)?;
        Ok(Box::new(Follower { store, revision, trackers: BTreeMap::new() }))
    }
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
            own::tell_dead(&mut summary);
            let tracker = match self.trackers.remove(run) {
                Some(tracker) => tracker,
                None => Tracker::new(&self.store.load(run)?),
            };
            let tracker = self.trackers.entry(run.to_owned()).or_insert(tracker);
            let from = tracker.newest().unwrap_or(0);
            for (at, trial, record) in self.store.newest_records(run, from, MOST_FOLLOWED)? {
                tracker.take(at, &trial, &record);
            }
            if summary.verb == WATCH {
                for (at, visit) in self.store.newest_visits(run, from, MOST_FOLLOWED)? {
                    tracker.visit(at, &visit);
                }
            }
            let (done, unusable) = (summary.trials, summary.invalid + summary.failed);
            let ended = summary.status != RunStatus::Running;
            Ok(tracker.progress(summary.status.as_str(), ended, done, unusable))
        };
        read().map_err(broken)
    }
}
