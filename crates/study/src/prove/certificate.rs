//! Certificate of the self-test: the number of claims made and the number that were right, by study
//! and kind of device.
//!
//! Owns the counts and their intervals. Never draws a device and never runs a study.

use std::collections::BTreeMap;

use measure::{Interval, proportion};
use serde::Serialize;

use super::{Claim, Judgement, Truth, judge};
use page::Figure;

/// Confidence of every share that a certificate states.
const CONFIDENCE: f64 = 0.95;

/// Origin of a claim: `sim`, `forwarding`, `deep queue`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Implementation of the device.
    pub world: &'static str,
    /// Study that measured it.
    pub study: &'static str,
    /// Kind of device.
    pub kind: &'static str,
}

/// Counts of claims by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Devices that were measured.
    pub devices: u64,
    /// Figures with a known value.
    pub asked: u64,
    /// Figures that are right.
    pub right: u64,
    /// Figures that bound the known value, with a true bound.
    pub bounds: u64,
    /// Figures that are wrong.
    pub wrong: u64,
    /// Figures that leave the value open.
    pub open: u64,
    /// Figures that a tester of this kind could determine.
    pub reachable: u64,
    /// Figures among them that leave the value open, or only bound it.
    pub reachable_open: u64,
    /// Confidence intervals of claims; [`Self::covering`] counts those that contain the known
    /// value.
    pub intervals: u64,
    /// Confidence intervals that contain the known value.
    pub covering: u64,
    /// Search brackets of claims; [`Self::bracketing`] counts those that contain the known value.
    pub brackets: u64,
    /// Search brackets that contain the known value.
    pub bracketing: u64,
}

impl Tally {
    /// Number of claims.
    pub const fn claims(&self) -> u64 {
        self.right + self.bounds + self.wrong
    }

    /// Share of claims that are wrong, with its interval; `None` without claims.
    pub fn wrong_share(&self) -> Option<Interval> {
        proportion(self.wrong, self.claims(), CONFIDENCE)
    }

    /// Share of confidence intervals that contain the known value, with its own interval.
    pub fn coverage(&self) -> Option<Interval> {
        proportion(self.covering, self.intervals, CONFIDENCE)
    }

    fn add(&mut self, other: &Self) {
        self.devices += other.devices;
        self.asked += other.asked;
        self.right += other.right;
        self.bounds += other.bounds;
        self.wrong += other.wrong;
        self.open += other.open;
        self.reachable += other.reachable;
        self.reachable_open += other.reachable_open;
        self.intervals += other.intervals;
        self.covering += other.covering;
        self.brackets += other.brackets;
        self.bracketing += other.bracketing;
    }
}

/// Line of the certificate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Origin of the claims.
    #[serde(flatten)]
    pub place: Place,
    /// Counts of the claims.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Wrong claim, with the way to reproduce it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WrongClaim {
    /// Origin of the claim.
    #[serde(flatten)]
    pub place: Place,
    /// Number of the device, in the order they were drawn.
    pub device: u64,
    /// Claimed value and known value in words.
    pub why: String,
    /// Way to reproduce the same device and measurement.
    pub again: String,
    /// The claim.
    pub claim: Claim,
    /// Known value.
    pub truth: Truth,
}

/// Figure worth a look although it claims nothing wrong. It leaves open what a tester could
/// determine, or its interval misses the known value by less than the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noted {
    /// Origin of the claim.
    #[serde(flatten)]
    pub place: Place,
    /// Number of the device, in the order they were drawn.
    pub device: u64,
    /// Way to reproduce the same device and measurement.
    pub again: String,
    /// The claim.
    pub claim: Claim,
    /// Known value.
    pub truth: Truth,
}

/// Test that this host cannot make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Skipped {
    /// Name of the test.
    pub what: String,
    /// Reason.
    pub why: String,
}

/// Results of the self-test.
#[derive(Debug, Clone, Default)]
pub struct Certificate {
    rows: BTreeMap<Place, Tally>,
    wrong: Vec<WrongClaim>,
    left_open: Vec<Noted>,
    missed: Vec<Noted>,
    skipped: BTreeMap<String, String>,
}

