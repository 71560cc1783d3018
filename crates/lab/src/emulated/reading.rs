//! Readings of an emulated device: frame counts, and the lateness of frames.
//!
//! Data only. Never judges: `study` decides whether a device that fell behind invalidates a trial.

use std::collections::BTreeMap;

use device::{Cause, PortCounts};
use measure::{Histogram, Nanos, Picos};

/// Lateness beyond which a frame counts as late. It is more than the machine's other work costs
/// some frames, because lateness changes only times, not counts.
pub const LATE: Nanos = Nanos::from_millis(1);

/// Counts since the device was started.
#[derive(Debug, Clone, Default)]
pub struct EmulatorReading {
    /// Counts by edge.
    pub edges: Vec<EdgeReading>,
    /// Frames that reached a host more than [`LATE`] after their time.
    pub late: u64,
    /// Lateness of the frames since the last reading: from the model's time of the last bit at the
    /// host until the kernel had taken the frame.
    pub lateness: Histogram,
    /// Frames that the model saw later than their host sent them, by more than the profile's queues
    /// tolerate. The model's results for these and later frames may be wrong.
    pub displaced: u64,
    /// Longest displacement of a frame since the last reading.
    pub displacement: Nanos,
    /// Longest absence of the thread while it was awake, since the last reading.
    pub absence: Nanos,
}

/// Counts of one port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EdgeReading {
    /// Counts of the model: `entered` frames were sent by the host onto the wire, `delivered`
    /// frames were due to reach it.
    pub model: PortCounts,
    /// Frames handed to the port's host.
    pub delivered: u64,
    /// Frames of the host that the model dropped, copies included, by cause.
    pub dropped: BTreeMap<Cause, u64>,
    /// Frames of the host whose TTL expired at the router.
    pub expired: u64,
    /// Frames of the host beyond its wire's rate and its queue's size.
    pub host_overrun: u64,
    /// Frames of the host lost because the emulator did not read them in time.
    pub overflow: u64,
    /// Frames that the host did not accept.
    pub refused: u64,
}

impl EmulatorReading {
    /// Computes the increase of every count since `earlier`; times already cover only the interval
    /// since the previous reading.
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

    /// Counts a frame that got its host's wire, `by` later than planned.
    pub(super) fn enter(&mut self, by: Picos, limit: Picos) {
        self.displaced += u64::from(by > limit);
        self.displacement = self.displacement.max(by.to_nanos());
    }

    /// Frames that the hosts sent onto their wires.
    pub fn entered(&self) -> u64 {
        self.edges.iter().map(|edge| edge.model.entered).sum()
    }

    /// Frames that their host did not accept.
    pub fn refused(&self) -> u64 {
        self.edges.iter().map(|edge| edge.refused).sum()
    }

    /// Frames handed to hosts.
    pub fn delivered(&self) -> u64 {
        self.edges.iter().map(|edge| edge.delivered).sum()
    }

    /// Frames lost because the emulator did not read them in time.
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
