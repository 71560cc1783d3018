//! Frames lost at one load: the device's loss if the bypass lost next to nothing.
//!
//! Owns the intervals of two proportions. Pure.

use measure::Interval;
use measure::shares::share_interval;

use super::{CONFIDENCE, TESTER_SHARE};
use page::Verdict;

/// Number of frames lost, and number sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossCount {
    /// Frames lost on the path, without those that the tester's own counters account for.
    pub lost: u64,
    /// Frames sent.
    pub of: u64,
}

/// Losses at one load, or of the bypass at a higher one if it lost nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// Loss through the device; `None` without a valid trial.
    pub device: Option<LossCount>,
    /// Loss over the direct cable.
    pub bypass: Option<LossCount>,
}

impl Losses {
    /// Returns the device's limit if the bypass certainly lost at most a twentieth as much, and the
    /// tester's if it certainly lost at least 95 % as much. If the device lost nothing, the load is
    /// a bound.
    pub(super) fn verdict(&self) -> Verdict {
        let Some(device) = self.device else { return Verdict::Undetermined };
        let Some(lost) = device.share() else { return Verdict::Undetermined };
        if device.lost == 0 {
            return Verdict::TesterLimited;
        }
        match self.bypass.and_then(LossCount::share) {
            Some(bypass) if bypass.high <= (1.0 - TESTER_SHARE) * lost.low => {
                Verdict::DeviceLimited
            }
            Some(bypass) if bypass.low >= TESTER_SHARE * lost.high => Verdict::TesterLimited,
            _ => Verdict::Undetermined,
        }
    }
}

impl LossCount {
    fn share(self) -> Option<Interval> {
        share_interval(self.lost, self.of, CONFIDENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{DeviceLimited, TesterLimited, Undetermined};
    use super::*;

    #[test]
    fn losses() {
        let some = |(lost, of): (u64, u64)| (of > 0).then_some(LossCount { lost, of });
        for (device, bypass, expected) in [
            ((600, 1_000), (0, 1_000), DeviceLimited),
            ((600, 1_000), (10, 1_000), DeviceLimited),
            ((600, 1_000), (300, 1_000), Undetermined),
            ((600, 1_000), (700, 1_000), TesterLimited),
            // 2 of 100, where a cable lost none of 100: it might lose 3 of 100 as well.
            ((2, 100), (0, 100), Undetermined),
            ((2, 100), (0, 1_000_000), DeviceLimited),
            ((0, 1_000), (0, 1_000), TesterLimited),
            ((0, 1_000), (0, 0), TesterLimited),
            ((0, 0), (0, 1_000), Undetermined),
            ((600, 1_000), (0, 0), Undetermined),
        ] {
            let losses = Losses { device: some(device), bypass: some(bypass) };
            assert_eq!(losses.verdict(), expected, "{device:?} {bypass:?}");
        }
    }
}
