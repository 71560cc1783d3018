//! What `/metrics` says of journals: how many runs stand how, the trials of those under way, the
//! figures of the newest.
//!
//! Owns which runs these are, and keeps what a finished run's figures were. Never measures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use record::exposition::{self, Family, Kind};
use record::{RunStatus, RunSummary, Store};
use serve::Unavailable;

use super::trouble::{asked, broken};
use crate::cli::{Failure, report, version};

/// Of so many runs there are figures: the newest of each verb on each testbed.
const MOST: usize = 8;

/// A finished run's figures, by its id, and of how many trials they are.
#[derive(Default)]
pub struct Figures(Mutex<BTreeMap<String, (u64, Vec<Family>)>>);

/// A journal, or what of it is told.
pub struct Part<'a> {
    pub store: Store,
    pub figures: &'a Figures,
    pub runs: Vec<RunSummary>,
}

/// Of these journals, none of whose runs is in two.
pub fn of(journals: Vec<Part<'_>>) -> Result<Vec<Family>, Unavailable> {
    let all: Vec<&RunSummary> = journals.iter().flat_map(|journal| &journal.runs).collect();
    let version = [("version", version())];
    let mut families = vec![
        Family::info("switchmark_build_info", "The version of this program", &version),
        states(&all),
    ];
    let newest = newest(all);
    for Part { store, figures, runs } in journals {
        let is_under_way = |run: &&RunSummary| run.status == RunStatus::Running;
        families.push(under_way(&store, runs.iter().filter(is_under_way).cloned())?);
        let chosen = runs.into_iter().filter(|run| newest.contains(&run.id));
        families.extend(figures.of(&store, chosen)?);
    }
    Ok(families)
}

impl Figures {
    /// Of these runs; what is kept of others goes.
    fn of(
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
                _ => figures(store, &run.id).map_err(|failure| asked(&failure))?,
            };
            families.extend(found.iter().cloned());
            kept.insert(run.id, (run.trials, found));
        }
        Ok(families)
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
fn states(runs: &[&RunSummary]) -> Family {
    let help = "Runs in the journal, by how they stand";
    let mut family = Family::new("switchmark_journal_runs", Kind::Gauge, help);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for run in runs {
        *counts.entry(run.status.as_str()).or_default() += 1;
    }
    for (state, count) in counts {
        family.sample([("state", state.to_owned())], count as f64);
    }
    family
}

/// The trials of runs under way.
fn under_way(store: &Store, runs: impl Iterator<Item = RunSummary>) -> Result<Family, Unavailable> {
    let help = "Trials of a run under way, by outcome";
    let mut family = Family::new("switchmark_run_trials", Kind::Gauge, help);
    for mut run in runs {
        store.count(&mut run).map_err(broken)?;
        let valid = run.trials - run.invalid - run.failed;
        for (outcome, count) in [("valid", valid), ("invalid", run.invalid), ("failed", run.failed)]
        {
            let labels = [
                ("run", run.id.clone()),
                ("verb", run.verb.clone()),
                ("testbed", run.testbed.clone()),
                ("outcome", outcome.to_owned()),
            ];
            family.sample(labels, count as f64);
        }
    }
    Ok(family)
}

/// The newest finished run of each verb on each testbed, by their ids.
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
