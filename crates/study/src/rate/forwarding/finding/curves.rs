//! Loss by offered load, from every valid paced trial of searches, loss curves and latency tests.
//!
//! Owns the choice of trials. Sums trials at one rate; never fits a curve.

use std::collections::BTreeMap;

use super::loads::datagrams;
use crate::view::{Frames, Who};
use trial::{Schedule, Trial, TrialRecord};

/// Curves by frame size and path.
#[derive(Debug, Default)]
pub(in super::super) struct Curves(pub(in super::super) BTreeMap<(Frames, Who), Curve>);

/// Trials by requested rate, in whole frames a second.
pub(in super::super) type Curve = BTreeMap<u64, Offered>;

/// Sum of the trials at one rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Offered {
    pub(in super::super) sent: u64,
    pub(in super::super) lost: u64,
    pub(in super::super) trials: u32,
}

impl Curves {
    /// Adds a valid trial. Trials with a reset are excluded, as they lose frames for another
    /// reason.
    pub(in super::super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        if !record.outcome.is_valid() || !trial.events.is_empty() {
            return;
        }
        for (asked, done) in datagrams(trial, record) {
            let Schedule::Paced(rate) = asked.schedule else { continue };
            let case = (Frames::from_flow(asked), Who::from_trial(trial));
            let curve = self.0.entry(case).or_default();
            let at = curve.entry(rate.0.round() as u64).or_default();
            at.sent += done.sent;
            at.lost += done.received.lost(done.sent);
            at.trials += 1;
        }
    }
}
