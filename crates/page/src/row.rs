//! A figure: one row shape for JSON, CSV, the terminal and the report. Every figure carries its n,
//! an interval, its conditions, a verdict and its caveats. Never computes one: studies do, and a
//! report only shows them.

use std::collections::BTreeMap;

use measure::Interval;
use serde::{Deserialize, Serialize};

use crate::{Caveat, Metric, Unit, Verdict};

/// One measured value and everything that must stand beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured.
    pub metric: Metric,
    /// For a point of a distribution: 0…1, with 0 the minimum and 1 the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Base unit of value, low and high.
    pub unit: Unit,
    /// The value; `None` where the procedure ended without one (a caveat says why).
    pub value: Option<f64>,
    /// The interval's lower end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The interval's upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The confidence of the interval, 0…1; none of a search's bracket or a range, which the
    /// condition `interval` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Samples behind it: packets for a distribution, trials for a search.
    pub n: u64,
    /// Blocks behind it: the sampling unit.
    pub blocks: u32,
    /// Under which conditions: `protocol`, `frame_size`, `from`, `to`, `device`, `path`, `load`…
    #[serde(rename = "where")]
    pub conditions: BTreeMap<String, Condition>,
    /// Whose limit it shows.
    pub verdict: Verdict,
    /// Every doubt.
    pub caveats: Vec<Caveat>,
}

/// Below this an interval is not one: its ends are only the smallest and the largest that were
/// seen.
pub const LEAST_CONFIDENCE: f64 = 0.90;

/// What the condition `interval` says of such ends.
pub const RANGE: &str = "range";

impl Figure {
    /// Takes an interval's ends. So few repetitions that their whole range covers the truth less
    /// often than [`LEAST_CONFIDENCE`] have no interval, only that [`RANGE`]; a single one has not
    /// even that.
    pub fn set_interval(&mut self, interval: Option<Interval>) {
        let interval = interval.filter(|i| i.confidence > 0.0 || i.low < i.high);
        self.low = interval.map(|i| i.low);
        self.high = interval.map(|i| i.high);
        self.confidence = interval.map(|i| i.confidence).filter(|c| *c >= LEAST_CONFIDENCE);
        if interval.is_some() && self.confidence.is_none() {
            self.conditions.insert("interval".to_owned(), RANGE.into());
        }
    }

    /// A condition that is a name.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.conditions.get(name)? {
            Condition::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A condition that is a number, whole or not.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.conditions.get(name)? {
            Condition::Integer(number) => Some(*number as f64),
            Condition::Number(number) => Some(*number),
            Condition::Flag(_) | Condition::Text(_) => None,
        }
    }

    /// A condition that is a count or a size.
    pub fn integer(&self, name: &str) -> Option<u64> {
        match self.conditions.get(name)? {
            Condition::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether it was measured over the direct cable.
    pub fn is_bypass(&self) -> bool {
        self.text("path") == Some("bypass")
    }
}

/// The value of one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Condition {
    /// A yes or no.
    Flag(bool),
    /// A count or size.
    Integer(u64),
    /// A share or rate.
    Number(f64),
    /// A name.
    Text(String),
}

impl From<&str> for Condition {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Condition {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Condition {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Condition {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}
