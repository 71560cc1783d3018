//! Random events: lost and damaged frames, stalls of a device, the order of simultaneous frames.
//!
//! Owns the draws, all from one seed and without a logarithm, so that they are the same on every
//! machine. Never draws anything unless a profile asks for it.

use measure::Picos;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::profile;

/// Returns the `turn`th of the numbers that a seed scatters over all of `u64`. None depends on how
/// many were drawn before it.
#[inline]
pub fn scatter(seed: u64, turn: u64) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014).
    let mut z = seed.wrapping_add(turn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Returns a pseudo-random number for the `turn`th frame at a port, which orders frames that arrive
/// at the same time. It does not depend on how far the driver advances time at once.
#[inline]
pub(super) fn tie(seed: u64, port: usize, turn: u64) -> u32 {
    scatter(seed ^ (port as u64) << 44, turn) as u32
}

/// Threshold below which the given share of all draws lies.
fn below(share: f64) -> u64 {
    // 2^64 is exact as a float, and a larger result becomes the largest number.
    (share * 18_446_744_073_709_551_616.0) as u64
}

/// Damage in one direction of a host's cable: selects frames that arrive with a wrong FCS. Draws
/// elsewhere do not affect it.
#[derive(Debug)]
pub(super) struct Damage {
    seed: u64,
    turn: u64,
    below: u64,
}

impl Damage {
    /// Creates the damage; `way` is 0 for the way in, 1 for the way out.
    pub(super) fn new(share: f64, seed: u64, edge: u16, way: u64) -> Self {
        // Uses a separate seed: ties are drawn from the network's by port.
        let seed = scatter(!seed, u64::from(edge) << 1 | way);
        Self { seed, turn: 0, below: below(share) }
    }

    /// True if the cable damages the next frame.
    pub(super) fn strikes(&mut self) -> bool {
        self.turn += 1;
        self.below > 0 && scatter(self.seed, self.turn) < self.below
    }
}

/// Random events of one device.
#[derive(Debug)]
pub(super) struct Chance {
    dice: Pcg64Mcg,
    /// Threshold of draws below which a frame is lost; 0: never.
    loss_below: u64,
    stalls: Option<Stalls>,
}

#[derive(Debug)]
struct Stalls {
    mean: Picos,
    length: Picos,
    from: Picos,
    to: Picos,
}

impl Chance {
    pub(super) fn new(device: &profile::Device, seed: u64, number: u64) -> Self {
        let mut dice = Pcg64Mcg::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let stalls = device.stalls.map(|sheet| {
            let mean = Picos((1e12 / sheet.per_second) as u64);
            let mut stalls =
                Stalls { mean, length: sheet.length.into(), from: Picos::ZERO, to: Picos::ZERO };
            stalls.pass(&mut dice);
            stalls
        });
        Self { dice, loss_below: below(device.loss), stalls }
    }

    /// True if a frame is lost now.
    #[inline]
    pub(super) fn loses(&mut self) -> bool {
        self.loss_below > 0 && self.dice.next_u64() < self.loss_below
    }

    /// Earliest start of an action planned for `at`, now or shortly after, given the stalls.
    #[inline]
    pub(super) fn after_stall(&mut self, now: Picos, at: Picos) -> Picos {
        let Some(stalls) = &mut self.stalls else { return at };
        while now >= stalls.to {
            stalls.pass(&mut self.dice);
        }
        if (stalls.from..stalls.to).contains(&at) { stalls.to } else { at }
    }
}

impl Stalls {
    /// Advances to the next stall.
    fn pass(&mut self, dice: &mut Pcg64Mcg) {
        let wait = exponential(dice, self.mean.0);
        self.from = self.to + Picos(wait);
        self.to = self.from + self.length;
    }
}

/// Draws an exponential number with this mean, by von Neumann's comparisons (1951). It is exact,
/// and needs no logarithm, which machines round differently.
pub fn exponential(dice: &mut Pcg64Mcg, mean: u64) -> u64 {
    let mut whole = 0_u64;
    loop {
        let first = dice.next_u64();
        let mut last = first;
        let mut falls = 0_u32;
        loop {
            let next = dice.next_u64();
            if next >= last {
                break;
            }
            last = next;
            falls += 1;
        }
        if falls.is_multiple_of(2) {
            let part = (u128::from(mean) * u128::from(first)) >> 64;
            return mean.saturating_mul(whole).saturating_add(part as u64).max(1);
        }
        whole += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_times_have_their_mean_and_spread() {
        let mut dice = Pcg64Mcg::seed_from_u64(3);
        let draws: Vec<f64> =
            (0..40_000).map(|_| exponential(&mut dice, 1_000_000) as f64).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // The standard error of the mean is 0.5 %, that of the standard deviation about 0.7 %.
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / 1e6 - 1.0).abs() < 0.03, "{}", variance.sqrt());
    }
}
