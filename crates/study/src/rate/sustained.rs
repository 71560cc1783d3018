//! Sustained rate of a path, without the frames that a queue or a token bucket absorbs.
//!
//! Owns the evidence that a valid trial of constant load gives for a rate, how a search's bounds
//! follow from all its trials, and when those contradict each other. Never runs a trial.
//!
//! A saturated path whose bucket held b frames delivers n = r * S + b frames within S seconds, from
//! the first to the last. Two trials of different lengths separate r from b. The queue is what
//! arrives after the sender has stopped.

mod bucket;

use measure::{FrameRate, Nanos};

use crate::search::{FailedBy, Goal, GoalResult, Seen};
use bucket::{Bucket, two_lengths};
use page::Caveat;
use trial::record::DatagramsRecord;
use trial::validity::EDGE;

/// Share of lost frames above which a flood is an overload, however it was paced.
pub(super) const FAR_OVER: f64 = 0.2;

/// Margin below its maximum within which a paced sender can certainly keep a load.
pub(super) const PACING_MARGIN: f64 = 0.02;

/// Duration of a load without loss that a bucket hardly explains: this multiple of the usual trial,
/// at most [`LASTING`].
const LASTING_TRIALS: u64 = 30;
const LASTING: Nanos = Nanos::from_secs(8);

/// Share of a load's frames that a bucket may contribute.
const BUCKET_SHARE: f64 = 0.005;

/// Half the maximum length of a trial that is extended only for its length, unless the others are
/// longer.
const LONGEST_AGAIN: Nanos = Nanos::from_secs(4);

/// Standard deviations of the mean by which flows count as late together.
const DEVIATIONS: f64 = 3.0;

/// Share of its upper end above which a bracket counts as wide, whatever the search's own width.
const WIDE: f64 = 0.02;

/// Relative excess of a trial's forwarding rate over a limit that does not contradict it.
const CONTRADICTION: f64 = 0.005;

/// Probability threshold for a loss that grows with the load. It applies to the chance of so few
/// losses at or below a limit if the loss ratio were the same at any load. A search tries some
/// dozens of loads, with a chance each.
const BY_CHANCE: f64 = 1e-5;

/// Valid trial of constant load. Rates are those of one sending port in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Delivery {
    /// Actual load in frames a second.
    pub(super) offered: f64,
    pub(super) duration: Nanos,
    /// Frames sent by all flows.
    pub(super) sent: u64,
    /// Frames lost by all flows.
    pub(super) lost: u64,
    /// Frames queued: they arrived after the sender had stopped, at a lower rate.
    queued: f64,
    /// Frames received after the first by all flows, as one sending port's share, and the longest
    /// time from first to last in seconds.
    came: f64,
    span: f64,
    /// Output rate of the worst flow, over the longer of sending and receiving time.
    pub(super) out: f64,
    /// True for a flood with a held-back sender: it sent only what the path accepted.
    held_back: bool,
}

impl Delivery {
    /// Creates a delivery; `offered` is the load of one sending port. A queue below `width` of a
    /// load's frames, or a millisecond of it, is no backlog.
    pub(super) fn from_flows(
        flows: &[&DatagramsRecord],
        offered: FrameRate,
        duration: Nanos,
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
            // Without an overload, the first and last frames of many flows vary by chance. The
            // worst flow then shows nothing of the path.
            let kept = if own.short() > 0 { kept(worst) } else { stretched(flows) };
            own.out = (offered.0 * kept).min(offered.0);
        }
        own
    }

    /// Marks a flood with a held-back sender.
    pub(super) fn of_held_back(self) -> Self {
        Self { held_back: true, ..self }
    }

    /// Frames that the path did not carry during the load.
    fn short(&self) -> u64 {
        (self.lost + self.queued()).min(self.sent)
    }

    /// Frames that arrived only after the load, because they had queued.
    pub(super) fn queued(&self) -> u64 {
        self.queued.ceil() as u64
    }

    /// Result in the form that a search takes.
    pub(super) fn search_result(&self) -> Seen {
        Seen::Counted { offered: FrameRate(self.offered), sent: self.sent, lost: self.short() }
    }

    /// True if nothing was lost, but a backlog grew. A stall at the trial's end looks the same, so
    /// the trial is repeated.
    pub(super) fn only_queued(&self) -> bool {
        self.lost == 0 && self.queued > 0.0
    }

    /// Smallest loss ratio that the trial resolves.
    fn unresolved(&self) -> f64 {
        unresolved(self.duration, self.sent as f64)
    }

    /// Share of the frames that the path did not carry.
    pub(super) fn short_ratio(&self) -> f64 {
        self.short() as f64 / self.sent.max(1) as f64
    }

    fn saturated(&self) -> bool {
        (self.short() > 0 || self.held_back) && self.span > 0.0 && self.came > 0.0
    }
}

