//! Information from floods of one path, before a search's first load.
//!
//! Owns the distinction between floods limited by the path and by the tester. Never floods.

use measure::FrameRate;
use measure::quantile::median;
use trial::validity::OFFERED_LOAD_TOLERANCE;

use crate::Tried;
use crate::rate::counts::{lost, lost_on_path, sent, slowest_sender, valid_flows};
use crate::rate::sustained::{Delivery, FAR_OVER};
use crate::search;

/// Results of floods of one path.
#[derive(Debug, Clone, Default)]
pub(in crate::rate) struct Floods {
    /// Rate of the slowest sending port in each flood, in frames a second.
    pub(super) rates: Vec<f64>,
    /// Last flood far above the path's capacity: the result of a search at the tester's highest
    /// rate, where a paced load is hardest to keep.
    pub(super) overload: Option<search::Seen>,
    /// Floods limited by the path and not by the tester.
    pub(super) limited: Vec<Delivery>,
    /// Other floods that lost frames only on the path.
    pub(super) others: Vec<Delivery>,
}

impl Floods {
    /// Takes in a flood, if it is valid.
    pub(in crate::rate) fn take(&mut self, tried: &Tried, precision: f64) {
        let Some(flows) = valid_flows(tried) else { return };
        let rate = slowest_sender(tried);
        self.rates.push(rate.0);
        let on_path = lost_on_path(tried);
        let far_over = on_path as f64 > FAR_OVER * sent(&flows) as f64;
        let delivery = Delivery::from_flows(&flows, rate, tried.trial.phases.load, precision);
        if far_over && on_path == lost(&flows) {
            self.overload = Some(delivery.search_result());
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

    /// Maximum rate of each sending port; `None` without a valid flood.
    pub(in crate::rate) fn most(&self) -> Option<FrameRate> {
        median(&self.rates).filter(|rate| *rate > 0.0).map(FrameRate)
    }

    /// True if no flood measured the tester.
    pub(in crate::rate) const fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    /// Converts to the rules of earlier runs of patterns: the mean of the senders, and no flood
    /// that was held back.
    pub(in crate::rate) fn of_patterns(mut self, mean: f64) -> Self {
        self.rates = vec![mean];
        self.limited.retain(|_| self.overload.is_some());
        self
    }
}
