//! Devices at random, wider than any profile that comes with the program, each with its truth.
//!
//! Owns the ranges. The number of a device and the seed make it: nothing else does.

mod forwarding;

use method::Profile;

use super::case::{Case, Kind, Study, World};
use super::chance::Chance;

/// What is drawn.
#[derive(Debug, Clone)]
pub struct Draws {
    /// Printed, so that the same devices can be had again.
    pub seed: u64,
    /// In turn.
    pub studies: Vec<Study>,
    /// In turn, after the studies.
    pub rigors: Vec<Profile>,
}

impl Draws {
    /// The device of that number.
    pub fn case(&self, world: World, number: u64) -> Case {
        let mut chance = Chance::new(self.seed, number);
        let studies = self.studies.len() as u64;
        let study = self.studies[(number % studies) as usize];
        let turn = number / studies;
        let rigor = self.rigors[(turn % self.rigors.len() as u64) as usize];
        let turn = turn / self.rigors.len() as u64;
        match study {
            Study::Forwarding => {
                let kinds = forwarding::KINDS;
                let kind: Kind = kinds[(turn % kinds.len() as u64) as usize];
                forwarding::draw(&mut chance, world, kind, rigor)
            }
        }
    }
}
