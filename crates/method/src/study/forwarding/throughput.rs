//! The highest rate at which each goal holds (RFC 1242 §3.17, RFC 2544 §26.1, RFC 9971), by a search,
//! on each subject and then on the direct cables.
//!
//! Never counts what the tester could not do as a loss: such a load only bounds the search, and the
//! figure then shows the tester's limit. What passed of it without loss is a lower bound all the same.
//! A buffer makes a trial of T seconds lossless up to the true
//! rate plus buffer / T; the final trial's duration is what bounds that error.

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos};

use super::super::rows::Row;
use super::pacing::Pacing;
use super::rig::{
    Cell, Direction, Found, Notes, Offer, Rig, lost, offered, paused, seen, sent, set_direction,
};
use super::{ForwardingSpec, ForwardingTest, SearchKind};
use crate::search::{
    Attempt, BinarySearch, FailedBy, Goal, GoalName, GoalResult, LoadRange, Search, Seen, Step,
    begin,
};
use crate::study::Profile;
use crate::trial::Schedule;
use crate::{Caveat, Figure, Metric, TestbedError, Unit, verdict};

const TEST: ForwardingTest = ForwardingTest::Throughput;

/// How far above a device's throughput its bypass is searched. The verdict asks only whether the
/// tester does clearly more without the device; what the tester can do at most is the flood's figure.
const BYPASS_HEADROOM: f64 = 2.0;

/// A search's trials at its highest load: MLRsearch throws the first away (RFC 9971's warm-up).
const WARM_UP_AND_FIRST: usize = 2;

/// Which goal's load the other tests use: the RFC's own, else the one nearest to it.
const LOAD_GOALS: [GoalName; 4] =
    [GoalName::Rfc2544, GoalName::Ndr, GoalName::Tst009, GoalName::Pdr];

/// A cell's searches, over.
#[derive(Debug, Clone, Default)]
struct Searched {
    results: Vec<GoalResult>,
    /// Loads, as asked, at which PAUSE frames held the sender back.
    held_back: Vec<f64>,
    /// How often each load was offered for so long.
    asked: BTreeMap<(u64, Nanos), u32>,
    /// How even the loads without loss were, with the rate as it was and the trial's duration.
    paced: Vec<(f64, Nanos, Pacing)>,
    notes: Notes,
}

impl Searched {
    fn result(&self, goal: GoalName) -> Option<&GoalResult> {
        self.results.iter().find(|result| result.goal == goal)
    }

    /// Frames a second; zero where even the lowest load failed, `None` where nothing is known.
    fn value(&self, goal: GoalName) -> Option<f64> {
        let result = self.result(goal)?;
        match (result.relevant_lower, result.relevant_upper) {
            (Some(rate), _) => Some(rate.0),
            (None, Some(failure)) if failure.by == FailedBy::Loss => Some(0.0),
            _ => None,
        }
    }

    /// Whether the load above the value failed on the path. A search that ended at its ceiling or at
    /// what the tester can do never drove the path to its limit.
    fn driven(&self, goal: GoalName) -> bool {
        let failed = self.result(goal).and_then(|result| result.relevant_upper);
        failed.is_some_and(|failure| match failure.by {
            FailedBy::Loss => true,
            FailedBy::Tester => self.held_back.contains(&failure.rate.0),
        })
    }

    /// The highest value that the path was driven to.
    fn highest_driven(&self) -> Option<f64> {
        let driven = self.results.iter().map(|r| r.goal).filter(|goal| self.driven(*goal));
        driven.filter_map(|goal| self.value(goal)).filter(|v| *v > 0.0).max_by(f64::total_cmp)
    }

    /// Of the longest trial at the load nearest to `rate`.
    fn pacing_at(&self, rate: f64) -> Option<&Pacing> {
        let best = self.paced.iter().min_by(|a, b| {
            let off = |x: f64| (x / rate - 1.0).abs();
            off(a.0).total_cmp(&off(b.0)).then(b.1.cmp(&a.1))
        });
        best.map(|(_, _, pacing)| pacing)
    }
}

/// What is searched for, with the study's durations: those of goals with long trials are the
/// study's, the short ones' no longer than its trials on the way.
pub(super) fn goals(spec: &ForwardingSpec) -> Vec<Goal> {
    let of = |name: GoalName| {
        let named = match spec.profile {
            Profile::Quick => Goal::quick(name),
            Profile::Strict => Goal::strict(name),
        };
        let trials = named.duration_sum.0 / named.final_duration.0.max(1);
        let (initial_duration, final_duration) = match name {
            GoalName::Rfc2544 | GoalName::Tst009 => (spec.duration, spec.final_duration),
            GoalName::Ndr | GoalName::Pdr => {
                let short = named.final_duration.min(spec.duration);
                (short, short)
            }
        };
        let duration_sum = final_duration * trials;
        Goal { width: spec.precision, initial_duration, final_duration, duration_sum, ..named }
    };
    spec.goals.iter().copied().map(of).collect()
}

