//! Rates of two sides: repeated in blocks, or found by two searches.
//!
//! Owns the interval of the ratio device / bypass, by ranks as in a comparison of two devices
//! (`measure::ranks`), and the effect of shared processors on it. Pure.

use measure::quantile::median;
use measure::ranks::Shift;

use super::{BEYOND_LINE, CONFIDENCE, LINE_RATE, TESTER_SHARE};
use page::Verdict;

/// Reaction of the device's path, in most of the repetitions or at the load above the one found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Driven {
    /// Nothing gave way: all of the offered load passed, so the figure is a lower bound.
    No,
    /// The sender was held back (PAUSE, a full queue, a closed loop), and nothing was lost.
    HeldBack,
    /// Frames were lost after they had left, and no counter of the tester accounts for them.
    Lost,
}

impl Driven {
    /// Returns `Lost` or `No`.
    pub const fn if_lost(lost: bool) -> Self {
        if lost { Self::Lost } else { Self::No }
    }
}

/// Bracket of a search: a load that passed, and the one above it that failed on the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// Highest load that passed; `None` if not even the lowest did.
    pub low: Option<f64>,
    /// Lowest load that failed on the path, by a loss or by being held back. `None` if none did,
    /// because the search ended at its ceiling or at the tester's limit.
    pub high: Option<f64>,
}

impl Bracket {
    /// Creates the bracket of a single trial's count: an exact rate.
    pub const fn exactly(rate: Option<f64>) -> Self {
        Self { low: rate, high: rate }
    }
}

/// Rates of the device's path and of its bypass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rates<'a> {
    /// Rate of the device per block, with the bypass's of the same block if it was measured.
    Paired(&'a [(f64, Option<f64>)]),
    /// Measured at different times.
    Apart {
        /// Values of the device.
        device: &'a [f64],
        /// Values of the bypass.
        bypass: &'a [f64],
    },
    /// Results of two searches: no noise, two bounds each.
    Brackets {
        /// Bracket of the device.
        device: Bracket,
        /// Bracket of the bypass; its `high` may be the tester's too, because both are its own
        /// here.
        bypass: Option<Bracket>,
    },
}

/// Everything behind the verdict on a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEvidence<'a> {
    /// Rates of both sides.
    pub rates: Rates<'a>,
    /// Reaction of the device's path.
    pub driven: Driven,
    /// Share of the device's frames that the tester itself dropped after their return: the device
    /// may have been this much faster than counted.
    pub own_drops: f64,
    /// Capacity of the slowest link on the path for such frames, in the rates' unit, if known.
    pub link: Option<f64>,
}

/// Bounds of a ratio.
struct Ratio {
    low: f64,
    high: f64,
}

impl<'a> RateEvidence<'a> {
    /// Creates evidence without drops of the tester, on links of unknown rate.
    pub const fn new(rates: Rates<'a>, driven: Driven) -> Self {
        Self { rates, driven, own_drops: 0.0, link: None }
    }

    /// Returns the verdict. A path that was not driven carried all that the tester offered: a lower
    /// bound, however much more the bypass carried. A driven path shows the device's limit only if
    /// the whole interval of the ratio lies below [`TESTER_SHARE`].
    ///
    /// If hosts and device share processors, a sender may be slowed by the device's work, and a
    /// higher rate of the bypass shows nothing. Frames that it sent and nobody received, without a
    /// drop by the tester, were not lost by its slowness.
    ///
    /// Repetitions that were not really `paired` are two separate sides.
    pub(super) fn verdict(&self, shared_processors: bool, paired: bool) -> Verdict {
        let Some(rate) = self.rate().filter(|rate| *rate > 0.0) else {
            return Verdict::Undetermined;
        };
        match self.link {
            Some(link) if rate > BEYOND_LINE * link => return Verdict::Undetermined,
            Some(link) if rate >= LINE_RATE * link => return Verdict::LinkLimited,
            _ => {}
        }
        if self.driven == Driven::No {
            return Verdict::TesterLimited;
        }
        let Some(ratio) = self.ratio(paired) else { return Verdict::Undetermined };
        let device = ratio.high * (1.0 + self.own_drops) < TESTER_SHARE;
        if ratio.low >= TESTER_SHARE {
            Verdict::TesterLimited
        } else if device && !(shared_processors && self.driven != Driven::Lost) {
            Verdict::DeviceLimited
        } else {
            Verdict::Undetermined
        }
    }

