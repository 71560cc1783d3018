//! The study's result, test by test: each case with its frames, its place and its values, and what
//! else is known of it that is no value.
//!
//! Owns the order of the rows. Never makes a value: the tests do, with their conditions.

mod curves;
mod loads;

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos, Rate, RateConvention};

use super::super::pacing::PacingValues;
use super::rig::Direction;
use crate::search::GoalName;
use crate::study::view::{Finding, Frames, Place, StudyPage};
use page::{Caveat, Figure};

pub(super) use curves::{Curve, Curves, Offered};
pub(super) use loads::{Loads, LosslessLoad};

/// What the tests that were made found; nothing of the others.
#[derive(Debug, Default)]
pub struct ForwardingFinding {
    /// The rate of the slowest link of a measured device, where it is known.
    pub(super) link: Option<Rate>,
    pub(super) floods: Vec<FloodCase>,
    pub(super) throughput: Vec<ThroughputCase>,
    pub(super) latency: Vec<LatencyCase>,
    pub(super) loss: Vec<LossPoint>,
    pub(super) bursts: Vec<BurstCase>,
    pub(super) recovery: Vec<RecoveryCase>,
    pub(super) resets: Vec<ResetCase>,
    /// Frames lost by load, over all trials.
    pub(super) curves: Curves,
    /// What made the loads, and how even they were.
    pub(super) loads: Loads,
}

/// By direction: one without a name, or each way and both together.
pub(super) type EachWay<T> = BTreeMap<Option<Direction>, T>;

/// Frames of one kind between two ports.
#[derive(Debug, Clone)]
pub(super) struct Traffic {
    pub(super) frames: Frames,
    pub(super) place: Place,
    /// What the link carries of them each way, where its rate is known.
    pub(super) line: Option<FrameRate>,
    /// Where all have one size.
    pub(super) lengths: Option<Lengths>,
    /// True if a device is between the ports.
    pub(super) has_device: bool,
}

/// Octets of a frame, and of what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) frame: u32,
    pub(super) ip: u32,
    pub(super) payload: u32,
}

/// A rate in frames a second, and in bits by every convention.
#[derive(Debug)]
pub(super) struct RateValue {
    pub(super) frames: Figure,
    pub(super) bits: [Figure; RateConvention::ALL.len()],
}

/// Floods of one cell.
#[derive(Debug)]
pub(super) struct FloodCase {
    pub(super) traffic: Traffic,
    /// The direct cable beside it, by its place among the cases.
    pub(super) cable: Option<usize>,
    pub(super) counts: EachWay<FloodCounts>,
}

/// Every frame of a flood.
#[derive(Debug)]
pub(super) struct FloodCounts {
    pub(super) offered: Figure,
    pub(super) sent: Figure,
    pub(super) received: RateValue,
    pub(super) lost: Figure,
    /// Duplicated and reordered; none where nobody told frames apart.
    pub(super) told_apart: Option<[Figure; 2]>,
    pub(super) loss_ratio: Figure,
    /// True where what is received may have left a queue after the load.
    pub(super) is_at_most: bool,
}

/// The searches of one cell.
#[derive(Debug)]
pub(super) struct ThroughputCase {
    pub(super) traffic: Traffic,
    /// The direct cable beside it, by its place among the cases.
    pub(super) cable: Option<usize>,
    /// In an order that all cases share.
    pub(super) goals: Vec<GoalCase>,
    /// Of the load at which the throughput was found, one way.
    pub(super) pacing: EachWay<PacingValues>,
}

/// A search for one goal.
#[derive(Debug)]
pub(super) struct GoalCase {
    pub(super) goal: GoalName,
    /// `mlr` or `binary`
    pub(super) search: &'static str,
    pub(super) final_duration: Nanos,
    /// Of all its trials.
    pub(super) traffic_time: Option<Nanos>,
    /// Where the goal allows loss.
    pub(super) conditional: Option<Conditional>,
    pub(super) rates: EachWay<RateValue>,
    /// Where no rate is the limit.
    pub(super) loss: Option<LossAt>,
}

