//! Decision on a claim: met, not met, or undecided.
//!
//! Owns the rule and its error rates. A claim passes only if the whole interval meets it. It fails
//! only if the whole interval violates it and the device is the limit. A sufficient bound passes.
//! Never questions a figure: `prove` tests figures against known values.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::claim::{Keeps, Reading, SheetClaim};
use super::measurable::{Part, measurable};
use super::reading::{PREAMBLE, frame_time, read, shortened, wire_octets};
use crate::prove::{Claim, Says};
use crate::verdict::{CONFIDENCE, LINE_RATE};
use page::{Caveat, Figure, Key, Metric, Verdict};

/// Largest one-sided error of a decision, both rounds together. A 95 % interval misses on one side
/// with 2.5 %, and there are at most two rounds.
pub const FALSE_FAILS: f64 = 0.05;

/// Largest factor of additional measuring that is worth suggesting.
const MOST_TIMES: f64 = 400.0;
/// Safety factor on that estimate: an interval narrows with the root of the repetitions, and its
/// ends vary.
const HEADROOM: f64 = 1.3;
/// Relative error of an uplink's rate beyond its interval. The rate follows from floods whose first
/// and last frames are counted at the receivers; on simulated devices it was off by up to this
/// much.
const UPLINK_ERROR: f64 = 0.002;
/// Slowest Ethernet rate, in bits per nanosecond.
const SLOWEST_ETHERNET: f64 = 0.01;
/// Relative difference that is due to rounding.
const HAIR: f64 = 1e-9;
/// Factor of additional measuring for a few more steps of a search.
const MORE_STEPS: f64 = 1.5;

/// Decision on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The claim is met.
    Pass,
    /// The claim is not met.
    Fail,
    /// Neither is shown.
    Inconclusive,
}

impl Decision {
    /// Name of the decision.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Reason for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The whole interval meets the claim.
    Kept,
    /// The whole interval violates the claim.
    Broken,
    /// The interval contains the claimed value.
    Within {
        /// Factor of additional measuring that would decide, more than 1; `None` if out of reach.
        times: Option<f64>,
    },
    /// Only a bound is known, and it does not reach the claimed value.
    Bound,
    /// The limit of the figure is undetermined.
    Undetermined,
    /// The figure has this caveat.
    Doubted(Caveat),
    /// Too few repetitions for an interval.
    FewRepetitions,
    /// Estimates of the same quantity contradict each other.
    Contradicted,
    /// The link rate is unknown or differs between ports, so line rate is unknown.
    NoLineRate,
    /// The claim is met counted from the last bit in, and not met counted from the first; it does
    /// not say which is meant.
    NoConvention,
    /// The ports with hosts cannot offer the claimed load together.
    FewPorts,
    /// The study ended without a value.
    NoValue,
    /// No figure is about the claim.
    NotMeasured,
    /// The testbed has no action for the device.
    NoDeed,
    /// No flow was interrupted, and nothing shows that any of them took the failed path.
    NotInterrupted,
    /// The test needs more hosts.
    FewHosts {
        /// Hosts needed at the device.
        needed: usize,
    },
    /// The time budget is too short.
    NoTime,
}

/// Claim with its decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The claim.
    pub claim: SheetClaim,
    /// Decision on the claim.
    pub decision: Decision,
    /// Reason for the decision.
    pub why: Why,
    /// Decisive figure, read as the claim is stated.
    pub measured: Option<Figure>,
    /// Further time that would decide, or the time that the test needs; `None` if unknown.
    #[serde(default)]
    pub needs: Option<Nanos>,
}

impl Decided {
    /// Creates the result of a claim that was not measured.
    pub const fn without(claim: SheetClaim, why: Why, needs: Option<Nanos>) -> Self {
        Self { claim, decision: Decision::Inconclusive, why, measured: None, needs }
    }
}

/// Decisions on all claims.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Acceptance {
    /// Decisions in the order of the claims.
    pub decided: Vec<Decided>,
}

impl Acceptance {
    /// Decides the claims by the figures.
    pub fn from_figures(claims: &[SheetClaim], figures: &[Figure]) -> Self {
        Self { decided: claims.iter().map(|claim| decide(claim, figures)).collect() }
    }

    /// Number of claims with this decision.
    pub fn count(&self, decision: Decision) -> usize {
        self.decided.iter().filter(|one| one.decision == decision).count()
    }