    /// Typical rate of the device; `None` if unknown.
    fn rate(&self) -> Option<f64> {
        match self.rates {
            Rates::Paired(pairs) => median(&pairs.iter().map(|pair| pair.0).collect::<Vec<f64>>()),
            Rates::Apart { device, .. } => median(device),
            Rates::Brackets { device, .. } => device.low,
        }
    }

    /// Bounds of device / bypass, at [`CONFIDENCE`] or more; `None` with too few repetitions.
    fn ratio(&self, paired: bool) -> Option<Ratio> {
        match self.rates {
            Rates::Paired(pairs) if !paired => {
                let device: Vec<f64> = pairs.iter().map(|pair| logarithm(pair.0)).collect();
                let bypass: Vec<f64> =
                    pairs.iter().filter_map(|pair| pair.1).map(logarithm).collect();
                certain(Shift::of_sides(&device, &bypass))
            }
            Rates::Paired(pairs) => {
                let ratio = |(device, bypass): &(f64, Option<f64>)| {
                    Some(logarithm(*device) - logarithm((*bypass)?))
                };
                certain(Shift::of_pairs(&pairs.iter().filter_map(ratio).collect::<Vec<f64>>()))
            }
            Rates::Apart { device, bypass } => {
                let logs =
                    |rates: &[f64]| rates.iter().copied().map(logarithm).collect::<Vec<f64>>();
                certain(Shift::of_sides(&logs(device), &logs(bypass)))
            }
            Rates::Brackets { device, bypass } => {
                let cable = bypass?;
                let low = cable.low?;
                Some(Ratio {
                    low: device.low? / cable.high.unwrap_or(low).max(low),
                    high: device.high? / low,
                })
            }
        }
    }
}

/// Logarithm of a rate that may be zero: for ranks it only needs to be the smallest.
fn logarithm(rate: f64) -> f64 {
    rate.max(f64::MIN_POSITIVE).ln()
}

/// Bounds from a shift of logarithms; `None` with too few repetitions.
fn certain(shift: Option<Shift>) -> Option<Ratio> {
    let found = shift?.interval(CONFIDENCE);
    let told = found.confidence >= CONFIDENCE;
    told.then(|| Ratio { low: found.low.exp(), high: found.high.exp() })
}

#[cfg(test)]
mod tests {
    use super::Verdict::{DeviceLimited, LinkLimited, TesterLimited, Undetermined};
    use super::*;

    fn bracket(low: f64, high: f64) -> Bracket {
        let some = |rate: f64| (rate > 0.0).then_some(rate);
        Bracket { low: some(low), high: some(high) }
    }

    /// Zero is "none" here.
    #[test]
    fn searches() {
        use Driven::{HeldBack, Lost, No};
        for (device, bypass, driven, apart, shared) in [
            ((94.0, 94.5), (100.0, 100.5), Lost, DeviceLimited, DeviceLimited),
            // The truth may lie anywhere below `high`, and the cable's anywhere above `low`.
            ((94.0, 95.5), (100.0, 100.5), Lost, Undetermined, Undetermined),
            ((96.0, 96.2), (100.0, 100.5), Lost, TesterLimited, TesterLimited),
            ((95.2, 95.5), (100.0, 110.0), Lost, Undetermined, Undetermined),
            // The cable was not searched further, or passed all there was.
            ((95.2, 95.5), (100.0, 0.0), Lost, TesterLimited, TesterLimited),
            ((50.0, 50.2), (100.0, 0.0), Lost, DeviceLimited, DeviceLimited),
            // Held back: where hosts and device share processors, nobody knows by whom.
            ((50.0, 50.2), (100.0, 0.0), HeldBack, DeviceLimited, Undetermined),
            // Nothing gave way: a lab's 270,000 of 410,000 frames/s, and nothing lost.
            ((270.0, 0.0), (410.0, 0.0), No, TesterLimited, TesterLimited),
            // Not even the lowest load passed: no value, and nobody's.
            ((0.0, 80.0), (100.0, 0.0), Lost, Undetermined, Undetermined),
            ((94.0, 94.5), (0.0, 100.0), Lost, Undetermined, Undetermined),
        ] {
            let rates = Rates::Brackets {
                device: bracket(device.0, device.1),
                bypass: Some(bracket(bypass.0, bypass.1)),
            };
            let evidence = RateEvidence::new(rates, driven);
            assert_eq!(evidence.verdict(false, true), apart, "{device:?} {bypass:?} {driven:?}");
            assert_eq!(
                evidence.verdict(true, true),
                shared,
                "{device:?} {bypass:?} {driven:?}, shared"
            );
        }
        let alone = Rates::Brackets { device: bracket(50.0, 50.2), bypass: None };
        assert_eq!(RateEvidence::new(alone, Lost).verdict(false, true), Undetermined);
        assert_eq!(RateEvidence::new(alone, No).verdict(false, true), TesterLimited);
    }

