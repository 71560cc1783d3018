//! From a tool's numbers to figures: the row's shape and the caveats that every imported figure
//! has.
//!
//! Never reads text.

use std::collections::BTreeMap;

use measure::quantile;
use page::Condition;
use page::{Caveat, Conditions, Figure, Key, Metric, Unit, Verdict};

/// Everything that a file told so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub tools: Vec<&'static str>,
    pub figures: Vec<Figure>,
}

/// What the figures of one measurement share.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    conditions: Conditions,
    caveats: Vec<Caveat>,
    n: u64,
}

impl Row {
    pub(crate) fn of(tool: &'static str) -> Self {
        let conditions = BTreeMap::from([(Key::Tool, tool.into())]);
        Self { conditions, caveats: vec![Caveat::Imported], n: 1 }
    }

    #[must_use]
    pub(crate) fn with(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.conditions.insert(key, value.into());
        self
    }

    #[must_use]
    pub(crate) fn doubting(mut self, caveat: Caveat) -> Self {
        self.caveats.push(caveat);
        self.caveats.sort();
        self.caveats.dedup();
        self
    }

    #[must_use]
    pub(crate) fn samples(mut self, n: u64) -> Self {
        self.n = n;
        self
    }
}

impl Found {
    /// One number; one that is not finite is none.
    pub(crate) fn put(&mut self, row: &Row, metric: Metric, unit: Unit, value: f64) {
        self.point(row, metric, unit, None, value);
    }

    /// A mean: distributions are known by their points, and this is no point.
    pub(crate) fn mean(&mut self, row: &Row, metric: Metric, unit: Unit, value: f64) {
        self.put(&row.clone().with(Key::Statistic, "mean"), metric, unit, value);
    }

    /// A point of a distribution.
    pub(crate) fn at(&mut self, row: &Row, metric: Metric, quantile: f64, value: f64) {
        self.point(row, metric, Unit::Nanoseconds, Some(quantile), value);
    }

    /// The usual points of a distribution, from its samples in nanoseconds, in any order.
    pub(crate) fn samples(&mut self, row: &Row, metric: Metric, mut samples: Vec<f64>) {
        samples.retain(|sample| sample.is_finite());
        samples.sort_by(f64::total_cmp);
        let row = row.clone().samples(samples.len() as u64);
        for q in [0.0, 0.5, 0.99, 1.0] {
            // Beyond a quantile there must lie samples: twenty, as in our own studies.
            let few = q > 0.5 && q < 1.0 && (samples.len() as f64) * (1.0 - q) < 20.0;
            let row = if few { row.clone().doubting(Caveat::FewSamples) } else { row.clone() };
            if let Some(value) = quantile::quantile(&samples, q) {
                self.at(&row, metric, q, value);
            }
        }
        if !samples.is_empty() {
            let mean = samples.iter().sum::<f64>() / samples.len() as f64;
            self.mean(&row, metric, Unit::Nanoseconds, mean);
        }
    }

    fn point(&mut self, row: &Row, metric: Metric, unit: Unit, quantile: Option<f64>, value: f64) {
        if !value.is_finite() {
            return;
        }
        if let Some(Condition::Text(_)) = row.conditions.get(&Key::Tool) {
            self.name_tool(row);
        }
        self.figures.push(Figure {
            metric,
            quantile,
            unit,
            value: Some(value),
            low: None,
            high: None,
            confidence: None,
            n: row.n,
            blocks: 1,
            conditions: row.conditions.clone(),
            verdict: Verdict::Undetermined,
            caveats: row.caveats.clone(),
        });
    }

    fn name_tool(&mut self, row: &Row) {
        const KNOWN: [&str; 8] =
            ["fio", "flent", "iperf", "iperf3", "irtt", "ping", "qperf", "sockperf"];
        let named =
            KNOWN.iter().find(|t| row.conditions.get(&Key::Tool) == Some(&Condition::from(**t)));
        self.tools.extend(named.filter(|tool| !self.tools.contains(*tool)));
    }
}
