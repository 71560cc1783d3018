//! What an emulated device says of itself: counts of frames, and how late they were.
//!
//! Data only. Never judges: whether a device that fell behind spoils a trial is `method`'s to say.

use std::collections::BTreeMap;

use device::{Cause, PortCounts};
use measure::{Histogram, Nanos, Picos};

/// A frame that reached its host so much later than the model says was late: beyond what the
/// machine's other business makes of some frames, since lateness changes no count, only times.
pub const LATE: Nanos = Nanos::from_millis(1);

/// Counts since the device was started.
#[derive(Debug, Clone, Default)]
pub struct EmulatorReading {
    /// By edge.
    pub edges: Vec<EdgeReading>,
    /// Frames that were handed to a host later than [`LATE`] after their time.
    pub late: u64,
    /// How late each frame was, since the last reading: from the model's time of its last bit at
    /// the host until the kernel had taken it.
    pub lateness: Histogram,
    /// Frames that the model saw later than their host sent them, by more than the profile's queues
    /// forgive: what it says of them and of those after them may be wrong.
    pub displaced: u64,
    /// The most that a frame was displaced by, since the last reading.
    pub displacement: Nanos,
    /// For how long the thread was away at most while it meant to be awake, since the last reading.
    pub absence: Nanos,
}

/// One port's counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EdgeReading {
    /// What the model counted: `entered` are frames that its host sent and that had the wire,
    /// `delivered` those that were to be handed to it.
    pub model: PortCounts,
    /// Frames handed to its host.
    pub delivered: u64,
    /// Frames of its host that the model dropped, copies among them, by cause.
    pub dropped: BTreeMap<Cause, u64>,
    /// Frames of its host that a router has no hop for to live.
    pub expired: u64,
    /// Frames of its host beyond what its wire carries, and its queue holds.
    pub host_overrun: u64,
    /// Frames of its host that the emulator had no room for: it was kept from its work.
    pub overflow: u64,
    /// Frames that its host did not take.
    pub refused: u64,
}

impl EmulatorReading {
    /// The change of every count since `earlier`; what is told of times is since the reading before
    /// anyway.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let edges = self.edges.iter().enumerate();
        Self {
            edges: edges
                .map(|(i, now)| earlier.edges.get(i).map_or_else(|| now.clone(), |e| now.since(e)))
                .collect(),
            late: self.late - earlier.late,
            lateness: self.lateness.clone(),
            displaced: self.displaced - earlier.displaced,
            displacement: self.displacement,
            absence: self.absence,
        }
    }

    /// Counts a frame that had its host's wire, `by` later than it would have had it.
    pub(super) fn enter(&mut self, by: Picos, limit: Picos) {
        self.displaced += u64::from(by > limit);
        self.displacement = self.displacement.max(by.to_nanos());
    }

    /// Frames that had a host's wire.
    pub fn entered(&self) -> u64 {
        self.edges.iter().map(|edge| edge.model.entered).sum()
    }

    /// Frames that their host did not take.
    pub fn refused(&self) -> u64 {
        self.edges.iter().map(|edge| edge.refused).sum()
    }

    /// Frames handed to hosts.
    pub fn delivered(&self) -> u64 {
        self.edges.iter().map(|edge| edge.delivered).sum()
    }

    /// Frames that the emulator had no room for.
    pub fn overflow(&self) -> u64 {
        self.edges.iter().map(|edge| edge.overflow).sum()
    }
}

impl EdgeReading {
    fn since(&self, earlier: &Self) -> Self {
        let then = |cause: &Cause| earlier.dropped.get(cause).copied().unwrap_or(0);
        Self {
            model: self.model.since(&earlier.model),
            delivered: self.delivered - earlier.delivered,
            dropped: self.dropped.iter().map(|(cause, now)| (*cause, now - then(cause))).collect(),
            expired: self.expired - earlier.expired,
            host_overrun: self.host_overrun - earlier.host_overrun,
            overflow: self.overflow - earlier.overflow,
            refused: self.refused - earlier.refused,
        }
    }
}
