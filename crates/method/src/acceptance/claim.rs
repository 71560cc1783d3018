//! One claim of a data sheet: which figures it is about, and what they have to keep.
//!
//! Data only. How a claim is written is a file's matter; whether it is kept is `decision`'s.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::measurable::measurable;
use page::{Condition, Conditions, Figure, Key, Metric, Unit};

/// What a data sheet claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SheetClaim {
    /// As it is written: `line rate at 64 octets`.
    pub text: String,
    /// Of which figures.
    pub about: About,
    /// What they have to keep.
    pub keeps: Keeps,
    /// Less than this share beside the claimed value does not matter; 0 where nothing is said.
    #[serde(default)]
    pub margin: f64,
    /// Who claims it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Which figures a claim is about, and how they are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Of this metric.
    pub metric: Metric,
    /// Of a distribution: of this point of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// With all of these conditions.
    #[serde(
        rename = "where",
        default,
        deserialize_with = "page::read_conditions",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub conditions: Conditions,
    /// In which quantity the claim is stated.
    pub reading: Reading,
}

/// In which quantity a claim is stated, where data sheets have another than figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The figure's own.
    Itself,
    /// A rate as a share of line rate.
    ShareOfLine,
    /// One way of a round trip: half of it, from the first bit in to the first bit out. Where a
    /// claim does not say so, the other convention of RFC 1242 §3.8 is meant as well.
    OneWay,
    /// The same, of a claim that says so: RFC 1242's for devices that cut through.
    FromFirstBit,
    /// From the last bit in to the first bit out, a frame's time less: RFC 1242's for devices that
    /// store and forward.
    FromLastBit,
    /// A rate of frames on all ports as what data sheets call switching capacity: bits on the wire,
    /// in and out.
    SwitchingCapacity,
    /// The whole device's buffer, which one output's is a part of.
    WholeBuffer,
}

/// What has to hold of the device's value, in the unit of the reading.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keeps {
    /// It is this or more.
    AtLeast(f64),
    /// It is this or less.
    AtMost(f64),
    /// It is this: of counts and of yes or no.
    Is(f64),
}

impl Keeps {
    /// The claimed value.
    pub const fn value(self) -> f64 {
        match self {
            Self::AtLeast(value) | Self::AtMost(value) | Self::Is(value) => value,
        }
    }

    /// `at least`, `at most`, `is`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast(_) => "at least",
            Self::AtMost(_) => "at most",
            Self::Is(_) => "is",
        }
    }
}

impl About {
    /// Of every figure of that metric; name conditions to narrow it.
    pub const fn new(metric: Metric) -> Self {
        let conditions = Conditions::new();
        Self { metric, quantile: None, conditions, reading: Reading::Itself }
    }

    /// Of figures with this condition only.
    #[must_use]
    pub fn at(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.conditions.insert(key, value.into());
        self
    }

    /// Read so.
    #[must_use]
    pub fn read(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// The unit of the claimed value.
    pub fn unit(&self) -> Unit {
        match self.reading {
            Reading::ShareOfLine => Unit::Ratio,
            Reading::SwitchingCapacity => Unit::BitsPerSecond,
            _ => measurable(self.metric).map_or(Unit::Count, |known| known.unit),
        }
    }

    /// Whether the figure is about it: through the device, never over the direct cable.
    pub fn is_about(&self, figure: &Figure) -> bool {
        let same = |(key, value): (&Key, &Condition)| figure.conditions.get(key) == Some(value);
        self.metric == figure.metric
            && measurable(self.metric).is_some_and(|known| known.unit == figure.unit)
            && self.quantile == figure.quantile
            && !figure.is_bypass()
            && self.conditions.iter().all(same)
    }

    /// A condition that is a name.
    pub(super) fn text(&self, key: &Key) -> Option<&str> {
        match self.conditions.get(key) {
            Some(Condition::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A condition that is a count or a size.
    pub(super) fn integer(&self, key: &Key) -> Option<u64> {
        match self.conditions.get(key) {
            Some(Condition::Integer(number)) => Some(*number),
            _ => None,
        }
    }
}
