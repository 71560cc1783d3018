//! What is asked of whoever can flood, and what its floods show. Data only.

use measure::blocks::BlockEstimate;
use trial::Result;

use super::Uplink;

/// What one flow of a flood did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::study::fabric) struct Flooded {
    pub(in crate::study::fabric) from: usize,
    pub(in crate::study::fabric) to: usize,
    /// What it sent, in the slowest port's rates.
    pub(in crate::study::fabric) offered: f64,
    /// Frames sent.
    pub(in crate::study::fabric) sent: u64,
    /// Frames that came.
    pub(in crate::study::fabric) came: u64,
    /// The receiving rate as a share of the sending rate.
    pub(in crate::study::fabric) kept_up: f64,
    /// The sending time as a share of the receiving time.
    pub(in crate::study::fabric) in_step: f64,
}

/// How long a flood lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::study::fabric) enum Length {
    /// As one-to-one rounds do.
    Round,
    /// Until a sink has seen enough of each of so many.
    Sink(usize),
}

/// Whoever can flood.
pub(in crate::study::fabric) trait Floods {
    /// Floods from each first port to its second, all at once. None where the trial can't be used.
    fn flood(
        &mut self,
        name: &str,
        flows: &[(usize, usize)],
        length: Length,
    ) -> Result<Option<Vec<Flooded>>>;

    /// Has all floods last so many times longer than usual from now on.
    fn stretch(&mut self, by: u64);

    /// A port's rate, or 0 where it is not known.
    fn rate(&self, port: usize) -> u64;

    /// Whether senders of a sink were told to pause: then they never offered an uplink more than
    /// what the sink took.
    fn paused(&self) -> bool;
}

/// What was found, and at what price.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::study::fabric) struct Inferred {
    pub(in crate::study::fabric) finding: Finding,
    /// Floods that were run.
    pub(in crate::study::fabric) trials: u64,
    /// Ports of which nothing can be told, and why.
    pub(in crate::study::fabric) missing: Vec<(usize, Fault)>,
    /// The part that local traffic kept while nothing left its group; none where that was not
    /// asked.
    pub(in crate::study::fabric) local_share: Option<f64>,
}

/// What the floods show.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::study::fabric) enum Finding {
    /// Too few ports answered.
    Nothing,
    /// No uplink is short.
    Clean {
        /// Groups that show in a flood of one sink, and have all the uplink they need.
        groups: Vec<Vec<usize>>,
        /// A group oversubscribed by more than this share would have been seen, with 99 in 100; not
        /// finite where nothing is promised.
        excess: f64,
    },
    /// Nothing was lost, but what came did not keep up with what was sent, however long it lasted.
    Queued {
        /// What came, as a share of what was sent in the same time, in the worst round.
        kept_up: f64,
    },
    /// Flows are held up.
    Blocking {
        /// Empty where they can't be told.
        groups: Vec<Group>,
        /// That all groups are right.
        confidence: f64,
        /// Of two groups: what the narrower of their uplinks carries, whichever that is.
        between: Option<BlockEstimate>,
        /// What flows of the worst round got, on average.
        share: f64,
    },
}

/// Ports that share an uplink.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::study::fabric) struct Group {
    pub(in crate::study::fabric) ports: Vec<usize>,
    pub(in crate::study::fabric) uplink: Uplink,
}

/// Why nothing can be told of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::study::fabric) enum Fault {
    /// Nothing it sent arrived anywhere.
    Mute,
    /// Nothing arrived at it.
    Deaf,
    /// Both.
    Dead,
}
