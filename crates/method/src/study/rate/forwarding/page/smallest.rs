//! Which frames the first screen tells of: all sizes where they are few, and of tests other than
//! the throughput the smallest alone, with all devices in a sentence.
//!
//! Owns how values of several devices share a sentence. Never words what a test found.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use page::{Answer, Figure, Verdict, words};

use super::super::finding::{OneWay, Traffic};
use super::rated::Rated;
use crate::study::view::{Frames, Who};

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

/// `a`, `a and b`, `a, b and c`
pub(super) fn join_names(mut items: Vec<String>) -> String {
    let Some(last) = items.pop() else { return String::new() };
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// One device's part of a sentence about all.
pub(super) struct Part<'a> {
    /// The value that it states.
    pub(super) way: OneWay<'a, Figure>,
    /// Other values that it states.
    pub(super) others: Vec<&'a Figure>,
    /// The share of a throughput at which that was measured.
    pub(super) percent: Option<u32>,
    /// The sentence up to its colon.
    pub(super) begins: String,
    /// The device's own words in it.
    pub(super) text: String,
}

/// `by the bridge for 1.00 s`
pub(super) fn lasting(way: &OneWay<'_, Figure>) -> String {
    format!("by {} for {}", way.traffic.place.who.in_words(), words::with_interval(way.found))
}

/// Sentences about the smallest frames that have a value, under the highest load: one for all
/// devices with the same verdict.
pub(super) fn sentences(question: &str, mut parts: Vec<Part<'_>>) -> Vec<Answer> {
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
    let mut groups: BTreeMap<(String, Verdict), Vec<Part<'_>>> = BTreeMap::new();
    for part in parts {
        groups.entry((part.begins.clone(), part.way.found.verdict)).or_default().push(part);
    }
    let sentence = |((begins, verdict), parts): ((String, Verdict), Vec<Part<'_>>)| {
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        Answer::new(format!("{begins}: {}.", texts.join("; ")))
            .limited_by(verdict)
            .asked(question)
            .stating(
                parts.iter().flat_map(|p| std::iter::once(p.way.found).chain(p.others.clone())),
            )
    };
    groups.into_iter().map(sentence).collect()
}
