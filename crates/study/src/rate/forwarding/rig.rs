//! Common parts of the study's tests: the cells, the flows of one trial, and the conditions of its
//! figures.
//!
//! Owns the trial's shape, and the highest known load and the throughput of each cell. Never
//! decides a load.

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos, Rate};

use super::super::counts::{Seen, valid_flows};
use super::super::throughput::Floods;
use super::finding::Traffic;
use super::frames::Frames;
use super::{ForwardingSpec, ForwardingTest, SearchRules};
pub(super) use crate::rows::{Direction, set_direction};
use crate::verdict::Evidence;
use crate::{Ask, Noted, Row, Session, Tried, Way, burst};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::record::DatagramsRecord;
use trial::{Datagrams, Event, Flow, FlowKind, Gate, Result, Schedule, Subject};

/// Test name of the reset control: the same load without a reset, before each one and after the
/// last.
pub(super) const CONTROL: &str = "reset control";

/// Running study, and the results that its tests share.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s ForwardingSpec,
    pub(super) session: Session<'t>,
    pub(super) frames: Vec<Frames>,
    /// Results of floods by cell.
    floods: BTreeMap<Cell, Floods>,
    found: BTreeMap<Cell, Found>,
    /// Requirements of a path's token bucket on later loads, by cell.
    buckets: BTreeMap<Cell, Bucket>,
}

/// Token bucket of a path, as found by its search.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bucket {
    /// Minimum duration of a load for which the bucket's frames are a small share.
    pub(super) long_enough: Nanos,
    /// Frames that the bucket passes in each direction; `None` if not notable.
    pub(super) frames: Option<f64>,
}

/// Frames on a path, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Cell {
    pub(super) frames: usize,
    pub(super) way: Way,
}

/// Throughput of a cell, as other tests use it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// Frames a second in each direction; above zero.
    pub(super) rate: f64,
    /// True if the load above it failed on the path.
    pub(super) driven: bool,
    /// True if no goal was reached; `rate` is then the highest rate received.
    pub(super) irregular: bool,
}

/// Load to offer.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) test: &'static str,
    pub(super) cell: Cell,
    pub(super) block: u32,
    pub(super) schedule: Schedule,
    pub(super) duration: Nanos,
    pub(super) events: Vec<Event>,
}

/// Rate in frames a second from which on labels round to whole frames.
const TELLS_BY_FRAMES: f64 = 100.0;

impl Offer {
    /// Creates an offer in block 0, without events.
    pub(super) const fn new(
        test: ForwardingTest,
        cell: Cell,
        schedule: Schedule,
        duration: Nanos,
    ) -> Self {
        Self { test: test.as_str(), cell, block: 0, schedule, duration, events: Vec::new() }
    }

    /// Moves the offer to another block.
    pub(super) fn in_block(self, block: u32) -> Self {
        Self { block, ..self }
    }

    /// Gate of the trial. A greedy flow is a flood, and a reset takes the tester's links down. The
    /// control must have the same gate as the reset.
    fn gate(&self) -> Gate {
        let greedy = self.schedule == Schedule::Greedy;
        if greedy || !self.events.is_empty() || self.test == CONTROL {
            Gate::Flood
        } else {
            Gate::Strict
        }
    }

    fn load(&self, rules: SearchRules) -> String {
        match self.schedule {
            Schedule::Greedy => "flood".to_owned(),
            // A label must distinguish loads, and low rates differ by fractions of a frame a
            // second.
            Schedule::Paced(rate) if rate.0 < TELLS_BY_FRAMES && rules == SearchRules::Buckets => {
                format!("{:.2}/s", rate.0)
            }
            Schedule::Paced(rate) => format!("{:.0}/s", rate.0),
            Schedule::Falling { from, to, .. } => format!("{:.0}/s to {:.0}/s", from.0, to.0),
            Schedule::Burst(frames) => format!("burst of {frames}"),
        }
    }
}

impl<'t> AsMut<Session<'t>> for Rig<'_, 't> {
    fn as_mut(&mut self) -> &mut Session<'t> {
        &mut self.session
    }
}

impl<'s, 't> Rig<'s, 't> {
    pub(super) fn new(spec: &'s ForwardingSpec, session: Session<'t>) -> Self {
        let frames = Frames::all(spec);
        Self {
            spec,
            session,
            frames,
            floods: BTreeMap::new(),
            found: BTreeMap::new(),
            buckets: BTreeMap::new(),
        }
    }

    /// Cells of all frames on one path.
    pub(super) fn on(&self, way: Way) -> Vec<Cell> {
        (0..self.frames.len()).map(|frames| Cell { frames, way }).collect()
    }

