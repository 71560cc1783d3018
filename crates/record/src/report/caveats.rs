//! Each verdict and caveat in words, explained once on a page. Never adds or weighs a doubt: that
//! is the study's.

use std::collections::BTreeSet;

use method::{Caveat, Figure, Verdict};

use super::view::{Block, Cell, Section};
use crate::words;

/// The verdict's name, its class in the page's style, and what it says.
pub(super) const fn verdict(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::DeviceLimited => (
            "device-limited",
            "device",
            "The same hosts did clearly better over a direct cable, and the device's path gave way, so the \
             figure is the device's own.",
        ),
        Verdict::LinkLimited => (
            "link-limited",
            "link",
            "The figure is line rate: all that the link carries. Nobody was slower than the medium.",
        ),
        Verdict::TesterLimited => (
            "tester-limited",
            "tester",
            "The same hosts did no better over a direct cable, or nothing gave way on the device's path: \
             the figure is only a bound on the device.",
        ),
        Verdict::Undetermined => (
            "undetermined",
            "open",
            "There is no direct cable to compare with, or too few repetitions, or the two can't be told \
             apart with 95 % confidence.",
        ),
    }
}

/// The caveat's name, as in the JSON rows.
pub(super) const fn name(caveat: Caveat) -> &'static str {
    match caveat {
        Caveat::NoBypass => "no-bypass",
        Caveat::FewBlocks => "few-blocks",
        Caveat::FewSamples => "few-samples",
        Caveat::SoftwareTimestamps => "software-timestamps",
        Caveat::QuickProfile => "quick-profile",
        Caveat::FrameSizeRaised => "frame-size-raised",
        Caveat::TesterDrops => "tester-drops",
        Caveat::RepeatedTrials => "repeated-trials",
        Caveat::NoValidTrial => "no-valid-trial",
        Caveat::SharedMachine => "shared-machine",
        Caveat::SearchCeiling => "search-ceiling",
        Caveat::WideBracket => "wide-bracket",
        Caveat::NotResolved => "not-resolved",
        Caveat::SomeLost => "some-lost",
        Caveat::ClocksApart => "clocks-apart",
        Caveat::NotStamped => "not-stamped",
        Caveat::DeviceNotDriven => "device-not-driven",
        Caveat::LoadBelowAsked => "load-below-asked",
        Caveat::MediaRateUnknown => "media-rate-unknown",
        Caveat::NoThroughput => "no-throughput",
        Caveat::NotResettable => "not-resettable",
        Caveat::NotRecovered => "not-recovered",
        Caveat::SilentPairs => "silent-pairs",
        Caveat::NotFilled => "not-filled",
        Caveat::BusyHosts => "busy-hosts",
        Caveat::Backpressure => "backpressure",
        Caveat::Simulated => "simulated",
        Caveat::Unsupported => "unsupported",
        Caveat::Imported => "imported",
        Caveat::HalfRoundTrip => "half-round-trip",
        Caveat::GapLoss => "gap-loss",
        Caveat::Inconsistent => "inconsistent",
        Caveat::Irregular => "irregular",
        Caveat::Buffered => "buffered",
        Caveat::LossNotByLoad => "loss-not-by-load",
        Caveat::FloodsNotSeen => "floods-not-seen",
        Caveat::LearningConfounded => "learning-confounded",
        Caveat::TableNotShown => "table-not-shown",
        Caveat::LackOfFit => "lack-of-fit",
        Caveat::Confounded => "confounded",
        Caveat::OtherTraffic => "other-traffic",
        Caveat::ShortFlood => "short-flood",
        Caveat::Contradicted => "contradicted",
    }
}

