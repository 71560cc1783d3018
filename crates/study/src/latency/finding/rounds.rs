//! Blocks of the device, and of a direct cable that was measured at another time, grouped in
//! rounds.
//!
//! Owns the step from blocks to rounds. Never interprets a difference. Pure.

use measure::apart::Apart;
use measure::quantile::median;

use super::super::cell::Sample;
use crate::verdict::ALLOWANCE;
use trial::topology::AnotherTime;

/// Blocks through the device, and over the cable.
pub(super) struct InRounds<'a> {
    pub(super) device: &'a [Sample],
    pub(super) cable: &'a [Sample],
    pub(super) times: &'a AnotherTime,
}

impl InRounds<'_> {
    /// Difference between the device's values and the cable's; `None` if a side has none.
    pub(super) fn added(&self, value: impl Fn(&Sample) -> f64) -> Option<Apart> {
        let of_round = |round| -> Vec<f64> {
            let own = |sample: &&Sample| self.times.round(sample.block) == round;
            self.cable.iter().filter(own).map(&value).collect()
        };
        let cable: Vec<Vec<f64>> =
            (0..self.times.rounds()).map(of_round).filter(|round| !round.is_empty()).collect();
        let allowance = ALLOWANCE * median(&cable.concat())?.abs();
        Apart::from_rounds(&[self.device.iter().map(&value).collect()], &cable, allowance)
    }
}
