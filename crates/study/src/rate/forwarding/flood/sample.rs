//! Result of one flood: its rates over all flows, and those of a longer flood beyond a shorter one.
//!
//! Owns that arithmetic. Never runs a flood, and never decides whose limit it showed.

use measure::Nanos;

use super::LONGER;
use crate::rate::counts::{lost, sent};
use crate::rate::pacing::starved;
use crate::rate::sustained::{FAR_OVER, backlog};
use trial::record::DatagramsRecord;

/// Rates of one block, in frames a second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    pub(super) block: u32,
    pub(super) offered: f64,
    pub(super) sent: f64,
    pub(super) received: f64,
    /// Change of `received` by one frame of each flow.
    pub(super) frame: f64,
    /// Frames received after each flow's first, and the longest time for them, in seconds.
    pub(super) came: f64,
    pub(super) span: f64,
    /// Counted frames that may be other traffic and hide lost ones.
    pub(super) open: f64,
    pub(super) lost: f64,
    pub(super) duplicated: f64,
    pub(super) reordered: f64,
    pub(super) loss_ratio: f64,
    /// Share of the time in which the sender paused and the path had drained.
    pub(super) starved: f64,
}

impl Sample {
    /// Sums over the flows. The loss ratio is the share of all frames that the path did not carry
    /// during the load. `width` is the threshold of a backlog.
    pub(super) fn from_flows(
        block: u32,
        flows: &[&DatagramsRecord],
        width: f64,
        is_counted: bool,
    ) -> Self {
        let none = Self { block, ..Self::default() };
        let mut all = flows.iter().fold(none, |sum, flow| sum.plus(flow));
        let (lost, queued) = (lost(flows) as f64, backlog(flows, width));
        let by_count = ((lost + queued) / sent(flows).max(1) as f64).min(1.0);
        all.loss_ratio = by_count;
        // Under overload, the loss ratio follows from the rates: the first and the last of few
        // frames distort a count. A device's counter has seen all frames.
        if !is_counted && (queued > 0.0 || by_count > FAR_OVER) {
            all.loss_ratio = (1.0 - all.received / all.sent.max(f64::MIN_POSITIVE)).max(0.0);
        }
        if lost + queued > 0.0 {
            all.lost = all.loss_ratio * all.sent;
        }
        all
    }

    /// Rates of a longer flood beyond a shorter one, without a token bucket's frames; also returns
    /// the number of those frames.
    pub(super) fn beyond(self, shorter: &Self) -> Option<(Self, f64)> {
        let rate = (self.came - shorter.came) / (self.span - shorter.span);
        if self.span < LONGER * shorter.span || rate <= 0.0 {
            return None;
        }
        let received = rate.min(self.sent);
        let loss_ratio = 1.0 - received / self.sent.max(f64::MIN_POSITIVE);
        let bucket = (shorter.came - rate * shorter.span).max(0.0);
        let starved = (self.starved * self.span - shorter.starved * shorter.span).max(0.0)
            / (self.span - shorter.span);
        Some((Self { received, loss_ratio, lost: self.sent - received, starved, ..self }, bucket))
    }

    /// Adds a flow: counts over the sending time, received frames over the longer of sending and
    /// receiving time.
    fn plus(self, seen: &DatagramsRecord) -> Self {
        let over = |count: u64, time: Nanos| match time {
            Nanos::ZERO => 0.0,
            time => count as f64 / time.as_secs_f64(),
        };
        let per_second = |count: u64| over(count, seen.sending);
        Self {
            offered: self.offered + per_second(seen.offered.saturating_sub(1)),
            sent: self.sent + seen.sending_rate().0,
            received: self.received + seen.receiving_rate().0,
            frame: self.frame + over(1, seen.receiving.max(seen.sending)),
            came: self.came + seen.received.unique.saturating_sub(1) as f64,
            span: self.span.max(seen.counted_over().as_secs_f64()),
            open: self.open + per_second(seen.open()),
            duplicated: self.duplicated + per_second(seen.received.duplicated),
            reordered: self.reordered + per_second(seen.received.reordered),
            loss_ratio: 0.0,
            starved: self.starved.max(starved(seen)),
            ..self
        }
    }
}
