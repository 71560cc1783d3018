//! The failover study on the page: for how long flows were interrupted by what was done, and by its
//! being undone; what became of the frames; and what became of each flow. Computes nothing but
//! sums.

pub(super) mod flows;

use std::collections::BTreeSet;

use method::FailoverSpec;
use page::{Answer, Block, Caveat, Cell, Figure, Key, Metric, Reply, Section, Table};
use trial::{Trial, TrialRecord};

use super::reading;
use super::stated::stated;
use super::subject::{self, Who};
use page::words;

/// What tells one case from another.
const CASE: [Key; 6] =
    [Key::Device, Key::Variant, Key::Deed, Key::FlowsBy, Key::Direction, Key::Phase];

/// Whether a trial is the study's.
pub(super) fn is_own(trial: &Trial) -> bool {
    reading::is_labelled(trial, FailoverSpec::LABEL)
}

/// All figures of one phase of a deed, or what became of its frames.
struct Case<'a>(Vec<&'a Figure>);

impl<'a> Case<'a> {
    fn get(&self, metric: Metric) -> Option<&'a Figure> {
        self.0.iter().copied().find(|figure| figure.metric == metric)
    }

    fn outage(&self, statistic: &str) -> Option<&'a Figure> {
        let of =
            |f: &&Figure| f.metric == Metric::Outage && f.text(Key::Statistic) == Some(statistic);
        self.0.iter().copied().find(of)
    }

    fn cell(&self, metric: Metric) -> Cell {
        self.get(metric).map_or_else(Cell::default, Cell::value)
    }

    /// `source ports`
    fn by(&self) -> String {
        self.0[0].text(Key::FlowsBy).unwrap_or_default().replace('-', " ")
    }

    fn all_flows(&self) -> String {
        words::count(self.0[0].number(Key::Flows).unwrap_or(0.0) as u64)
    }

    fn deed(&self) -> &'a str {
        self.0[0].text(Key::Deed).unwrap_or_default()
    }

    fn phase(&self) -> Option<&'a str> {
        self.0[0].text(Key::Phase)
    }

    fn who(&self) -> Who {
        Who::of_figure(self.0[0])
    }

    fn has(&self, caveat: Caveat) -> bool {
        self.0.iter().any(|figure| figure.caveats.contains(&caveat))
    }

    /// `8 of 16 flows`, `at least 8 of 16 flows`; of several trials the middle one's.
    fn flows(&self) -> Option<String> {
        let all = self.0[0].number(Key::Flows)?;
        let affected = self.get(Metric::FlowsAffected)?;
        let share = affected.value?;
        let bound = affected.text(Key::Bound).map_or(String::new(), |bound| format!("{bound} "));
        let several = if all > 1.0 { "s" } else { "" };
        Some(format!(
            "{bound}{} of {} flow{several}",
            words::trimmed(share * all, 1),
            words::count(all as u64)
        ))
    }
}

fn own(figures: &[Figure]) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(|f| f.is_of("failover") && !reading::is_of_campaign(f))
}

/// In order of appearance, as the study gives them.
fn cases(figures: &[Figure]) -> Vec<Case<'_>> {
    reading::alike(own(figures), &CASE).into_iter().map(Case).collect()
}

/// The section; `None` where the study was not asked for.
pub(super) fn section(
    prefix: &str,
    figures: &[Figure],
    trials: &[(Trial, TrialRecord)],
) -> Option<Section> {
    let cases = cases(figures);
    if cases.is_empty() {
        return None;
    }
    let mut blocks: Vec<Block> = outages(&cases).into_iter().map(Block::Table).collect();
    blocks.extend(flows::over_time(trials));
    blocks.extend(flows::together(trials).map(Block::Table));
    blocks.extend(sharing(&cases).map(Block::Table));
    blocks.push(Block::Table(frames(&cases)));
    let heading = "Failover".to_owned();
    Some(Section { id: format!("{prefix}-failover"), heading, blocks })
}

/// `link-1-down`, or `undo link-1-down`.
fn which(case: &Case<'_>) -> Cell {
    match case.phase() {
        Some("restoration") => Cell::text(format!("undo {}", case.deed())),
        _ => Cell::text(case.deed()),
    }
}

fn outages(cases: &[Case<'_>]) -> Option<Table> {
    let row = |case: &Case<'_>| {
        let flows = case.flows().map_or(Cell::Missing, Cell::text);
        vec![
            which(case),
            subject::cell(case.0[0]),
            Cell::value_or_missing(case.outage("longest")),
            Cell::value_or_missing(case.outage("median")),
            flows,
            case.cell(Metric::FirstLost),
            case.cell(Metric::AllBack),
            Cell::samples(&[case.0[0]]),
            Cell::limit(&case.0),
        ]
    };
    let head = [
        "what was done",
        "device",
        "longest outage",
        "median",
        "interrupted",
        "first lost after",
        "all back after",
        "trials",
        "limited by",
    ];
    let note = "Longest and median: over the flows that were interrupted, each by its longest run \
                of lost frames at a constant rate (RFC 6412: loss-derived, by flow). First lost, all \
                back: from the moment at which it was done. The value is over the trials.";
    Table::new("For how long flows were interrupted", head)
        .sparing(&["trials", "median"])
        .with_note(note)
        .with_rows(cases.iter().filter(|case| case.phase().is_some()).map(row))
        .unless_empty()
}

