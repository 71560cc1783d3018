//! Whether a claim is kept, broken, or not shown to be either.
//!
//! Owns the rule and its error rates. A claim passes only where the whole interval keeps it, and
//! fails only where the whole interval breaks it and the device is the limit. A bound that suffices
//! passes. Never looks behind a figure: what it says is `prove`'s, which holds it against truths.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::claim::{Keeps, Reading, SheetClaim};
use super::measurable::{Part, measurable};
use super::reading::{PREAMBLE, frame_time, read, shortened, wire_octets};
use crate::prove::{Claim, Says};
use crate::verdict::{CONFIDENCE, LINE_RATE};
use page::{Caveat, Figure, Key, Metric, Verdict};

/// The most that a decision's one-sided error may be, both rounds together. An interval of 95 %
/// misses on one side with 2.5 %, and there are two rounds at most.
pub const FALSE_FAILS: f64 = 0.05;

/// Times as much measuring as was done: what would take longer tells nothing in practice.
const MOST_TIMES: f64 = 400.0;
/// An interval narrows with the root of the repetitions; so much more, since its ends vary.
const HEADROOM: f64 = 1.3;
/// An uplink's rate is told from floods whose first and last frames are counted at the receivers:
/// on simulated devices it was up to this share off, beyond its interval.
const UPLINK_ERROR: f64 = 0.002;
/// In bits a nanosecond.
const SLOWEST_ETHERNET: f64 = 0.01;
/// What sums of shares differ by that are the same.
const HAIR: f64 = 1e-9;
/// What a few more steps of a search are of all its steps.
const MORE_STEPS: f64 = 1.5;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It is kept.
    Pass,
    /// It is broken.
    Fail,
    /// Neither is shown.
    Inconclusive,
}

impl Decision {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// All that the device may do keeps it.
    Kept,
    /// Nothing that the device may do keeps it.
    Broken,
    /// The interval holds the claimed value; so many times as much measuring would tell, where
    /// that is not out of reach.
    Within {
        /// Times of what was done, more than 1.
        times: Option<f64>,
    },
    /// Only a bound is known, and it does not reach the claimed value.
    Bound,
    /// Nothing says whose limit the figure is.
    Undetermined,
    /// This doubt stands on the figure.
    Doubted(Caveat),
    /// Too few repetitions for an interval.
    FewRepetitions,
    /// Estimates of the same thing contradict each other.
    Contradicted,
    /// The rate of the links is not known, or not the same at all ports, and line rate follows from
    /// it.
    NoLineRate,
    /// It is kept counted from the last bit in, and broken counted from the first: the claim does
    /// not say which.
    NoConvention,
    /// All ports that have hosts together can't offer what is claimed.
    FewPorts,
    /// The study ended without a value.
    NoValue,
    /// No figure is about it.
    NotMeasured,
    /// The testbed knows nothing that can be done to the device.
    NoDeed,
    /// No flow was interrupted, and nothing says that one of them took the way that was.
    NotInterrupted,
    /// It needs so many hosts.
    FewHosts {
        /// At the device.
        needed: usize,
    },
    /// The budget is too short.
    NoTime,
}

/// A claim, decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The claim.
    pub claim: SheetClaim,
    /// Whether it is kept.
    pub decision: Decision,
    /// Why.
    pub why: Why,
    /// The figure that decides, read as the claim is stated.
    pub measured: Option<Figure>,
    /// How much longer would tell, or how long at all.
    #[serde(default)]
    pub needs: Option<Nanos>,
}

impl Decided {
    /// Of a claim of which nothing was measured.
    pub const fn without(claim: SheetClaim, why: Why, needs: Option<Nanos>) -> Self {
        Self { claim, decision: Decision::Inconclusive, why, measured: None, needs }
    }
}

/// All claims together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Acceptance {
    /// In the order of the claims.
    pub decided: Vec<Decided>,
}

impl Acceptance {
    /// Of claims, from what was found.
    pub fn of(claims: &[SheetClaim], figures: &[Figure]) -> Self {
        Self { decided: claims.iter().map(|claim| decide(claim, figures)).collect() }
    }

    /// How many ended so.
    pub fn count(&self, decision: Decision) -> usize {
        self.decided.iter().filter(|one| one.decision == decision).count()
    }

    /// One that fails makes all fail; one that is open leaves all open.
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

/// Decides a claim by all figures that are about it.
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
        // The bound that says most.
        let low = |at: &usize| read[*at].low.or(read[*at].value).unwrap_or(f64::NEG_INFINITY);
        let bounds = (0..all.len()).filter(|at| all[*at].1 == Why::Bound);
        at = bounds.max_by(|a, b| low(a).total_cmp(&low(b))).unwrap_or(at);
    }
    if !same && decision == Decision::Pass {
        // The one that keeps it by least.
        let near = |at: &usize| match claim.keeps {
            Keeps::AtMost(_) => -read[*at].high.or(read[*at].value).unwrap_or(f64::NEG_INFINITY),
            _ => read[*at].low.or(read[*at].value).unwrap_or(f64::INFINITY),
        };
        at = (0..all.len()).min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(at);
    }
    let measured = Some(read[at].clone());
    Decided { claim: claim.clone(), decision, why, measured, needs: None }
}

