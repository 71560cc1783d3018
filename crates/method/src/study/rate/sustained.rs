//! What a path sustains, as against what it swallows: frames that a queue or a token bucket took in
//! are no rate.
//!
//! Owns what a valid trial of constant load shows of a rate, how a search's bounds follow from all
//! its trials together, and when those contradict each other. Never runs a trial.
//!
//! Of a saturated path whose bucket held b frames, n = r * S + b frames come within S seconds, from
//! the first to the last. Two trials of different lengths tell r from b; the queue is what comes
//! after the sender has stopped.

mod bucket;

use measure::{FrameRate, Nanos};

use crate::search::{FailedBy, Goal, GoalResult, Seen};
use bucket::{Bucket, two_lengths};
use page::Caveat;
use trial::record::DatagramsRecord;
use trial::validity::EDGE;

/// A flood that lost this share on the path is an overload however it was paced.
pub(super) const FAR_OVER: f64 = 0.2;

/// How far below its best a paced sender is surely able to keep a load.
pub(super) const PACING_MARGIN: f64 = 0.02;

/// A load that passed for so long without loss was hardly a bucket's doing: so many times the usual
/// trial, and no longer than this.
const LASTING_TRIALS: u64 = 30;
const LASTING: Nanos = Nanos::from_secs(8);

/// Of a load's frames, what a bucket may give.
const BUCKET_SHARE: f64 = 0.005;

/// A trial for the sake of its length is no longer than twice this, or twice the others.
const LONGEST_AGAIN: Nanos = Nanos::from_secs(4);

/// By so many standard deviations of their mean flows are late together.
const DEVIATIONS: f64 = 3.0;

/// A bracket of more than this share of its upper end is called wide, whatever the search's own
/// width.
const WIDE: f64 = 0.02;

/// How far, relative, a trial's forwarding rate may be above a limit found without contradicting
/// it.
const CONTRADICTION: f64 = 0.005;

/// How likely, by a loss ratio that is the same at any load, so few losses at or below a limit must
/// be at most for the loss to be one that grows with the load. A search tries some dozens of loads,
/// each with a chance of its own.
const BY_CHANCE: f64 = 1e-5;

/// One valid trial of constant load. Rates are of one sending port, each way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Delivery {
    /// As it really was, frames a second.
    pub(super) offered: f64,
    pub(super) duration: Nanos,
    /// Frames of all flows.
    pub(super) sent: u64,
    /// Of these, those that never came.
    pub(super) lost: u64,
    /// Those that came only after the sender had stopped and at a rate below its: they had queued.
    queued: f64,
    /// Frames after the first that came of all flows, as one sending port's share of them, and the
    /// longest time from the first to the last, in seconds.
    came: f64,
    span: f64,
    /// What came out of the flow that fared worst, over the longer of sending and receiving.
    pub(super) out: f64,
    /// A flood whose sender was made to wait: it sent what the path took, and no more.
    held_back: bool,
}

impl Delivery {
    /// `offered` is the load of one sending port; a queue that holds less than `width` of a load's
    /// frames, or a millisecond's worth, is no backlog.
    pub(super) fn of(
        flows: &[&DatagramsRecord],
        (offered, duration): (FrameRate, Nanos),
        width: f64,
    ) -> Self {
        let mut own = Self {
            offered: offered.0,
            duration,
            sent: flows.iter().map(|flow| flow.sent).sum(),
            lost: flows.iter().map(|flow| flow.received.lost(flow.sent)).sum(),
            queued: backlog(flows, width),
            came: 0.0,
            span: 0.0,
            out: offered.0,
            held_back: false,
        };
        let kept = |flow: &DatagramsRecord| {
            flow.receiving_rate().0 / flow.sending_rate().0.max(f64::MIN_POSITIVE)
        };
        let worst = flows.iter().min_by(|a, b| kept(a).total_cmp(&kept(b)));
        if let Some(worst) = worst {
            let all: f64 = flows.iter().map(|flow| flow.sending_rate().0).sum();
            let came = flows.iter().map(|flow| flow.received.unique.saturating_sub(1) as f64);
            own.came = came.sum::<f64>() * offered.0 / all.max(f64::MIN_POSITIVE);
            own.span = flows.iter().map(|f| f.counted_over().as_secs_f64()).fold(0.0, f64::max);
            // Where nothing gave way, the first and the last frame of each of many flows were a
            // little late or early by chance, and the worst of them says nothing of the path.
            let kept = if own.short() > 0 { kept(worst) } else { stretched(flows) };
            own.out = (offered.0 * kept).min(offered.0);
        }
        own
    }

