//! What the study's tests share: the device's ports, a trial's flows, and what is counted of them.
//!
//! Owns the trial's shape, what the tester's cables carry, and the conditions of every row. Never
//! decides a load.

use std::collections::{BTreeMap, BTreeSet};

use measure::{FrameRate, FrameSize, Nanos};

use super::super::rows::Row;
use super::super::session::{Ask, Session, Tried};
use super::super::ways::Way;
use super::{SwitchTest, SwitchingSpec};
use crate::study::{Profile, burst, pattern};
use crate::verdict::{Bracket, Driven, Evidence, RateEvidence, Rates, Setting, Standing};
use page::{Caveat, Figure, Metric, Unit, Verdict};
use trial::TestbedError;
use trial::counters::{RX_OTHERHOST, RX_PACKETS, is_pause};
use trial::record::{DatagramsRecord, Defect, FlowRecord, PortCounters, Side, TrialRecord};
use trial::topology::{PortRef, Topology};
use trial::validity::tester_losses;
use trial::{Datagrams, Destination, Flow, FlowKind, Gate, Headers, Reception, Role, Schedule};

/// A study under way.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s SwitchingSpec,
    session: Session<'t>,
    topology: Topology,
    /// How often each label was asked for.
    asked: BTreeMap<String, u32>,
    /// Frames a second each way of one port that the cables carried under flood, by device and
    /// size.
    cables: BTreeMap<(Way, FrameSize), f64>,
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

/// What came of several flows together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Count {
    pub(super) sent: u64,
    pub(super) lost: u64,
    /// Frames a second that left, and that arrived.
    pub(super) offered: f64,
    pub(super) received: f64,
}

impl Count {
    /// Sums over flows.
    pub(super) fn of<'a>(flows: impl IntoIterator<Item = &'a DatagramsRecord>) -> Self {
        flows.into_iter().fold(Self::default(), |sum, flow| Self {
            sent: sum.sent + flow.sent,
            lost: sum.lost + flow.received.lost(flow.sent),
            offered: sum.offered + flow.sending_rate().0,
            received: sum.received + flow.receiving_rate().0,
        })
    }

    pub(super) fn loss_ratio(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

impl<'s, 't> Rig<'s, 't> {
    pub(super) fn new(spec: &'s SwitchingSpec, session: Session<'t>, topology: Topology) -> Self {
        Self { spec, session, topology, asked: BTreeMap::new(), cables: BTreeMap::new() }
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
        let burst_limit = match schedule {
            Schedule::Greedy | Schedule::Burst(_) => 0,
            Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => burst::limit(rate),
        };
        FlowKind::Datagrams(Datagrams {
            frames: size.into(),
            schedule,
            backend: self.spec.backend,
            receiver: Reception::Auto,
            burst_limit,
            senders: 1,
            headers: Headers::default(),
            destination,
        })
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

    /// Floods the direct cables of the device's hosts, all at once: what the tester can do without
    /// it.
    pub(super) fn learn_what_cables_carry(&mut self, board: &PortSet) -> Result<(), TestbedError> {
        let Some(bypass) = self.session.ways.bypass_of(board.way) else { return Ok(()) };
        let cables = self.topology.cables_among(&board.ports);
        for size in self.spec.frames.clone() {
            let kind = self.frames(size, Schedule::Greedy, Destination::Receiver);
            let ends =
                cables.iter().flat_map(|pair| [(&pair.from, &pair.to), (&pair.to, &pair.from)]);
            let flow = |(id, (from, to)): (u16, (&PortRef, &PortRef))| Flow {
                id,
                from: from.clone(),
                to: to.clone(),
                role: Role::Measured,
                kind: kind.clone(),
            };
            let flows: Vec<Flow> = (1..).zip(ends).map(flow).collect();
            let count = flows.len();
            let label = format!("cables {size} flood");
            let tried = self.ask(bypass, label, flows, (self.spec.duration, Gate::Flood))?;
            if tried.valid().is_some() && count > 0 {
                let each = Count::of(tried.measured()).received / count as f64;
                self.cables.insert((board.way, size), each);
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
        let cable = || self.cables.get(&(board.way, size)).map(|rate| FrameRate(*rate));
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
        let cable = self.cables.get(&(board.way, size));
        let bypass = cable.map(|cable| Bracket::exactly(Some(*cable)));
        let rates = Rates::Brackets { device, bypass };
        let link = link.map(|rate| rate.0);
        let rate = RateEvidence { link, ..RateEvidence::of(rates, driven) };
        self.session.ways.judge(board.way, &Evidence::Rate(rate))
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

/// Frames that came to hosts whom they were not for: RFC 2889's flood count (RFC 2285 §3.8.3).
pub(super) fn flooded(record: &TrialRecord) -> u64 {
    let hosts = record.ports.iter().filter(|port| port.side == Side::Tester);
    hosts.filter_map(|port| port.counters.get(RX_OTHERHOST)).sum()
}

/// Of those the ones that came to one port.
pub(super) fn astray(record: &TrialRecord, port: &PortRef) -> u64 {
    counter(record, port, RX_OTHERHOST)
}

/// Frames that a port's own counter received.
pub(super) fn arrived(record: &TrialRecord, port: &PortRef) -> u64 {
    counter(record, port, RX_PACKETS)
}

fn counter(record: &TrialRecord, port: &PortRef, name: &str) -> u64 {
    let place = port.to_string();
    let of = |p: &&PortCounters| p.side == Side::Tester && p.place == place;
    let counters = record.ports.iter().find(of).map(|port| &port.counters);
    counters.and_then(|counters| counters.get(name)).copied().unwrap_or(0)
}

/// Whether the tester itself dropped something, so that a loss may be its own. PAUSE frames seen
/// are the device's doing and no drop.
pub(super) fn tester_dropped(tried: &Tried) -> bool {
    let record = &tried.record;
    let own = tester_losses(&tried.trial, &record.flows, &record.ports, &record.hosts);
    own.iter()
        .any(|defect| matches!(defect, Defect::TesterCounter { counter, .. } if !is_pause(counter)))
}

/// Whether a tester's port was told by PAUSE frames to wait.
pub(super) fn paused(record: &TrialRecord) -> bool {
    let hosts = record.ports.iter().filter(|port| port.side == Side::Tester);
    let mut counters = hosts.flat_map(|port| &port.counters);
    counters.any(|(name, by)| is_pause(name) && !name.starts_with("tx") && *by > 0)
}

/// The least that any sending port sent, frames a second over all its flows.
pub(super) fn slowest_sender(tried: &Tried) -> FrameRate {
    let mut ports: BTreeMap<&PortRef, f64> = BTreeMap::new();
    for (flow, record) in tried.trial.flows.iter().zip(&tried.record.flows) {
        if let (Role::Measured, FlowRecord::Datagrams(seen)) = (flow.role, record) {
            *ports.entry(&flow.from).or_default() += seen.sending_rate().0;
        }
    }
    FrameRate(ports.into_values().min_by(f64::total_cmp).unwrap_or(0.0))
}
