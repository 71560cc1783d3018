//! Lines of a sweep over its points: the figures that answer its question.
//!
//! Owns which figures are shown, and the conditions that distinguish lines. Never computes one.

use std::collections::{BTreeMap, BTreeSet};

use page::{Condition, Conditions, Figure, Key, Metric, Role, Unit, phrase};

use super::SweptRun;
use crate::campaign;

/// One case of a metric at all points.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// Metric and quantile: `rtt p50`.
    pub(super) of: String,
    pub(super) unit: Unit,
    /// Distinction from the metric's other lines; empty if there is only one.
    pub(super) name: String,
    /// Figures by point, in order; `None` if a point has none.
    pub(super) figures: Vec<Option<&'a Figure>>,
    case: Case,
}

impl Line<'_> {
    /// True if both lines belong in one plot.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        (&self.of, self.unit) == (&other.of, other.unit)
    }
}

/// Metrics that accompany the answer; only the rows of `--json` have them.
const BESIDE: [Metric; 19] = [
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
    Metric::BottleneckBuffer,
    Metric::NetworkRpm,
];

type Case = BTreeMap<Key, String>;

/// Returns all lines of a sweep in the order of its first figures, with those of a metric together.
pub(super) fn lines<'a>(points: &[&'a SweptRun]) -> Vec<Line<'a>> {
    let swept: Vec<&str> = points.first().map_or_else(Vec::new, |point| {
        point.values().iter().map(|value| value.condition.as_str()).collect()
    });
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        for figure in point.figures.iter().filter(|figure| answers(figure)) {
            let (of, case) = (campaign::name(figure), case(figure, &swept));
            let is_it =
                |line: &Line<'_>| (line.unit, &line.of, &line.case) == (figure.unit, &of, &case);
            let known = lines.iter().position(is_it);
            let place = known.unwrap_or(lines.len());
            if known.is_none() {
                let (name, figures) = (String::new(), vec![None; points.len()]);
                lines.push(Line { of, unit: figure.unit, name, figures, case });
            }
            // Further figures of the same case differ in conditions that this page leaves out.
            lines[place].figures[at].get_or_insert(figure);
        }
    }
    let order: Vec<(String, Unit)> =
        lines.iter().map(|line| (line.of.clone(), line.unit)).collect();
    lines.sort_by_cached_key(|line| {
        order.iter().position(|(of, unit)| (of, *unit) == (&line.of, line.unit))
    });
    lines.chunk_by_mut(Line::is_beside).for_each(name_apart);
    lines
}

/// True if a figure answers by itself: the device's, and of a distribution the median or the tail.
fn answers(figure: &Figure) -> bool {
    let again = figure.conditions.contains_key(&Key::RateConvention)
        && matches!(figure.metric, Metric::Received | Metric::Throughput);
    // With many pairs of ports at once, their total is shown.
    let one_of_many = figure.condition_text(Key::Statistic).is_some_and(|s| s == "pair");
    !figure.is_bypass()
        && !one_of_many
        && !BESIDE.contains(&figure.metric)
        && !again
        && figure.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9 || (q - 0.99).abs() < 1e-9)
}

fn case(figure: &Figure, swept: &[&str]) -> Case {
    let is_case = |(key, _): &(&Key, &Condition)| {
        key.role() != Role::Explains && **key != Key::Cell && !swept.contains(&key.as_str())
    };
    let own = figure.conditions.iter().filter(is_case);
    let own: Conditions = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    let words = phrase::conditions(&own).into_iter();
    words.map(|(key, said)| (key.clone(), said)).collect()
}

/// Names lines by as few and as short conditions as distinguish them from their neighbours.
fn name_apart(lines: &mut [Line<'_>]) {
    let names = |keys: &BTreeSet<&Key>| -> Vec<String> {
        let name = |line: &Line<'_>| {
            let said = keys.iter().filter_map(|key| word(key, line.case.get(key)?));
            said.collect::<Vec<_>>().join(" ")
        };
        lines.iter().map(name).collect()
    };
    let mut keys: BTreeSet<&Key> = lines.iter().flat_map(|line| line.case.keys()).collect();
    let mut longest_first: Vec<&Key> = keys.iter().copied().collect();
    let length = |key: &Key| names(&BTreeSet::from([key])).iter().map(String::len).sum::<usize>();
    longest_first.sort_by_key(|key| std::cmp::Reverse(length(key)));
    for key in longest_first {
        keys.remove(key);
        if names(&keys).into_iter().collect::<BTreeSet<_>>().len() < lines.len() {
            keys.insert(key);
        }
    }
    let names = names(&keys);
    for (line, name) in lines.iter_mut().zip(names) {
        line.name = name;
    }
}

/// Formats a condition in a word or two.
fn word(key: &Key, text: &str) -> Option<String> {
    match key {
        _ if text.is_empty() => None,
        Key::FrameSize => Some(text.to_owned()),
        Key::LoadPercent => Some(format!("{text} %")),
        Key::Vlan => Some(format!("vlan {text}")),
        _ if text.bytes().all(|octet| octet.is_ascii_digit()) => {
            Some(format!("{} {text}", key.as_str().replace('_', " ")))
        }
        _ => Some(text.to_owned()),
    }
}