    /// Of a flood whose sender was made to wait.
    pub(super) fn of_held_back(self) -> Self {
        Self { held_back: true, ..self }
    }

    /// Frames that the path did not bring through in the time of the load.
    fn short(&self) -> u64 {
        (self.lost + self.queued()).min(self.sent)
    }

    /// Frames that came, but only after the load because they had queued.
    pub(super) fn queued(&self) -> u64 {
        self.queued.ceil() as u64
    }

    /// As a search hears it.
    pub(super) fn seen(&self) -> Seen {
        Seen::Counted { offered: FrameRate(self.offered), sent: self.sent, lost: self.short() }
    }

    /// Nothing was lost, but a backlog grew: a stall at the trial's end looks the same, so it is
    /// looked at again.
    pub(super) fn only_queued(&self) -> bool {
        self.lost == 0 && self.queued > 0.0
    }

    /// The share of its load that it can't tell from none.
    fn unresolved(&self) -> f64 {
        unresolved(self.duration, self.sent as f64)
    }

    /// The share that was not brought through.
    pub(super) fn short_ratio(&self) -> f64 {
        self.short() as f64 / self.sent.max(1) as f64
    }

    fn saturated(&self) -> bool {
        (self.short() > 0 || self.held_back) && self.span > 0.0 && self.came > 0.0
    }
}

/// The share of its load that a trial of so many frames can't tell from none: its edges' worth of
/// time, and one frame.
fn unresolved(duration: Nanos, frames: f64) -> f64 {
    let edge = EDGE.as_secs_f64() / duration.as_secs_f64();
    edge.max(1.0 / frames.max(1.0)).min(1.0)
}

/// How much longer the flows took to come than to go, in the mean: sending over receiving time.
fn stretched(flows: &[&DatagramsRecord]) -> f64 {
    let share = |flow: &&DatagramsRecord| match flow.receiving.as_secs_f64() {
        receiving if receiving > 0.0 => flow.sending.as_secs_f64() / receiving,
        _ => 1.0,
    };
    flows.iter().map(share).sum::<f64>() / flows.len() as f64
}

/// Frames that waited in the path when the sender stopped; none where so few did that stamps and
/// single late frames explain them. Of many flows that take turns in one queue each comes a turn
/// sooner or later by chance, which their mean does not: it has to be beyond what they differ by,
/// or one flow's own backlog beyond a turn.
pub(super) fn backlog(flows: &[&DatagramsRecord], width: f64) -> f64 {
    let edge = |flow: &DatagramsRecord| flow.sending_rate().0 * EDGE.as_secs_f64();
    let noted = |flow: &DatagramsRecord| width * flow.sent as f64 + edge(flow);
    let many = flows.len() > 1;
    let turn = if many { 1.0 } else { 0.0 };
    let own = |flow: &&&DatagramsRecord| flow.queued() > noted(flow) + turn;
    let alone: f64 = flows.iter().filter(own).map(|flow| flow.queued()).sum();
    if !many {
        return alone;
    }
    let each: Vec<f64> = flows.iter().map(|flow| late_frames(flow)).collect();
    let count = each.len() as f64;
    let all: f64 = each.iter().sum();
    let mean = all / count;
    let variance = each.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let by_chance = DEVIATIONS * (variance * count).sqrt();
    let together = all - by_chance > flows.iter().map(|flow| noted(flow)).sum();
    if together { all.max(alone) } else { alone }
}

/// Frames' worth of time by which a flow took longer to come than to go; less than nothing where it
/// took shorter.
fn late_frames(flow: &DatagramsRecord) -> f64 {
    let (sending, receiving) = (flow.sending.as_secs_f64(), flow.receiving.as_secs_f64());
    if receiving > 0.0 { flow.received.unique as f64 * (1.0 - sending / receiving) } else { 0.0 }
}

