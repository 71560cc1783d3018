//! From the series of all blocks to the buffer study's figures.
//!
//! Owns the fair share, and what several blocks' judgements come to. Pure.

use std::collections::{BTreeMap, BTreeSet};

use measure::{Nanos, Rate};

use super::super::rows::Row;
use super::super::ways::{Way, Ways};
use super::cell::{Beside, Cell, CellData};
use super::judgement::{Judgement, Reason, judge};
use super::{BufferSpec, fit, ratios};
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::Topology;

type Data = BTreeMap<(Way, usize), CellData>;

/// A frame costs its IP packet, MAC header, FCS, preamble and gap.
const AROUND_IP: u32 = 14 + 4 + 20;

/// One cell on one way, and what it is held against.
struct Case<'a> {
    spec: &'a BufferSpec,
    own: &'a CellData,
    /// Payload bits a second that TCP could have beside the load.
    fair_share: f64,
    link: Option<Rate>,
    /// The same path's smallest round trip, of any cell.
    rtt: Option<Nanos>,
    judged: Vec<Judgement>,
}

/// Every figure of the study, way by way and cell by cell.
pub(super) fn all(
    spec: &BufferSpec,
    cells: &[Cell],
    data: &Data,
    ways: &Ways,
    topology: &Topology,
) -> Vec<Figure> {
    let empty = CellData::default();
    let mut figures = Vec::new();
    for (way, at) in spec.asked(ways) {
        let side = |way, at| data.get(&(way, at)).unwrap_or(&empty);
        let alone = cells.iter().position(|cell| is_alone_of(cell, &cells[at]));
        let baseline = alone.map_or(&empty, |alone| side(way, alone));
        let link = fit::link_rate(spec, topology, &ways.pair(way).to);
        let own = side(way, at);
        let rtts = (0..cells.len()).filter_map(|at| side(way, at).min_rtt());
        let case = Case::new(spec, own, (cells[at].beside, baseline), link, rtts.min());
        let cable = ways.bypass_of(way).zip(alone).map(|(cable, alone)| side(cable, alone));
        let mut row = row(spec, &cells[at], own, ways, way);
        let both = case.goodputs(cable.unwrap_or(&empty));
        let rate = RateEvidence::of(Rates::Paired(&both), case.driven());
        row.verdict = ways.judge(way, &Evidence::Rate(rate));
        if link.is_none() {
            row.caveats.insert(Caveat::MediaRateUnknown);
        }
        figures.extend(case.figures(&row));
    }
    figures
}

/// Whether `cell` is what `other` is without its load.
fn is_alone_of(cell: &Cell, other: &Cell) -> bool {
    let same = cell.control == other.control && cell.streams == other.streams;
    cell.beside == Beside::Nothing && same
}

fn row(spec: &BufferSpec, cell: &Cell, own: &CellData, ways: &Ways, way: Way) -> Row {
    let mut row = Row::of(ways, way, spec.profile);
    row.note(&own.noted);
    row.n = own.samples.iter().map(|s| s.series.counted().count() as u64).sum();
    row.conditions.extend(cell.conditions());
    if cell.beside != Beside::Nothing {
        let size = u64::from(spec.background_size.octets());
        row.set(Key::BackgroundFrameSize, size);
    }
    row
}

impl<'a> Case<'a> {
    fn new(
        spec: &'a BufferSpec,
        own: &'a CellData,
        (beside, baseline): (Beside, &CellData),
        link: Option<Rate>,
        rtt: Option<Nanos>,
    ) -> Self {
        let on_wire = f64::from(spec.mtu + AROUND_IP);
        let payload = spec.segment().0 as f64 / on_wire;
        let seen = baseline.goodput().unwrap_or(0.0);
        // A lab's limiter counts fewer octets a frame than a wire does: what was seen is possible.
        let capacity = link.map_or(seen, |link| seen.max(link.bits_per_second() * payload));
        let taken = match beside {
            Beside::SameWay(background) => {
                let size = spec.background_size;
                let frames = background.frames(size, link).map_or(0.0, |rate| rate.0);
                frames * f64::from(size.wire_octets()) * 8.0 * payload
            }
            Beside::Nothing | Beside::OtherWay(_) => 0.0,
        };
        let fair_share = (capacity - taken).max(0.0);
        let judge_one = |s: &super::cell::Sample| {
            let judged = judge(&s.series, fair_share, spec.limits);
            if s.busy { judged.on_busy_hosts() } else { judged }
        };
        let judged = own.samples.iter().map(judge_one).collect();
        Self { spec, own, fair_share, link, rtt, judged }
    }

