//! What a bridge drops on purpose, as data: at random, and beyond a rate. Never drops anything.

use measure::FrameRate;
use serde::{Deserialize, Serialize};

/// What a bridge drops of the frames that it forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Drops {
    /// At random, whatever the load; before the policer sees them.
    pub loss: Option<RandomLoss>,
    /// Beyond a rate, of what leaves by each port.
    pub police: Option<Policer>,
}

/// Each frame is dropped with the same chance, whatever became of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomLoss {
    /// Of a million.
    pub frames_per_million: u32,
}

/// A rate beyond which frames are dropped at once: nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policer {
    /// As asked.
    pub frames_per_second: u32,
    /// What may go at once after a pause.
    pub burst_frames: u32,
}

const MILLION: f64 = 1e6;
const NS: u64 = 1_000_000_000;
/// As long as bucket and queue of a [`crate::PortLimit`] together outlive a sender's pause.
const BURST_NS: u64 = 3_000_000;
/// nftables' own, where nothing is said.
const LEAST_BURST: u64 = 5;

impl RandomLoss {
    /// The largest share: a device that loses more is broken and no device.
    pub const MOST: f64 = 0.5;

    /// That share, to a millionth; none where it is out of range.
    pub fn of_share(share: f64) -> Option<Self> {
        let frames = (share * MILLION).round();
        let fits = (1.0..=Self::MOST * MILLION).contains(&frames);
        fits.then_some(Self { frames_per_million: frames as u32 })
    }

    /// The share that is dropped.
    pub fn share(self) -> f64 {
        f64::from(self.frames_per_million) / MILLION
    }
}

impl Policer {
    /// The highest rate: above it a frame's price in whole nanoseconds is no longer exact to 0.1 %.
    pub const MOST: f64 = 1e6;

    /// That rate in whole frames, and a burst of 3 ms, no less than five frames; none where the
    /// rate is out of range.
    pub fn of_rate(rate: FrameRate) -> Option<Self> {
        let frames = rate.0.round();
        (1.0..=Self::MOST).contains(&frames).then(|| {
            let burst = (frames as u64 * BURST_NS / NS).max(LEAST_BURST);
            Self { frames_per_second: frames as u32, burst_frames: burst as u32 }
        })
    }

    /// What it passes in the long run: the kernel prices a frame in whole nanoseconds.
    pub fn passes(self) -> FrameRate {
        FrameRate(NS as f64 / (NS / u64::from(self.frames_per_second)) as f64)
    }
}

impl Drops {
    /// Whether nothing is dropped.
    pub const fn is_none(self) -> bool {
        self.loss.is_none() && self.police.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_passes_what_the_kernel_prices() {
        let check = |asked: f64, burst, passes: f64| {
            let policer = Policer::of_rate(FrameRate(asked)).unwrap();
            assert_eq!(policer.burst_frames, burst, "{asked}");
            assert!((policer.passes().0 - passes).abs() < 0.01, "{asked}: {:?}", policer.passes());
        };
        check(1.0, 5, 1.0);
        check(1_000.0, 5, 1_000.0);
        check(10_000.0, 30, 10_000.0);
        // 3,333 ns a frame.
        check(300_000.0, 900, 300_030.0);
        assert_eq!(Policer::of_rate(FrameRate(1_000_001.0)), None);
        assert_eq!(Policer::of_rate(FrameRate(0.4)), None);
    }

    #[test]
    fn a_share_is_told_in_millionths() {
        let check = |share: f64, expect: Option<u32>| {
            let loss = RandomLoss::of_share(share).map(|loss| loss.frames_per_million);
            assert_eq!(loss, expect, "{share}");
        };
        check(0.001, Some(1000));
        check(1e-6, Some(1));
        check(1e-7, None);
        check(0.5, Some(500_000));
        check(0.51, None);
        check(f64::NAN, None);
    }
}
