//! What the study's tests share: the device's ports, a trial's flows, and what is counted of them.
//!
//! Owns the trial's shape, what the tester's cables carry, and the conditions of every row. Never
//! decides a load.

use std::collections::{BTreeMap, BTreeSet};

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::Count;
use super::{Pattern, SwitchTest, SwitchingSpec};
use crate::study::rows::Row;
use crate::study::session::{Ask, Session, Tried};
use crate::study::ways::Way;
use crate::study::{Profile, burst, pattern};
use crate::verdict::{Bracket, Driven, Evidence, RateEvidence, Rates, Setting, Standing};
use page::{Caveat, Figure, Metric, Unit, Verdict};
use trial::TestbedError;
use trial::topology::{Pair, PortRef, Topology};
use trial::{Datagrams, Destination, Flow, FlowKind, Gate, Role, Schedule};

/// A study under way.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s SwitchingSpec,
    session: Session<'t>,
    topology: Topology,
    /// How often each label was asked for.
    asked: BTreeMap<String, u32>,
    /// Frames a second each way of one port that the cables carried under flood, by device and
    /// size.
    flooded_cables: BTreeMap<(Way, FrameSize), f64>,
}

/// A device and those of its ports that take part, in the device's order.
#[derive(Debug, Clone)]
pub(super) struct PortSet {
    pub(super) way: Way,
    pub(super) ports: Vec<PortRef>,
}

/// One flow to be: from a port to a port, by their places.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) role: Role,
    pub(super) kind: FlowKind,
}

/// A load to offer.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) label: String,
    pub(super) streams: Vec<Stream>,
    pub(super) duration: Nanos,
    pub(super) gate: Gate,
}

impl<'s, 't> Rig<'s, 't> {
    pub(super) fn new(spec: &'s SwitchingSpec, session: Session<'t>, topology: Topology) -> Self {
        let (asked, flooded_cables) = (BTreeMap::new(), BTreeMap::new());
        Self { spec, session, topology, asked, flooded_cables }
    }