/// Of several things each has to keep the claim; of several estimates of the `same` thing one that
/// tells suffices, where none tells otherwise. With it, whose decision that is.
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

/// Decides by one figure of `of` that are about the claim, each read as the claim is stated: the
/// more there are, the wider is each interval taken, so that the error of all of them together
/// stays the same.
pub fn judged(claim: &SheetClaim, figure: &Figure, of: usize) -> (Decision, Why) {
    let told = judged_as_read(claim, figure, of);
    match (told.0, claim.about.reading) {
        (Decision::Fail, Reading::OneWay) => {
            // Counted from the last bit in it is less, on a link of unknown rate by as much as on
            // the slowest there is.
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

/// Whether so much is claimed of all ports that those with hosts can't offer it together: that the
/// device passes less of what they offer does not break the claim.
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
    // What never came back is away for so long at least; stations that were all known are known,
    // whatever became of a search for more.
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
    let says = match Claim::of(figure).says {
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
                // What a search passed it passed; `read` tells line rate.
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

/// What passed through the device passed, whoever was the limit: where only a direct cable is
/// missing to tell, a rate is a lower bound of the device's, and a time an upper one.
fn without_bypass(figure: &Figure) -> Says {
    let alone = figure.caveats.contains(&Caveat::NoBypass);
    match (figure.value.filter(|_| alone), figure.metric) {
        (Some(value), Metric::Throughput) => Says::AtLeast(value),
        (Some(value), Metric::Rtt | Metric::OneWayDelay) => Says::AtMost(value),
        _ => Says::Nothing,
    }
}

/// What a figure's ends are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They hold the truth with 95 %.
    Interval,
    /// A search's: the upper one failed. Or there is none, and the value is exact.
    Bracket,
}

/// `None` where they are only what was seen.
fn kind(figure: &Figure) -> Option<Kind> {
    match (figure.confidence, figure.text(Key::Interval)) {
        (Some(confidence), _) => (confidence >= CONFIDENCE).then_some(Kind::Interval),
        (None, Some(page::BRACKET) | None) => Some(Kind::Bracket),
        (None, Some(_)) => None,
    }
}

/// Where the device's value may lie.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    value: f64,
    low: f64,
    high: f64,
    /// Whether the upper end itself may be true; that of a search's bracket failed.
    closed: bool,
}

impl Range {
    /// As wide as one of so many intervals has to be, for all of them to miss as seldom as one:
    /// 1 + 0.47 ln n is a little more than the square of the ratio of normal quantiles at
    /// 1 - 0.025 / n and at 0.975, for any n up to 100.
    fn widened(self, of: usize) -> Self {
        let by = (0.47f64.mul_add((of.max(1) as f64).ln(), 1.0)).sqrt();
        let end = |end: f64| self.value + (end - self.value) * by;
        Self { low: end(self.low), high: end(self.high), ..self }
    }

    /// As much wider as the method itself may be off.
    fn give_or_take(self, share: f64) -> Self {
        Self { low: self.low * (1.0 - share), high: self.high * (1.0 + share), ..self }
    }

    fn against(self, claim: &SheetClaim, own: bool) -> (Decision, Why) {
        let claimed = claim.keeps.value();
        let (least, most) = (claimed * (1.0 - claim.margin), claimed * (1.0 + claim.margin));
        // Where line rate is reached is a matter of a thousandth.
        let least_broken = match claim.about.reading {
            Reading::ShareOfLine => least.min(LINE_RATE),
            Reading::SwitchingCapacity => least * LINE_RATE,
            _ => least,
        };
        // A hair's breadth is arithmetic.
        let (above, below) = (self.low >= least * (1.0 - HAIR), self.high <= most * (1.0 + HAIR));
        let short = self.high < least_broken || (!self.closed && self.high <= least_broken && own);
        let over = self.low > most;
        let (kept, broken) = match claim.keeps {
            Keeps::AtLeast(_) => (above, short),
            Keeps::AtMost(_) => (below, over),
            // A count's bracket ends with the first that failed.
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

    /// How many times as much measuring would bring the interval to one side of `claimed`.
    fn times(self, claimed: f64) -> Option<f64> {
        if !self.closed {
            return Some(MORE_STEPS);
        }
        let end = if claimed > self.value { self.high } else { self.low };
        let times = ((end - self.value) / (claimed - self.value)).powi(2) * HEADROOM;
        times.is_finite().then_some(times.max(MORE_STEPS)).filter(|times| *times < MOST_TIMES)
    }
}

/// Whether a caveat doubts what a figure says; others tell how it was had.
const fn doubts(caveat: Caveat) -> bool {
    matches!(
        caveat,
        Caveat::FewBlocks
            | Caveat::FewSamples
            | Caveat::FrameSizeRaised
            | Caveat::TesterDrops
            | Caveat::NoValidTrial
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