/// What the doubt is and what would remove it.
#[expect(clippy::too_many_lines, reason = "a text for each caveat, and no other place for it")]
pub(super) const fn advice(caveat: Caveat) -> &'static str {
    match caveat {
        Caveat::NoBypass => {
            "No direct cable runs between the same hosts, so nothing tells the tester's share. Add one \
             and measure again."
        }
        Caveat::FewBlocks => {
            "There were too few blocks for a 95 % interval. Below 90 % only the range is stated, from the \
             smallest block to the largest. Ask for more blocks."
        }
        Caveat::FewSamples => {
            "There were too few samples for so high a quantile; its upper end is a bound by order \
             statistics. Measure longer."
        }
        Caveat::SoftwareTimestamps => {
            "Packets were stamped by software, so absolute times contain the hosts' own stacks. The \
             difference from the direct cable is the better figure."
        }
        Caveat::QuickProfile => {
            "The phases were shorter than RFC 2544 §23 asks. Use the strict profile for figures that \
             are to be published."
        }
        Caveat::FrameSizeRaised => {
            "The protocol's headers do not fit into the frame size asked for, so a larger frame was \
             sent; the record has its size."
        }
        Caveat::TesterDrops => {
            "The tester itself dropped frames, so losses are not all the device's. Lower the load or \
             raise the hosts' buffers."
        }
        Caveat::RepeatedTrials => {
            "Some trials were invalid and were repeated; the list of trials says why."
        }
        Caveat::NoValidTrial => {
            "No trial was valid in as many tries as allowed, so there is no value. The list of trials \
             says what went wrong."
        }
        Caveat::SharedMachine => {
            "Hosts and device share one machine and disturb each other: good for comparing, not for \
             a data sheet."
        }
        Caveat::SearchCeiling => {
            "The search reached the highest rate that could be offered and the device did not fail: \
             its limit lies at or above the figure."
        }
        Caveat::WideBracket => {
            "Between the bracket's ends no trial was valid, so the limit lies anywhere in it and the \
             figure is its lower end. A quieter machine, or another run, narrows it."
        }
        Caveat::NotResolved => {
            "The difference from the direct cable is smaller than the blocks can resolve. More or \
             longer blocks narrow it."
        }
        Caveat::SomeLost => {
            "Part of the probes got no answer; the distribution is of those that did."
        }
        Caveat::ClocksApart => {
            "Two clocks stamped the two ends of the way, and their difference is not known well \
             enough for a delay: only its variation is."
        }
        Caveat::NotStamped => {
            "Not both ends of a frame's way were stamped, so there is no one-way delay. \
             Another receiver may stamp arrivals."
        }
        Caveat::DeviceNotDriven => {
            "The device lost nothing at the highest load there was, so there was nothing to \
             measure."
        }
        Caveat::LoadBelowAsked => {
            "The load is below what the procedure asks for: it is the most that the tester \
             can offer."
        }
        Caveat::MediaRateUnknown => {
            "The link's rate is not known, so the tester's own highest rate stands for it. \
             State the rate in the testbed file."
        }
        Caveat::NoThroughput => "No throughput was found that the load could follow from.",
        Caveat::NotResettable => {
            "The testbed has no hook to reset this device. Give it one to measure its reset."
        }
        Caveat::SilentPairs => {
            "Some pairs exchanged nothing at all, either way: a dead port, cable or host. The figure \
             is of the others; the rows of single pairs say which are missing."
        }
        Caveat::BusyHosts => {
            "Other programs had the hosts' processors in some trials: what was lost may be their doing, and \
             rates are lower bounds. Repeat it on hosts with nothing else to do."
        }
        Caveat::NotRecovered => {
            "The device lost frames until the trial's end and may not have recovered. Measure \
             longer."
        }
        Caveat::Imported => {
            "Another tool measured it. Its tester's own losses and limits were not recorded, and nothing \
             but its output is known."
        }
        Caveat::HalfRoundTrip => {
            "The tool prints half of the round trip and calls it latency. It was doubled."
        }
        Caveat::GapLoss => {
            "The tool tells losses by gaps in the sequence numbers: frames lost at the end are not seen, \
             and a duplicate hides a loss."
        }
        Caveat::Inconsistent => {
            "Operations a second and their mean latency contradict each other by more than 2 %: with so \
             many under way all the time one follows from the other (Little's law)."
        }
        Caveat::FloodsNotSeen => {
            "Frames to stations that nobody knows were not seen flooded at the monitoring port, so a full \
             table would have looked like one with room. Make that port promiscuous; a device that \
             drops such frames can't be tested so."
        }
        Caveat::LearningConfounded => {
            "How many stations were known depends on how fast they spoke, down to the slowest rate there \
             was time for: the table's size and the rate at which it learns can't be told apart."
        }
        Caveat::TableNotShown => {
            "Frames to stations were lost, or flooded now and then, in a way that a full address table \
             does not explain. Look for what else loses frames."
        }
        Caveat::LackOfFit => {
            "What was measured contradicts the model that this is a parameter of, by more than the repeats \
             explain: the interval is widened by it, and the figure is not the device's."
        }
        Caveat::Confounded => {
            "Parameters of the model can't be told apart by what was measured. The interval holds every \
             value that fits; more outputs overfilled at once, or less noise, narrow it."
        }
        Caveat::OtherTraffic => {
            "Frames that were not the trial's crossed a port of the tester meanwhile, and the figure is of \
             both together. Keep other hosts off the device, and measure again."
        }
        Caveat::ShortFlood => {
            "A flood ended well before its time, because its sender had no more numbers for frames: queues \
             and caches of the device may not have filled."
        }
        Caveat::Irregular => {
            "Not even the lowest load that a trial resolves passed, so there is no lower bound: the rate \
             is below the upper end, or the device loses frames at any load (RFC 9971 §5.4.2). Tests \
             that follow from a throughput used the rate at which frames came through."
        }
        Caveat::Buffered => {
            "A queue or a token bucket took in more frames than the bracket is wide; the row says how \
             many octets. What it took in is not counted as a rate."
        }
        Caveat::LossNotByLoad => {
            "Another trial brought more through at a higher load, and the loss was not seen to grow with \
             the load: no rate is the limit. The loss ratio at the highest load stands beside it; look \
             for a bad cable, a port or a device that drops frames now and then."
        }
        Caveat::Contradicted => {
            "Another figure or trial of the same run contradicts what this one says, so it is nobody's limit. \
             A longer trial, or other arrangements, may tell."
        }
        Caveat::Unsupported => "This test can't be made where it was asked for; the row says why.",
        Caveat::NotFilled => {
            "The longest burst that a trial's time allows still went into the buffer: it is at least \
             so large. Allow longer bursts, or let more hosts send."
        }
        Caveat::Backpressure => {
            "The device made its senders pause (802.3x) and dropped nothing: no burst overfills it. \
             Turn flow control off at the hosts' ports or at the device."
        }
        Caveat::Simulated => {
            "No packet was sent: the figure is what a model of the device does in virtual time, with \
             hosts of the model's. It is as true as the device's profile."
        }
    }
}