    /// All cells by frames, the subjects' paths first.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let ways = self.session.ways.all();
        let of = |frames| ways.iter().map(move |way| Cell { frames, way: *way });
        (0..self.frames.len()).flat_map(of).collect()
    }

    /// Cells of all subjects, one subject after the other.
    pub(super) fn subject_cells(&self) -> Vec<Cell> {
        self.session.ways.subjects().into_iter().flat_map(|way| self.on(way)).collect()
    }

    /// Cell of the same frames on the direct cable; `None` without one.
    pub(super) fn bypass_of(&self, cell: Cell) -> Option<Cell> {
        self.session.ways.bypass_of(cell.way).map(|way| Cell { way, ..cell })
    }

    /// Index of that cable's case among all cells.
    pub(super) fn cable_at(&self, cell: Cell) -> Option<usize> {
        let cable = self.bypass_of(cell)?;
        self.cells().iter().position(|other| *other == cable)
    }

    /// Description of the cell for a page.
    pub(super) fn traffic(&self, cell: Cell) -> Traffic {
        let (frames, ways) = (&self.frames[cell.frames], &self.session.ways);
        Traffic {
            frames: frames.named(),
            place: ways.place(cell.way),
            line: self.line_rate(cell),
            lengths: frames.lengths(),
            has_device: ways.subject(cell.way).is_some(),
        }
    }

    /// Description of a cell as in [`Self::traffic`]; a cable measured for one of several subjects
    /// names it.
    pub(super) fn traffic_beside(&self, cell: Cell, subject: Cell) -> Traffic {
        let mut traffic = self.traffic(cell);
        traffic.place.beside = self.cable_subject(cell, subject).cloned();
        traffic
    }

    /// Subject at whose loads a cable is measured; `None` with a single subject.
    fn cable_subject(&self, cell: Cell, subject: Cell) -> Option<&Subject> {
        let ways = &self.session.ways;
        let named = ways.subjects().len() > 1 && cell.way != subject.way;
        ways.subject(subject.way).filter(|_| named)
    }

    /// Offers the load, as one flow or one in each direction.
    pub(super) fn offer(&mut self, offer: &Offer) -> Result<Tried> {
        let Cell { frames, way } = offer.cell;
        let frames = &self.frames[frames];
        let (schedule, limit) = (offer.schedule, burst::limit(offer.schedule));
        let kind = FlowKind::Datagrams(Datagrams {
            receiver: self.spec.receiver,
            senders: self.spec.senders.get(),
            headers: self.spec.headers,
            ..Datagrams::plain(frames.sent.clone(), schedule, self.spec.backend, limit)
        });
        let pair = self.session.ways.pair(way);
        let back = self.spec.bidirectional.then(|| pair.back());
        let flows = Flow::each_measured(std::iter::once(pair).chain(&back), &kind);
        let of_way = self.session.ways.label(way);
        let label =
            format!("{} {} {}{of_way}", offer.test, frames.sent, offer.load(self.spec.rules));
        let tried = self.session.run(Ask {
            label,
            way,
            block: offer.block,
            duration: offer.duration,
            gate: offer.gate(),
            flows,
            events: offer.events.clone(),
        })?;
        if offer.schedule == Schedule::Greedy {
            let floods = self.floods.entry(offer.cell).or_default();
            floods.take(&tried, self.spec.precision.get());
        }
        Ok(tried)
    }

    /// Results of floods of the study so far, or of one run for this purpose.
    pub(super) fn floods(&mut self, cell: Cell) -> Result<Floods> {
        if self.floods.get(&cell).is_none_or(Floods::is_empty) {
            let flood =
                Offer::new(ForwardingTest::Flood, cell, Schedule::Greedy, self.spec.duration);
            self.offer(&Offer { test: "probe", ..flood })?;
        }
        Ok(self.floods.get(&cell).cloned().unwrap_or_default())
    }

    /// Maximum frames a second in each direction that the tester can offer; `None` without a valid
    /// flood.
    pub(super) fn most(&mut self, cell: Cell) -> Result<Option<FrameRate>> {
        Ok(self.floods(cell)?.most())
    }

    /// Rate of the link between the ports of a path; `None` if unknown.
    fn link(&self, way: Way) -> Option<Rate> {
        self.session.ways.link_of(way).slowest(self.spec.link_rate)
    }

    /// Line rate of the link for the cell's frames; `None` if its rate is unknown.
    pub(super) fn line_rate(&self, cell: Cell) -> Option<FrameRate> {
        self.frames[cell.frames].line_rate(self.link(cell.way))
    }

    /// Throughput of the cell; `None` if it was not searched or not found.
    pub(super) fn found(&self, cell: Cell) -> Option<Found> {
        self.found.get(&cell).copied()
    }

    /// Stores a throughput for the tests that follow.
    pub(super) fn remember(&mut self, cell: Cell, found: Found) {
        if found.rate > 0.0 {
            self.session.remember_rate(cell.way, FrameRate(found.rate));
            self.found.insert(cell, found);
        }
    }

    /// Stores the requirements of a path's bucket on later loads.
    pub(super) fn remember_bucket(&mut self, cell: Cell, bucket: Bucket) {
        self.buckets.insert(cell, bucket);
    }

    /// Token bucket found by the cell's search.
    pub(super) fn bucket(&self, cell: Cell) -> Bucket {
        self.buckets.get(&cell).copied().unwrap_or_default()
    }

    /// Conditions and caveats of a cell; the test adds the verdict and n.
    pub(super) fn row(&self, test: ForwardingTest, cell: Cell, notes: &Notes) -> Row {
        let frames = &self.frames[cell.frames];
        let mut row = Row::for_path(&self.session.ways, cell.way, self.spec.profile);
        let conditions = &mut row.conditions;
        conditions.extend(frames.conditions(self.link(cell.way)));
        conditions.insert(Key::Test, test.as_str().into());
        if self.spec.senders > 1 {
            conditions.insert(Key::SendersAPort, u64::from(self.spec.senders.get()).into());
        }
        if let Some(backend) = &notes.backend {
            conditions.insert(Key::Backend, backend.clone().into());
        }
        if let Some(receiver) = &notes.receiver {
            conditions.insert(Key::Receiver, receiver.clone().into());
        }
        let from_a_load = test.needs_throughput() || test == ForwardingTest::LossCurve;
        let irregular = from_a_load && self.found(cell).is_some_and(|found| found.irregular);
        row.note(&notes.noted);
        row.caveats.extend(irregular.then_some(Caveat::Irregular));
        row.caveats.extend(frames.raised().then_some(Caveat::FrameSizeRaised));
        row
    }

    /// Figure of a cell whose test has no result, with the reason.
    pub(super) fn nothing(
        &self,
        test: ForwardingTest,
        cell: Cell,
        why: Caveat,
        metric: Metric,
        unit: Unit,
    ) -> Figure {
        let mut row = self.row(test, cell, &Notes::only(why));
        let evidence = match why {
            Caveat::DeviceNotDriven => Evidence::Bound,
            _ => Evidence::Nothing,
        };
        row.verdict = self.session.ways.judge(cell.way, &evidence);
        row.single(metric, unit, None)
    }

    /// Row as in [`Self::row`]; a cable measured for one of several subjects names it.
    pub(super) fn row_beside(
        &self,
        test: ForwardingTest,
        cell: Cell,
        subject: Cell,
        notes: &Notes,
    ) -> Row {
        let mut row = self.row(test, cell, notes);
        if let Some(subject) = self.cable_subject(cell, subject) {
            row.set(Key::BesideDevice, subject.device.clone());
            if let Some(variant) = &subject.variant {
                row.set(Key::BesideVariant, variant.clone());
            }
        }
        row
    }
}

