//! Findings of the study by test: each case with its frames, its place and its values, and further
//! facts that are no values.
//!
//! Owns the order of the rows. Never computes a value: the tests do, with their conditions.

mod curves;
mod loads;

use std::collections::BTreeMap;

use measure::{FrameRate, Nanos, Rate, RateConvention};

use super::super::pacing::PacingValues;
use crate::rows::Direction;
use crate::search::GoalName;
use crate::view::{Frames, Place, values};
use page::{Figure, Key, phrase};

pub(super) use curves::{Curve, Curves, Offered};
pub(super) use loads::{Loads, LosslessLoad, Made};

/// Results of the tests that ran.
#[derive(Debug, Default)]
pub struct ForwardingFinding {
    /// Rate of the slowest link of a measured device; `None` if unknown.
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
    /// Senders and receivers of the loads, and their gaps.
    pub(super) loads: Loads,
}

/// Results by direction: one without a name, or both directions and their total.
pub(super) type EachWay<T> = BTreeMap<Option<Direction>, T>;

/// Frames of one kind between two ports.
#[derive(Debug, Clone)]
pub(super) struct Traffic {
    pub(super) frames: Frames,
    pub(super) place: Place,
    /// Line rate in frames a second per direction; `None` if the link's rate is unknown.
    pub(super) line: Option<FrameRate>,
    /// Lengths in octets; `None` if sizes differ.
    pub(super) lengths: Option<Lengths>,
    /// True if a device is between the ports.
    pub(super) has_device: bool,
}

/// Result of traffic in one direction, or of both directions together.
#[derive(Debug)]
pub(super) struct OneWay<'a, T> {
    pub(super) traffic: &'a Traffic,
    pub(super) direction: Option<Direction>,
    pub(super) found: &'a T,
}

/// Octets of a frame, and of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) frame: u32,
    pub(super) ip: u32,
    pub(super) payload: u32,
}

/// Rate in frames a second, and in bits a second in every convention.
#[derive(Debug)]
pub(super) struct RateValue {
    pub(super) frames: Figure,
    pub(super) bits: [Figure; RateConvention::ALL.len()],
}

/// Floods of one cell.
#[derive(Debug)]
pub(super) struct FloodCase {
    pub(super) traffic: Traffic,
    /// Direct cable that belongs to it, by its index among the cases.
    pub(super) cable: Option<usize>,
    pub(super) counts: EachWay<FloodCounts>,
}

/// Counts of a flood's frames.
#[derive(Debug)]
pub(super) struct FloodCounts {
    pub(super) offered: Figure,
    pub(super) sent: Figure,
    pub(super) received: RateValue,
    pub(super) lost: Figure,
    /// Duplicated and reordered frames; `None` if frames were not identified.
    pub(super) told_apart: Option<[Figure; 2]>,
    pub(super) loss_ratio: Figure,
    /// True if received frames may have left a queue after the load.
    pub(super) is_at_most: bool,
}

/// Searches of one cell.
#[derive(Debug)]
pub(super) struct ThroughputCase {
    pub(super) traffic: Traffic,
    /// Direct cable that belongs to it, by its index among the cases.
    pub(super) cable: Option<usize>,
    /// Goals, in an order that all cases share.
    pub(super) goals: Vec<GoalCase>,
    /// Pacing of the load at the throughput, in one direction.
    pub(super) pacing: EachWay<PacingValues>,
}

/// Search for one goal.
#[derive(Debug)]
pub(super) struct GoalCase {
    pub(super) goal: GoalName,
    /// `mlr` or `binary`
    pub(super) search: &'static str,
    pub(super) final_duration: Nanos,
    /// Total load time of its trials.
    pub(super) traffic_time: Option<Nanos>,
    /// Conditional throughput; `None` unless the goal allows loss.
    pub(super) conditional: Option<Conditional>,
    pub(super) rates: EachWay<RateValue>,
    /// Loss ratio, if no rate is the limit; otherwise `None`.
    pub(super) loss: Option<LossAt>,
}

/// Rate forwarded at the load that passed (RFC 9971's conditional throughput).
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditional {
    pub(super) rate: FrameRate,
    pub(super) loss_ratio: f64,
}

/// Loss ratio at one load.
#[derive(Debug)]
pub(super) struct LossAt {
    /// Actual load; `None` if unknown.
    pub(super) offered: Option<FrameRate>,
    pub(super) ratio: Figure,
}

