//! Collective operations of a message-passing program, by name and algorithm.
//!
//! Owns their names and bus-bandwidth factors. `schedule` says which rank sends what to whom in
//! which step, `rank` runs one rank's steps. Never does I/O and never reads a clock.

mod rank;
mod schedule;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use rank::{Event, Rank};
pub use schedule::{LARGEST_COLLECTIVE, MOST_RANKS, NotASchedule, Schedule, Step, Transfer};

/// Collective operation, with its algorithm where several are usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Collective {
    /// Every rank gets the sum of all; reduce-scatter and all-gather round a ring.
    #[serde(rename = "allreduce:ring")]
    AllReduceRing,
    /// Every rank gets the sum of all; recursive halving, then recursive doubling.
    #[serde(rename = "allreduce:halving-doubling")]
    AllReduceHalvingDoubling,
    /// Every rank gets the sum of all; up a binomial tree and down again.
    #[serde(rename = "allreduce:tree")]
    AllReduceTree,
    /// Every rank gets the piece of every other, round a ring.
    #[serde(rename = "allgather")]
    AllGather,
    /// Every rank gets its piece of the sum of all, round a ring.
    #[serde(rename = "reduce-scatter")]
    ReduceScatter,
    /// Every rank gets its piece from every other, one partner after another.
    #[serde(rename = "alltoall")]
    AllToAll,
    /// Every rank gets all of the first rank's, down a binomial tree.
    #[serde(rename = "broadcast")]
    Broadcast,
}

impl Collective {
    /// All collectives, in the order of the reference.
    pub const ALL: [Self; 7] = [
        Self::AllReduceRing,
        Self::AllReduceHalvingDoubling,
        Self::AllReduceTree,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Broadcast,
    ];

    /// Name of the collective: `allreduce:ring`, `alltoall`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AllReduceRing => "allreduce:ring",
            Self::AllReduceHalvingDoubling => "allreduce:halving-doubling",
            Self::AllReduceTree => "allreduce:tree",
            Self::AllGather => "allgather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "alltoall",
            Self::Broadcast => "broadcast",
        }
    }

    /// Factor from algorithm to bus bandwidth among so many ranks (nccl-tests, PERFORMANCE).
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let ranks = f64::from(ranks);
        match self {
            Self::AllReduceRing | Self::AllReduceHalvingDoubling | Self::AllReduceTree => {
                2.0 * (ranks - 1.0) / ranks
            }
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (ranks - 1.0) / ranks,
            Self::Broadcast => 1.0,
        }
    }

    /// Octets that all ranks together send, of a collective over `octets`: each octet of the
    /// result is sent once to each rank that lacks it, and once for each addition.
    pub fn octets_sent(self, ranks: u32, octets: u64) -> u64 {
        let once = u64::from(ranks.saturating_sub(1)) * octets;
        match self {
            Self::AllReduceRing | Self::AllReduceHalvingDoubling | Self::AllReduceTree => 2 * once,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Broadcast => once,
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Text that names no collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotACollective;

impl FromStr for Collective {
    type Err = NotACollective;

    fn from_str(text: &str) -> Result<Self, NotACollective> {
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or(NotACollective)
    }
}

/// Place of an exchange in a collective: the connection between two of its ranks. The exchange's
/// message is the size of the whole collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankPair {
    /// Collective that all such exchanges of the trial carry out together.
    pub collective: Collective,
    /// Number of ranks.
    pub ranks: u32,
    /// Rank at the flow's `from`.
    pub from: u32,
    /// Rank at the flow's `to`.
    pub to: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for collective in Collective::ALL {
            assert_eq!(collective.as_str().parse(), Ok(collective));
            let json = serde_json::to_string(&collective).expect("JSON");
            assert_eq!(json, format!("\"{collective}\""));
        }
        assert_eq!("allreduce".parse::<Collective>(), Err(NotACollective));
    }

    /// The summary of nccl-tests' PERFORMANCE page, for four ranks.
    #[test]
    fn factors_are_the_usual_ones() {
        for (collective, factor) in
            Collective::ALL.into_iter().zip([1.5, 1.5, 1.5, 0.75, 0.75, 0.75, 1.0])
        {
            assert!((collective.bus_factor(4) - factor).abs() < 1e-12, "{collective}");
        }
    }
}
