//! Throughput of each subject between two ports, then of the direct cables, by every goal.
//!
//! Owns the order of the searches and their results. The search itself and the definition of
//! throughput are the same for every pattern (`rate::throughput`).

use std::collections::BTreeMap;

use measure::FrameRate;

use super::super::pacing::PacingValues;
use super::super::throughput::{BYPASS_HEADROOM, Load, Purpose, Reach, Searched, Terms, search};
use super::finding::{Conditional, EachWay, GoalCase, LossAt, ThroughputCase};
use super::rig::{Bucket, Cell, Direction, Found, Notes, Offer, Rig, set_direction};
use super::{ForwardingSpec, ForwardingTest};
use crate::rate::ask_as_search;
use crate::search::{Goal, GoalName};
use crate::verdict::Driven;
use page::{Caveat, Key, Metric, Unit};
use trial::Result;

const TEST: ForwardingTest = ForwardingTest::Throughput;

/// Goals whose load the other tests use, in order of preference: the RFC's own first.
pub(super) const LOAD_GOALS: [GoalName; 4] =
    [GoalName::Rfc2544, GoalName::Ndr, GoalName::Tst009, GoalName::Pdr];

impl From<&ForwardingSpec> for Terms {
    fn from(spec: &ForwardingSpec) -> Self {
        Self {
            names: spec.goals.clone(),
            kind: spec.search,
            rules: spec.rules,
            profile: spec.profile,
            duration: spec.duration,
            final_duration: spec.final_duration,
            precision: spec.precision.get(),
            threads: spec.senders.get(),
        }
    }
}

/// Completed searches of a cell.
#[derive(Debug, Clone, Default)]
struct Known {
    searched: Searched,
    notes: Notes,
}

impl Known {
    /// Load for the tests that follow from the throughput: that of a goal, or if none was reached,
    /// the highest rate received.
    fn found(&self, goals: &[Goal]) -> Option<Found> {
        let Self { searched, .. } = self;
        let named = |name: &GoalName| goals.iter().find(|goal| goal.name == *name);
        let mut known = LOAD_GOALS.iter().filter_map(named);
        if let Some(goal) = known.find(|goal| searched.value(goal).is_some()) {
            let driven = searched.driven(goal.name) != Driven::No;
            return Some(Found { rate: searched.value(goal)?, driven, irregular: false });
        }
        let rate = searched.deliveries.highest().filter(|rate| *rate > 0.0)?;
        Some(Found { rate, driven: false, irregular: true })
    }
}

/// Searches the subjects' paths, then the direct cables.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<ThroughputCase>> {
    let terms = Terms::from(rig.spec);
    let goals = terms.goals();
    let mut all: BTreeMap<Cell, Known> = BTreeMap::new();
    for cell in rig.subject_cells() {
        let known = search_cell(rig, &terms, cell, f64::INFINITY)?;
        if let Some(found) = known.found(&goals) {
            rig.remember(cell, found);
        }
        let deliveries = &known.searched.deliveries;
        let long_enough = deliveries.long_enough_for_a_rate();
        rig.remember_bucket(cell, Bucket { long_enough, frames: deliveries.notable_bucket() });
        all.insert(cell, known);
    }
    for way in rig.session.ways.bypasses() {
        for cable in rig.on(way) {
            let beside = rig.session.ways.subjects_sharing(way).into_iter();
            let cells = beside.filter_map(|way| all.get(&Cell { way, ..cable }));
            let driven = cells.filter_map(|known| known.searched.highest_driven(&goals));
            let driven = driven.max_by(f64::total_cmp);
            // A search that another run recorded had no such limit.
            let recorded = rig.session.ways.another_time().is_some();
            let driven = driven.filter(|_| !recorded);
            let enough = driven.map_or(f64::INFINITY, |value| value * BYPASS_HEADROOM);
            let known = search_cell(rig, &terms, cable, enough)?;
            all.insert(cable, known);
        }
    }
    Ok(rig.cells().into_iter().map(|cell| case(rig, &terms, cell, &all)).collect())
}

