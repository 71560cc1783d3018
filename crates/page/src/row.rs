//! Figures: one row form for JSON, CSV, the terminal and the report. Every figure carries its n, an
//! interval, its conditions, a verdict and its caveats. Never computes one: studies do.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU16;

use measure::Interval;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Caveat, Key, Metric, Role, Trials, Unit, Verdict};
use crate::{phrase, words};

/// Version of the rows' form in JSON; a change that breaks readers takes the next number.
pub const SCHEMA: &str = "switchmark/3";

/// Place of a figure in its run: rows of two studies never replace each other, whatever their
/// conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CaseId {
    /// Number of the study in the run, from 1 in the plan's order.
    pub study: NonZeroU16,
    /// Number of the case in the study, from 1; 0 if unknown, as in rows of 0.2.
    #[serde(default)]
    pub index: u32,
}

impl CaseId {
    /// Numbers each study's rows and their cases in order. Rows with the same identifying and place
    /// conditions form a case.
    pub fn number<'a>(rows: impl IntoIterator<Item = &'a mut Figure>) {
        let mut known: BTreeMap<NonZeroU16, BTreeMap<String, u32>> = BTreeMap::new();
        let mut count: BTreeMap<NonZeroU16, u32> = BTreeMap::new();
        for row in rows {
            let number = count.entry(row.case.study).or_default();
            *number += 1;
            row.row = *number;
            let of_case = |(key, said): (&Key, &Condition)| {
                matches!(key.role(), Role::Identifies | Role::Place)
                    .then(|| format!("{key}\0{said}\0"))
            };
            let own: String = row.conditions.iter().filter_map(of_case).collect();
            let cases = known.entry(row.case.study).or_default();
            let next = cases.len() as u32 + 1;
            row.case.index = *cases.entry(own).or_insert(next);
        }
    }
}

impl Default for CaseId {
    fn default() -> Self {
        Self { study: NonZeroU16::MIN, index: 0 }
    }
}

/// Identifier of a run's row: `3.17` is the third study's seventeenth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// Study that the row belongs to, from 1 in the plan's order.
    pub study: NonZeroU16,
    /// Number of the row in its study, from 1.
    pub row: u32,
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.study, self.row)
    }
}

/// Measured value with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Place in the run.
    #[serde(default)]
    pub case: CaseId,
    /// Number of the row in its study, from 1; 0 for a value that is no run's row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub row: u32,
    /// Measured quantity.
    pub metric: Metric,
    /// Quantile of a distribution, 0…1, with 0 the minimum and 1 the maximum; `None` for other
    /// values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Base unit of value, low and high.
    pub unit: Unit,
    /// Value; `None` if the procedure ended without one (a caveat says why).
    pub value: Option<f64>,
    /// Lower end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the interval, 0…1; `None` for a search's bracket or a range, which the
    /// condition `interval` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Number of samples: packets for a distribution, trials for a search.
    pub n: u64,
    /// Number of blocks: the sampling unit.
    pub blocks: u32,
    /// Conditions: `protocol`, `frame_size`, `from`, `to`, `device`, `path`, `load`…
    #[serde(rename = "where", deserialize_with = "read_conditions")]
    pub conditions: Conditions,
    /// Limit that the figure shows.
    pub verdict: Verdict,
    /// All caveats.
    pub caveats: Vec<Caveat>,
    /// Trials behind the value, if known.
    #[serde(default, skip_serializing_if = "Trials::is_empty")]
    pub trials: Trials,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
const fn is_zero(row: &u32) -> bool {
    *row == 0
}

/// Confidence below which an interval is only a range: its ends are the smallest and the largest
/// value seen.
pub const LEAST_CONFIDENCE: f64 = 0.90;

/// Value of the condition `interval` for a range.
pub const RANGE: &str = "range";

/// Value of the condition `interval` for the loads between which a search ended.
pub const BRACKET: &str = "search-bracket";

/// Value of the condition `bound` for a lower bound.
pub const AT_LEAST: &str = "at-least";

/// Value of the condition `bound` for an upper bound.
pub const AT_MOST: &str = "at-most";

/// Value of the condition `device` for a direct cable's own figures.
pub const CABLE: &str = "cable";

/// Observation point if the device, not a host, counts the received frames.
pub const DEVICE: &str = "device";

impl Figure {
    /// Creates a figure from a value alone: no interval, no samples, no conditions, undetermined
    /// limit.
    pub fn new(metric: Metric, unit: Unit, value: Option<f64>) -> Self {
        Self {
            case: CaseId::default(),
            row: 0,
            metric,
            quantile: None,
            unit,
            value,
            low: None,
            high: None,
            confidence: None,
            n: 0,
            blocks: 0,
            conditions: Conditions::new(),
            verdict: Verdict::Undetermined,
            caveats: Vec::new(),
            trials: Trials::default(),
        }
    }

    /// Sets the interval. Below a confidence of [`LEAST_CONFIDENCE`] the ends are only a [`RANGE`];
    /// a single repetition has not even that.
    pub fn set_interval(&mut self, interval: Option<Interval>) {
        let interval = interval.filter(|i| i.confidence > 0.0 || i.low < i.high);
        self.low = interval.map(|i| i.low);
        self.high = interval.map(|i| i.high);
        self.confidence = interval.map(|i| i.confidence).filter(|c| *c >= LEAST_CONFIDENCE);
        if interval.is_some() && self.confidence.is_none() {
            self.set(Key::Interval, RANGE);
        }
    }