/// How paths share the flows when nothing is done, by what tells flows apart.
fn sharing(cases: &[Case<'_>]) -> Option<Table> {
    let row = |case: &Case<'_>| {
        let jain = case.get(Metric::JainIndex)?;
        let random = jain.number(Key::AtRandom).map(|index| words::trimmed(index, 3));
        let random = random.map_or_else(String::new, |index| format!("{index} at random"));
        Some(vec![
            Cell::text(case.by()).with_note(format!("{} flows", case.all_flows())),
            subject::cell(case.0[0]),
            Cell::text(members(case)),
            plain(jain.value, 3).with_note(random),
            plain(case.get(Metric::MaxMean).and_then(|f| f.value), 2),
            case.cell(Metric::IdlePaths),
            Cell::samples(&[jain]),
        ])
    };
    let head =
        ["flows by", "device", "shares", "Jain's index", "max / mean", "idle paths", "trials"];
    let note = "Of all frames that crossed one of the paths, by the device's own counters. Jain's \
                index is 1 where all carry the same; at random: where each flow takes any path by \
                chance. An idle path carried no flow in any trial.";
    Table::new("How paths share the flows", head)
        .sparing(&["trials", "max / mean"])
        .with_note(note)
        .with_rows(cases.iter().filter_map(row))
        .unless_empty()
}

/// A number that is no share of anything.
fn plain(value: Option<f64>, decimals: usize) -> Cell {
    Cell::number_or_missing(value.map(|value| words::trimmed(value, decimals)))
}

/// `p1 50.2 %, p2 49.8 %`
fn members(case: &Case<'_>) -> String {
    let share = |figure: &&Figure| {
        let name = figure.text(Key::Member)?;
        let name = name.split_once('/').map_or(name, |(_, port)| port);
        Some(format!("{name} {}", words::percent(figure.value?)))
    };
    let shares = case.0.iter().filter(|f| f.metric == Metric::PathShare);
    shares.filter_map(share).collect::<Vec<_>>().join(", ")
}

/// What became of frames, with what is lost when nothing is done first.
fn frames(cases: &[Case<'_>]) -> Table {
    let row = |case: &Case<'_>| {
        vec![
            which(case),
            subject::cell(case.0[0]),
            case.cell(Metric::LostFrames),
            case.cell(Metric::ReorderedFrames),
            case.cell(Metric::DuplicatedFrames),
            case.cell(Metric::FlowsSilent),
            Cell::samples(&[case.0[0]]),
        ]
    };
    let head =
        ["what was done", "device", "lost", "reordered", "duplicated", "silent flows", "trials"];
    let note = "Frames of a whole trial, summed over its flows; reordered: behind a later \
                one of the same flow. A silent flow is one of which not one \
                frame came: a path that carries nothing.";
    Table::new("What became of the frames", head)
        .sparing(&["trials"])
        .with_note(note)
        .with_rows(cases.iter().filter(|case| case.phase().is_none()).map(row))
}

/// One for each deed, with what undoing it did; one more where flows are silent when nothing is
/// done.
pub(super) fn answers(figures: &[Figure]) -> Vec<Answer> {
    let cases = cases(figures);
    let several = cases.iter().map(Case::who).collect::<BTreeSet<Who>>().len() > 1;
    let mut all = Vec::new();
    for case in &cases {
        let silent = case.get(Metric::FlowsSilent).filter(|_| case.deed() == FailoverSpec::NOTHING);
        if let Some(figure) = silent.filter(|f| f.value.is_some_and(|flows| flows > 0.0)) {
            all.push(silence(case, figure));
        }
        all.extend(shared(case));
        if case.phase() == Some("failure")
            && let Some(longest) = case.outage("longest")
        {
            let back = cases.iter().find(|other| is_undoing(other, case));
            all.push(failure(case, longest, back, several));
        }
    }
    all
}

