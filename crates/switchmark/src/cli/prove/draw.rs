//! Devices at random, wider than any profile that comes with the program, each with its known
//! values.
//!
//! Owns the turns of studies, rigors and kinds. The number of a device and the seed make it:
//! nothing else does.

mod buffer;
mod fabric;
mod forwarding;
mod kernel;
mod latency;
mod storage;
mod switching;

use study::Profile;

use super::case::{Case, Kind, Study, World};
use super::chance::Chance;

pub use kernel::BY_NFT;

/// Seed and choices from which devices are drawn.
#[derive(Debug, Clone)]
pub struct Draws {
    /// Seed, printed so that the same devices can be drawn again.
    pub seed: u64,
    /// Studies, taken in turn.
    pub studies: Vec<Study>,
    /// Rigors, taken in turn after the studies.
    pub rigors: Vec<Profile>,
}

/// A device of a kind.
type Draw = fn(&mut Chance, World, Kind, Profile) -> Case;

impl Draws {
    /// Draws the device of that number.
    pub fn case(&self, world: World, number: u64) -> Case {
        let mut chance = Chance::new(self.seed, number);
        let (number, study) = turn(number, &self.studies);
        let (number, rigor) = turn(number, &self.rigors);
        let (kinds, draw): (&[Kind], Draw) = match (world, study) {
            (World::Kernel, _) => (&kernel::KINDS, kernel::draw),
            (_, Study::Forwarding) => (&forwarding::KINDS, forwarding::draw),
            (_, Study::Switching) => (&switching::KINDS, switching::draw),
            (_, Study::Fabric) => (&fabric::KINDS, fabric::draw),
            (_, Study::Buffer) => (&buffer::KINDS, buffer::draw),
            (_, Study::Latency) => (&latency::KINDS, latency::draw),
            (_, Study::Compare) => (&latency::PAIRS, latency::pair),
            (_, Study::Storage) => (&storage::KINDS, storage::draw),
        };
        draw(&mut chance, world, turn(number, kinds).1, rigor)
    }
}

/// Returns the round of a number, and the item whose turn it is.
fn turn<T: Copy>(number: u64, of: &[T]) -> (u64, T) {
    let all = of.len() as u64;
    (number / all, of[(number % all) as usize])
}
