//! Judgement of a claim against the known value: right, a true bound, wrong, or open.
//!
//! Owns the one tolerance. A claim is wrong if no value that it allows is true, not if its value is
//! slightly off.

use serde::{Deserialize, Serialize};

use super::{Claim, Known, Says, Truth};
use page::{Figure, Key, LEAST_CONFIDENCE, Unit, Verdict};

/// Tolerance of a claim beyond its own interval, relative to the known value; absolute for a ratio.
pub const TOLERANCE: f64 = 0.01;

/// Judgement of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The claim is right.
    Right,
    /// The claim bounds the value, and the bound is true; the value itself stays open.
    Bound,
    /// The claim is wrong; holds the reason.
    Wrong(String),
    /// The figure claims nothing.
    Open,
}

/// Claim with its judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The judgement.
    pub judgement: Judgement,
    /// True if a confidence interval contains the known value, without any tolerance; `None`
    /// without one.
    pub covered: Option<bool>,
    /// True if a search's bracket contains the known value, without any tolerance; `None` without
    /// one.
    pub bracketed: Option<bool>,
}

/// Judges a claim against the known value of the same figure.
pub fn judge(claim: &Claim, truth: &Truth) -> Judged {
    let plain = |judgement| Judged { judgement, covered: None, bracketed: None };
    if let Known::FillsLink(full) = truth.known {
        return plain(limit(claim.figure.verdict, full));
    }
    let Some(range) = Range::from_known(&truth.known, &claim.figure) else {
        return plain(other(&claim.says, &truth.known));
    };
    match claim.says {
        Says::Value { value, low, high, confidence } => {
            let within = range.meets(low, high);
            let judgement = if range.meets_about(low, high) {
                Judgement::Right
            } else {
                Judgement::Wrong(format!("says {}, true is {range}", ends(value, low, high)))
            };
            // A model without noise repeats itself: an interval of width zero says nothing about
            // chance.
            let confident = low < high && confidence.is_some_and(|c| c >= LEAST_CONFIDENCE);
            let bracket = claim.figure.text(Key::Interval) == Some(page::BRACKET);
            Judged {
                judgement,
                covered: confident.then_some(within),
                bracketed: bracket.then_some(within),
            }
        }
        Says::AtLeast(value) if range.is_about_at_least(value) => plain(Judgement::Bound),
        Says::AtLeast(value) => {
            plain(Judgement::Wrong(format!("says at least {value:.6}, true is {range}")))
        }
        // A share of at most 0 is a share of 0.
        Says::AtMost(value) if range.is_about_at_most(value) && is_none(claim, value) => {
            plain(Judgement::Right)
        }
        Says::AtMost(value) if range.is_about_at_most(value) => plain(Judgement::Bound),
        Says::AtMost(value) => {
            plain(Judgement::Wrong(format!("says at most {value:.6}, true is {range}")))
        }
        Says::Nothing | Says::Flag(_) | Says::Groups(_) | Says::Compared { .. } => {
            plain(Judgement::Open)
        }
    }
}

fn is_none(claim: &Claim, value: f64) -> bool {
    value == 0.0 && claim.figure.unit == Unit::Ratio
}

/// Judges the stated limit, given whether a link is full.
fn limit(said: Verdict, full: bool) -> Judgement {
    match (said, full) {
        (Verdict::LinkLimited, true) | (Verdict::DeviceLimited | Verdict::TesterLimited, false) => {
            Judgement::Right
        }
        (Verdict::LinkLimited, false) => Judgement::Wrong("says link, which is not full".into()),
        (Verdict::DeviceLimited, true) => {
            Judgement::Wrong("says device, where the link is full".into())
        }
        (Verdict::TesterLimited | Verdict::Undetermined, _) => Judgement::Open,
    }
}

fn ends(value: f64, low: f64, high: f64) -> String {
    if low < high { format!("{value:.6} ({low:.6}…{high:.6})") } else { format!("{value:.6}") }
}