/// Delays at one share of a device's throughput.
#[derive(Debug)]
pub(super) struct LatencyCase {
    /// Load as a share of the throughput; `None` if none was found.
    pub(super) load: Option<DelayLoad>,
    pub(super) device: DelaySide,
    /// Delays of the direct cable under the same load.
    pub(super) cable: Option<DelaySide>,
}

/// Load as a share of the throughput.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayLoad {
    pub(super) percent: u32,
    pub(super) rate: FrameRate,
}

/// Delays on one path.
#[derive(Debug)]
pub(super) struct DelaySide {
    pub(super) traffic: Traffic,
    pub(super) delays: EachWay<Delays>,
}

/// Statistics of a delay by RFC 8219; without any, a row with the reason.
#[derive(Debug, Default)]
pub(super) struct Delays {
    pub(super) typical: Option<Figure>,
    pub(super) worst: Option<Figure>,
    pub(super) variation: Option<Figure>,
    /// Row without a value, with the reason.
    pub(super) missing: Option<Figure>,
}

/// Point of a loss curve.
#[derive(Debug)]
pub(super) struct LossPoint {
    pub(super) traffic: Traffic,
    /// Load as a share of the highest rate; `None` if that is unknown.
    pub(super) load: Option<LossLoad>,
    pub(super) ratios: EachWay<LossAt>,
}

/// Load as a share of the highest rate.
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

/// Longest bursts without loss.
#[derive(Debug)]
pub(super) struct BurstCase {
    pub(super) device: BurstSide,
    pub(super) cable: Option<BurstSide>,
}

/// Bursts on one path.
#[derive(Debug)]
pub(super) struct BurstSide {
    pub(super) traffic: Traffic,
    pub(super) burst: Spread,
    /// Rate within a burst.
    pub(super) media: Option<FrameRate>,
    /// Times to fill the buffer; `None` unless a buffer passed the burst.
    pub(super) times: Option<BufferTimes>,
}

/// Time in which a burst fills the buffer.
#[derive(Debug)]
pub(super) struct BufferTimes {
    pub(super) implied: Spread,
    /// Time corrected for the frames that left meanwhile.
    pub(super) corrected: Spread,
    /// Rate at which those leave: the throughput.
    pub(super) drain: FrameRate,
}

/// Mean over searches, with their minimum and maximum as the interval.
#[derive(Debug)]
pub(super) struct Spread {
    pub(super) value: Figure,
    pub(super) deviation: Option<f64>,
}

/// Recovery of a device from an overload.
#[derive(Debug)]
pub(super) struct RecoveryCase {
    pub(super) traffic: Traffic,
    /// Load that overloads the device; `None` without one.
    pub(super) overload: Option<Overload>,
    pub(super) times: EachWay<Figure>,
}

/// Load that falls once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overload {
    pub(super) from: FrameRate,
    pub(super) to: FrameRate,
    pub(super) duration: Nanos,
    /// Percent of the throughput, to a tenth.
    pub(super) percent: f64,
}

/// Constant load during resets.
#[derive(Debug)]
pub(super) struct ResetCase {
    pub(super) traffic: Traffic,
    pub(super) load: Option<FrameRate>,
    pub(super) outages: EachWay<Outages>,
}

/// Outage by both estimates; without any, a row with the reason.
#[derive(Debug, Default)]
pub(super) struct Outages {
    /// Lost frames divided by the rate.
    pub(super) by_loss: Option<Figure>,
    /// Longest gap between arrivals.
    pub(super) by_gap: Option<Figure>,
    /// Row without a value, with the reason.
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

    /// Creates a result of the only direction.
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
    /// Replaces the result, keeping traffic and direction.
    pub(super) fn with<U>(&self, found: &'a U) -> OneWay<'a, U> {
        OneWay { direction: self.direction, ..self.traffic.with(found) }
    }

    pub(super) fn place(&self) -> Place {
        self.traffic.place.with_direction(self.direction)
    }

    /// Order in a table: smaller frames first.
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
    /// Length of the burst, with its traffic.
    pub(super) const fn way(&self) -> OneWay<'_, Figure> {
        self.traffic.with(&self.burst.value)
    }

    /// Length of the burst, and the times that follow from it.
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