/// A load that came through whole in a trial that was invalid only because the tester fell short.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Carried {
    offered: f64,
    duration: Nanos,
}

impl Carried {
    fn frames(&self) -> f64 {
        self.offered * self.duration.as_secs_f64()
    }
}

/// All valid trials of one way and frame size, and the loads that others carried whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Deliveries {
    trials: Vec<Delivery>,
    carried: Vec<Carried>,
}

/// A limit found, as it may be published.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bracket {
    /// The path sustains this; none where no load passed.
    pub(super) low: Option<f64>,
    /// It does not sustain this; none where the highest load passed.
    pub(super) high: Option<f64>,
    /// Where the loss does not grow with the load: a load, and the share lost at it.
    pub(super) loss: Option<(f64, f64)>,
    /// Frames that the path swallowed beyond its rate, where they are more than the bracket's
    /// width.
    pub(super) buffered: Option<f64>,
    /// By this share of it `low` may be too high: a backlog that small does not show in a trial so
    /// short.
    pub(super) unresolved: f64,
}

impl Bracket {
    /// What the path sustains for sure.
    pub(super) fn surely(&self) -> Option<f64> {
        self.low.map(|low| low * (1.0 - self.unresolved))
    }

    /// What is to be said of a search's bounds.
    pub(super) fn doubts(&self, result: &GoalResult) -> Vec<Caveat> {
        let by_loss = result.relevant_upper.is_some_and(|failure| failure.by == FailedBy::Loss);
        let wide = match (self.low, self.high) {
            (Some(low), Some(high)) => result.irregular || high - low > WIDE * high,
            _ => false,
        };
        let limit = self.loss.is_none();
        let doubts = [
            (!limit, Caveat::LossNotByLoad),
            (limit && self.low.is_none(), Caveat::Irregular),
            (result.relevant_upper.is_none(), Caveat::SearchCeiling),
            (limit && wide && by_loss, Caveat::WideBracket),
            (self.buffered.is_some(), Caveat::Buffered),
        ];
        doubts.into_iter().filter(|(so, _)| *so).map(|(_, caveat)| caveat).collect()
    }
}

impl Deliveries {
    pub(super) fn extend(&mut self, deliveries: Vec<Delivery>) {
        self.trials.extend(deliveries);
    }

    pub(super) fn push(&mut self, delivery: Delivery) {
        self.trials.push(delivery);
    }

    /// A load without loss in a trial in which the tester fell short of what was asked. It bounds a
    /// rate from below, less what a bucket gave, but a search does not count it as a trial.
    pub(super) fn push_carried(&mut self, offered: FrameRate, duration: Nanos) {
        self.carried.push(Carried { offered: offered.0, duration });
    }

    /// The highest rate at which frames came out, over whole trials and without what a bucket gave.
    pub(super) fn highest(&self) -> Option<f64> {
        self.trials.iter().map(|one| self.without_bucket(one)).max_by(f64::total_cmp)
    }

    /// Frames that a bucket gave at first, where they are a share of a rate: of one sending port.
    pub(super) fn notable_bucket(&self) -> Option<f64> {
        self.bucket().filter(|bucket| bucket.is_notable).map(|bucket| bucket.frames)
    }

    /// Frames a second without what such a bucket gives.
    pub(super) fn rate_of_bucket(&self) -> Option<f64> {
        self.bucket().filter(|bucket| bucket.is_notable).map(|bucket| bucket.rate)
    }

    /// For how long a load has to last so that what a bucket gives is a small share of it.
    pub(super) fn long_enough_for_a_rate(&self) -> Nanos {
        let seconds = self.bucket().map_or(0.0, |one| one.frames / one.rate / BUCKET_SHARE);
        Nanos::from_secs_f64(seconds).min(LONGEST_AGAIN)
    }

    /// The load and length of a further trial, where those that saturated the path are all of a
    /// length and so can't tell a rate from a bucket.
    pub(super) fn another_length(&self) -> Option<(f64, Nanos)> {
        let saturated = || self.trials.iter().filter(|one| one.saturated() && !one.held_back);
        let lowest = saturated().map(|one| one.offered).min_by(f64::total_cmp)?;
        if self.of_two_lengths() {
            return None;
        }
        let out = saturated().map(|one| one.out).max_by(f64::total_cmp)?;
        let longest = saturated().map(|one| one.duration).max()?;
        Some(((lowest * 1.5).min(out * 2.0), longer(longest)))
    }

