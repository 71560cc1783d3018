//! Measurements of a sender: its busy time, its limits, its delivery rate.
//!
//! Owns clocks and counters on which nothing else depends, with one exception: whether the
//! congestion window was used (RFC 7661). Never decides what is sent.

use measure::Picos;

/// Reason why nothing may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// No payload is left to send.
    Payload,
    /// Congestion window is full.
    Congestion,
    /// Receiver's window is full.
    Receiver,
    /// Pacing: the next segment is not due yet.
    Pacer,
}

/// Busy time of a sender, and the part of it stalled by the receiver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Activity {
    busy: bool,
    stalled: bool,
    since: Picos,
    busy_for: Picos,
    stalled_for: Picos,
}

impl Activity {
    pub(super) fn change(&mut self, now: Picos, busy: bool, stalled: bool) {
        if (busy, stalled) != (self.busy, self.stalled) {
            (self.busy_for, self.stalled_for) = self.totals(now);
            (self.busy, self.stalled, self.since) = (busy, stalled, now);
        }
    }

    /// Busy and stalled time up to `now`.
    pub(super) fn totals(&self, now: Picos) -> (Picos, Picos) {
        let span = now.saturating_sub(self.since);
        let of = |on: bool| if on { span } else { Picos::ZERO };
        (self.busy_for + of(self.busy), self.stalled_for + of(self.stalled))
    }
}

/// Use of the congestion window during the last round trip (as Linux's `tcp_cwnd_validate` tracks
/// it).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    limited: bool,
    /// Most octets outstanding in that time.
    most: u64,
    until: u64,
}

impl Usage {
    /// Records a sent segment, or one that the full window held back.
    pub(super) fn note(&mut self, limited: bool, una: u64, next: u64) {
        if limited || una >= self.until || (!self.limited && next - una > self.most) {
            *self = Self { limited, most: next - una, until: next };
        }
    }

    /// True if the window may grow.
    pub(super) fn grows(&self, slow_start: bool, window: u64) -> bool {
        self.limited || (slow_start && window < 2 * self.most)
    }
}

/// Delivery rate over the last round trip, in octets per second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeliveryRate {
    octets: u64,
    since: Option<Picos>,
    last: u64,
}

impl DeliveryRate {
    /// Begins again after an idle time, which does not count.
    pub(super) fn begin(&mut self, now: Picos) {
        (self.octets, self.since) = (0, Some(now));
    }

    pub(super) fn delivered(&mut self, now: Picos, octets: u64, round_trip: Picos) {
        self.octets += octets;
        let span = now.saturating_sub(self.since.unwrap_or(now)).0;
        if span >= round_trip.0.max(1) {
            let bits = u128::from(self.octets) * 8_000_000_000_000 / u128::from(span);
            self.last = u64::try_from(bits).unwrap_or(u64::MAX);
            self.begin(now);
        }
    }

    pub(super) fn bits_per_second(&self) -> u64 {
        self.last
    }
}

/// Spreads segments over the round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pacer {
    next: Picos,
    /// True if the sender waits for the pacer.
    pub(super) waits: bool,
}

impl Pacer {
    /// Time at which the next segment may leave.
    pub(super) fn next(&self) -> Picos {
        self.next
    }

    /// Records a sent segment. The rate is `percent` of `window` per round trip.
    pub(super) fn sent(
        &mut self,
        now: Picos,
        octets: u32,
        window: u64,
        round_trip: Picos,
        percent: u64,
    ) {
        let gap = u128::from(octets) * u128::from(round_trip.0) * 100
            / (u128::from(window.max(1)) * u128::from(percent));
        self.next = self.next.max(now) + Picos(u64::try_from(gap).unwrap_or(u64::MAX / 2));
    }
}
