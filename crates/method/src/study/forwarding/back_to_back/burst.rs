//! Which burst to try next: bisection of the burst's length on a logarithmic scale, with loss
//! verification (ETSI GS NFV-TST 009 §12.3.3, as RFC 9004 §6 recommends). Pure.
//!
//! Never ends without an answer: each trial that counts narrows the bracket.

/// A search for the longest burst that passes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BurstSearch {
    most: u64,
    /// How narrow the bracket must be, relative to its upper end; never below one frame.
    width: f64,
    /// How often a burst that lost is tried again.
    verifications: u32,
    /// The longest that passed; 0 is passed by nothing.
    low: u64,
    /// The shortest that failed, and whether by the tester.
    high: Option<(u64, bool)>,
    /// Trials of the present length that lost.
    lost: u32,
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Longest {
    /// Frames.
    pub(super) frames: u64,
    /// The longest of all passed.
    pub(super) ceiling: bool,
    /// The next longer one failed for the tester.
    pub(super) by_tester: bool,
}

impl BurstSearch {
    /// From bursts of `most` frames on, which is at least 1.
    pub(super) const fn new(most: u64, width: f64, verifications: u32) -> Self {
        Self { most, width, verifications, low: 0, high: None, lost: 0 }
    }

    /// So many frames; `None` when it is over.
    pub(super) fn next(&self) -> Option<u64> {
        let Some((high, _)) = self.high else {
            return (self.low < self.most).then_some(self.most);
        };
        let width = ((self.width * high as f64) as u64).max(1);
        if high - self.low <= width {
            return None;
        }
        let middle = ((self.low.max(1) as f64) * high as f64).sqrt().round() as u64;
        Some(middle.clamp(self.low + 1, high - 1))
    }

    /// Whether the burst passed.
    pub(super) fn learn(&mut self, passed: bool) {
        let Some(frames) = self.next() else { return };
        if passed {
            self.low = frames;
        } else if self.lost < self.verifications {
            self.lost += 1;
            return;
        } else {
            self.high = Some((frames, false));
        }
        self.lost = 0;
    }

    /// The tester could not send or receive that burst.
    pub(super) fn beyond_tester(&mut self) {
        if let Some(frames) = self.next() {
            self.high = Some((frames, true));
            self.lost = 0;
        }
    }

    /// The answer, once there is one.
    pub(super) fn longest(&self) -> Option<Longest> {
        let by_tester = self.high.is_some_and(|(_, by_tester)| by_tester);
        let over = self.next().is_none();
        over.then_some(Longest { frames: self.low, ceiling: self.high.is_none(), by_tester })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a buffer of `truth` frames, and counts the trials.
    fn check(truth: u64, most: u64, width: f64) -> (Longest, u32) {
        let mut search = BurstSearch::new(most, width, 1);
        let mut trials = 0;
        while let Some(frames) = search.next() {
            search.learn(frames <= truth);
            trials += 1;
            assert!(trials < 100, "{search:?}");
        }
        (search.longest().expect("over"), trials)
    }

    #[test]
    fn the_longest_burst_is_found_within_the_width() {
        for truth in [0, 1, 2, 29, 128, 4_711, 1_000_000, 2_999_999] {
            let (longest, trials) = check(truth, 3_000_000, 0.005);
            let least = truth - (truth as f64 * 0.0051) as u64 - u64::from(truth > 200);
            assert!((least..=truth).contains(&longest.frames), "{truth}: {longest:?}");
            assert!(trials <= 40, "{truth}: {trials}");
            assert!(!longest.ceiling);
        }
        assert_eq!(
            check(5_000, 3_000, 0.005).0,
            Longest { frames: 3_000, ceiling: true, by_tester: false }
        );
    }

    #[test]
    fn one_stray_loss_decides_nothing() {
        let mut search = BurstSearch::new(64, 0.005, 1);
        search.learn(false);
        assert_eq!(search.next(), Some(64));
        search.learn(true);
        assert_eq!(search.longest().map(|longest| longest.frames), Some(64));
    }

    #[test]
    fn what_the_tester_cannot_do_is_said() {
        let mut search = BurstSearch::new(1_000, 0.005, 1);
        while let Some(frames) = search.next() {
            if frames > 100 { search.beyond_tester() } else { search.learn(true) }
        }
        let longest = search.longest().expect("over");
        assert_eq!((longest.frames, longest.by_tester, longest.ceiling), (100, true, false));
    }
}
