//! The quantities of a way, each a series over its visits.

use measure::change::{Repetition, Settings};
use serde::{Deserialize, Serialize};

use super::visit::{Counted, Visit};

/// What a series is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// The median round trip, ns.
    RttP50,
    /// The 99th percentile of round trips, ns.
    RttP99,
    /// Frames that never came, of those sent from the first port to the second.
    Loss,
    /// The same the other way.
    LossBack,
    /// Frames that came after later ones, of those sent, from the first port to the second.
    Reordered,
    /// The same the other way.
    ReorderedBack,
    /// TCP payload, bit/s.
    Goodput,
}

/// Quantities that one cause changes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// How long.
    Rtt,
    /// How many.
    Loss,
    /// In which order.
    Reordering,
    /// How much.
    Goodput,
}

/// A tail moves by more than that without a cause.
const MARGIN_OF_TAIL: f64 = 0.05;
/// So does TCP within a fraction of a second.
const MARGIN_OF_GOODPUT: f64 = 0.02;

impl Quantity {
    /// All.
    pub const ALL: [Self; 7] = [
        Self::RttP50,
        Self::RttP99,
        Self::Loss,
        Self::LossBack,
        Self::Reordered,
        Self::ReorderedBack,
        Self::Goodput,
    ];

    /// `rtt-p50`
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

    /// Which others change with it.
    pub const fn family(self) -> Family {
        match self {
            Self::RttP50 | Self::RttP99 => Family::Rtt,
            Self::Loss | Self::LossBack => Family::Loss,
            Self::Reordered | Self::ReorderedBack => Family::Reordering,
            Self::Goodput => Family::Goodput,
        }
    }

    /// Whether more of it is better.
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::Goodput)
    }

    /// Whether a change of it is a difference of shares, and not a ratio.
    pub const fn is_share(self) -> bool {
        !matches!(self, Self::RttP50 | Self::RttP99 | Self::Goodput)
    }

    /// What a detector of it is asked to find.
    pub fn settings(self, asked: Settings) -> Settings {
        let at_least = |margin: f64| Settings { margin: asked.margin.max(margin), ..asked };
        match self {
            Self::RttP99 => at_least(MARGIN_OF_TAIL),
            Self::Goodput => at_least(MARGIN_OF_GOODPUT),
            _ => asked,
        }
    }

    /// What a visit says of it.
    pub fn of(self, visit: &Visit) -> Option<Repetition> {
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

    /// The same as a plain number, to compare with others: ns, bit/s, a share.
    pub fn value(self, visit: &Visit) -> Option<f64> {
        match self.of(visit)? {
            Repetition::Level(value) => Some(value),
            Repetition::Loss { lost, of } => Some(lost as f64 / of as f64),
        }
    }
}
