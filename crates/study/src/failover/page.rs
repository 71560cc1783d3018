//! The failover study on a page: the interruption of flows by each deed and its undoing, the lost
//! and reordered frames, and the details of each flow.
//!
//! Owns its sentences and tables. Computes only numbers of flows from their shares.

mod flows;

use std::collections::BTreeSet;

use page::{Answer, Block, Cell, Figure, Listing, Reply, Table, words};

use super::finding::{FailoverCase, FailoverFinding, Interruption, UnseenEnd};
use super::sharing::{PathShare, Sharing};
use crate::view::{Finding, StudyPage, Topic, Who, stated};

impl Finding for FailoverFinding {
    fn page(&self) -> StudyPage {
        if self.cases.is_empty() {
            return StudyPage::default();
        }
        let trials = self.firsts.trials();
        let mut blocks: Vec<Block> = outages(self).into_iter().map(Block::Table).collect();
        blocks.extend(flows::over_time(trials));
        blocks.extend(flows::together(trials).map(Block::Table));
        blocks.extend(sharing(self).map(Block::Table));
        blocks.push(Block::Table(frames(self)));
        StudyPage::new("failover", "Failover", blocks).with_answers(Topic::Outage, answers(self))
    }
}

/// Deed or undoing, the flows, and their interruption.
type Outage<'a> = (String, &'a FailoverCase, &'a Interruption);

fn outages(found: &FailoverFinding) -> Option<Table> {
    let mut rows: Vec<Outage<'_>> = Vec::new();
    for case in &found.cases {
        let FailoverCase { deed, failure, restoration, .. } = case;
        rows.extend(failure.iter().map(|one| (deed.clone(), case, one)));
        rows.extend(restoration.iter().map(|one| (format!("undo {deed}"), case, one)));
    }
    let note = "Longest and median: over the flows that were interrupted, each by its longest run \
                of lost frames at a constant rate (RFC 6412: loss-derived, by flow). First lost, \
                all back: from the moment at which it was done. The value is over the trials.";
    Listing::new("For how long flows were interrupted", rows)
        .column("what was done", |(what, ..)| Cell::text(what))
        .column("device", |(_, case, _)| case.place.cell())
        .value("longest outage", |(.., one)| &one.longest)
        .value_or_missing("median", |(.., one)| one.median.as_ref())
        .column("interrupted", |(_, case, one)| {
            flows_interrupted(case, one).map_or(Cell::Missing, Cell::text)
        })
        .optional("first lost after", |(.., one)| one.first_lost.as_ref())
        .optional("all back after", |(.., one)| one.all_back.as_ref())
        .samples("trials", |(.., one)| vec![&one.longest])
        .limit(|(.., one)| one.figures())
        .table()
        .sparing(&["trials", "median"])
        .with_note(note)
        .unless_empty()
}

/// Paths' shares of the flows without a deed, by the fields that distinguish flows.
fn sharing(found: &FailoverFinding) -> Option<Table> {
    let shared = found.cases.iter().filter_map(|case| Some((case, case.sharing.as_ref()?)));
    let number = |figure: &Figure, decimals| {
        Cell::number_or_missing(figure.value.map(|value| words::trimmed(value, decimals)))
    };
    let note = "Of all frames that crossed one of the paths, by the device's own counters. Jain's \
                index is 1 where all carry the same; at random: where each flow takes any path by \
                chance. An idle path carried no flow in any trial.";
    Listing::new("How paths share the flows", shared)
        .column("flows by", |(case, _)| {
            Cell::text(&case.told_apart).with_note(format!("{} flows", words::count(case.flows)))
        })
        .column("device", |(case, _)| case.place.with_direction(None).cell())
        .column("shares", |(_, sharing)| Cell::text(shares(sharing)))
        .column("Jain's index", |(_, sharing)| {
            let random = format!("{} at random", words::trimmed(sharing.at_random, 3));
            number(&sharing.jain, 3).with_note(random)
        })
        .column("max / mean", |(_, sharing)| number(&sharing.max_mean, 2))
        .value("idle paths", |(_, sharing)| &sharing.idle)
        .samples("trials", |(_, sharing)| vec![&sharing.jain])
        .table()
        .sparing(&["trials", "max / mean"])
        .with_note(note)
        .unless_empty()
}

