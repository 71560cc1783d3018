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
    RttAdded "rtt_added" [Nanoseconds] "added latency: RTT through the device less that over the direct cable, block by block";
    BypassDrift "bypass_drift" [Nanoseconds] "RTT of the direct cable in its last round less that in its first, measured [at another time](../methods/one-nic.md)";
    Pdv "pdv" [Nanoseconds] "delay variation against the minimum, D(i) - D_min (RFC 5481)";
    Ipdv "ipdv" [Nanoseconds] "delay variation from one packet to the next, D(i) - D(i-1), signed (RFC 5481)";
    Offered "offered" [FramesPerSecond] "frames asked for by the schedule; of a flood, those tried";
    Sent "sent" [FramesPerSecond] "frames that left";
    Received "received" [FramesPerSecond BitsPerSecond] "distinct frames that arrived";
    Lost "lost" [FramesPerSecond] "frames that never arrived, tail included; a duplicate never hides one";
    Duplicated "duplicated" [FramesPerSecond] "arrivals of a frame that had arrived before";
    Reordered "reordered" [FramesPerSecond] "first arrivals behind a later frame with the same addresses and ports (RFC 4737)";
    LossRatio "loss_ratio" [Ratio] "lost share of the frames sent";
    Throughput "throughput" [FramesPerSecond BitsPerSecond] "highest rate at which the `goal` holds ([goals](../methods/searches.md#goals)); `rfc2544`: no frame lost (RFC 2544 §26.1)";
    Goodput "goodput" [BitsPerSecond] "TCP payload at the receiver";
    Retransmits "retransmits" [Count] "TCP segments retransmitted in a trial; of the buffer study, after the warm-up";
    ReceiveWindowLimited "receive_window_limited" [Ratio] "share of the time with data to send in which a TCP sender waited for the receiver's window ([tcp](../verbs/tcp.md))";
    SendBufferLimited "send_buffer_limited" [Ratio] "the same for the sender's own socket buffer";
    HostBusy "host_busy" [Ratio] "busy share of all processors of the host `of` during the load";
    OneWayDelay "one_way_delay" [Nanoseconds] "from a frame's departure to its arrival, of the load itself ([latency under load](../methods/latency-under-load.md))";
    BackToBack "back_to_back" [Count] "frames of the longest burst at minimum gap without loss ([back-to-back](../methods/back-to-back.md))";
    BufferTime "buffer_time" [Nanoseconds] "time in which the highest rate fills the buffer behind that burst; `estimate`: `implied`, `corrected`";
    RecoveryTime "recovery_time" [Nanoseconds] "from the end of an overload to the departure of the last frame lost ([recovery](../methods/recovery.md))";
    ResetTime "reset_time" [Nanoseconds] "duration for which a reset interrupted forwarding ([reset](../methods/reset.md)); `estimate`: `loss`, `gap`";
    DepartureGap "departure_gap" [Nanoseconds] "gaps between successive departures of a paced load's frames, at the sender";
    ArrivalGap "arrival_gap" [Nanoseconds] "gaps between their successive arrivals, at the receiver";
    BurstFraction "burst_fraction" [Ratio] "share of departures less than half the nominal gap after the one before";
    PairGoodput "pair_goodput" [BitsPerSecond] "payload each way between ports that exchange messages, at the receiver ([fabric](../methods/fabric.md)); `statistic` names the pairs";
    PortGroups "port_groups" [Count] "groups of ports, some of which share an oversubscribed uplink ([what that claims](../methods/fabric.md#what-a-claim-means)); `null`: none was throttled, or they cannot be separated";
    UplinkRate "uplink_rate" [BitsPerSecond] "rate of such an uplink where it alone was full (interval from six floods on); else a lower end, `bound` = `at-least`";
    PortShare "port_share" [Ratio] "best rate of a port that is slow with every partner, as a share of the other ports' median; `statistic`: what it `sends`, what it `receives`, its `exchanges`, or by its `link`'s speed";
    PortDelay "port_delay" [Nanoseconds] "of such a port: by how much a short message takes longer than between two other ports";
    PortDamaged "port_damaged" [Ratio] "share of the frames on a port's cable that arrived with a wrong FCS; `statistic` says in which direction, as the port sees it";
    PortLoss "port_loss" [Ratio] "of a port that loses paced frames, a twentieth of its link, with every partner: share of them; `statistic`: what it `sends`, or `receives`";
    PortLate "port_late" [Ratio] "of a port whose messages are late with every partner: share of them that took half as long again as usual";
    CollectiveTime "collective_time" [Nanoseconds] "duration of a [collective](../methods/collectives.md), from a barrier to the end of its slowest rank";
    AlgorithmBandwidth "algorithm_bandwidth" [BitsPerSecond] "a collective's size over its time";
    BusBandwidth "bus_bandwidth" [BitsPerSecond] "algorithm bandwidth times the [factor](../methods/collectives.md) of the collective, to be compared with the links' rate";
    LinkShare "link_share" [Ratio] "least time that the links need for a collective's schedule, as a share of its time";
    StepSpread "step_spread" [Ratio] "of a collective: mean step of the slowest rank, as a multiple of the mean over all ranks";
    Nonblocking "nonblocking" [Flag] "true if every arrangement tried gets what one pair alone gets, and no flood found ports held up between groups; `null`: not shown";
    Stable "stable" [Flag] "true if TCP was stable at its fair share ([ESnet's test](../methods/esnet.md)); `null`: undecided, with `reasons`";
    RetransmitsPerGigabyte "retransmits_per_gigabyte" [Count] "TCP segments retransmitted per gigabyte of payload, after the ramp-up: a criterion of `stable`";
    GoodputVariation "goodput_variation" [Ratio] "coefficient of variation of the goodput from second to second, after the ramp-up: a criterion of `stable`";
    RampUpTime "ramp_up_time" [Nanoseconds] "from the load's start to the first step at the fair share";
    CwndMax "cwnd_max" [Bytes] "largest congestion window, all streams of a trial together";
    CwndCuts "cwnd_cuts" [Count] "cwnd reductions after the warm-up";
    Bdp "bdp" [Bytes] "bandwidth-delay product: `rate_bits_per_second` times `rtt_ns`";
    Buffer "buffer" [Bytes] "buffer size, by its `estimator`: `tcp`, `delay` of [ESnet's test](../methods/esnet.md); `one-shot`, `burst`, `delay`, `sharing` of [congested egress ports](../methods/buffer.md); `bound` = `at-least`: no upper end";
    BottleneckBuffer "bottleneck_buffer" [Bytes] "octets of frames with FCS that waited on the way of a one-way TCP load: RTT under load at that quantile less the idle RTT, times the rate at which the queue emptied ([responsiveness](../methods/responsiveness.md)); `bound` = `at-least`: no segment was lost, so the buffer was not full";
    NetworkRpm "network_rpm" [Count] "round trips a minute under a TCP load, the network's part of [responsiveness](../methods/responsiveness.md): no TLS, no HTTP; `probes`: `separate` (beside the load), `loaded` (its own connections), `both` (their mean)";
    BufferShared "buffer_shared" [Flag] "true if egress ports share a buffer; else each has its own";
    Alpha "alpha" [Ratio] "dynamic threshold of a shared buffer: a queue's limit as a multiple of the free part";
    BufferReserve "buffer_reserve" [Bytes] "each queue's own part of a shared buffer; no value and `bound` = `at-most` where none fits as well";
    Cell "cell" [Bytes] "unit in which the buffer is counted; `limit`: `bytes`, `cells`, `descriptors`, `unclear`";
    Enough "enough" [Flag] "true if the buffer is enough for `flows` at `rtt_ns`, by the `rule`; `null`: its interval holds `needed_bytes`";
    LongestRoundTrip "longest_round_trip" [Nanoseconds] "longest RTT for which the buffer is enough";
    Efficiency "efficiency" [Ratio] "share of TCP's octets sent that were not retransmitted (RFC 6349)";
    BufferDelay "buffer_delay" [Ratio] "mean RTT's excess over the path's own, as a share of it (RFC 6349)";
    TransferTimeRatio "transfer_time_ratio" [Ratio] "a transfer's duration as a multiple of that at the fair share (RFC 6349)";
    Flooded "flooded" [Count] "frames that reached the wrong port ([switching](../methods/switching.md)); never received";
    HeadOfLineBlocking "head_of_line_blocking" [Flag] "true if an uncongested port lost more, or received less, beside a congested one than in a [control](../methods/switching.md)";
    Backpressure "backpressure" [Flag] "true if a congested port throttled its senders instead of losing frames";
    AddressCapacity "address_capacity" [Count] "MAC table size: addresses known at once, each reached without flooding; `null` with a lower end where [table and learning](../methods/switching.md) cannot be separated";
    AddressLearningRate "address_learning_rate" [FramesPerSecond] "new addresses learned a second, without the `learned_at_once` that a queue holds";
    Microburst "microburst" [Count] "frames of the longest burst without loss, from many ports into few";
    Ratio "ratio" [Ratio] "of a [comparison](../methods/comparison.md): one side's value divided by the other's; `of` names the metric";
    Difference "difference" [] "of a comparison: one side less the other, where no ratio is possible";
    VarianceShare "variance_share" [Ratio] "of a campaign: share of a metric's variance explained by a `factor`, `interaction`, `block` or `repetition`";
    Iops "iops" [OperationsPerSecond] "reads and writes of a storage a second, by `operation`; with an `estimate`, the value that follows from latency and queue depth";
    IoLatency "io_latency" [Nanoseconds] "an operation's duration from submission to completion; `latency` = `completion`: that part's quantiles only; `part`: the part of the `client`, `network`, `storage-node`, `disk` or `rest`";
    IoLatencyAdded "io_latency_added" [Nanoseconds] "an operation's duration through the device less that over the direct cable, block by block; `estimate`: `predicted` from RTTs, or `observed-less-predicted` (`agrees`: the interval holds zero)";
    Outage "outage" [Nanoseconds] "interruption of flows by a `deed` or its undoing, by `phase` ([failover](../methods/failover.md)); `statistic`: `longest`, `median` of the interrupted flows";
    FirstLost "first_lost" [Nanoseconds] "from the start of a deed, or of its undoing, to when the first lost frame was due";
    AllBack "all_back" [Nanoseconds] "from the same moment to the return of the last interrupted flow";
    FlowsAffected "flows_affected" [Ratio] "share of flows that were interrupted";
    FlowsGone "flows_gone" [Count] "interrupted flows not back by the trial's end";
    FlowsSilent "flows_silent" [Count] "flows without a single frame received in a whole trial";
    PathShare "path_share" [Ratio] "share of `member` in all frames that crossed one of the `paths` ([load sharing](../methods/failover.md#load-sharing))";
    JainIndex "jain_index" [Ratio] "Jain's index over the paths, or over a collective's ranks: 1 if all carry the same, 1 / paths if one carries all; `at_random`: its value under random choice";
    MaxMean "max_mean" [Ratio] "load of the fullest path as a multiple of the even share";
    IdlePaths "idle_paths" [Count] "paths that carried no flow in any trial; `null` where that may be chance: `by_chance`";
    LostFrames "lost_frames" [Count] "frames of a trial that never arrived";
    ReorderedFrames "reordered_frames" [Count] "frames of a trial that arrived after a later one of the same flow (RFC 4737)";
    DuplicatedFrames "duplicated_frames" [Count] "frames of a trial that arrived again";
    ConnectionRate "connection_rate" [ConnectionsPerSecond] "highest rate of new TCP connections, or UDP flows by `protocol`, at which none fails, each opened, asked one message and reset (after RFC 9411 §7.2; [sessions](../verbs/sessions.md))";
    Connections "connections" [Count] "most TCP connections, or UDP flows, held at once that all still answer at the end (after RFC 9411 §7.5)";
    IdleTime "idle_time" [Nanoseconds] "longest silence of a connection after which the far end's packets are still let in ([sessions](../verbs/sessions.md))";
    HandshakeTime "handshake_time" [Nanoseconds] "from a connection's SYN to the readiness of its socket, or from a UDP flow's first packet to its answer, at a low rate";
    HandshakeTimeAdded "handshake_time_added" [Nanoseconds] "handshake time through the device less that over the direct cable, block by block";
    NetworkShare "network_share" [Ratio] "share of an operation's time spent in round trips ([storage](../methods/storage.md))";
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
