//! A run's figures: as the journal keeps them, or computed again from its trials, one at a time.
//!
//! Owns which of the two it is, and what becomes of the figures of a run that broke off. Never
//! measures: the run's studies are asked over its records.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use journal::Store;
use journal::store::KeptFigures;
use page::{Caveat, Figure, Found, RowId};
use study::comparison::{Comparable, per_block};
use study::numbered;
use study::run::{ReportInput, RunMeta, TrialTotals};
use study::{Finding, StudyPage};
use trial::RoundTrips;
use trial::{Recorded, TestbedError, Trial, TrialRecord};

use super::Failure;

/// A run with its figures, and those of each block.
#[derive(Debug, Clone)]
pub struct RunFigures {
    pub meta: RunMeta,
    /// First answer of its page; `None` if it has none.
    pub found: Option<Found>,
    pub figures: Vec<Figure>,
    pub comparable: Comparable,
    pub round_trips: RoundTrips,
}

/// A run with its figures, computed again.
pub struct Computed {
    pub meta: RunMeta,
    pub figures: Vec<Figure>,
    /// Parts of the page, one per study, by the study's number.
    pub pages: StudyPages,
    /// True if every trial that the studies ask for was recorded.
    pub is_whole: bool,
}

/// Returns all figures of a run.
pub fn load(store: &Store, asked: &str) -> Result<RunFigures, Failure> {
    let meta = store.load(asked)?;
    // Unreadable figures are computed again.
    if let Ok(Some(kept)) = store.kept_figures(&meta.id) {
        let KeptFigures { found, figures, comparable, round_trips } = kept;
        return Ok(RunFigures { meta, found, figures, comparable, round_trips });
    }
    let mut round_trips = RoundTrips::default();
    let again = compute(store, meta, &mut |trial, record| round_trips.take(trial, record))?;
    let Computed { meta, figures, pages, is_whole } = again;
    let comparable = in_blocks(store, &meta, &figures)?;
    let found = found(&meta, &figures, &pages, &comparable);
    let run = RunFigures { meta, found, figures, comparable, round_trips };
    Ok(if is_whole { kept(store, run) } else { run })
}

/// Returns the figures of a run (full id) that comparisons use.
pub fn comparable(store: &Store, run: &str) -> Result<Comparable, Failure> {
    match store.kept_comparable(run) {
        Ok(Some(comparable)) => Ok(comparable),
        _ => Ok(load(store, run)?.comparable),
    }
}

/// Stores the figures of a finished run beside it.
pub fn kept(store: &Store, run: RunFigures) -> RunFigures {
    let RunFigures { meta, found, figures, comparable, round_trips } = run;
    let kept = KeptFigures { found, figures, comparable, round_trips };
    // They are a copy: the run loses nothing without it.
    let _ = store.keep_figures(&meta.id, &kept);
    let KeptFigures { found, figures, comparable, round_trips } = kept;
    RunFigures { meta, found, figures, comparable, round_trips }
}

/// Returns the first answer of a run's page, which no total of its trials changes.
pub fn found(
    meta: &RunMeta,
    figures: &[Figure],
    pages: &StudyPages,
    comparable: &Comparable,
) -> Option<Found> {
    let (trials, claims) = (&TrialTotals::default(), &meta.claims[..]);
    let comparable = Some(comparable);
    ReportInput { meta, figures, claims, pages, trials, comparable }.found()
}

/// Returns a run's figures with those of each block.
pub fn in_blocks(store: &Store, meta: &RunMeta, figures: &[Figure]) -> Result<Comparable, Failure> {
    let records = store.stored_records(&meta.id)?;
    Ok(per_block(&meta.studies, &meta.topology, &records, figures, meta.seed)?)
}

/// Returns a campaign's figures per block for its page; `None` for other runs, or if that fails.
pub fn of_campaign(store: &Store, meta: &RunMeta, figures: &[Figure]) -> Option<Comparable> {
    let is_campaign = meta.studies.iter().any(|study| study.campaign().is_some());
    is_campaign.then(|| in_blocks(store, meta, figures).ok()).flatten()
}

/// Computes a run's figures again; `hear` is called with each of its trials. Of an unfinished run,
/// those that its recorded trials give.
pub fn compute(
    store: &Store,
    mut meta: RunMeta,
    hear: &mut dyn FnMut(&Trial, &TrialRecord),
) -> Result<Computed, Failure> {
    let (mut trials, mut all_valid) = (0, true);
    let mut count = |trial: &Trial, record: &TrialRecord| {
        trials += 1;
        all_valid &= record.outcome.is_valid();
        hear(trial, record);
    };
    let records = store.stored_records(&meta.id)?;
    let mut recorded = Recorded::in_order(&meta.topology, &records).hearing(&mut count);
    let (mut findings, mut asked) = (Vec::new(), 0);
    for (place, study) in numbered(&meta.studies) {
        let finding = study.find_as(place, &mut recorded, &mut asked, meta.seed)?;
        findings.push((place.number, finding));
    }
    recorded.hear_rest().map_err(|cause| TestbedError::NotReplayed {
        label: "behind the last that was asked for".to_owned(),
        cause,
    })?;
    let broke_off = recorded.broke_off().map(str::to_owned);
    let (mut figures, mut pages) = (Vec::new(), Vec::new());
    for (number, mut finding) in findings {
        let (rows, page) = match &broke_off {
            Some(_) => partial(&mut *finding, all_valid),
            None => shown(&mut *finding),
        };
        figures.extend(rows);
        pages.push((number, page));
    }
    if let Some(label) = &broke_off {
        meta.notes.insert(0, unfinished(&meta.id, label, trials));
    }
    Ok(Computed { meta, figures, pages, is_whole: broke_off.is_none() })
}

fn unfinished(run: &str, label: &str, trials: usize) -> String {
    format!(
        "Unfinished: the run broke off before trial `{label}`. What is shown comes from the {trials} \
         trials recorded until then; `switchmark run --resume {run}` goes on."
    )
}

/// Parts of a page, one per study, by the study's number.
pub type StudyPages = Vec<(NonZeroU16, StudyPage)>;

/// A study's rows, and its part of a page.
pub fn shown(finding: &mut dyn Finding) -> (Vec<Figure>, StudyPage) {
    let rows = finding.rows();
    let page = finding.page().with_rest(&rows);
    (rows, page)
}

/// The rows of a run that broke off that have a value. Where no recorded trial went wrong, only
/// the missing ones can have brought about the caveats of those that did.
fn partial(finding: &mut dyn Finding, all_valid: bool) -> (Vec<Figure>, StudyPage) {
    if all_valid {
        for value in finding.values() {
            let missing = [Caveat::NoValidTrial, Caveat::RepeatedTrials];
            value.caveats.retain(|caveat| !missing.contains(caveat));
        }
    }
    let (rows, page) = shown(finding);
    let (kept, dropped): (Vec<Figure>, Vec<Figure>) =
        rows.into_iter().partition(|row| row.value.is_some());
    let dropped: BTreeSet<RowId> = dropped.iter().filter_map(Figure::id).collect();
    (kept, page.without(&dropped))
}
