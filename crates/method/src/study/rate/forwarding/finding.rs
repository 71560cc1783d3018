//! The study's result, test by test: each case with its frames, its place and its values, and what
//! else is known of it that is no value.
//!
//! Owns the order of the rows. Never makes a value: the tests do, with their conditions.

mod curves;
mod loads;

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos, Rate, RateConvention};

use super::super::pacing::PacingValues;
use crate::search::GoalName;
use crate::study::rows::Direction;
use crate::study::view::{Frames, Place, values};
use page::{Figure, Key, phrase};

pub(super) use curves::{Curve, Curves, Offered};
pub(super) use loads::{Loads, LosslessLoad, Made};

/// Results of the tests that were made.
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
    /// Makers of the loads, and their gaps.
    pub(super) loads: Loads,
}

/// Results by direction: one without a name, or each way and both together.
pub(super) type EachWay<T> = BTreeMap<Option<Direction>, T>;

/// Frames of one kind between two ports.
#[derive(Debug, Clone)]
pub(super) struct Traffic {
    pub(super) frames: Frames,
    pub(super) place: Place,
    /// Frames a second that the link carries each way, where its rate is known.
    pub(super) line: Option<FrameRate>,
    /// Octets, where all have one size.
    pub(super) lengths: Option<Lengths>,
    /// True if a device is between the ports.
    pub(super) has_device: bool,
}

/// A result of traffic one way, or of both ways together.
#[derive(Debug)]
pub(super) struct OneWay<'a, T> {
    pub(super) traffic: &'a Traffic,
    pub(super) direction: Option<Direction>,
    pub(super) found: &'a T,
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
    /// Gaps of the load at which the throughput was found, one way.
    pub(super) pacing: EachWay<PacingValues>,
}

/// A search for one goal.
#[derive(Debug)]
pub(super) struct GoalCase {
    pub(super) goal: GoalName,
    /// `mlr` or `binary`
    pub(super) search: &'static str,
    pub(super) final_duration: Nanos,
    /// Load time of all its trials.
    pub(super) traffic_time: Option<Nanos>,
    /// Rate forwarded, where the goal allows loss.
    pub(super) conditional: Option<Conditional>,
    pub(super) rates: EachWay<RateValue>,
    /// Share lost, where no rate is the limit.
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
    /// A share of the throughput, where one was found.
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
    /// A share of the highest rate, where one is known.
    pub(super) load: Option<LossLoad>,
    pub(super) ratios: EachWay<LossAt>,
}

/// A share of the highest rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossLoad {
    pub(super) percent: u32,
    /// Code word of the rate that is 100 %: `link-rate`.
    pub(super) reference: &'static str,
}

impl LossLoad {
    /// `link rate`
    pub(super) fn reference_in_words(self) -> String {
        phrase::code(&Key::LoadReference, self.reference)
    }
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
    /// Times that the buffer takes to fill, where one let the burst pass.
    pub(super) times: Option<BufferTimes>,
}

/// Time in which a burst fills the buffer.
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
    /// The load, where it overloads the device.
    pub(super) overload: Option<Overload>,
    pub(super) times: EachWay<Figure>,
}

/// A load that falls once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overload {
    pub(super) from: FrameRate,
    pub(super) to: FrameRate,
    pub(super) duration: Nanos,
    /// Percent of the throughput, to a tenth.
    pub(super) percent: f64,
}

/// A constant load through resets.
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

impl Traffic {
    /// Results of every direction.
    pub(super) fn each<'a, T>(
        &'a self,
        ways: &'a EachWay<T>,
    ) -> impl Iterator<Item = OneWay<'a, T>> {
        ways.iter().map(|(direction, found)| OneWay { direction: *direction, ..self.with(found) })
    }

    /// A result of the only direction.
    pub(super) const fn with<'a, T>(&'a self, found: &'a T) -> OneWay<'a, T> {
        OneWay { traffic: self, direction: None, found }
    }
}

impl<T> Copy for OneWay<'_, T> {}

impl<T> Clone for OneWay<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, T> OneWay<'a, T> {
    /// Another result of that way.
    pub(super) fn with<U>(&self, found: &'a U) -> OneWay<'a, U> {
        OneWay { direction: self.direction, ..self.traffic.with(found) }
    }

    pub(super) fn place(&self) -> Place {
        self.traffic.place.with_direction(self.direction)
    }

    /// Place in a table: smaller frames first.
    pub(super) fn order(&self) -> (Frames, Place) {
        (self.traffic.frames.clone(), self.place())
    }
}

impl Delays {
    /// Values that were found, or the row without one.
    pub(super) fn all(&self) -> Vec<&Figure> {
        let Self { typical, worst, variation, missing } = self;
        [typical, worst, variation, missing].into_iter().flatten().collect()
    }
}

impl BurstSide {
    /// The burst, and where.
    pub(super) const fn way(&self) -> OneWay<'_, Figure> {
        self.traffic.with(&self.burst.value)
    }

    /// The burst, and the times that follow from it.
    pub(super) fn all(&self) -> Vec<&Figure> {
        let times = self.times.iter().flat_map(|times| [&times.implied, &times.corrected]);
        std::iter::once(&self.burst).chain(times).map(|spread| &spread.value).collect()
    }
}

values! {
    ForwardingFinding: floods, throughput, latency, loss, bursts, recovery, resets;
    FloodCase: counts;
    FloodCounts: offered, sent, received.frames, lost, told_apart, received.bits, loss_ratio;
    RateValue: frames, bits;
    ThroughputCase: goals, pacing;
    GoalCase: rates, loss;
    LossAt: ratio;
    LatencyCase: device, cable;
    DelaySide: delays;
    Delays: typical, worst, variation, missing;
    LossPoint: ratios;
    BurstCase: device, cable;
    BurstSide: burst, times;
    BufferTimes: implied, corrected;
    Spread: value;
    RecoveryCase: times;
    ResetCase: outages;
    Outages: by_loss, by_gap, missing;
}