/// The goals that are searched together.
pub(super) fn rounds(spec: &ForwardingSpec) -> Vec<Vec<Goal>> {
    match spec.search {
        SearchKind::Mlr => vec![goals(spec)],
        SearchKind::Binary => goals(spec).into_iter().map(|goal| vec![goal]).collect(),
    }
}

/// The search for goals that are searched together.
pub(super) fn search_for(
    spec: &ForwardingSpec,
    goals: &[Goal],
    range: LoadRange,
) -> Box<dyn Search> {
    match (spec.search, goals) {
        (SearchKind::Binary, [goal]) => Box::new(BinarySearch::new(*goal, range)),
        _ => begin(goals, range),
    }
}

/// `binary` or `mlr`: a goal that one long trial decides, and that shares its trials with no other, is
/// halved for whatever is asked, because shorter trials can't replace that one.
fn search_name(spec: &ForwardingSpec, goal: &Goal, together: &[Goal]) -> &'static str {
    let alike = together.iter().filter(|other| other.final_duration == goal.final_duration);
    let lone = goal.one_pass_decides() && alike.count() == 1;
    if spec.search == SearchKind::Binary || lone { "binary" } else { "mlr" }
}

/// Searches the subjects' ways and then the direct cables, and returns the figures.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<Figure>, TestbedError> {
    let mut all: BTreeMap<Cell, Searched> = BTreeMap::new();
    for cell in rig.subject_cells() {
        let searched = search(rig, cell, f64::INFINITY)?;
        let goal = LOAD_GOALS.into_iter().find(|goal| searched.value(*goal).is_some());
        if let Some((goal, rate)) = goal.and_then(|goal| Some((goal, searched.value(goal)?))) {
            rig.remember(cell, Found { rate, driven: searched.driven(goal) });
        }
        all.insert(cell, searched);
    }
    for way in rig.session.ways.bypasses() {
        for cable in rig.on(way) {
            let beside = rig.session.ways.beside(way).into_iter();
            let cells = beside.filter_map(|way| all.get(&Cell { way, ..cable }));
            let driven = cells.filter_map(Searched::highest_driven).max_by(f64::total_cmp);
            let enough = driven.map_or(f64::INFINITY, |value| value * BYPASS_HEADROOM);
            let searched = search(rig, cable, enough)?;
            all.insert(cable, searched);
        }
    }
    let empty = Searched::default();
    let mut figures = Vec::new();
    for cell in rig.cells() {
        let own = all.get(&cell).unwrap_or(&empty);
        let bypass = rig.bypass_of(cell).and_then(|cable| all.get(&cable)).unwrap_or(&empty);
        for goals in rounds(rig.spec) {
            for goal in &goals {
                figures.extend(of_goal(rig, cell, (goal, &goals), (own, bypass)));
            }
        }
        figures.extend(of_pacing(rig, cell, own));
    }
    Ok(figures)
}

/// The highest load to search: the tester's most, the link's rate, or enough for a verdict.
fn search(rig: &mut Rig<'_, '_>, cell: Cell, enough: f64) -> Result<Searched, TestbedError> {
    let mut searched = Searched::default();
    let Some(most) = rig.most(cell)? else {
        searched.notes.caveats.push(Caveat::NoValidTrial);
        return Ok(searched);
    };
    let line = rig.line_rate(cell).map_or(f64::INFINITY, |line| line.0);
    let range = LoadRange::below(FrameRate(most.0.min(line).min(enough)));
    // Nothing is learnt from a paced trial there that the flood has not told.
    let overload = rig.overload(cell).filter(|_| range.max.0 >= most.0);
    for goals in rounds(rig.spec) {
        let mut search = search_for(rig.spec, &goals, range);
        for seen in overload.into_iter().cycle().take(WARM_UP_AND_FIRST) {
            match search.next() {
                Step::Try(attempt) if attempt.rate.0 >= range.max.0 => search.learn(seen),
                Step::Try(_) | Step::Done(_) => break,
            }
        }
        loop {
            let attempt = match search.next() {
                Step::Try(attempt) => attempt,
                Step::Done(results) => {
                    searched.results.extend(results);
                    break;
                }
            };
            let Some(seen) = attempt_load(rig, cell, attempt, &mut searched)? else {
                searched.notes.caveats.push(Caveat::NoValidTrial);
                return Ok(searched);
            };
            search.learn(seen);
        }
    }
    Ok(searched)
}

