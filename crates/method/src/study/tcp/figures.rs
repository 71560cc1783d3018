//! From blocks to the tcp study's figures: goodput, what was sent again, round trips, and what held
//! the hosts up.
//!
//! Owns which flows of a trial a figure is about, and when nothing drove the path. Pure.

use std::collections::BTreeMap;

use super::super::capacity::{Capacity, Of, rate};
use super::super::line_share::doubt_beyond;
use super::super::rows::{Direction, Row, set_direction};
use super::super::ways::{Way, Ways};
use super::cell::{self, CellData, HostLimit, Sample, Seen, Sender};
use super::{TcpDirection, TcpSpec};
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Topology;

type Data = BTreeMap<(usize, Way), CellData>;

/// The flows of a case's trials that figures are about together.
#[derive(Debug, Clone, Copy)]
struct Part {
    test: TcpDirection,
    /// None where there is one flow.
    direction: Option<Direction>,
}

impl Part {
    fn all_of(test: TcpDirection) -> Vec<Self> {
        let each = [Direction::Forward, Direction::Reverse, Direction::Total];
        match test {
            TcpDirection::Bidirectional => {
                each.map(|direction| Self { test, direction: Some(direction) }).to_vec()
            }
            TcpDirection::Forward | TcpDirection::Reverse => vec![Self { test, direction: None }],
        }
    }

    fn flows(self, sample: &Sample) -> &[Seen] {
        let of = match self.direction {
            None | Some(Direction::Forward) => 0..1,
            Some(Direction::Reverse) => 1..2,
            Some(Direction::Total) => 0..sample.flows.len(),
        };
        sample.flows.get(of).unwrap_or_default()
    }

    /// Whether payload goes from the pair's second port to its first.
    const fn is_back(self) -> bool {
        matches!((self.test, self.direction), (TcpDirection::Reverse, _))
            || matches!(self.direction, Some(Direction::Reverse))
    }

    fn is_total(self) -> bool {
        self.direction == Some(Direction::Total)
    }

    /// Payload bits a second.
    fn goodput(self, sample: &Sample) -> f64 {
        self.flows(sample).iter().map(|seen| seen.goodput).sum()
    }

    /// None where a sender's host told nothing.
    fn retransmits(self, sample: &Sample) -> Option<u64> {
        self.flows(sample).iter().map(|seen| seen.retransmits).sum()
    }

    fn per_gigabyte(self, sample: &Sample) -> Option<f64> {
        let octets: f64 = self.flows(sample).iter().map(|seen| seen.octets).sum();
        Some(self.retransmits(sample)? as f64 / (octets / 1e9)).filter(|each| each.is_finite())
    }

    /// What held its connections up.
    fn limit(self, sample: &Sample) -> Option<HostLimit> {
        let sockets = self.flows(sample).iter().find_map(|seen| seen.sender?.limit());
        sockets.or_else(|| sample.out_of_processors().then_some(HostLimit::Processors))
    }
}

/// The most payload that a part's way could carry.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    /// Bits a second, with nothing else on the link.
    payload: f64,
    /// From so many on the link is full: what comes the other way is acknowledged beside them.
    full: f64,
    of: Of,
    mtu: u32,
}

/// Every figure of the study, direction by direction and way by way.
pub(super) fn all(spec: &TcpSpec, data: &Data, ways: &Ways, topology: &Topology) -> Vec<Figure> {
    let empty = CellData::default();
    let mut figures = Vec::new();
    for (at, &test) in spec.directions.iter().enumerate() {
        let side = |way| data.get(&(at, way)).unwrap_or(&empty);
        for way in ways.all() {
            let cable = ways.bypass_of(way).map_or(&empty, side);
            for part in Part::all_of(test) {
                let case = Case { spec, part, own: side(way), cable, ways, way };
                figures.extend(case.figures(topology));
            }
        }
    }
    figures
}

/// One part of one direction on one way, and the direct cable beside it.
struct Case<'a> {
    spec: &'a TcpSpec,
    part: Part,
    own: &'a CellData,
    cable: &'a CellData,
    ways: &'a Ways,
    way: Way,
}

