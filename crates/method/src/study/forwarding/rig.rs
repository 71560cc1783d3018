//! What the study's tests share: the cells, the flows of one trial, and the conditions of what
//! comes of it.
//!
//! Owns the trial's shape, the highest load known for each cell, and what its throughput is. Never
//! decides a load.

use std::collections::{BTreeMap, BTreeSet};

use measure::quantile::median;
use measure::{FrameRate, Nanos};

use super::super::rows::Row;
use super::super::session::{Ask, Session, Tried};
use super::super::sustained::{Delivery, FAR_OVER, PACING_MARGIN};
use super::super::ways::{Conditions, Way};
use super::frames::Frames;
use super::{ForwardingSpec, ForwardingTest};
use crate::reconcile::reconcile;
use crate::search;
use crate::study::{Profile, burst};
use crate::verdict::Evidence;
use page::{Caveat, Figure, Metric, Unit, Verdict};
use trial::TestbedError;
use trial::counters::is_pause;
use trial::record::{DatagramsRecord, Defect, Side};
use trial::validity::{OFFERED_LOAD_TOLERANCE, tester_losses};
use trial::{Datagrams, Destination, Event, Flow, FlowKind, Gate, Role, Schedule};

/// Of the reset test, the same load without a reset: before each one and after the last.
pub(super) const CONTROL: &str = "reset control";

/// A study under way, and what its tests tell each other.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s ForwardingSpec,
    pub(super) session: Session<'t>,
    pub(super) frames: Vec<Frames>,
    /// Frames a second each way that the tester got out under flood, trial by trial.
    most: BTreeMap<Cell, Vec<f64>>,
    /// The last flood of each that the path could not carry by far: what a search would see at the
    /// tester's highest rate, where a paced load is hardest to keep.
    overloads: BTreeMap<Cell, search::Seen>,
    /// What came of the floods that the path and not the tester limited.
    floods: BTreeMap<Cell, Vec<Delivery>>,
    /// Frames a second each way that the tester offers in even gaps.
    most_paced: BTreeMap<Cell, FrameRate>,
    found: BTreeMap<Cell, Found>,
    /// How long loads have to last to be more than what a bucket gives.
    long_enough: BTreeMap<Cell, Nanos>,
}

/// Frames on a way, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Cell {
    pub(super) frames: usize,
    pub(super) way: Way,
}

/// A cell's throughput, as other tests use it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// Frames a second each way; above zero.
    pub(super) rate: f64,
    /// Whether the load above it failed on the path.
    pub(super) driven: bool,
    /// No goal was reached: it is the most that came through of the loads that were tried.
    pub(super) irregular: bool,
}

/// A load to offer.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) test: &'static str,
    pub(super) cell: Cell,
    pub(super) block: u32,
    pub(super) schedule: Schedule,
    pub(super) duration: Nanos,
    pub(super) events: Vec<Event>,
}

impl Offer {
    /// In block 0, with nothing done to the device meanwhile.
    pub(super) const fn new(
        test: ForwardingTest,
        cell: Cell,
        schedule: Schedule,
        duration: Nanos,
    ) -> Self {
        Self { test: test.as_str(), cell, block: 0, schedule, duration, events: Vec::new() }
    }

    /// In another block.
    pub(super) fn in_block(self, block: u32) -> Self {
        Self { block, ..self }
    }

    /// A greedy flow is a flood, and a device that is reset takes the tester's links down with it;
    /// the control beside it has to show what that trial would let pass.
    fn gate(&self) -> Gate {
        let greedy = self.schedule == Schedule::Greedy;
        if greedy || !self.events.is_empty() || self.test == CONTROL {
            Gate::Flood
        } else {
            Gate::Strict
        }
    }

    fn load(&self) -> String {
        match self.schedule {
            Schedule::Greedy => "flood".to_owned(),
            Schedule::Paced(rate) => format!("{:.0}/s", rate.0),
            Schedule::Falling { from, to, .. } => format!("{:.0}/s to {:.0}/s", from.0, to.0),
            Schedule::Burst(frames) => format!("burst of {frames}"),
        }
    }

    /// What is due at no time is not caught up with.
    fn burst_limit(&self) -> u32 {
        match self.schedule {
            Schedule::Greedy | Schedule::Burst(_) => 0,
            Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => burst::limit(rate),
        }
    }
}

impl<'s, 't> Rig<'s, 't> {
    pub(super) fn new(spec: &'s ForwardingSpec, session: Session<'t>) -> Self {
        let frames = Frames::all(spec);
        Self {
            spec,
            session,
            frames,
            most: BTreeMap::new(),
            overloads: BTreeMap::new(),
            floods: BTreeMap::new(),
            most_paced: BTreeMap::new(),
            found: BTreeMap::new(),
            long_enough: BTreeMap::new(),
        }
    }

