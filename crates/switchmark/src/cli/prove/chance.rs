//! Draws from a seed: the same seed and number give the same device on every machine.

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// Of one device.
#[derive(Debug)]
pub struct Chance(Pcg64Mcg);

impl Chance {
    /// Of the device of that number.
    pub fn new(seed: u64, number: u64) -> Self {
        // Neighbouring seeds of the generator have like beginnings; a multiple of an odd number has
        // not.
        Self(Pcg64Mcg::seed_from_u64(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Evenly between the two.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }

    /// As likely in each decade between the two.
    pub fn by_decades(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(self.between(low.log10(), high.log10()))
    }

    /// A whole number, both ends among them.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high)
    }

    /// One of them.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.random_range(0..of.len())]
    }

    /// Yes so often.
    pub fn yes(&mut self, share: f64) -> bool {
        self.0.random::<f64>() < share
    }

    /// In any order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        all.shuffle(&mut self.0);
    }

    /// A seed for whatever is left to chance further down.
    pub fn seed(&mut self) -> u64 {
        self.whole(0, u64::from(u32::MAX))
    }
}
