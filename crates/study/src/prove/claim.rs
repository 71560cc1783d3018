//! Claim of a figure: exactly what a reader may conclude from it.
//!
//! Owns how a verdict turns a value into a claim, a bound or nothing. Never knows the true value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::comparison::{Better, better};
use page::{AT_LEAST, AT_MOST, Caveat, Condition, Figure, Key, Metric, Unit, Verdict};

/// Claim of a figure, with the figure itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Claimed value or bound.
    pub says: Says,
    /// Figure that makes the claim.
    pub figure: Figure,
}

/// Possible claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// Number of the device's own, with its range.
    Value {
        /// The number.
        value: f64,
        /// Lower end of the interval or bracket; the value itself without one.
        low: f64,
        /// Upper end.
        high: f64,
        /// Confidence of the interval; `None` for a search's bracket, and without either.
        confidence: Option<f64>,
    },
    /// Lower bound of the device's value.
    AtLeast(f64),
    /// Upper bound of the device's value.
    AtMost(f64),
    /// Yes or no.
    Flag(bool),
    /// Groups of ports, numbered from 1.
    Groups(Vec<Vec<u32>>),
    /// Answer of a comparison, with the ratio and its interval.
    Compared {
        /// Decision: `different`, `equivalent`, `inconclusive`.
        decision: String,
        /// Relative difference that does not matter.
        margin: f64,
        /// The ratio.
        value: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end of its interval.
        high: f64,
    },
    /// Nothing: the figure leaves the value open.
    Nothing,
}

impl Claim {
    /// Derives the claim of a figure.
    pub fn from_figure(figure: &Figure) -> Self {
        Self { says: says(figure), figure: figure.clone() }
    }
}

fn says(figure: &Figure) -> Says {
    if let Some(compared) = compared(figure) {
        return compared;
    }
    let Some(value) = figure.value.filter(|value| value.is_finite()) else {
        return without_value(figure);
    };
    let bound = figure.text(Key::Bound);
    match (figure.verdict, bound) {
        (Verdict::Undetermined, Some(AT_LEAST)) => Says::AtLeast(value),
        (Verdict::Undetermined, Some(AT_MOST)) => Says::AtMost(value),
        (Verdict::Undetermined, _) => Says::Nothing,
        (_, Some(AT_LEAST)) => Says::AtLeast(value),
        (_, Some(AT_MOST)) => Says::AtMost(value),
        _ if figure.unit == Unit::Flag => Says::Flag(value != 0.0),
        (Verdict::DeviceLimited, _) => device_value(figure, value),
        // A limit of the tester bounds the device from one side.
        (_, None) => match better(figure.metric) {
            Some(Better::More) => Says::AtLeast(value),
            Some(Better::Less) => Says::AtMost(value),
            None => Says::Nothing,
        },
        (_, Some(_)) => Says::Nothing,
    }
}

fn device_value(figure: &Figure, value: f64) -> Says {
    if let Some(Condition::OfPorts(groups)) = figure.conditions.get(&Key::GroupOfPorts) {
        // Groups that are not resolved well enough are shown, not claimed.
        let resolved = !figure.caveats.contains(&Caveat::NotResolved);
        return if resolved { Says::Groups(together(groups)) } else { Says::Nothing };
    }
    let low = figure.low.unwrap_or(value).min(value);
    let high = figure.high.unwrap_or(value).max(value);
    Says::Value { value, low, high, confidence: figure.confidence }
}

/// Least oversubscription of a device with port groups, as drawn.
const OVERSUBSCRIBED: f64 = 0.3;

/// Claim of a figure without a value: a single end is a bound. A figure that would have shown
/// groups claims that there are none.
fn without_value(figure: &Figure) -> Says {
    let seen = figure.number(Key::ExcessSeen).filter(|_| figure.metric == Metric::PortGroups);
    if figure.verdict == Verdict::TesterLimited && seen.is_some_and(|seen| seen < OVERSUBSCRIBED) {
        return Says::Groups(Vec::new());
    }
    match (figure.low, figure.high) {
        (None, Some(high)) => Says::AtMost(high),
        (Some(low), None) => Says::AtLeast(low),
        _ => Says::Nothing,
    }
}

fn compared(figure: &Figure) -> Option<Says> {
    let decision = figure.text(Key::Decision)?.to_owned();
    let Some(Condition::Number(margin)) = figure.conditions.get(&Key::Margin) else { return None };
    let value = figure.value?;
    let (low, high) = (figure.low.unwrap_or(value), figure.high.unwrap_or(value));
    Some(Says::Compared { decision, margin: *margin, value, low, high })
}

/// Collects the ports of each group from the group of each port, in the device's order.
fn together(of_ports: &[Option<u32>]) -> Vec<Vec<u32>> {
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (group, port) in of_ports.iter().zip(1..) {
        if let Some(group) = group {
            groups.entry(*group).or_default().push(port);
        }
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: Option<f64>, verdict: Verdict) -> Figure {
        Figure {
            n: 1,
            blocks: 1,
            verdict,
            ..Figure::new(Metric::Throughput, Unit::FramesPerSecond, value)
        }
    }

    #[test]
    fn a_verdict_turns_a_value_into_a_claim_a_bound_or_nothing() {
        let own = figure(Some(5.0), Verdict::DeviceLimited);
        let value = Says::Value { value: 5.0, low: 5.0, high: 5.0, confidence: None };
        assert_eq!(says(&own), value);
        assert_eq!(says(&figure(Some(5.0), Verdict::TesterLimited)), Says::AtLeast(5.0));
        assert_eq!(says(&figure(Some(5.0), Verdict::LinkLimited)), Says::AtLeast(5.0));
        assert_eq!(says(&figure(Some(5.0), Verdict::Undetermined)), Says::Nothing);
        let delay = Figure { metric: Metric::Rtt, ..figure(Some(5.0), Verdict::TesterLimited) };
        assert_eq!(says(&delay), Says::AtMost(5.0));
        let below = Figure { high: Some(7.0), ..figure(None, Verdict::Undetermined) };
        assert_eq!(says(&below), Says::AtMost(7.0));
        let mut bound = own;
        bound.set(Key::Bound, AT_LEAST);
        assert_eq!(says(&bound), Says::AtLeast(5.0));
    }

    #[test]
    fn a_promise_that_groups_would_have_shown_is_a_claim() {
        let mut promise = figure(None, Verdict::TesterLimited);
        promise.metric = Metric::PortGroups;
        assert_eq!(says(&promise), Says::Nothing);
        promise.set(Key::ExcessSeen, 0.136);
        assert_eq!(says(&promise), Says::Groups(Vec::new()));
        promise.set(Key::ExcessSeen, 0.4);
        assert_eq!(says(&promise), Says::Nothing);
    }

    #[test]
    fn groups_are_read_as_they_are_written() {
        let of_ports = [Some(1), Some(1), Some(2), None, Some(2)];
        assert_eq!(together(&of_ports), [vec![1, 2], vec![3, 5]]);
    }
}
