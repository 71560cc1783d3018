//! What the study's tests share: the device's ports, a trial's flows, and what is counted of them.
//!
//! Owns the trial's shape, what the tester's cables carry, and the conditions of every row. Never
//! decides a load.

use std::collections::{BTreeMap, BTreeSet};

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::Count;
use super::finding::Cases;
use super::{Pattern, SwitchTest, SwitchingSpec};
use crate::study::{Ask, Link, Row, Session, Tried, Way, burst};
use crate::verdict::{Bracket, Driven, Evidence, RateEvidence, Rates, Setting, Standing};
use page::{Caveat, Key, Metric, Unit, Verdict};
use trial::topology::{Pair, PortRef, Topology};
use trial::{CountsOnly, Datagrams, Destination, Flow, FlowKind, Gate, Result, Role, Schedule};

/// A study under way.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s SwitchingSpec,
    pub(super) session: Session<'t>,
    topology: Topology,
    /// The device under test.
    way: Way,
    /// Those of its ports that take part, in its order.
    pub(super) ports: Vec<PortRef>,
    /// How often each label was asked for.
    asked: BTreeMap<String, u32>,
    /// Frames a second each way of one port that the cables carried under flood, by device and
    /// size.
    flooded_cables: BTreeMap<(Way, FrameSize), f64>,
}

/// A load to offer.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) label: String,
    pub(super) flows: Vec<Flow>,
    pub(super) duration: Nanos,
    pub(super) gate: Gate,
}

impl<'t> AsMut<Session<'t>> for Rig<'_, 't> {
    fn as_mut(&mut self) -> &mut Session<'t> {
        &mut self.session
    }
}

impl<'s, 't> Rig<'s, 't> {
    pub(super) fn new(spec: &'s SwitchingSpec, session: Session<'t>, topology: Topology) -> Self {
        let (asked, flooded_cables) = (BTreeMap::new(), BTreeMap::new());
        let (way, ports) = (session.ways.all()[0], Vec::new());
        Self { spec, session, topology, way, ports, asked, flooded_cables }
    }

    /// Devices to go on to.
    pub(super) fn subjects(&self) -> Vec<Way> {
        self.session.ways.subjects()
    }

    /// Goes on to a device.
    pub(super) fn turn_to(&mut self, way: Way) {
        let device = self.session.ways.subject(way).map(|subject| subject.device.as_str());
        self.ports = self.spec.ports_of(device, &self.topology);
        self.way = way;
    }

    /// Whether the hosts are a model's.
    pub(super) fn is_simulated(&self) -> bool {
        self.topology.is_simulated()
    }

    /// Whether they do the device's work too.
    pub(super) fn shares_machine(&self) -> bool {
        self.session.ways.share_machine()
    }

    /// Datagrams of one size.
    pub(super) fn frames(
        &self,
        size: FrameSize,
        schedule: Schedule,
        destination: Destination,
    ) -> FlowKind {
        let limit = burst::limit(schedule);
        let plain = Datagrams::plain(size, schedule, self.spec.backend, limit);
        FlowKind::Datagrams(Datagrams { destination, ..plain })
    }

    /// The same where nobody reads more of them than counts: a mesh has a flow for every two ports.
    pub(super) fn counted_frames(&self, size: FrameSize, schedule: Schedule) -> FlowKind {
        let mut kind = self.frames(size, schedule, Destination::Receiver);
        if let FlowKind::Datagrams(asked) = &mut kind {
            asked.counts_only = CountsOnly(true);
        }
        kind
    }

    /// The ports in the order in which a pattern counts them.
    fn in_order(&self, pattern: Pattern) -> Vec<PortRef> {
        self.spec.between.in_order(pattern, self.ports.len(), &self.ports)
    }

    /// A pattern's pairs, from sender to receiver.
    pub(super) fn pairs(&self, pattern: Pattern) -> Vec<Pair> {
        let ports = self.in_order(pattern);
        let streams = pattern.streams(ports.len()).into_iter();
        let pair =
            |(from, to): (usize, usize)| Pair { from: ports[from].clone(), to: ports[to].clone() };
        streams.map(pair).collect()
    }

    /// A flow from a port to a port, by their places.
    pub(super) fn flow(&self, (from, to): (usize, usize), role: Role, kind: FlowKind) -> Flow {
        let pair = Pair { from: self.ports[from].clone(), to: self.ports[to].clone() };
        Flow { role, ..Flow::measured(&pair, kind) }
    }

    /// A measured one of plain frames.
    pub(super) fn stream(&self, ends: (usize, usize), size: FrameSize, schedule: Schedule) -> Flow {
        self.flow(ends, Role::Measured, self.frames(size, schedule, Destination::Receiver))
    }

    /// Offers it to the device.
    pub(super) fn offer(&mut self, offer: Offer) -> Result<Tried> {
        self.ask(self.way, offer)
    }

    /// Offers it to the direct cables of the device's hosts.
    pub(super) fn offer_on_cables(&mut self, offer: Offer) -> Result<Tried> {
        self.ask(self.session.ways.bypass_of(self.way).unwrap_or(self.way), offer)
    }

    fn ask(&mut self, way: Way, offer: Offer) -> Result<Tried> {
        let Offer { label, mut flows, duration, gate } = offer;
        for (id, flow) in (1..).zip(&mut flows) {
            flow.id = id;
        }
        let label = label + &self.session.ways.label(way);
        let times = self.asked.entry(label.clone()).or_default();
        let block = *times;
        *times += 1;
        self.session.run(Ask { label, way, block, duration, gate, flows, events: Vec::new() })
    }

