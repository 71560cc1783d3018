//! Caveats: doubts about a figure. Each with its name in rows and its text, in one table.
//!
//! Never an error: the figure exists, with a doubt.

use serde::{Deserialize, Serialize};

/// Table of caveats, one row each: its name in rows, the doubt and, if there is one, its remedy.
macro_rules! caveats {
    ($($variant:ident $name:literal $text:literal;)+) => {
        /// Doubt about a figure. Not an error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Caveat {
            $(#[doc = $text] #[serde(rename = $name)] $variant,)+
        }

        impl Caveat {
            /// All caveats.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Name in rows.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Description of the doubt and its remedy.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

impl Caveat {
    /// Description for an import of another tool's output: the remedy is a different option.
    pub const fn text_of_import(self) -> &'static str {
        match self {
            Self::NoBypass => {
                "No output over a direct cable stands beside it, so nothing tells the tester's share. Give one by --bypass FILE."
            }
            Self::FewBlocks => {
                "Too few outputs of the same for a 95 % interval; below 90 % only the range is stated. Import more of them."
            }
            Self::FewSamples => {
                "Too few samples for so high a quantile: the value is a bound by order statistics. Let the tool measure longer."
            }
            other => other.text(),
        }
    }

    /// First sentence of the description, without its full stop.
    pub fn in_short(self) -> &'static str {
        let text = self.text();
        text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
    }

    /// Description for these figures, imported or measured.
    pub fn text_among(self, figures: &[crate::Figure]) -> &'static str {
        let mut own = figures.iter().filter(|figure| figure.caveats.contains(&self)).peekable();
        let imported = own.peek().is_some() && own.all(|f| f.caveats.contains(&Self::Imported));
        if imported { self.text_of_import() } else { self.text() }
    }
}

