//! The certificate: how many claims were made, and how many were right, by study and kind of
//! device.
//!
//! Owns the counting and the chances. Never draws a device and never asks a study.

use std::collections::BTreeMap;

use measure::{Interval, proportion};
use serde::Serialize;

use super::{Claim, Judgement, Truth, judge};
use page::Figure;

/// The confidence of every share that a certificate states.
const CONFIDENCE: f64 = 0.95;

/// Where a claim was made: `sim`, `forwarding`, `deep queue`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// What stood for the device.
    pub world: &'static str,
    /// Who was asked.
    pub study: &'static str,
    /// What kind of device it was.
    pub kind: &'static str,
}

/// How claims came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Devices that were asked about.
    pub devices: u64,
    /// Figures of which the truth is known.
    pub asked: u64,
    /// Of these, those that say what is so.
    pub right: u64,
    /// Those that bound it, and the bound holds.
    pub bounds: u64,
    /// Those that say what is not so.
    pub wrong: u64,
    /// Those that say nothing.
    pub open: u64,
    /// Figures of what a tester like this could tell.
    pub reachable: u64,
    /// Of these, those that say nothing, or bound it only.
    pub reachable_open: u64,
    /// Confidence intervals of claims, and those that hold the truth.
    pub intervals: u64,
    /// See [`Self::intervals`].
    pub covering: u64,
    /// Search brackets of claims, and those that hold the truth.
    pub brackets: u64,
    /// See [`Self::brackets`].
    pub bracketing: u64,
}

impl Tally {
    /// How many claims were made.
    pub const fn claims(&self) -> u64 {
        self.right + self.bounds + self.wrong
    }

    /// The share of claims that are wrong, with its interval.
    pub fn wrong_share(&self) -> Option<Interval> {
        proportion(self.wrong, self.claims(), CONFIDENCE)
    }

    /// The share of confidence intervals that hold the truth, with its own.
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

/// One line of the certificate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What came out.
    #[serde(flatten)]
    pub tally: Tally,
}

/// A claim that is wrong, and how to see it again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WrongClaim {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Which device, in the order they were drawn.
    pub device: u64,
    /// What it says and what is true.
    pub why: String,
    /// What makes the same device again, and asks the same.
    pub again: String,
    /// The claim.
    pub claim: Claim,
    /// The truth.
    pub truth: Truth,
}

/// A figure that is worth a look though it claims nothing wrong: it leaves open what a tester could
/// tell, or its interval misses the truth by less than the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noted {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Which device, in the order they were drawn.
    pub device: u64,
    /// What makes the same device again, and asks the same.
    pub again: String,
    /// What it says.
    pub claim: Claim,
    /// The truth.
    pub truth: Truth,
}

/// Something this host can't tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Skipped {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Certificate {
    rows: BTreeMap<Place, Tally>,
    wrong: Vec<WrongClaim>,
    left_open: Vec<Noted>,
    missed: Vec<Noted>,
    skipped: BTreeMap<String, String>,
}

impl Certificate {
    /// Nothing was asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a device's figures, and what is true of it. `again` makes the same device again.
    /// Returns whether some claim is wrong.
    pub fn add(
        &mut self,
        (place, device): (&Place, u64),
        truths: &[Truth],
        figures: &[Figure],
        again: &str,
    ) -> bool {
        let mut tally = Tally { devices: 1, ..Tally::default() };
        let before = self.wrong.len();
        for figure in figures {
            let Some(truth) = truths.iter().find(|truth| truth.is_about(figure)) else { continue };
            let claim = Claim::of(figure);
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

    /// Something could not be told here.
    pub fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.skipped.insert(what.into(), why.into());
    }

    /// By study and kind of device.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(place, tally): (&Place, &Tally)| Row { place: place.clone(), tally: *tally };
        self.rows.iter().map(row).collect()
    }

    /// Of all devices.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.rows.values().for_each(|tally| total.add(tally));
        total
    }

    /// Claims that are not so.
    pub fn wrong(&self) -> &[WrongClaim] {
        &self.wrong
    }

    /// Figures that a tester could tell, and that say nothing or only bound it.
    pub fn left_open(&self) -> &[Noted] {
        &self.left_open
    }

    /// Figures that are right within the tolerance, and whose interval or bracket misses the truth.
    pub fn missed(&self) -> &[Noted] {
        &self.missed
    }

    /// What this host can't tell.
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
        assert!(!certificate.add((&place, 0), &truths, &[figure(1650.0)], "again"));
        assert!(certificate.add((&place, 1), &truths, &[figure(0.0)], "again"));
        let mut cable = figure(3e6);
        cable.set(Key::Path, "bypass");
        assert!(!certificate.add((&place, 2), &truths, &[cable], "again"));
        let total = certificate.total();
        assert_eq!((total.devices, total.asked, total.right, total.wrong), (3, 2, 1, 1));
        assert_eq!((total.reachable, total.reachable_open), (2, 0));
        assert_eq!(certificate.wrong()[0].device, 1);
    }
}
