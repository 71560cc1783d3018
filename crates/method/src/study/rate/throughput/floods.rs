//! What floods of one path tell a search before its first load.
//!
//! Owns which floods tell of the path and which of the tester. Never floods.

use measure::FrameRate;
use measure::quantile::median;
use trial::validity::OFFERED_LOAD_TOLERANCE;

use crate::search;
use crate::study::Tried;
use crate::study::rate::counts::{lost, lost_on_path, seen, sent, slowest_sender};
use crate::study::rate::sustained::{Delivery, FAR_OVER};

/// What floods of one path told.
#[derive(Debug, Clone, Default)]
pub(in crate::study::rate) struct Floods {
    /// Frames a second that each sending port got out, trial by trial: the slowest of them.
    pub(super) rates: Vec<f64>,
    /// The last one that the path could not carry by far: what a search would see at the tester's
    /// highest rate, where a paced load is hardest to keep.
    pub(super) overload: Option<search::Seen>,
    /// What came of those that the path and not the tester limited.
    pub(super) limited: Vec<Delivery>,
    /// And of the others that lost nothing but on the path.
    pub(super) others: Vec<Delivery>,
}

impl Floods {
    /// Of a flood, if it is valid.
    pub(in crate::study::rate) fn take(&mut self, tried: &Tried, precision: f64) {
        let Some(flows) = seen(tried) else { return };
        let rate = slowest_sender(tried);
        self.rates.push(rate.0);
        let on_path = lost_on_path(tried);
        let far_over = on_path as f64 > FAR_OVER * sent(&flows) as f64;
        let delivery = Delivery::of(&flows, (rate, tried.trial.phases.load), precision);
        if far_over && on_path == lost(&flows) {
            self.overload = Some(delivery.seen());
            self.limited.push(delivery);
            return;
        }
        self.overload = None;
        let wanted: u64 = flows.iter().map(|flow| flow.offered).sum();
        let refused = wanted.saturating_sub(sent(&flows)) as f64;
        if refused > OFFERED_LOAD_TOLERANCE * wanted as f64 && lost(&flows) == 0 {
            self.limited.push(delivery.of_held_back());
        } else if on_path == lost(&flows) {
            self.others.push(delivery);
        }
    }

    /// The most that each sending port can offer; `None` without a valid flood.
    pub(in crate::study::rate) fn most(&self) -> Option<FrameRate> {
        median(&self.rates).filter(|rate| *rate > 0.0).map(FrameRate)
    }

    /// Whether there was one that tells of the tester.
    pub(in crate::study::rate) const fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    /// As a run of its own rules knew one flood: by the mean of the senders, and nothing of one
    /// that was held back.
    pub(in crate::study::rate) fn of_patterns(mut self, mean: f64) -> Self {
        self.rates = vec![mean];
        self.limited.retain(|_| self.overload.is_some());
        self
    }
}
