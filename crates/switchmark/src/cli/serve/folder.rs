//! A folder of journals as `serve` reads it: the runs of every `*.db` in it as one list.
//!
//! Owns which journal has a run. Looks into the folder at every request, so that new journals are
//! there at once; one that cannot be read is a warning, and hides no other.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use journal::RunSummary;
use journal::progress::Progress;
use render::exposition::Family;
use serve::{Kind, Listing, Source, Testbed, Unavailable, Watch};

use super::journal::{Journal, comparison};
use super::metrics;
use crate::cli::version;
use crate::config::source::plain;

/// Name of the newest run, as in `load`.
const LATEST: &str = "latest";

/// A folder, and what was found in it.
#[derive(Clone)]
pub struct Folder {
    path: PathBuf,
    known: Arc<Mutex<BTreeMap<PathBuf, Arc<Journal>>>>,
}

/// A journal with its runs.
type Runs = (Arc<Journal>, Vec<RunSummary>);

impl Folder {
    /// Opens a folder, if it can be read.
    pub fn open(path: &Path) -> Result<Self, Unavailable> {
        let folder = Self { path: path.to_owned(), known: Arc::default() };
        folder.journals().map(|_| folder)
    }

    /// Every journal in it, by name.
    fn journals(&self) -> Result<Vec<Arc<Journal>>, Unavailable> {
        let failed = |cause: std::io::Error| {
            let message = format!("look into {}: {}", self.path.display(), plain(&cause));
            let hint = Some("name a folder of journals, or one journal, by --journal".to_owned());
            Unavailable { kind: Kind::Journal, message, hint }
        };
        let mut paths = BTreeSet::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|ending| ending == "db") && path.is_file() {
                paths.insert(path);
            }
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|path, _| paths.contains(path));
        for path in paths {
            known.entry(path.clone()).or_insert_with(|| Arc::new(Journal::at(&path)));
        }
        Ok(known.values().cloned().collect())
    }

    /// Returns the runs of each journal that can be read, and why others cannot. A run that was
    /// merged into another journal is in both: the first of them has it.
    fn all(&self) -> Result<(Vec<Runs>, Vec<String>), Unavailable> {
        let (mut all, mut warnings, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for journal in self.journals()? {
            match journal.list_runs() {
                Ok(mut runs) => {
                    runs.retain(|run| seen.insert(run.id.clone()));
                    all.push((journal, runs));
                }
                Err(problem) => warnings.push(warning(&journal, &problem)),
            }
        }
        Ok((all, warnings))
    }

    /// The journal of a run, or of a part of one.
    pub fn journal_of(&self, asked: &str) -> Result<Arc<Journal>, Unavailable> {
        let run = asked.split('/').next().unwrap_or(asked);
        if run == LATEST {
            let (all, _) = self.all()?;
            let newest = all
                .into_iter()
                .filter_map(|(journal, runs)| Some((runs.first()?.created_unix_ns, journal)))
                .max_by_key(|(began, _)| *began);
            if let Some((_, journal)) = newest {
                return Ok(journal);
            }
        }
        let mut problem = None;
        for journal in self.journals()? {
            match journal.has(run) {
                Ok(true) => return Ok(journal),
                Ok(false) => {}
                Err(other) if other.kind == Kind::Question => return Err(other),
                Err(other) => problem = Some(warning(&journal, &other)),
            }
        }
        let none = format!("there is no run {run} in the journals of {}", self.path.display());
        let message = problem.map_or(none.clone(), |problem| format!("{none}; {problem}"));
        Err(Unavailable::new(Kind::Missing, message))
    }
}

fn warning(journal: &Journal, problem: &Unavailable) -> String {
    let hint = problem.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
    format!("{} is not shown: {}{hint}", journal.path().display(), problem.message)
}

impl Source for Folder {
    fn name(&self) -> String {
        format!(
            "the journals in {}, as they are now; switchmark {}",
            self.path.display(),
            version()
        )
    }

    fn runs(&self) -> Result<Listing, Unavailable> {
        let (all, warnings) = self.all()?;
        let mut runs: Vec<RunSummary> = all.into_iter().flat_map(|(_, runs)| runs).collect();
        runs.sort_by(|a, b| (b.created_unix_ns, &b.id).cmp(&(a.created_unix_ns, &a.id)));
        Ok(Listing { runs, warnings })
    }

    fn sum_up(&self, runs: &mut [RunSummary]) -> Result<(), Unavailable> {
        let mut left: Vec<&mut RunSummary> = runs.iter_mut().collect();
        for journal in self.journals()? {
            let Ok(store) = journal.store() else { continue };
            let (own, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|run| store.status(&run.id).is_ok());
            // One whose trials cannot be counted hides no other.
            let _ = own.into_iter().try_for_each(|run| {
                store.count(run)?;
                store.set_found(run)
            });
            left = others;
        }
        Ok(())
    }

    fn report(&self, run: &str) -> Result<String, Unavailable> {
        self.journal_of(run)?.report(run)
    }

    fn testbed(&self, run: &str) -> Result<Testbed, Unavailable> {
        self.journal_of(run)?.testbed(run)
    }

    fn comparison(&self, reference: &str, subject: &str) -> Result<String, Unavailable> {
        let (before, journal) = (self.journal_of(reference)?, self.journal_of(subject)?);
        comparison(&before, reference, &journal, subject)
    }

    fn metrics(&self) -> Result<Vec<Family>, Unavailable> {
        let (all, _) = self.all()?;
        let parts = all.iter().map(|(journal, runs)| journal.part(runs.clone()));
        metrics::families(parts.collect::<Result<_, _>>()?)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, Unavailable> {
        Ok(Box::new(Follower { folder: self.clone(), open: BTreeMap::new() }))
    }
}

/// Follows runs of several journals, each of which is opened once.
struct Follower {
    folder: Folder,
    open: BTreeMap<PathBuf, (Box<dyn Watch>, BTreeSet<String>)>,
}

impl Watch for Follower {
    fn changed(&mut self) -> Result<bool, Unavailable> {
        let mut changed = false;
        for (watch, _) in self.open.values_mut() {
            changed |= watch.changed()?;
        }
        Ok(changed)
    }

    fn progress(&mut self, run: &str) -> Result<Progress, Unavailable> {
        if let Some((watch, _)) = self.open.values_mut().find(|(_, runs)| runs.contains(run)) {
            return watch.progress(run);
        }
        let journal = self.folder.journal_of(run)?;
        let open = self.open.entry(journal.path().to_owned());
        let (watch, runs) = match open {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(free) => free.insert((journal.watch()?, BTreeSet::new())),
        };
        runs.insert(run.to_owned());
        watch.progress(run)
    }
}