caveats! {
    NoBypass "no-bypass" "No direct cable connects these hosts, so nothing tells the tester's share. Add one and measure again.";
    BypassWithoutReplicas "bypass-without-replicas" "With replicas no direct cable is measured, since it leads to no replica: nothing tells the tester's share. Measure without --replica, too.";
    BypassAtAnotherTime "bypass-at-another-time" "The direct cable was measured at another time, not beside the device: what the hosts changed by in between is in the difference. Measure it before and after (--bypass twice).";
    FewBlocks "few-blocks" "Too few repetitions for a 95 % interval; below 90 % only the range is stated. Ask for more with --blocks.";
    FewSamples "few-samples" "Too few samples for so high a quantile: the value is a bound by order statistics. Measure longer with -t.";
    SoftwareTimestamps "software-timestamps" "Stamped by software: absolute times contain the hosts' own stacks. The difference from the direct cable does not.";
    QuickProfile "quick-profile" "The phases were shorter than RFC 2544 §23 asks. Use --profile strict for figures to be published.";
    FrameSizeRaised "frame-size-raised" "The protocol's headers do not fit into the frame size asked for: a larger frame was sent.";
    TesterDrops "tester-drops" "The tester itself dropped frames: losses are not all the device's. Lower the load, or raise the hosts' buffers.";
    RepeatedTrials "repeated-trials" "Some trials were invalid and were repeated; the list of trials says why.";
    NoValidTrial "no-valid-trial" "No trial was valid in as many tries as allowed, so there is no value. The list of trials says what went wrong.";
    NoneCompleted "none-completed" "No repetition was completed in the trial's time, so there is no value. Measure longer with -t.";
    SharedMachine "shared-machine" "Hosts and device share this machine and disturb each other: good for comparing, not for a data sheet.";
    SearchCeiling "search-ceiling" "The search reached the highest rate that could be offered, and the path did not fail: its limit is at or above the figure.";
    WideBracket "wide-bracket" "Between the bracket's ends no trial was valid: the limit lies anywhere in it, and the figure is its lower end.";
    NotResolved "not-resolved" "The difference from the direct cable, or from the control, is smaller than the repetitions resolve. More or longer ones narrow it.";
    OwnLoad "own-load" "The requests themselves filled a queue: each waited behind earlier ones, which is no delay of an idle path. Send fewer a second, or each after the answer to the last (closed loop).";
    SomeLost "some-lost" "Part of the probes got no answer: the distribution is of those that did.";
    ClocksApart "clocks-apart" "Two clocks stamped the two ends, and too little is known of their difference: only the delay's variation is.";
    NotStamped "not-stamped" "Not both ends of a frame's way were stamped: there is no one-way delay.";
    DeviceNotDriven "device-not-driven" "The device lost nothing at the highest load there was: there was nothing to measure.";
    LoadBelowAsked "load-below-asked" "The load is below what the procedure asks for: it is the most that the tester can offer.";
    MediaRateUnknown "media-rate-unknown" "The rate of the ports is not known, or not the same for all of them: the tester's own highest rate stands for it. State the rate in the testbed file, or name ports of one rate.";
    LinkRateUnknown "link-rate-unknown" "The link's rate is not known, so that nothing tells what share of it was used. State `rate` of the ports in the testbed file.";
    Paused "paused" "The device made the hosts pause (802.3x): it held them back and dropped nothing.";
    NetworkAtMost "network-at-most" "The messages beside the job took longer than disk, storage host and client leave to the network: its share is what these leave, an upper bound.";
    LocalStorage "local-storage" "The storage is attached to the client's host: its operations cross no network, and nothing is said of one. Name a file or device that another host serves.";
    StorageLocationUnknown "storage-location-unknown" "Nothing tells whether the operations cross the network, so that no share of their time is called the network's. Name a file or device whose file system or driver says where it is, or have a server made by --serve.";
    PathFull "path-full" "The operations fill the path: they wait for each other's octets, so that less latency gives no more of them. Only a faster link does.";
    HostLimited "host-limited" "The hosts held TCP up, and not the path: `host_limit` says by what. Give them larger windows, faster processors or more streams.";
    NoThroughput "no-throughput" "No throughput was found that the load could follow from.";
    NotResettable "not-resettable" "The testbed has no hook to reset this device. Give it one to measure its reset.";
    NotRecovered "not-recovered" "Frames were lost until the trial's end: the device may not have recovered. Measure longer.";
    UntilUndone "until-undone" "Flows came back only as the deed was undone: the device found no way around it, and the outage is only known to be as long as the deed was.";
    NotFilled "not-filled" "The longest burst that a trial's time allows still went in: the buffer is at least so large. Allow longer bursts, or more senders.";
    Backpressure "backpressure" "The device made its senders pause (802.3x) and dropped nothing: no burst overfills it. Turn flow control off to measure its buffer.";
    SilentPairs "silent-pairs" "Some pairs exchanged nothing at all: a dead port, cable or host. The figure is of the others.";
    BusyHosts "busy-hosts" "Other programs had the hosts' processors while frames were lost: the tester may have been the reason. Repeat it on idle hosts.";
    Simulated "simulated" "Simulated: no packet was sent, and the figure is as true as the device's profile.";
    Unsupported "unsupported" "The test can't be made here; `reason` says why.";
    Imported "imported" "Another tool measured it: nothing of the tester was checked.";
    HalfRoundTrip "half-round-trip" "The tool prints half of the round trip and calls it latency: it was doubled.";
    GapLoss "gap-loss" "The tool tells losses by gaps in sequence numbers: the tail is not seen, and a duplicate hides a loss.";
    Iperf3FarEnd "iperf3-far-end" "One end is an iperf3 server and no agent: it counts in its own program, by its own clock, and not what was under way at the end; what its host was doing is not known.";
    DeviceCounter "device-counter" "No host counted what came, but the device what left towards it: which frames, when and in which order is not known. A rate is over the time of sending, and counts what a queue still held then: it is at most that, and longer trials tell it better. `others_counted` frames of a trial may be others'.";
    Inconsistent "inconsistent" "Operations a second and their mean latency contradict each other: there are over 2 % more than so few under way allow (Little's law).";
    CutOff "cut-off" "The tool was interrupted, or its output breaks off: the figure is of what was printed before. Let it run to its end.";
    SelfContradictory "self-contradictory" "The tool's output contradicts itself; `contradiction` in the conditions has both numbers. Run it again, or let another tool count.";
    UnreadLines "unread-lines" "Lines among those of this result were not understood, or are missing: what they say may change the figure. `unread` in the JSON lists them.";
    DestinationUnknown "destination-unknown" "The output does not tell whether its last station is the destination: stations behind it may not have answered. Import the tool's JSON, or name the destination.";
    SenderOnly "sender-only" "Only what the sender counted is known: what arrived may be less. Import the receiver's output.";
    LoadHeldBack "load-held-back" "The load was held back, by a rate, by pauses or by the host between two operations: the figure is what was asked for or managed, and no limit of the path.";
    CoarseTimes "coarse-times" "The tool prints times in coarse steps, and the figure is as coarse; a time that it prints as zero is told as a bound.";
    FloodsNotSeen "floods-not-seen" "Frames to unknown stations were not seen flooded at the monitoring port: a full table would look like one with room. Make that port promiscuous.";
    LearningConfounded "learning-confounded" "How many stations were known depends on how fast they spoke: the table's size, its learning rate and what the device forwards at all can't be told apart.";
    TableNotShown "table-not-shown" "Frames to stations were lost, or flooded, in a way that a full address table does not explain. Look for what else loses frames.";
    LackOfFit "lack-of-fit" "What was measured contradicts the model by more than repetitions explain: the interval is widened by it, and the figure is not the device's.";
    Confounded "confounded" "What was measured can't tell the model's parameters apart: each is known only as its interval. More outputs overfilled at once narrow it.";
    BooksOpen "books-open" "The device's own counters and the hosts' do not account for every frame lost: `frames_lost` were lost, and the places of `frames_accounted` are known. The table of where lost frames died says more.";
    OtherTraffic "other-traffic" "Frames that were not the trial's crossed a tester's port; `other_traffic_frames_per_s` says how many. Keep other hosts off, and measure again.";
    ShortFlood "short-flood" "A flood ended well before its time: the device's queues and caches may not have filled.";
    Irregular "irregular" "Not even the lowest load that a trial resolves passed: there is no lower bound, only an upper end (RFC 9971 §5.4.2).";
    Buffered "buffered" "A queue or a token bucket took in more frames than the bracket is wide; `buffered_bytes` says how much. It is not counted as a rate.";
    LossNotByLoad "loss-not-by-load" "More came through at a higher load, and the loss did not grow with the load: no rate is the limit. Look at the loss ratio, and for a bad cable or port.";
    Contradicted "contradicted" "Another figure or trial of the same run, or the rate stated for the link, contradicts it, so it is nobody's limit. A longer trial, other arrangements, or the link's true rate may tell.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_caveat_is_its_name_in_rows_and_in_the_reference() {
        let reference = include_str!("../../../docs/reference/figures.md");
        for caveat in Caveat::ALL {
            let name = caveat.as_str();
            assert_eq!(serde_json::to_string(caveat).unwrap(), format!("{name:?}"));
            let row = format!("| `{name}` | {} |", caveat.text());
            assert!(reference.contains(&row), "docs/reference/figures.md lacks: {row}");
        }
        let texts: BTreeSet<_> = Caveat::ALL.iter().map(|caveat| caveat.text()).collect();
        assert_eq!(texts.len(), Caveat::ALL.len());
    }
}