/// Lost and reordered frames, first those without a deed.
fn frames(found: &FailoverFinding) -> Table {
    let note = "Frames of a whole trial, summed over its flows; reordered: behind a later \
                one of the same flow. A silent flow is one of which not one \
                frame came: a path that carries nothing.";
    Listing::new("What became of the frames", &found.cases)
        .column("what was done", |case| Cell::text(&case.deed))
        .column("device", |case| case.place.cell())
        .value("lost", |case| &case.lost)
        .value("reordered", |case| &case.reordered)
        .value("duplicated", |case| &case.duplicated)
        .value("silent flows", |case| &case.silent)
        .samples("trials", |case| vec![&case.lost])
        .table()
        .sparing(&["trials"])
        .with_note(note)
}

/// Answers: one for each deed, with its undoing. Further ones cover flows that are silent without a
/// deed, and several paths that share flows.
fn answers(found: &FailoverFinding) -> Vec<Answer> {
    let devices: BTreeSet<&Who> = found.cases.iter().map(|case| &case.place.who).collect();
    let has_several = devices.len() > 1;
    let of_case = |case: &FailoverCase| {
        let shared = case.sharing.as_ref().and_then(|sharing| shared(case, sharing));
        let answers = match &case.failure {
            Some(one) => [Some(failure(case, one, has_several)), None],
            None => [silence(case), shared],
        };
        answers.into_iter().flatten()
    };
    found.cases.iter().flat_map(of_case).collect()
}

/// Answer about paths' shares of the flows of one kind.
fn shared(case: &FailoverCase, sharing: &Sharing) -> Option<Answer> {
    let (paths, by) = (sharing.paths.len(), &case.told_apart);
    let even = format!(
        "{} flows told apart by their {by} share {paths} paths: {} (Jain's index {}; {} where \
         each takes one by chance).",
        words::count(case.flows),
        shares(sharing),
        words::trimmed(sharing.jain.value?, 3),
        words::trimmed(sharing.at_random, 3)
    );
    let (more, reply) = match sharing.idle.value {
        Some(idle) if idle > 0.0 && idle + 1.0 >= paths as f64 => {
            (format!(" All take one path: the device does not look at {by}."), Reply::No)
        }
        Some(idle) if idle > 0.0 => {
            let what = if idle > 1.0 { "paths carry" } else { "path carries" };
            (format!(" {} {what} nothing.", words::trimmed(idle, 0)), Reply::No)
        }
        Some(_) => (String::new(), Reply::Yes),
        None => (" Too few flows to tell an idle path from chance.".to_owned(), Reply::NotShown),
    };
    let stated = stated(even + &more, &sharing.jain)
        .stating(sharing.paths.iter().map(|path| &path.share))
        .stating([&sharing.idle]);
    Some(stated.to("All paths used?", reply))
}

/// `p1 50.2 %, p2 49.8 %`
fn shares(sharing: &Sharing) -> String {
    let share = |path: &PathShare| {
        let share = words::percent(path.share.value?);
        Some(format!("{} {share}", path.port))
    };
    sharing.paths.iter().filter_map(share).collect::<Vec<_>>().join(", ")
}

/// Answer about flows that are silent without a deed.
fn silence(case: &FailoverCase) -> Option<Answer> {
    let silent = &case.silent;
    let text = format!(
        "{}{}: of {} of {} flows not one frame arrives, though nothing was done: a path or a \
         member of a bundle carries nothing.",
        case.place.hosts(),
        case.place.direction_in_words(),
        words::trimmed(silent.value.filter(|flows| *flows > 0.0)?, 1),
        words::count(case.flows)
    );
    Some(stated(text, silent).led_by(silent).to("All flows arrive?", Reply::No))
}

