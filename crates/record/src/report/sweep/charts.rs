//! What a sweep shows: of all figures of its points, those that answer, as lines over the points.
//!
//! Owns which figures are shown and what tells one line from another. Never computes one.

use std::collections::{BTreeMap, BTreeSet};

use page::{Condition, Figure, Metric, Unit};

use super::SweptRun;
use crate::report::reading;
use crate::words;

/// One metric at every point.
#[derive(Debug, Clone)]
pub struct Chart<'a> {
    /// In words: `rtt p50`.
    pub title: String,
    /// Of all values.
    pub unit: Unit,
    /// At least one.
    pub lines: Vec<Line<'a>>,
}

/// The same case at every point.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// What tells it from the chart's others; empty where it is alone.
    pub name: String,
    /// One for each point, in their order; none where the point has no such figure.
    pub figures: Vec<Option<&'a Figure>>,
}

/// Told beside the answer, and not it; the rows of `--json` have them.
const BESIDE: [Metric; 17] = [
    Metric::Pdv,
    Metric::Ipdv,
    Metric::Offered,
    Metric::Sent,
    Metric::Lost,
    Metric::Duplicated,
    Metric::Reordered,
    Metric::DepartureGap,
    Metric::ArrivalGap,
    Metric::BurstFraction,
    Metric::GoodputVariation,
    Metric::CwndMax,
    Metric::CwndCuts,
    Metric::Bdp,
    Metric::Efficiency,
    Metric::BufferDelay,
    Metric::TransferTimeRatio,
];

/// What comes out of a measurement, and is no case: it differs from point to point.
const OUTCOMES: [&str; 9] = [
    "standard_deviation",
    "loss_ratio_allowed",
    "backend",
    "receiver",
    "stamped",
    "overload_percent",
    "stable_blocks",
    "reasons",
    "worst_arrangement",
];

type Case<'a> = BTreeMap<&'a str, String>;
/// A title, what its values are in, and each case's line.
type Sheet<'a> = (String, Unit, Vec<(Case<'a>, Line<'a>)>);

/// All charts of a sweep, in the order in which its first figures come.
pub fn charts<'a>(points: &[&'a SweptRun]) -> Vec<Chart<'a>> {
    let swept: Vec<&str> = points
        .first()
        .map(|point| point.values().iter().map(|value| value.condition.as_str()).collect())
        .unwrap_or_default();
    let mut charts: Vec<Sheet<'a>> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        for figure in point.figures.iter().filter(|figure| answers(figure)) {
            let title = title(figure);
            let known = charts.iter().position(|c| c.0 == title && c.1 == figure.unit);
            let chart = known.unwrap_or(charts.len());
            if known.is_none() {
                charts.push((title, figure.unit, Vec::new()));
            }
            let lines = &mut charts[chart].2;
            let case = case(figure, &swept);
            let known = lines.iter().position(|(other, _)| *other == case);
            let line = known.unwrap_or(lines.len());
            if known.is_none() {
                let figures = vec![None; points.len()];
                lines.push((case, Line { name: String::new(), figures }));
            }
            // A second figure of the same case is told by what this page leaves out.
            lines[line].1.figures[at].get_or_insert(figure);
        }
    }
    charts.into_iter().map(|(title, unit, lines)| named(title, unit, lines)).collect()
}

/// Whether it is an answer of its own: the device's, and of a distribution the median or the tail.
fn answers(figure: &Figure) -> bool {
    let again = figure.conditions.contains_key("rate_convention")
        && matches!(figure.metric, Metric::Received | Metric::Throughput);
    // Of many pairs of ports at once, what they come to.
    let one_of_many = reading::text(figure, "statistic").is_some_and(|s| s == "pair");
    !figure.is_bypass()
        && !one_of_many
        && !BESIDE.contains(&figure.metric)
        && !again
        && figure.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9 || (q - 0.99).abs() < 1e-9)
}

fn title(figure: &Figure) -> String {
    let name = figure.metric.as_str().replace('_', " ");
    match figure.quantile {
        Some(q) => format!("{name} {}", words::quantile(q)),
        None => name,
    }
}

fn case<'a>(figure: &'a Figure, swept: &[&str]) -> Case<'a> {
    let is_case = |(key, value): &(&'a String, &Condition)| {
        let measured = ["_ns", "_per_s", "_per_second"].iter().any(|end| key.ends_with(end));
        !measured
            && !matches!(value, Condition::Number(_))
            && !OUTCOMES.contains(&key.as_str())
            && !swept.contains(&key.as_str())
    };
    let text = |key: &str| reading::text(figure, key).unwrap_or_default();
    figure.conditions.iter().filter(is_case).map(|(key, _)| (key.as_str(), text(key))).collect()
}

/// A line is named by as few conditions, and as short ones, as tell it from its neighbours.
fn named<'a>(title: String, unit: Unit, lines: Vec<(Case<'a>, Line<'a>)>) -> Chart<'a> {
    let mut keys: Vec<&str> = lines.iter().flat_map(|(case, _)| case.keys().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    let names = |keys: &[&str]| -> Vec<String> {
        let name = |case: &Case<'a>| {
            let said = keys.iter().filter_map(|key| word(key, case.get(key)?));
            said.collect::<Vec<_>>().join(" ")
        };
        lines.iter().map(|(case, _)| name(case)).collect()
    };
    let length = |key: &str| names(&[key]).iter().map(String::len).sum::<usize>();
    let mut longest_first = keys.clone();
    longest_first.sort_by_key(|key| std::cmp::Reverse(length(key)));
    for key in longest_first {
        let others: Vec<&str> = keys.iter().copied().filter(|other| *other != key).collect();
        let without: BTreeSet<String> = names(&others).into_iter().collect();
        if without.len() == lines.len() {
            keys = others;
        }
    }
    let names = names(&keys);
    let lines =
        lines.into_iter().zip(names).map(|((_, line), name)| Line { name, ..line }).collect();
    Chart { title, unit, lines }
}

/// A condition in a word or two.
fn word(key: &str, text: &str) -> Option<String> {
    match key {
        _ if text.is_empty() => None,
        "frame_size" => Some(text.to_owned()),
        "load_percent" => Some(format!("{text} %")),
        "vlan" => Some(format!("vlan {text}")),
        _ if text.bytes().all(|octet| octet.is_ascii_digit()) => {
            Some(format!("{} {text}", key.replace('_', " ")))
        }
        _ => Some(text.to_owned()),
    }
}