    /// Overall decision: one failure fails all, otherwise one undecided claim leaves all undecided.
    pub fn overall(&self) -> Decision {
        if self.count(Decision::Fail) > 0 {
            Decision::Fail
        } else if self.count(Decision::Inconclusive) > 0 || self.decided.is_empty() {
            Decision::Inconclusive
        } else {
            Decision::Pass
        }
    }
}

/// Decides a claim by all figures that it is about.
pub fn decide(claim: &SheetClaim, figures: &[Figure]) -> Decided {
    let about: Vec<&Figure> = figures.iter().filter(|one| claim.about.is_about(one)).collect();
    let read: Vec<Figure> = about.iter().filter_map(|one| read(claim, one)).collect();
    if read.is_empty() {
        let why = match claim.about.reading {
            Reading::ShareOfLine if !about.is_empty() => Why::NoLineRate,
            _ => Why::NotMeasured,
        };
        return Decided::without(claim.clone(), why, None);
    }
    let all: Vec<(Decision, Why)> =
        read.iter().map(|figure| judged(claim, figure, read.len())).collect();
    let same = measurable(claim.about.metric).is_some_and(|known| known.part == Part::Depth);
    let (mut at, (decision, why)) = together(&all, same);
    if same && why == Why::Bound {
        // Strongest of the bounds.
        let low = |at: &usize| read[*at].low.or(read[*at].value).unwrap_or(f64::NEG_INFINITY);
        let bounds = (0..all.len()).filter(|at| all[*at].1 == Why::Bound);
        at = bounds.max_by(|a, b| low(a).total_cmp(&low(b))).unwrap_or(at);
    }
    if !same && decision == Decision::Pass {
        // Figure that meets the claim by the smallest margin.
        let near = |at: &usize| match claim.keeps {
            Keeps::AtMost(_) => -read[*at].high.or(read[*at].value).unwrap_or(f64::NEG_INFINITY),
            _ => read[*at].low.or(read[*at].value).unwrap_or(f64::INFINITY),
        };
        at = (0..all.len()).min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(at);
    }
    let measured = Some(read[at].clone());
    Decided { claim: claim.clone(), decision, why, measured, needs: None }
}

/// Combines the decisions of several figures. Different things must each meet the claim. Among
/// estimates of the `same` thing one decisive estimate suffices, unless another contradicts it.
/// Returns the index of the decisive figure and its decision.
fn together(all: &[(Decision, Why)], same: bool) -> (usize, (Decision, Why)) {
    let first = |decision| all.iter().position(|one| one.0 == decision);
    let (pass, fail, open) =
        (first(Decision::Pass), first(Decision::Fail), first(Decision::Inconclusive));
    let at = match (pass, fail, open) {
        (Some(at), Some(_), _) if same => return (at, (Decision::Inconclusive, Why::Contradicted)),
        (Some(at), None, _) if same => at,
        (_, Some(at), _) | (_, None, Some(at)) | (Some(at), None, None) => at,
        (None, None, None) => return (0, (Decision::Inconclusive, Why::NotMeasured)),
    };
    (at, all[at])
}

/// Decides by one of `of` figures that the claim is about, each read as the claim is stated. With
/// more figures each interval is widened, so that their common error stays the same.
pub fn judged(claim: &SheetClaim, figure: &Figure, of: usize) -> (Decision, Why) {
    let told = judged_as_read(claim, figure, of);
    match (told.0, claim.about.reading) {
        (Decision::Fail, Reading::OneWay) => {
            // Counted from the last bit in, the delay is shorter by the frame time. On a link of
            // unknown rate the slowest Ethernet is assumed.
            let octets = figure.number(Key::FrameSize).unwrap_or(0.0);
            let frame = frame_time(figure).unwrap_or((octets + PREAMBLE) * 8.0 / SLOWEST_ETHERNET);
            match judged_as_read(claim, &shortened(figure, frame), of).0 {
                Decision::Fail => told,
                _ => (Decision::Inconclusive, Why::NoConvention),
            }
        }
        (Decision::Fail | Decision::Inconclusive, _) if can_not_offer(claim, figure) => {
            (Decision::Inconclusive, Why::FewPorts)
        }
        _ => told,
    }
}

