//! Direct cables that replace the device at another time: hosts with one port each, which lead to
//! the device or to each other.
//!
//! Owns the round in which a repetition over the cable was measured. Never moves a cable.

use serde::{Deserialize, Serialize};

/// Runs that measured the direct cable in the device's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnotherTime {
    /// Run ids, one per round; empty in a run of 0.2 in which a person moved the cables.
    #[serde(default)]
    pub runs: Vec<String>,
}

impl AnotherTime {
    /// True for a run of 0.2 in which a person moved the cables: later versions neither carry out
    /// nor report such runs.
    pub const fn moves_cables(&self) -> bool {
        self.runs.is_empty()
    }

    /// Number of rounds in which the cable was measured.
    pub fn rounds(&self) -> u32 {
        self.runs.len() as u32
    }

    /// Round in which a block of the cable was measured, from 0.
    pub fn round(&self, block: u32) -> u32 {
        block % self.rounds()
    }
}