    /// Segments were lost on the path, in most blocks and where no other program had the
    /// processors.
    fn driven(&self) -> Driven {
        let lossy = |s: &&super::cell::Sample| !s.busy && s.series.retransmits(s.series.first) > 0;
        let lost = self.own.samples.iter().filter(lossy).count();
        Driven::if_lost(2 * lost > self.own.samples.len())
    }

    /// The device's goodput of each block, and the cable's in the same one.
    fn goodputs(&self, cable: &CellData) -> Vec<(f64, Option<f64>)> {
        let of = |s: &super::cell::Sample| s.series.goodput();
        let beside = |block: u32| cable.samples.iter().find(|s| s.block == block).map(of);
        self.own.samples.iter().map(|s| (of(s), beside(s.block))).collect()
    }

    fn figures(&self, row: &Row) -> Vec<Figure> {
        let mut figures = vec![self.stable(row), self.goodput(row)];
        figures.extend(self.retransmits(row));
        figures.extend(self.windows(row));
        figures.extend(self.rfc6349(row));
        let lost: Vec<f64> = self.own.samples.iter().filter_map(|s| s.background_loss).collect();
        if !lost.is_empty() {
            let mut figure = row.over_blocks(Metric::LossRatio, Unit::Ratio, &lost);
            figure.set(Key::Of, "background");
            figures.push(figure);
        }
        figures
    }

    /// Yes where all blocks were stable, no where most were not; else it can't be told. Without a
    /// direct cable nobody knows whose fault it is that they were not.
    fn stable(&self, row: &Row) -> Figure {
        let count = |answer| self.judged.iter().filter(|j| j.stable == Some(answer)).count();
        let (stable, unstable, all) = (count(true), count(false), self.judged.len());
        let value = if all > 0 && stable == all {
            Some(1.0)
        } else if 2 * unstable > all && !row.caveats.contains(&Caveat::NoBypass) {
            Some(0.0)
        } else {
            None
        };
        let mut figure = row.single(Metric::Stable, Unit::Flag, value);
        figure.blocks = all as u32;
        let reasons: BTreeSet<Reason> =
            self.judged.iter().flat_map(|j| j.reasons.iter().copied()).collect();
        let reasons: Vec<&str> = reasons.into_iter().map(Reason::as_str).collect();
        if !reasons.is_empty() {
            figure.set(Key::Reasons, reasons.join(", "));
        }
        figure.set(Key::StableBlocks, stable as u64);
        figure.set(Key::FairShare, self.fair_share);
        let limits = self.spec.limits;
        for (name, limit) in [
            (Key::LimitRetransmits, limits.retransmits_per_gigabyte),
            (Key::LimitVariation, limits.variation),
            (Key::LimitShare, limits.share),
        ] {
            figure.set(name, limit);
        }
        figure
    }

    fn goodput(&self, row: &Row) -> Figure {
        let values = self.each(|s| Some(s.series.goodput()));
        let mut figure = row.over_blocks(Metric::Goodput, Unit::BitsPerSecond, &values);
        figure.set(Key::RateConvention, "payload");
        figure.set(Key::FairShare, self.fair_share);
        figure
    }

