//! Which burst to send next: bisection within a bracket that an earlier estimate gave. Pure.
//!
//! Owns the bracket. Trusts neither of its ends before a trial showed it.

/// A search for the longest burst that loses nothing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bracket {
    low: u64,
    high: u64,
    passed: bool,
    failed: bool,
    most: u64,
    width: f64,
}

impl Bracket {
    /// From `low` to `high` frames, never above `most`; as narrow as the share `width` of it, or
    /// one frame.
    pub(super) fn new(low: u64, high: u64, most: u64, width: f64) -> Self {
        let low = low.min(most.saturating_sub(1)).max(1);
        let high = high.clamp(low + 1, most.max(low + 1));
        Self { low, high, passed: false, failed: false, most, width }
    }

    /// So many frames; `None` when it is over.
    pub(super) fn next(&self) -> Option<u64> {
        let width = ((self.width * self.high as f64) as u64).max(1);
        if !self.passed {
            (self.low > 0).then_some(self.low)
        } else if !self.failed {
            (self.low < self.most).then_some(self.high)
        } else if self.high - self.low <= width {
            None
        } else {
            Some(self.low + (self.high - self.low) / 2)
        }
    }

    /// Whether that burst came through whole.
    pub(super) fn learn(&mut self, whole: bool) {
        let Some(frames) = self.next() else { return };
        match (whole, self.passed) {
            (true, false) => self.passed = true,
            (false, false) => {
                (self.high, self.failed) = (frames, true);
                self.low = frames / 2;
            }
            (true, true) if !self.failed => {
                self.low = frames;
                self.high = (frames * 2).min(self.most);
            }
            (true, true) => self.low = frames,
            (false, true) => (self.high, self.failed) = (frames, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_found_wherever_the_bracket_was() {
        for truth in [1_u64, 7, 100, 4_711, 90_000] {
            for (low, high) in [(1, 2), (80, 120), (4_000, 5_000), (100_000, 200_000)] {
                let mut search = Bracket::new(low, high, 1_000_000, 0.0);
                let (mut best, mut trials) = (0, 0);
                while let Some(frames) = search.next() {
                    search.learn(frames <= truth);
                    if frames <= truth {
                        best = best.max(frames);
                    }
                    trials += 1;
                    assert!(trials < 60, "{truth} {search:?}");
                }
                assert_eq!(best, truth, "{low}…{high}");
            }
        }
    }

    #[test]
    fn nothing_longer_than_the_longest_is_tried() {
        let mut search = Bracket::new(10, 20, 50, 0.0);
        let mut tried = Vec::new();
        while let Some(frames) = search.next() {
            tried.push(frames);
            search.learn(true);
        }
        assert_eq!(tried, [10, 20, 40, 50]);
    }
}
