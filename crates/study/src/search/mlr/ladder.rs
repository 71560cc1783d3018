//! Loads that a search may try: rungs, each a fixed ratio above the one below.
//!
//! The ratio is the narrowest requested width. Two goals with similar loads then test the same
//! ones, and bounds one rung apart are narrow enough. Never decides anything.

use super::super::LoadRange;

/// Index of a load, from the lowest.
pub(super) type Rung = u32;

/// Range of loads, divided into rungs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ladder {
    max: f64,
    /// Ratio of a load to the next higher one.
    ratio: f64,
    top: Rung,
}

impl Ladder {
    /// Divides the range from the highest load down, with no rung below the lowest; `width` is
    /// relative to the upper of two.
    pub(super) fn new(range: LoadRange, width: f64) -> Self {
        let ratio = 1.0 - width;
        let max = range.max.0;
        let rungs = (range.min.0.min(max) / max).ln() / ratio.ln();
        let mut ladder = Self { max, ratio, top: rungs as Rung };
        if ladder.top > 0 && ladder.load(0) < range.min.0 {
            ladder.top -= 1; // the logarithms were a hair off
        }
        ladder
    }

    /// Rung of the highest load.
    pub(super) const fn top(&self) -> Rung {
        self.top
    }

    /// Load of a rung in frames per second.
    pub(super) fn load(&self, rung: Rung) -> f64 {
        self.max * self.ratio.powf(f64::from(self.top - rung.min(self.top)))
    }

    /// Highest rung whose load is at most this; the lowest of all if there is none.
    pub(super) fn at_most(&self, load: f64) -> Rung {
        let below_top = (load / self.max).ln() / self.ratio.ln();
        let mut rung = self.top.saturating_sub(below_top.max(0.0) as Rung);
        while rung > 0 && self.load(rung) > load {
            rung -= 1;
        }
        while rung < self.top && self.load(rung + 1) <= load {
            rung += 1;
        }
        rung
    }

    /// Largest distance in rungs of two loads within this relative width; at least one.
    pub(super) fn rungs(&self, width: f64) -> u32 {
        let rungs = (1.0 - width).ln() / self.ratio.ln();
        ((rungs + 1e-6) as u32).max(1)
    }
}

/// Distance from the lower end at which to split `rungs`. One part is `width` times a power of two,
/// so that no later halving is wasted. The parts are as even as that allows, and the lower is the
/// smaller.
pub(super) fn split(rungs: u32, width: u32) -> u32 {
    if rungs <= 2 * width {
        return rungs / 2;
    }
    let mut part = width;
    while 4 * part <= rungs {
        part *= 2;
    }
    let even = |part: u32| u64::from(part) * u64::from(rungs - part);
    let part = if 2 * part < rungs && even(2 * part) > even(part) { 2 * part } else { part };
    part.min(rungs - part)
}

#[cfg(test)]
mod tests {
    use measure::FrameRate;

    use super::*;

    fn ladder(width: f64) -> Ladder {
        Ladder::new(LoadRange { min: FrameRate(1_000.0), max: FrameRate(1_000_000.0) }, width)
    }

    #[test]
    fn every_rung_is_found_again() {
        for width in [0.0005, 0.005, 0.3] {
            let ladder = ladder(width);
            assert!(ladder.load(0) >= 1_000.0 && ladder.load(0) * (1.0 - width) < 1_000.01);
            assert_eq!(ladder.load(ladder.top()).to_bits(), 1_000_000.0_f64.to_bits());
            for rung in 0..=ladder.top() {
                assert_eq!(ladder.at_most(ladder.load(rung)), rung);
                assert_eq!(
                    ladder.at_most(ladder.load(rung) * (1.0 - width / 2.0)) + 1,
                    rung.max(1)
                );
            }
            assert_eq!(ladder.at_most(0.0), 0);
            assert_eq!(ladder.at_most(f64::INFINITY), ladder.top());
        }
    }

    #[test]
    fn widths_are_rungs() {
        let ladder = ladder(0.005);
        assert_eq!([0.001, 0.005, 0.0099, 0.01].map(|width| ladder.rungs(width)), [1, 1, 1, 2]);
    }

    #[test]
    fn a_split_leaves_a_part_that_halves_to_the_width() {
        let cases =
            [(2, 1, 1), (3, 1, 1), (5, 1, 2), (10, 4, 4), (7, 4, 3), (16, 1, 8), (12, 1, 4)];
        for (rungs, width, expected) in cases {
            assert_eq!(split(rungs, width), expected, "{rungs} by {width}");
        }
        for rungs in 2..500 {
            for width in 1..rungs {
                assert!((1..rungs).contains(&split(rungs, width)), "{rungs} by {width}");
            }
        }
    }
}