    /// All frames on one way.
    pub(super) fn on(&self, way: Way) -> Vec<Cell> {
        (0..self.frames.len()).map(|frames| Cell { frames, way }).collect()
    }

    /// Every cell, frames by frames, the subjects' ways first.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let ways = self.session.ways.all();
        let of = |frames| ways.iter().map(move |way| Cell { frames, way: *way });
        (0..self.frames.len()).flat_map(of).collect()
    }

    /// Each subject's cells, one subject after the other.
    pub(super) fn subject_cells(&self) -> Vec<Cell> {
        self.session.ways.subjects().into_iter().flat_map(|way| self.on(way)).collect()
    }

    /// The same frames on the direct cable beside it.
    pub(super) fn bypass_of(&self, cell: Cell) -> Option<Cell> {
        self.session.ways.bypass_of(cell.way).map(|way| Cell { way, ..cell })
    }

    /// Offers it, one flow or one each way.
    pub(super) fn offer(&mut self, offer: &Offer) -> Result<Tried, TestbedError> {
        let Cell { frames, way } = offer.cell;
        let frames = &self.frames[frames];
        let kind = FlowKind::Datagrams(Datagrams {
            frames: frames.sent.clone(),
            schedule: offer.schedule,
            backend: self.spec.backend,
            receiver: self.spec.receiver,
            burst_limit: offer.burst_limit(),
            senders: self.spec.senders,
            headers: self.spec.headers,
            destination: Destination::Receiver,
        });
        let pair = self.session.ways.pair(way);
        let flow = |id, (from, to): (&_, &_)| {
            let (from, to) = (Clone::clone(from), Clone::clone(to));
            Flow { id, from, to, role: Role::Measured, kind: kind.clone() }
        };
        let mut flows = vec![flow(1, (&pair.from, &pair.to))];
        if self.spec.bidirectional {
            flows.push(flow(2, (&pair.to, &pair.from)));
        }
        let of_way = self.session.ways.label(way);
        let label = format!("{} {} {}{of_way}", offer.test, frames.sent, offer.load());
        let tried = self.session.run(Ask {
            label,
            way,
            block: offer.block,
            duration: offer.duration,
            gate: offer.gate(),
            flows,
            events: offer.events.clone(),
        })?;
        if offer.schedule == Schedule::Greedy && tried.valid().is_some() {
            let slower = tried.measured().map(|flow| flow.sending_rate().0).min_by(f64::total_cmp);
            self.most.entry(offer.cell).or_default().extend(slower);
            self.note_overload(offer.cell, &tried);
        }
        Ok(tried)
    }

    fn note_overload(&mut self, cell: Cell, tried: &Tried) {
        let flows: Seen<'_> = tried.measured().collect();
        let on_path = lost_on_path(tried);
        let far_over = on_path as f64 > FAR_OVER * sent(&flows) as f64;
        let load = (offered(&flows), tried.trial.phases.load);
        let delivery = Delivery::of(&flows, load, self.spec.precision);
        if far_over && on_path == lost(&flows) {
            self.overloads.insert(cell, delivery.seen());
            self.floods.entry(cell).or_default().push(delivery);
            return;
        }
        self.overloads.remove(&cell);
        let wanted: u64 = flows.iter().map(|flow| flow.offered).sum();
        let refused = wanted.saturating_sub(sent(&flows)) as f64;
        if refused > OFFERED_LOAD_TOLERANCE * wanted as f64 && lost(&flows) == 0 {
            self.floods.entry(cell).or_default().push(delivery.of_held_back());
        }
    }

    /// Another flood, of that length.
    pub(super) fn flood_for(&mut self, cell: Cell, length: Nanos) -> Result<(), TestbedError> {
        let flood = Offer::new(ForwardingTest::Flood, cell, Schedule::Greedy, length);
        self.offer(&Offer { test: "saturation", ..flood })?;
        Ok(())
    }

    /// What came of the floods that the path and not the tester limited.
    pub(super) fn floods(&self, cell: Cell) -> Vec<Delivery> {
        self.floods.get(&cell).cloned().unwrap_or_default()
    }

    /// What came of the tester's highest rate, where the path lost so much of it that no pacing
    /// would have saved the load.
    pub(super) fn overload(&self, cell: Cell) -> Option<search::Seen> {
        self.overloads.get(&cell).copied()
    }

    /// The most frames a second each way that the tester can offer there, from the floods so far,
    /// or from one made for the purpose; `None` where that gave no valid trial.
    pub(super) fn most(&mut self, cell: Cell) -> Result<Option<FrameRate>, TestbedError> {
        if !self.most.contains_key(&cell) {
            let flood =
                Offer::new(ForwardingTest::Flood, cell, Schedule::Greedy, self.spec.duration);
            self.offer(&Offer { test: "probe", ..flood })?;
        }
        let most = self.most.get(&cell).and_then(|rates| median(rates));
        Ok(most.filter(|rate| *rate > 0.0).map(FrameRate))
    }

    /// The most that the tester offers there in even gaps, up to `wanted`: a flood is no measure of
    /// that (RFC 9971 §4.6.2 asks for a load that the tester can offer).
    pub(super) fn most_paced(
        &mut self,
        cell: Cell,
        wanted: FrameRate,
    ) -> Result<FrameRate, TestbedError> {
        if let Some(known) = self.most_paced.get(&cell) {
            return Ok(*known);
        }
        let offer = Offer::new(
            ForwardingTest::Throughput,
            cell,
            Schedule::Paced(wanted),
            self.spec.duration,
        );
        let tried = self.offer(&Offer { test: "pacing", ..offer })?;
        if !tried.only_short_of_load() {
            return Ok(wanted);
        }
        let flows: Seen<'_> = tried.measured().collect();
        let most = FrameRate(offered(&flows).0 * (1.0 - PACING_MARGIN));
        if most.0 <= 0.0 || most.0 >= wanted.0 {
            return Ok(wanted);
        }
        self.most_paced.insert(cell, most);
        Ok(most)
    }

    /// What the link carries of the cell's frames, where its speed is known.
    pub(super) fn line_rate(&self, cell: Cell) -> Option<FrameRate> {
        self.frames[cell.frames].line_rate(self.spec.link_rate)
    }

    /// The cell's throughput, where it was searched and found.
    pub(super) fn found(&self, cell: Cell) -> Option<Found> {
        self.found.get(&cell).copied()
    }

    /// Remembers a throughput for the tests that follow.
    pub(super) fn remember(&mut self, cell: Cell, found: Found) {
        if found.rate > 0.0 {
            self.found.insert(cell, found);
        }
    }

    /// Remembers what a path's bucket asks of later loads.
    pub(super) fn remember_bucket(&mut self, cell: Cell, long_enough: Nanos) {
        self.long_enough.insert(cell, long_enough);
    }

    /// For how long a load has to last so that what a bucket gives is a small share of it.
    pub(super) fn long_enough_for_a_rate(&self, cell: Cell) -> Nanos {
        self.long_enough.get(&cell).copied().unwrap_or(Nanos::ZERO)
    }

    /// The conditions and caveats of a cell; the verdict and n are the test's.
    pub(super) fn row(&self, test: ForwardingTest, cell: Cell, notes: &Notes) -> Row {
        let frames = &self.frames[cell.frames];
        let ways = &self.session.ways;
        let mut conditions: Conditions = ways.conditions(cell.way);
        conditions.extend(frames.conditions(self.spec.link_rate));
        conditions.insert("test".to_owned(), test.as_str().into());
        if self.spec.senders > 1 {
            conditions.insert("senders".to_owned(), u64::from(self.spec.senders).into());
        }
        if let Some(backend) = &notes.backend {
            conditions.insert("backend".to_owned(), backend.clone().into());
        }
        if let Some(receiver) = &notes.receiver {
            conditions.insert("receiver".to_owned(), receiver.clone().into());
        }
        let told = ways.caveats(cell.way).into_iter().chain(notes.caveats.iter().copied());
        let mut caveats: BTreeSet<Caveat> = told.collect();
        let from_a_load = test.needs_throughput() || test == ForwardingTest::LossCurve;
        if from_a_load && self.found(cell).is_some_and(|found| found.irregular) {
            caveats.insert(Caveat::Irregular);
        }
        if self.spec.profile == Profile::Quick {
            caveats.insert(Caveat::QuickProfile);
        }
        if frames.raised() {
            caveats.insert(Caveat::FrameSizeRaised);
        }
        Row { conditions, caveats, n: 0, verdict: Verdict::Undetermined }
    }

    /// A cell whose test told nothing, and why.
    pub(super) fn nothing(
        &self,
        test: ForwardingTest,
        cell: Cell,
        why: Caveat,
        (metric, unit): (Metric, Unit),
    ) -> Figure {
        let mut row = self.row(test, cell, &Notes::only(why));
        let evidence = match why {
            Caveat::DeviceNotDriven => Evidence::Bound,
            _ => Evidence::Nothing,
        };
        row.verdict = self.session.ways.judge(cell.way, &evidence);
        row.single(metric, unit, None)
    }

    /// As [`Self::row`], of a cable that was asked to do what one subject of several does.
    pub(super) fn row_beside(
        &self,
        test: ForwardingTest,
        (cell, subject): (Cell, Cell),
        notes: &Notes,
    ) -> Row {
        let mut row = self.row(test, cell, notes);
        let ways = &self.session.ways;
        let named = ways.subjects().len() > 1 && cell.way != subject.way;
        if let Some(subject) = ways.subject(subject.way).filter(|_| named) {
            row.conditions.insert("beside_device".to_owned(), subject.device.clone().into());
            if let Some(variant) = &subject.variant {
                row.conditions.insert("beside_variant".to_owned(), variant.clone().into());
            }
        }
        row
    }
}

