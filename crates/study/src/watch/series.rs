//! Quantities of a path, each a series over its visits.

use measure::change::{Repetition, Settings};
use serde::{Deserialize, Serialize};

use super::visit::{Counted, Visit};

/// Quantity of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Median round trip in ns.
    RttP50,
    /// 99th percentile of round trips in ns.
    RttP99,
    /// Frames lost out of those sent, from the first port to the second.
    Loss,
    /// Frames lost out of those sent, from the second port to the first.
    LossBack,
    /// Frames reordered out of those sent, from the first port to the second.
    Reordered,
    /// Frames reordered out of those sent, from the second port to the first.
    ReorderedBack,
    /// TCP payload in bit/s.
    Goodput,
}

/// Quantities that one cause changes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Round-trip times.
    Rtt,
    /// Frame loss.
    Loss,
    /// Frame order.
    Reordering,
    /// TCP goodput.
    Goodput,
}

/// Least margin of the tail, which varies by this much without a cause.
const MARGIN_OF_TAIL: f64 = 0.05;
/// Least margin of TCP within a fraction of a second.
const MARGIN_OF_GOODPUT: f64 = 0.02;

impl Quantity {
    /// All quantities.
    pub const ALL: [Self; 7] = [
        Self::RttP50,
        Self::RttP99,
        Self::Loss,
        Self::LossBack,
        Self::Reordered,
        Self::ReorderedBack,
        Self::Goodput,
    ];

    /// Name of the quantity: `rtt-p50`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RttP50 => "rtt-p50",
            Self::RttP99 => "rtt-p99",
            Self::Loss => "loss",
            Self::LossBack => "loss-back",
            Self::Reordered => "reordered",
            Self::ReorderedBack => "reordered-back",
            Self::Goodput => "goodput",
        }
    }

    /// Family of quantities that change with this one.
    pub const fn family(self) -> Family {
        match self {
            Self::RttP50 | Self::RttP99 => Family::Rtt,
            Self::Loss | Self::LossBack => Family::Loss,
            Self::Reordered | Self::ReorderedBack => Family::Reordering,
            Self::Goodput => Family::Goodput,
        }
    }

    /// True if larger values are better.
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::Goodput)
    }

    /// True if its changes are differences of shares, not ratios.
    pub const fn is_share(self) -> bool {
        !matches!(self, Self::RttP50 | Self::RttP99 | Self::Goodput)
    }

    /// Settings of its detector.
    pub fn settings(self, asked: Settings) -> Settings {
        let at_least = |margin: f64| Settings { margin: asked.margin.max(margin), ..asked };
        match self {
            Self::RttP99 => at_least(MARGIN_OF_TAIL),
            Self::Goodput => at_least(MARGIN_OF_GOODPUT),
            _ => asked,
        }
    }

    /// Value of the quantity in a visit, for the detector; `None` without one.
    pub fn repetition(self, visit: &Visit) -> Option<Repetition> {
        let share = |counted: Option<Counted>, of: fn(&Counted) -> u64| {
            let counted = counted.filter(|counted| counted.sent > 0)?;
            let lost = of(&counted).min(counted.sent);
            Some(Repetition::Loss { lost, of: counted.sent })
        };
        let lost: fn(&Counted) -> u64 = |counted| counted.lost;
        let reordered: fn(&Counted) -> u64 = |counted| counted.reordered;
        match self {
            Self::RttP50 => visit.rtt.map(|rtt| Repetition::Level(rtt.p50_ns)),
            Self::RttP99 => visit.rtt.map(|rtt| Repetition::Level(rtt.p99_ns)),
            Self::Loss => share(visit.there, lost),
            Self::LossBack => share(visit.back, lost),
            Self::Reordered => share(visit.there, reordered),
            Self::ReorderedBack => share(visit.back, reordered),
            Self::Goodput => visit.goodput.map(Repetition::Level),
        }
    }

    /// Value of the quantity as a plain number: ns, bit/s, a share.
    pub fn value(self, visit: &Visit) -> Option<f64> {
        match self.repetition(visit)? {
            Repetition::Level(value) => Some(value),
            Repetition::Loss { lost, of } => Some(lost as f64 / of as f64),
        }
    }
}
