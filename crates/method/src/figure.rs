//! A figure: one row shape for JSON, CSV, the terminal and the report. Every figure carries its n,
//! an interval, its conditions, a verdict and its caveats. Never computes one: studies do, and a
//! report only shows them.

use std::collections::BTreeMap;

use measure::Interval;
use serde::{Deserialize, Serialize};

/// One measured value and everything that must stand beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured.
    pub metric: Metric,
    /// For a point of a distribution: 0…1, with 0 the minimum and 1 the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Base unit of value, low and high.
    pub unit: Unit,
    /// The value; `None` where the procedure ended without one (a caveat says why).
    pub value: Option<f64>,
    /// The interval's lower end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The interval's upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The confidence of the interval, 0…1; none of a search's bracket or a range, which the
    /// condition `interval` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Samples behind it: packets for a distribution, trials for a search.
    pub n: u64,
    /// Blocks behind it: the sampling unit.
    pub blocks: u32,
    /// Under which conditions: `protocol`, `frame_size`, `from`, `to`, `device`, `path`, `load`…
    #[serde(rename = "where")]
    pub conditions: BTreeMap<String, Condition>,
    /// Whose limit it shows.
    pub verdict: Verdict,
    /// Every doubt.
    pub caveats: Vec<Caveat>,
}

/// Below this an interval is not one: its ends are only the smallest and the largest that were
/// seen.
pub const LEAST_CONFIDENCE: f64 = 0.90;

/// What the condition `interval` says of such ends.
pub const RANGE: &str = "range";

impl Figure {
    /// Takes an interval's ends. So few repetitions that their whole range covers the truth less
    /// often than [`LEAST_CONFIDENCE`] have no interval, only that [`RANGE`]; a single one has not
    /// even that.
    pub fn set_interval(&mut self, interval: Option<Interval>) {
        let interval = interval.filter(|i| i.confidence > 0.0 || i.low < i.high);
        self.low = interval.map(|i| i.low);
        self.high = interval.map(|i| i.high);
        self.confidence = interval.map(|i| i.confidence).filter(|c| *c >= LEAST_CONFIDENCE);
        if interval.is_some() && self.confidence.is_none() {
            self.conditions.insert("interval".to_owned(), RANGE.into());
        }
    }
}

/// The value of one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Condition {
    /// A yes or no.
    Flag(bool),
    /// A count or size.
    Integer(u64),
    /// A share or rate.
    Number(f64),
    /// A name.
    Text(String),
}