/// One trial; `None` where it failed for no limit of the tester's.
fn attempt_load(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    attempt: Attempt,
    searched: &mut Searched,
) -> Result<Option<Seen>, TestbedError> {
    let Attempt { rate, duration } = attempt;
    let times = searched.asked.entry((rate.0.to_bits(), duration)).or_default();
    let offer = Offer::new(TEST, cell, Schedule::Paced(rate), duration).in_block(*times);
    *times += 1;
    let tried = rig.offer(&offer)?;
    searched.notes.hear(&tried);
    if let Some(flows) = seen(&tried) {
        let (offered, sent, lost) = (offered(&flows), sent(&flows), lost(&flows));
        if lost == 0 {
            // Gaps are those of each thread.
            let each = FrameRate(rate.0 / f64::from(rig.spec.senders));
            searched.paced.push((offered.0, duration, Pacing::of(flows[0], each)));
        }
        return Ok(Some(Seen::Counted { offered, sent, lost }));
    }
    if !tried.beyond_tester() {
        return Ok(None);
    }
    if paused(&tried) {
        searched.held_back.push(rate.0);
    }
    Ok(Some(Seen::BeyondTester { lossless: tried.lossless_load() }))
}

/// The rate is the load at the lower bound as it really was; the interval is the search's bracket,
/// which has no confidence.
fn of_goal(
    rig: &Rig<'_, '_>,
    cell: Cell,
    (goal, together): (&Goal, &[Goal]),
    (own, bypass): (&Searched, &Searched),
) -> Vec<Figure> {
    let result = own.result(goal.name);
    let value = own.value(goal.name);
    let mut row = rig.row(TEST, cell, &own.notes);
    row.n = result.map_or(0, |result| result.trials.into());
    row.verdict = rig.session.ways.verdict(cell.way, || {
        verdict::of_rate(value, bypass.value(goal.name), own.driven(goal.name))
    });
    if result.is_some_and(|result| result.relevant_upper.is_none()) {
        row.caveats.insert(Caveat::SearchCeiling);
    }
    if result.is_some_and(wide_bracket) {
        row.caveats.insert(Caveat::WideBracket);
    }
    if value.is_none() {
        row.caveats.insert(Caveat::NoValidTrial);
    }
    let mut add = |name: &str, value| row.conditions.insert(name.to_owned(), value);
    add("goal", goal.name.as_str().into());
    add("search", search_name(rig.spec, goal, together).into());
    add("interval", "search bracket".into());
    add("final_duration_ns", goal.final_duration.0.into());
    if let Some(result) = result {
        add("traffic_time_ns", result.traffic_time.0.into());
    }
    let through = result.and_then(|r| r.conditional_throughput).filter(|_| goal.loss_ratio > 0.0);
    if let Some(through) = through {
        add("loss_ratio_allowed", goal.loss_ratio.into());
        add("conditional_throughput_frames_per_s", through.0.into());
    }
    let high = result.and_then(|result| result.relevant_upper).map(|failure| failure.rate.0);
    let mut figures = Vec::new();
    for (direction, ways) in shares(rig.spec) {
        let mut row = row.clone();
        set_direction(&mut row, direction);
        figures.extend(of_direction(rig, cell, &row, (value, high), ways));
    }
    figures
}

/// Whether the path's own limit is bracketed, but not within the width asked for.
fn wide_bracket(result: &GoalResult) -> bool {
    let bracketed = result.relevant_lower.and(result.relevant_upper);
    result.irregular && bracketed.is_some_and(|failure| failure.by == FailedBy::Loss)
}

fn of_direction(
    rig: &Rig<'_, '_>,
    cell: Cell,
    row: &Row,
    (value, high): (Option<f64>, Option<f64>),
    ways: f64,
) -> Vec<Figure> {
    let value = value.map(|value| value * ways);
    let mut frames = row.single(Metric::Throughput, Unit::FramesPerSecond, value);
    if let Some(value) = value {
        frames.low = Some(value);
        frames.high = high.map(|high| (high * ways).max(value));
    }
    let bits: Vec<Figure> = rig.frames[cell.frames].in_bits(&frames).collect();
    std::iter::once(frames).chain(bits).collect()
}

/// Both ways carry the same load; together they carry twice as much.
fn shares(spec: &ForwardingSpec) -> Vec<(Option<Direction>, f64)> {
    if !spec.bidirectional {
        return vec![(None, 1.0)];
    }
    vec![
        (Some(Direction::Forward), 1.0),
        (Some(Direction::Reverse), 1.0),
        (Some(Direction::Total), 2.0),
    ]
}

/// How even the load was at which the throughput was found.
fn of_pacing(rig: &Rig<'_, '_>, cell: Cell, own: &Searched) -> Vec<Figure> {
    let values = LOAD_GOALS.into_iter().filter_map(|goal| own.value(goal));
    let Some(pacing) = values.take(1).find_map(|rate| own.pacing_at(rate)) else {
        return Vec::new();
    };
    let mut row = rig.row(TEST, cell, &own.notes);
    set_direction(&mut row, rig.spec.bidirectional.then_some(Direction::Forward));
    pacing.figures(row)
}
