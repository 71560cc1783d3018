//! Queue of one output during one burst, from the burst's records.
//!
//! Owns the arithmetic of the three estimators, in frames, each with its error. Pure.

use measure::{Histogram, Nanos};

use trial::record::{Clocks, DatagramsRecord};

/// Value with lower and upper bound.
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

/// Output rate in frames a second, and its relative error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drain {
    pub(super) rate: f64,
    pub(super) error: f64,
}

/// Records of all senders of one output in one trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shot {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Frames a second into the output while the burst was sent.
    pub(super) offered: f64,
    /// Seconds from the first departure to the last: minimum and maximum.
    filling: (f64, f64),
    /// Excess of the longest departure gap over an even one, in seconds.
    held_up: f64,
    /// Seconds from the first arrival to the last.
    pub(super) arriving: f64,
    /// Excess of the longest arrival gap over an even one, in seconds; the smallest of all senders.
    silent: f64,
    /// Shortest delay of any frame, in seconds; `None` without a common clock.
    pub(super) shortest: Option<f64>,
    /// Excess of `shortest` over the shortest known delay of such frames, in seconds: the device
    /// stalled when they arrived.
    pub(super) begun_late: f64,
    /// Maximum seconds between a frame's release by an emulated device and its arrival; zero for
    /// others.
    late: f64,
    /// True if frames left their senders no faster than their cables carry. Frames of a delayed
    /// sender then queue before the cable and arrive that much later.
    paced: bool,
    /// Delays of each sender with delay samples.
    delays: Vec<Histogram>,
}

impl Shot {
    /// Combines the flows into one output. `spread` is between the first and the last flow's start.
    /// No frame arrived later than `late` after the device released it. `paced` means at most the
    /// cables' rate.
    pub(super) fn from_flows(
        flows: &[&DatagramsRecord],
        spread: Nanos,
        late: Nanos,
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

    /// Upper bound of the frames that the output failed to send while a sender was delayed or the
    /// device stalled, or that left the queue unreplaced.
    pub(super) fn held_up(&self, drain: Drain) -> f64 {
        drain.rate * (self.held_up.max(self.standing(drain)) + self.begun_late)
    }

    /// Lost frames as above, without a delay of `late` seconds that the hosts cause.
    pub(super) fn surely_held_up(&self, drain: Drain, late: f64) -> f64 {
        let stood_still = self.standing(drain) + self.begun_late;
        drain.rate * self.held_up.max(stood_still - late)
    }

    /// Seconds in which the output sent nothing between the first frame and the last.
    fn standing(&self, drain: Drain) -> f64 {
        let sending = self.received.saturating_sub(1) as f64;
        let least = drain.rate * (1.0 - drain.error);
        (self.arriving - self.late - sending / least.max(f64::MIN_POSITIVE)).max(0.0)
    }

    /// Upper bound of the share of time in which the output was idle, or by which the time is
    /// wrong.
    pub(super) fn idle(&self) -> f64 {
        let lost = self.held_up.max(self.silent) + self.late;
        if self.arriving > 0.0 { (lost / self.arriving).min(1.0) } else { 0.0 }
    }

    pub(super) const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Frames a second that arrived while the queue was not empty.
    pub(super) fn came_through(&self) -> f64 {
        if self.arriving > 0.0 {
            self.received.saturating_sub(1) as f64 / self.arriving
        } else {
            0.0
        }
    }

    /// Queue when the last frame left its sender: frames received less those the output had sent by
    /// then (docs/methods/buffer.md). After a loss this is the capacity, otherwise a lower bound of
    /// it.
    ///
    /// Arrival and sending stamps are not those of the frames' ends: one frame in either direction.
    /// While a sender was delayed, the queue may have drained by the output's rate. A paced
    /// sender's last frame may be late by the delay. Frames that the output did not send during a
    /// stall were not received either.
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

    /// Queue from the delay of frames that arrived while it was full: the frames ahead left
    /// meanwhile.
    ///
    /// Hosts only ever stamp late, so the estimate uses the middle of these frames. The longest
    /// delay gives the upper bound. A stall adds to the delays, and one at the first frame adds to
    /// that frame's. A threshold that is compared before a frame is counted admits one more.
    pub(super) fn occupancy_from_delay(&self, drain: Drain) -> Option<Span> {
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

    /// Share of the received frames that arrived while the queue was full; the others filled it.
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

/// Excess of a flow's delays over its shortest, in seconds: of quantile `q` the minimum and the
/// middle of its histogram bucket, and of the longest the maximum.
fn waited(delays: &Histogram, q: f64) -> [f64; 3] {
    let (first, last) = (delays.min(), delays.max());
    let one = if q < 1.0 { delays.quantile(q) } else { last };
    let unsure = one.saturating_sub(delays.lowest_equivalent(one));
    let low = one.saturating_sub(unsure).saturating_sub(first).as_secs_f64();
    let high = one.saturating_sub(delays.lowest_equivalent(first)).as_secs_f64();
    let most = last.saturating_sub(delays.lowest_equivalent(first)).as_secs_f64();
    [low, f64::midpoint(low, high), most]
}

/// Result of the burst search: between the queue of the longest burst without loss and that of the
/// shortest with loss.
pub(super) fn between(passed: &Shot, failed: &Shot, drain: Drain) -> Span {
    let low = passed.occupied(drain);
    let whole = Shot { received: failed.sent, ..failed.clone() };
    let high = whole.occupied(drain);
    let value = f64::midpoint(low.value, high.value).clamp(low.value, high.value.max(low.value));
    Span { low: low.low, value, high: high.high.max(low.high) }
}
