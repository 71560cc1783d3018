//! Known values of a device, as far as one figure can express them.
//!
//! Data only: a known value names the figures that it is about and the claims that they may make.
//! Never says how it is known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use page::{Condition, Conditions, Figure, Key, Metric, Unit};

/// Known value, and the figures that it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// Metric of the figures.
    pub metric: Metric,
    /// Unit of the figures.
    pub unit: Unit,
    /// Quantile of a distribution; `None` for other figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// True if a tester of this kind could determine it: a figure that leaves it open then counts
    /// as such.
    pub reachable: bool,
    /// The known value.
    pub known: Known,
    /// Conditions that a figure must have, all of them.
    #[serde(
        rename = "where",
        default,
        deserialize_with = "page::read_conditions",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub conditions: Conditions,
}

/// Known value of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Number of the device's own, from `low` to `high`: equal if it is known exactly.
    Number {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// No limit of the device below what links and hosts can reach.
    Unlimited {
        /// Largest value that links and hosts reach.
        reach: f64,
    },
    /// Loss of a load: a limit in frames per second, and a share lost at random whatever the load.
    Loss {
        /// Largest forwarding rate in frames per second.
        limit: f64,
        /// Share lost at random.
        random: f64,
    },
    /// True if operations fill a link, which is then their limit.
    FillsLink(bool),
    /// Yes or no.
    Flag(bool),
    /// Groups of ports, numbered from 1; ports in no group are left out.
    Groups(Vec<Vec<u32>>),
    /// Ratio between two sides of a comparison.
    TimesAsMuch {
        /// True ratio.
        ratio: f64,
    },
}

impl Truth {
    /// Applies to every figure of that metric; add conditions to narrow it.
    pub fn new(metric: Metric, unit: Unit, known: Known) -> Self {
        let conditions = Conditions::new();
        Self { metric, unit, quantile: None, reachable: true, known, conditions }
    }

    /// Adds a condition that figures must have.
    #[must_use]
    pub fn at(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.conditions.insert(key, value.into());
        self
    }

    /// Restricts it to this quantile of a distribution.
    #[must_use]
    pub fn of_quantile(self, quantile: f64) -> Self {
        Self { quantile: Some(quantile), ..self }
    }

    /// Sets whether a tester could determine the value.
    #[must_use]
    pub fn reachable(self, reachable: bool) -> Self {
        Self { reachable, ..self }
    }

    /// True if the value applies to the figure.
    pub fn is_about(&self, figure: &Figure) -> bool {
        let same = |(name, value): (&Key, &Condition)| figure.conditions.get(name) == Some(value);
        self.metric == figure.metric
            && self.unit == figure.unit
            && self.quantile == figure.quantile
            && self.conditions.iter().all(same)
    }
}