/// What a test's trials left to be said beside its figures.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    backend: Option<String>,
    receiver: Option<String>,
    pub(super) caveats: Vec<Caveat>,
}

impl Notes {
    /// Of a test that made no trial.
    pub(super) fn only(caveat: Caveat) -> Self {
        Self { caveats: vec![caveat], ..Self::default() }
    }

    /// Hears a trial out: repeated or not, and what sent and counted.
    pub(super) fn hear(&mut self, tried: &Tried) {
        if tried.repeated() {
            self.caveats.push(Caveat::RepeatedTrials);
        }
        if let Some(seen) = tried.measured().next() {
            self.backend = Some(seen.backend.clone());
            self.receiver = Some(seen.receiver.clone()).filter(|name| !name.is_empty());
        }
    }
}

/// What a valid trial's flows did: one, or one each way. Never empty.
pub(super) type Seen<'a> = Vec<&'a DatagramsRecord>;

/// The flows' records, if figures may come from them.
pub(super) fn seen(tried: &Tried) -> Option<Seen<'_>> {
    tried.valid()?;
    let flows: Seen<'_> = tried.measured().collect();
    (!flows.is_empty()).then_some(flows)
}

/// The directions that figures are given for: one without a name, or each way and both together.
pub(super) fn directions<'a>(flows: &[&'a DatagramsRecord]) -> Vec<(Option<Direction>, Seen<'a>)> {
    match flows {
        [forward, reverse] => vec![
            (Some(Direction::Forward), vec![*forward]),
            (Some(Direction::Reverse), vec![*reverse]),
            (Some(Direction::Total), vec![*forward, *reverse]),
        ],
        one => vec![(None, one.to_vec())],
    }
}

