//! Values of the buffer study, one row each, from the series of all blocks of a case.
//!
//! Owns the fair share, and the combination of several blocks' judgements. Pure.

use std::collections::{BTreeMap, BTreeSet};

use measure::units::{FRAMING_OCTETS, WIRE_OVERHEAD_OCTETS};
use measure::{Nanos, Rate};

use super::cell::{Beside, Case, Cell, CellData, Sample};
use super::judgement::{Judgement, Reason, judge};
use super::{BufferSpec, fit};
use crate::rows::Row;
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use crate::ways::{Way, Ways};
use page::{AT_LEAST, Caveat, Condition, Figure, Key, Metric, Unit};
use trial::Topology;

/// Octets on the wire around a frame's IP packet.
const AROUND_IP: u32 = FRAMING_OCTETS + WIRE_OVERHEAD_OCTETS;

/// All measurements.
pub(super) struct Measured<'a> {
    pub(super) spec: &'a BufferSpec,
    pub(super) topology: Topology,
    pub(super) ways: Ways,
    pub(super) cells: Vec<Cell>,
    /// Cases in the order of their rows.
    pub(super) cases: Vec<Case>,
    /// Blocks of each of these cases.
    pub(super) data: BTreeMap<Case, CellData>,
}

impl Measured<'_> {
    /// Blocks of a cell without its load, on that path.
    fn alone(&self, way: Way, cell: &Cell) -> Option<&CellData> {
        let alone = Cell { beside: Beside::Nothing, ..cell.clone() };
        let cell = self.cells.iter().position(|other| *other == alone)?;
        self.data.get(&Case { way, cell })
    }

    /// Smallest RTT of any cell on that path.
    fn min_rtt(&self, way: Way) -> Option<Nanos> {
        let own = self.data.iter().filter(|(case, _)| case.way == way);
        own.filter_map(|(_, data)| data.min_rtt()).min()
    }

    /// Payload bits a second that TCP could have on a path next to a cell's load.
    fn fair_share(&self, way: Way, cell: &Cell, link: Option<Rate>) -> f64 {
        let spec = self.spec;
        let payload = spec.segment().0 as f64 / f64::from(spec.mtu.get() + AROUND_IP);
        let baseline = self.alone(way, cell).and_then(CellData::goodput).unwrap_or(0.0);
        // A lab's limiter counts fewer octets per frame than a wire does: an observed rate is
        // possible.
        let carried = |link: Rate| baseline.max(link.bits_per_second() * payload);
        let capacity = link.map_or(baseline, carried);
        let taken = match cell.beside {
            Beside::SameWay(background) => {
                let size = spec.background_size;
                let frames = background.frames(size, link).map_or(0.0, |rate| rate.0);
                frames * f64::from(size.wire_octets()) * 8.0 * payload
            }
            Beside::Nothing | Beside::OtherWay(_) => 0.0,
        };
        (capacity - taken).max(0.0)
    }
}

/// Trials of one case, and those for comparison.
pub(super) struct CaseRows<'a> {
    spec: &'a BufferSpec,
    own: &'a CellData,
    link: Option<Rate>,
    judged: Vec<Judgement>,
    row: Row,
    pub(super) fair_share: f64,
    /// Smallest RTT of the path, over all cells.
    pub(super) rtt: Option<Nanos>,
}

impl<'a> CaseRows<'a> {
    pub(super) fn new(all: &'a Measured<'_>, case: Case) -> Self {
        let (spec, ways, cell) = (all.spec, &all.ways, &all.cells[case.cell]);
        let own = &all.data[&case];
        let link = fit::link_rate(spec, &all.topology, &ways.pair(case.way).to);
        let fair_share = all.fair_share(case.way, cell, link);
        let judge_one = |s: &Sample| {
            let judged = judge(&s.series, fair_share, spec.limits);
            if s.busy { judged.on_busy_hosts() } else { judged }
        };
        let judged = own.samples.iter().map(judge_one).collect();
        let cable = ways.bypass_of(case.way).and_then(|cable| all.alone(cable, cell));
        let mut row = Row::for_path(ways, case.way, spec.profile);
        row.note(&own.noted);
        row.n = own.samples.iter().map(|s| s.series.counted().count() as u64).sum();
        let goodputs = goodputs(own, cable);
        let rate = RateEvidence::new(Rates::Paired(&goodputs), driven(own));
        row.verdict = ways.judge(case.way, &Evidence::Rate(rate));
        if link.is_none() {
            row.caveats.insert(Caveat::MediaRateUnknown);
        }
        set_case(&mut row, cell, spec);
        let rtt = all.min_rtt(case.way);
        Self { spec, own, link, judged, row, fair_share, rtt }
    }

    /// Rate of the link in bits a second; if unknown, the fair share.
    pub(super) fn rate(&self) -> f64 {
        self.link.map_or(self.fair_share, Rate::bits_per_second)
    }

    /// Reasons why blocks are not known to be stable.
    pub(super) fn reasons(&self) -> BTreeSet<Reason> {
        self.judged.iter().flat_map(|judged| judged.reasons.iter().copied()).collect()
    }

