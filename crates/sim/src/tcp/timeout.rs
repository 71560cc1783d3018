//! Round-trip time and retransmission time-out (RFC 6298), with Linux's bounds.
//!
//! Owns the estimate and the backoff, not the timer. Never sees an ambiguous sample (Karn): its
//! caller takes them from time stamps.

use measure::Picos;

const MILLISECOND: u64 = 1_000_000_000;
/// Time-out before the first sample (RFC 6298 §2.1).
const INITIAL: Picos = Picos(1000 * MILLISECOND);
/// Linux's TCP_RTO_MIN: the minimum that the variation adds to the smoothed round trip.
const LEAST_MARGIN: u64 = 200 * MILLISECOND;
/// Linux's TCP_RTO_MAX.
const MOST: Picos = Picos(120_000 * MILLISECOND);

/// Estimator of the time-out.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundTrip {
    smoothed: Option<Picos>,
    variation: u64,
    least: Option<Picos>,
    backoff: u32,
}

impl RoundTrip {
    /// Adds a sample (RFC 6298 §2.2 and §2.3), which also ends the backoff.
    pub(super) fn sample(&mut self, rtt: Picos) {
        self.backoff = 0;
        let Some(Picos(smoothed)) = self.smoothed else {
            self.smoothed = Some(rtt);
            self.variation = rtt.0 / 2;
            return;
        };
        self.variation = (3 * self.variation + smoothed.abs_diff(rtt.0)) / 4;
        self.smoothed = Some(Picos((7 * smoothed + rtt.0) / 8));
    }

    /// Updates the minimum round trip with that of a segment sent only once.
    pub(super) fn least_is(&mut self, rtt: Picos) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    pub(super) fn smoothed(&self) -> Option<Picos> {
        self.smoothed
    }

    pub(super) fn least(&self) -> Option<Picos> {
        self.least
    }

    /// Time-out, backed off.
    pub(super) fn timeout(&self) -> Picos {
        let base = self
            .smoothed
            .map_or(INITIAL, |smoothed| smoothed + Picos((4 * self.variation).max(LEAST_MARGIN)));
        MOST.min(Picos(base.0.saturating_mul(1 << self.backoff.min(16))))
    }

    /// Doubles the next time-out (RFC 6298 §5.5).
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_standard_and_linuxs_least() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.timeout(), INITIAL);
        trip.sample(Picos(400 * MILLISECOND));
        // The first sample R gives R + 4 R/2.
        assert_eq!(trip.timeout(), Picos(1200 * MILLISECOND));
        trip.back_off();
        trip.back_off();
        assert_eq!(trip.timeout(), Picos(4800 * MILLISECOND));
        for _ in 0..100 {
            trip.sample(Picos(50 * MILLISECOND));
        }
        let rounded = trip.timeout().0.div_ceil(MILLISECOND);
        assert!((250..=251).contains(&rounded), "{rounded} ms");
    }
}