/// Smallest loss ratio that a trial of `frames` frames resolves: the time of its edges, or one
/// frame.
fn unresolved(duration: Nanos, frames: f64) -> f64 {
    let edge = EDGE.as_secs_f64() / duration.as_secs_f64();
    edge.max(1.0 / frames.max(1.0)).min(1.0)
}

/// Mean ratio of sending to receiving time of the flows.
fn stretched(flows: &[&DatagramsRecord]) -> f64 {
    let share = |flow: &&DatagramsRecord| match flow.receiving.as_secs_f64() {
        receiving if receiving > 0.0 => flow.sending.as_secs_f64() / receiving,
        _ => 1.0,
    };
    flows.iter().map(share).sum::<f64>() / flows.len() as f64
}

/// Frames queued in the path when the sender stopped; zero if stamps and single late frames explain
/// them. With many flows in one queue, a flow's frames come a turn sooner or later by chance, but
/// their mean does not. So the total must exceed the flows' variation, or one flow's own backlog a
/// turn.
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

/// Lateness of a flow at its end in frames: receiving time beyond sending time; negative if
/// shorter.
fn late_frames(flow: &DatagramsRecord) -> f64 {
    let (sending, receiving) = (flow.sending.as_secs_f64(), flow.receiving.as_secs_f64());
    if receiving > 0.0 { flow.received.unique as f64 * (1.0 - sending / receiving) } else { 0.0 }
}

/// Load without loss in a trial that was invalid only because the tester fell short.
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

/// Valid trials of one path and frame size, and the loads without loss of others.
#[derive(Debug, Clone, Default)]
pub(super) struct Deliveries {
    trials: Vec<Delivery>,
    carried: Vec<Carried>,
}

/// Bracket of a limit, as it may be published.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bracket {
    /// Rate that the path sustains; `None` if no load passed.
    pub(super) low: Option<f64>,
    /// Rate that the path does not sustain; `None` if the highest load passed.
    pub(super) high: Option<f64>,
    /// Load and its loss ratio, if the loss does not grow with the load.
    pub(super) loss: Option<(f64, f64)>,
    /// Frames that the path absorbed beyond its rate; `None` if fewer than the bracket's width.
    pub(super) buffered: Option<f64>,
    /// Relative error of `low`: a small backlog does not show in a short trial.
    pub(super) unresolved: f64,
}

impl Bracket {
    /// Rate that the path certainly sustains.
    pub(super) fn surely(&self) -> Option<f64> {
        self.low.map(|low| low * (1.0 - self.unresolved))
    }

    /// Caveats of a search's bounds.
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

    /// Adds a load without loss in a trial in which the tester fell short of the requested load. It
    /// is a lower bound of the rate, less a bucket's frames, but a search does not count it as a
    /// trial.
    pub(super) fn push_carried(&mut self, offered: FrameRate, duration: Nanos) {
        self.carried.push(Carried { offered: offered.0, duration });
    }

    /// Highest rate received over whole trials, without a bucket's frames.
    pub(super) fn highest(&self) -> Option<f64> {
        self.trials.iter().map(|one| self.without_bucket(one)).max_by(f64::total_cmp)
    }

    /// Frames of a bucket for one sending port, if they are a notable share of a rate.
    pub(super) fn notable_bucket(&self) -> Option<f64> {
        self.bucket().filter(|bucket| bucket.is_notable).map(|bucket| bucket.frames)
    }

    /// Rate in frames a second without a notable bucket's frames.
    pub(super) fn rate_of_bucket(&self) -> Option<f64> {
        self.bucket().filter(|bucket| bucket.is_notable).map(|bucket| bucket.rate)
    }

    /// Minimum duration of a load for which a bucket's frames are a small share.
    pub(super) fn long_enough_for_a_rate(&self) -> Nanos {
        let seconds = self.bucket().map_or(0.0, |one| one.frames / one.rate / BUCKET_SHARE);
        Nanos::from_secs_f64(seconds).min(LONGEST_AGAIN)
    }

    /// Load and length of a further trial, if all saturated trials have one length and so do not
    /// separate rate and bucket.
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

    /// Highest load that passed, if no trial near it lasted long enough; `None` if a trial was
    /// saturated, which shows the limit.
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

