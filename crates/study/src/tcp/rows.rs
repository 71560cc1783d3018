//! Values of the tcp study: goodput, retransmits, RTTs and the hosts' limits, each with its
//! conditions, its verdict and its interval over the blocks.
//!
//! Owns the choice of a trial's flows for a value, and the criterion for a path that was not
//! driven. Never words one.

use std::collections::BTreeMap;

use super::cell::{self, CellData, FlowSample, HostLimit, Sample, Sender};
use super::finding::{Ceiling, HostBusy, Part, Retransmits, SenderValues, TcpCase, TcpFinding};
use super::{TcpDirection, TcpSpec};
use crate::capacity::{Capacity, Of, full_frame, rate};
use crate::line_share::doubt_beyond;
use crate::responsiveness::{self, FullFrame, Queue, acknowledgements_wait, per_minute};
use crate::rows::{Direction, Row, set_direction};
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates};
use crate::view::Place;
use crate::ways::{Way, Ways};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Topology;
use trial::topology::Pair;

/// Cases by path and by the index of their direction in the request.
pub(super) type Data = BTreeMap<(usize, Way), CellData>;

impl TcpFinding {
    /// Creates the cases in the order of the request.
    pub(super) fn new(spec: &TcpSpec, data: &Data, ways: &Ways, topology: &Topology) -> Self {
        let empty = CellData::default();
        let all = ways.all();
        let mut cases = Vec::new();
        for (at, &test) in spec.directions.iter().enumerate() {
            let cell = |way| data.get(&(at, way)).unwrap_or(&empty);
            let before = cases.len();
            cases.extend(all.iter().map(|&way| {
                let bypass = ways.bypass_of(way);
                let (own, cable) = (cell(way), bypass.map_or(&empty, cell));
                let rows = CaseRows { spec, test, own, cable, ways, way, topology };
                let cable = all.iter().position(|other| Some(*other) == bypass);
                TcpCase::new(&rows, cable.map(|place| before + place))
            }));
        }
        let mut finding = Self {
            streams: spec.streams.get(),
            congestion_control: spec.congestion_control.clone(),
            cases,
        };
        finding.judge_queues();
        finding
    }

    /// Judges what a case shows beside that of the other direction alone. The device was the limit
    /// where only a direct cable lacked: a queue stood on the path, no host held TCP up, and the
    /// same hosts filled the link in the other direction. Where that is far slower,
    /// acknowledgements may have been what waited.
    fn judge_queues(&mut self) {
        let one_way = |case: &&TcpCase| case.test != TcpDirection::Bidirectional;
        let opposite = |case: &TcpCase| {
            let goodput = &case.whole.goodput;
            Opposite {
                test: case.test,
                place: case.whole.place.turned(),
                goodput: goodput.value,
                is_full: goodput.verdict == Verdict::LinkLimited,
            }
        };
        let all: Vec<Opposite> = self.cases.iter().filter(one_way).map(opposite).collect();
        for case in self.cases.iter_mut().filter(|case| one_way(&&**case)) {
            let (test, whole) = (case.test, &mut case.whole);
            let queued = std::mem::take(&mut whole.queued);
            let is_back = |other: &&Opposite| other.test != test && other.place == whole.place;
            let Some(back) = all.iter().find(is_back) else { continue };
            let alone = whole.goodput.caveats.contains(&Caveat::NoBypass);
            whole.queued = queued && alone && back.is_full;
            if let Some(sender) = &mut whole.sender
                && acknowledgements_wait(whole.goodput.value, back.goodput)
            {
                sender.waiting.clear();
            }
        }
    }
}

/// What the other direction alone showed, with its place as seen from this one.
struct Opposite {
    test: TcpDirection,
    place: Place,
    goodput: Option<f64>,
    is_full: bool,
}

impl TcpCase {
    fn new(rows: &CaseRows<'_>, cable: Option<usize>) -> Self {
        let (flows, whole): (&[Direction], _) = match rows.test {
            TcpDirection::Forward | TcpDirection::Reverse => (&[], None),
            TcpDirection::Bidirectional => {
                (&[Direction::Forward, Direction::Reverse], Some(Direction::Total))
            }
        };
        let whole = rows.part(whole);
        Self {
            test: rows.test,
            label: cell::label(rows.spec, rows.test) + &rows.ways.label(rows.way),
            cable,
            flows: flows.iter().map(|flow| rows.part(Some(*flow)).values()).collect(),
            hosts: whole.hosts(),
            whole: whole.values(),
        }
    }
}

