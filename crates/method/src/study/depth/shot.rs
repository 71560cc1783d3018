//! One burst into one output: what its records say of the queue that it filled.
//!
//! Owns the arithmetic of the three estimators, in frames, each with what it leaves open. Pure.

use measure::{Histogram, Nanos};

use trial::record::{Clocks, DatagramsRecord};

/// A number and how far off it may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
}

impl Span {
    pub(super) fn times(self, factor: f64) -> Self {
        let Self { low, value, high } = self;
        Self { low: low * factor, value: value * factor, high: high * factor }
    }
}

/// The rate at which an output sends, frames a second, and by what share that may be wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drain {
    pub(super) rate: f64,
    pub(super) error: f64,
}

/// All senders of one output in one trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shot {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Frames a second into the output while the burst was sent.
    pub(super) offered: f64,
    /// Seconds from the first departure to the last: at least, at most.
    filling: (f64, f64),
    /// By how many seconds the longest gap between departures exceeds an even one.
    held_up: f64,
    /// Seconds from the first arrival to the last.
    pub(super) arriving: f64,
    /// By how many seconds the longest gap between arrivals exceeds an even one, of all senders'
    /// frames alike.
    silent: f64,
    /// The shortest delay of any frame, in seconds, where one clock stamped both ends.
    pub(super) shortest: Option<f64>,
    /// By how many seconds that exceeds the shortest known of such frames: the device stood still
    /// as they came.
    pub(super) begun_late: f64,
    /// By how many seconds a frame may have come later than the device let it go: of an emulated
    /// one.
    late: f64,
    /// Frames left their senders no faster than their cables carry: what a sender that was held up
    /// sends at once waits before the cable, and may come so much later than it left.
    paced: bool,
    /// One for each sender whose frames tell.
    delays: Vec<Histogram>,
}

impl Shot {
    /// Of the flows into one output; `spread` is between the first and the last one's start, and no
    /// frame came later than `late` after the device had let it go. `paced`: at most at their
    /// cables' rate.
    pub(super) fn of(
        flows: &[&DatagramsRecord],
        (spread, late): (Nanos, Nanos),
        paced: bool,
    ) -> Self {
        let longest = |pick: fn(&DatagramsRecord) -> Nanos| {
            flows.iter().map(|flow| pick(flow).as_secs_f64()).fold(0.0, f64::max)
        };
        let sending = longest(|flow| flow.sending);
        let spread = if flows.len() > 1 { spread.as_secs_f64() } else { 0.0 };
        let held_up = |flow: &&DatagramsRecord| {
            let even = flow.sending.as_secs_f64() / flow.sent.saturating_sub(1).max(1) as f64;
            let gap = flow.departures.lowest_equivalent(flow.departures.max()).as_secs_f64();
            (gap - even).max(0.0)
        };
        let silent = |flow: &&DatagramsRecord| {
            let even = flow.receiving.as_secs_f64() / flow.received.unique.max(2) as f64;
            let gap = flow.arrivals.lowest_equivalent(flow.arrivals.max()).as_secs_f64();
            (gap - even).max(0.0)
        };
        let comparable = flows.iter().filter_map(|flow| flow.delays.as_ref());
        let shortest = comparable
            .filter(|delays| delays.clocks == Clocks::Same && !delays.histogram.is_empty())
            .map(|delays| delays.histogram.min().as_secs_f64())
            .min_by(f64::total_cmp);
        let delays = flows.iter().filter_map(|flow| Some(&flow.delays.as_ref()?.histogram));
        Self {
            sent: flows.iter().map(|flow| flow.sent).sum(),
            received: flows.iter().map(|flow| flow.received.unique).sum(),
            offered: flows.iter().map(|flow| flow.sending_rate().0).sum(),
            filling: (sending, sending + spread),
            held_up: flows.iter().map(held_up).fold(0.0, f64::max),
            late: late.as_secs_f64(),
            paced,
            arriving: longest(|flow| flow.receiving),
            silent: flows.iter().map(silent).min_by(f64::total_cmp).unwrap_or(0.0),
            shortest,
            begun_late: 0.0,
            delays: delays.filter(|delays| !delays.is_empty()).cloned().collect(),
        }
    }

    /// So many frames, at most, are missing of what the output should have sent, or left the queue
    /// without others to follow: while a sender was held up, and while the device stood still.
    pub(super) fn held_up(&self, drain: Drain) -> f64 {
        drain.rate * (self.held_up.max(self.standing(drain)) + self.begun_late)
    }

    /// The same, without so many seconds for which hosts themselves see frames late.
    pub(super) fn surely_held_up(&self, drain: Drain, late: f64) -> f64 {
        let stood_still = self.standing(drain) + self.begun_late;
        drain.rate * self.held_up.max(stood_still - late)
    }

