//! Throughput: the rate that devices forward without loss, and the course of each search.
//!
//! Owns the sizes and goals of the first screen. Never calls a bound a limit.

use std::collections::BTreeSet;

use measure::Nanos;
use page::{Answer, Block, Caveat, Cell, Unit, words};

use super::super::finding::{ForwardingFinding, GoalCase, Traffic};
use super::super::throughput::LOAD_GOALS;
use super::rated::{Kind, Origin, Rated};
use super::smallest::{place_labels, shown_sizes};
use super::{listing, quantity};
use crate::search::GoalName;
use crate::view::PlaceLabels;

/// Rates that were searched for.
pub(super) fn rates(found: &ForwardingFinding) -> Vec<Rated<'_>> {
    let cases = &found.throughput;
    let mut all = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let is_beside = cases.iter().any(|other| other.cable == Some(at));
        let cable = case.cable.map(|cable| &cases[cable]);
        for (place, goal) in case.goals.iter().enumerate() {
            let beside = cable.map(|cable| &cable.goals[place].rates);
            all.extend(case.traffic.each(&goal.rates).map(|way| {
                let cable = beside.and_then(|rates| rates.get(&way.direction));
                let cable = cable.map(|rate| &rate.frames);
                Rated { way, origin: Origin::Search(goal), cable, is_beside }
            }));
        }
    }
    all
}

/// Answers, one for each device, direction, goal and frame size.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let mut rates: Vec<Rated<'_>> =
        rates(found).into_iter().filter(Rated::is_whole_of_device).collect();
    let shown = shown_sizes(&rates);
    let places = place_labels(&rates);
    let is_alone =
        rates.iter().all(|rated| rated.traffic().place.who == rates[0].traffic().place.who);
    // The goal whose load other tests use is stated for every size; the others only for the
    // smallest, and only for a single device.
    let leading = rates.iter().map(rank).min();
    rates.retain(|rated| {
        let frames = &rated.traffic().frames;
        let is_first = Some(frames) == shown.first() && is_alone;
        is_first || Some(rank(rated)) == leading && shown.binary_search(frames).is_ok()
    });
    rates.sort_by_key(|rated| {
        let (rank, Traffic { frames, place, .. }) = (rank(rated), rated.traffic());
        (Some(rank) != leading, rank, place.hosts(), frames.clone(), place.who.clone())
    });
    let one = |rated: &Rated<'_>| match rated.value().value {
        Some(_) => rated.answer(places),
        None => no_rate(rated, places),
    };
    rates.iter().map(one).collect()
}

fn rank(rated: &Rated<'_>) -> Option<usize> {
    LOAD_GOALS.iter().position(|goal| Kind::Goal(*goal) == rated.kind())
}

/// Answer if no load passed: below the known bound, or undetermined.
fn no_rate(rated: &Rated<'_>, places: PlaceLabels) -> Answer {
    let value = rated.value();
    let text = if value.caveats.contains(&Caveat::LossNotByLoad) {
        "Frames are lost at any rate, and no more at a higher one: no rate is the limit."
    } else {
        "No load that was tried passed."
    };
    Answer { text: text.to_owned(), ..rated.answer(places) }.with_question("Throughput")
}

/// Explanations of the goals that occur.
pub(super) fn meanings(rates: &[Rated<'_>]) -> Option<Block> {
    let goals = rates.iter().filter_map(|rated| match rated.kind() {
        Kind::Flood => None,
        Kind::Goal(goal) => Some(goal),
    });
    let goals: BTreeSet<GoalName> = goals.collect();
    let term = |goal: GoalName| (goal.as_str().to_owned(), meaning(goal).to_owned());
    (!goals.is_empty()).then(|| Block::Glossary(goals.into_iter().map(term).collect()))
}

const fn meaning(goal: GoalName) -> &'static str {
    match goal {
        GoalName::Rfc2544 => {
            "throughput by RFC 2544 §26.1: the highest rate at which a full-length trial lost not \
             one frame."
        }
        GoalName::Tst009 => {
            "ETSI GS NFV-TST 009 §12.3.3: the same, but a trial that lost frames is made once more \
             and may pass then."
        }
        GoalName::Ndr => "non-drop rate: no frame lost in at least half of many short trials.",
        GoalName::Pdr => {
            "partial-drop rate: at most 0.5 % lost in at least half of many short trials."
        }
    }
}

/// Table of the searches: bracket, trials, traffic, and the conditional throughput of RFC 9971 if
/// the goal allows loss.
pub(super) fn searches(rates: &[Rated<'_>]) -> Option<Block> {
    let whole = rates.iter().filter(|rated| rated.way.place().is_whole());
    let searches = whole.filter_map(|rated| match rated.origin {
        Origin::Search(goal) => Some((rated, goal)),
        Origin::Flood(_) => None,
    });
    let time = |time: Nanos| words::time(time.0 as f64);
    let allowed = |goal: &GoalCase| goal.conditional.map(|given| words::percent(given.loss_ratio));
    let note = "The bracket between the highest load that passed and the lowest that failed, and \
                what was forwarded at the load that passed (conditional throughput, RFC 9971) where \
                the goal allows loss.";
    let table =
        listing("How each throughput was found, frames/s", searches, |(rated, _)| rated.way)
            .column("goal", |(_, goal)| Cell::text(goal.goal.as_str()))
            .column("search", |(_, goal)| Cell::text(goal.search))
            .column("passed at", |(rated, _)| quantity(rated.value().low))
            .column("failed at", |(rated, _)| quantity(rated.value().high))
            .column("forwarded there", |(_, goal)| quantity(goal.conditional.map(|at| at.rate.0)))
            .column("loss allowed", |(_, goal)| {
                Cell::number(allowed(goal).unwrap_or_else(|| "none".to_owned()))
            })
            .column("trials", |(rated, _)| Cell::number(words::count(rated.value().n)))
            .column("full trial", |(_, goal)| Cell::number(time(goal.final_duration)))
            .column("traffic in all", |(_, goal)| {
                Cell::number_or_missing(goal.traffic_time.map(time))
            })
            .table()
            .with_note(note)
            .stating(Unit::FramesPerSecond);
    let summary = "The searches".to_owned();
    table.unless_empty().map(|table| Block::Folded { summary, table })
}
