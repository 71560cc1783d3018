//! RACK: a segment is lost if one sent sufficiently later has arrived (RFC 8985 §6).
//!
//! Owns the newest delivery and the reordering window. Never keeps segments: the scoreboard does.

use measure::Picos;

use super::scoreboard::Sent;

/// Number of reported segments that indicate a loss while no reordering was ever seen (RFC 8985
/// §6.2).
const DUPLICATES: u64 = 3;
/// Number of recoveries for which a widened window is kept.
const PERSIST: u8 = 16;

/// Newest delivery, and the known reordering.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// Serial of the segment sent last among those that arrived; then its send time and its round
    /// trip.
    pub(super) serial: u64,
    at: Picos,
    took: Picos,
    /// Highest octet that arrived.
    highest: u64,
    reordered: bool,
    quarters: u64,
    persist: u8,
    /// Next octet at the last widening: only segments sent later may widen the window again.
    widened_upto: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            serial: 0,
            at: Picos::ZERO,
            took: Picos::ZERO,
            highest: 0,
            reordered: false,
            quarters: 1,
            persist: 0,
            widened_upto: 0,
        }
    }

    /// Handles a delivered segment (RFC 8985 §6.2, steps 2 and 3). `echo` is the echoed stamp if it
    /// was acknowledged in order. Returns the round-trip time if it is unambiguous.
    pub(super) fn delivered(
        &mut self,
        now: Picos,
        sent: &Sent,
        echo: Option<Picos>,
        least: Option<Picos>,
    ) -> Option<Picos> {
        if sent.end() > self.highest {
            self.highest = sent.end();
        } else if !sent.again {
            self.reordered = true;
        }
        let took = now.saturating_sub(sent.at);
        // The first copy may be the one that arrived.
        let early =
            echo.is_some_and(|echo| echo < sent.at) || least.is_some_and(|least| took < least);
        if sent.again && early {
            return None;
        }
        if sent.serial > self.serial {
            (self.serial, self.at, self.took) = (sent.serial, sent.at, took);
        }
        (!sent.again).then_some(took)
    }

    /// Handles an unnecessary repair: segments do overtake each other.
    pub(super) fn overtaken(&mut self) {
        self.reordered = true;
    }

    /// Handles a duplicate (RFC 8985 §6.2, step 4): the segment was declared lost too early. Widens
    /// the window, once per round trip.
    pub(super) fn duplicated(&mut self, una: u64, next: u64) {
        if una >= self.widened_upto {
            self.widened_upto = next;
            self.quarters += 1;
            self.persist = PERSIST;
        }
    }

    /// Handles the end of a recovery.
    pub(super) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// Maximum time by which a segment may arrive after one sent later.
    fn window(&self, recovering: bool, reported: u64, least: Picos, smoothed: Picos) -> Picos {
        if !self.reordered && (recovering || reported >= DUPLICATES) {
            return Picos::ZERO;
        }
        smoothed.min(Picos(self.quarters * least.0 / 4))
    }

    /// Send time up to which segments before the newest delivery are lost (step 5); `None` if it is
    /// before the beginning. Also returns the time at which the newest possible loss becomes one.
    pub(super) fn verdict(
        &self,
        now: Picos,
        recovering: bool,
        reported: u64,
        times: Option<(Picos, Picos)>,
    ) -> (Option<Picos>, Picos) {
        let (least, smoothed) = times.unwrap_or_default();
        let patience = self.took + self.window(recovering, reported, least, smoothed);
        (now.0.checked_sub(patience.0).map(Picos), self.at + patience)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Scoreboard;
    use super::*;

    const ROUND_TRIP: Picos = Picos(100);

    /// Five segments sent at times 0…4; those named come after a round trip, in that order. The
    /// reordering window then.
    fn window_after(order: &[u64]) -> (Rack, Picos) {
        let (mut rack, mut board) = (Rack::new(), Scoreboard::default());
        for now in 0..5 {
            board.send(Picos(now), 10);
        }
        for &number in order {
            board.report(number * 10, number * 10 + 10, |sent| {
                rack.delivered(sent.at + ROUND_TRIP, sent, None, Some(ROUND_TRIP));
            });
        }
        let window = rack.window(false, order.len() as u64, ROUND_TRIP, Picos(120));
        (rack, window)
    }

    #[test]
    fn patience_begins_with_a_quarter_and_follows_what_is_seen() {
        // Fewer than three reports; three without reordering; with.
        assert_eq!(window_after(&[1, 2]).1, Picos(25));
        assert_eq!(window_after(&[1, 2, 3]).1, Picos::ZERO);
        let (mut rack, window) = window_after(&[2, 1, 3]);
        assert_eq!(window, Picos(25));
        let widened = |rack: &Rack| rack.window(true, 9, ROUND_TRIP, Picos(120));
        // Duplicates widen it once a round trip, up to the smoothed round trip.
        rack.duplicated(0, 50);
        rack.duplicated(40, 60);
        assert_eq!(widened(&rack), Picos(50));
        for una in 1..9 {
            rack.duplicated(una * 100, una * 100 + 100);
        }
        assert_eq!(widened(&rack), Picos(120));
        for _ in 0..16 {
            rack.recovered();
        }
        assert_eq!(widened(&rack), Picos(25));
    }

    #[test]
    fn what_was_sent_a_round_trip_and_the_patience_before_is_lost() {
        let (rack, _) = window_after(&[1, 2]);
        let times = Some((ROUND_TRIP, Picos(120)));
        let (latest, when) = rack.verdict(Picos(125), false, 2, times);
        assert_eq!((latest, when), (Some(Picos::ZERO), Picos(127)));
        assert_eq!(rack.verdict(Picos(124), false, 2, times).0, None);
    }
}
