//! The picture of a page's first screen: each answer's value through the device beside the direct
//! cable's, on one axis for each quantity.
//!
//! Owns which answers share an axis and how it is scaled. Never computes a value.

use std::collections::BTreeSet;

use crate::{Answer, Axis, Mark, MarkKind, Scale, Unit, words};

/// Values that lie further apart than this share a logarithmic axis.
const FAR_APART: f64 = 20.0;

/// Gauges of one quantity over one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauges {
    /// What it shows, for those who can't see it.
    pub title: String,
    /// The axis of all lines.
    pub axis: Axis,
    /// Base unit of all marks.
    pub unit: Unit,
    /// In the answers' order.
    pub lines: Vec<GaugeLine>,
    /// The names of the places that marks show, by their kind.
    pub legend: Vec<(MarkKind, String)>,
}

/// One answer's marks.
#[derive(Debug, Clone, PartialEq)]
pub struct GaugeLine {
    /// The answer's case, or its question.
    pub label: String,
    /// From left to right as they are told: cable, limit, device.
    pub marks: Vec<Mark>,
    /// Each mark in words, in the same order: `direct cable 1.15 µs`.
    pub texts: Vec<String>,
    /// The answer's headline.
    pub value: String,
    /// Who limits it: a verdict's word.
    pub limit: &'static str,
}

impl Gauges {
    /// One for each quantity that the answers compare.
    pub fn of(answers: &[Answer]) -> Vec<Self> {
        let mut quantities: Vec<(&str, Unit)> = Vec::new();
        for gauge in answers.iter().filter_map(|answer| answer.gauge.as_ref()) {
            let quantity = (gauge.axis.as_str(), gauge.unit);
            if !quantities.contains(&quantity) {
                quantities.push(quantity);
            }
        }
        quantities.into_iter().map(|(axis, unit)| Self::of_quantity(answers, axis, unit)).collect()
    }

    fn of_quantity(answers: &[Answer], quantity: &str, unit: Unit) -> Self {
        let lines: Vec<GaugeLine> =
            answers.iter().filter_map(|a| line(a, quantity, unit)).collect();
        let marks = || lines.iter().flat_map(|line| &line.marks);
        let values = || marks().flat_map(|mark| [mark.value].into_iter().chain(mark.ends()));
        let positive = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let most = values().fold(0.0, f64::max);
        let is_far = values().all(|value| value > 0.0) && most / positive > FAR_APART;
        let scale = if is_far { Scale::Log } else { Scale::Linear };
        let axis = Axis::over(quantity, scale, values(), |value| words::tick(unit, value));
        let kinds: BTreeSet<MarkKind> = marks().map(|mark| mark.kind).collect();
        let legend = kinds.into_iter().map(|kind| (kind, name_of(kind, marks()))).collect();
        let title = format!("{quantity}: {}", told(&lines));
        Self { title, axis, unit, lines, legend }
    }
}

impl Mark {
    /// The interval's ends.
    pub fn ends(&self) -> impl Iterator<Item = f64> + use<> {
        self.interval.into_iter().flatten()
    }
}

fn line(answer: &Answer, quantity: &str, unit: Unit) -> Option<GaugeLine> {
    let gauge = answer.gauge.as_ref().filter(|g| g.axis == quantity && g.unit == unit)?;
    let mut marks = gauge.marks.clone();
    marks.sort_by_key(|mark| mark.kind);
    let text = |mark: &Mark| format!("{} {}", mark.name, words::value(unit, mark.value));
    let label = if answer.case.is_empty() { &answer.question } else { &answer.case };
    Some(GaugeLine {
        label: label.clone(),
        texts: marks.iter().map(text).collect(),
        value: answer.headline.as_ref().map(|it| it.value.clone()).unwrap_or_default(),
        limit: answer.verdict.map_or("", crate::Verdict::as_str),
        marks,
    })
}

/// The one name of all marks of a kind, or the kind's own.
fn name_of<'a>(kind: MarkKind, marks: impl Iterator<Item = &'a Mark>) -> String {
    let names: BTreeSet<&str> =
        marks.filter(|mark| mark.kind == kind).map(|mark| mark.name.as_str()).collect();
    match (names.first(), kind) {
        (Some(name), _) if names.len() == 1 => (*name).to_owned(),
        (_, MarkKind::Cable) => "direct cable".to_owned(),
        (_, MarkKind::Limit) => "limit".to_owned(),
        (_, MarkKind::Device) => "device".to_owned(),
    }
}

fn told(lines: &[GaugeLine]) -> String {
    let told = |line: &GaugeLine| format!("{}: {}", line.label, line.texts.join(", "));
    lines.iter().map(told).collect::<Vec<_>>().join("; ")
}
