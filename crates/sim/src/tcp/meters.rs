//! What a sender tells of itself: how busy it was, what held it back, how fast it delivered.
//!
//! Owns clocks and counters that nothing else depends on, but one: whether the congestion window
//! was used (RFC 7661). Never decides what is sent.

use measure::Picos;

/// Why nothing may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// Nothing is left to send.
    Payload,
    /// The congestion window is full.
    Congestion,
    /// The receiver's window is full.
    Receiver,
    /// It isn't time yet.
    Pacer,
}

/// How long a sender was busy, and how much of it stalled by the receiver.
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

    /// Busy, and stalled, up to `now`.
    pub(super) fn totals(&self, now: Picos) -> (Picos, Picos) {
        let span = now.saturating_sub(self.since);
        let of = |on: bool| if on { span } else { Picos::ZERO };
        (self.busy_for + of(self.busy), self.stalled_for + of(self.stalled))
    }
}

/// Whether the congestion window was used up during the last round trip (as Linux's
/// `tcp_cwnd_validate` keeps it).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    limited: bool,
    /// The most octets outstanding in that time.
    most: u64,
    until: u64,
}

impl Usage {
    /// Something was sent, or couldn't be because the window was full.
    pub(super) fn note(&mut self, limited: bool, una: u64, next: u64) {
        if limited || una >= self.until || (!self.limited && next - una > self.most) {
            *self = Self { limited, most: next - una, until: next };
        }
    }

    /// Whether the window may grow.
    pub(super) fn grows(&self, slow_start: bool, window: u64) -> bool {
        self.limited || (slow_start && window < 2 * self.most)
    }
}

/// Octets a second over the last round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeliveryRate {
    octets: u64,
    since: Option<Picos>,
    last: u64,
}

impl DeliveryRate {
    /// Something is sent after a rest: the time before doesn't count.
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
    /// The sender waits for it.
    pub(super) waits: bool,
}

impl Pacer {
    /// When the next segment may leave.
    pub(super) fn next(&self) -> Picos {
        self.next
    }

    /// A segment left. The rate is `percent` of `window` a round trip.
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
