//! Redundant values of an output, checked against each other: counts, sums, orders.
//!
//! Owns the decision that two numbers cannot both be right. Never corrects one.

use page::{Metric, Unit};

use crate::contradiction::Contradiction;
use crate::found::{Found, Row};

/// Receiver's counts of datagrams: the number sent, by sequence numbers, and the number missed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Counts {
    pub lost: f64,
    pub all: f64,
    /// Lost share as printed by the tool, in percent.
    pub percent: Option<f64>,
}

/// Largest value of a signed 32-bit counter.
const STUCK: f64 = 2_147_483_647.0;

impl Counts {
    /// Contradiction among the counts; `None` if there is none.
    pub(crate) fn contradiction(&self) -> Option<Contradiction> {
        let Self { lost, all, percent } = *self;
        if !self.can_be() {
            return Some(Contradiction { code: "more-lost-than-sent", said: lost, counted: all });
        }
        let printed = percent.filter(|_| all > 0.0)?;
        let counted = 100.0 * lost / all;
        // The tool prints two digits, of a share that it rounds or truncates.
        let agree = (printed - counted).abs() <= 0.06 * counted.abs().max(printed.abs()) + 0.01;
        (!agree).then(|| Contradiction::new("loss-percent", printed, counted))
    }

    /// Sums several counts.
    pub(crate) fn sum(of: &[Self]) -> Self {
        let lost = of.iter().map(|one| one.lost).sum();
        let all = of.iter().map(|one| one.all).sum();
        Self {
            lost,
            all,
            percent: of.first().and_then(|one| one.percent).filter(|_| of.len() == 1),
        }
    }

    /// Contradiction if the sum of all streams and the streams differ by more than a late datagram.
    pub(crate) fn against(&self, streams: &[Self]) -> Option<Contradiction> {
        let sum = Self::sum(streams);
        let near = |a: f64, b: f64| (a - b).abs() <= (0.01 * a.abs().max(b.abs())).max(2.0);
        if streams.len() < 2 {
            None
        } else if !near(sum.lost, self.lost) {
            Some(Contradiction::new("lost-of-streams", self.lost, sum.lost))
        } else {
            (!near(sum.all, self.all))
                .then(|| Contradiction::new("sent-of-streams", self.all, sum.all))
        }
    }

    /// Contradiction if intervals, which may be a part of all, count more than their summary.
    pub(crate) fn against_intervals(&self, intervals: &Self) -> Option<Contradiction> {
        if self.all >= STUCK {
            return Some(Contradiction::new("stuck-counter", self.all, intervals.all));
        }
        // A late datagram is subtracted again.
        (intervals.lost > 1.01 * self.lost.max(0.0) + 2.0)
            .then(|| Contradiction::new("lost-of-intervals", self.lost, intervals.lost))
    }

    /// True if the counts are possible.
    pub(crate) fn can_be(&self) -> bool {
        self.lost >= 0.0 && self.all >= self.lost && self.all.is_finite()
    }

    /// Share that arrived; `None` if the counts are not possible.
    pub(crate) fn arrived(&self) -> Option<f64> {
        (self.can_be() && self.all > 0.0).then(|| 1.0 - self.lost / self.all)
    }

    /// Adds the counts per second over `seconds`; adds nothing if they are impossible, or if none
    /// were sent.
    pub(crate) fn add_to(&self, row: &Row, seconds: f64, found: &mut Found) {
        let Self { lost, all, .. } = *self;
        if !self.can_be() || all <= 0.0 || seconds <= 0.0 {
            return;
        }
        let row = row.clone().samples(all as u64);
        found.add(&row, Metric::Received, Unit::FramesPerSecond, (all - lost) / seconds);
        found.add(&row, Metric::Lost, Unit::FramesPerSecond, lost / seconds);
        found.add(&row, Metric::LossRatio, Unit::Ratio, lost / all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_can_not_be_or_disagree_are_told_with_both_numbers() {
        let counts = |lost, all, percent| Counts { lost, all, percent };
        let told = |code, said, counted| Some(Contradiction { code, said, counted });
        for (of, said) in [
            (counts(8.0, 1099.0, Some(0.73)), None),
            (counts(3_584_655.0, 25_799_702.0, Some(14.0)), None),
            (counts(0.0, 0.0, None), None),
            (
                counts(-104_080.0, 81_068.0, Some(-130.0)),
                told("more-lost-than-sent", -104_080.0, 81_068.0),
            ),
            (counts(10.0, 5.0, None), told("more-lost-than-sent", 10.0, 5.0)),
            (counts(1206.0, 9500.0, Some(0.0)), told("loss-percent", 0.0, 12.7)),
        ] {
            assert_eq!(of.contradiction(), said);
        }
        let streams = [counts(54.0, 1128.0, None), counts(56.0, 1128.0, None)];
        assert_eq!(counts(110.0, 2256.0, None).against(&streams), None);
        assert!(counts(0.0, 2256.0, None).against(&streams).is_some());
        let stuck = counts(0.0, STUCK, None).against_intervals(&streams[0]);
        assert_eq!(stuck, told("stuck-counter", STUCK, 1128.0));
        assert!(counts(50.0, 9999.0, None).against_intervals(&streams[0]).is_some());
        assert_eq!(counts(54.0, 9999.0, None).against_intervals(&streams[0]), None);
    }
}
