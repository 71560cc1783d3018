//! Progress of the readings after a load.
//!
//! Pure. Owns the time since which the device's counters have reached the hosts' counts, and the
//! time since which those without a host's count have stopped. Never reads one.

use management::Changes;
use measure::Nanos;

/// Minimum interval between two readings.
pub(super) const AGAIN: Nanos = Nanos::from_millis(100);

/// Progress of the readings after one load.
#[derive(Debug)]
pub(super) struct Watch {
    /// Maximum lag of the counters.
    behind: Nanos,
    caught_up: Option<Nanos>,
    /// Time since which nothing moved beyond the traffic at rest, and the counts at that time.
    pub(super) still: Option<(Nanos, Changes)>,
}

impl Watch {
    /// Creates the progress for counters with this maximum lag.
    pub(super) const fn new(behind: Nanos) -> Self {
        Self { behind, caught_up: None, still: None }
    }

    /// Notes that the counters have reached the hosts' counts; returns true the first time.
    pub(super) const fn caught_up(&mut self, now: Nanos) -> bool {
        let first = self.caught_up.is_none();
        if first {
            self.caught_up = Some(now);
        }
        first
    }

    /// True if they had reached them at some reading.
    pub(super) const fn has_caught_up(&self) -> bool {
        self.caught_up.is_some()
    }

    /// True if counters without a host's count have stopped for as long as the maximum lag.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        let (Some(caught_up), Some((still, _))) = (self.caught_up, &self.still) else {
            return false;
        };
        now.saturating_sub(caught_up.max(*still)) >= self.behind.max(AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_host_counts_has_to_stand_still_for_as_long_as_it_may_be_behind() {
        let ms = Nanos::from_millis;
        for (behind, caught_up, still, now, over) in [
            (0, Some(100), Some(100), 150, false),
            (0, Some(100), Some(100), 200, true),
            (0, Some(100), Some(300), 350, false),
            (500, Some(100), Some(300), 700, false),
            (500, Some(100), Some(300), 800, true),
            (500, Some(400), Some(300), 800, false),
            (0, None, Some(100), 10_000, false),
            (0, Some(100), None, 10_000, false),
        ] {
            let mut watch = Watch::new(ms(behind));
            if let Some(at) = caught_up {
                assert!(watch.caught_up(ms(at)) && !watch.caught_up(ms(at)));
            }
            watch.still = still.map(|at| (ms(at), Changes::default()));
            assert_eq!(watch.is_over(ms(now)), over, "{behind} {caught_up:?} {still:?} {now}");
        }
    }
}
