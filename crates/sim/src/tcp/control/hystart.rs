//! HyStart++ (RFC 9406): slow start ends when the round trip grows, before the queue overflows.
//!
//! Owns the rounds and their least round-trip times. Never touches the window itself.

use measure::Picos;

use super::Progress;

const MILLISECOND: u64 = 1_000_000_000;
// RFC 9406 §4.3.
const MIN_RTT_THRESH: u64 = 4 * MILLISECOND;
const MAX_RTT_THRESH: u64 = 16 * MILLISECOND;
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u8 = 5;

/// Allowed growth of the window now; `limit` is in segments per acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pace {
    /// Grows by the acknowledged octets.
    Double { limit: f64 },
    /// Grows by a part of the acknowledged octets.
    Conservative { limit: f64, divisor: f64 },
    /// Slow start is over.
    Done,
}

/// State of the first slow start.
#[derive(Debug, Clone)]
pub(super) struct HyStart {
    limit: f64,
    round_end: u64,
    last_least: Option<Picos>,
    least: Option<Picos>,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start: checks whether the growth of the round trip persists.
#[derive(Debug, Clone, Copy)]
struct Conservative {
    baseline: Picos,
    rounds: u8,
}

impl HyStart {
    /// Creates the state. Bursts need a limit if no pacer spreads them.
    pub(super) fn new(paced: bool) -> Self {
        Self {
            limit: if paced { f64::INFINITY } else { 8.0 },
            round_end: 0,
            last_least: None,
            least: None,
            samples: 0,
            conservative: None,
        }
    }

    /// Handles an acknowledgement's round trip (§4.2).
    pub(super) fn acknowledged(&mut self, progress: &Progress) -> Pace {
        if progress.una >= self.round_end && !self.begin_round(progress.next) {
            return Pace::Done;
        }
        if let Some(rtt) = progress.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if let Some(least) = self.least.filter(|_| self.samples >= N_RTT_SAMPLE) {
            self.judge(least);
        }
        let limit = self.limit;
        match self.conservative {
            None => Pace::Double { limit },
            Some(_) => Pace::Conservative { limit, divisor: CSS_GROWTH_DIVISOR },
        }
    }

    /// Begins the next round; true if slow start continues.
    fn begin_round(&mut self, next: u64) -> bool {
        self.round_end = next;
        self.last_least = self.least.take();
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else { return true };
        conservative.rounds += 1;
        conservative.rounds < CSS_ROUNDS
    }

    fn judge(&mut self, least: Picos) {
        match (self.conservative, self.last_least) {
            (Some(conservative), _) if least < conservative.baseline => self.conservative = None,
            (None, Some(last)) => {
                let thresh = (last.0 / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if least >= last + Picos(thresh) {
                    self.conservative = Some(Conservative { baseline: least, rounds: 0 });
                }
            }
            _ => {}
        }
    }
}