/// Forwarded at the load that passed (RFC 9971's conditional throughput).
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditional {
    pub(super) rate: FrameRate,
    pub(super) loss_ratio: f64,
}

/// The share lost at one load.
#[derive(Debug)]
pub(super) struct LossAt {
    /// The load as it really was.
    pub(super) offered: Option<FrameRate>,
    pub(super) ratio: Figure,
}

/// Delays at one share of a device's throughput.
#[derive(Debug)]
pub(super) struct LatencyCase {
    /// None where no throughput was found.
    pub(super) load: Option<DelayLoad>,
    pub(super) device: DelaySide,
    /// Under the same load.
    pub(super) cable: Option<DelaySide>,
}

/// A share of the throughput found.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayLoad {
    pub(super) percent: u32,
    pub(super) rate: FrameRate,
}

/// Delays on one way.
#[derive(Debug)]
pub(super) struct DelaySide {
    pub(super) traffic: Traffic,
    pub(super) delays: EachWay<Delays>,
}

/// RFC 8219's statistics of a delay; where there is none of them, why.
#[derive(Debug, Default)]
pub(super) struct Delays {
    pub(super) typical: Option<Figure>,
    pub(super) worst: Option<Figure>,
    pub(super) variation: Option<Figure>,
    /// A value's row without a value.
    pub(super) missing: Option<Figure>,
}

/// A point of a loss curve.
#[derive(Debug)]
pub(super) struct LossPoint {
    pub(super) traffic: Traffic,
    /// None where there was no highest rate to take a share of.
    pub(super) load: Option<LossLoad>,
    pub(super) ratios: EachWay<LossAt>,
}

/// A share of the highest rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossLoad {
    pub(super) percent: u32,
    /// `link rate`
    pub(super) reference: &'static str,
}

/// The longest bursts without loss.
#[derive(Debug)]
pub(super) struct BurstCase {
    pub(super) device: BurstSide,
    pub(super) cable: Option<BurstSide>,
}

/// Bursts on one way.
#[derive(Debug)]
pub(super) struct BurstSide {
    pub(super) traffic: Traffic,
    pub(super) burst: Spread,
    /// The rate within a burst.
    pub(super) media: Option<FrameRate>,
    /// Where a buffer let the burst pass.
    pub(super) times: Option<BufferTimes>,
}

/// How long a burst fills the buffer.
#[derive(Debug)]
pub(super) struct BufferTimes {
    pub(super) implied: Spread,
    /// Without the frames that left meanwhile.
    pub(super) corrected: Spread,
    /// The rate at which those leave: the throughput.
    pub(super) drain: FrameRate,
}

/// A mean over searches, its interval their least and most.
#[derive(Debug)]
pub(super) struct Spread {
    pub(super) value: Figure,
    pub(super) deviation: Option<f64>,
}

/// A device's recovery from an overload.
#[derive(Debug)]
pub(super) struct RecoveryCase {
    pub(super) traffic: Traffic,
    /// None where it could not be overloaded.
    pub(super) overload: Option<Overload>,
    pub(super) times: EachWay<Figure>,
}

/// A load that falls once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overload {
    pub(super) from: FrameRate,
    pub(super) to: FrameRate,
    pub(super) duration: Nanos,
    /// Of the throughput, to a tenth.
    pub(super) percent: f64,
}

/// What resets did to a constant load.
#[derive(Debug)]
pub(super) struct ResetCase {
    pub(super) traffic: Traffic,
    pub(super) load: Option<FrameRate>,
    pub(super) outages: EachWay<Outages>,
}

/// An outage by both estimates; where there is none of them, why.
#[derive(Debug, Default)]
pub(super) struct Outages {
    /// Frames lost over the rate.
    pub(super) by_loss: Option<Figure>,
    /// The longest gap between arrivals.
    pub(super) by_gap: Option<Figure>,
    /// A value's row without a value.
    pub(super) missing: Option<Figure>,
}