    /// Both ends of the direct cables among the device's hosts, each sending to the other.
    fn cables(&self) -> Vec<Pair> {
        let Some(_) = self.session.ways.bypass_of(self.way) else { return Vec::new() };
        let cables = self.topology.cables_among(&self.ports).into_iter();
        let both = |pair: Pair| {
            let back = pair.back();
            [pair, back]
        };
        cables.flat_map(both).collect()
    }

    /// Of these the ends of hosts that send in a pattern.
    pub(super) fn cables_of_senders(&self, pattern: Pattern) -> Vec<Pair> {
        let pairs = self.pairs(pattern);
        let hosts: BTreeSet<&str> = pairs.iter().map(|pair| pair.from.host.as_str()).collect();
        let sends = |pair: &Pair| hosts.contains(pair.from.host.as_str());
        self.cables().into_iter().filter(sends).collect()
    }

    /// Floods the direct cables of the device's hosts, all at once: what the tester can do without
    /// it.
    pub(super) fn learn_what_cables_carry(&mut self) -> Result<()> {
        if self.session.ways.bypass_of(self.way).is_none() {
            return Ok(());
        }
        let ends = self.cables();
        for size in self.spec.frames.clone() {
            let kind = self.counted_frames(size, Schedule::Greedy);
            let label = format!("cables {size} flood");
            let (flows, duration) = (Flow::each_measured(&ends, &kind), self.spec.duration);
            let gate = Gate::Flood;
            let tried = self.offer_on_cables(Offer { label, flows, duration, gate })?;
            if tried.valid().is_some() && !ends.is_empty() {
                let each = Count::of(tried.measured()).received / ends.len() as f64;
                self.flooded_cables.insert((self.way, size), each);
            }
        }
        Ok(())
    }

    /// What each port's link carries of a size, where that is known and the same for all ports that
    /// take part.
    pub(super) fn line_rate(&self, size: FrameSize) -> Option<FrameRate> {
        self.link().common(self.spec.link_rate).map(|link| link.line_rate(size))
    }

    /// What the slowest of these links carries: all ports send alike.
    pub(super) fn slowest_line(&self, size: FrameSize) -> Option<FrameRate> {
        self.link().slowest(self.spec.link_rate).map(|link| link.line_rate(size))
    }

    fn link(&self) -> Link {
        Link::among(&self.topology, &self.ports)
    }

    /// What every port can send of a size: the slowest line's rate, or else what cables carried.
    pub(super) fn highest(&self, size: FrameSize) -> Option<FrameRate> {
        let cable = || self.flooded_cables.get(&(self.way, size)).map(|rate| FrameRate(*rate));
        self.slowest_line(size).or_else(cable).filter(|rate| rate.0 > 0.0)
    }

    /// Whose limit a rate of each port shows, of one trial beside one flood of the cables.
    pub(super) fn verdict(&self, size: FrameSize, rate: Option<f64>, driven: Driven) -> Verdict {
        let (device, bypass) = (Bracket::exactly(rate), self.flood_of_cables(size));
        let rates = Rates::Brackets { device, bypass };
        self.judge(&Evidence::Rate(RateEvidence::of(rates, driven)))
    }

    /// Whose limit a figure of the device shows.
    pub(super) fn judge(&self, evidence: &Evidence<'_>) -> Verdict {
        self.session.ways.judge(self.way, evidence)
    }

    /// What each way of a port's cable carried under flood.
    pub(super) fn flood_of_cables(&self, size: FrameSize) -> Option<Bracket> {
        let cable = self.flooded_cables.get(&(self.way, size));
        cable.map(|cable| Bracket::exactly(Some(*cable)))
    }

    /// Whose doing it is that something was seen, or was not, which a control did not show: of what
    /// only a device does, so that no direct cable need stand beside it.
    pub(super) fn sight(&self, seen: bool) -> Verdict {
        let setting = self.session.ways.setting(self.way);
        let setting = Setting { standing: Standing::Beside, ..setting };
        Evidence::Sight { seen, in_control: Some(false) }.verdict(setting)
    }

    /// The conditions and caveats of a test's rows; verdict and n are the test's.
    pub(super) fn row(&self, test: SwitchTest, size: Option<FrameSize>) -> Row {
        let mut row = Row::of(&self.session.ways, self.way, self.spec.profile);
        let conditions = &mut row.conditions;
        conditions.remove(&Key::From);
        conditions.remove(&Key::To);
        let mut add = |key: Key, value| conditions.insert(key, value);
        add(Key::Suite, test.suite().into());
        add(Key::Test, test.as_str().into());
        add(Key::Clause, test.clause().into());
        add(Key::Ports, (self.ports.len() as u64).into());
        if let Some(size) = size {
            add(Key::FrameSize, u64::from(size.octets()).into());
            if let Some(line) = self.line_rate(size) {
                add(Key::LineRate, line.0.into());
            }
        }
        row
    }

    /// A test that can't be made here.
    pub(super) fn not_made(
        &self,
        test: SwitchTest,
        metric: Metric,
        unit: Unit,
        reason: &str,
    ) -> Cases {
        let mut row = self.row(test, None);
        row.set(Key::Reason, reason);
        if self.ports.len() < test.ports() {
            row.set(Key::PortsNeeded, test.ports() as u64);
        }
        row.caveats.insert(Caveat::Unsupported);
        Cases::NotMade(row.single(metric, unit, None))
    }
}
