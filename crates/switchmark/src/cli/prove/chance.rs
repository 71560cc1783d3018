//! Draws from a seed: the same seed and number give the same device on every machine.

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// Random choices for one device.
#[derive(Debug)]
pub struct Chance(Pcg64Mcg);

impl Chance {
    /// Creates the choices for the device of that number.
    pub fn new(seed: u64, number: u64) -> Self {
        // Neighbouring seeds give the generator like beginnings; multiples of an odd number do not.
        Self(Pcg64Mcg::seed_from_u64(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Draws a number evenly between the two.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }

    /// Draws a number between the two, each decade as likely as another.
    pub fn by_decades(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(self.between(low.log10(), high.log10()))
    }

    /// Draws a whole number, both ends included.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high)
    }

    /// Draws one of them.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.random_range(0..of.len())]
    }

    /// True with this probability.
    pub fn yes(&mut self, share: f64) -> bool {
        self.0.random::<f64>() < share
    }

    /// Shuffles them.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        all.shuffle(&mut self.0);
    }

    /// Draws a seed for further random choices.
    pub fn seed(&mut self) -> u64 {
        self.whole(0, u64::from(u32::MAX))
    }
}
