//! Senders and receivers of the loads over a study's trials, with the recorded reasons, and the
//! gaps of the best paced loads.
//!
//! Owns the choice of the trial shown: on each path the highest paced load without loss. Never
//! judges one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use measure::{FrameRate, Histogram};

use crate::view::{Frames, Who};
use trial::record::{DatagramsRecord, FlowRecord};
use trial::{Datagrams, FlowKind, Role, Schedule, Trial, TrialRecord};

/// Maximum number of sizes, the smallest, whose best loads are kept.
const MOST_SIZES: usize = 4;

/// Senders and receivers of the loads, and the best load of each size.
#[derive(Debug, Default)]
pub(in super::super) struct Loads {
    pub(in super::super) makers: BTreeMap<Maker, Made>,
    pub(in super::super) best: BTreeMap<Frames, BTreeMap<Who, LosslessLoad>>,
}

/// Sender and receiver, with the recorded reasons.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Maker {
    pub(in super::super) backend: String,
    pub(in super::super) backend_reason: String,
    pub(in super::super) receiver: String,
    pub(in super::super) receiver_reason: String,
}

/// Flows of one sender and receiver.
#[derive(Debug, Default)]
pub(in super::super) struct Made {
    pub(in super::super) flows: u64,
    pub(in super::super) through: BTreeSet<Who>,
}

/// Load of one trial, and the gaps of its arrivals.
#[derive(Debug)]
pub(in super::super) struct LosslessLoad {
    pub(in super::super) rate: FrameRate,
    pub(in super::super) departures: Histogram,
    pub(in super::super) arrivals: Histogram,
}

impl Maker {
    fn from_record(done: &DatagramsRecord) -> Self {
        Self {
            backend: done.backend.clone(),
            backend_reason: done.backend_reason.clone(),
            receiver: done.receiver.clone(),
            receiver_reason: done.receiver_reason.clone(),
        }
    }
}

impl Loads {
    /// Adds a trial.
    pub(in super::super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        for (_, done) in datagrams(trial, record) {
            let made = self.makers.entry(Maker::from_record(done)).or_default();
            made.flows += 1;
            made.through.insert(Who::from_trial(trial));
        }
        if record.outcome.is_valid() && trial.events.is_empty() {
            self.take_best(trial, record);
        }
    }

    fn take_best(&mut self, trial: &Trial, record: &TrialRecord) {
        for (asked, done) in datagrams(trial, record) {
            let Schedule::Paced(rate) = asked.schedule else { continue };
            if done.received.lost(done.sent) > 0 || done.departures.is_empty() {
                continue;
            }
            let load = || LosslessLoad {
                rate,
                departures: done.departures.clone(),
                arrivals: done.arrivals.clone(),
            };
            let of_size = self.best.entry(Frames::from_flow(asked)).or_default();
            match of_size.entry(Who::from_trial(trial)) {
                Entry::Occupied(mut known) if rate.0 > known.get().rate.0 => {
                    known.insert(load());
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => drop(free.insert(load())),
            }
            if self.best.len() > MOST_SIZES {
                self.best.pop_last();
            }
        }
    }
}

/// Measured datagram flows, with request and record.
pub(super) fn datagrams<'a>(
    trial: &'a Trial,
    record: &'a TrialRecord,
) -> impl Iterator<Item = (&'a Datagrams, &'a DatagramsRecord)> {
    let flows = trial.flows.iter().zip(&record.flows);
    flows.filter_map(|(flow, done)| match (flow.role, &flow.kind, done) {
        (Role::Measured, FlowKind::Datagrams(asked), FlowRecord::Datagrams(done)) => {
            Some((asked, done))
        }
        _ => None,
    })
}
