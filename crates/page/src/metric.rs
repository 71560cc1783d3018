//! Metrics: names of measured quantities. Each with its name in rows and its meaning, in one table.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// Table of metrics, one row each: name in rows, allowed units (any if empty), and meaning as in
/// docs/reference/figures.md.
macro_rules! metrics {
    ($($variant:ident $name:literal [$($unit:ident)*] $meaning:literal;)+) => {
        /// Names of measured quantities; an old one keeps its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Metric {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)+
        }

        impl Metric {
            /// All metrics.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Units allowed for its values; any if empty.
            pub const fn units(self) -> &'static [Unit] {
                match self { $(Self::$variant => &[$(Unit::$unit,)*],)+ }
            }

            /// Name in rows.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Meaning in Markdown, with links relative to docs/reference/.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

metrics! {
    Rtt "rtt" [Nanoseconds] "round-trip time, from the (intended) send to the receipt of the answer";
    RttAdded "rtt_added" [Nanoseconds] "added latency: the RTT through the device less that over the direct cable, block by block";
    BypassDrift "bypass_drift" [Nanoseconds] "RTT of the direct cable in its last round less that in its first, where it was measured [at another time](../methods/one-nic.md)";
    Pdv "pdv" [Nanoseconds] "delay variation against the minimum, D(i) - D_min (RFC 5481)";
    Ipdv "ipdv" [Nanoseconds] "delay variation from one packet to the next, D(i) - D(i-1), signed (RFC 5481)";
    Offered "offered" [FramesPerSecond] "frames the schedule asked for; of a flood, those tried";
    Sent "sent" [FramesPerSecond] "frames that left";
    Received "received" [FramesPerSecond BitsPerSecond] "distinct frames that arrived";
    Lost "lost" [FramesPerSecond] "frames that never arrived, tail included; a duplicate never hides one";
    Duplicated "duplicated" [FramesPerSecond] "arrivals of a frame that had arrived before";
    Reordered "reordered" [FramesPerSecond] "first arrivals behind a later frame with the same addresses and ports (RFC 4737)";
    LossRatio "loss_ratio" [Ratio] "lost share of the frames sent";
    Throughput "throughput" [FramesPerSecond BitsPerSecond] "the highest rate at which the `goal` holds ([goals](../methods/searches.md#goals)); `rfc2544`: no frame lost (RFC 2544 §26.1)";
    Goodput "goodput" [BitsPerSecond] "TCP payload at the receiver";
    Retransmits "retransmits" [Count] "TCP segments retransmitted in a trial; of the buffer study, after the warm-up";
    ReceiveWindowLimited "receive_window_limited" [Ratio] "share of the time in which a TCP sender had data under way that it waited for the receiver's window ([tcp](../verbs/tcp.md))";
    SendBufferLimited "send_buffer_limited" [Ratio] "the same for the sender's own socket buffer";
    HostBusy "host_busy" [Ratio] "busy share of all processors of the host `of` while the load ran";
    OneWayDelay "one_way_delay" [Nanoseconds] "from a frame's departure to its arrival, of the load itself ([latency under load](../methods/latency-under-load.md))";
    BackToBack "back_to_back" [Count] "frames of the longest burst at minimum gap that lost none ([back-to-back](../methods/back-to-back.md))";
    BufferTime "buffer_time" [Nanoseconds] "how long the buffer behind that burst takes to fill at the highest rate; `estimate`: `implied`, `corrected`";
    RecoveryTime "recovery_time" [Nanoseconds] "from the end of an overload to the departure of the last frame lost ([recovery](../methods/recovery.md))";
    ResetTime "reset_time" [Nanoseconds] "how long a reset interrupted forwarding ([reset](../methods/reset.md)); `estimate`: `loss`, `gap`";
    DepartureGap "departure_gap" [Nanoseconds] "gaps between successive departures of a paced load's frames, at the sender";
    ArrivalGap "arrival_gap" [Nanoseconds] "gaps between their successive arrivals, at the receiver";
    BurstFraction "burst_fraction" [Ratio] "share of the departures less than half the nominal gap behind the one before";
    PairGoodput "pair_goodput" [BitsPerSecond] "payload each way between ports that exchange messages, at the receipt ([fabric](../methods/fabric.md)); `statistic` says of which pairs";
    PortGroups "port_groups" [Count] "groups of ports of which some share an oversubscribed uplink ([what that claims](../methods/fabric.md#what-a-claim-means)); `null` where none was throttled, or the groups can't be separated";
    UplinkRate "uplink_rate" [BitsPerSecond] "what such an uplink carries, where it alone was full (`device`, with an interval over six floods or more); else `bound` = `at-least`, with a lower end only";
    PortShare "port_share" [Ratio] "best rate of a port that is slow with every partner, as a share of the other ports' median";
    CollectiveTime "collective_time" [Nanoseconds] "how long a [collective](../methods/fabric.md#collectives) takes, from a barrier to the end of its slowest rank";
    AlgorithmBandwidth "algorithm_bandwidth" [BitsPerSecond] "a collective's size over its time";
    BusBandwidth "bus_bandwidth" [BitsPerSecond] "algorithm bandwidth times the [factor](../methods/fabric.md#collectives) of the collective, to be compared with the links' rate";
    LinkShare "link_share" [Ratio] "least time that the links need for a collective's schedule, as a share of its time";
    StepSpread "step_spread" [Ratio] "of a collective: how many times the mean over all ranks the mean step of the slowest rank takes";
    Nonblocking "nonblocking" [Flag] "whether every arrangement tried gets what one pair alone gets, and no flood found ports held up between their groups: 1 yes, 0 no, `null` not shown";
    Stable "stable" [Flag] "whether TCP was stable at its fair share; `null` where it is not decided; `reasons` ([ESnet's test](../methods/esnet.md))";
    RetransmitsPerGigabyte "retransmits_per_gigabyte" [Count] "TCP segments retransmitted for each gigabyte of payload, after the ramp-up: a criterion of `stable`";
    GoodputVariation "goodput_variation" [Ratio] "coefficient of variation of the goodput from second to second, after the ramp-up: a criterion of `stable`";
    RampUpTime "ramp_up_time" [Nanoseconds] "from the load's start to the first step at the fair share";
    CwndMax "cwnd_max" [Bytes] "the largest congestion window, of all streams of a trial together";
    CwndCuts "cwnd_cuts" [Count] "the number of cwnd reductions after the warm-up";
    Bdp "bdp" [Bytes] "bandwidth-delay product: `rate_bits_per_second` times `rtt_ns`";
    Buffer "buffer" [Bytes] "a buffer's size, by its `estimator`: `tcp` and `delay` of [ESnet's test](../methods/esnet.md); `one-shot`, `burst`, `delay` and `sharing` of [congested egress ports](../methods/buffer.md); `bound`: `at-least`, and then no upper end";
    BufferShared "buffer_shared" [Flag] "whether egress ports share a buffer: 1 yes, 0 each has its own";
    Alpha "alpha" [Ratio] "of a shared buffer's dynamic threshold: how many times the free part a queue may hold";
    BufferReserve "buffer_reserve" [Bytes] "what each queue of a shared buffer has for itself; without a value and with `bound`: `at-most` where none fits as well";
    Cell "cell" [Bytes] "the unit in which the buffer is counted; `limit`: `bytes`, `cells`, `descriptors`, `unclear`";
    Enough "enough" [Flag] "whether the buffer is enough for `flows` at `rtt_ns`, by the `rule` named; `null` where its interval holds `needed_bytes`";
    LongestRoundTrip "longest_round_trip" [Nanoseconds] "the longest RTT for which the buffer is enough";
    Efficiency "efficiency" [Ratio] "share of the octets sent by TCP that were not retransmitted (RFC 6349)";
    BufferDelay "buffer_delay" [Ratio] "by how much the mean RTT exceeds the path's own, as a share of it (RFC 6349)";
    TransferTimeRatio "transfer_time_ratio" [Ratio] "how many times longer a transfer takes than at the fair share (RFC 6349)";
    Flooded "flooded" [Count] "frames that reached the wrong port ([switching](../methods/switching.md)); never received";
    HeadOfLineBlocking "head_of_line_blocking" [Flag] "whether an uncongested port lost more, or received less, beside a congested one than in a [control](../methods/switching.md)";
    Backpressure "backpressure" [Flag] "whether a congested port throttled its senders instead of losing frames";
    AddressCapacity "address_capacity" [Count] "MAC table size: how many addresses the device knew at once, each reached without flooding; `null` with its lower end where [table and learning](../methods/switching.md) can't be separated";
    AddressLearningRate "address_learning_rate" [FramesPerSecond] "how many new addresses a second it learned, without the `learned_at_once` that a queue holds";
    Microburst "microburst" [Count] "frames of the longest burst without loss, of many ports into few";
    Ratio "ratio" [Ratio] "of a [comparison](../methods/comparison.md): how many times one side's value the other's is; `of` names the metric, `decision` what may be said";
    Difference "difference" [] "of a comparison: by how much one side exceeds the other, where a ratio can't be had";
    VarianceShare "variance_share" [Ratio] "of a campaign: the share of a metric's variance that a `factor` explains; also `interaction`, `block`, `repetition`";
    Iops "iops" [OperationsPerSecond] "reads and writes of a storage a second, by `operation`; with an `estimate`, the value that follows from latency and queue depth";
    IoLatency "io_latency" [Nanoseconds] "how long an operation takes, from submission to completion; `latency`: `completion` where the tool gives quantiles of that part only; `part`: how much of it is the `client`'s, the `network`'s, the `storage-node`'s, the `disk`'s, and the `rest`";
    IoLatencyAdded "io_latency_added" [Nanoseconds] "how much longer an operation takes through the device than over the direct cable, block by block; `estimate`: `predicted` from the round trips, `observed-less-predicted` (with `agrees`: its interval holds zero)";
    Outage "outage" [Nanoseconds] "how long flows were interrupted by a `deed`, or by its being undone, as `phase` says ([failover](../methods/failover.md)); `statistic`: `longest` and `median` of the flows that were";
    FirstLost "first_lost" [Nanoseconds] "from the beginning of a deed, or of its end, to when the first frame lost was due";
    AllBack "all_back" [Nanoseconds] "from the same moment to when the last flow that had been interrupted was back";
    FlowsAffected "flows_affected" [Ratio] "share of the flows that were interrupted";
    FlowsGone "flows_gone" [Count] "flows that were interrupted and not back by the trial's end";
    FlowsSilent "flows_silent" [Count] "flows of which not one frame came in a whole trial";
    PathShare "path_share" [Ratio] "of all frames that crossed one of the `paths` to choose from, the share of `member` ([load sharing](../methods/failover.md#load-sharing))";
    JainIndex "jain_index" [Ratio] "Jain's index over the paths, of a collective over its ranks' step times: 1 where all carry the same, one by their number where one carries all; `at_random`, what it is where flows take paths by chance";
    MaxMean "max_mean" [Ratio] "how many times its even share the fullest path carries";
    IdlePaths "idle_paths" [Count] "paths that carried none of the flows in any trial; `null` where that may be chance: `by_chance`";
    LostFrames "lost_frames" [Count] "frames of a trial that never came";
    ReorderedFrames "reordered_frames" [Count] "frames of a trial that came behind a later one of the same flow (RFC 4737), summed over its flows";
    DuplicatedFrames "duplicated_frames" [Count] "frames of a trial that came again";
    NetworkShare "network_share" [Ratio] "the share of an operation's time that is spent in round trips ([storage](../methods/storage.md))";
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/figures.md");

    fn table() -> String {
        let mut out = "| metric | unit | what |\n|---|---|---|\n".to_owned();
        for metric in Metric::ALL {
            let units: Vec<_> =
                metric.units().iter().map(|u| format!("`{}`", u.as_str())).collect();
            let units = if units.is_empty() { "any".to_owned() } else { units.join(", ") };
            let _ = writeln!(out, "| `{}` | {units} | {} |", metric.as_str(), metric.meaning());
        }
        out
    }

    /// Set `UPDATE_SNAPSHOTS=1` to write the table again, and read what changed.
    #[test]
    fn the_reference_has_this_table() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = page.split_once("\n## Metrics\n").expect("a section on metrics");
        let (shown, after) = rest.split_once("\n## ").expect("a section behind it");
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            let page = format!("{before}\n## Metrics\n\n{}\n## {after}", table());
            std::fs::write(PAGE, page).unwrap();
        } else {
            assert_eq!(shown.trim(), table().trim());
        }
    }
}