/// The caveats of a row of figures; one that not all share names the quantiles it is about.
pub(super) fn names(figures: &[&Figure]) -> Cell {
    names_but(figures, &BTreeSet::new())
}

/// The caveats that every one of the figures has: said once over a table, not in each row.
pub(super) fn shared(figures: &[&Figure]) -> BTreeSet<Caveat> {
    let first = figures.first().map(|f| f.caveats.clone()).unwrap_or_default();
    first.into_iter().filter(|c| figures.iter().all(|f| f.caveats.contains(c))).collect()
}

/// As [`names`], without those said elsewhere.
pub(super) fn names_but(figures: &[&Figure], said: &BTreeSet<Caveat>) -> Cell {
    let all: BTreeSet<Caveat> = figures.iter().flat_map(|f| f.caveats.iter().copied()).collect();
    let all: BTreeSet<Caveat> = all.difference(said).copied().collect();
    let names: Vec<String> =
        all.into_iter().map(|c| said_of(name(c), figures, |f| f.caveats.contains(&c))).collect();
    Cell { class: "small", ..Cell::text(names.join(", ")) }
}

/// The verdict of a row of figures: the median's, or the first's, with those that differ beneath.
pub(super) fn verdict_cell(figures: &[&Figure]) -> Cell {
    let median = figures.iter().find(|f| f.quantile == Some(0.5));
    let Some(main) = median.or(figures.first()).map(|f| f.verdict) else { return Cell::default() };
    let others: BTreeSet<Verdict> =
        figures.iter().map(|f| f.verdict).filter(|v| *v != main).collect();
    let others: Vec<String> =
        others.into_iter().map(|v| said_of(verdict(v).0, figures, |f| f.verdict == v)).collect();
    let (text, class, _) = verdict(main);
    Cell { text: text.to_owned(), note: others.join(", "), class }
}

/// `few-samples (p99.9, max)`, or the name alone where it is said of every figure.
fn said_of(name: &str, figures: &[&Figure], of: impl Fn(&Figure) -> bool) -> String {
    let concerned: Vec<&&Figure> = figures.iter().filter(|f| of(f)).collect();
    let mut quantiles: Vec<f64> = concerned.iter().filter_map(|f| f.quantile).collect();
    if concerned.len() == figures.len() || quantiles.is_empty() {
        return name.to_owned();
    }
    quantiles.sort_by(f64::total_cmp);
    let quantiles: Vec<String> = quantiles.into_iter().map(words::quantile).collect();
    format!("{name} ({})", quantiles.join(", "))
}

/// What an interval spans.
const INTERVALS: &str = "Every interval is of the repetitions of its own run. Another run may differ by more: \
    hosts that were started again, cables that were plugged again, another day. What two runs differ by is \
    found by comparing them, with the direct cable's own figures as the control.";

/// The section that explains whatever occurs among `figures`, once each.
pub(super) fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
    let verdicts: BTreeSet<Verdict> = figures.iter().map(|f| f.verdict).collect();
    let caveats: BTreeSet<Caveat> =
        figures.iter().flat_map(|f| f.caveats.iter().copied()).collect();
    if figures.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Glossary(
        verdicts
            .into_iter()
            .map(|v| {
                let (name, _, text) = verdict(v);
                (name.to_owned(), text.to_owned())
            })
            .collect(),
    )];
    if figures.iter().any(|f| f.confidence.is_some()) {
        blocks.push(Block::Paragraph(INTERVALS.to_owned()));
    }
    if !caveats.is_empty() {
        blocks.push(Block::Subheading("Caveats".to_owned()));
        let explained = caveats.into_iter().map(|c| (name(c).to_owned(), advice(c).to_owned()));
        blocks.push(Block::Glossary(explained.collect()));
    }
    Some(Section {
        id: format!("{prefix}-doubts"),
        heading: "What the verdicts and caveats mean".to_owned(),
        blocks,
    })
}
