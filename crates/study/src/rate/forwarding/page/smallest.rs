//! Frame sizes on the first screen: all if they are few. For tests other than the throughput, the
//! smallest alone.
//!
//! Owns the labels that distinguish devices and frames there. Never words the result of a test.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use page::{Answer, Bound, Figure, Gauge, MarkKind};

use super::super::finding::{OneWay, Traffic};
use super::rated::Rated;
use crate::view::{Frames, PlaceLabels, Who, stated};

/// Number of sizes up to which all are shown; with more, only the smallest, the largest and the
/// mixes.
const MOST_SIZES: usize = 3;

/// Sizes to show: all, or the smallest, the largest and the mixes; smallest first.
pub(super) fn shown_sizes(rates: &[Rated<'_>]) -> Vec<Frames> {
    let all: BTreeSet<&Frames> = rates.iter().map(|rated| &rated.traffic().frames).collect();
    let (few, ends) = (all.len() <= MOST_SIZES, [all.first().copied(), all.last().copied()]);
    let is_shown = |frames: &&Frames| {
        few || frames.is_mix() || ends.into_iter().flatten().any(|end| end == *frames)
    };
    all.iter().copied().filter(is_shown).cloned().collect()
}

/// Labels of the places of rates.
pub(super) fn place_labels(rates: &[Rated<'_>]) -> PlaceLabels {
    PlaceLabels::new(rates.iter().map(|rated| &rated.traffic().place))
}

/// Result of one device in a test.
pub(super) struct Part<'a> {
    /// Stated value.
    pub(super) way: OneWay<'a, Figure>,
    /// Value over the direct cable; `None` without one.
    pub(super) cable: Option<&'a Figure>,
    /// Kind of bound, if the device may do better.
    pub(super) bound: Option<Bound>,
    /// Load in percent of the throughput; `None` if not applicable.
    pub(super) percent: Option<u32>,
    /// Further conditions: `50 % of it`; may be empty.
    pub(super) conditions: String,
}

/// Answers at the smallest frames with a value, under the highest load, one for each device.
pub(super) fn answers<'a>(
    question: &str,
    parts: impl IntoIterator<Item = Part<'a>>,
) -> Vec<Answer> {
    let mut parts: Vec<Part<'_>> = parts.into_iter().collect();
    parts.retain(|part| part.way.found.value.is_some());
    parts.sort_by_key(|part| {
        let Traffic { frames, place, .. } = part.way.traffic;
        (frames.clone(), part.percent.map(Reverse), place.who.clone(), part.way.direction)
    });
    let mut known: BTreeSet<(Who, String)> = BTreeSet::new();
    parts.retain(|part| {
        let place = &part.way.traffic.place;
        known.insert((place.who.clone(), place.hosts()))
    });
    let places = PlaceLabels::new(parts.iter().map(|part| &part.way.traffic.place));
    parts.iter().map(|part| answer(question, part, places)).collect()
}

fn answer(question: &str, part: &Part<'_>, places: PlaceLabels) -> Answer {
    let Traffic { frames, place, .. } = part.way.traffic;
    let gauge = Gauge::new(question, part.way.found.unit).with_cable(part.cable).with(
        MarkKind::Device,
        place.who.name(),
        part.way.found,
    );
    let labels = [Some(frames.to_phrase()), Some(part.conditions.clone()), places.label(place)];
    let labels = labels.into_iter().flatten().filter(|label| !label.is_empty());
    stated(String::new(), part.way.found)
        .led_by(part.way.found)
        .bounded(part.bound)
        .with_gauge(gauge)
        .with_question(question)
        .of_case(labels.collect::<Vec<_>>().join(", "))
}
