//! Values of one path from its blocks: quantiles, and the payload of a TCP load.
//!
//! Owns their conditions and caveats, and the criterion for too few samples. Pure.

use measure::blocks::BlockEstimate;
use measure::quantile::median;
use measure::reading::Stamp;
use measure::{FrameMix, FrameSize};

use super::super::cell::{BulkSample, Cell, CellData, POINTS, Sample};
use super::super::spec::LatencySpec;
use super::rounds::InRounds;
use super::{LoadValues, PathTrips, Surroundings};
use crate::rows::{CONFIDENCE, Direction, Row, set_direction, too_few};
use crate::tcp::TcpDirection;
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates};
use crate::view::{Frames, Values};
use crate::ways::{Way, Ways};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::topology::Pair;
use trial::{Headers, Schedule, Topology};

/// Growth of RTTs above which they show a filling queue.
const GREW: f64 = 0.005;

/// Blocks of a cell on one path, and those over the direct cable.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    spec: &'a LatencySpec,
    pub(super) ways: &'a Ways,
    pub(super) topology: &'a Topology,
    pub(super) cell: &'a Cell,
    pub(super) way: Way,
    pub(super) own: &'a CellData,
    /// Same requests on the same path without a load, if that was measured.
    pub(super) idle: Option<&'a CellData>,
    pub(super) cable: Option<&'a CellData>,
}

impl<'a> Measured<'a> {
    pub(super) fn new(
        spec: &'a LatencySpec,
        testbed: Surroundings<'a>,
        cell: &'a Cell,
        idle: Option<&'a Cell>,
        way: Way,
    ) -> Self {
        let Surroundings { ways, topology } = testbed;
        let cable = ways.bypass_of(way).map(|cable| &cell.data[&cable]);
        let idle = idle.map(|idle| &idle.data[&way]);
        Self { spec, ways, topology, cell, way, own: &cell.data[&way], idle, cable }
    }

    /// Computes all values of the path.
    pub(super) fn trips(&self, seed: u64) -> PathTrips {
        let row = self.row();
        let quantiles = |metric| {
            let own = (0..POINTS.len()).filter(|at| POINTS[*at].0 == metric);
            own.map(|at| self.quantile(&row, at)).collect()
        };
        let asked = FrameMix::from_size(self.cell.size);
        let sent = self.raised_size().map(FrameMix::from_size);
        let mut trips = PathTrips {
            place: self.ways.place(self.way),
            frames: Frames::new(&asked, sent.as_ref(), Headers::default()),
            round_trips: self.own.round_trips.clone().filter(|all| !all.is_empty()),
            rtt: quantiles(Metric::Rtt),
            pdv: quantiles(Metric::Pdv),
            ipdv: quantiles(Metric::Ipdv),
            load: (0..self.load_pairs().len())
                .map(|at| self.load_values(row.clone(), at))
                .collect(),
            under_load: self.under_load(&row),
            added: self.added(&row, seed),
        };
        if self.fills_a_queue() {
            let delays = trips.rtt.iter_mut().chain(&mut trips.pdv).chain(&mut trips.ipdv);
            delays.chain(trips.added.values()).for_each(leave_open);
        }
        trips
    }

    /// True if paced requests alone filled the path: they waited behind each other, or each RTT
    /// exceeded the previous one.
    fn fills_a_queue(&self) -> bool {
        let Schedule::Paced(rate) = self.spec.schedule else { return false };
        if !self.cell.load.load.is_idle() {
            return false;
        }
        let surely = |values: &[f64], most: f64| {
            let estimate = BlockEstimate::from_values(values, CONFIDENCE);
            estimate.is_some_and(|estimate| estimate.interval.low > most)
        };
        let samples = &self.own.samples;
        let on_cable = median(&self.over_cable().iter().map(Sample::waited).collect::<Vec<f64>>());
        let waited = |sample: &Sample| sample.waited() - on_cable.unwrap_or(0.0);
        let waited: Vec<f64> = samples.iter().map(waited).collect();
        let grew: Vec<f64> = samples.iter().map(Sample::grew).collect();
        surely(&waited, 1e9 / rate.0) || surely(&grew, GREW)
    }

    /// Size of the frames sent, if the requested one is too small for the headers; otherwise
    /// `None`.
    fn raised_size(&self) -> Option<FrameSize> {
        self.own.frame_size.filter(|sent| *sent > self.cell.size)
    }

    fn row(&self) -> Row {
        let mut row = Row::for_path(self.ways, self.way, self.spec.profile);
        row.note(&self.own.noted);
        row.n = self.own.answers;
        row.conditions.extend(self.cell.conditions(self.spec.schedule));
        if self.own.some_lost {
            row.caveats.insert(Caveat::SomeLost);
        }
        if let Some(stamps) = self.own.stamps {
            row.set(Key::DepartureStamped, place(stamps.sent));
            row.set(Key::ArrivalStamped, place(stamps.received));
            let by_hardware = [stamps.sent, stamps.received].iter().all(|s| *s == Stamp::Hardware);
            if !by_hardware && self.ways.stamps_by_software() {
                row.caveats.insert(Caveat::SoftwareTimestamps);
            }
        }
        if let Some(sent) = self.raised_size() {
            row.caveats.insert(Caveat::FrameSizeRaised);
            row.set(Key::FrameSizeSent, u64::from(sent.octets()));
        }
        row
    }