    fn retransmits(&self, row: &Row) -> [Figure; 4] {
        let judged = |value: fn(&Judgement) -> Option<f64>| -> Vec<f64> {
            self.judged.iter().filter_map(value).collect()
        };
        let count = self.each(|s| Some(s.series.retransmits(s.series.first) as f64));
        let ramp_up = judged(|j| j.ramp_up.map(|time| time.0 as f64));
        [
            row.over_blocks(Metric::Retransmits, Unit::Count, &count),
            row.over_blocks(
                Metric::RetransmitsPerGigabyte,
                Unit::Count,
                &judged(|j| Some(j.per_gigabyte)),
            ),
            row.over_blocks(Metric::GoodputVariation, Unit::Ratio, &judged(|j| Some(j.variation))),
            row.over_blocks(Metric::RampUpTime, Unit::Nanoseconds, &ramp_up),
        ]
    }

    fn windows(&self, row: &Row) -> Vec<Figure> {
        let cwnd = self.each(|s| s.series.cwnd_max().map(|octets| octets.0 as f64));
        let cuts = self.each(|s| Some(f64::from(s.series.falls())));
        let mut figures = vec![
            row.over_blocks(Metric::CwndMax, Unit::Bytes, &cwnd),
            row.over_blocks(Metric::CwndCuts, Unit::Count, &cuts),
        ];
        let rate = self.link.map_or(self.fair_share, Rate::bits_per_second);
        let bdp = self.rtt.map(|rtt| rate / 8.0 * rtt.as_secs_f64());
        let mut figure = row.single(Metric::Bdp, Unit::Bytes, bdp);
        figure.set(Key::RateBits, rate);
        if let Some(rtt) = self.rtt {
            figure.set(Key::Rtt, rtt.0);
        }
        figures.push(figure);
        let held = self.quiet(|s| ratios::held(&s.series, self.fair_share, self.rtt));
        let mut figure = row.over_blocks(Metric::Buffer, Unit::Bytes, &held);
        figure.set(Key::Estimator, "tcp");
        figures.push(figure);
        if let Some(link) = self.link {
            let frame = f64::from(self.spec.mtu + 18);
            let rate = link.bits_per_second() * frame / f64::from(self.spec.mtu + AROUND_IP);
            let waited = self.quiet(|s| ratios::waited(&s.series, rate, self.rtt));
            let mut figure = row.over_blocks(Metric::Buffer, Unit::Bytes, &waited);
            figure.set(Key::Estimator, "delay");
            figures.push(figure);
        }
        let buffers = figures.iter_mut().filter(|figure| figure.metric == Metric::Buffer);
        for figure in buffers {
            // Nothing tells how much more would have fit.
            figure.high = None;
            figure.set(Key::Bound, "at least");
        }
        figures
    }

    fn rfc6349(&self, row: &Row) -> [Figure; 3] {
        let segment = self.spec.segment();
        let efficiency = self.each(|s| ratios::efficiency(&s.series, segment));
        let delay = self.each(|s| ratios::buffer_delay(&s.series, self.rtt));
        let goodput = |s: &super::cell::Sample| Some(s.series.goodput()).filter(|rate| *rate > 0.0);
        let transfer = self.each(|s| goodput(s).map(|rate| self.fair_share / rate));
        [
            row.over_blocks(Metric::Efficiency, Unit::Ratio, &efficiency),
            row.over_blocks(Metric::BufferDelay, Unit::Ratio, &delay),
            row.over_blocks(Metric::TransferTimeRatio, Unit::Ratio, &transfer),
        ]
    }

    /// The same of blocks in which the hosts' processors were the trial's own: round trips are
    /// longer than the path's queues make them where a program waits for its turn.
    fn quiet(&self, value: impl Fn(&super::cell::Sample) -> Option<f64>) -> Vec<f64> {
        self.each(|s| if s.busy { None } else { value(s) })
    }

    /// One value a block, of those that have one.
    fn each(&self, value: impl Fn(&super::cell::Sample) -> Option<f64>) -> Vec<f64> {
        self.own.samples.iter().filter_map(value).collect()
    }
}
