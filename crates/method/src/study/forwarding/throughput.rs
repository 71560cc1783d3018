//! The highest rate at which each goal holds (RFC 1242 §3.17, RFC 2544 §26.1, RFC 9971), by a
//! search, on each subject and then on the direct cables.
//!
//! Never counts what the tester could not do as a loss: such a load only bounds the search, and the
//! figure then shows the tester's limit. What passed of it without loss is a lower bound all the
//! same. A load passes only if as much comes out as goes in: what a buffer swallows is no rate
//! (`sustained`).

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos};

use super::super::rows::Row;
use super::super::sustained::{Bracket, Deliveries, Delivery};
use super::pacing::Pacing;
use super::rig::{Cell, Direction, Found, Notes, Offer, Rig, offered, paused, seen, set_direction};
use super::{ForwardingSpec, ForwardingTest, SearchKind};
use crate::search::{
    Attempt, BinarySearch, FEW_FRAMES, FailedBy, Goal, GoalName, GoalResult, LoadRange, Search,
    Seen, Step, begin, carry_out,
};
use crate::study::Profile;
use crate::verdict::{self, Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Metric, Unit};
use trial::Schedule;
use trial::TestbedError;

const TEST: ForwardingTest = ForwardingTest::Throughput;

/// How far above a device's throughput its bypass is searched. The verdict asks only whether the
/// tester does clearly more without the device; what the tester can do at most is the flood's
/// figure.
const BYPASS_HEADROOM: f64 = 2.0;

/// A search's trials at its highest load: MLRsearch throws the first away (RFC 9971's warm-up).
const WARM_UP_AND_FIRST: usize = 2;

/// Frames that a trial at a goal's loss ratio loses, so that one more or less decides nothing.
const LOST_AT_THE_GOAL: f64 = 10.0;

/// No trial is made longer than this for its number of frames.
const LONGEST_FOR_ITS_FRAMES: Nanos = Nanos::from_secs(5);

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
    /// Every valid trial.
    deliveries: Deliveries,
    /// How even the loads without loss were, with the rate as it was and the trial's duration.
    paced: Vec<(f64, Nanos, Pacing)>,
    notes: Notes,
}

impl Searched {
    fn result(&self, goal: GoalName) -> Option<&GoalResult> {
        self.results.iter().find(|result| result.goal == goal)
    }

    /// What may be published of it.
    fn bracket(&self, goal: &Goal) -> Bracket {
        let of = |result| self.deliveries.bracket(result, goal);
        self.result(goal.name).map(of).unwrap_or_default()
    }

    /// Frames a second that the path sustains; `None` where no load passed, or none is the limit.
    fn value(&self, goal: &Goal) -> Option<f64> {
        let bracket = self.bracket(goal);
        bracket.low.filter(|_| bracket.loss.is_none())
    }

    /// What gave way at the load above the value. A search that ended at its ceiling or at what the
    /// tester can do never drove the path to its limit.
    fn driven(&self, goal: GoalName) -> Driven {
        let failed = self.result(goal).and_then(|result| result.relevant_upper);
        match failed {
            Some(failure) if failure.by == FailedBy::Loss => Driven::Lost,
            Some(failure) if self.held_back.contains(&failure.rate.0) => Driven::HeldBack,
            _ => Driven::No,
        }
    }

    /// What a verdict rests on; a limit that is none leaves nothing.
    fn evidence(&self, goal: &Goal, bypass: &Self, line: Option<FrameRate>) -> Evidence<'static> {
        let (own, cable) = (self.bracket(goal), bypass.bracket(goal));
        if own.loss.is_some() {
            return Evidence::Nothing;
        }
        let driven = self.driven(goal.name);
        let device =
            verdict::Bracket { low: own.low, high: own.high.filter(|_| driven != Driven::No) };
        let cable = (cable.loss.is_none() && bypass.result(goal.name).is_some())
            .then_some(verdict::Bracket { low: cable.low, high: cable.high });
        let rates = Rates::Brackets { device, bypass: cable };
        let link = line.map(|line| line.0);
        Evidence::Rate(RateEvidence { link, ..RateEvidence::of(rates, driven) })
    }

    /// The highest value that the path was driven to.
    fn highest_driven(&self, goals: &[Goal]) -> Option<f64> {
        let driven = goals.iter().filter(|goal| self.driven(goal.name) != Driven::No);
        driven.filter_map(|goal| self.value(goal)).max_by(f64::total_cmp)
    }

    /// The load for the tests that follow from the throughput: a goal's, or, where no goal was
    /// reached, what came through of the loads that were tried.
    fn found(&self, goals: &[Goal]) -> Option<Found> {
        let named = |name: &GoalName| goals.iter().find(|goal| goal.name == *name);
        let mut known = LOAD_GOALS.iter().filter_map(named);
        if let Some(goal) = known.find(|goal| self.value(goal).is_some()) {
            let driven = self.driven(goal.name) != Driven::No;
            return Some(Found { rate: self.value(goal)?, driven, irregular: false });
        }
        let rate = self.deliveries.highest().filter(|rate| *rate > 0.0)?;
        Some(Found { rate, driven: false, irregular: true })
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

/// `binary` or `mlr`: a goal that one long trial decides, and that shares its trials with no other,
/// is halved for whatever is asked, because shorter trials can't replace that one.
fn search_name(spec: &ForwardingSpec, goal: &Goal, together: &[Goal]) -> &'static str {
    let alike = together.iter().filter(|other| other.final_duration == goal.final_duration);
    let lone = goal.one_pass_decides() && alike.count() == 1;
    if spec.search == SearchKind::Binary || lone { "binary" } else { "mlr" }
}