/// Judges claims other than numbers, and numbers where none is known.
fn other(says: &Says, known: &Known) -> Judgement {
    match (says, known) {
        (Says::Flag(said), Known::Flag(truth)) if said == truth => Judgement::Right,
        (Says::Flag(said), Known::Flag(_)) => {
            Judgement::Wrong(format!("says {}", if *said { "yes" } else { "no" }))
        }
        (Says::Groups(said), Known::Groups(truth)) if sorted(said) == sorted(truth) => {
            Judgement::Right
        }
        (Says::Groups(said), Known::Groups(truth)) => {
            Judgement::Wrong(format!("says {said:?}, true is {truth:?}"))
        }
        (Says::AtLeast(value), Known::Unlimited { reach }) => {
            if *value <= reach * (1.0 + TOLERANCE) {
                Judgement::Bound
            } else {
                Judgement::Wrong(format!("says at least {value:.6}, a link carries {reach:.6}"))
            }
        }
        (Says::Value { value, low, high, .. }, Known::Unlimited { reach }) => {
            let said = ends(*value, *low, *high);
            Judgement::Wrong(format!("says {said}, and there is no limit below {reach:.6}"))
        }
        (Says::Compared { .. }, Known::TimesAsMuch { ratio }) => compared(says, *ratio),
        _ => Judgement::Open,
    }
}

/// Judges the answer of a comparison: whether a difference matters, and how large it is.
fn compared(says: &Says, ratio: f64) -> Judgement {
    let Says::Compared { decision, margin, value, low, high } = says else {
        return Judgement::Open;
    };
    let apart = ratio.max(1.0 / ratio) - 1.0;
    let said = format!("says {decision}, {}, true is {ratio:.6}", ends(*value, *low, *high));
    let holds = match decision.as_str() {
        // A difference equal to the margin may be called either.
        "different" => {
            let range = Range { low: ratio, high: ratio, slack: ratio * TOLERANCE };
            apart > margin * 0.5 && range.meets_about(*low, *high)
        }
        "equivalent" => apart < margin + TOLERANCE,
        _ => return Judgement::Open,
    };
    if holds { Judgement::Right } else { Judgement::Wrong(said) }
}

fn sorted(groups: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = groups.to_vec();
    for group in &mut all {
        group.sort_unstable();
    }
    all.sort();
    all
}

/// Range of the true value, with the tolerance of a claim.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
    slack: f64,
}

impl Range {
    /// Range of a known value; `None` if it is not a number.
    fn from_known(known: &Known, figure: &Figure) -> Option<Self> {
        match known {
            Known::Number { low, high } => {
                let slack = if figure.unit == Unit::Ratio { TOLERANCE } else { TOLERANCE * high };
                Some(Self { low: *low, high: *high, slack })
            }
            Known::Loss { limit, random } => {
                let load = figure.number(Key::OfferedRate)?;
                let lost = 1.0 - (load * (1.0 - random)).min(*limit) / load;
                Some(Self { low: lost, high: lost, slack: TOLERANCE })
            }
            Known::Unlimited { .. }
            | Known::FillsLink(_)
            | Known::Flag(_)
            | Known::Groups(_)
            | Known::TimesAsMuch { .. } => None,
        }
    }

    fn meets(self, low: f64, high: f64) -> bool {
        low <= self.high && self.low <= high
    }

    fn meets_about(self, low: f64, high: f64) -> bool {
        self.meets(low - self.slack, high + self.slack)
    }

    fn is_about_at_least(self, value: f64) -> bool {
        self.high + self.slack >= value
    }