    /// Each subject with its ports.
    pub(super) fn boards(&self) -> Vec<PortSet> {
        let ways = &self.session.ways;
        let most = (self.spec.ports as usize).min(pattern::MOST_PORTS);
        let board = |way: Way| {
            let device = ways.subject(way).map(|subject| subject.device.as_str());
            let mut ports = self.topology.ports_of(device);
            ports.truncate(most);
            PortSet { way, ports }
        };
        ways.subjects().into_iter().map(board).collect()
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

    /// A measured flow of plain frames.
    pub(super) fn stream(
        &self,
        (from, to): (usize, usize),
        size: FrameSize,
        schedule: Schedule,
    ) -> Stream {
        let kind = self.frames(size, schedule, Destination::Receiver);
        Stream { from, to, role: Role::Measured, kind }
    }

    /// Offers it.
    pub(super) fn offer(&mut self, board: &PortSet, offer: Offer) -> Result<Tried, TestbedError> {
        let flow = |(id, stream): (u16, Stream)| Flow {
            id,
            from: board.ports[stream.from].clone(),
            to: board.ports[stream.to].clone(),
            role: stream.role,
            kind: stream.kind,
        };
        let flows = (1..).zip(offer.streams).map(flow).collect();
        self.ask(board.way, offer.label, flows, (offer.duration, offer.gate))
    }

    fn ask(
        &mut self,
        way: Way,
        label: String,
        flows: Vec<Flow>,
        (duration, gate): (Nanos, Gate),
    ) -> Result<Tried, TestbedError> {
        let label = label + &self.session.ways.label(way);
        let times = self.asked.entry(label.clone()).or_default();
        let block = *times;
        *times += 1;
        self.session.run(Ask { label, way, block, duration, gate, flows, events: Vec::new() })
    }

    /// The same kind of frames from each end to the other, over direct cables.
    pub(super) fn offer_on_cables(
        &mut self,
        board: &PortSet,
        label: String,
        (ends, kind): (&[Pair], &FlowKind),
        how: (Nanos, Gate),
    ) -> Result<Tried, TestbedError> {
        let flows = Flow::each_measured(ends, kind);
        let way = self.session.ways.bypass_of(board.way).unwrap_or(board.way);
        self.ask(way, label, flows, how)
    }

    /// Both ends of the direct cables among the device's hosts, each sending to the other.
    fn cables(&self, board: &PortSet) -> Vec<Pair> {
        let Some(_) = self.session.ways.bypass_of(board.way) else { return Vec::new() };
        let cables = self.topology.cables_among(&board.ports).into_iter();
        let both = |pair: Pair| {
            let back = pair.back();
            [pair, back]
        };
        cables.flat_map(both).collect()
    }

    /// Of these the ends of hosts that send in a pattern.
    pub(super) fn cables_of_senders(&self, board: &PortSet, pattern: Pattern) -> Vec<Pair> {
        let senders = pattern.streams(board.ports.len()).into_iter().map(|(from, _)| from);
        let hosts: BTreeSet<&str> = senders.map(|from| board.ports[from].host.as_str()).collect();
        let sends = |pair: &Pair| hosts.contains(pair.from.host.as_str());
        self.cables(board).into_iter().filter(sends).collect()
    }

    /// Floods the direct cables of the device's hosts, all at once: what the tester can do without
    /// it.
    pub(super) fn learn_what_cables_carry(&mut self, board: &PortSet) -> Result<(), TestbedError> {
        if self.session.ways.bypass_of(board.way).is_none() {
            return Ok(());
        }
        let ends = self.cables(board);
        for size in self.spec.frames.clone() {
            let kind = self.frames(size, Schedule::Greedy, Destination::Receiver);
            let label = format!("cables {size} flood");
            let how = (self.spec.duration, Gate::Flood);
            let tried = self.offer_on_cables(board, label, (&ends, &kind), how)?;
            if tried.valid().is_some() && !ends.is_empty() {
                let each = Count::of(tried.measured()).received / ends.len() as f64;
                self.flooded_cables.insert((board.way, size), each);
            }
        }
        Ok(())
    }

    /// What the link carries of a size, where its speed is known.
    pub(super) fn line_rate(&self, size: FrameSize) -> Option<FrameRate> {
        self.spec.link_rate.map(|link| link.line_rate(size))
    }

    /// What a port sends of a size at most: the line's rate, or else what the cables carried.
    pub(super) fn highest(&self, board: &PortSet, size: FrameSize) -> Option<FrameRate> {
        let cable = || self.flooded_cables.get(&(board.way, size)).map(|rate| FrameRate(*rate));
        self.line_rate(size).or_else(cable).filter(|rate| rate.0 > 0.0)
    }

    /// Whose limit a rate of each port shows, of one trial or one search beside one flood of the
    /// cables; `link` is what the media carry of it.
    pub(super) fn verdict(
        &self,
        board: &PortSet,
        size: FrameSize,
        (device, driven): (Bracket, Driven),
        link: Option<FrameRate>,
    ) -> Verdict {
        let rates = Rates::Brackets { device, bypass: self.flood_of_cables(board, size) };
        let link = link.map(|rate| rate.0);
        let rate = RateEvidence { link, ..RateEvidence::of(rates, driven) };
        self.judge(board, &Evidence::Rate(rate))
    }

    /// Whose limit a figure of the device shows.
    pub(super) fn judge(&self, board: &PortSet, evidence: &Evidence<'_>) -> Verdict {
        self.session.ways.judge(board.way, evidence)
    }

    /// What each way of a port's cable carried under flood.
    pub(super) fn flood_of_cables(&self, board: &PortSet, size: FrameSize) -> Option<Bracket> {
        let cable = self.flooded_cables.get(&(board.way, size));
        cable.map(|cable| Bracket::exactly(Some(*cable)))
    }

    /// Whose doing it is that something was seen, or was not, which a control did not show: of what
    /// only a device does, so that no direct cable need stand beside it.
    pub(super) fn sight(&self, board: &PortSet, seen: bool) -> Verdict {
        let setting = self.session.ways.setting(board.way);
        let setting = Setting { standing: Standing::Beside, ..setting };
        Evidence::Sight { seen, in_control: Some(false) }.verdict(setting)
    }

    /// The conditions and caveats of a test's rows; verdict and n are the test's.
    pub(super) fn row(&self, board: &PortSet, test: SwitchTest, size: Option<FrameSize>) -> Row {
        let ways = &self.session.ways;
        let mut conditions = ways.conditions(board.way);
        conditions.remove("from");
        conditions.remove("to");
        let mut add = |name: &str, value| conditions.insert(name.to_owned(), value);
        add("suite", test.suite().into());
        add("test", test.as_str().into());
        add("clause", test.clause().into());
        add("ports", (board.ports.len() as u64).into());
        if let Some(size) = size {
            add("frame_size", u64::from(size.octets()).into());
            if let Some(line) = self.line_rate(size) {
                add("line_rate_frames_per_s", line.0.into());
            }
        }
        let mut caveats: BTreeSet<Caveat> = ways.caveats(board.way).into_iter().collect();
        if self.spec.profile == Profile::Quick {
            caveats.insert(Caveat::QuickProfile);
        }
        Row { conditions, caveats, n: 0, verdict: Verdict::Undetermined }
    }

    /// The figure of a test that can't be made here.
    pub(super) fn unsupported(
        &self,
        board: &PortSet,
        test: SwitchTest,
        metric: Metric,
        unit: Unit,
        reason: &str,
    ) -> Figure {
        let mut row = self.row(board, test, None);
        row.conditions.insert("reason".to_owned(), reason.into());
        row.caveats.insert(Caveat::Unsupported);
        row.single(metric, unit, None)
    }
}