/// True if the ports with hosts cannot offer the claimed load of all ports together. A device that
/// passes less of what they offer does not violate the claim.
fn can_not_offer(claim: &SheetClaim, figure: &Figure) -> bool {
    let by = match claim.about.reading {
        Reading::SwitchingCapacity => wire_octets(figure).map(|wire| 2.0 * 8.0 * wire),
        Reading::Itself => Some(1.0),
        _ => None,
    };
    let least = claim.keeps.value() * (1.0 - claim.margin) * LINE_RATE;
    let most = figure.number(Key::PatternRate).zip(by).map(|(pattern, by)| pattern * by);
    most.is_some_and(|most| most < least)
}

fn judged_as_read(claim: &SheetClaim, figure: &Figure, of: usize) -> (Decision, Why) {
    let open = |why| (Decision::Inconclusive, why);
    if figure.integer(Key::TrialsInterrupted) == Some(0) {
        return open(Why::NotInterrupted);
    }
    // An outage without recovery is at least as long as measured. Stations shown as known stay
    // known, whatever the search for more found.
    let at_least = figure.value.is_none() && figure.low.is_some();
    let table = figure.metric == Metric::AddressCapacity;
    let stands = |caveat: Caveat| {
        use Caveat::{LearningConfounded, NoValidTrial, NotRecovered, TableNotShown};
        let of_more = matches!(caveat, LearningConfounded | NoValidTrial | TableNotShown);
        at_least && (caveat == NotRecovered || table && of_more)
    };
    let mut doubt = figure.caveats.iter().copied().filter(|one| doubts(*one) && !stands(*one));
    if let Some(doubt) = doubt.next() {
        return open(if doubt == Caveat::FewBlocks {
            Why::FewRepetitions
        } else {
            Why::Doubted(doubt)
        });
    }
    let own = figure.verdict == Verdict::DeviceLimited;
    let (low, high) = (figure.low.or(figure.value), figure.high.or(figure.value));
    let says = match Claim::from_figure(figure).says {
        Says::Nothing => without_bypass(figure),
        says => says,
    };
    let range = match (says, low, high) {
        (Says::Value { value, .. }, Some(low), Some(high)) => match kind(figure) {
            Some(Kind::Interval) => {
                let range = Range { value, low, high, closed: true }.widened(of);
                let uplink = claim.about.metric == Metric::UplinkRate;
                if uplink { range.give_or_take(UPLINK_ERROR) } else { range }
            }
            Some(Kind::Bracket) => Range { value, low, high, closed: false },
            None => return open(Why::FewRepetitions),
        },
        (Says::AtLeast(value), low, _) => {
            let low = match kind(figure) {
                // A search's lower end did pass; `read` handles line rate.
                _ if figure.verdict == Verdict::LinkLimited => low.unwrap_or(value),
                Some(Kind::Bracket) => value,
                _ => low.map_or(value, |low| low.min(value)),
            };
            Range { value, low, high: f64::INFINITY, closed: true }
        }
        (Says::AtMost(value), _, high) => {
            let high = high.map_or(value, |high| high.max(value));
            Range { value, low: f64::NEG_INFINITY, high, closed: true }
        }
        (Says::Flag(said), ..) => {
            let said = f64::from(u8::from(said));
            Range { value: said, low: said, high: said, closed: true }
        }
        _ if figure.value.is_none() => return open(Why::NoValue),
        _ => return open(Why::Undetermined),
    };
    range.against(claim, own)
}

/// Bound of a figure that only lacks a direct cable. What passed did pass, whoever was the limit: a
/// rate is a lower bound of the device's, and a time an upper one.
fn without_bypass(figure: &Figure) -> Says {
    let alone = figure.caveats.contains(&Caveat::NoBypass);
    match (figure.value.filter(|_| alone), figure.metric) {
        (Some(value), Metric::Throughput) => Says::AtLeast(value),
        (Some(value), Metric::Rtt | Metric::OneWayDelay) => Says::AtMost(value),
        _ => Says::Nothing,
    }
}

/// Kind of a figure's ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Interval with at least 95 % confidence.
    Interval,
    /// Bracket of a search: its upper end failed. Without ends, the value is exact.
    Bracket,
}