/// Notes on the trials of a test.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    backend: Option<String>,
    receiver: Option<String>,
    noted: Noted,
}

impl Notes {
    /// Creates notes for a test without trials.
    pub(super) fn only(caveat: Caveat) -> Self {
        Self { noted: Noted::only(caveat), ..Self::default() }
    }

    /// Takes in a trial as [`Self::hear`] does, and returns the flows' records. Adds a caveat if
    /// figures must not use them.
    pub(super) fn flows<'a>(&mut self, tried: &'a Tried) -> Option<Seen<'a>> {
        self.observe(tried);
        let flows = valid_flows(tried);
        if flows.is_none() {
            self.doubt(Caveat::NoValidTrial);
        }
        flows
    }

    /// Adds a caveat.
    pub(super) fn doubt(&mut self, caveat: Caveat) {
        self.noted.doubt(caveat);
    }

    /// True if the caveat is noted.
    pub(super) fn has(&self, caveat: Caveat) -> bool {
        self.noted.caveats.contains(&caveat)
    }

    /// Takes in a trial: whether it was repeated, and its sender and receiver.
    pub(super) fn observe(&mut self, tried: &Tried) {
        self.noted.observe(tried);
        if let Some(seen) = tried.measured().next() {
            self.backend = Some(seen.backend.clone());
            self.receiver = Some(seen.receiver.clone()).filter(|name| !name.is_empty());
        }
    }
}

/// Values of one kind, by direction.
pub(super) type ByDirection<T> = BTreeMap<Option<Direction>, Vec<T>>;

/// Pairs every flow with its direction.
pub(super) fn each_way<'a>(
    flows: &[&'a DatagramsRecord],
) -> impl Iterator<Item = (Option<Direction>, &'a DatagramsRecord)> {
    let alone = |(direction, flows): (_, Seen<'a>)| match flows[..] {
        [one] => Some((direction, one)),
        _ => None,
    };
    directions(flows).into_iter().filter_map(alone)
}

/// Directions of the figures: one without a name, or both directions and their total.
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