    /// The highest load that passed, where no trial at about it lasted so long; none where a trial
    /// was saturated, so that a limit shows.
    pub(super) fn passed_briefly(&self, lasting: Nanos) -> Option<f64> {
        if self.trials.iter().any(Delivery::saturated) {
            return None;
        }
        let highest = self.trials.iter().max_by(|a, b| a.offered.total_cmp(&b.offered))?;
        let lasted = |one: &Delivery| {
            one.duration >= lasting && one.offered >= highest.offered * (1.0 - PACING_MARGIN)
        };
        (!self.trials.iter().any(lasted)).then_some(highest.offered)
    }

    /// The length of a further flood, where nothing but floods whose sender was held back tells of
    /// the path, and all of these were of a length.
    pub(super) fn another_flood(&self) -> Option<Nanos> {
        let lossless = self.trials.iter().all(|one| one.held_back || !one.saturated());
        let longest =
            self.trials.iter().filter(|one| one.held_back).map(|one| one.duration).max()?;
        (lossless && !self.of_two_lengths()).then(|| longer(longest))
    }

    /// Whether saturated trials are of two lengths, so that no other tells more of a bucket.
    fn of_two_lengths(&self) -> bool {
        let saturated: Vec<&Delivery> = self.trials.iter().filter(|one| one.saturated()).collect();
        two_lengths(&saturated).is_some()
    }

    fn bucket(&self) -> Option<Bucket> {
        Bucket::of(&self.trials)
    }

    /// A trial's forwarding rate less what a bucket gave.
    fn without_bucket(&self, one: &Delivery) -> f64 {
        self.less_bucket(one.out, one.span.max(one.duration.as_secs_f64()))
    }

    /// A rate over so many seconds less what a bucket gave: where that is much, no more than the
    /// rate that longer trials tell, for a bucket is not as full each time.
    fn less_bucket(&self, rate: f64, seconds: f64) -> f64 {
        match self.bucket() {
            Some(bucket) if bucket.is_notable => rate.min(bucket.rate),
            Some(bucket) => (rate - bucket.frames / seconds).max(0.0),
            None => rate,
        }
    }

    /// The most frames that waited when a sender stopped, of trials that lost some: the queue was
    /// full.
    fn queue(&self) -> f64 {
        self.trials.iter().map(|one| one.queued).fold(0.0, f64::max)
    }

    /// What a search's result comes to beside all trials.
    pub(super) fn bracket(&self, result: &GoalResult, goal: &Goal) -> Bracket {
        let failure = result.relevant_upper;
        let high = failure.map(|failure| failure.rate.0 * (1.0 + self.one_frame(failure.rate.0)));
        let Some(lower) = result.relevant_lower.map(|rate| rate.0) else {
            return Bracket {
                high,
                loss: self.loss_not_by_load(None, high, goal),
                ..Bracket::default()
            };
        };
        let passed = self.passed_at(lower, goal);
        let carried = self.carried_at(lower).filter(|_| passed.is_none());
        let low = match (passed, carried) {
            // What came out is all that is known to be forwarded; the goal allows a share of it to
            // be lost.
            (Some(one), _) => (self.without_bucket(one) / (1.0 - goal.loss_ratio)).min(lower),
            (None, Some(one)) => self.less_bucket(one.offered, one.duration.as_secs_f64()),
            (None, None) => lower,
        };
        let swallowed = self.queue() + self.bucket().map_or(0.0, |bucket| bucket.frames);
        let notable = passed.is_some_and(|one| swallowed > goal.width * one.sent as f64);
        let by_loss = failure.is_some_and(|failure| failure.by == FailedBy::Loss);
        Bracket {
            low: Some(low),
            high: high.map(|high| high.max(low)),
            loss: if by_loss { self.loss_not_by_load(Some(lower), high, goal) } else { None },
            buffered: (notable && by_loss).then_some(swallowed),
            unresolved: match (passed, carried) {
                (Some(one), _) => one.unresolved(),
                (None, Some(one)) => unresolved(one.duration, one.frames()),
                (None, None) => 0.0,
            },
        }
    }

