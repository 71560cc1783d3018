//! Labels of compared figures: metric, part, and case.
//!
//! Owns which conditions distinguish figures for a reader. Never states results.

use super::Row;
use page::{Condition, Conditions, Figure, Key, Metric, phrase};

impl Row {
    /// Label of the row: `rtt p50 (udp, 64 octets, idle)`.
    pub fn label(&self) -> String {
        format!("{}{}", self.metric_label(), self.case_in_brackets())
    }

    /// Case in brackets, ` (udp, 64 octets, idle)`, or nothing.
    pub fn case_in_brackets(&self) -> String {
        in_brackets(&self.conditions)
    }

    /// Metric and quantile: `rtt p50`; for a part of an operation's time `part: disk`.
    pub fn metric_label(&self) -> String {
        match phrase::condition(&self.conditions, &Key::Part) {
            Some(part) => format!("part: {part}{}", of_quantile(self.quantile)),
            None => of_metric(self.metric, self.quantile),
        }
    }

    /// Part of an operation's time that the row is about; `None` for whole figures.
    pub fn part(&self) -> Option<&str> {
        match self.conditions.get(&Key::Part)? {
            Condition::Text(part) => Some(part),
            _ => None,
        }
    }

    /// Case without punctuation: `udp 64 idle`.
    pub fn case_label(&self) -> String {
        parts(&self.conditions, "").join(" ")
    }
}

/// Label of a run's figure: `rtt p50`.
pub fn metric_label(figure: &Figure) -> String {
    of_metric(figure.metric, figure.quantile)
}

pub(super) fn of_metric(metric: Metric, quantile: Option<f64>) -> String {
    format!("{}{}", metric.as_str(), of_quantile(quantile))
}

fn of_quantile(quantile: Option<f64>) -> String {
    quantile.map_or_else(String::new, |q| format!(" p{}", q * 100.0))
}

/// Distinguishing conditions in brackets, ` (udp, 64 octets, idle)`; the default, all operations,
/// is omitted.
pub(super) fn in_brackets(conditions: &Conditions) -> String {
    let mut parts = parts(conditions, " octets");
    if conditions.get(&Key::Operation) == Some(&ALL.into()) {
        parts.retain(|part| part != ALL);
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Reads and writes together.
const ALL: &str = "all";

pub(super) fn parts(conditions: &Conditions, behind_octets: &str) -> Vec<String> {
    const NAMED: [Key; 14] = [
        Key::Nth,
        Key::Tool,
        Key::Protocol,
        Key::Operation,
        Key::Statistic,
        Key::Test,
        Key::Goal,
        Key::Arrangement,
        Key::Collective,
        Key::Message,
        Key::Nodes,
        Key::Load,
        Key::Scenario,
        Key::Estimate,
    ];
    let mut parts: Vec<String> = NAMED
        .iter()
        .filter_map(|name| match conditions.get(name)? {
            Condition::Text(_) => phrase::condition(conditions, name),
            Condition::Integer(number) if *name == Key::Nth => {
                Some(format!("study {number} of its kind"))
            }
            Condition::Integer(number) => Some(format!("{name} {number}")),
            _ => None,
        })
        .collect();
    if let Some(Condition::Integer(octets)) = conditions.get(&Key::FrameSize) {
        parts.insert(parts.len().min(1), format!("{octets}{behind_octets}"));
    }
    let factors = match conditions.get(&Key::Factors) {
        Some(Condition::List(names)) => &names[..],
        _ => &[],
    };
    let factors = factors.iter().map(|name| Key::named(name));
    for name in [Key::Device, Key::Variant].into_iter().chain(factors) {
        if let Some(Condition::Text(level)) = conditions.get(&name) {
            parts.push(level.clone());
        }
    }
    parts
}