    #[test]
    fn repetitions() {
        let table: [(&[f64], Verdict); 6] = [
            (&[0.90, 0.91, 0.92, 0.93, 0.94, 0.949], DeviceLimited),
            (&[0.90, 0.91, 0.92, 0.93, 0.94, 0.951], Undetermined),
            (&[0.951, 0.96, 0.97, 0.98, 0.99, 1.20], TesterLimited),
            // Five cannot reach 95 %, however clear they look.
            (&[0.5, 0.5, 0.5, 0.5, 0.5], Undetermined),
            // A cable that carried nothing in one block says nothing for the device.
            (&[0.90, 0.91, 0.92, 0.93, 0.94, f64::INFINITY], Undetermined),
            (&[], Undetermined),
        ];
        for (ratios, expected) in table {
            let of = |ratio: &f64| match ratio {
                ratio if ratio.is_finite() => (100.0 * ratio, Some(100.0)),
                _ => (90.0, Some(0.0)),
            };
            let pairs: Vec<(f64, Option<f64>)> = ratios.iter().map(of).collect();
            let evidence = RateEvidence::new(Rates::Paired(&pairs), Driven::Lost);
            assert_eq!(evidence.verdict(false, true), expected, "{ratios:?}");
        }
        let dead = [(0.0, Some(100.0)); 6];
        let evidence = RateEvidence::new(Rates::Paired(&dead), Driven::Lost);
        assert_eq!(evidence.verdict(false, true), Undetermined, "nothing at all is no limit");
        let alone = [(80.0, None); 6];
        let of = |driven| RateEvidence::new(Rates::Paired(&alone), driven).verdict(false, true);
        assert_eq!((of(Driven::No), of(Driven::Lost)), (TesterLimited, Undetermined));
    }

    #[test]
    fn sides_measured_apart() {
        let device: Vec<f64> = (0..6).map(|at| 80.0 + f64::from(at)).collect();
        let bypass: Vec<f64> = (0..6).map(|at| 100.0 + f64::from(at)).collect();
        let of = |device, bypass| {
            RateEvidence::new(Rates::Apart { device, bypass }, Driven::Lost).verdict(false, true)
        };
        assert_eq!(of(&device, &bypass), DeviceLimited);
        assert_eq!(of(&bypass, &device), TesterLimited);
        assert_eq!(of(&device[..3], &bypass[..3]), Undetermined);
    }

    /// Drift that pairs would share: side by side the device shows, apart it cannot be told.
    #[test]
    fn pairs_that_are_none() {
        let both = |at: u32| (90.0 * f64::from(10 + at), Some(100.0 * f64::from(10 + at)));
        let pairs: Vec<(f64, Option<f64>)> = (0..8).map(both).collect();
        let evidence = RateEvidence::new(Rates::Paired(&pairs), Driven::Lost);
        assert_eq!(evidence.verdict(false, true), DeviceLimited);
        assert_eq!(evidence.verdict(false, false), Undetermined);
    }

    #[test]
    fn line_rate_and_the_tester_s_own_drops() {
        let pairs = [(90.0, Some(100.0)); 6];
        let plain = RateEvidence::new(Rates::Paired(&pairs), Driven::Lost);
        assert_eq!(plain.verdict(false, true), DeviceLimited);
        let dropped = RateEvidence { own_drops: 0.06, ..plain };
        assert_eq!(dropped.verdict(false, true), Undetermined);
        for (link, expected) in [(80.0, Undetermined), (90.05, LinkLimited), (90.2, DeviceLimited)]
        {
            let on_link = RateEvidence { link: Some(link), ..plain };
            assert_eq!(on_link.verdict(false, true), expected, "{link}");
        }
    }
}