    /// Identifier of the row; `None` for a value that is no run's row.
    pub fn id(&self) -> Option<RowId> {
        (self.row > 0).then_some(RowId { study: self.case.study, row: self.row })
    }

    /// Sets a condition.
    pub fn set(&mut self, key: Key, value: impl Into<Condition>) {
        self.conditions.insert(key, value.into());
    }

    /// Adds a condition.
    #[must_use]
    pub fn with(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.set(key, value);
        self
    }

    /// Adds a caveat, unless it is there already.
    pub fn doubt(&mut self, caveat: Caveat) {
        if !self.caveats.contains(&caveat) {
            self.caveats.push(caveat);
            self.caveats.sort();
        }
    }

    /// Condition in words for sentences and tables.
    pub fn condition_text(&self, key: impl Borrow<Key>) -> Option<String> {
        phrase::condition(&self.conditions, key.borrow())
    }

    /// Condition as text; `None` for other types.
    pub fn text(&self, key: impl Borrow<Key>) -> Option<&str> {
        match self.conditions.get(key.borrow())? {
            Condition::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Condition as a number, whole or not; `None` for other types.
    pub fn number(&self, key: impl Borrow<Key>) -> Option<f64> {
        match self.conditions.get(key.borrow())? {
            Condition::Integer(number) => Some(*number as f64),
            Condition::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Condition as a count or size; `None` for other types.
    pub fn integer(&self, key: impl Borrow<Key>) -> Option<u64> {
        match self.conditions.get(key.borrow())? {
            Condition::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Frame size in octets; `None` if the figure is not about a single size.
    pub fn frame_size(&self) -> Option<u64> {
        self.integer(Key::FrameSize)
    }

    /// True if this study measured the figure, by its name in plans.
    pub fn is_of(&self, study: &str) -> bool {
        self.text(Key::Study) == Some(study)
    }

    /// True if the figure was measured over the direct cable.
    pub fn is_bypass(&self) -> bool {
        self.text(Key::Path) == Some("bypass")
    }
}

/// Conditions under which a figure holds.
pub type Conditions = BTreeMap<Key, Condition>;

/// Reads a row's conditions from any version.
pub fn read_conditions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Conditions, D::Error> {
    Conditions::deserialize(deserializer).map(phrase::current)
}

/// Value of one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Condition {
    /// Yes or no.
    Flag(bool),
    /// Count or size.
    Integer(u64),
    /// Share or rate.
    Number(f64),
    /// Name.
    Text(String),
    /// Names or codes: of ports, in the device's order.
    List(Vec<String>),
    /// Groups of ports.
    Groups(Vec<Vec<String>>),
    /// One number per port of the device, in its order; `None` if unknown.
    OfPorts(Vec<Option<u32>>),
}

impl Condition {
    /// Creates a number, as an integer if it is whole.
    pub fn from_number(number: f64) -> Self {
        let is_whole = number.fract() == 0.0 && (0.0..=9e15).contains(&number);
        if is_whole { Self::Integer(number as u64) } else { Self::Number(number) }
    }

    /// Formats the value for sentences and tables: numbers without trailing zeros, flags as yes and
    /// no.
    pub fn to_words(&self) -> String {
        match self {
            Self::Number(number) => words::trimmed(*number, 6),
            Self::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            other => other.to_string(),
        }
    }
}

/// Formats groups as `h1/eth1 to h3/eth1, h7/eth1; h4/eth1`, and numbers of ports as `1 1 2 –`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::List(ports) => f.write_str(&in_runs(ports)),
            Self::Groups(groups) => {
                f.write_str(&groups.iter().map(|g| in_runs(g)).collect::<Vec<_>>().join("; "))
            }
            Self::OfPorts(numbers) => {
                let said = |n: &Option<u32>| n.map_or_else(|| "–".to_owned(), |n| n.to_string());
                f.write_str(&numbers.iter().map(said).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// Shortens a list of ports: three or more in a row are written by their ends.
fn in_runs(ports: &[String]) -> String {
    let mut parts = Vec::new();
    let mut rest = ports;
    while let [first, ..] = rest {
        let mut run = 1;
        while run < rest.len() && follows(&rest[run - 1], &rest[run]) {
            run += 1;
        }
        if run < 3 {
            run = 1;
            parts.push(first.clone());
        } else {
            parts.push(format!("{first} to {}", rest[run - 1]));
        }
        rest = &rest[run..];
    }
    parts.join(", ")
}

/// True if `next` follows `one`: the host's number is one higher, `h2/eth1` after `h1/eth1`, or the
/// port's number with the same host.
fn follows(one: &str, next: &str) -> bool {
    fn parts(name: &str) -> Option<(&str, u64)> {
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        Some((&name[..digits], name[digits..].parse().ok()?))
    }
    let up = |one: &str, next: &str| {
        let (Some((a, m)), Some((b, n))) = (parts(one), parts(next)) else { return false };
        a == b && m.checked_add(1) == Some(n)
    };
    match (one.split_once('/'), next.split_once('/')) {
        (Some((host, port)), Some((other, same))) if port == same => up(host, other),
        (Some((host, port)), Some((same, other))) if host == same => up(port, other),
        _ => false,
    }
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

impl From<bool> for Condition {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
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
