//! Gauges on a page's first screen: each answer's value through the device beside the direct
//! cable's, with one axis per quantity.
//!
//! Owns which answers share an axis, and its scale. Never computes a value.

use std::collections::BTreeSet;

use crate::{Answer, Axis, Mark, MarkKind, Scale, Unit, words};

/// Ratio of values beyond which the axis is logarithmic.
const FAR_APART: f64 = 20.0;

/// Gauges of one quantity on one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauges {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Axis of all lines.
    pub axis: Axis,
    /// Base unit of all marks.
    pub unit: Unit,
    /// Lines in the order of the answers.
    pub lines: Vec<GaugeLine>,
    /// Name of each kind of mark.
    pub legend: Vec<(MarkKind, String)>,
}

/// Marks of one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct GaugeLine {
    /// Case of the answer, or its question.
    pub label: String,
    /// Marks in order: cable, limit, device.
    pub marks: Vec<Mark>,
    /// Marks in words, in the same order: `direct cable 1.15 µs`.
    pub texts: Vec<String>,
    /// Headline of the answer.
    pub value: String,
    /// Limit by the verdict's word.
    pub limit: &'static str,
}

impl Gauges {
    /// Builds one group for each quantity that the answers compare.
    pub fn from_answers(answers: &[Answer]) -> Vec<Self> {
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
        let label = words::axis(unit, quantity);
        let axis = Axis::over(&label, scale, values(), |value| words::tick(unit, value));
        let kinds: BTreeSet<MarkKind> = marks().map(|mark| mark.kind).collect();
        let legend = kinds.into_iter().map(|kind| (kind, name_of(kind, marks()))).collect();
        let title = format!("{quantity}: {}", describe_lines(&lines));
        Self { title, axis, unit, lines, legend }
    }
}

impl Mark {
    /// Ends of the interval.
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

/// Common name of all marks of a kind, or the kind's own.
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

fn describe_lines(lines: &[GaugeLine]) -> String {
    let told = |line: &GaugeLine| format!("{}: {}", line.label, line.texts.join(", "));
    lines.iter().map(told).collect::<Vec<_>>().join("; ")
}
