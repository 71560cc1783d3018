//! What each caveat means and what to do about it, in a line for a footnote. Pure.

use method::Caveat;

/// Meaning and advice.
pub const fn advice(caveat: Caveat) -> &'static str {
    match caveat {
        Caveat::NoBypass => {
            "no direct cable between these hosts: add one to tell the tester's share"
        }
        Caveat::FewBlocks => "too few blocks for a 95 % interval: ask for more with --blocks",
        Caveat::FewSamples => "too few samples for so high a quantile: measure longer with -t",
        Caveat::SoftwareTimestamps => {
            "stamped by software: absolute times contain the hosts' stacks; compare the two paths"
        }
        Caveat::QuickProfile => "phases shorter than RFC 2544's: --profile strict for its own",
        Caveat::FrameSizeRaised => "the frame is larger than asked: the headers do not fit",
        Caveat::TesterDrops => "the tester itself dropped frames: a lower bound",
        Caveat::RepeatedTrials => "some trials were invalid and were repeated",
        Caveat::NoValidTrial => "no valid trial in all tries: see `report` for the reasons",
        Caveat::SharedMachine => "hosts and device share this machine and disturb each other",
        Caveat::SearchCeiling => "the search hit its upper end: the device was never seen to fail",
        Caveat::WideBracket => "disturbed in between: the limit lies anywhere within the bracket",
        Caveat::NotResolved => "the difference from the bypass is below what the blocks resolve",
        Caveat::SomeLost => "some probes got no answer: the distribution is of those that did",
        Caveat::ClocksApart => {
            "two clocks stamped the two ends: too little is known of them for a delay"
        }
        Caveat::NotStamped => "not both ends were stamped: no one-way delay",
        Caveat::DeviceNotDriven => {
            "the device lost nothing at the highest load there was: nothing to measure"
        }
        Caveat::LoadBelowAsked => {
            "the load is below what the procedure asks for: the tester's most"
        }
        Caveat::MediaRateUnknown => {
            "the link's rate is not known: the tester's own highest rate stands for it"
        }
        Caveat::NoThroughput => "no throughput was found that the load could follow from",
        Caveat::NotResettable => "the testbed has no hook to reset this device",
        Caveat::SilentPairs => "some pairs exchanged nothing at all; the figure is of the others",
        Caveat::BusyHosts => "other programs had the hosts' processors: losses may be theirs",
        Caveat::NotRecovered => "frames were lost until the trial's end: it may not have recovered",
        Caveat::Unsupported => "the test can't be made here; the reason stands in its row",
        Caveat::Imported => "measured by another tool: nothing of the tester was checked",
        Caveat::HalfRoundTrip => "the tool prints half of the round trip: it was doubled",
        Caveat::GapLoss => "loss by gaps in sequence numbers: the tail is not seen",
        Caveat::Inconsistent => "operations a second and latency contradict each other by over 2 %",
        Caveat::LackOfFit => {
            "the measured points contradict the model: its parameters are not the device's"
        }
        Caveat::Confounded => {
            "the model's parameters can't be told apart: more ports at once, or less noise"
        }
        Caveat::Contradicted => "another figure or trial of this run contradicts it",
        Caveat::NotFilled => "the longest burst still went in: the buffer is at least so large",
        Caveat::Backpressure => "the device made its senders pause, and dropped nothing",
        Caveat::FloodsNotSeen => {
            "frames to unknown stations were not seen flooded: is the monitoring port promiscuous?"
        }
        Caveat::LearningConfounded => {
            "the table's size and the rate at which it learns can't be told apart here"
        }
        Caveat::TableNotShown => "losses or floods that a full address table does not explain",
        Caveat::OtherTraffic => {
            "other people's frames crossed the tester's ports: keep them off, and measure again"
        }
        Caveat::ShortFlood => "a flood ended before its time: the figure is of a shorter one",
        Caveat::Irregular => "not even the lowest load passed: no lower bound was found",
        Caveat::Buffered => "a queue or bucket took in more frames than the bracket is wide",
        Caveat::LossNotByLoad => {
            "more came through at a higher load: the loss is not the load's, and no rate the limit"
        }
        Caveat::Simulated => "simulated: no packet was sent; as true as the device's profile",
    }
}
