//! What is true of a device, as far as one figure can say it.
//!
//! Data only: a truth names the figures it is about and what they may say. Never says how it is
//! known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use page::{Condition, Conditions, Figure, Key, Metric, Unit};

/// What is true, and of which figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// Of this metric.
    pub metric: Metric,
    /// In this unit.
    pub unit: Unit,
    /// Of a distribution: of this point of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Whether a tester like this one could tell it: then a figure that leaves it open counts as
    /// such.
    pub reachable: bool,
    /// What is so.
    pub known: Known,
    /// Of figures with all of these conditions.
    #[serde(
        rename = "where",
        default,
        deserialize_with = "page::read_conditions",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub conditions: Conditions,
}

/// What is so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// A number of the device's own, from `low` to `high`: equal where it is known exactly.
    Number {
        /// At least.
        low: f64,
        /// At most.
        high: f64,
    },
    /// The device has no limit below what links and hosts can do: `reach`.
    Unlimited {
        /// The most that links and hosts do.
        reach: f64,
    },
    /// The loss of a load, of which so many frames a second get through and so large a share is
    /// lost whatever the load.
    Loss {
        /// Frames a second that the device forwards at most.
        limit: f64,
        /// The share that it loses at random.
        random: f64,
    },
    /// Whether operations fill a link, so that it is what limits them.
    FillsLink(bool),
    /// A yes or a no.
    Flag(bool),
    /// Which ports belong together, each named by its number from 1; those in no group are left
    /// out.
    Groups(Vec<Vec<u32>>),
    /// By a comparison, how many times the one side the other is.
    TimesAsMuch {
        /// The true ratio.
        ratio: f64,
    },
}

impl Truth {
    /// Of every figure of that metric; name conditions to narrow it.
    pub fn new(metric: Metric, unit: Unit, known: Known) -> Self {
        let conditions = Conditions::new();
        Self { metric, unit, quantile: None, reachable: true, known, conditions }
    }

    /// Of figures with this condition only.
    #[must_use]
    pub fn at(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.conditions.insert(key, value.into());
        self
    }

    /// Of this point of a distribution only.
    #[must_use]
    pub fn of_quantile(self, quantile: f64) -> Self {
        Self { quantile: Some(quantile), ..self }
    }

    /// Whether a tester could tell it.
    #[must_use]
    pub fn reachable(self, reachable: bool) -> Self {
        Self { reachable, ..self }
    }

    /// Whether the figure is about it.
    pub fn is_about(&self, figure: &Figure) -> bool {
        let same = |(name, value): (&Key, &Condition)| figure.conditions.get(name) == Some(value);
        self.metric == figure.metric
            && self.unit == figure.unit
            && self.quantile == figure.quantile
            && self.conditions.iter().all(same)
    }
}