    pub(super) fn quantile(&self, row: &Row, at: usize) -> Figure {
        let (metric, q) = POINTS[at];
        let pairs = self.pairs(|sample| signed(sample, at));
        let delays = match self.in_rounds() {
            None => Some(Delays::paired(&pairs)),
            Some(rounds) => rounds
                .added(|sample| signed(sample, at))
                .map(|added| Delays::Rounds { added, floor: 0.0 }),
        };
        let evidence = delays.map_or(Evidence::Nothing, Evidence::Delay);
        let mut row = Row { verdict: self.ways.judge(self.way, &evidence), ..row.clone() };
        if self.own.has_few(q) {
            row.caveats.insert(Caveat::FewSamples);
        }
        let figure = row.over_blocks(metric, Unit::Nanoseconds, &self.own.values(at));
        Figure { quantile: Some(q), ..figure }
    }

    /// Ports of each TCP flow of the load, in its direction.
    pub(super) fn load_pairs(&self) -> Vec<Pair> {
        let load = &self.cell.load;
        if load.load.is_bulk() { load.pairs(self.ways.pair(self.way)) } else { Vec::new() }
    }

    /// Values of one flow of TCP as a load: payload a second, and retransmitted segments.
    fn load_values(&self, mut row: Row, at: usize) -> LoadValues {
        if self.cell.load.direction == TcpDirection::Bidirectional {
            let direction = [Direction::Forward, Direction::Reverse].get(at).copied();
            set_direction(&mut row, direction);
        }
        let goodput = |sample: &Sample| Some(sample.bulks.get(at)?.goodput);
        let both = |own: &Sample| Some((goodput(own)?, self.in_same_block(own).and_then(goodput)));
        let both: Vec<(f64, Option<f64>)> = self.own.samples.iter().filter_map(both).collect();
        let retransmits = self.own.bulk(at, |bulk| bulk.retransmits as f64);
        let rate = RateEvidence::new(Rates::Paired(&both), driven(&retransmits));
        row.verdict = self.ways.judge(self.way, &Evidence::Rate(rate));
        let values = self.own.bulk(at, |bulk| bulk.goodput);
        row.n = values.len() as u64;
        row.caveats.remove(&Caveat::SomeLost);
        let goodput = row.over_blocks(Metric::Goodput, Unit::BitsPerSecond, &values);
        let goodput = goodput.with(Key::RateConvention, "payload");
        let retransmits = row.over_blocks(Metric::Retransmits, Unit::Count, &retransmits);
        LoadValues { goodput, retransmits }
    }

    /// Blocks of both sides in their rounds; `None` unless the direct cable was measured at another
    /// time.
    pub(super) fn in_rounds(&self) -> Option<InRounds<'a>> {
        let times = self.ways.another_time().filter(|_| !self.over_cable().is_empty())?;
        Some(InRounds { device: &self.own.samples, cable: self.over_cable(), times })
    }

    /// Pairs of device and cable, for blocks that have both.
    pub(super) fn pairs(&self, value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
        let both = |own: &Sample| Some((value(own), value(self.in_same_block(own)?)));
        self.own.samples.iter().filter_map(both).collect()
    }

    /// Sample of the same block over the direct cable.
    fn in_same_block(&self, own: &Sample) -> Option<&'a Sample> {
        self.over_cable().iter().find(|other| other.block == own.block)
    }

    fn over_cable(&self) -> &'a [Sample] {
        self.cable.map_or(&[], |cable| &cable.samples)
    }
}

impl CellData {
    /// Values of a point, one per block.
    pub(super) fn values(&self, at: usize) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.points[at]).collect()
    }

    /// True if a point has too few samples. With few samples per block, an extreme quantile is
    /// biased towards the middle, and repetitions do not help. A median of few samples is unbiased,
    /// and the interval over blocks covers its variation: the total number must suffice.
    pub(super) fn has_few(&self, q: f64) -> bool {
        let samples = &self.samples;
        if (q - 0.5).abs() < 1e-9 {
            let all = samples.iter().map(|sample| sample.effective).sum();
            return !samples.is_empty() && too_few(all, q);
        }
        samples.iter().any(|sample| too_few(sample.effective, q))
    }

    fn bulk(&self, at: usize, value: impl Fn(&BulkSample) -> f64) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.bulks.get(at)).map(value).collect()
    }
}

/// Leaves a value undetermined: RTTs on a path filled by the requests themselves are not its idle
/// RTTs.
fn leave_open(value: &mut Figure) {
    value.verdict = Verdict::Undetermined;
    value.doubt(Caveat::OwnLoad);
}

/// Place of a stamp, as named in rows.
const fn place(stamp: Stamp) -> &'static str {
    match stamp {
        Stamp::User => "user",
        Stamp::Kernel => "kernel",
        Stamp::Hardware => "hardware",
        Stamp::Intended => "intended",
    }
}

/// Value of a point with the larger as the worse: in the lower tail of a signed variation, lower is
/// worse.
fn signed(sample: &Sample, at: usize) -> f64 {
    let sign = if matches!(POINTS[at], (Metric::Ipdv, q) if q < 0.5) { -1.0 } else { 1.0 };
    sign * sample.points[at]
}

/// TCP drives a path by itself: it sends faster until frames are lost, which shows as retransmits.
fn driven(retransmits: &[f64]) -> Driven {
    match BlockEstimate::from_values(retransmits, CONFIDENCE) {
        Some(estimate) if estimate.value > 0.0 => Driven::Lost,
        _ => Driven::HeldBack,
    }
}
