//! Times of two sides: the device shows only where it is later for certain.
//!
//! Owns the interval of the difference device - bypass. Pure.

use measure::Interval;
use measure::quantile::median_interval;
use measure::ranks::Shift;

use super::CONFIDENCE;
use page::Verdict;

/// Times over the device's path and over its bypass, in one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delays<'a> {
    /// Of each block that has both: (device, bypass).
    Paired {
        /// In any order.
        pairs: &'a [(f64, f64)],
        /// The least difference that means anything, such as what a bypass itself differs by from
        /// block to block, or the doubt of two clocks.
        floor: f64,
    },
    /// Measured at different times.
    Apart {
        /// The device's.
        device: &'a [f64],
        /// The bypass's.
        bypass: &'a [f64],
        /// As in [`Delays::Paired`].
        floor: f64,
    },
}

impl<'a> Delays<'a> {
    /// Where any difference means something.
    pub const fn paired(pairs: &'a [(f64, f64)]) -> Self {
        Self::Paired { pairs, floor: 0.0 }
    }

    /// The device's where it is later by more than nothing at [`CONFIDENCE`], and typically by more
    /// than the floor; else the figure is the tester's own time, and an upper bound of the
    /// device's.
    pub(super) fn verdict(&self) -> Verdict {
        let shown = match *self {
            Self::Paired { pairs, floor } => {
                let later: Vec<f64> =
                    pairs.iter().map(|(device, bypass)| device - bypass).collect();
                let shift = Shift::of_pairs(&later);
                shift.and_then(|shift| {
                    let interval = shift.interval(CONFIDENCE);
                    let resolved = interval.low > 0.0 && shift.estimate() > floor;
                    (interval.confidence >= CONFIDENCE).then_some(resolved)
                })
            }
            Self::Apart { device, bypass, floor } => certain(device)
                .zip(certain(bypass))
                .map(|(device, bypass)| device.low - bypass.high > floor),
        };
        match shown {
            Some(true) => Verdict::DeviceLimited,
            Some(false) => Verdict::TesterLimited,
            None => Verdict::Undetermined,
        }
    }
}

/// Of the median, where the values are enough for it.
fn certain(values: &[f64]) -> Option<Interval> {
    median_interval(values, CONFIDENCE).filter(|interval| interval.confidence >= CONFIDENCE)
}

#[cfg(test)]
mod tests {
    use super::Verdict::{DeviceLimited, TesterLimited, Undetermined};
    use super::*;

    #[test]
    fn pairs() {
        let table: [(&[f64], f64, Verdict); 5] = [
            (&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.0, DeviceLimited),
            (&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.4, TesterLimited),
            (&[0.0, 0.2, 0.3, 0.4, 0.5, 0.6], 0.0, TesterLimited),
            (&[-0.2, -0.3, -0.2, -0.1, -0.4, -0.5], 0.0, TesterLimited),
            (&[9.0, 9.0, 9.0, 9.0, 9.0], 0.0, Undetermined),
        ];
        for (later, floor, expected) in table {
            // A drift that both sides share is in no difference.
            let of = |(at, later): (usize, &f64)| (50.0 * at as f64 + later, 50.0 * at as f64);
            let pairs: Vec<(f64, f64)> = later.iter().enumerate().map(of).collect();
            assert_eq!(Delays::Paired { pairs: &pairs, floor }.verdict(), expected, "{later:?}");
        }
    }

    #[test]
    fn apart() {
        let late = [20.0, 20.5, 21.0, 21.5, 22.0, 22.5];
        let early = [18.0, 18.5, 19.0, 19.2, 19.4, 19.6];
        let of = |device, bypass, floor| Delays::Apart { device, bypass, floor }.verdict();
        assert_eq!(of(&late, &early, 0.0), DeviceLimited);
        assert_eq!(of(&late, &early, 1.0), TesterLimited);
        assert_eq!(of(&early, &late, 0.0), TesterLimited);
        assert_eq!(of(&late[..5], &early, 0.0), Undetermined);
        assert_eq!(of(&late, &[], 0.0), Undetermined);
    }
}
