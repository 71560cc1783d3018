//! A direct cable that is there at another time than the device: hosts with one port each, which
//! lead to the device or to each other.
//!
//! Owns in which round a repetition is measured. Never moves a cable.

use serde::{Deserialize, Serialize};

use crate::Path;

/// When the two ports are joined directly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnotherTime {
    /// In how many rounds the direct cable is measured.
    pub cable_rounds: u32,
    /// In how many the device is.
    pub device_rounds: u32,
    /// The runs that measured the direct cable, a round each; none where somebody joins the ports
    /// while this one goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
}

impl AnotherTime {
    /// Recorded in these runs.
    pub fn recorded_in(runs: Vec<String>) -> Self {
        Self { cable_rounds: runs.len() as u32, device_rounds: 1, runs }
    }

    /// Cable, device, cable… so many times the device: the cable is first and last.
    pub const fn by_hand(device_rounds: u32) -> Self {
        Self { cable_rounds: device_rounds + 1, device_rounds, runs: Vec::new() }
    }

    /// Whether somebody joins the ports while the run goes on.
    pub const fn is_by_hand(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many rounds a path has.
    pub const fn rounds(&self, path: Path) -> u32 {
        match path {
            Path::Device => self.device_rounds,
            Path::Bypass => self.cable_rounds,
        }
    }

    /// In which of its path's rounds a block is measured, from 0.
    pub const fn round(&self, path: Path, block: u32) -> u32 {
        block % self.rounds(path)
    }
}
