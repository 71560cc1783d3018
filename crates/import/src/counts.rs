//! Datagrams counted by a receiver: how many were sent, by its sequence numbers, and how many of
//! them it missed.
//!
//! Owns when such counts can't be, and when they contradict each other. Never mends them.

use page::{Metric, Unit};

use crate::found::{Contradiction, Found, Row};

/// What a receiver counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Counts {
    pub lost: f64,
    pub all: f64,
    /// The share that the tool printed beside them, in percent.
    pub percent: Option<f64>,
}

impl Counts {
    /// A contradiction among them.
    pub(crate) fn contradiction(&self) -> Option<Contradiction> {
        let Self { lost, all, percent } = *self;
        if !self.can_be() {
            return Some(Contradiction { code: "more-lost-than-sent", said: lost, counted: all });
        }
        let printed = percent.filter(|_| all > 0.0)?;
        let counted = 100.0 * lost / all;
        // Two digits are printed, of a share that the tool rounds or cuts.
        let agree = (printed - counted).abs() <= 0.06 * counted.abs().max(printed.abs()) + 0.01;
        let rounded = (counted * 1e3).round() / 1e3;
        (!agree).then_some(Contradiction { code: "loss-percent", said: printed, counted: rounded })
    }

    /// Where the sum of all streams and the streams themselves differ by more than a late one.
    pub(crate) fn against(&self, streams: &[Self]) -> Option<Contradiction> {
        let lost: f64 = streams.iter().map(|one| one.lost).sum();
        let all: f64 = streams.iter().map(|one| one.all).sum();
        let near = |a: f64, b: f64| (a - b).abs() <= (0.01 * a.abs().max(b.abs())).max(2.0);
        if streams.len() < 2 {
            None
        } else if !near(lost, self.lost) {
            Some(Contradiction { code: "lost-of-streams", said: self.lost, counted: lost })
        } else {
            (!near(all, self.all)).then_some(Contradiction {
                code: "sent-of-streams",
                said: self.all,
                counted: all,
            })
        }
    }

    /// Whether so many can be.
    pub(crate) fn can_be(&self) -> bool {
        self.lost >= 0.0 && self.all >= self.lost && self.all.is_finite()
    }

    /// A second's worth of them, of so many seconds; nothing where they can't be, or where there
    /// were none.
    pub(crate) fn put(&self, row: &Row, seconds: f64, found: &mut Found) {
        let Self { lost, all, .. } = *self;
        if !self.can_be() || all <= 0.0 || seconds <= 0.0 {
            return;
        }
        let row = row.clone().samples(all as u64);
        found.put(&row, Metric::Received, Unit::FramesPerSecond, (all - lost) / seconds);
        found.put(&row, Metric::Lost, Unit::FramesPerSecond, lost / seconds);
        found.put(&row, Metric::LossRatio, Unit::Ratio, lost / all);
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
            (counts(1206.0, 9500.0, Some(0.0)), told("loss-percent", 0.0, 12.695)),
        ] {
            assert_eq!(of.contradiction(), said);
        }
        let streams = [counts(54.0, 1128.0, None), counts(56.0, 1128.0, None)];
        assert_eq!(counts(110.0, 2256.0, None).against(&streams), None);
        assert!(counts(0.0, 2256.0, None).against(&streams).is_some());
    }
}