impl Case<'_> {
    fn figures(&self, topology: &Topology) -> Vec<Figure> {
        let ceiling = self.ceiling(topology);
        let mut row = self.row(ceiling);
        row.verdict = self.verdict(ceiling);
        let mut figures = vec![self.goodput(row.clone(), ceiling, topology)];
        figures.extend(self.retransmits(&row));
        if !self.part.is_total() {
            figures.extend(self.round_trips(&row));
            figures.extend(self.sockets(&row));
        }
        if matches!(self.part.direction, None | Some(Direction::Total)) {
            figures.extend(self.processors(&row));
        }
        figures
    }

    /// Both ways together could carry twice what one can.
    fn ceiling(&self, topology: &Topology) -> Option<Ceiling> {
        let segment = self.own.segment()?;
        let pair = self.ways.pair(self.way);
        let of = |pair| {
            let capacity = Capacity::of(topology, pair, segment)?;
            let payload = capacity.payload();
            let full = match self.part.test {
                TcpDirection::Bidirectional => capacity.payload_both_ways(),
                TcpDirection::Forward | TcpDirection::Reverse => payload,
            };
            Some(Ceiling { payload, full, of: capacity.of, mtu: capacity.mtu })
        };
        if self.part.is_total() {
            let (one, other) = (of(pair)?, of(&pair.back())?);
            let (payload, full) = (one.payload + other.payload, one.full + other.full);
            return Some(Ceiling { payload, full, ..one });
        }
        if self.part.is_back() { of(&pair.back()) } else { of(pair) }
    }

    fn row(&self, ceiling: Option<Ceiling>) -> Row {
        let mut row = Row::of(self.ways, self.way, self.spec.profile);
        if self.part.test == TcpDirection::Reverse {
            let back = self.ways.pair(self.way).back();
            row.set(Key::From, back.from.to_string());
            row.set(Key::To, back.to.to_string());
        }
        set_direction(&mut row, self.part.direction);
        row.set(Key::Test, self.part.test.as_str());
        row.set(Key::Protocol, "tcp");
        row.set(Key::Streams, u64::from(self.spec.streams));
        row.set(Key::CongestionControl, self.spec.congestion_control.clone());
        if let Some(segment) = self.own.segment() {
            row.set(Key::Segment, u64::from(segment.mss));
        }
        if let Some(ceiling) = ceiling {
            row.set(Key::Mtu, u64::from(ceiling.mtu));
        }
        row.note(&self.own.noted);
        row.n = self.own.samples.len() as u64;
        row
    }

    fn verdict(&self, ceiling: Option<Ceiling>) -> Verdict {
        let goodput = |sample: &Sample| self.part.goodput(sample);
        let beside = |own: &Sample| {
            self.cable.samples.iter().find(|other| other.block == own.block).map(goodput)
        };
        let both: Vec<(f64, Option<f64>)> =
            self.own.samples.iter().map(|own| (goodput(own), beside(own))).collect();
        let link = ceiling.filter(|ceiling| ceiling.of == Of::Link).map(|it| it.full);
        let plain = RateEvidence::of(Rates::Paired(&both), self.driven());
        self.ways.judge(self.way, &Evidence::Rate(RateEvidence { link, ..plain }))
    }

    /// TCP sends more until something gives. What is sent again was lost on the path; where the
    /// hosts themselves held it up, nothing drove the path at all.
    fn driven(&self) -> Driven {
        let lossy = |sample: &&Sample| {
            !sample.busy && self.part.retransmits(sample).is_some_and(|again| again > 0)
        };
        if self.most(self.own.samples.iter().filter(lossy).count()) {
            Driven::Lost
        } else if self.host_limit().is_some() {
            Driven::No
        } else {
            Driven::HeldBack
        }
    }

    /// What held the hosts up in most of the blocks.
    fn host_limit(&self) -> Option<HostLimit> {
        let of = |sample: &Sample| self.part.limit(sample);
        HostLimit::ALL.into_iter().find(|limit| {
            self.most(self.own.samples.iter().filter(|s| of(s) == Some(*limit)).count())
        })
    }

    const fn most(&self, count: usize) -> bool {
        2 * count > self.own.samples.len()
    }

    fn goodput(&self, mut row: Row, ceiling: Option<Ceiling>, topology: &Topology) -> Figure {
        row.set(Key::RateConvention, "payload");
        if let Some(ceiling) = ceiling {
            row.set(Key::WireLimit, ceiling.payload);
            row.set(Key::CeilingOf, ceiling.of.as_str());
        }
        if rate(topology, self.ways.pair(self.way)).is_none() {
            row.caveats.insert(Caveat::LinkRateUnknown);
        }
        let own = matches!(row.verdict, Verdict::TesterLimited | Verdict::Undetermined);
        if let Some(limit) = self.host_limit().filter(|_| own) {
            row.set(Key::HostLimit, limit.as_str());
            row.caveats.insert(Caveat::HostLimited);
        }
        let values = self.each(|sample| Some(self.part.goodput(sample)));
        let mut figure = row.over_blocks(Metric::Goodput, Unit::BitsPerSecond, &values);
        let link = ceiling.filter(|ceiling| ceiling.of == Of::Link);
        if let (Some(value), Some(link)) = (figure.value, link) {
            doubt_beyond(&mut figure, value / link.payload);
        }
        figure
    }

    fn retransmits(&self, row: &Row) -> Vec<Figure> {
        let count = self.each(|s| self.part.retransmits(s).map(|again| again as f64));
        let each = self.each(|s| self.part.per_gigabyte(s));
        if count.is_empty() && !self.own.samples.is_empty() {
            return Vec::new();
        }
        vec![
            row.over_blocks(Metric::Retransmits, Unit::Count, &count),
            row.over_blocks(Metric::RetransmitsPerGigabyte, Unit::Count, &each),
        ]
    }

    /// Under this load, and the smallest that the connections saw.
    fn round_trips(&self, row: &Row) -> Vec<Figure> {
        let mut row = row.clone();
        row.n = self.own.readings();
        row.set(Key::Load, cell::load(self.spec));
        if self.ways.stamps_by_software() {
            row.caveats.insert(Caveat::SoftwareTimestamps);
        }
        self.known(vec![
            self.round_trip(row.clone(), (0.5, "smoothed"), |sender| sender.srtt),
            self.round_trip(row, (0.0, "smallest"), |sender| sender.min_rtt),
        ])
    }

    fn round_trip(
        &self,
        mut row: Row,
        (quantile, statistic): (f64, &str),
        pick: fn(&Sender) -> Option<f64>,
    ) -> Figure {
        let of = |sample: &Sample| self.sender(sample).and_then(|sender| pick(&sender));
        let beside = |own: &Sample| {
            let other = self.cable.samples.iter().find(|other| other.block == own.block)?;
            Some((of(own)?, of(other)?))
        };
        let both: Vec<(f64, f64)> = self.own.samples.iter().filter_map(beside).collect();
        row.verdict = self.ways.judge(self.way, &Evidence::Delay(Delays::paired(&both)));
        row.set(Key::Statistic, statistic);
        let mut figure = row.over_blocks(Metric::Rtt, Unit::Nanoseconds, &self.each(of));
        figure.quantile = Some(quantile);
        figure
    }

    /// The window, and what the sockets waited for.
    fn sockets(&self, row: &Row) -> Vec<Figure> {
        let verdict = self.ways.judge(self.way, &Evidence::Nothing);
        let row = Row { verdict, ..row.clone() };
        let each = |pick: fn(&Sender) -> f64| {
            self.each(|sample| self.sender(sample).map(|sender| pick(&sender)))
        };
        let share = |metric, pick| row.over_blocks(metric, Unit::Ratio, &each(pick));
        self.known(vec![
            row.over_blocks(Metric::CwndMax, Unit::Bytes, &each(|sender| sender.cwnd)),
            share(Metric::ReceiveWindowLimited, |sender| sender.window),
            share(Metric::SendBufferLimited, |sender| sender.buffer),
        ])
    }

    /// How busy each host was.
    fn processors(&self, row: &Row) -> Vec<Figure> {
        let verdict = self.ways.judge(self.way, &Evidence::Nothing);
        let mut by_host: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (host, share) in self.own.samples.iter().flat_map(|sample| &sample.hosts) {
            by_host.entry(host).or_default().push(*share);
        }
        let figure = |(host, shares): (&str, Vec<f64>)| {
            let mut row = Row { verdict, ..row.clone() };
            row.set(Key::Of, host);
            row.over_blocks(Metric::HostBusy, Unit::Ratio, &shares)
        };
        by_host.into_iter().map(figure).collect()
    }

    /// The one flow's sender.
    fn sender(&self, sample: &Sample) -> Option<Sender> {
        self.part.flows(sample).first()?.sender
    }

    /// Nothing where trials were valid and the sender's host told nothing in any.
    fn known(&self, figures: Vec<Figure>) -> Vec<Figure> {
        let told = |sample: &Sample| self.part.flows(sample).iter().any(|s| s.sender.is_some());
        let silent = !self.own.samples.is_empty() && !self.own.samples.iter().any(told);
        if silent { Vec::new() } else { figures }
    }

    /// One value a block, of those that have one.
    fn each(&self, value: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
        self.own.samples.iter().filter_map(value).collect()
    }
}