impl From<&str> for Condition {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Condition {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Condition {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Condition {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// Names of what is measured; docs/reference says what each means, and an old one keeps its
/// meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Round-trip time.
    Rtt,
    /// Round-trip time of the device path less that of the direct cable, block by block.
    RttAdded,
    /// Delay variation against the minimum: D(i) - D_min (RFC 5481).
    Pdv,
    /// Delay variation between successive packets: D(i) - D(i-1), signed (RFC 5481).
    Ipdv,
    /// Frames a second asked for.
    Offered,
    /// Frames a second that left.
    Sent,
    /// Distinct frames a second that arrived.
    Received,
    /// Frames a second that never arrived.
    Lost,
    /// Frames a second that arrived again.
    Duplicated,
    /// Frames a second that arrived late (RFC 4737).
    Reordered,
    /// Lost share of the frames sent.
    LossRatio,
    /// Highest rate at which the goal holds; `goal` in the conditions names it.
    Throughput,
    /// TCP payload a second at the receiver.
    Goodput,
    /// TCP segments sent again.
    Retransmits,
    /// From a frame's departure to its arrival.
    OneWayDelay,
    /// Frames of the longest burst at minimum gap that lost none (RFC 9004).
    BackToBack,
    /// How long a buffer takes to fill at the highest rate; `estimate` names the formula.
    BufferTime,
    /// From the end of an overload to the departure of the last frame lost (RFC 2544 §26.5).
    RecoveryTime,
    /// How long a reset interrupted forwarding (RFC 6201); `estimate` names how it was told.
    ResetTime,
    /// Gaps between successive departures.
    DepartureGap,
    /// Gaps between successive arrivals.
    ArrivalGap,
    /// Share of the frames that left closer than half the nominal gap behind the one before.
    BurstFraction,
    /// Payload a second each way of a pair of ports that exchange messages; `statistic` in the
    /// conditions says of which pairs.
    PairGoodput,
    /// How many groups of ports share an uplink that is short; `groups` in the conditions lists
    /// them.
    PortGroups,
    /// What a group's uplink carries.
    UplinkRate,
    /// Whether every arrangement of pairs gets what one pair alone gets: 1 yes, 0 no.
    Nonblocking,
    /// Whether TCP was stable at its fair share: 1 yes, 0 no; `reasons` in the conditions say why
    /// not.
    Stable,
    /// TCP segments sent again for each gigabyte of payload, after the ramp-up.
    RetransmitsPerGigabyte,
    /// Coefficient of variation of the goodput from second to second, after the ramp-up.
    GoodputVariation,
    /// From the load's start until the goodput first was at the fair share.
    RampUpTime,
    /// The largest congestion window, of all streams of a trial together.
    CwndMax,
    /// How often a stream's congestion window was cut after the warm-up.
    CwndCuts,
    /// Bandwidth-delay product: the link's rate times the smallest round trip.
    Bdp,
    /// A buffer's size; `estimator` in the conditions names how it was told, `bound` what it
    /// bounds.
    Buffer,
    /// Whether outputs share a buffer: 1 yes, 0 each has its own.
    BufferShared,
    /// Of a shared buffer's dynamic threshold: a queue may hold up to so many times what is free.
    Alpha,
    /// What each queue of a shared buffer has for itself.
    BufferReserve,
    /// The octets that a buffer is counted in; `limit` in the conditions says of what it is made.
    Cell,
    /// Whether a buffer is enough for `flows` at `rtt_ns`, by the `rule` named: 1 yes, 0 no.
    Enough,
    /// The longest round trip that a buffer is enough for, by the `rule` named.
    LongestRoundTrip,
    /// Share of the octets sent by TCP that were not sent again (RFC 6349).
    Efficiency,
    /// By how much the mean round trip exceeds the path's own, as a share of it (RFC 6349).
    BufferDelay,
    /// How many times longer a transfer takes than at the fair share (RFC 6349).
    TransferTimeRatio,
    /// Frames that came to ports they were not for (RFC 2285 §3.8.3).
    Flooded,
    /// Whether an uncongested port lost frames for a congested one's sake: 1 yes, 0 no.
    HeadOfLineBlocking,
    /// Whether a congested port made its senders wait instead of losing frames: 1 yes, 0 no.
    Backpressure,
    /// How many addresses the device knew at once, each reached without flooding (RFC 2889 §5.7).
    AddressCapacity,
    /// How many new addresses a second it learned, all of them (RFC 2889 §5.8).
    AddressLearningRate,
    /// Frames of the longest burst without loss, of many ports into few (RFC 8239 §4).
    Microburst,
    /// How many times one side's value another's is; `of` in the conditions names the metric,
    /// `decision` what may be said.
    Ratio,
    /// By how much one side exceeds another, where a ratio can't be had.
    Difference,
    /// What share of a metric's variance a factor of a campaign explains; `of` and `factor` in the
    /// conditions name both.
    VarianceShare,
    /// Reads and writes of a storage a second; `operation` in the conditions says of which.
    Iops,
    /// How long one of them takes, from submission to completion; `part` in the conditions says of
    /// which part of its way.
    IoLatency,
    /// How much longer one takes through the device than over the direct cable, block by block;
    /// `estimate` says how that was told.
    IoLatencyAdded,
    /// The share of a storage operation's time that its round trips over the network take.
    NetworkShare,
}

/// Base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Octets.
    #[serde(rename = "bytes")]
    Bytes,
    /// Bits a second; `rate_convention` in the conditions tells of what.
    #[serde(rename = "bits/s")]
    BitsPerSecond,
    /// Frames a second.
    #[serde(rename = "frames/s")]
    FramesPerSecond,
    /// A share or quotient.
    #[serde(rename = "ratio")]
    Ratio,
    /// Reads and writes a second.
    #[serde(rename = "operations/s")]
    OperationsPerSecond,
    /// A plain count.
    #[serde(rename = "count")]
    Count,
    /// A yes (1) or a no (0).
    #[serde(rename = "flag")]
    Flag,
}

/// Whose limit a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The device's own: the bypass did clearly better, and the device's path was driven to it.
    DeviceLimited,
    /// The link's: the figure is line rate, and nobody's limit but the medium's.
    LinkLimited,
    /// The tester's: the bypass did no better, or nothing gave way: only a bound on the device.
    TesterLimited,
    /// There is no bypass, or the two can't be told apart.
    Undetermined,
}

/// A doubt about a figure. Not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caveat {
    /// No direct cable between the same hosts: nothing tells the tester's share.
    NoBypass,
    /// Too few blocks for the confidence asked; the interval states what could be had.
    FewBlocks,
    /// Too few samples for so high a quantile; the value is a bound by order statistics.
    FewSamples,
    /// Stamped by software: absolute times contain the hosts' own stacks.
    SoftwareTimestamps,
    /// Phases shorter than RFC 2544's.
    QuickProfile,
    /// The frame is larger than asked, because the protocol's headers do not fit.
    FrameSizeRaised,
    /// The tester itself dropped frames.
    TesterDrops,
    /// Some trials were invalid and repeated.
    RepeatedTrials,
    /// No valid trial in as many tries as allowed.
    NoValidTrial,
    /// Hosts and device share one machine: they disturb each other.
    SharedMachine,
    /// The search hit its upper end: the device was never seen to fail.
    SearchCeiling,
    /// The search's bracket is wider than its goal's width: in between only the tester fell short.
    WideBracket,
    /// The difference from the bypass is below what the blocks resolve.
    NotResolved,
    /// Part of the probes got no answer; the distribution is of those that did.
    SomeLost,
    /// Two clocks stamped the two ends: only the variation of the delay is known.
    ClocksApart,
    /// No stamps of both ends of a frame's way: no one-way delay.
    NotStamped,
    /// The device lost nothing at the highest load there was: there was nothing to measure.
    DeviceNotDriven,
    /// The load is below what the procedure asks for: it is the most that the tester can offer.
    LoadBelowAsked,
    /// The link's rate is not known; the tester's own highest rate stands for it.
    MediaRateUnknown,
    /// No throughput was found that the load could follow from.
    NoThroughput,
    /// The testbed has no hook to reset this device.
    NotResettable,
    /// It lost frames until the trial's end: it may not have recovered.
    NotRecovered,
    /// The longest burst that the trial's time allows still went in: the buffer is at least so
    /// large.
    NotFilled,
    /// The device made its senders pause, and dropped nothing.
    Backpressure,
    /// Some pairs exchanged nothing at all, either way; the figure is of the others.
    SilentPairs,
    /// Other programs had the hosts' processors while something was lost: the tester may have been
    /// the reason.
    BusyHosts,
    /// Nothing was sent: the figure is a model's, in virtual time.
    Simulated,
    /// The test can't be made here; `reason` in the conditions says why.
    Unsupported,
    /// Another tool measured it: nothing of the tester was checked.
    Imported,
    /// The tool prints half of the round trip; it was doubled.
    HalfRoundTrip,
    /// Loss told from gaps in sequence numbers: the tail is not seen, and a duplicate hides a loss.
    GapLoss,
    /// Operations a second and their latency contradict each other by more than 2 % (Little's law).
    Inconsistent,
    /// Frames to stations that nobody knows were not seen flooded: a full table would look like
    /// room.
    FloodsNotSeen,
    /// How many stations were known depends on how fast they spoke: table or learning was the
    /// limit.
    LearningConfounded,
    /// Losses or floods that a full address table does not explain.
    TableNotShown,
    /// What was measured contradicts the model that the figure is a parameter of.
    LackOfFit,
    /// Parameters of a model that what was measured can't tell apart: each only with its interval.
    Confounded,
    /// Frames that were not the trial's crossed a tester's port meanwhile;
    /// `other_traffic_frames_per_s` in the conditions says how many. See
    /// [`mod@trial::other_traffic`].
    OtherTraffic,
    /// A flood ended well before its time: the figure is of a shorter one.
    ShortFlood,
    /// Even the lowest load that a trial resolves did not pass, or what follows from a load stands
    /// on a rate of which that is true (RFC 9971 §5.4.2, irregular goal result).
    Irregular,
    /// A queue or a token bucket took in more frames than the bracket is wide; `buffered_bytes` in
    /// the conditions says how much. It is not counted as a rate.
    Buffered,
    /// More came through at a higher load, and the loss was not seen to grow with the load: no rate
    /// is the limit, and the loss ratio is the figure.
    LossNotByLoad,
    /// Another figure or trial of the same run contradicts what this one says.
    Contradicted,
}