/// Which of two opposite flows a figure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    /// From `from` to `to`.
    Forward,
    /// Back.
    Reverse,
    /// Both together.
    Total,
}

impl Direction {
    /// As the condition `direction`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Total => "total",
        }
    }
}

/// Names the direction in a row.
pub(super) fn set_direction(row: &mut Row, direction: Option<Direction>) {
    if let Some(direction) = direction {
        row.conditions.insert("direction".to_owned(), direction.as_str().into());
    }
}

/// Frames of all flows that left.
pub(super) fn sent(flows: &[&DatagramsRecord]) -> u64 {
    flows.iter().map(|flow| flow.sent).sum()
}

/// Frames of all flows that never came.
pub(super) fn lost(flows: &[&DatagramsRecord]) -> u64 {
    flows.iter().map(|flow| flow.received.lost(flow.sent)).sum()
}

/// The load as it really was, each way: the slower flow's where there are two.
pub(super) fn offered(flows: &[&DatagramsRecord]) -> FrameRate {
    let rates = flows.iter().map(|flow| flow.sending_rate().0);
    FrameRate(rates.min_by(f64::total_cmp).unwrap_or(0.0))
}

/// Frames lost that no counter of the tester's own explains: those that the path lost.
pub(super) fn lost_on_path(tried: &Tried) -> u64 {
    if let Some(books) = reconcile(&tried.trial, &tried.record) {
        return books.lost.saturating_sub(books.tester);
    }
    // Counters of ports don't tell two flows apart; all that the tester dropped is its own.
    let flows: Seen<'_> = tried.measured().collect();
    let record = &tried.record;
    let own = tester_losses(&tried.trial, &record.flows, &record.ports, &record.hosts);
    let dropped: u64 = own
        .iter()
        .map(|defect| match defect {
            Defect::TesterCounter { by, counter, .. } if !is_pause(counter) => *by,
            _ => 0,
        })
        .sum();
    lost(&flows).saturating_sub(dropped)
}

/// Whether a sender's port was told by PAUSE frames to wait. Its own, sent to slow down the other
/// end, are not meant.
pub(super) fn paused(tried: &Tried) -> bool {
    let sends = |host: &str| tried.trial.flows.iter().any(|flow| flow.from.host == host);
    let senders = tried.record.ports.iter().filter(|port| {
        port.side == Side::Tester && port.place.split_once('/').is_some_and(|(host, _)| sends(host))
    });
    let mut counters = senders.flat_map(|port| &port.counters);
    counters.any(|(name, by)| is_pause(name) && !name.starts_with("tx") && *by > 0)
}
