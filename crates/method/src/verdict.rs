//! Whose limit a figure shows, from the same figure over the direct cable.
//!
//! Owns the rules and their numbers. Never looks at a record: the tester's own counters have been
//! heard before (validity).

use measure::Interval;

use crate::Verdict;

/// A device at or above this share of its bypass is only known to be no worse than the tester.
pub const TESTER_SHARE: f64 = 0.95;

/// For rates, more is better. A device that was not `driven` to its limit (nothing was lost on it,
/// nothing held back) carried all that the tester offered: a lower bound, however much more the
/// bypass took, because a tester that does the device's work too (a lab) is slower with it in the
/// path. One that was driven is still only a bound at 95 % of the bypass or above.
pub fn of_rate(device: Option<f64>, bypass: Option<f64>, driven: bool) -> Verdict {
    match (device, bypass) {
        (Some(_), _) if !driven => Verdict::TesterLimited,
        (Some(device), Some(bypass)) if device >= TESTER_SHARE * bypass => Verdict::TesterLimited,
        (Some(_), Some(_)) => Verdict::DeviceLimited,
        _ => Verdict::Undetermined,
    }
}

/// For delays, less is better: the device shows only where its whole interval lies above the
/// bypass's; else the figure is the tester's own delay and an upper bound of the device's.
pub fn of_delay(device: Option<Interval>, bypass: Option<Interval>) -> Verdict {
    match (device, bypass) {
        (Some(device), Some(bypass)) if device.low > bypass.high => Verdict::DeviceLimited,
        (Some(_), Some(_)) => Verdict::TesterLimited,
        _ => Verdict::Undetermined,
    }
}

/// For loss at one load: the device's where the bypass lost at most a twentieth as much, the
/// tester's where it lost at least 95 % as much, else undetermined. Where the device lost nothing the
/// load is a bound on it, whatever the bypass did. `device` is without the tester's own drops.
pub fn of_loss(device: Option<f64>, bypass: Option<f64>) -> Verdict {
    match (device, bypass) {
        (Some(0.0), _) => Verdict::TesterLimited,
        (Some(device), Some(bypass)) if bypass >= TESTER_SHARE * device => Verdict::TesterLimited,
        (Some(device), Some(bypass)) if bypass <= (1.0 - TESTER_SHARE) * device => {
            Verdict::DeviceLimited
        }
        _ => Verdict::Undetermined,
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{DeviceLimited, TesterLimited, Undetermined};
    use super::*;

    #[test]
    fn rates() {
        let table = [
            (Some(94.9), Some(100.0), true, DeviceLimited),
            (Some(95.0), Some(100.0), true, TesterLimited),
            (Some(120.0), Some(100.0), true, TesterLimited),
            (Some(95.0), None, true, Undetermined),
            (None, Some(100.0), true, Undetermined),
            (Some(0.0), Some(100.0), true, DeviceLimited),
            // A lab: 270,000 of 410,000 frames/s, and nothing lost.
            (Some(270.0), Some(410.0), false, TesterLimited),
            (Some(270.0), None, false, TesterLimited),
            (None, Some(410.0), false, Undetermined),
        ];
        for (device, bypass, driven, expected) in table {
            assert_eq!(of_rate(device, bypass, driven), expected, "{device:?} {bypass:?} {driven}");
        }
    }

    #[test]
    fn delays() {
        let interval = |low, high| Some(Interval { low, high, confidence: 0.95 });
        let table = [
            (interval(20.0, 22.0), interval(10.0, 19.0), DeviceLimited),
            (interval(20.0, 22.0), interval(10.0, 20.0), TesterLimited),
            (interval(5.0, 6.0), interval(10.0, 20.0), TesterLimited),
            (interval(5.0, 6.0), None, Undetermined),
        ];
        for (device, bypass, expected) in table {
            assert_eq!(of_delay(device, bypass), expected, "{device:?} {bypass:?}");
        }
    }

    #[test]
    fn losses() {
        let table = [
            (Some(0.6), Some(0.0), DeviceLimited),
            (Some(0.6), Some(0.02), DeviceLimited),
            (Some(0.6), Some(0.3), Undetermined),
            (Some(0.6), Some(0.58), TesterLimited),
            (Some(0.0), Some(0.0), TesterLimited),
            (Some(0.0), None, TesterLimited),
            (None, Some(0.0), Undetermined),
            (Some(0.6), None, Undetermined),
        ];
        for (device, bypass, expected) in table {
            assert_eq!(of_loss(device, bypass), expected, "{device:?} {bypass:?}");
        }
    }
}
