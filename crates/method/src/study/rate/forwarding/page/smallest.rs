//! Which frames the first screen tells of: all sizes where they are few, and of tests other than
//! the throughput the smallest alone.
//!
//! Owns what tells devices and frames apart there. Never words what a test found.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use page::{Answer, Bound, Figure, Gauge, MarkKind};

use super::super::finding::{OneWay, Traffic};
use super::rated::Rated;
use crate::study::view::{Frames, Who, stated};

/// With more sizes than this only the smallest, the largest and the mixes are told at the top.
const MOST_SIZES: usize = 3;

/// All sizes, or the ends and the mixes; the smallest first.
pub(super) fn shown_sizes(rates: &[Rated<'_>]) -> Vec<Frames> {
    let all: BTreeSet<&Frames> = rates.iter().map(|rated| &rated.traffic().frames).collect();
    let (few, ends) = (all.len() <= MOST_SIZES, [all.first().copied(), all.last().copied()]);
    let is_shown = |frames: &&Frames| {
        few || frames.is_mix() || ends.into_iter().flatten().any(|end| end == *frames)
    };
    all.iter().copied().filter(is_shown).cloned().collect()
}

/// True if devices have to be told from one another.
pub(super) fn several_devices(rates: &[Rated<'_>]) -> bool {
    rates.iter().map(|rated| &rated.traffic().place.who).collect::<BTreeSet<_>>().len() > 1
}

/// One device's value of a test.
pub(super) struct Part<'a> {
    /// The value that it states.
    pub(super) way: OneWay<'a, Figure>,
    /// The same over the direct cable.
    pub(super) cable: Option<&'a Figure>,
    /// The bound that the value is, where the device may do better.
    pub(super) bound: Option<Bound>,
    /// The share of a throughput at which that was measured.
    pub(super) percent: Option<u32>,
    /// The conditions behind the frames: `50 % of it`; may be empty.
    pub(super) conditions: String,
}

/// Answers at the smallest frames that have a value, under the highest load, a device each.
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
    let several = parts.iter().map(|part| &part.way.traffic.place).collect::<BTreeSet<_>>();
    let several = several.len() > 1;
    parts.iter().map(|part| answer(question, part, several)).collect()
}

fn answer(question: &str, part: &Part<'_>, several: bool) -> Answer {
    let Traffic { frames, place, .. } = part.way.traffic;
    let gauge = Gauge::new(question, part.way.found.unit).with_cable(part.cable).with(
        MarkKind::Device,
        place.who.name(),
        part.way.found,
    );
    let place = several.then(|| place.in_short());
    let labels = [Some(frames.in_words()), Some(part.conditions.clone()), place];
    let labels = labels.into_iter().flatten().filter(|label| !label.is_empty());
    stated(String::new(), part.way.found)
        .led_by(part.way.found)
        .bounded(part.bound)
        .with_gauge(gauge)
        .asked(question)
        .of_case(labels.collect::<Vec<_>>().join(", "))
}
