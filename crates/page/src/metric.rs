//! Metrics: what is measured. Each with its name in rows and what it is, in one table.

use serde::{Deserialize, Serialize};

/// One row a metric: its name in rows, and what it is.
macro_rules! metrics {
    ($($variant:ident $name:literal $meaning:literal;)+) => {
        /// Names of what is measured; docs/reference says what each means, and an old one keeps its
        /// meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Metric {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)+
        }

        impl Metric {
            /// As in rows.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it is.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

metrics! {
    Rtt "rtt" "Round-trip time.";
    RttAdded "rtt_added" "Round-trip time of the device path less that of the direct cable, block by block.";
    BypassDrift "bypass_drift" "Round-trip time of the direct cable in its last round less that in its first.";
    Pdv "pdv" "Delay variation against the minimum: D(i) - D_min (RFC 5481).";
    Ipdv "ipdv" "Delay variation between successive packets: D(i) - D(i-1), signed (RFC 5481).";
    Offered "offered" "Frames a second asked for.";
    Sent "sent" "Frames a second that left.";
    Received "received" "Distinct frames a second that arrived.";
    Lost "lost" "Frames a second that never arrived.";
    Duplicated "duplicated" "Frames a second that arrived again.";
    Reordered "reordered" "Frames a second that arrived late (RFC 4737).";
    LossRatio "loss_ratio" "Lost share of the frames sent.";
    Throughput "throughput" "Highest rate at which the goal holds; `goal` in the conditions names it.";
    Goodput "goodput" "TCP payload a second at the receiver.";
    Retransmits "retransmits" "TCP segments sent again.";
    ReceiveWindowLimited "receive_window_limited" "Share of the time in which a TCP sender had data under way that it waited for the receiver's window.";
    SendBufferLimited "send_buffer_limited" "The same for the sender's own socket buffer.";
    HostBusy "host_busy" "Busy share of all processors of a host while a load ran; `of` in the conditions names the host.";
    OneWayDelay "one_way_delay" "From a frame's departure to its arrival.";
    BackToBack "back_to_back" "Frames of the longest burst at minimum gap that lost none (RFC 9004).";
    BufferTime "buffer_time" "How long a buffer takes to fill at the highest rate; `estimate` names the formula.";
    RecoveryTime "recovery_time" "From the end of an overload to the departure of the last frame lost (RFC 2544 §26.5).";
    ResetTime "reset_time" "How long a reset interrupted forwarding (RFC 6201); `estimate` names how it was told.";
    DepartureGap "departure_gap" "Gaps between successive departures.";
    ArrivalGap "arrival_gap" "Gaps between successive arrivals.";
    BurstFraction "burst_fraction" "Share of the frames that left closer than half the nominal gap behind the one before.";
    PairGoodput "pair_goodput" "Payload a second each way of a pair of ports that exchange messages; `statistic` in the conditions says of which pairs.";
    PortGroups "port_groups" "How many groups of ports share an uplink that is short; `groups` in the conditions lists them.";
    UplinkRate "uplink_rate" "What a group's uplink carries.";
    Nonblocking "nonblocking" "Whether every arrangement of pairs gets what one pair alone gets: 1 yes, 0 no.";
    Stable "stable" "Whether TCP was stable at its fair share: 1 yes, 0 no; `reasons` in the conditions say why not.";
    RetransmitsPerGigabyte "retransmits_per_gigabyte" "TCP segments sent again for each gigabyte of payload, after the ramp-up.";
    GoodputVariation "goodput_variation" "Coefficient of variation of the goodput from second to second, after the ramp-up.";
    RampUpTime "ramp_up_time" "From the load's start until the goodput first was at the fair share.";
    CwndMax "cwnd_max" "The largest congestion window, of all streams of a trial together.";
    CwndCuts "cwnd_cuts" "How often a stream's congestion window was cut after the warm-up.";
    Bdp "bdp" "Bandwidth-delay product: the link's rate times the smallest round trip.";
    Buffer "buffer" "A buffer's size; `estimator` in the conditions names how it was told, `bound` what it bounds.";
    BufferShared "buffer_shared" "Whether outputs share a buffer: 1 yes, 0 each has its own.";
    Alpha "alpha" "Of a shared buffer's dynamic threshold: a queue may hold up to so many times what is free.";
    BufferReserve "buffer_reserve" "What each queue of a shared buffer has for itself.";
    Cell "cell" "The octets that a buffer is counted in; `limit` in the conditions says of what it is made.";
    Enough "enough" "Whether a buffer is enough for `flows` at `rtt_ns`, by the `rule` named: 1 yes, 0 no.";
    LongestRoundTrip "longest_round_trip" "The longest round trip that a buffer is enough for, by the `rule` named.";
    Efficiency "efficiency" "Share of the octets sent by TCP that were not sent again (RFC 6349).";
    BufferDelay "buffer_delay" "By how much the mean round trip exceeds the path's own, as a share of it (RFC 6349).";
    TransferTimeRatio "transfer_time_ratio" "How many times longer a transfer takes than at the fair share (RFC 6349).";
    Flooded "flooded" "Frames that came to ports they were not for (RFC 2285 §3.8.3).";
    HeadOfLineBlocking "head_of_line_blocking" "Whether an uncongested port lost frames for a congested one's sake: 1 yes, 0 no.";
    Backpressure "backpressure" "Whether a congested port made its senders wait instead of losing frames: 1 yes, 0 no.";
    AddressCapacity "address_capacity" "How many addresses the device knew at once, each reached without flooding (RFC 2889 §5.7).";
    AddressLearningRate "address_learning_rate" "How many new addresses a second it learned, all of them (RFC 2889 §5.8).";
    Microburst "microburst" "Frames of the longest burst without loss, of many ports into few (RFC 8239 §4).";
    Ratio "ratio" "How many times one side's value another's is; `of` in the conditions names the metric, `decision` what may be said.";
    Difference "difference" "By how much one side exceeds another, where a ratio can't be had.";
    VarianceShare "variance_share" "What share of a metric's variance a factor of a campaign explains; `of` and `factor` in the conditions name both.";
    Iops "iops" "Reads and writes of a storage a second; `operation` in the conditions says of which.";
    IoLatency "io_latency" "How long one of them takes, from submission to completion; `part` in the conditions says of which part of its way.";
    IoLatencyAdded "io_latency_added" "How much longer one takes through the device than over the direct cable, block by block; `estimate` says how that was told.";
    NetworkShare "network_share" "The share of a storage operation's time that its round trips over the network take.";
}