    /// Yes if all blocks were stable, no if most were not; otherwise undetermined. Without a direct
    /// cable, the cause of instability is unknown.
    pub(super) fn stable(&self) -> Figure {
        let count = |answer| self.judged.iter().filter(|j| j.stable == Some(answer)).count();
        let (stable, unstable, all) = (count(true), count(false), self.judged.len());
        let value = if all > 0 && stable == all {
            Some(1.0)
        } else if 2 * unstable > all && !self.row.caveats.contains(&Caveat::NoBypass) {
            Some(0.0)
        } else {
            None
        };
        let mut figure = self.row.single(Metric::Stable, Unit::Flag, value);
        figure.blocks = all as u32;
        let reasons = self.reasons();
        if !reasons.is_empty() {
            let codes = reasons.iter().map(|reason| reason.as_str().to_owned());
            figure.set(Key::Reasons, Condition::List(codes.collect()));
        }
        figure.set(Key::StableBlocks, stable as u64);
        figure.set(Key::FairShare, self.fair_share);
        let limits = self.spec.limits;
        figure.set(Key::LimitRetransmits, limits.retransmits_per_gigabyte.get());
        figure.set(Key::LimitVariation, limits.variation.get());
        figure.set(Key::LimitShare, limits.share.get());
        figure
    }

    pub(super) fn goodput(&self) -> Figure {
        self.over_blocks(Metric::Goodput, Unit::BitsPerSecond, |s| Some(s.series.goodput()))
            .with(Key::RateConvention, "payload")
            .with(Key::FairShare, self.fair_share)
    }

    pub(super) fn bdp(&self) -> Figure {
        let bdp = self.rtt.map(|rtt| self.rate() / 8.0 * rtt.as_secs_f64());
        let mut figure = self.row.single(Metric::Bdp, Unit::Bytes, bdp);
        figure.set(Key::RateBits, self.rate());
        if let Some(rtt) = self.rtt {
            figure.set(Key::Rtt, rtt.0);
        }
        figure
    }

    /// Rate of the link in bits a second, for frames; `None` if unknown.
    pub(super) fn frames_rate(&self) -> Option<f64> {
        let (mtu, link) = (self.spec.mtu.get(), self.link?.bits_per_second());
        Some(link * f64::from(mtu + FRAMING_OCTETS) / f64::from(mtu + AROUND_IP))
    }

    /// Lower bound of the buffer, from blocks without other programs on the hosts' processors.
    /// Waiting programs would add to the RTTs.
    pub(super) fn buffer(
        &self,
        estimator: &str,
        octets: impl Fn(&Sample) -> Option<f64>,
    ) -> Figure {
        let quiet = |s: &Sample| if s.busy { None } else { octets(s) };
        let mut figure = self.over_blocks(Metric::Buffer, Unit::Bytes, quiet);
        // It is unknown how much more would have fit.
        figure.high = None;
        figure.with(Key::Estimator, estimator).with(Key::Bound, AT_LEAST)
    }

    /// Lost share of the load; `None` without a load.
    pub(super) fn background_loss(&self) -> Option<Figure> {
        self.own.samples.iter().find(|s| s.background_loss.is_some())?;
        let figure = self.over_blocks(Metric::LossRatio, Unit::Ratio, |s| s.background_loss);
        Some(figure.with(Key::Of, "background"))
    }

    /// Figure from one value per block, of the blocks that have one.
    pub(super) fn over_blocks(
        &self,
        metric: Metric,
        unit: Unit,
        value: impl Fn(&Sample) -> Option<f64>,
    ) -> Figure {
        let values: Vec<f64> = self.own.samples.iter().filter_map(value).collect();
        self.row.over_blocks(metric, unit, &values)
    }

    /// Figure from one value per judgement, of those that have one.
    pub(super) fn over_judged(
        &self,
        metric: Metric,
        unit: Unit,
        value: impl Fn(&Judgement) -> Option<f64>,
    ) -> Figure {
        let values: Vec<f64> = self.judged.iter().filter_map(value).collect();
        self.row.over_blocks(metric, unit, &values)
    }
}

fn set_case(row: &mut Row, cell: &Cell, spec: &BufferSpec) {
    row.set(Key::Test, "esnet");
    row.set(Key::Scenario, cell.beside.scenario());
    row.conditions.extend(cell.load(spec.background_size));
    row.set(Key::Protocol, "tcp");
    row.set(Key::Streams, u64::from(cell.streams));
    row.set(Key::CongestionControl, cell.control.clone());
}

/// True if segments were lost on the path in most blocks, and no other program used the processors.
fn driven(own: &CellData) -> Driven {
    let lossy = |s: &&Sample| !s.busy && s.series.retransmits(s.series.first) > 0;
    let lost = own.samples.iter().filter(lossy).count();
    Driven::if_lost(2 * lost > own.samples.len())
}

/// Goodput of the device in each block, paired with the cable's in the same block.
fn goodputs(own: &CellData, cable: Option<&CellData>) -> Vec<(f64, Option<f64>)> {
    let in_block = |block: u32| cable?.samples.iter().find(|s| s.block == block);
    let both = |s: &Sample| (s.series.goodput(), in_block(s.block).map(|s| s.series.goodput()));
    own.samples.iter().map(both).collect()
}