fn failure(case: &FailoverCase, one: &Interruption, has_several: bool) -> Answer {
    let on =
        if has_several { format!(" on {}", case.place.who.to_phrase()) } else { String::new() };
    let subject = format!("{}{on}{}", case.deed, case.place.direction_in_words());
    let longest = &one.longest;
    let mut text = match (longest.value, longest.high, one.unseen_end) {
        (Some(_), ..) => interrupted(case, one),
        (None, Some(most), _) => format!("{}.", words::capitalised(bound(one, most))),
        (None, None, Some(end)) => {
            let until = match end {
                UnseenEnd::Undone => "come back only as it is undone",
                UnseenEnd::TrialOver => "do not come back within the trial",
            };
            let trials = || {
                format!("Interrupts flows in {} of {} trials; they {until}.", one.trials, longest.n)
            };
            let least = |least| format!("Flows {until}, after at least {}.", words::time(least));
            longest.low.map_or_else(trials, least)
        }
        (None, None, None) if longest.n > 0 => {
            "No trial in which nothing is done was valid.".to_owned()
        }
        (None, None, None) => "No trial was valid.".to_owned(),
    };
    if one.unseen_end == Some(UnseenEnd::Undone) && longest.low.is_some() {
        text.push_str(" There is no way around.");
    }
    let mut figures = details(one, &[&one.affected, &one.median, &one.first_lost]);
    if let Some(back) = &case.restoration {
        text.push_str(&undone(case, back));
        figures.push(&back.longest);
        figures.extend(details(back, &[&back.affected]));
    }
    let answer = stated(text, longest).led_by(longest).stating(figures);
    answer.with_question("Longest interruption").of_case(subject)
}

/// Figures that a sentence states besides the longest outage, if that has a value.
fn details<'a>(one: &'a Interruption, figures: &[&'a Option<Figure>]) -> Vec<&'a Figure> {
    let is_stated = one.longest.value.is_some();
    figures.iter().copied().flatten().filter(|_| is_stated).collect()
}

/// Number of interrupted flows: `8 of 16 flows`, `at least 8 of 16 flows`; over several trials, the
/// median.
fn flows_interrupted(case: &FailoverCase, one: &Interruption) -> Option<String> {
    let share = one.affected.as_ref()?.value?;
    let least = if one.is_least { "at least " } else { "" };
    let plural = if case.flows > 1 { "s" } else { "" };
    let affected = words::trimmed(share * case.flows as f64, 1);
    Some(format!("{least}{affected} of {} flow{plural}", words::count(case.flows)))
}

fn interrupted(case: &FailoverCase, one: &Interruption) -> String {
    let flows = flows_interrupted(case, one).unwrap_or_else(|| "flows".to_owned());
    let median = one.median.as_ref().and_then(|figure| figure.value);
    let half = median.map_or_else(String::new, |median| {
        format!(", the median of them for {}", words::time(median))
    });
    let first = one.first_lost.as_ref().and_then(|figure| figure.value);
    let first = first.map_or_else(String::new, |at| {
        format!("; the first frame is lost {} after it was begun", words::time(at.max(0.0)))
    });
    format!("Interrupts {flows}{half}{first}.")
}

/// Bound of an interruption: `interrupts no flow, or none for longer than 1.00 ms`. States the
/// number of trials if only some exceeded those without a deed.
fn bound(one: &Interruption, most: f64) -> String {
    let most = words::time(most);
    match one.trials {
        0 => format!("interrupts no flow, or none for longer than {most}"),
        some => {
            format!("interrupts flows in {some} of {} trials, for at most {most}", one.longest.n)
        }
    }
}

/// ` Undoing it interrupts no flow, or none for longer than 1.00 ms.`
fn undone(case: &FailoverCase, one: &Interruption) -> String {
    match (one.longest.value, one.longest.high) {
        (Some(_), _) => {
            let flows = flows_interrupted(case, one).unwrap_or_else(|| "flows".to_owned());
            let longest = words::with_interval(&one.longest);
            format!(" Undoing it interrupts {flows} again, for {longest}.")
        }
        (None, Some(most)) => format!(" Undoing it {}.", bound(one, most)),
        (None, None) => String::new(),
    }
}