fn case(
    rig: &Rig<'_, '_>,
    terms: &Terms,
    cell: Cell,
    all: &BTreeMap<Cell, Known>,
) -> ThroughputCase {
    let empty = Known::default();
    let own = all.get(&cell).unwrap_or(&empty);
    let bypass = rig.bypass_of(cell).and_then(|cable| all.get(&cable)).unwrap_or(&empty);
    let mut goals = Vec::new();
    for together in terms.rounds() {
        for goal in &together {
            let search = terms.search_name(goal, &together);
            goals.push(goal_case(rig, cell, goal, search, own, bypass));
        }
    }
    let pacing = pacing(rig, cell, own, &terms.goals());
    ThroughputCase { traffic: rig.traffic(cell), cable: rig.cable_at(cell), goals, pacing }
}

fn search_cell(rig: &mut Rig<'_, '_>, terms: &Terms, cell: Cell, enough: f64) -> Result<Known> {
    let line = rig.line_rate(cell).map_or(f64::INFINITY, |line| line.0);
    let mut notes = Notes::default();
    let floods = rig.floods(cell)?;
    let device = rig.session.ways.subjects().contains(&cell.way);
    let reach = Reach { ceiling: line.min(enough), device };
    let mut offer = |load: Load| {
        let test = match load.purpose {
            Purpose::Pacing => "pacing",
            Purpose::Search => TEST.as_str(),
            Purpose::Saturation => "saturation",
        };
        let offer = Offer::new(TEST, cell, load.schedule, load.duration);
        let is_search = load.purpose == Purpose::Search;
        let offer = Offer { test, block: load.before, ..offer };
        let tried = ask_as_search(rig, is_search, |rig| rig.offer(&offer))?;
        if is_search {
            notes.observe(&tried);
        }
        Ok(tried)
    };
    let searched = search(&mut offer, floods, terms, reach)?;
    if searched.broken {
        notes.doubt(Caveat::NoValidTrial);
    }
    Ok(Known { searched, notes })
}

fn goal_case(
    rig: &Rig<'_, '_>,
    cell: Cell,
    goal: &Goal,
    search: &'static str,
    own: &Known,
    bypass: &Known,
) -> GoalCase {
    let Known { searched, notes, .. } = own;
    let result = searched.result(goal.name);
    let frames = &rig.frames[cell.frames];
    let mut row = rig.row(TEST, cell, notes);
    let beside = bypass.searched.bypass_bracket(goal);
    let evidence = searched.evidence(goal, beside, rig.line_rate(cell));
    row.verdict = rig.session.ways.judge(cell.way, &evidence);
    searched.describe(goal, frames.sent.mean_octets(), &mut row);
    row.set(Key::Search, search);
    let traffic_time = result.map(|result| result.traffic_time);
    if let Some(time) = traffic_time {
        row.set(Key::TrafficTime, time.0);
    }
    let through = result.and_then(|r| r.conditional_throughput).filter(|_| goal.loss_ratio > 0.0);
    let through = through.and_then(|rate| Some(FrameRate(rate.0.min(searched.value(goal)?))));
    let conditional = through.map(|rate| Conditional { rate, loss_ratio: goal.loss_ratio });
    if let Some(Conditional { rate, loss_ratio }) = conditional {
        row.set(Key::LossRatioAllowed, loss_ratio);
        row.set(Key::ConditionalThroughput, rate.0);
    }
    let rate = |(direction, ways): (Option<Direction>, f64)| {
        let mut row = row.clone();
        set_direction(&mut row, direction);
        (direction, frames.rate(searched.figure(goal, ways, &row)))
    };
    let rates = shares(rig.spec).into_iter().map(rate).collect();
    let loss = searched.bracket(goal).loss.map(|(load, ratio)| {
        row.set(Key::OfferedRate, load);
        let ratio = row.single(Metric::LossRatio, Unit::Ratio, Some(ratio));
        LossAt { offered: Some(FrameRate(load)), ratio }
    });
    let (goal, final_duration) = (goal.name, goal.final_duration);
    GoalCase { goal, search, final_duration, traffic_time, conditional, rates, loss }
}

/// Directions and their multiples of the load: both directions carry the same load, together twice
/// as much.
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

/// Pacing of the load at the throughput, in one direction.
fn pacing(rig: &Rig<'_, '_>, cell: Cell, own: &Known, goals: &[Goal]) -> EachWay<PacingValues> {
    let found = own.found(goals).filter(|found| !found.irregular);
    let pacing = found.and_then(|found| own.searched.pacing_at(found.rate));
    let direction = rig.spec.bidirectional.then_some(Direction::Forward);
    let mut row = rig.row(TEST, cell, &own.notes);
    set_direction(&mut row, direction);
    pacing.map(|pacing| (direction, pacing.measured(row))).into_iter().collect()
}