    fn is_about_at_most(self, value: f64) -> bool {
        self.low - self.slack <= value
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.low < self.high {
            write!(f, "{:.6}…{:.6}", self.low, self.high)
        } else {
            write!(f, "{:.6}", self.low)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use page::Metric;

    fn claim(says: Says) -> Claim {
        let figure = Figure {
            n: 1,
            blocks: 1,
            conditions: BTreeMap::from([
                (Key::OfferedRate, 200.0.into()),
                (Key::Interval, page::BRACKET.into()),
            ]),
            verdict: Verdict::DeviceLimited,
            ..Figure::new(Metric::Throughput, Unit::FramesPerSecond, None)
        };
        Claim { says, figure }
    }

    fn value(value: f64, low: f64, high: f64) -> Says {
        Says::Value { value, low, high, confidence: None }
    }

    /// What becomes of it: `right`, `bound`, `wrong` or `open`.
    fn check(says: Says, known: Known, expected: &str) {
        let what = format!("{says:?} {known:?}");
        let truth = Truth::new(Metric::Throughput, Unit::FramesPerSecond, known);
        let found = match judge(&claim(says), &truth).judgement {
            Judgement::Right => "right",
            Judgement::Bound => "bound",
            Judgement::Wrong(_) => "wrong",
            Judgement::Open => "open",
        };
        assert_eq!(found, expected, "{what}");
    }

    #[test]
    fn numbers_are_held_against_numbers() {
        let exactly = |truth: f64| Known::Number { low: truth, high: truth };
        check(value(100.0, 100.0, 100.5), exactly(100.9), "right");
        check(value(100.0, 100.0, 100.5), exactly(102.0), "wrong");
        check(value(0.0, 0.0, 1800.0), exactly(1651.0), "right");
        check(value(0.0, 0.0, 0.0), exactly(1651.0), "wrong");
        check(value(50.0, 40.0, 60.0), Known::Number { low: 20.0, high: 45.0 }, "right");
        check(Says::AtLeast(100.9), exactly(100.0), "bound");
        check(Says::AtLeast(101.1), exactly(100.0), "wrong");
        check(Says::AtMost(98.9), exactly(100.0), "wrong");
        check(Says::AtMost(99.1), exactly(100.0), "bound");
        check(Says::Nothing, exactly(100.0), "open");
    }

    #[test]
    fn a_device_without_a_limit_has_none() {
        let unlimited = || Known::Unlimited { reach: 100.0 };
        check(value(80.0, 80.0, 81.0), unlimited(), "wrong");
        check(value(100.0, 100.0, 100.0), unlimited(), "wrong");
        check(Says::AtLeast(100.0), unlimited(), "bound");
        check(Says::AtLeast(102.0), unlimited(), "wrong");
    }

    #[test]
    fn a_loss_follows_from_its_load() {
        let loss = || Known::Loss { limit: 100.0, random: 0.0 };
        check(value(0.5, 0.5, 0.5), loss(), "right");
        check(value(0.33, 0.33, 0.33), loss(), "wrong");
    }

    #[test]
    fn a_share_of_at_most_none_is_one_of_none() {
        let of = |says| {
            let mut claim = claim(says);
            claim.figure.unit = Unit::Ratio;
            let none = Known::Number { low: 0.0, high: 0.0 };
            judge(&claim, &Truth::new(Metric::LossRatio, Unit::Ratio, none)).judgement
        };
        assert_eq!(of(Says::AtMost(0.0)), Judgement::Right);
        assert_eq!(of(Says::AtMost(0.001)), Judgement::Bound);
    }

    #[test]
    fn answers_are_held_against_answers() {
        check(Says::Flag(true), Known::Flag(true), "right");
        check(Says::Flag(true), Known::Flag(false), "wrong");
        let groups = || vec![vec![3, 1], vec![2, 4]];
        check(Says::Groups(groups()), Known::Groups(vec![vec![2, 4], vec![1, 3]]), "right");
        check(Says::Groups(groups()), Known::Groups(vec![vec![1, 2, 3, 4]]), "wrong");
        let compared = |decision: &str, value: f64| Says::Compared {
            decision: decision.to_owned(),
            margin: 0.01,
            value,
            low: value,
            high: value,
        };
        let times = |ratio| Known::TimesAsMuch { ratio };
        check(compared("different", 1.5), times(1.5), "right");
        check(compared("different", 1.5), times(1.0), "wrong");
        check(compared("equivalent", 1.0), times(1.0), "right");
        check(compared("equivalent", 1.0), times(1.5), "wrong");
        check(compared("inconclusive", 1.0), times(1.5), "open");
    }

    #[test]
    fn a_full_link_is_the_links() {
        let said = |verdict, full| {
            let mut claim = claim(value(1.0, 1.0, 1.0));
            claim.figure.verdict = verdict;
            let truth = Truth::new(Metric::Iops, Unit::OperationsPerSecond, Known::FillsLink(full));
            judge(&claim, &truth).judgement
        };
        assert_eq!(said(Verdict::LinkLimited, true), Judgement::Right);
        assert!(matches!(said(Verdict::LinkLimited, false), Judgement::Wrong(_)));
        assert!(matches!(said(Verdict::DeviceLimited, true), Judgement::Wrong(_)));
        assert_eq!(said(Verdict::Undetermined, true), Judgement::Open);
    }

    #[test]
    fn coverage_knows_no_tolerance() {
        let truth = Known::Number { low: 100.0, high: 100.0 };
        let truth = Truth::new(Metric::Throughput, Unit::FramesPerSecond, truth);
        let held = |low: f64, confidence| {
            let says = Says::Value { value: low, low, high: 101.0, confidence };
            let mut claim = claim(says);
            if confidence.is_some() {
                claim.figure.conditions.remove(&Key::Interval);
            }
            let judged = judge(&claim, &truth);
            (judged.covered, judged.bracketed)
        };
        assert_eq!(held(99.9, Some(0.95)), (Some(true), None));
        assert_eq!(held(100.1, Some(0.95)), (Some(false), None));
        assert_eq!(held(99.9, Some(0.5)), (None, None));
        assert_eq!(held(99.9, None), (None, Some(true)));
    }
}
