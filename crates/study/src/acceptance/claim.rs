//! Claim of a data sheet: the figures that it is about, and the condition that they must meet.
//!
//! Data only. The notation of claims belongs to the file format; `decision` decides whether they
//! are met.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::measurable::measurable;
use page::{Condition, Conditions, Figure, Key, Metric, Unit};

/// Claim of a data sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SheetClaim {
    /// Claim as written: `line rate at 64 octets`.
    pub text: String,
    /// Figures that the claim is about.
    pub about: About,
    /// Condition that these figures must meet.
    pub keeps: Keeps,
    /// Relative difference from the claimed value that does not matter; 0 if nothing is stated.
    #[serde(default)]
    pub margin: f64,
    /// Source of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Figures that a claim is about, and how they are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Metric of the figures.
    pub metric: Metric,
    /// Quantile of a distribution; `None` for other figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Conditions that a figure must have, all of them.
    #[serde(
        rename = "where",
        default,
        deserialize_with = "page::read_conditions",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub conditions: Conditions,
    /// Quantity in which the claim is stated.
    pub reading: Reading,
}

/// Quantity in which a claim is stated, where data sheets use a different one than figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The figure's own quantity.
    Itself,
    /// Rate as a share of line rate.
    ShareOfLine,
    /// One-way delay as half of a round trip, from first bit in to first bit out. Without a stated
    /// convention, the other one of RFC 1242 §3.8 may be meant as well.
    OneWay,
    /// One-way delay of a claim that states this convention: RFC 1242's for cut-through devices.
    FromFirstBit,
    /// One-way delay from last bit in to first bit out, shorter by the frame time: RFC 1242's for
    /// store-and-forward devices.
    FromLastBit,
    /// Switching capacity, as data sheets call it: the frame rate of all ports in bits on the wire,
    /// in and out.
    SwitchingCapacity,
    /// Buffer of the whole device, of which one output's buffer is a part.
    WholeBuffer,
}

/// Condition on the device's value, in the unit of the reading.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keeps {
    /// The value is this or more.
    AtLeast(f64),
    /// The value is this or less.
    AtMost(f64),
    /// The value is exactly this: for counts and for yes or no.
    Is(f64),
}

impl Keeps {
    /// Claimed value.
    pub const fn value(self) -> f64 {
        match self {
            Self::AtLeast(value) | Self::AtMost(value) | Self::Is(value) => value,
        }
    }

    /// Condition in words: `at least`, `at most`, `is`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast(_) => "at least",
            Self::AtMost(_) => "at most",
            Self::Is(_) => "is",
        }
    }
}

impl About {
    /// Selects every figure of that metric; add conditions to narrow it.
    pub const fn new(metric: Metric) -> Self {
        let conditions = Conditions::new();
        Self { metric, quantile: None, conditions, reading: Reading::Itself }
    }

    /// Adds a condition.
    #[must_use]
    pub fn at(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.conditions.insert(key, value.into());
        self
    }

    /// Sets the quantity in which the claim is stated.
    #[must_use]
    pub fn read(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// Unit of the claimed value.
    pub fn unit(&self) -> Unit {
        match self.reading {
            Reading::ShareOfLine => Unit::Ratio,
            Reading::SwitchingCapacity => Unit::BitsPerSecond,
            _ => measurable(self.metric).map_or(Unit::Count, |known| known.unit),
        }
    }

    /// True if the claim is about this figure; figures over the direct cable never count.
    pub fn is_about(&self, figure: &Figure) -> bool {
        let same = |(key, value): (&Key, &Condition)| figure.conditions.get(key) == Some(value);
        self.metric == figure.metric
            && measurable(self.metric).is_some_and(|known| known.unit == figure.unit)
            && self.quantile == figure.quantile
            && !figure.is_bypass()
            && self.conditions.iter().all(same)
    }

    /// Condition as text; `None` for other types.
    pub(super) fn text(&self, key: &Key) -> Option<&str> {
        match self.conditions.get(key) {
            Some(Condition::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Condition as a count or a size; `None` for other types.
    pub(super) fn integer(&self, key: &Key) -> Option<u64> {
        match self.conditions.get(key) {
            Some(Condition::Integer(number)) => Some(*number),
            _ => None,
        }
    }
}
