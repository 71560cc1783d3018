//! How far readings after a load have come.
//!
//! Pure. Owns since when the device's counters have caught up with the hosts', and since when those
//! that no host counts have stood still. Never reads one.

use management::Changes;
use measure::Nanos;

/// Readings in a row are so far apart at least.
pub(super) const AGAIN: Nanos = Nanos::from_millis(100);

/// Readings after one load.
#[derive(Debug)]
pub(super) struct Watch {
    /// So far counters may be behind.
    behind: Nanos,
    caught_up: Option<Nanos>,
    /// Since when nothing moved beyond what moves at rest, and how far all had moved then.
    pub(super) still: Option<(Nanos, Changes)>,
}

impl Watch {
    /// Of counters that may be so far behind.
    pub(super) const fn new(behind: Nanos) -> Self {
        Self { behind, caught_up: None, still: None }
    }

    /// They have caught up with the hosts' own counts: whether for the first time.
    pub(super) const fn caught_up(&mut self, now: Nanos) -> bool {
        let first = self.caught_up.is_none();
        if first {
            self.caught_up = Some(now);
        }
        first
    }

    /// Whether they had at some reading.
    pub(super) const fn has_caught_up(&self) -> bool {
        self.caught_up.is_some()
    }

    /// Whether what no host counts has stood still for as long as counters may be behind.
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
