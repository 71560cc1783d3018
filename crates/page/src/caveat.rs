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
                "No output over a direct cable stands beside it, so the hosts' share is unknown. Give one by --bypass FILE."
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
    NoBypass "no-bypass" "No direct cable connects these hosts, so the hosts' share is unknown. Add one and measure again.";
    BypassWithoutReplicas "bypass-without-replicas" "With replicas no direct cable is measured, so the tester's share is unknown. Measure without --replica, too.";
    BypassAtAnotherTime "bypass-at-another-time" "The direct cable was measured at another time, not beside the device: what the hosts changed by in between is in the difference. Measure it before and after (--bypass twice).";
    FewBlocks "few-blocks" "Too few repetitions for a 95 % interval; below 90 % only the range is stated. Ask for more with --blocks.";
    FewSamples "few-samples" "Too few samples for this quantile: the value is a bound. Measure longer with -t.";
    SoftwareTimestamps "software-timestamps" "Stamped by software: absolute times contain the hosts' stacks. The difference from the direct cable does not.";
    QuickProfile "quick-profile" "The phases were shorter than RFC 2544 §23 asks. Use --profile strict for figures to be published.";
    FrameSizeRaised "frame-size-raised" "The protocol's headers do not fit the frame size: a larger frame was sent.";
    TesterDrops "tester-drops" "The tester itself dropped frames: losses are not all the device's. Lower the load, or raise the hosts' buffers.";
    RepeatedTrials "repeated-trials" "Some trials were invalid and were repeated; the list of trials says why.";
    NoValidTrial "no-valid-trial" "No trial was valid in the allowed attempts, so there is no value. The list of trials says why.";
    NoneCompleted "none-completed" "No repetition was completed in the trial's time, so there is no value. Measure longer with -t.";
    SharedMachine "shared-machine" "Hosts and device share this machine and disturb each other: good for comparing, not for a data sheet.";
    SettingsAsFound "settings-as-found" "An agent may not set up its host's ports (no CAP_NET_ADMIN): offloads and addresses were as the hosts had them, and socket buffers no larger than the kernel allows. Run agents as root to rule out that this shaped the figure.";
    SearchCeiling "search-ceiling" "The path did not fail at the highest rate offered: its limit is at or above the figure.";
    WideBracket "wide-bracket" "No trial within the bracket was valid: the limit lies anywhere in it, and the figure is its lower end.";
    NotResolved "not-resolved" "The difference from the direct cable, or from the control, is below what the repetitions resolve. Use more or longer ones.";
    OwnLoad "own-load" "The requests themselves filled a queue: this is no delay of an idle path. Send fewer a second, or use a closed loop.";
    SomeLost "some-lost" "Some probes got no answer: the distribution is of those that did.";
    ClocksApart "clocks-apart" "Two clocks stamped the two ends, and their difference is unknown: only the delay's variation is valid.";
    NotStamped "not-stamped" "A frame was not stamped at both ends: there is no one-way delay.";
    DeviceNotDriven "device-not-driven" "The device lost nothing at the highest load: there was nothing to measure.";
    LoadBelowAsked "load-below-asked" "The load is below what the procedure asks for: it is the most that the tester can offer.";
    MediaRateUnknown "media-rate-unknown" "The ports' rate is unknown or differs: the tester's own highest rate is used instead. State it in the testbed file, or name ports of one rate.";
    LinkRateUnknown "link-rate-unknown" "The link's rate is unknown, so its used share is, too. State `rate` of the ports in the testbed file.";
    Paused "paused" "The device made the hosts pause (802.3x): it held them back and dropped nothing.";
    NetworkAtMost "network-at-most" "The measured messages took longer than disk, storage host and client leave to the network: its share is an upper bound.";
    LocalStorage "local-storage" "The storage is attached to the client's host: its operations cross no network. Name a file or device that another host serves.";
    StorageLocationUnknown "storage-location-unknown" "The storage's location is unknown, so no share of its time is called the network's. Name a file or device whose driver tells, or use --ramdisk.";
    PathFull "path-full" "The operations fill the path: less latency gives no more of them. Only a faster link does.";
    HostLimited "host-limited" "The hosts limited TCP, not the path; `host_limit` says by what. Use larger windows, faster processors or more streams.";
    NoThroughput "no-throughput" "No throughput was found from which the load follows.";
    NotResettable "not-resettable" "The testbed has no hook to reset this device. Give it one to measure its reset.";
    NotRecovered "not-recovered" "Frames were lost until the trial's end: the device may not have recovered. Measure longer.";
    UntilUndone "until-undone" "Flows came back only when the deed was undone: the device found no other path, and the outage is at least as long as the deed.";
    NotFilled "not-filled" "The longest burst that fits a trial was taken in: the buffer is at least that large. Allow longer bursts, or more senders.";
    Backpressure "backpressure" "The device made its senders pause (802.3x) and dropped nothing: no burst overfills it. Turn flow control off to measure its buffer.";
    SilentPairs "silent-pairs" "Some pairs exchanged nothing: a dead port, cable or host. The figure is of the others.";
    BusyHosts "busy-hosts" "Other programs had the hosts' processors while frames were lost: the tester may be the reason. Repeat on idle hosts.";
    Simulated "simulated" "Simulated: no packet was sent, and the figure is as true as the device's profile.";
    Unsupported "unsupported" "The test cannot be made here; `reason` says why.";
    Imported "imported" "Another tool measured it: nothing of the tester was checked.";
    HalfRoundTrip "half-round-trip" "The tool prints half of the round trip as latency: it was doubled.";
    GapLoss "gap-loss" "The tool tells losses by gaps in sequence numbers: the tail is not seen, and a duplicate hides a loss.";
    Iperf3FarEnd "iperf3-far-end" "One end is an iperf3 server: it counts in its own program and clock, without frames in flight at the end, and its host's state is unknown.";
    DeviceCounter "device-counter" "No host counted what came, but the device what left towards it: which frames, when and in which order is unknown. A rate is an upper bound, closer in longer trials; up to `others_counted` frames of a trial are foreign.";
    Inconsistent "inconsistent" "Operations a second exceed by over 2 % what mean latency and operations in flight allow (Little's law).";
    CutOff "cut-off" "The tool was interrupted, or its output breaks off: the figure is of what was printed before. Let it run to its end.";
    SelfContradictory "self-contradictory" "The tool's output contradicts itself; `contradiction` in the conditions has both numbers. Run it again, or count with another tool.";
    UnreadLines "unread-lines" "Lines among those of this result were not understood, or are missing, and may change the figure. `unread` in the JSON lists them.";
    DestinationUnknown "destination-unknown" "The output does not show that its last station is the destination. Import the tool's JSON, or name the destination.";
    SenderOnly "sender-only" "Only the sender counted: less may have arrived. Import the receiver's output.";
    LoadHeldBack "load-held-back" "A rate, pauses or the host held the load back: the figure is no limit of the path.";
    CoarseTimes "coarse-times" "The tool prints times in coarse steps: a printed zero becomes a bound.";
    FloodsNotSeen "floods-not-seen" "Frames to unknown stations were not seen flooded at the monitoring port: a full table would look like one with room. Make that port promiscuous.";
    LearningConfounded "learning-confounded" "The number of known stations depends on their rate: table size, learning rate and forwarding cannot be told apart.";
    TableNotShown "table-not-shown" "Frames to stations were lost or flooded in a way that a full address table does not explain. Look for other losses.";
    LackOfFit "lack-of-fit" "Measurements contradict the model by more than repetitions explain: the interval is widened, and the figure is not the device's.";
    Confounded "confounded" "Measurements cannot tell the model's parameters apart: each is known only as its interval. Overfill more outputs at once.";
    BooksOpen "books-open" "Counters of device and hosts do not account for every lost frame: of `frames_lost`, `frames_accounted` are located. See the table of lost frames.";
    OtherTraffic "other-traffic" "Foreign frames crossed a tester's port, `other_traffic_frames_per_s` of them. Keep other hosts off, and measure again.";
    ShortFlood "short-flood" "A flood ended well before its time: the device's queues and caches may not have filled.";
    Irregular "irregular" "Even the lowest load failed: there is only an upper end (RFC 9971 §5.4.2).";
    Buffered "buffered" "A queue or token bucket took in more frames than the bracket is wide, `buffered_bytes` in all. They are not counted as a rate.";
    LossNotByLoad "loss-not-by-load" "Loss did not grow with the load: no rate is the limit. Look at the loss ratio, and for a bad cable or port.";
    Contradicted "contradicted" "Another figure or trial of this run, or the link's stated rate, contradicts it: it is nobody's limit. Try longer trials, other arrangements, or the link's true rate.";
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