/// Trials of one test on one path, and those over its direct cable.
#[derive(Clone, Copy)]
pub(super) struct CaseRows<'a> {
    pub(super) spec: &'a TcpSpec,
    pub(super) test: TcpDirection,
    pub(super) own: &'a CellData,
    pub(super) cable: &'a CellData,
    pub(super) ways: &'a Ways,
    pub(super) way: Way,
    pub(super) topology: &'a Topology,
}

impl<'a> CaseRows<'a> {
    /// Part of one of two opposite flows, or of both together; `None` for a single flow.
    pub(super) fn part(&self, direction: Option<Direction>) -> PartRows<'a> {
        let mut part = PartRows { case: *self, direction, ceiling: None, row: self.row() };
        part.ceiling = part.find_ceiling();
        if let Some(ceiling) = part.ceiling {
            part.row.set(Key::Mtu, u64::from(ceiling.mtu));
        }
        set_direction(&mut part.row, direction);
        part.row.verdict = part.judge();
        part
    }

    fn row(&self) -> Row {
        let mut row = Row::for_path(self.ways, self.way, self.spec.profile);
        if self.test == TcpDirection::Reverse {
            let back = self.ways.pair(self.way).back();
            row.set(Key::From, back.from.to_string());
            row.set(Key::To, back.to.to_string());
        }
        row.set(Key::Test, self.test.as_str());
        row.set(Key::Protocol, "tcp");
        row.set(Key::Streams, u64::from(self.spec.streams.get()));
        row.set(Key::CongestionControl, self.spec.congestion_control.clone());
        if let Some(segment) = self.own.segment() {
            row.set(Key::Segment, u64::from(segment.mss));
        }
        row.note(&self.own.noted);
        row.n = self.own.samples.len() as u64;
        row
    }
}

/// Flow of the trials, or both together, that values describe.
pub(super) struct PartRows<'a> {
    case: CaseRows<'a>,
    /// Direction of one of two flows, or their total; `None` for a single flow.
    direction: Option<Direction>,
    ceiling: Option<Ceiling>,
    /// Conditions, caveats and verdict that its values share.
    row: Row,
}

