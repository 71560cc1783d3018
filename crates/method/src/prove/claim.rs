//! What a figure claims: nothing more than what a reader may take from it.
//!
//! Owns how a verdict turns a value into a claim, a bound or nothing. Never knows what is true.

use serde::{Deserialize, Serialize};

use crate::comparison::{Better, better};
use crate::figure::{Condition, Figure, Unit, Verdict};

/// What a figure claims, with the figure itself for whoever looks into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What it says.
    pub says: Says,
    /// Where it says so.
    pub figure: Figure,
}

/// What may be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// A number, the device's own, and where it may lie.
    Value {
        /// The number.
        value: f64,
        /// The interval's or the bracket's lower end; the value itself where there is none.
        low: f64,
        /// The upper end.
        high: f64,
        /// Of an interval; none of a search's bracket, and where there is neither.
        confidence: Option<f64>,
    },
    /// The device's is this or more.
    AtLeast(f64),
    /// The device's is this or less.
    AtMost(f64),
    /// Yes or no.
    Flag(bool),
    /// These ports belong together, by their numbers from 1.
    Groups(Vec<Vec<u32>>),
    /// An answer of a comparison, with the ratio and where it may lie.
    Compared {
        /// `different`, `equivalent`, `inconclusive`.
        decision: String,
        /// What does not matter, as a share.
        margin: f64,
        /// The ratio.
        value: f64,
        /// Its interval.
        low: f64,
        /// Its interval.
        high: f64,
    },
    /// Nothing: the figure leaves it open.
    Nothing,
}

impl Claim {
    /// Of a figure.
    pub fn of(figure: &Figure) -> Self {
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
    let bound = text(figure, "bound");
    match (figure.verdict, bound) {
        (Verdict::Undetermined, Some("at least")) => Says::AtLeast(value),
        (Verdict::Undetermined, Some("at most")) => Says::AtMost(value),
        (Verdict::Undetermined, _) => Says::Nothing,
        (_, Some("at least")) => Says::AtLeast(value),
        (_, Some("at most")) => Says::AtMost(value),
        _ if figure.unit == Unit::Flag => Says::Flag(value != 0.0),
        (Verdict::DeviceLimited, _) => device_value(figure, value),
        // The tester's limit bounds the device from its own side.
        (_, None) => match better(figure.metric) {
            Some(Better::More) => Says::AtLeast(value),
            Some(Better::Less) => Says::AtMost(value),
            None => Says::Nothing,
        },
        (_, Some(_)) => Says::Nothing,
    }
}

fn device_value(figure: &Figure, value: f64) -> Says {
    if let Some(groups) = text(figure, "groups").and_then(groups) {
        return Says::Groups(groups);
    }
    let low = figure.low.unwrap_or(value).min(value);
    let high = figure.high.unwrap_or(value).max(value);
    Says::Value { value, low, high, confidence: figure.confidence }
}

/// A figure with one end only says that much.
fn without_value(figure: &Figure) -> Says {
    match (figure.low, figure.high) {
        (None, Some(high)) => Says::AtMost(high),
        (Some(low), None) => Says::AtLeast(low),
        _ => Says::Nothing,
    }
}

fn compared(figure: &Figure) -> Option<Says> {
    let decision = text(figure, "decision")?.to_owned();
    let Some(Condition::Number(margin)) = figure.conditions.get("margin") else { return None };
    let value = figure.value?;
    let (low, high) = (figure.low.unwrap_or(value), figure.high.unwrap_or(value));
    Some(Says::Compared { decision, margin: *margin, value, low, high })
}

fn text<'a>(figure: &'a Figure, name: &str) -> Option<&'a str> {
    match figure.conditions.get(name) {
        Some(Condition::Text(text)) => Some(text),
        _ => None,
    }
}

/// `1-12; 13-24,27`, as `port_groups` lists them.
fn groups(text: &str) -> Option<Vec<Vec<u32>>> {
    text.split(';').map(group).collect()
}

fn group(text: &str) -> Option<Vec<u32>> {
    let mut ports = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        ports.extend(first..=last);
    }
    Some(ports)
}
