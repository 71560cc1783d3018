//! Times of two sides: the device is visible only if it is certainly later.
//!
//! Owns the interval of the difference device - bypass. Pure.

use measure::Interval;
use measure::apart::Apart;
use measure::quantile::{median, median_interval};
use measure::ranks::Shift;

use super::{ALLOWANCE, CONFIDENCE};
use page::Verdict;

/// Times over the device's path and over its bypass, in one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delays<'a> {
    /// Pairs (device, bypass) of each block that has both.
    Paired {
        /// The pairs, in any order.
        pairs: &'a [(f64, f64)],
        /// Least difference that matters, such as a bypass's variation between blocks, or the
        /// uncertainty of two clocks.
        floor: f64,
    },
    /// Measured at different times.
    Apart {
        /// Values of the device.
        device: &'a [f64],
        /// Values of the bypass.
        bypass: &'a [f64],
        /// Least difference that matters, as in [`Delays::Paired`].
        floor: f64,
    },
    /// Measured in rounds, the bypass before and after the device.
    Rounds {
        /// Difference between device and bypass.
        added: Apart,
        /// Least difference that matters, as in [`Delays::Paired`].
        floor: f64,
    },
}

impl<'a> Delays<'a> {
    /// Creates pairs for which any difference matters.
    pub const fn paired(pairs: &'a [(f64, f64)]) -> Self {
        Self::Paired { pairs, floor: 0.0 }
    }

    /// Returns the device's limit if it is later by more than zero at [`CONFIDENCE`], and typically
    /// by more than the floor. Otherwise the figure is the tester's own time, and an upper bound of
    /// the device's. Pairs that were not really `paired` count as one round per side. If the bypass
    /// alone may have changed as much, nothing is claimed.
    pub(super) fn verdict(&self, paired: bool) -> Verdict {
        let shown = match *self {
            Self::Paired { pairs, floor } if !paired => {
                let (device, bypass): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
                let allowance = ALLOWANCE * median(&bypass).unwrap_or(0.0).abs();
                let added = Apart::from_rounds(&[device], &[bypass], allowance);
                added.and_then(|added| in_rounds(&added, floor))
            }
            Self::Rounds { added, floor } => in_rounds(&added, floor),
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

/// True if a device is visible beside rounds of its bypass; `None` if that is uncertain.
fn in_rounds(added: &Apart, floor: f64) -> Option<bool> {
    let drifted = added.drift.is_some_and(|drift| drift.most() >= added.value);
    let shown = added.interval.low > 0.0 && added.value > floor;
    (added.interval.confidence >= CONFIDENCE && !(shown && drifted)).then_some(shown)
}

/// Interval of the median; `None` with too few values.
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
            assert_eq!(
                Delays::Paired { pairs: &pairs, floor }.verdict(true),
                expected,
                "{later:?}"
            );
        }
    }

    #[test]
    fn apart() {
        let late = [20.0, 20.5, 21.0, 21.5, 22.0, 22.5];
        let early = [18.0, 18.5, 19.0, 19.2, 19.4, 19.6];
        let of = |device, bypass, floor| Delays::Apart { device, bypass, floor }.verdict(true);
        assert_eq!(of(&late, &early, 0.0), DeviceLimited);
        assert_eq!(of(&late, &early, 1.0), TesterLimited);
        assert_eq!(of(&early, &late, 0.0), TesterLimited);
        assert_eq!(of(&late[..5], &early, 0.0), Undetermined);
        assert_eq!(of(&late, &[], 0.0), Undetermined);
    }

    #[test]
    fn rounds() {
        let round = |at: f64| (0..5).map(|n| at + 0.1 * f64::from(n)).collect::<Vec<f64>>();
        // The cable before and after; the device's in between.
        for (cable, device, expected) in [
            ([18.0, 18.01, 18.0], [22.0, 22.01], DeviceLimited),
            ([18.0, 18.2, 18.1], [18.1, 18.0], TesterLimited),
            // As far as the device is from the cable, the cable went from itself.
            ([18.0, 19.5, 21.0], [22.0, 23.5], Undetermined),
        ] {
            let cable: Vec<Vec<f64>> = cable.into_iter().map(round).collect();
            let device: Vec<Vec<f64>> = device.into_iter().map(round).collect();
            let added = Apart::from_rounds(&device, &cable, 0.0).expect("values");
            let found = Delays::Rounds { added, floor: 0.0 }.verdict(false);
            assert!(
                found == expected || (found, expected) == (TesterLimited, Undetermined),
                "{added:?}"
            );
        }
    }

    #[test]
    fn pairs_that_are_none() {
        let drifting: Vec<(f64, f64)> =
            (0..8).map(|at| (20.5 + f64::from(at), 20.0 + f64::from(at))).collect();
        assert_eq!(Delays::paired(&drifting).verdict(true), DeviceLimited);
        assert_eq!(Delays::paired(&drifting).verdict(false), TesterLimited);
        let far: Vec<(f64, f64)> =
            drifting.iter().map(|(late, early)| (late + 50.0, *early)).collect();
        assert_eq!(Delays::paired(&far).verdict(false), DeviceLimited);
        // Within what one time of a cable allows for.
        let near = [(20.1, 20.0); 8];
        assert_eq!(Delays::paired(&near).verdict(false), TesterLimited);
    }
}
