//! Round-trip distributions of many trials, merged by label, path and study. Computes no figures.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use measure::Histogram;

use crate::{FlowRecord, Trial, TrialRecord};

/// Round trips of a run, merged over the valid trials of each label, path and study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundTrips(BTreeMap<(String, String, Option<NonZeroU16>), Histogram>);

impl RoundTrips {
    /// Adds a trial's round trips.
    pub fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        if !record.outcome.is_valid() {
            return;
        }
        for flow in &record.flows {
            if let FlowRecord::Echo(echo) = flow {
                let key = (trial.label.clone(), trial.path.as_str().to_owned(), trial.study);
                self.0.entry(key).or_insert_with(Histogram::growing).merge(&echo.rtt);
            }
        }
    }

    /// Lists label, path and histogram, as a journal keeps them. If two studies share a label, the
    /// study number is appended.
    pub fn labelled_histograms(&self) -> Vec<(String, &str, &Histogram)> {
        let mut studies: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (label, path, _) in self.0.keys() {
            *studies.entry((label, path)).or_default() += 1;
        }
        let mut all = Vec::new();
        for ((label, path, study), own) in &self.0 {
            let named = match study {
                Some(number) if studies[&(&**label, &**path)] > 1 => {
                    format!("{label}, study {number}")
                }
                _ => label.clone(),
            };
            all.push((named, path.as_str(), own));
        }
        all
    }

    /// Rebuilds the collection from such a list.
    pub fn from_listed(all: Vec<(String, String, Histogram)>) -> Self {
        Self(all.into_iter().map(|(label, path, own)| ((label, path, None), own)).collect())
    }
}