    /// For how many seconds the output sent nothing between the first frame and the last.
    fn standing(&self, drain: Drain) -> f64 {
        let sending = self.received.saturating_sub(1) as f64;
        let least = drain.rate * (1.0 - drain.error);
        (self.arriving - self.late - sending / least.max(f64::MIN_POSITIVE)).max(0.0)
    }

    /// The share of the time in which the output may have sent nothing, for want of a sender or
    /// because the device stood still, or by which the time may be wrong.
    pub(super) fn idle(&self) -> f64 {
        let lost = self.held_up.max(self.silent) + self.late;
        if self.arriving > 0.0 { (lost / self.arriving).min(1.0) } else { 0.0 }
    }

    pub(super) const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Frames a second that came through while there was always one waiting.
    pub(super) fn came_through(&self) -> f64 {
        if self.arriving > 0.0 {
            self.received.saturating_sub(1) as f64 / self.arriving
        } else {
            0.0
        }
    }

    /// What waited when the last frame left its sender: received less what the output had sent by
    /// then (docs/methods/buffer.md). Of a burst that lost something this is all that can wait; of
    /// one that did not, what it can at least.
    ///
    /// The moments of arrival and of sending are not those of the frames' ends: a frame either way.
    /// A sender that was held up may have let the queue run down by what the output sent meanwhile;
    /// and a paced one's last frame may have come so much later. What the output did not send while
    /// the device stood still was not received either.
    pub(super) fn occupied(&self, drain: Drain) -> Span {
        let (least, most) = self.filling;
        let left = |seconds: f64| self.received as f64 - drain.rate * seconds;
        let unsure = drain.error * drain.rate * most;
        let behind = if self.paced { drain.rate * self.held_up } else { 0.0 };
        Span {
            low: left(most) - behind - unsure - 1.0,
            value: left(f64::midpoint(least, most)),
            high: left(least) + self.held_up(drain) + unsure + 1.0,
        }
    }

    /// The same from how long frames waited that came while the queue was full: whatever was before
    /// them left meanwhile, and they were behind that. A host is late for some frames and early for
    /// none, so it is one from the middle of them that tells; by the longest delay it is more at
    /// most. While the device stood still they waited for that too, and if it did as the first
    /// frame came, that one did. A threshold that is compared before a frame is counted lets one
    /// more in.
    pub(super) fn delayed(&self, drain: Drain) -> Option<Span> {
        let share = self.met_a_full_queue(drain);
        let each = self.delays.iter().map(|delays| waited(delays, 1.0 - share / 2.0));
        let [least, value, most] = each.max_by(|a, b| a[1].total_cmp(&b[1]))?;
        let frames = |seconds: f64, error: f64| seconds * drain.rate * error;
        Some(Span {
            low: frames((least - self.late - self.standing(drain)).max(0.0), 1.0 - drain.error),
            value: frames(value, 1.0) + 1.0,
            high: frames(most + self.begun_late, 1.0 + drain.error) + 2.0,
        })
    }

    /// The share of what was received that came while the queue was full: the rest filled it
    /// before.
    fn met_a_full_queue(&self, drain: Drain) -> f64 {
        let surplus = self.offered - drain.rate;
        if surplus <= 0.0 || self.received == 0 {
            return 0.0;
        }
        let filled = self.occupied(drain).value / surplus;
        let full = drain.rate * (f64::midpoint(self.filling.0, self.filling.1) - filled);
        (full / self.received as f64).clamp(0.0, 1.0)
    }
}

/// By how much a delay exceeds the shortest of one flow, in seconds: that below which the share `q`
/// is, at least and in the middle of what the histogram leaves open; and the longest, at most.
fn waited(delays: &Histogram, q: f64) -> [f64; 3] {
    let (first, last) = (delays.min(), delays.max());
    let one = if q < 1.0 { delays.quantile(q) } else { last };
    let unsure = one.saturating_sub(delays.lowest_equivalent(one));
    let low = one.saturating_sub(unsure).saturating_sub(first).as_secs_f64();
    let high = one.saturating_sub(delays.lowest_equivalent(first)).as_secs_f64();
    let most = last.saturating_sub(delays.lowest_equivalent(first)).as_secs_f64();
    [low, f64::midpoint(low, high), most]
}

/// The burst search's answer: between what waited of the longest burst that
/// lost nothing and of the shortest that did.
pub(super) fn between(passed: &Shot, failed: &Shot, drain: Drain) -> Span {
    let low = passed.occupied(drain);
    let whole = Shot { received: failed.sent, ..failed.clone() };
    let high = whole.occupied(drain);
    let value = f64::midpoint(low.value, high.value).clamp(low.value, high.value.max(low.value));
    Span { low: low.low, value, high: high.high.max(low.high) }
}