/// How evenly paths carry the flows of one kind.
fn shared(case: &Case<'_>) -> Option<Answer> {
    let jain = case.get(Metric::JainIndex)?;
    let (index, idle) = (jain.value?, case.get(Metric::IdlePaths)?);
    let random = jain.number(Key::AtRandom).unwrap_or(1.0);
    let (paths, by) = (jain.number(Key::Paths).unwrap_or(0.0), case.by());
    let shares = members(case);
    let even = format!(
        "{} flows told apart by their {by} share {paths} paths: {shares} (Jain's index {}; {} where \
         each takes one by chance).",
        case.all_flows(),
        words::trimmed(index, 3),
        words::trimmed(random, 3)
    );
    let (text, reply) = match idle.value {
        Some(none) if none > 0.0 && none + 1.0 >= paths => {
            (format!("{even} All take one path: the device does not look at {by}."), Reply::No)
        }
        Some(none) if none > 0.0 => {
            let what = if none > 1.0 { "paths carry" } else { "path carries" };
            (format!("{even} {} {what} nothing.", words::trimmed(none, 0)), Reply::No)
        }
        Some(_) => (even, Reply::Yes),
        None => {
            (format!("{even} Too few flows to tell an idle path from chance."), Reply::NotShown)
        }
    };
    Some(stated(text, jain).to("All paths used?", reply))
}

/// Whether a case is of a failure's end.
fn is_undoing(other: &Case<'_>, of: &Case<'_>) -> bool {
    let direction = |case: &Case<'_>| reading::direction(case.0[0]);
    other.phase() == Some("restoration")
        && (other.deed(), other.who(), direction(other)) == (of.deed(), of.who(), direction(of))
}

fn silence(case: &Case<'_>, figure: &Figure) -> Answer {
    let flows = figure.number(Key::Flows).map_or(0, |flows| flows as u64);
    let silent = words::trimmed(figure.value.unwrap_or(0.0), 1);
    let text = format!(
        "{}: of {silent} of {} flows not one frame arrives, though nothing was done: a path or a \
         member of a bundle carries nothing.",
        reading::hosts(case.0[0]),
        words::count(flows)
    );
    stated(text, figure).to("All flows arrive?", Reply::No)
}

fn failure(case: &Case<'_>, longest: &Figure, back: Option<&Case<'_>>, several: bool) -> Answer {
    let on = if several { format!(" on {}", case.who().in_words()) } else { String::new() };
    let direction = reading::direction(longest).map_or_else(String::new, |way| format!(", {way}"));
    let subject = format!("`{}`{on}{direction}", case.deed());
    let mut text = match (longest.value, longest.high) {
        (Some(_), _) => interrupted(case, longest, &subject),
        (None, None) if longest.low.is_some() => {
            let least = longest.low.map_or_else(String::new, words::time);
            format!("{subject} interrupts flows that {}: for at least {least}.", until(case))
        }
        (None, Some(most)) => format!("{subject} {}.", bound(longest, most)),
        (None, None) => match longest.integer(Key::TrialsInterrupted) {
            None | Some(0) => format!("No figure for {subject}: no trial was valid."),
            Some(some) => format!(
                "{subject} interrupts flows in {some} of {} trials; they {}.",
                longest.n,
                until(case)
            ),
        },
    };
    if case.has(Caveat::UntilUndone) && longest.low.is_some() {
        text.push_str(" There is no way around.");
    }
    if let Some(back) = back {
        text.push_str(&undone(back));
    }
    stated(text, longest).asked("Failover?")
}

/// Where nobody saw the end of an outage.
fn until(case: &Case<'_>) -> &'static str {
    if case.has(Caveat::UntilUndone) {
        "come back only as it is undone"
    } else {
        "do not come back within the trial"
    }
}

fn interrupted(case: &Case<'_>, longest: &Figure, subject: &str) -> String {
    let flows = case.flows().unwrap_or_else(|| "flows".to_owned());
    let median = case.outage("median").and_then(|f| f.value);
    let half = median.map_or_else(String::new, |median| {
        format!(", the median of them for {}", words::time(median))
    });
    let first = case.get(Metric::FirstLost).and_then(|f| f.value).map_or_else(String::new, |at| {
        format!("; the first frame is lost {} after it was begun", words::time(at.max(0.0)))
    });
    format!(
        "{subject} interrupts {flows}, for {} at the longest{half}{first}.",
        words::with_interval(longest)
    )
}

/// `interrupts no flow, or none for longer than 1.00 ms`; where some trials had more than others,
/// how many.
fn bound(longest: &Figure, most: f64) -> String {
    let most = words::time(most);
    match longest.integer(Key::TrialsInterrupted) {
        None | Some(0) => format!("interrupts no flow, or none for longer than {most}"),
        Some(some) => {
            format!("interrupts flows in {some} of {} trials, for at most {most}", longest.n)
        }
    }
}

/// ` Undoing it interrupts no flow, or none for longer than 1.00 ms.`
fn undone(case: &Case<'_>) -> String {
    let Some(longest) = case.outage("longest") else { return String::new() };
    match (longest.value, longest.high) {
        (Some(_), _) => {
            let flows = case.flows().unwrap_or_else(|| "flows".to_owned());
            format!(" Undoing it interrupts {flows} again, for {}.", words::with_interval(longest))
        }
        (None, Some(most)) => format!(" Undoing it {}.", bound(longest, most)),
        (None, None) => String::new(),
    }
}
