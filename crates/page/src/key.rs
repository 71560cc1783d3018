//! Keys of conditions under which a figure holds. Each with its name in rows and its meaning, in
//! one table.
//!
//! A study sets a condition by its key and a page reads it by the same key, so a name that nobody
//! sets or reads does not compile. User-chosen names (a campaign's factors, a sweep's quantities)
//! and names that contain a number are created at run time.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Role of a condition for its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Distinguishes two cases.
    Identifies,
    /// Distinguishes values of one case.
    Value,
    /// Place of the measurement: its ports, its path, its file.
    Place,
    /// Explains the value or adds to it; differs from run to run.
    Explains,
}

impl Role {
    /// True if rows that differ in this condition are different quantities, wherever they were
    /// measured. Runs are compared where it is equal.
    pub const fn identifies(self) -> bool {
        matches!(self, Self::Identifies | Self::Value)
    }
}

/// Table of conditions, one row each: name in rows, role and meaning.
macro_rules! keys {
    (@identifies) => { Role::Identifies };
    (@value) => { Role::Value };
    (@place) => { Role::Place };
    (@explains) => { Role::Explains };
    ($($variant:ident $name:literal $role:ident $meaning:literal;)+) => {
        /// Names of conditions; docs/reference explains each, and an old one keeps its meaning.
        #[derive(Debug, Clone)]
        pub enum Key {
            $(#[doc = $meaning] $variant,)+
            /// Name outside the table: chosen by a user, or with a number in it.
            Named(Box<str>),
        }

        impl Key {
            /// Name in rows.
            pub fn as_str(&self) -> &str {
                match self { $(Self::$variant => $name,)+ Self::Named(name) => name }
            }

            /// Returns the key of that name.
            pub fn named(name: &str) -> Self {
                match name { $($name => Self::$variant,)+ other => Self::Named(other.into()) }
            }

            /// Role for a row; a user's own condition identifies it.
            pub fn role(&self) -> Role {
                match self {
                    $(Self::$variant => keys!(@$role),)+
                    Self::Named(_) if Numbered::ALL.iter().any(|of| of.number(self).is_some()) => {
                        Role::Explains
                    }
                    Self::Named(_) => Role::Identifies,
                }
            }

            /// Names in the table with their meanings.
            pub fn meanings() -> impl Iterator<Item = (&'static str, &'static str)> {
                [$(($name, $meaning),)+].into_iter()
            }

            #[cfg(test)]
            const TABLE: &[(&str, Role)] = &[$(($name, keys!(@$role)),)+];
        }
    };
}

keys! {
    From "from" place "The port that sends, or that asks.";
    To "to" place "The port that receives, or that answers.";
    Device "device" place "The device under test; `cable` of the direct cable's own figures.";
    Variant "variant" place "The device's variant.";
    Path "path" place "`device`, or `bypass` for the direct cable.";
    BesideDevice "beside_device" place "Of a direct cable's figure: the device at whose load it was measured.";
    BesideVariant "beside_variant" place "Of a direct cable's figure: the variant at whose load it was measured.";
    Direction "direction" identifies "With both directions at once: `forward`, `reverse`, or `total`; of another tool that sent from its server alone, `reverse`.";
    Protocol "protocol" identifies "`icmp`, `udp`, `tcp`.";
    FrameSize "frame_size" identifies "Octets with FCS, as asked for, or a mix by its name.";
    FrameSizeSent "frame_size_sent" explains "The octets sent, where they are more than those asked for.";
    IpLength "ip_length" explains "The size of the frame sent, as the length of its IP packet.";
    UdpPayload "udp_payload" explains "The size of the frame sent, as the octets of its UDP payload.";
    MeanFrameOctets "mean_frame_octets" explains "Of a mix: octets of a frame in the mean.";
    IpVersion "ip_version" identifies "`ipv6`, where it was asked for.";
    Vlan "vlan" identifies "The VLAN tag, where one was asked for.";
    SourcePorts "source_ports" identifies "Through how many source ports the frames rotate.";
    DestinationPorts "destination_ports" identifies "Through how many destination ports the frames rotate.";
    Addresses "addresses" identifies "Through how many addresses the frames rotate.";
    Load "load" identifies "The other load on the path: `idle`, `udp`, `tcp`.";
    Schedule "schedule" identifies "`closed-loop` or `open-loop`.";
    ScheduleRate "schedule_rate_per_s" identifies "Of an open loop: round trips asked for a second.";
    DepartureStamped "departure_stamped" explains "Where departures were stamped.";
    ArrivalStamped "arrival_stamped" explains "Where arrivals were stamped.";
    BypassRepeatability "bypass_repeatability_ns" explains "Half the width of the bypass's own interval.";
    BypassRounds "bypass_rounds" explains "At how many other times the direct cable was measured, where it does not stand beside the device.";
    Study "study" explains "Which study found it, as plans name it.";
    Nth "nth" identifies "Of a plan's second and later studies of one kind: which of them.";
    Test "test" identifies "Which of a study's tests.";
    Goal "goal" identifies "Of a search: its goal's name.";
    Search "search" explains "How it was found: `binary`, `mlr`.";
    TrafficTime "traffic_time_ns" explains "The sum of the durations of a search's loads.";
    LossRatioAllowed "loss_ratio_allowed" explains "Of a goal that allows loss: how much.";
    ConditionalThroughput "conditional_throughput_frames_per_s" explains "The rate received at the value (RFC 9971).";
    Interval "interval" explains "What `low` and `high` are, where they are no confidence interval.";
    Bound "bound" value "`at-least` or `at-most`: the value is only known on one side.";
    StandardDeviation "standard_deviation" explains "Over searches, in the row's unit.";
    Estimate "estimate" value "By which formula or from what a value was worked out.";
    MediaRate "media_frames_per_s" explains "The rate of back-to-back frames in a buffer time's formula.";
    ThroughputRate "throughput_frames_per_s" explains "The throughput in a buffer time's formula.";
    LoadRate "load_frames_per_s" explains "The load each way.";
    OverloadRate "overload_frames_per_s" explains "The rate of the overload.";
    OverloadPercent "overload_percent" explains "The overload in percent of the throughput.";
    OverloadDuration "overload_duration_ns" explains "How long the overload took.";
    NominalGap "nominal_gap_ns" explains "1 / rate.";
    ClockUncertainty "clock_uncertainty_ns" explains "By how much the two hosts' clocks may be apart.";
    FinalDuration "final_duration_ns" explains "The duration of a search's final trial.";
    LoadPercent "load_percent" identifies "A load in percent of the `load_reference`.";
    LoadReference "load_reference" identifies "The rate that is 100 %.";
    OfferedRate "offered_frames_per_s" explains "The load really offered.";
    LineRate "line_rate_frames_per_s" explains "Line rate at that frame size.";
    OfLineRate "of_line_rate" explains "The rate as a share of what the links carry.";
    Backend "backend" explains "What sent the frames.";
    ObservationPoint "observation_point" identifies "`device` where the device's own counter stands for the receiver; absent where a host counted.";
    OthersCounted "others_counted" explains "Of a device's count: so many frames of a trial may be others', at most.";
    Receiver "receiver" explains "What counted them.";
    Egress "egress" value "Of a congestion test: the `uncongested` or the `congested` egress port, or the first without any congestion, `uncongested-control`.";
    Collective "collective" identifies "Which collective, with its algorithm where there are several.";
    LastRank "last_rank" explains "Of a collective: the port of the rank that was last.";
    Arrangement "arrangement" identifies "Of an exchange: which ports exchanged.";
    Round "round" identifies "In which round of an arrangement.";
    Nodes "nodes" identifies "How many ports were active at once.";
    NodesIdle "nodes_idle" explains "How many of those had no partner.";
    Ports "ports" identifies "How many ports there are.";
    Message "message" identifies "Octets of payload of each message.";
    Carrier "carrier" identifies "What messages travel by: `tcp` or `datagrams`.";
    Credits "credits" identifies "Of datagrams: how many messages may be under way.";
    Statistic "statistic" value "Of which pairs, ports or samples the value is, and how.";
    PairsOfAPort "pairs_of_a_port" explains "In how many pairs a port is, at most.";
    WireLimit "wire_limit_bits_per_s" explains "Payload that the link carries in full frames, one way.";
    SlowPort "slow_port" place "Of `port_share`, `port_delay`, `port_damaged`, `port_loss` and `port_late`: the port.";
    Partners "partners" explains "Of those: number of ports that it had as partners.";
    ExchangeWith "exchange_with" explains "Of those: the port with whose cable its own may be exchanged.";
    WorstArrangement "worst_arrangement" explains "Of `nonblocking`: the worst arrangement.";
    ShareOfOnePair "share_of_one_pair" explains "Its share of what one pair alone gets.";
    ShareLow "share_low" explains "The lower end of that share's interval.";
    ShareHigh "share_high" explains "The upper end of that share's interval.";
    PairsAlone "pairs_alone" explains "Number of its pairs that were also measured one at a time.";
    MessageError "message_error" explains "One message as a share of what a pair got.";
    TesterShare "tester_share" explains "The share that the direct cables kept with as many pairs.";
    Margin "margin" explains "The largest difference that does not matter.";
    Arrangements "arrangements" explains "How many arrangements were compared.";
    ArrangementsMissing "arrangements_missing" explains "Of `nonblocking`: rounds that were asked for and had too few valid trials; then never yes.";
    Hosts "hosts" identifies "Of a sweep: how many hosts the simulated testbed has.";
    Groups "groups" explains "Each group's ports.";
    GroupOfPorts "group_of_ports" explains "The number of each port's group, in the ports' order.";
    GroupsConfidence "groups_confidence" explains "How sure the grouping is, 0…1.";
    GroupsUnhindered "groups_unhindered" explains "How many groups were never throttled.";
    Group "group" value "Of an uplink: which group's.";
    GroupPorts "group_ports" explains "The ports of that group.";
    GroupSize "group_size" explains "How many they are.";
    OnsetShift "onset_shift" explains "The first shift that was throttled.";
    UplinkPorts "uplink_ports" explains "An uplink's rate in ports' rates.";
    PortsMissing "ports_missing" explains "Ports whose group is not known.";
    PortsMissingFor "ports_missing_for" explains "Why not, port by port.";
    LocalShare "local_share" explains "What a group's ports keep among themselves.";
    WorstShare "worst_share" explains "The smallest share of its own rate that a port kept.";
    KeptUp "kept_up" explains "The receiving rate as a share of the sending rate, where a queue held the rest.";
    ExcessSeen "excess_seen" explains "By how much a pair was throttled beyond chance.";
    ChanceSeen "chance_seen" explains "How much is chance.";
    Trials "trials" explains "How many trials it rests on.";
    BoundedBy "bounded_by" explains "Of an `uplink_rate` with a `bound`: the bottleneck instead.";
    BetweenGroups "between_groups_bits_per_s" explains "Of two groups: the rate between them.";
    BetweenGroupsLow "between_groups_low_bits_per_s" explains "The lower end of its interval.";
    BetweenGroupsHigh "between_groups_high_bits_per_s" explains "The upper end of its interval.";
    RateConvention "rate_convention" value "Which octets a rate in `bits/s` counts.";
    Scenario "scenario" identifies "Of the buffer study: `baseline`, `background`, `control`; of a storage, which model.";
    Feeding "feeding" identifies "How many hosts sent into the congested egress port.";
    TakenByAFrame "taken_by_a_frame" explains "Octets of buffer that a frame takes.";
    OutputRate "output_frames_per_s" explains "The rate that the congested egress port sends.";
    PacketLimit "packet_limit_frames_per_s" explains "The device's own limit in packets.";
    Waits "waits" identifies "What waited, and where.";
    Estimator "estimator" value "Of a buffer's size: how it was told.";
    Of "of" value "Of which metric, load or ports the value is.";
    OfQuantile "of_quantile" value "Of which quantile of that metric.";
    Outputs "outputs" value "Of a shared buffer's total: how many egress ports.";
    Disagreement "disagreement" explains "Why estimators do not agree.";
    Limit "limit" explains "What a buffer counts: `bytes`, `cells`, `descriptors`, `unclear`.";
    Rule "rule" value "By which rule a buffer is enough.";
    Flows "flows" value "For how many flows.";
    Rtt "rtt_ns" value "At which round trip.";
    NeededBytes "needed_bytes" explains "The octets that the rule asks for.";
    RateBits "rate_bits_per_second" explains "The rate that the rule is applied to.";
    Suite "suite" identifies "Of a switching test: `rfc2889` or `rfc8239`.";
    Clause "clause" explains "The clause that defines the test.";
    Senders "senders" identifies "How many ports send.";
    SendersAPort "senders_a_port" identifies "How many threads send from each port, where they are more than one.";
    Receivers "receivers" identifies "How many ports receive.";
    PatternRate "pattern_frames_per_s" explains "The rate of that pattern that the links carry.";
    RateName "rate" value "Of a pattern: `frmol` (at the maximum offered load) or `mfr` (the highest forwarding rate).";
    WorstFrom "worst_from" explains "At which shift the worst was.";
    Paused "paused" explains "Whether hosts saw PAUSE frames.";
    Stations "stations" identifies "How many addresses were to be learned.";
    LearnRate "learn_rate_frames_per_s" explains "The rate at which those sent.";
    LearnedAtOnce "learned_at_once" explains "How many addresses a queue held that were learned at once.";
    Pattern "pattern" identifies "Which ports talk: `pairs`, `mesh`; of fio, how addresses follow one another.";
    LoadShare "load_share" identifies "At what share of line rate.";
    Traffic "traffic" identifies "Of an incast: which kinds of traffic.";
    FramesASender "frames_a_sender" identifies "Of a microburst: each sender's frames.";
    HeldOctets "held_octets_a_receiver" explains "What had to wait at each receiver's port.";
    Reason "reason" explains "Why a test cannot be made here.";
    PortsNeeded "ports_needed" explains "Of a test that cannot be made: how many ports it needs.";
    Streams "streams" identifies "How many TCP connections.";
    LoadDirection "load_direction" identifies "Of a TCP load that does not run in the requests' direction alone: `reverse`, or `bidirectional`.";
    Probes "probes" value "Of `network_rpm`: which round trips, `separate`, `loaded` or `both`.";
    IdleRtt "idle_rtt_ns" explains "Of a `bottleneck_buffer`: the idle RTT that was subtracted.";
    QueueRate "queue_rate_bits_per_s" explains "Of a `bottleneck_buffer`: the rate at which the queue emptied, in frames with FCS.";
    CongestionControl "congestion_control" identifies "TCP's.";
    Segment "segment_octets" explains "Payload of a full TCP segment.";
    Mtu "mtu" explains "The IP packet of a full TCP segment, in octets.";
    CeilingOf "ceiling_of" explains "Whose rate a `wire_limit_bits_per_s` follows from: `link`, or `port limit` of a lab's device.";
    HostLimit "host_limit" explains "Of a goodput: what held the hosts up.";
    BackgroundFrameSize "background_frame_size" identifies "The frames of a load of datagrams.";
    BackgroundRate "background_frames_per_s" identifies "The rate of a load of datagrams.";
    BackgroundPayload "background_bits_per_s" identifies "The payload of a load of datagrams.";
    BackgroundShare "background_link_share" identifies "The share of the link that a load of datagrams takes.";
    FairShare "fair_share_bits_per_second" explains "TCP's fair share beside the load, payload.";
    Reasons "reasons" explains "Why a flow is not known to be stable.";
    StableBlocks "stable_blocks" explains "How many blocks were stable.";
    LimitShare "limit_share" explains "The smallest share of the fair share that is stable.";
    LimitVariation "limit_variation" explains "The largest variation that is stable.";
    LimitRetransmits "limit_retransmits_per_gigabyte" explains "The most retransmits that are stable.";
    Cell "cell" place "Of a campaign: the combination of levels.";
    Factors "factors" identifies "Of a campaign: which conditions are factors of the user's.";
    Factor "factor" value "Of a variance's share: the factor.";
    Control "control" value "Of a campaign: `true` on the A/A control's ratio.";
    Decision "decision" explains "`different`, `equivalent`, `inconclusive`.";
    BlocksNeeded "blocks_needed" explains "About how many blocks on each side would decide.";
    PDifferent "p_different" explains "The p-value of no difference.";
    PAdjusted "p_adjusted" explains "The same after the correction for several figures.";
    PEquivalent "p_equivalent" explains "The p-value of a difference beyond the margin.";
    Dominance "dominance" explains "Cliff's delta.";
    Tool "tool" identifies "Of another tool's figure: which.";
    File "file" place "Its file.";
    FirstLine "first_line" explains "Of its file: the first line that it was read from, from 1.";
    LastLine "last_line" explains "The last of those lines.";
    Position "position" place "Of several outputs in its file that tell the same: which of them, from 1.";
    Contradiction "contradiction" explains "Where an output contradicts itself: in what.";
    ContradictionSaid "contradiction_said" explains "The number that it says.";
    ContradictionCounted "contradiction_counted" explains "The number that follows from the rest of it.";
    Series "series" value "Of flent: the series' name.";
    Intervals "intervals" explains "How many of the tool's intervals it is from.";
    Engine "engine" identifies "Of a storage's operations: by what they were made.";
    Operation "operation" value "`read`, `write`, `trim` or `all`.";
    Jobs "jobs" identifies "How many jobs at once.";
    IoDepth "iodepth" identifies "The queue depth of each.";
    BlockSize "block_size" identifies "Octets of an operation.";
    ReadPercent "read_percent" identifies "Of mixed operations: how many in a hundred read.";
    Replicas "replicas" identifies "How many copies of what is written there are.";
    Part "part" value "Of an operation's time: whose part.";
    Latency "latency" value "`completion` where a tool tells of that part only.";
    Agrees "agrees" explains "Whether what is left holds zero.";
    BufferedBytes "buffered_bytes" explains "Octets that a buffer held at the load found.";
    OtherTraffic "other_traffic_frames_per_s" explains "How many of others' frames a second there were at most.";
    Deed "deed" identifies "What was done to the device meanwhile; `nothing` in the trials beside it.";
    DeedTook "deed_took_ns" explains "How long what did it took, at most.";
    FlowsBy "flows_by" identifies "What tells flows apart: `source-ports`, `destination-ports`, `addresses`.";
    Paths "paths" identifies "How many paths there are to choose from.";
    Member "member" value "Of a share: which path's.";
    TrialsInterrupted "trials_interrupted" explains "Of an outage: in how many trials flows were interrupted for longer than they are when nothing is done.";
    AtRandom "at_random" explains "Of Jain's index: what it is where flows take paths by chance.";
    ByChance "by_chance" explains "The probability at most that flows miss a path by chance.";
    Phase "phase" value "Of an outage: `failure`, from the deed on; `restoration`, from when it was undone.";
    FramesLost "frames_lost" explains "Frames lost in the trials behind it, where the device told of its own counters.";
    FramesAccounted "frames_accounted" explains "Of those, frames whose place of death counters or sums tell.";
    FramesLostInDevice "frames_lost_in_device" explains "Of those, frames that died in the device.";
    Timeout "timeout_ns" explains "Of connections: the time after which a handshake or an answer counts as timed out.";
    OpeningRate "opening_connections_per_s" explains "Of connections at once: the rate at which they were opened.";
    ActiveTime "active_time_ns" identifies "Of idle connections: how long each was active before.";
    HoldTime "hold_time_ns" explains "Of connections at once: how long all were held.";
    FailedBy "failed_by" explains "Of connections: how most of those failed that did: `timed-out` (no answer to the first packet), `refused` (a reset), `unreachable` (an ICMP error), `unanswered` (opened, then silent), `reset` (later).";
    WhatIfCopied "what_if_copied" value "Of what would be: whether writes are copied.";
    WhatIfIoDepth "what_if_iodepth" value "Of what would be: the queue depth.";
    WhatIfRtt "what_if_rtt_ns" value "Of what would be: the network's round trip.";
}

impl Key {
    /// Keys specific to one output of another tool: its place in the file, and its contradictions.
    pub const OF_ONE_OUTPUT: [Self; 5] = [
        Self::FirstLine,
        Self::LastLine,
        Self::Contradiction,
        Self::ContradictionSaid,
        Self::ContradictionCounted,
    ];
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Key {}

/// Orders keys by name: rows are sorted by it.
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

/// Family of names that end in a number.
#[derive(Debug, Clone, Copy)]
pub struct Numbered(&'static str);

impl Numbered {
    /// Frames that waited, by their octets.
    pub const FRAMES_OF: Self = Self("frames_of_");
    /// Octets held by each of this many congested egress ports.
    pub const HELD_BY_EACH_OF: Self = Self("held_by_each_of_");

    const ALL: [Self; 2] = [Self::FRAMES_OF, Self::HELD_BY_EACH_OF];

    /// Returns the key with this number.
    pub fn key(self, number: u32) -> Key {
        Key::named(&format!("{}{number}", self.0))
    }

    /// Number in the key; `None` if it is not of this family.
    pub fn number(self, key: &Key) -> Option<u32> {
        key.as_str().strip_prefix(self.0)?.parse().ok()
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::named(&Cow::<'_, str>::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_says_what_each_is() {
        let reference = include_str!("../../../docs/reference/figures.md");
        let conditions = reference.split("\n## ").find(|part| part.starts_with("Conditions"));
        let conditions = conditions.expect("a section on conditions");
        let table = conditions.split_once("|---|").expect("a table").1;
        let lacks = |name: &str| !table.contains(&format!("`{name}`"));
        let lacking: Vec<_> = Key::TABLE.iter().filter(|(name, _)| lacks(name)).collect();
        assert!(lacking.is_empty(), "docs/reference/figures.md lacks {lacking:?}");
        let prose = conditions.split_whitespace().collect::<Vec<_>>().join(" ");
        let part = |from: &str| {
            let rest = prose.split_once(from).expect("the list").1;
            let mut names: Vec<&str> =
                rest.split_once('.').expect("its end").0.split('`').skip(1).step_by(2).collect();
            names.sort_unstable();
            names
        };
        let of = |role| {
            let own = Key::TABLE.iter().filter(|(_, known)| *known == role).map(|(name, _)| *name);
            let mut names: Vec<&str> = own.collect();
            names.sort_unstable();
            names
        };
        assert_eq!(part("Which of a case's values it is:"), of(Role::Value));
        assert_eq!(part("Where a row was had:"), of(Role::Place));
        assert_eq!(part("tells no two rows apart:"), of(Role::Explains));
    }

    #[test]
    fn a_name_is_read_back_as_its_key() {
        for (name, _) in Key::TABLE {
            assert!(!matches!(Key::named(name), Key::Named(_)), "{name}");
            assert_eq!(Key::named(name).as_str(), *name);
        }
        assert_eq!(Key::named("rack").as_str(), "rack");
        assert_eq!(Numbered::FRAMES_OF.number(&Numbered::FRAMES_OF.key(64)), Some(64));
        assert_eq!(Numbered::HELD_BY_EACH_OF.number(&Numbered::FRAMES_OF.key(64)), None);
    }
}