impl PartRows<'_> {
    /// Computes the part with all its values.
    pub(super) fn values(&self) -> Part {
        let place = self.case.ways.place(self.case.way).with_direction(self.direction);
        let own_limit = matches!(self.row.verdict, Verdict::TesterLimited | Verdict::Undetermined);
        let host_limit = self.host_limit().filter(|_| own_limit);
        Part {
            place: Place { pair: Some(self.pair()), ..place },
            goodput: self.goodput(host_limit),
            ceiling: self.ceiling,
            queued: self.is_usual(Self::stands_in_queue),
            host_limit,
            retransmits: self.retransmits(),
            sender: self.sender(),
            first: self.case.own.first.get(self.index()).cloned(),
        }
    }

    fn goodput(&self, host_limit: Option<HostLimit>) -> Figure {
        let mut row = self.row.clone();
        row.set(Key::RateConvention, "payload");
        if let Some(ceiling) = self.ceiling {
            row.set(Key::WireLimit, ceiling.payload);
            row.set(Key::CeilingOf, ceiling.of.as_str());
        }
        if rate(self.case.topology, self.case.ways.pair(self.case.way)).is_none() {
            row.caveats.insert(Caveat::LinkRateUnknown);
        }
        if let Some(limit) = host_limit {
            row.set(Key::HostLimit, limit.as_str());
            row.caveats.insert(Caveat::HostLimited);
        }
        let values = self.values_per_block(|flow| Some(flow.goodput));
        let mut figure = row.over_blocks(Metric::Goodput, Unit::BitsPerSecond, &values);
        let link = self.ceiling.filter(|ceiling| ceiling.of == Of::Link);
        if let (Some(value), Some(link)) = (figure.value, link) {
            doubt_beyond(&mut figure, value / link.payload);
        }
        figure
    }

    /// Retransmits; `None` if trials were valid but nothing was counted.
    fn retransmits(&self) -> Option<Retransmits> {
        let counts = self.values_per_block(|flow| Some(flow.retransmits? as f64));
        let rates = self.values_per_block(FlowSample::retransmits_per_gigabyte);
        let uncounted = counts.is_empty() && !self.case.own.samples.is_empty();
        (!uncounted).then(|| Retransmits {
            count: self.row.over_blocks(Metric::Retransmits, Unit::Count, &counts),
            per_gigabyte: self.row.over_blocks(Metric::RetransmitsPerGigabyte, Unit::Count, &rates),
        })
    }

    /// Readings of the sender; `None` if trials were valid but sockets were not read in any.
    fn sender(&self) -> Option<SenderValues> {
        let samples = &self.case.own.samples;
        let is_read = samples.is_empty() || samples.iter().any(|s| self.sender_in(s).is_some());
        let row = self.unjudged_row();
        let values =
            |read: fn(&Sender) -> f64| self.values_per_block(|flow| flow.sender.as_ref().map(read));
        let share = |metric, read| row.over_blocks(metric, Unit::Ratio, &values(read));
        (is_read && self.direction != Some(Direction::Total)).then(|| SenderValues {
            smoothed_rtt: self.round_trip("smoothed", 0.5, |sender| sender.srtt),
            smallest_rtt: self.round_trip("smallest", 0.0, |sender| sender.min_rtt),
            cwnd: row.over_blocks(Metric::CwndMax, Unit::Bytes, &values(|sender| sender.cwnd)),
            window: share(Metric::ReceiveWindowLimited, |sender| sender.window),
            buffer: share(Metric::SendBufferLimited, |sender| sender.buffer),
            waiting: self.waiting(),
            rpm: self.rpm(),
        })
    }

    /// Octets that waited on the path; with both directions at once nothing tells the two queues
    /// apart.
    fn waiting(&self) -> Vec<Figure> {
        if self.direction.is_some() {
            return Vec::new();
        }
        let frame = self.case.own.segment().and_then(|segment| {
            let octets = full_frame(self.case.topology, &self.pair(), segment)?;
            Some(FullFrame { mss: segment.mss, octets })
        });
        let queue = |sample: &Sample| {
            let (flow, sender) = (self.flow(sample)?, self.sender_in(sample)?);
            Some(Queue {
                loaded: [sender.srtt?, sender.high_srtt?],
                idle: sender.min_rtt?,
                goodput: flow.goodput,
                lost: sender.retransmits > 0,
            })
        };
        let queues: Vec<Queue> = self.case.own.samples.iter().filter_map(queue).collect();
        responsiveness::waiting(&self.loaded_row(), &queues, frame)
    }

    /// Round trips a minute of the connections under their own load.
    fn rpm(&self) -> Figure {
        let value = |flow: &FlowSample| per_minute(flow.sender.as_ref()?.trimmed_srtt?);
        responsiveness::rpm(&self.loaded_row(), "loaded", &self.values_per_block(value))
    }

    /// Row of a value whose limit is that of the RTT under the load.
    fn loaded_row(&self) -> Row {
        let verdict = self.round_trip("smoothed", 0.5, |sender| sender.srtt).verdict;
        let row = Row { verdict, n: self.case.own.readings(), ..self.row.clone() };
        row.with(Key::Load, "tcp")
    }

    /// RTT of the connections under this load.
    fn round_trip(
        &self,
        statistic: &str,
        quantile: f64,
        read: fn(&Sender) -> Option<f64>,
    ) -> Figure {
        let CaseRows { own, ways, way, .. } = self.case;
        let beside = |sample: &Sample| {
            let cable = self.cable_flow(sample)?.sender.as_ref()?;
            Some((read(self.sender_in(sample)?)?, read(cable)?))
        };
        let both: Vec<(f64, f64)> = own.samples.iter().filter_map(beside).collect();
        let mut row = self.row.clone();
        row.n = own.readings();
        row.verdict = ways.judge(way, &Evidence::Delay(Delays::paired(&both)));
        row.set(Key::Load, "tcp");
        row.set(Key::Statistic, statistic);
        if ways.stamps_by_software() {
            row.caveats.insert(Caveat::SoftwareTimestamps);
        }
        let values = self.values_per_block(|flow| read(flow.sender.as_ref()?));
        let figure = row.over_blocks(Metric::Rtt, Unit::Nanoseconds, &values);
        Figure { quantile: Some(quantile), ..figure }
    }

    /// Utilisation of each host.
    pub(super) fn hosts(&self) -> Vec<HostBusy> {
        let mut by_host: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (host, share) in self.case.own.samples.iter().flat_map(|sample| &sample.hosts) {
            by_host.entry(host).or_default().push(*share);
        }
        let busy = |(host, shares): (&str, Vec<f64>)| {
            let mut row = self.unjudged_row();
            row.set(Key::Of, host);
            let share = row.over_blocks(Metric::HostBusy, Unit::Ratio, &shares);
            HostBusy { host: host.to_owned(), share }
        };
        by_host.into_iter().map(busy).collect()
    }

    /// Row of a value without a limiting component.
    fn unjudged_row(&self) -> Row {
        let verdict = self.case.ways.judge(self.case.way, &Evidence::Nothing);
        Row { verdict, ..self.row.clone() }
    }

    /// Capacity of the links; for both directions together twice that of one.
    fn find_ceiling(&self) -> Option<Ceiling> {
        let segment = self.case.own.segment()?;
        let ceiling = |pair: &Pair| {
            let capacity = Capacity::for_pair(self.case.topology, pair, segment)?;
            let payload = capacity.payload();
            let full = match self.case.test {
                TcpDirection::Bidirectional => capacity.payload_both_ways(),
                TcpDirection::Forward | TcpDirection::Reverse => payload,
            };
            Some(Ceiling { payload, full, of: capacity.of, mtu: capacity.mtu })
        };
        let one = ceiling(&self.pair())?;
        if self.direction != Some(Direction::Total) {
            return Some(one);
        }
        let other = ceiling(&self.pair().back())?;
        let (payload, full) = (one.payload + other.payload, one.full + other.full);
        Some(Ceiling { payload, full, ..one })
    }

    fn judge(&self) -> Verdict {
        let rates = |own: &Sample| {
            let cable = self.cable_flow(own).map(|flow| flow.goodput);
            Some((self.flow(own)?.goodput, cable))
        };
        let both: Vec<(f64, Option<f64>)> =
            self.case.own.samples.iter().filter_map(rates).collect();
        let link = self.ceiling.filter(|ceiling| ceiling.of == Of::Link).map(|it| it.full);
        let plain = RateEvidence::new(Rates::Paired(&both), self.driven());
        let evidence = Evidence::Rate(RateEvidence { link, ..plain });
        self.case.ways.judge(self.case.way, &evidence)
    }

    /// Evidence that TCP drove the path, as it sends faster until a limit is reached. Retransmitted
    /// segments were lost on the path. If the hosts were the limit, the path was not driven.
    fn driven(&self) -> Driven {
        let is_lossy = |sample: &Sample, flow: &FlowSample| {
            !sample.busy && flow.retransmits.is_some_and(|count| count > 0)
        };
        if self.is_usual(is_lossy) {
            Driven::Lost
        } else if self.host_limit().is_some() {
            Driven::No
        } else {
            Driven::HeldBack
        }
    }

    /// True if segments stood in a queue on the path and no host held TCP up.
    fn stands_in_queue(sample: &Sample, flow: &FlowSample) -> bool {
        let queued = flow.sender.is_some_and(|sender| sender.is_queued());
        queued && flow.limit.is_none() && sample.has_idle_hosts()
    }

    /// Limit of the hosts in most of the blocks.
    fn host_limit(&self) -> Option<HostLimit> {
        let limit = |sample: &Sample, flow: &FlowSample| {
            flow.limit.or_else(|| sample.out_of_processors().then_some(HostLimit::Processors))
        };
        let is_it =
            |wanted| move |sample: &Sample, flow: &FlowSample| limit(sample, flow) == wanted;
        HostLimit::ALL.into_iter().find(|wanted| self.is_usual(is_it(Some(*wanted))))
    }

    /// True if the predicate holds in most of the blocks.
    fn is_usual(&self, holds: impl Fn(&Sample, &FlowSample) -> bool) -> bool {
        let samples = &self.case.own.samples;
        let holds = |own: &&Sample| self.flow(own).is_some_and(|flow| holds(own, flow));
        2 * samples.iter().filter(holds).count() > samples.len()
    }

    /// Values of the blocks that have one.
    fn values_per_block(&self, value: impl Fn(&FlowSample) -> Option<f64>) -> Vec<f64> {
        self.case.own.samples.iter().filter_map(|sample| value(self.flow(sample)?)).collect()
    }

    /// Flow of the direct cable's trial in the same block.
    fn cable_flow(&self, own: &Sample) -> Option<&FlowSample> {
        self.flow(self.case.cable.samples.iter().find(|other| other.block == own.block)?)
    }

    fn sender_in<'s>(&self, sample: &'s Sample) -> Option<&'s Sender> {
        self.flow(sample)?.sender.as_ref()
    }

    fn flow<'s>(&self, sample: &'s Sample) -> Option<&'s FlowSample> {
        sample.flows.get(self.index())
    }

    /// Index among the flows of a trial.
    const fn index(&self) -> usize {
        match self.direction {
            None | Some(Direction::Forward) => 0,
            Some(Direction::Reverse) => 1,
            Some(Direction::Total) => 2,
        }
    }

    /// Ports in the direction of the payload; for both together, in the order of the request.
    fn pair(&self) -> Pair {
        let pair = self.case.ways.pair(self.case.way);
        let is_reverse = self.case.test == TcpDirection::Reverse;
        if is_reverse || self.direction == Some(Direction::Reverse) {
            pair.back()
        } else {
            pair.clone()
        }
    }
}