/// Searches the subjects' ways and then the direct cables, and returns the figures.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<Figure>, TestbedError> {
    let goals = goals(rig.spec);
    let mut all: BTreeMap<Cell, Searched> = BTreeMap::new();
    for cell in rig.subject_cells() {
        let searched = search(rig, cell, f64::INFINITY)?;
        if let Some(found) = searched.found(&goals) {
            rig.remember(cell, found);
        }
        rig.remember_bucket(cell, searched.deliveries.long_enough_for_a_rate());
        all.insert(cell, searched);
    }
    for way in rig.session.ways.bypasses() {
        for cable in rig.on(way) {
            let beside = rig.session.ways.beside(way).into_iter();
            let cells = beside.filter_map(|way| all.get(&Cell { way, ..cable }));
            let driven = cells.filter_map(|searched| searched.highest_driven(&goals));
            let driven = driven.max_by(f64::total_cmp);
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

/// The highest load to search: the most that the tester offers in even gaps, the link's rate, or
/// enough for a verdict.
fn search(rig: &mut Rig<'_, '_>, cell: Cell, enough: f64) -> Result<Searched, TestbedError> {
    let mut searched = Searched::default();
    let Some(most) = rig.most(cell)? else {
        searched.notes.caveats.push(Caveat::NoValidTrial);
        return Ok(searched);
    };
    let line = rig.line_rate(cell).map_or(f64::INFINITY, |line| line.0);
    let mut max = FrameRate(most.0.min(line).min(enough));
    // Nothing is learnt from a paced trial there that the flood has not told.
    let overload = rig.overload(cell).filter(|_| max.0 >= most.0);
    searched.deliveries.extend(rig.floods(cell));
    if let Some(length) = searched.deliveries.another_flood() {
        let known = rig.floods(cell).len();
        rig.flood_for(cell, length)?;
        searched.deliveries.extend(rig.floods(cell).split_off(known));
    }
    if overload.is_none() {
        max = FrameRate(max.0.min(rig.most_paced(cell, max)?.0));
    }
    let range = LoadRange::below(max, rig.spec.final_duration);
    for goals in rounds(rig.spec) {
        let mut search = search_for(rig.spec, &goals, range);
        for seen in overload.into_iter().cycle().take(WARM_UP_AND_FIRST) {
            match search.next() {
                Step::Try(attempt) if attempt.rate.0 >= range.max.0 => search.learn(seen),
                Step::Try(_) | Step::Done(_) => break,
            }
        }
        let strictest = goals.iter().map(|goal| goal.loss_ratio).fold(1.0, f64::min);
        let offer = |attempt| attempt_load(rig, cell, (attempt, strictest), &mut searched);
        let Some(results) = carry_out(search.as_mut(), offer)? else {
            searched.notes.caveats.push(Caveat::NoValidTrial);
            return Ok(searched);
        };
        searched.results.extend(results);
    }
    tell_rate_from_bucket(rig, cell, &mut searched)?;
    Ok(searched)
}

/// Where trials of one length alone saturated the path, one of another length.
fn tell_rate_from_bucket(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    searched: &mut Searched,
) -> Result<(), TestbedError> {
    if let Some((rate, duration)) = searched.deliveries.another_length() {
        let rate = FrameRate(rate.min(rig.most(cell)?.map_or(rate, |most| most.0)));
        let offer = Offer::new(TEST, cell, Schedule::Paced(rate), duration);
        let tried = rig.offer(&Offer { test: "saturation", ..offer })?;
        if let Some(flows) = seen(&tried) {
            let load = (offered(&flows), duration);
            searched.deliveries.push(Delivery::of(&flows, load, rig.spec.precision));
        }
    }
    Ok(())
}

/// One trial, or two where only a backlog speaks against the load; `None` where it failed for no
/// limit of the tester's.
fn attempt_load(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    (attempt, loss_ratio): (Attempt, f64),
    searched: &mut Searched,
) -> Result<Option<Seen>, TestbedError> {
    let Attempt { rate, duration } = attempt;
    let duration = long_enough(rig.spec, (rate, duration), loss_ratio);
    let mut queued = false;
    loop {
        let times = searched.asked.entry((rate.0.to_bits(), duration)).or_default();
        let offer = Offer::new(TEST, cell, Schedule::Paced(rate), duration).in_block(*times);
        *times += 1;
        let tried = rig.offer(&offer)?;
        searched.notes.hear(&tried);
        if let Some(flows) = seen(&tried) {
            let delivery = Delivery::of(&flows, (offered(&flows), duration), rig.spec.precision);
            if delivery.only_queued() && !queued {
                queued = true;
                continue;
            }
            if delivery.lost == 0 {
                // Gaps are those of each thread.
                let each = FrameRate(rate.0 / f64::from(rig.spec.senders));
                searched.paced.push((delivery.offered, duration, Pacing::of(flows[0], each)));
            }
            searched.deliveries.push(delivery);
            return Ok(Some(delivery.seen()));
        }
        if !tried.beyond_tester() {
            return Ok(None);
        }
        if paused(&tried) {
            searched.held_back.push(rate.0);
        }
        return Ok(Some(Seen::BeyondTester { lossless: tried.lossless_load() }));
    }
}

/// A loss ratio is seen only in trials of enough frames, and a rate in a few; within bounds, and
/// never shorter than asked.
fn long_enough(
    spec: &ForwardingSpec,
    (rate, duration): (FrameRate, Nanos),
    loss_ratio: f64,
) -> Nanos {
    let frames = if loss_ratio > 0.0 { LOST_AT_THE_GOAL / loss_ratio } else { FEW_FRAMES };
    let most = spec.final_duration.max(LONGEST_FOR_ITS_FRAMES);
    duration.max(Nanos::from_secs_f64(frames / rate.0).min(most))
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
    let bracket = own.bracket(goal);
    let value = own.value(goal);
    let mut row = rig.row(TEST, cell, &own.notes);
    row.n = result.map_or(0, |result| result.trials.into());
    let evidence = own.evidence(goal, bypass, rig.line_rate(cell));
    row.verdict = rig.session.ways.judge(cell.way, &evidence);
    row.caveats.extend(result.into_iter().flat_map(|result| bracket.doubts(result)));
    if result.is_none() {
        row.caveats.insert(Caveat::NoValidTrial);
    }
    if let Some(frames) = bracket.buffered {
        let octets = frames * rig.frames[cell.frames].sent.mean_octets();
        row.conditions.insert("buffered_bytes".to_owned(), octets.into());
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
    let through = through.and_then(|rate| Some(FrameRate(rate.0.min(value?))));
    if let Some(through) = through {
        add("loss_ratio_allowed", goal.loss_ratio.into());
        add("conditional_throughput_frames_per_s", through.0.into());
    }
    // A load that only the tester could not offer bounds nobody from above.
    let bounded = bracket.loss.is_none() && own.driven(goal.name) != Driven::No;
    let high = bracket.high.filter(|_| bounded);
    let low = bracket.surely().filter(|_| value.is_some());
    let mut figures = Vec::new();
    for (direction, ways) in shares(rig.spec) {
        let mut row = row.clone();
        set_direction(&mut row, direction);
        figures.extend(of_direction(rig, cell, &row, (value, low, high), ways));
    }
    if let Some((load, ratio)) = bracket.loss {
        row.conditions.insert("offered_frames_per_s".to_owned(), load.into());
        figures.push(row.single(Metric::LossRatio, Unit::Ratio, Some(ratio)));
    }
    figures
}

fn of_direction(
    rig: &Rig<'_, '_>,
    cell: Cell,
    row: &Row,
    (value, low, high): (Option<f64>, Option<f64>, Option<f64>),
    ways: f64,
) -> Vec<Figure> {
    let value = value.map(|value| value * ways);
    let mut frames = row.single(Metric::Throughput, Unit::FramesPerSecond, value);
    // Without a load that passed there is an upper end, and no value: nothing was tried below.
    frames.low = low.map(|low| low * ways);
    frames.high = high.map(|high| high * ways);
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
    let found = own.found(&goals(rig.spec)).filter(|found| !found.irregular);
    let Some(pacing) = found.and_then(|found| own.pacing_at(found.rate)) else {
        return Vec::new();
    };
    let mut row = rig.row(TEST, cell, &own.notes);
    set_direction(&mut row, rig.spec.bidirectional.then_some(Direction::Forward));
    pacing.figures(row)
}
