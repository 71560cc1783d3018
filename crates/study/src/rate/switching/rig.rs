//! Common parts of the study's tests: the device's ports, a trial's flows, and their counts.
//!
//! Owns the trial's shape, the capacity of the tester's cables, and the conditions of every row.
//! Never decides a load.

use std::collections::{BTreeMap, BTreeSet};

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::Count;
use super::finding::Cases;
use super::{Pattern, SwitchTest, SwitchingSpec};
use crate::verdict::{Bracket, Driven, Evidence, RateEvidence, Rates, Setting, Standing};
use crate::{Ask, Link, Row, Session, Tried, Way, burst};
use page::{Caveat, Key, Metric, Unit, Verdict};
use trial::topology::{Pair, PortRef, Topology};
use trial::{CountsOnly, Datagrams, Destination, Flow, FlowKind, Gate, Result, Role, Schedule};

/// Running study.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s SwitchingSpec,
    pub(super) session: Session<'t>,
    topology: Topology,
    /// Device under test.
    way: Way,
    /// Ports of the device that take part, in its order.
    pub(super) ports: Vec<PortRef>,
    /// Number of trials by label.
    asked: BTreeMap<String, u32>,
    /// Frames a second per port and direction that the cables carried under flood, by device and
    /// size.
    flooded_cables: BTreeMap<(Way, FrameSize), f64>,
}

/// Load to offer.
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

    /// Devices to measure.
    pub(super) fn subjects(&self) -> Vec<Way> {
        self.session.ways.subjects()
    }

    /// Switches to a device.
    pub(super) fn turn_to(&mut self, way: Way) {
        let device = self.session.ways.subject(way).map(|subject| subject.device.as_str());
        self.ports = self.spec.ports_of(device, &self.topology);
        self.way = way;
    }

    /// True if the hosts are models.
    pub(super) fn is_simulated(&self) -> bool {
        self.topology.is_simulated()
    }

    /// True if the hosts run the device too.
    pub(super) fn shares_machine(&self) -> bool {
        self.session.ways.share_machine()
    }

    /// Creates datagrams of one size.
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

    /// Creates datagrams of which only counts are read, as a mesh has a flow for every two ports.
    pub(super) fn counted_frames(&self, size: FrameSize, schedule: Schedule) -> FlowKind {
        let mut kind = self.frames(size, schedule, Destination::Receiver);
        if let FlowKind::Datagrams(asked) = &mut kind {
            asked.counts_only = CountsOnly(true);
        }
        kind
    }

    /// Ports in the order of a pattern.
    fn in_order(&self, pattern: Pattern) -> Vec<PortRef> {
        self.spec.between.in_order(pattern, self.ports.len(), &self.ports)
    }

    /// Pairs of a pattern, from sender to receiver.
    pub(super) fn pairs(&self, pattern: Pattern) -> Vec<Pair> {
        let ports = self.in_order(pattern);
        let streams = pattern.streams(ports.len()).into_iter();
        let pair =
            |(from, to): (usize, usize)| Pair { from: ports[from].clone(), to: ports[to].clone() };
        streams.map(pair).collect()
    }

    /// Creates a flow between two ports, given by index.
    pub(super) fn flow(&self, from: usize, to: usize, role: Role, kind: FlowKind) -> Flow {
        let pair = Pair { from: self.ports[from].clone(), to: self.ports[to].clone() };
        Flow { role, ..Flow::measured(&pair, kind) }
    }

    /// Creates a measured flow of plain frames.
    pub(super) fn stream(&self, ends: (usize, usize), size: FrameSize, schedule: Schedule) -> Flow {
        let (from, to) = ends;
        self.flow(from, to, Role::Measured, self.frames(size, schedule, Destination::Receiver))
    }

    /// Offers a load to the device.
    pub(super) fn offer(&mut self, offer: Offer) -> Result<Tried> {
        self.ask(self.way, offer)
    }

    /// Offers a load to the direct cables of the device's hosts.
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

    /// Direct cables among the device's hosts, in both directions.
    fn cables(&self) -> Vec<Pair> {
        let Some(_) = self.session.ways.bypass_of(self.way) else { return Vec::new() };
        let cables = self.topology.cables_among(&self.ports).into_iter();
        let both = |pair: Pair| {
            let back = pair.back();
            [pair, back]
        };
        cables.flat_map(both).collect()
    }

    /// Directions of those cables whose hosts send in a pattern.
    pub(super) fn cables_of_senders(&self, pattern: Pattern) -> Vec<Pair> {
        let pairs = self.pairs(pattern);
        let hosts: BTreeSet<&str> = pairs.iter().map(|pair| pair.from.host.as_str()).collect();
        let sends = |pair: &Pair| hosts.contains(pair.from.host.as_str());
        self.cables().into_iter().filter(sends).collect()
    }

    /// Floods all direct cables of the device's hosts at once, to measure the tester without the
    /// device.
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
                let each = Count::from_flows(tried.measured()).received / ends.len() as f64;
                self.flooded_cables.insert((self.way, size), each);
            }
        }
        Ok(())
    }

    /// Line rate of the ports' links for a size; `None` if unknown, or if the ports differ.
    pub(super) fn line_rate(&self, size: FrameSize) -> Option<FrameRate> {
        self.link().common(self.spec.link_rate).map(|link| link.line_rate(size))
    }

    /// Line rate of the slowest link, as all ports send alike; `None` if unknown.
    pub(super) fn slowest_line(&self, size: FrameSize) -> Option<FrameRate> {
        self.link().slowest(self.spec.link_rate).map(|link| link.line_rate(size))
    }

    fn link(&self) -> Link {
        Link::among(&self.topology, &self.ports)
    }

    /// Maximum rate of every port for a size: the slowest line rate, or the rate that cables
    /// carried.
    pub(super) fn highest(&self, size: FrameSize) -> Option<FrameRate> {
        let cable = || self.flooded_cables.get(&(self.way, size)).map(|rate| FrameRate(*rate));
        self.slowest_line(size).or_else(cable).filter(|rate| rate.0 > 0.0)
    }

    /// Judges a rate of each port, from one trial and one flood of the cables.
    pub(super) fn verdict(&self, size: FrameSize, rate: Option<f64>, driven: Driven) -> Verdict {
        let (device, bypass) = (Bracket::exactly(rate), self.flood_of_cables(size));
        let rates = Rates::Brackets { device, bypass };
        self.judge(&Evidence::Rate(RateEvidence::new(rates, driven)))
    }

    /// Judges a figure of the device.
    pub(super) fn judge(&self, evidence: &Evidence<'_>) -> Verdict {
        self.session.ways.judge(self.way, evidence)
    }

    /// Rate of a port's cable under flood, per direction.
    pub(super) fn flood_of_cables(&self, size: FrameSize) -> Option<Bracket> {
        let cable = self.flooded_cables.get(&(self.way, size));
        cable.map(|cable| Bracket::exactly(Some(*cable)))
    }

    /// Judges an effect that was seen or not, and that the control did not show. Only a device can
    /// cause it, so no direct cable is needed.
    pub(super) fn sight(&self, seen: bool) -> Verdict {
        let setting = self.session.ways.setting(self.way);
        let setting = Setting { standing: Standing::Beside, ..setting };
        Evidence::Sight { seen, in_control: Some(false) }.verdict(setting)
    }

    /// Conditions and caveats of a test's rows; the test adds the verdict and n.
    pub(super) fn row(&self, test: SwitchTest, size: Option<FrameSize>) -> Row {
        let mut row = Row::for_path(&self.session.ways, self.way, self.spec.profile);
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

    /// Result of a test that cannot be run here.
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
