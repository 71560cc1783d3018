//! A figure: one row shape for JSON, CSV, the terminal and the report. Every figure carries its n,
//! an interval, its conditions, a verdict and its caveats. Never computes one: studies do, and a
//! report only shows them.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU16;

use measure::Interval;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Caveat, Key, Metric, Role, Trials, Unit, Verdict};
use crate::{phrase, words};

/// The rows' shape in JSON; a change that breaks readers takes the next number.
pub const SCHEMA: &str = "switchmark/3";

/// Where in its run a figure belongs: rows of two studies never stand for each other, whatever
/// their conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CaseId {
    /// Which of the run's studies found it, from 1 in the plan's order.
    pub study: NonZeroU16,
    /// Which of that study's cases, from 1; 0 where nobody told, as in rows of 0.2.
    #[serde(default)]
    pub index: u32,
}

impl CaseId {
    /// Numbers each study's rows and their cases, by what identifies them and where they were had,
    /// in the order in which they come.
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

/// One of a run's rows: `3.17` is the third study's seventeenth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// The study that found it, from 1 in the plan's order.
    pub study: NonZeroU16,
    /// Its number among that study's rows, from 1.
    pub row: u32,
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.study, self.row)
    }
}

/// One measured value and everything that must stand beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Where in its run it belongs.
    #[serde(default)]
    pub case: CaseId,
    /// Its number among its study's rows, from 1; 0 of a value that is no run's row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub row: u32,
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
    #[serde(rename = "where", deserialize_with = "read_conditions")]
    pub conditions: Conditions,
    /// Whose limit it shows.
    pub verdict: Verdict,
    /// Every doubt.
    pub caveats: Vec<Caveat>,
    /// The trials behind it, where they are told.
    #[serde(default, skip_serializing_if = "Trials::is_empty")]
    pub trials: Trials,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
const fn is_zero(row: &u32) -> bool {
    *row == 0
}

/// Below this an interval is not one: its ends are only the smallest and the largest that were
/// seen.
pub const LEAST_CONFIDENCE: f64 = 0.90;

/// What the condition `interval` says of such ends.
pub const RANGE: &str = "range";

/// And of the loads between which a search ended.
pub const BRACKET: &str = "search-bracket";

/// What the condition `bound` says of a value that may be more.
pub const AT_LEAST: &str = "at-least";

/// And of one that may be less.
pub const AT_MOST: &str = "at-most";

/// What the condition `device` says of a direct cable's own figures.
pub const CABLE: &str = "cable";

/// The observation point where no host counts what comes, but the device what leaves.
pub const DEVICE: &str = "device";

impl Figure {
    /// A value alone: no interval, no sample, no condition, nobody's limit.
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

    /// Takes an interval's ends. So few repetitions that their whole range covers the truth less
    /// often than [`LEAST_CONFIDENCE`] have no interval, only that [`RANGE`]; a single one has not
    /// even that.
    pub fn set_interval(&mut self, interval: Option<Interval>) {
        let interval = interval.filter(|i| i.confidence > 0.0 || i.low < i.high);
        self.low = interval.map(|i| i.low);
        self.high = interval.map(|i| i.high);
        self.confidence = interval.map(|i| i.confidence).filter(|c| *c >= LEAST_CONFIDENCE);
        if interval.is_some() && self.confidence.is_none() {
            self.set(Key::Interval, RANGE);
        }
    }

    /// The row that it is, of a run's.
    pub fn id(&self) -> Option<RowId> {
        (self.row > 0).then_some(RowId { study: self.case.study, row: self.row })
    }

    /// Sets a condition.
    pub fn set(&mut self, key: Key, value: impl Into<Condition>) {
        self.conditions.insert(key, value.into());
    }

    /// With a condition.
    #[must_use]
    pub fn with(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.set(key, value);
        self
    }

    /// Adds a doubt.
    pub fn doubt(&mut self, caveat: Caveat) {
        if !self.caveats.contains(&caveat) {
            self.caveats.push(caveat);
            self.caveats.sort();
        }
    }

    /// A condition as sentences and tables have it.
    pub fn in_words(&self, key: impl Borrow<Key>) -> Option<String> {
        phrase::condition(&self.conditions, key.borrow())
    }

    /// A condition that is a name.
    pub fn text(&self, key: impl Borrow<Key>) -> Option<&str> {
        match self.conditions.get(key.borrow())? {
            Condition::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A condition that is a number, whole or not.
    pub fn number(&self, key: impl Borrow<Key>) -> Option<f64> {
        match self.conditions.get(key.borrow())? {
            Condition::Integer(number) => Some(*number as f64),
            Condition::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A condition that is a count or a size.
    pub fn integer(&self, key: impl Borrow<Key>) -> Option<u64> {
        match self.conditions.get(key.borrow())? {
            Condition::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Octets of its frames, where it is about one size.
    pub fn frame_size(&self) -> Option<u64> {
        self.integer(Key::FrameSize)
    }

    /// Which study found it, as plans name it.
    pub fn is_of(&self, study: &str) -> bool {
        self.text(Key::Study) == Some(study)
    }

    /// Whether it was measured over the direct cable.
    pub fn is_bypass(&self) -> bool {
        self.text(Key::Path) == Some("bypass")
    }
}

/// Under which conditions a figure holds.
pub type Conditions = BTreeMap<Key, Condition>;

/// Reads a row's conditions, of whatever version.
pub fn read_conditions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Conditions, D::Error> {
    Conditions::deserialize(deserializer).map(phrase::current)
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
    /// Names or code words: of ports, in the device's order.
    List(Vec<String>),
    /// Groups of ports.
    Groups(Vec<Vec<String>>),
    /// A number for each of the device's ports, in its order; none where nothing is known.
    OfPorts(Vec<Option<u32>>),
}

impl Condition {
    /// A number, whole where it is one.
    pub fn from_number(number: f64) -> Self {
        let is_whole = number.fract() == 0.0 && (0.0..=9e15).contains(&number);
        if is_whole { Self::Integer(number as u64) } else { Self::Number(number) }
    }

    /// As sentences and tables have it: numbers without trailing zeros, flags as yes and no.
    pub fn in_words(&self) -> String {
        match self {
            Self::Number(number) => words::trimmed(*number, 6),
            Self::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            other => other.to_string(),
        }
    }
}

/// As texts and tables have it: `h1/eth1 to h3/eth1, h7/eth1; h4/eth1` of groups, `1 1 2 –` of
/// ports' numbers.
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

/// Three ports and more in a row are told by their ends.
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

/// Whether one name is the other with the number of its host one higher, `h2/eth1` after `h1/eth1`,
/// or of its port where the host is the same.
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
