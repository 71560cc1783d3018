//! The throughput: what devices forward without loss, in sentences, those with the same verdict in
//! one; and how each search went.
//!
//! Owns which sizes and goals the first screen tells. Never calls a bound a limit.

use std::collections::{BTreeMap, BTreeSet};

use measure::Nanos;
use page::{Answer, Block, Caveat, Cell, Unit, Verdict, words};

use super::super::finding::{ForwardingFinding, GoalCase};
use super::super::throughput::LOAD_GOALS;
use super::rated::{Kind, Origin, Rated};
use super::smallest::{join_names, several_devices, shown_sizes};
use super::{listing, quantity};
use crate::search::GoalName;
use crate::study::view::{line_rate, stated};

/// The question about a rate where the link's rate is not known.
const QUESTION: &str = "Throughput?";

/// Every rate that was searched for.
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

/// One for each way, goal and frame size, and for each verdict where devices differ in that.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let rates: Vec<Rated<'_>> =
        rates(found).into_iter().filter(Rated::is_whole_of_device).collect();
    let shown = shown_sizes(&rates);
    let several = several_devices(&rates);
    // The goal whose load other tests use is told for every size; the others only for the smallest,
    // and only of one device.
    let leading = rates.iter().map(rank).min();
    let mut groups: BTreeMap<_, Vec<Rated<'_>>> = BTreeMap::new();
    for rated in rates {
        let rank = rank(&rated);
        let leads = Some(rank) == leading;
        let frames = &rated.traffic().frames;
        let is_first = Some(frames) == shown.first() && !several;
        if is_first || leads && shown.binary_search(frames).is_ok() {
            let verdict = rated.value().value.map(|_| rated.value().verdict);
            let key = (!leads, rank, rated.traffic().place.hosts(), frames.clone(), verdict);
            groups.entry(key).or_default().push(rated);
        }
    }
    groups.into_values().map(|group| answer(&group, several)).collect()
}

fn rank(rated: &Rated<'_>) -> Option<usize> {
    LOAD_GOALS.iter().position(|goal| Kind::Goal(*goal) == rated.kind())
}

/// Rates that differ in nothing but their devices, and share a verdict.
fn answer(group: &[Rated<'_>], several: bool) -> Answer {
    let rated = &group[0];
    if rated.value().value.is_none() {
        return no_rate(group, several);
    }
    if let [one] = group {
        return one_rate(one, several);
    }
    let mut group = group.to_vec();
    let highest = |rated: &Rated<'_>| rated.value().value.unwrap_or(0.0);
    group.sort_by(|a, b| highest(b).total_cmp(&highest(a)));
    let each = |rated: &Rated<'_>| {
        let least = if rated.is_bound() { "at least " } else { "" };
        let value = rated.value();
        let rate = value.value.map_or_else(String::new, |v| words::value(value.unit, v));
        let who = rated.traffic().place.who.in_words();
        format!("{who} forwards {least}{rate}{}", rated.of_line())
    };
    let rates = join_names(group.iter().map(each).collect());
    let number = if group.len() == 2 { "both" } else { "all" };
    let verdict = match rated.value().verdict {
        Verdict::DeviceLimited => format!(": {number} are the devices' own limits"),
        Verdict::LinkLimited => format!(": {number} are line rate"),
        Verdict::TesterLimited => format!(": {number} are limited by the tester, so lower bounds"),
        Verdict::Undetermined => ": whose limits these are can't be told".to_owned(),
    };
    let (hosts, frames) = (rated.traffic().place.hosts(), rated.traffic().frames.in_words());
    let (goal, beside) = (goal(rated), group[0].over_cable());
    let text = format!("{hosts}, frames of {frames}, {goal}: {rates}{beside}{verdict}.");
    let answer =
        stated(text, rated.value()).stating(group.iter().map(Rated::value)).stating(group[0].cable);
    line_rate(answer, rated.value(), QUESTION)
}

fn one_rate(rated: &Rated<'_>, several: bool) -> Answer {
    let value = rated.value();
    let hosts = rated.traffic().place.hosts();
    let (who, path) = if several {
        (rated.traffic().place.who.in_words(), format!(", {hosts}"))
    } else {
        (hosts, String::new())
    };
    let why = rated.bound().map_or_else(String::new, |why| format!(": {why}"));
    let least = if rated.is_bound() { "at least " } else { "" };
    let (rate, frames) = (words::with_interval(value), rated.traffic().frames.in_words());
    let (goal, line, beside) = (goal(rated), rated.of_line(), rated.over_cable());
    let text = format!("{who} forwards {least}{rate} of {frames} {goal}{line}{path}{why}{beside}.");
    line_rate(stated(text, value).stating(rated.cable), value, QUESTION)
}

fn no_rate(group: &[Rated<'_>], several: bool) -> Answer {
    let rated = &group[0];
    let value = rated.value();
    let whos = group.iter().map(|rated| rated.traffic().place.who.in_words());
    let whos = if several { format!(" for {}", join_names(whos.collect())) } else { String::new() };
    let (hosts, frames) = (rated.traffic().place.hosts(), rated.traffic().frames.in_words());
    let goal = goal(rated);
    let text = if value.caveats.contains(&Caveat::LossNotByLoad) {
        format!(
            "{hosts}{whos}: frames of {frames} are lost at any rate, and no more at a higher one, \
             so no rate is the limit {goal}."
        )
    } else if let Some(high) = value.high {
        let high = words::value(value.unit, high);
        format!(
            "{hosts}{whos}: fewer than {high} of {frames} pass {goal}; no load that was tried did."
        )
    } else {
        format!("{hosts}: no rate of {frames} was found {goal}{whos}.")
    };
    stated(text, value).stating(group.iter().map(Rated::value)).asked(QUESTION)
}

/// `without loss, both ways together`
fn goal(rated: &Rated<'_>) -> String {
    let goal = match rated.kind() {
        Kind::Flood | Kind::Goal(GoalName::Rfc2544) => "without loss".to_owned(),
        Kind::Goal(goal) => format!("at the goal `{}`", goal.as_str()),
    };
    let is_counted = rated.traffic().place.is_counted_by_device;
    let counted = if is_counted { " (counted by the device)" } else { "" };
    let ways = if rated.way.direction.is_some() { ", both ways together" } else { "" };
    format!("{goal}{counted}{ways}")
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

/// Table of the searches: bracket, trials, traffic, and the conditional throughput of RFC
/// 9971 where the goal allows loss.
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