/// True if that doubt stands against the value.
pub(super) fn has_caveat(value: &Figure, caveat: Caveat) -> bool {
    value.caveats.contains(&caveat)
}

impl Traffic {
    /// Which of two opposite flows, or both together.
    pub(super) fn place(&self, direction: Option<Direction>) -> Place {
        self.place.with_direction(direction)
    }
}

impl Delays {
    /// Those that there are.
    pub(super) fn all(&self) -> Vec<&Figure> {
        let Self { typical, worst, variation, missing } = self;
        [typical, worst, variation, missing].into_iter().flatten().collect()
    }
}

impl BurstSide {
    /// The burst, and the times that follow from it.
    pub(super) fn all(&self) -> Vec<&Figure> {
        let times = self.times.iter().flat_map(|times| [&times.implied, &times.corrected]);
        std::iter::once(&self.burst).chain(times).map(|spread| &spread.value).collect()
    }
}

impl Finding for ForwardingFinding {
    fn values(&mut self) -> Vec<&mut Figure> {
        let mut all = Vec::new();
        all.extend(self.floods.iter_mut().flat_map(FloodCase::values));
        all.extend(self.throughput.iter_mut().flat_map(ThroughputCase::values));
        all.extend(self.latency.iter_mut().flat_map(LatencyCase::values));
        let points = self.loss.iter_mut().flat_map(|point| point.ratios.values_mut());
        all.extend(points.map(|at| &mut at.ratio));
        all.extend(self.bursts.iter_mut().flat_map(BurstCase::values));
        all.extend(self.recovery.iter_mut().flat_map(|case| case.times.values_mut()));
        for outages in self.resets.iter_mut().flat_map(|case| case.outages.values_mut()) {
            let Outages { by_loss, by_gap, missing } = outages;
            all.extend([by_loss, by_gap, missing].into_iter().flatten());
        }
        all
    }

    fn page(&self) -> StudyPage {
        super::page::page(self)
    }
}

impl FloodCase {
    fn values(&mut self) -> Vec<&mut Figure> {
        let mut all = Vec::new();
        for counts in self.counts.values_mut() {
            let FloodCounts { offered, sent, received, lost, told_apart, loss_ratio, .. } = counts;
            all.extend([offered, sent, &mut received.frames, lost]);
            all.extend(told_apart.iter_mut().flatten());
            all.extend(&mut received.bits);
            all.push(loss_ratio);
        }
        all
    }
}

impl ThroughputCase {
    fn values(&mut self) -> Vec<&mut Figure> {
        let mut all = Vec::new();
        for goal in &mut self.goals {
            for RateValue { frames, bits } in goal.rates.values_mut() {
                all.push(frames);
                all.extend(bits);
            }
            all.extend(goal.loss.iter_mut().map(|at| &mut at.ratio));
        }
        all.extend(self.pacing.values_mut().flat_map(PacingValues::values));
        all
    }
}

impl LatencyCase {
    fn values(&mut self) -> Vec<&mut Figure> {
        let sides = std::iter::once(&mut self.device).chain(&mut self.cable);
        let delays = sides.flat_map(|side| side.delays.values_mut());
        let values = delays.flat_map(|Delays { typical, worst, variation, missing }| {
            [typical, worst, variation, missing].into_iter().flatten()
        });
        values.collect()
    }
}

impl BurstCase {
    fn values(&mut self) -> Vec<&mut Figure> {
        let mut all = Vec::new();
        for side in std::iter::once(&mut self.device).chain(&mut self.cable) {
            all.push(&mut side.burst.value);
            if let Some(BufferTimes { implied, corrected, .. }) = &mut side.times {
                all.extend([&mut implied.value, &mut corrected.value]);
            }
        }
        all
    }
}