    /// Of the trials that failed at a load, the share that one frame is: so much higher a path's
    /// rate may be where the trial's edges cost a frame.
    fn one_frame(&self, load: f64) -> f64 {
        let at = |one: &&Delivery| (one.offered / load - 1.0).abs() < 1e-9 && one.short() > 0;
        let most = self.trials.iter().filter(at).map(|one| one.sent).max();
        most.map_or(0.0, |sent| 1.0 / sent.max(1) as f64)
    }

    /// The longest trial at that load that met the goal.
    fn passed_at(&self, load: f64, goal: &Goal) -> Option<&Delivery> {
        let at = |one: &&Delivery| (one.offered / load - 1.0).abs() < 1e-9;
        let passed = |one: &&Delivery| one.short_ratio() <= goal.loss_ratio;
        self.trials.iter().filter(at).filter(passed).max_by_key(|one| one.duration)
    }

    /// The longest trial without loss in which the tester fell short, where that load was its own.
    fn carried_at(&self, load: f64) -> Option<&Carried> {
        let at = |one: &&Carried| (one.offered / load - 1.0).abs() < 1e-9;
        self.carried.iter().filter(at).max_by_key(|one| one.duration)
    }

    /// A limit that another trial contradicts, because more came through at a higher load, stands
    /// only if the loss grows with the load: else it is where chance had it. The load is the
    /// highest that was forwarded about whole.
    fn loss_not_by_load(
        &self,
        low: Option<f64>,
        high: Option<f64>,
        goal: &Goal,
    ) -> Option<(f64, f64)> {
        let high = high?;
        let out = |one: &Delivery| self.without_bucket(one) / (1.0 - goal.loss_ratio);
        let best = self.trials.iter().max_by(|a, b| out(a).total_cmp(&out(b)))?;
        if out(best) <= high * (1.0 + CONTRADICTION) {
            return None;
        }
        // Loads that it has been seen to forward, above the limit, and what was lost at them.
        let above = |one: &&Delivery| {
            low.is_none_or(|low| one.offered > low)
                && one.offered <= out(best) * (1.0 + CONTRADICTION)
        };
        let carried = || self.trials.iter().filter(above);
        let highest = carried().max_by(|a, b| a.offered.total_cmp(&b.offered)).unwrap_or(best);
        let ratio = share(carried());
        // All trials up to it, and not only those without loss: the search stopped where it had
        // luck.
        let below = |one: &&Delivery| low.is_some_and(|low| one.offered <= low * (1.0 + 1e-9));
        let (mut sent, mut short) = (0, 0);
        for one in self.trials.iter().filter(below) {
            sent += one.sent;
            short += one.short();
        }
        let by_chance = poisson_at_most(short, ratio * sent as f64) > BY_CHANCE;
        let lost = highest.lost as f64 / highest.sent.max(1) as f64;
        by_chance.then_some((highest.offered, lost))
    }
}

/// The share of these trials' frames that was not brought through.
fn share<'a>(trials: impl Iterator<Item = &'a Delivery>) -> f64 {
    let (sent, short) =
        trials.fold((0, 0), |(sent, short), one| (sent + one.sent, short + one.short()));
    short as f64 / sent.max(1) as f64
}

/// How likely so many events or fewer are where `mean` are expected.
fn poisson_at_most(events: u64, mean: f64) -> f64 {
    if events as f64 >= mean {
        return 1.0;
    }
    let mut term = -mean;
    let mut sum = term.exp();
    for event in 1..=events {
        term += mean.ln() - (event as f64).ln();
        sum += term.exp();
    }
    sum
}

/// Of another length than the longest so far.
pub(super) fn longer(longest: Nanos) -> Nanos {
    (longest * 4).min(longest.max(LONGEST_AGAIN) * 2)
}

/// How long a load has to pass that is no bucket's doing, beside trials of that length.
pub(super) fn lasting(duration: Nanos) -> Nanos {
    LASTING.min(duration * LASTING_TRIALS)
}

#[cfg(test)]
mod tests;