/// Kind of a figure's ends; `None` for a mere range.
fn kind(figure: &Figure) -> Option<Kind> {
    match (figure.confidence, figure.text(Key::Interval)) {
        (Some(confidence), _) => (confidence >= CONFIDENCE).then_some(Kind::Interval),
        (None, Some(page::BRACKET) | None) => Some(Kind::Bracket),
        (None, Some(_)) => None,
    }
}

/// Range of the device's possible values.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    value: f64,
    low: f64,
    high: f64,
    /// True if the upper end itself is possible; that of a search's bracket failed.
    closed: bool,
}

impl Range {
    /// Widens one of `of` intervals so that all of them together miss as rarely as one. 1 + 0.47 ln
    /// n slightly exceeds the squared ratio of the normal quantiles at 1 - 0.025 / n and at 0.975,
    /// for n up to 100.
    fn widened(self, of: usize) -> Self {
        let by = (0.47f64.mul_add((of.max(1) as f64).ln(), 1.0)).sqrt();
        let end = |end: f64| self.value + (end - self.value) * by;
        Self { low: end(self.low), high: end(self.high), ..self }
    }

    /// Widens the range by the error of the method.
    fn give_or_take(self, share: f64) -> Self {
        Self { low: self.low * (1.0 - share), high: self.high * (1.0 + share), ..self }
    }

    fn against(self, claim: &SheetClaim, own: bool) -> (Decision, Why) {
        let claimed = claim.keeps.value();
        let (least, most) = (claimed * (1.0 - claim.margin), claimed * (1.0 + claim.margin));
        // Line rate counts as reached within a thousandth.
        let least_broken = match claim.about.reading {
            Reading::ShareOfLine => least.min(LINE_RATE),
            Reading::SwitchingCapacity => least * LINE_RATE,
            _ => least,
        };
        // Tolerance for rounding.
        let (above, below) = (self.low >= least * (1.0 - HAIR), self.high <= most * (1.0 + HAIR));
        let short = self.high < least_broken || (!self.closed && self.high <= least_broken && own);
        let over = self.low > most;
        let (kept, broken) = match claim.keeps {
            Keeps::AtLeast(_) => (above, short),
            Keeps::AtMost(_) => (below, over),
            // A count's bracket ends with the first number that failed.
            Keeps::Is(_) if !self.closed => {
                ((least..=most).contains(&self.value), self.value < least || self.value > most)
            }
            Keeps::Is(_) => (above && below, short || over),
        };
        if kept {
            return (Decision::Pass, Why::Kept);
        }
        if broken && own {
            return (Decision::Fail, Why::Broken);
        }
        let why = if broken {
            Why::Undetermined
        } else if self.low.is_infinite() || self.high.is_infinite() {
            Why::Bound
        } else {
            Why::Within { times: self.times(if claimed > self.value { least } else { most }) }
        };
        (Decision::Inconclusive, why)
    }

    /// Factor of additional measuring that would bring the interval to one side of `claimed`;
    /// `None` if out of reach.
    fn times(self, claimed: f64) -> Option<f64> {
        if !self.closed {
            return Some(MORE_STEPS);
        }
        let end = if claimed > self.value { self.high } else { self.low };
        let times = ((end - self.value) / (claimed - self.value)).powi(2) * HEADROOM;
        times.is_finite().then_some(times.max(MORE_STEPS)).filter(|times| *times < MOST_TIMES)
    }
}

/// True if a caveat questions the value of a figure; others describe how it was measured.
const fn doubts(caveat: Caveat) -> bool {
    matches!(
        caveat,
        Caveat::FewBlocks
            | Caveat::FewSamples
            | Caveat::FrameSizeRaised
            | Caveat::TesterDrops
            | Caveat::NoValidTrial
            | Caveat::NoneCompleted
            | Caveat::SomeLost
            | Caveat::OwnLoad
            | Caveat::ClocksApart
            | Caveat::NotStamped
            | Caveat::NotRecovered
            | Caveat::SilentPairs
            | Caveat::BusyHosts
            | Caveat::Imported
            | Caveat::HalfRoundTrip
            | Caveat::GapLoss
            | Caveat::Inconsistent
            | Caveat::FloodsNotSeen
            | Caveat::LearningConfounded
            | Caveat::TableNotShown
            | Caveat::LackOfFit
            | Caveat::Confounded
            | Caveat::BooksOpen
            | Caveat::OtherTraffic
            | Caveat::Irregular
            | Caveat::LossNotByLoad
            | Caveat::Contradicted
    )
}
