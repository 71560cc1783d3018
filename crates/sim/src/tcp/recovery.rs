//! Amount that may be sent while losses are repaired: Proportional Rate Reduction (RFC 9937).
//!
//! Owns the counts of one recovery. Never selects what is sent.

use measure::Picos;

use super::control::Control;

/// Recovery from the first loss until all data outstanding then has arrived.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    /// RFC 6675's RecoveryPoint: end of the data sent before it began.
    pub(super) until: u64,
    /// Octets outstanding when it began, without those reported before.
    flight: u64,
    delivered: u64,
    /// Octets sent since, new or retransmitted.
    out: u64,
    /// Time of the first repair: an acknowledgement that echoes an older stamp shows that nothing
    /// was lost (RFC 3522).
    pub(super) first_repair: Option<Picos>,
    /// Congestion control before the recovery, to restore in that case.
    pub(super) before: Control,
}

impl Recovery {
    /// Begins with `flight` octets outstanding that were not reported before.
    pub(super) fn new(until: u64, flight: u64, before: Control) -> Self {
        Self { until, flight: flight.max(1), delivered: 0, out: 0, first_repair: None, before }
    }

    /// Returns the window until the next acknowledgement (RFC 9937 §6.2). `delivered` octets
    /// arrived and `pipe` are in flight. `safe`: octets in order arrived and no further loss was
    /// found.
    pub(super) fn allowed(
        &mut self,
        delivered: u64,
        pipe: u64,
        safe: bool,
        threshold: u64,
        mss: u32,
    ) -> u64 {
        self.delivered += delivered;
        let mss = u64::from(mss);
        let mut count = if pipe > threshold {
            let share = u128::from(self.delivered) * u128::from(threshold);
            let due = share.div_ceil(u128::from(self.flight));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(delivered);
            (bound + if safe { mss } else { 0 }).min(threshold - pipe)
        };
        if self.out == 0 {
            // Lets the first repair leave at once.
            count = count.max(mss);
        }
        pipe + count
    }

    /// Records sent octets.
    pub(super) fn sent(&mut self, now: Picos, octets: u32, again: bool) {
        self.out += u64::from(octets);
        if again {
            self.first_repair.get_or_insert(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm, Config};
    use super::*;

    #[test]
    fn the_pipe_falls_to_the_threshold_in_proportion() {
        // 100 segments outstanding, one lost, threshold 70: of 99 reports, 70 lead to a segment.
        let before = Control::new(&Config::new(1, Algorithm::Cubic));
        let mut recovery = Recovery::new(100, 100, before);
        let (mut pipe, mut sent) = (99, 0);
        for _ in 0..99 {
            pipe -= 1;
            let allowed = recovery.allowed(1, pipe, false, 70, 1);
            while pipe < allowed {
                recovery.sent(Picos::ZERO, 1, sent == 0);
                (pipe, sent) = (pipe + 1, sent + 1);
            }
        }
        assert_eq!((pipe, sent), (70, 70));
    }
}
