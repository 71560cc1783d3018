//! Interface for running floods, and the findings from them. Data only.

use measure::blocks::BlockEstimate;
use trial::Result;

use super::Uplink;

/// Result of one flow of a flood.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::fabric) struct Flooded {
    pub(in crate::fabric) from: usize,
    pub(in crate::fabric) to: usize,
    /// Offered rate, in the slowest port's rates.
    pub(in crate::fabric) offered: f64,
    /// Frames sent.
    pub(in crate::fabric) sent: u64,
    /// Frames received.
    pub(in crate::fabric) came: u64,
    /// Receiving rate as a share of the sending rate.
    pub(in crate::fabric) kept_up: f64,
    /// Sending time as a share of the receiving time.
    pub(in crate::fabric) in_step: f64,
}

/// Length of a flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fabric) enum Length {
    /// Length of a one-to-one round.
    Round,
    /// Length for a sink with this number of senders, to receive enough frames of each.
    Sink(usize),
}

/// Runner of floods.
pub(in crate::fabric) trait Floods {
    /// Floods from each first port to its second, all at once; `None` if the trial is unusable.
    fn flood(
        &mut self,
        name: &str,
        flows: &[(usize, usize)],
        length: Length,
    ) -> Result<Option<Vec<Flooded>>>;

    /// Multiplies the length of all further floods.
    fn stretch(&mut self, by: u64);

    /// Rate of a port, or 0 if unknown.
    fn rate(&self, port: usize) -> u64;

    /// True if senders of a sink received PAUSE frames: they never offered an uplink more than the
    /// sink accepted.
    fn paused(&self) -> bool;
}

/// Finding and its cost.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fabric) struct Inferred {
    pub(in crate::fabric) finding: Finding,
    /// Number of floods.
    pub(in crate::fabric) trials: u64,
    /// Ports without results, with the fault.
    pub(in crate::fabric) missing: Vec<(usize, Fault)>,
    /// Share that local traffic kept while no flow left its group; `None` if not measured.
    pub(in crate::fabric) local_share: Option<f64>,
}

/// Finding of the floods.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fabric) enum Finding {
    /// Too few ports responded.
    Nothing,
    /// No uplink is short.
    Clean {
        /// Groups that show in a flood of one sink, with uplinks of sufficient capacity.
        groups: Vec<Vec<usize>>,
        /// Smallest oversubscription that would have been seen with 99 % probability; infinite if
        /// unknown.
        excess: f64,
    },
    /// Nothing was lost, but the receiving rate stayed below the sending rate for any flood length.
    Queued {
        /// Receiving rate as a share of the sending rate, in the worst round.
        kept_up: f64,
    },
    /// Flows are limited.
    Blocking {
        /// Groups behind short uplinks; empty if unknown.
        groups: Vec<Group>,
        /// Probability that all groups are right.
        confidence: f64,
        /// Capacity of the narrower of two groups' uplinks, whichever that is; `None` for more
        /// groups.
        between: Option<BlockEstimate>,
        /// Mean share of the flows in the worst round.
        share: f64,
    },
}

/// Ports that share an uplink.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fabric) struct Group {
    pub(in crate::fabric) ports: Vec<usize>,
    pub(in crate::fabric) uplink: Uplink,
}

/// Fault of a port without results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::fabric) enum Fault {
    /// Nothing that it sent arrived anywhere.
    Mute,
    /// Nothing arrived at it.
    Deaf,
    /// Nothing that it sent arrived, and nothing arrived at it.
    Dead,
}
