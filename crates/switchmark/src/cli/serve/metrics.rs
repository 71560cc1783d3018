//! Metrics of journals: runs by state, the trials of those under way, the figures of the newest.
//!
//! Owns which runs these are, and keeps what a finished run's figures were. Never measures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use journal::store::WATCH;
use journal::{RunSummary, Store};
use render::exposition::{self, Family, names};
use serve::Unavailable;
use study::run::RunStatus;

use super::series;
use super::trouble::{broken, classify_failure};
use crate::cli::{Failure, figures, output, version, watch};

/// Maximum runs with figures: the newest of each verb on each testbed.
const MOST: usize = 8;

/// Figures of finished runs, by run id, with the number of trials.
#[derive(Default)]
pub struct Figures(Mutex<BTreeMap<String, (u64, Vec<Family>)>>);

/// A journal, or the part of it that is exposed.
pub struct Part<'a> {
    pub store: Store,
    pub figures: &'a Figures,
    pub runs: Vec<RunSummary>,
}

/// Returns the families of these journals, which have no run in common.
pub fn families(journals: Vec<Part<'_>>) -> Result<Vec<Family>, Unavailable> {
    let all: Vec<&RunSummary> = journals.iter().flat_map(|journal| &journal.runs).collect();
    let mut families = vec![names::BUILD_INFO.info(&[version()]), states(&all)];
    let newest = newest(all);
    for Part { store, figures, runs } in journals {
        let is_under_way = |run: &&RunSummary| run.status == RunStatus::Running;
        families.push(under_way(&store, runs.iter().filter(is_under_way).cloned())?);
        families.extend(watches(&store, &runs).map_err(|failure| classify_failure(&failure))?);
        let chosen = runs.into_iter().filter(|run| run.verb != WATCH && newest.contains(&run.id));
        families.extend(figures.families(&store, chosen)?);
    }
    Ok(families)
}

impl Figures {
    /// Returns the figures of these runs; forgets those of others.
    fn families(
        &self,
        store: &Store,
        runs: impl Iterator<Item = RunSummary>,
    ) -> Result<Vec<Family>, Unavailable> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = std::mem::take(&mut *kept);
        let mut families = Vec::new();
        for mut run in runs {
            store.count(&mut run).map_err(broken)?;
            let found = match known.remove(&run.id) {
                Some((trials, found)) if trials == run.trials => found,
                _ => exposed(store, &run.id).map_err(|failure| classify_failure(&failure))?,
            };
            families.extend(found.iter().cloned());
            kept.insert(run.id, (run.trials, found));
        }
        Ok(families)
    }
}

fn exposed(store: &Store, run: &str) -> Result<Vec<Family>, Failure> {
    let run = figures::load(store, run)?;
    let labels = output::labels(&run.meta);
    let mut families = vec![exposition::run_info(labels)];
    families.extend(exposition::figures(labels, &run.figures));
    families.push(exposition::round_trips(labels, &run.round_trips));
    Ok(families)
}

/// Returns the series of the newest watch of each testbed, under way or not.
fn watches(store: &Store, runs: &[RunSummary]) -> Result<Vec<Family>, Failure> {
    let mut testbeds = BTreeSet::new();
    let mut series = Vec::new();
    for run in runs.iter().filter(|run| run.verb == WATCH) {
        if testbeds.insert(&run.testbed) {
            series.extend(series::from_watched(&watch::read(store, store.load(&run.id)?)?));
        }
    }
    Ok(exposition::watch(&series))
}

/// Counts the runs by state.
fn states(runs: &[&RunSummary]) -> Family {
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

/// Counts the trials of runs under way.
fn under_way(store: &Store, runs: impl Iterator<Item = RunSummary>) -> Result<Family, Unavailable> {
    let mut family = names::RUN_TRIALS.family();
    for mut run in runs {
        store.count(&mut run).map_err(broken)?;
        let valid = run.trials - run.invalid - run.failed;
        for (outcome, count) in [("valid", valid), ("invalid", run.invalid), ("failed", run.failed)]
        {
            family.add(&[&run.id, &run.verb, &run.testbed, outcome], count as f64);
        }
    }
    Ok(family)
}

/// Returns the ids of the newest finished run of each verb on each testbed.
fn newest(mut runs: Vec<&RunSummary>) -> BTreeSet<String> {
    runs.sort_by_key(|run| std::cmp::Reverse(run.created_unix_ns));
    let mut newest: Vec<&RunSummary> = Vec::new();
    for run in runs.into_iter().filter(|run| run.status == RunStatus::Done) {
        let is_like =
            |other: &&RunSummary| (&other.verb, &other.testbed) == (&run.verb, &run.testbed);
        if newest.len() < MOST && !newest.iter().any(is_like) {
            newest.push(run);
        }
    }
    newest.into_iter().map(|run| run.id.clone()).collect()
}