    /// Length of a further flood; `None` unless floods of one length with a held-back sender are
    /// the only evidence.
    pub(super) fn another_flood(&self) -> Option<Nanos> {
        let lossless = self.trials.iter().all(|one| one.held_back || !one.saturated());
        let longest =
            self.trials.iter().filter(|one| one.held_back).map(|one| one.duration).max()?;
        (lossless && !self.of_two_lengths()).then(|| longer(longest))
    }

    /// True if saturated trials have two lengths, which is enough to find a bucket.
    fn of_two_lengths(&self) -> bool {
        let saturated: Vec<&Delivery> = self.trials.iter().filter(|one| one.saturated()).collect();
        two_lengths(&saturated).is_some()
    }

    fn bucket(&self) -> Option<Bucket> {
        Bucket::from_trials(&self.trials)
    }

    /// Forwarding rate of a trial without a bucket's frames.
    fn without_bucket(&self, one: &Delivery) -> f64 {
        self.less_bucket(one.out, one.span.max(one.duration.as_secs_f64()))
    }

    /// Rate over `seconds` without a bucket's frames. If they are many, it is at most the rate from
    /// longer trials, as the bucket's level varies.
    fn less_bucket(&self, rate: f64, seconds: f64) -> f64 {
        match self.bucket() {
            Some(bucket) if bucket.is_notable => rate.min(bucket.rate),
            Some(bucket) => (rate - bucket.frames / seconds).max(0.0),
            None => rate,
        }
    }

    /// Largest queue when a sender stopped, which is full in trials with loss.
    fn queue(&self) -> f64 {
        self.trials.iter().map(|one| one.queued).fold(0.0, f64::max)
    }

    /// Bracket from a search's result and all trials.
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
            // Only the received rate is known to be forwarded; the goal allows a share of loss.
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

    /// Share that one frame has in the failed trials at a load. The path's rate may be higher by
    /// that, as a trial's edges can cost a frame.
    fn one_frame(&self, load: f64) -> f64 {
        let at = |one: &&Delivery| (one.offered / load - 1.0).abs() < 1e-9 && one.short() > 0;
        let most = self.trials.iter().filter(at).map(|one| one.sent).max();
        most.map_or(0.0, |sent| 1.0 / sent.max(1) as f64)
    }

    /// Longest trial at a load that met the goal.
    fn passed_at(&self, load: f64, goal: &Goal) -> Option<&Delivery> {
        let at = |one: &&Delivery| (one.offered / load - 1.0).abs() < 1e-9;
        let passed = |one: &&Delivery| one.short_ratio() <= goal.loss_ratio;
        self.trials.iter().filter(at).filter(passed).max_by_key(|one| one.duration)
    }

    /// Longest trial without loss in which the tester fell short, at this load.
    fn carried_at(&self, load: f64) -> Option<&Carried> {
        let at = |one: &&Carried| (one.offered / load - 1.0).abs() < 1e-9;
        self.carried.iter().filter(at).max_by_key(|one| one.duration)
    }

    /// Loss that does not grow with the load. If more frames came through at a higher load, a limit
    /// holds only if the loss grows with the load. Otherwise returns the highest load that was
    /// forwarded almost without loss, and its loss ratio.
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
        // Loads above the limit that the path forwarded, and their loss.
        let above = |one: &&Delivery| {
            low.is_none_or(|low| one.offered > low)
                && one.offered <= out(best) * (1.0 + CONTRADICTION)
        };
        let carried = || self.trials.iter().filter(above);
        let highest = carried().max_by(|a, b| a.offered.total_cmp(&b.offered)).unwrap_or(best);
        let ratio = share(carried());
        // Includes all trials up to it, not only those without loss, as the search stopped at a
        // lucky one.
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

/// Share of these trials' frames that the path did not carry.
fn share<'a>(trials: impl Iterator<Item = &'a Delivery>) -> f64 {
    let (sent, short) =
        trials.fold((0, 0), |(sent, short), one| (sent + one.sent, short + one.short()));
    short as f64 / sent.max(1) as f64
}

/// Probability of at most `events` events, if `mean` are expected.
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

/// Length of a trial that differs enough from the longest so far.
pub(super) fn longer(longest: Nanos) -> Nanos {
    (longest * 4).min(longest.max(LONGEST_AGAIN) * 2)
}

/// Duration for which a load must pass to rule out a bucket, next to trials of the given length.
pub(super) fn lasting(duration: Nanos) -> Nanos {
    LASTING.min(duration * LASTING_TRIALS)
}

#[cfg(test)]
mod tests;