impl Certificate {
    /// Creates an empty certificate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a device's figures and their known values. `again` reproduces the same device. True if
    /// any claim is wrong.
    pub fn add(
        &mut self,
        place: &Place,
        device: u64,
        truths: &[Truth],
        figures: &[Figure],
        again: &str,
    ) -> bool {
        let mut tally = Tally { devices: 1, ..Tally::default() };
        let before = self.wrong.len();
        for figure in figures {
            let Some(truth) = truths.iter().find(|truth| truth.is_about(figure)) else { continue };
            let claim = Claim::from_figure(figure);
            let judged = judge(&claim, truth);
            tally.count(&judged, truth.reachable);
            let missed = [judged.covered, judged.bracketed].contains(&Some(false));
            let (place, again, truth) = (place.clone(), again.to_owned(), truth.clone());
            match judged.judgement {
                Judgement::Wrong(why) => {
                    self.wrong.push(WrongClaim { place, device, why, again, claim, truth });
                }
                Judgement::Bound | Judgement::Open if truth.reachable => {
                    self.left_open.push(Noted { place, device, again, claim, truth });
                }
                _ if missed => self.missed.push(Noted { place, device, again, claim, truth }),
                _ => {}
            }
        }
        self.rows.entry(place.clone()).or_default().add(&tally);
        self.wrong.len() > before
    }

    /// Records a test that cannot be made here.
    pub fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.skipped.insert(what.into(), why.into());
    }

    /// Lines by study and kind of device.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(place, tally): (&Place, &Tally)| Row { place: place.clone(), tally: *tally };
        self.rows.iter().map(row).collect()
    }

    /// Counts over all devices.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.rows.values().for_each(|tally| total.add(tally));
        total
    }

    /// Wrong claims.
    pub fn wrong(&self) -> &[WrongClaim] {
        &self.wrong
    }

    /// Figures that a tester could determine, and that leave the value open or only bound it.
    pub fn left_open(&self) -> &[Noted] {
        &self.left_open
    }

    /// Figures that are right within the tolerance, but whose interval or bracket misses the known
    /// value.
    pub fn missed(&self) -> &[Noted] {
        &self.missed
    }

    /// Tests that this host cannot make.
    pub fn skipped(&self) -> Vec<Skipped> {
        let skipped =
            |(what, why): (&String, &String)| Skipped { what: what.clone(), why: why.clone() };
        self.skipped.iter().map(skipped).collect()
    }
}

impl Tally {
    fn count(&mut self, judged: &super::Judged, reachable: bool) {
        self.asked += 1;
        let settled = match judged.judgement {
            Judgement::Right => {
                self.right += 1;
                true
            }
            Judgement::Wrong(_) => {
                self.wrong += 1;
                true
            }
            Judgement::Bound => {
                self.bounds += 1;
                false
            }
            Judgement::Open => {
                self.open += 1;
                false
            }
        };
        if reachable {
            self.reachable += 1;
            self.reachable_open += u64::from(!settled);
        }
        if let Some(covered) = judged.covered {
            self.intervals += 1;
            self.covering += u64::from(covered);
        }
        if let Some(bracketed) = judged.bracketed {
            self.brackets += 1;
            self.bracketing += u64::from(bracketed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::Known;
    use page::{Key, Metric, Unit, Verdict};

    fn figure(value: f64) -> Figure {
        Figure {
            low: Some(value),
            high: Some(value * 1.002),
            n: 1,
            blocks: 1,
            conditions: BTreeMap::from([(Key::Path, "device".into())]),
            verdict: Verdict::DeviceLimited,
            ..Figure::new(Metric::Throughput, Unit::FramesPerSecond, Some(value))
        }
    }

    #[test]
    fn a_claim_that_is_doctored_is_caught() {
        let place = Place { world: "sim", study: "forwarding", kind: "slow way" };
        let known = Known::Number { low: 1651.3, high: 1651.3 };
        let truth =
            Truth::new(Metric::Throughput, Unit::FramesPerSecond, known).at(Key::Path, "device");
        let truths = [truth];
        let mut certificate = Certificate::new();
        assert!(!certificate.add(&place, 0, &truths, &[figure(1650.0)], "again"));
        assert!(certificate.add(&place, 1, &truths, &[figure(0.0)], "again"));
        let mut cable = figure(3e6);
        cable.set(Key::Path, "bypass");
        assert!(!certificate.add(&place, 2, &truths, &[cable], "again"));
        let total = certificate.total();
        assert_eq!((total.devices, total.asked, total.right, total.wrong), (3, 2, 1, 1));
        assert_eq!((total.reachable, total.reachable_open), (2, 0));
        assert_eq!(certificate.wrong()[0].device, 1);
    }
}
