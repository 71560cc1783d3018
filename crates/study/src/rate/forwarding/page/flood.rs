//! Floods: received rates in sentences if no search has more to say, and the counts of all frames.
//!
//! Owns the table of counts. Never states a received rate twice: the table of rates has it.

use page::{Answer, Bound, Table, Unit};

use super::super::finding::{FloodCounts, ForwardingFinding, OneWay};
use super::listing;
use super::rated::{Origin, Rated};
use super::smallest::{place_labels, shown_sizes};
use crate::view::PlaceLabels;

/// Rates of all floods.
pub(super) fn rates(found: &ForwardingFinding) -> Vec<Rated<'_>> {
    let cases = &found.floods;
    let mut all = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let cable = case.cable.map(|cable| &cases[cable].counts);
        all.extend(case.traffic.each(&case.counts).map(|way| {
            let mut beside = cases.iter().filter(|other| other.cable == Some(at));
            let cable = cable.and_then(|counts| counts.get(&way.direction));
            Rated {
                way: way.with(&way.found.received),
                origin: Origin::Flood(way.found),
                cable: cable.map(|counts| &counts.received.frames),
                is_beside: beside.any(|other| other.counts.contains_key(&way.direction)),
            }
        }));
    }
    all
}

/// Answers, one for each device, direction and frame size, if no search has more to say.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    if !found.throughput.is_empty() {
        return Vec::new();
    }
    let rates: Vec<Rated<'_>> =
        rates(found).into_iter().filter(Rated::is_whole_of_device).collect();
    let (shown, places) = (shown_sizes(&rates), place_labels(&rates));
    let is_shown = |rated: &&Rated<'_>| {
        rated.value().value.is_some() && shown.binary_search(&rated.traffic().frames).is_ok()
    };
    rates.iter().filter(is_shown).map(|rated| answer(rated, places)).collect()
}

fn answer(rated: &Rated<'_>, places: PlaceLabels) -> Answer {
    let is_most = matches!(rated.origin, Origin::Flood(counts) if counts.is_at_most);
    rated.answer(places).bounded(is_most.then_some(Bound::Most))
}

/// Table of a flood's counts: offered, sent, lost, duplicated and reordered.
pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let ways = found.floods.iter().flat_map(|case| case.traffic.each(&case.counts));
    let mut ways: Vec<OneWay<'_, FloodCounts>> = ways.collect();
    ways.sort_by_key(OneWay::order);
    listing("Every frame of a flood, frames/s", ways, |way| *way)
        .value("offered", |way| &way.found.offered)
        .value("sent", |way| &way.found.sent)
        .value("lost", |way| &way.found.lost)
        .value_or_missing("duplicated", |way| Some(&way.found.told_apart.as_ref()?[0]))
        .value_or_missing("reordered", |way| Some(&way.found.told_apart.as_ref()?[1]))
        .samples("n", |way| {
            let FloodCounts { offered, sent, lost, told_apart, .. } = way.found;
            [offered, sent, lost].into_iter().chain(told_apart.iter().flatten()).collect()
        })
        .table()
        .sparing(&["n", "reordered", "duplicated"])
        .stating(Unit::FramesPerSecond)
        .unless_empty()
}
