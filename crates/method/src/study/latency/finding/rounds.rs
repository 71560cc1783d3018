//! Blocks of the device and of a direct cable that was measured at another time, in their rounds.
//!
//! Owns the turn from blocks to rounds. Never decides what a difference means. Pure.

use measure::apart::Apart;
use measure::quantile::median;

use super::super::cell::Sample;
use crate::verdict::ALLOWANCE;
use trial::Path;
use trial::topology::AnotherTime;

/// Blocks through the device, and over the cable.
pub(super) struct InRounds<'a> {
    pub(super) device: &'a [Sample],
    pub(super) cable: &'a [Sample],
    pub(super) times: &'a AnotherTime,
}

impl InRounds<'_> {
    /// Difference between the device's values and the cable's; none where a side has none.
    pub(super) fn added(&self, value: impl Fn(&Sample) -> f64) -> Option<Apart> {
        let by_round = |samples: &[Sample], path: Path| -> Vec<Vec<f64>> {
            let is_of = |sample: &&Sample, round| self.times.round(path, sample.block) == round;
            let own = |round| -> Vec<f64> {
                samples.iter().filter(|sample| is_of(sample, round)).map(&value).collect()
            };
            (0..self.times.rounds(path)).map(own).filter(|round| !round.is_empty()).collect()
        };
        let cable = by_round(self.cable, Path::Bypass);
        let allowance = ALLOWANCE * median(&cable.concat())?.abs();
        Apart::of(&by_round(self.device, Path::Device), &cable, allowance)
    }
}
