//! From one path's blocks to its values: quantiles, and what a TCP load got.
//!
//! Owns their conditions and doubts, and when there are too few samples for a quantile. Pure.

use measure::blocks::BlockEstimate;
use measure::quantile::median;
use measure::reading::Stamp;
use measure::{FrameMix, FrameSize};

use super::super::cell::{BulkSample, Cell, CellData, POINTS, Sample};
use super::super::spec::LatencySpec;
use super::rounds::InRounds;
use super::{LoadValues, PathTrips};
use crate::study::rows::{CONFIDENCE, Row, too_few};
use crate::study::view::{Frames, Values};
use crate::study::ways::{Way, Ways};
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::{Headers, Schedule};

/// Round trips that grow by more than this share are those of a queue that fills.
const GREW: f64 = 0.005;

/// A cell's blocks on one path, and beside them those over the direct cable.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    spec: &'a LatencySpec,
    pub(super) ways: &'a Ways,
    pub(super) cell: &'a Cell,
    pub(super) way: Way,
    pub(super) own: &'a CellData,
    pub(super) cable: Option<&'a CellData>,
}

impl<'a> Measured<'a> {
    pub(super) fn new(spec: &'a LatencySpec, ways: &'a Ways, cell: &'a Cell, way: Way) -> Self {
        let cable = ways.bypass_of(way).map(|cable| &cell.data[&cable]);
        Self { spec, ways, cell, way, own: &cell.data[&way], cable }
    }

    /// All values of the path.
    pub(super) fn trips(&self, seed: u64) -> PathTrips {
        let row = self.row();
        let quantiles = |metric| {
            let own = (0..POINTS.len()).filter(|at| POINTS[*at].0 == metric);
            own.map(|at| self.quantile(&row, at)).collect()
        };
        let asked = FrameMix::of(self.cell.size);
        let sent = self.raised_size().map(FrameMix::of);
        let mut trips = PathTrips {
            place: self.ways.place(self.way),
            frames: Frames::new(&asked, sent.as_ref(), Headers::default()),
            round_trips: self.own.round_trips.clone().filter(|all| !all.is_empty()),
            rtt: quantiles(Metric::Rtt),
            pdv: quantiles(Metric::Pdv),
            ipdv: quantiles(Metric::Ipdv),
            load: self.cell.load.is_bulk().then(|| self.load_values(row.clone())),
            added: self.added(&row, seed),
        };
        if self.fills_a_queue() {
            let delays = trips.rtt.iter_mut().chain(&mut trips.pdv).chain(&mut trips.ipdv);
            delays.chain(trips.added.values()).for_each(leave_open);
        }
        trips
    }

    /// True if requests at a rate of their own made the path busy that nothing else loads: they
    /// waited behind each other, or each one longer than the one before it.
    fn fills_a_queue(&self) -> bool {
        let Schedule::Paced(rate) = self.spec.schedule else { return false };
        if !self.cell.load.is_idle() {
            return false;
        }
        let surely = |values: &[f64], most: f64| {
            let estimate = BlockEstimate::of(values, CONFIDENCE);
            estimate.is_some_and(|estimate| estimate.interval.low > most)
        };
        let samples = &self.own.samples;
        let on_cable = median(&self.over_cable().iter().map(Sample::waited).collect::<Vec<f64>>());
        let waited = |sample: &Sample| sample.waited() - on_cable.unwrap_or(0.0);
        let waited: Vec<f64> = samples.iter().map(waited).collect();
        let grew: Vec<f64> = samples.iter().map(Sample::grew).collect();
        surely(&waited, 1e9 / rate.0) || surely(&grew, GREW)
    }

    /// The size of the frames sent, where the one asked for is too small for the headers.
    fn raised_size(&self) -> Option<FrameSize> {
        self.own.frame_size.filter(|sent| *sent > self.cell.size)
    }

    fn row(&self) -> Row {
        let mut row = Row::of(self.ways, self.way, self.spec.profile);
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

    fn quantile(&self, row: &Row, at: usize) -> Figure {
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

    /// TCP as a load: payload a second, and segments sent again.
    fn load_values(&self, mut row: Row) -> LoadValues {
        let goodput = |sample: &Sample| Some(sample.bulk?.goodput);
        let both = |own: &Sample| Some((goodput(own)?, self.in_same_block(own).and_then(goodput)));
        let both: Vec<(f64, Option<f64>)> = self.own.samples.iter().filter_map(both).collect();
        let retransmits = self.own.bulk(|bulk| bulk.retransmits as f64);
        let rate = RateEvidence::of(Rates::Paired(&both), driven(&retransmits));
        row.verdict = self.ways.judge(self.way, &Evidence::Rate(rate));
        let values = self.own.bulk(|bulk| bulk.goodput);
        row.n = values.len() as u64;
        row.caveats.remove(&Caveat::SomeLost);
        let goodput = row.over_blocks(Metric::Goodput, Unit::BitsPerSecond, &values);
        let goodput = goodput.with(Key::RateConvention, "payload");
        let retransmits = row.over_blocks(Metric::Retransmits, Unit::Count, &retransmits);
        LoadValues { goodput, retransmits }
    }

    /// Blocks of both sides in their rounds, where the direct cable was measured at another time.
    pub(super) fn in_rounds(&self) -> Option<InRounds<'a>> {
        let times = self.ways.another_time().filter(|_| !self.over_cable().is_empty())?;
        Some(InRounds { device: &self.own.samples, cable: self.over_cable(), times })
    }

    /// (device, cable) of each block that has both.
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
    /// A point's value in each block.
    pub(super) fn values(&self, at: usize) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.points[at]).collect()
    }

    /// True if a point's blocks have too few samples. A quantile far out is too near the middle in
    /// each block with few, and repetitions do not mend it. A median of few is as often too high as
    /// too low, and the interval over the blocks spans that: all together have to be enough.
    pub(super) fn has_few(&self, q: f64) -> bool {
        let samples = &self.samples;
        if (q - 0.5).abs() < 1e-9 {
            let all = samples.iter().map(|sample| sample.effective).sum();
            return !samples.is_empty() && too_few(all, q);
        }
        samples.iter().any(|sample| too_few(sample.effective, q))
    }

    fn bulk(&self, value: impl Fn(BulkSample) -> f64) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.bulk).map(value).collect()
    }
}

/// Round trips on a path that the requests fill themselves are not those of the path at rest.
fn leave_open(value: &mut Figure) {
    value.verdict = Verdict::Undetermined;
    value.doubt(Caveat::OwnLoad);
}

/// The place of a stamp, as rows have it.
const fn place(stamp: Stamp) -> &'static str {
    match stamp {
        Stamp::User => "user",
        Stamp::Kernel => "kernel",
        Stamp::Hardware => "hardware",
        Stamp::Intended => "intended",
    }
}

/// A point that is worse where it is larger: of a signed variation the lower tail is worse when
/// lower.
fn signed(sample: &Sample, at: usize) -> f64 {
    let sign = if matches!(POINTS[at], (Metric::Ipdv, q) if q < 0.5) { -1.0 } else { 1.0 };
    sign * sample.points[at]
}

/// TCP drives a path by itself: it sends more until something gives, and segments sent again were
/// lost.
fn driven(retransmits: &[f64]) -> Driven {
    match BlockEstimate::of(retransmits, CONFIDENCE) {
        Some(estimate) if estimate.value > 0.0 => Driven::Lost,
        _ => Driven::HeldBack,
    }
}
