//! Outcome of a trial: valid, invalid with the broken gates, or failed.
//!
//! Owns the values that a broken gate is reported with. Never judges: [`crate::validity`] does.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Outcome of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every gate held.
    Valid,
    /// The trial completed, but a gate did not hold: no device loss and no result.
    Invalid {
        /// Broken gates.
        reasons: Vec<Defect>,
    },
    /// The trial did not complete.
    Failed {
        /// Cause, in the failing part's own words.
        reason: String,
    },
}

impl Outcome {
    /// True if results may come from the trial.
    pub const fn is_valid(&self) -> bool {
        matches!(self, Self::Valid)
    }
}

/// Validity gate that did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Defect {
    /// The offered load differs from the requested one by more than 0.1 %.
    OfferedLoad {
        /// The flow.
        flow: u16,
        /// Frames per second requested.
        asked: f64,
        /// Frames per second sent.
        sent: f64,
    },
    /// The sender caught up with more frames back to back than allowed.
    Burst {
        /// The flow.
        flow: u16,
        /// Longest run of frames.
        longest: u64,
        /// Limit of such a run.
        limit: u32,
    },
    /// The sender sent fewer or more frames than the burst has.
    BurstLength {
        /// The flow.
        flow: u16,
        /// Frames requested.
        asked: u64,
        /// Frames sent.
        sent: u64,
    },
    /// The sender was delayed and caught up, and frames were lost. Either no more were lost than
    /// sent late, so the sender may be the cause, or so many were late that the loss says little.
    Late {
        /// The flow.
        flow: u16,
        /// Frames sent late.
        late: u64,
        /// Frames lost.
        lost: u64,
    },
    /// The sender handed over its last frames in the second half of the residual time, or later.
    /// Lost frames may have arrived after the receivers had closed.
    Overrun {
        /// The flow.
        flow: u16,
        /// Time after the load's end.
        by: Nanos,
        /// Frames lost.
        lost: u64,
    },
    /// A drop counter on the tester's side moved.
    TesterCounter {
        /// Port, or `host` for counters of the whole host.
        place: String,
        /// Name of the counter.
        counter: String,
        /// Change of the counter.
        by: u64,
    },
    /// Frames were lost while other programs, or the hypervisor, used more of the tester's
    /// processors than was idle. The loss may be the tester's.
    ForeignLoad {
        /// The host.
        host: String,
        /// Share of the host's total processor time, 0…1.
        share: f64,
    },
    /// Foreign frames crossed a port of the trial's flows: see [`mod@crate::other_traffic`].
    OtherTraffic {
        /// The port.
        place: String,
        /// Foreign frames per second.
        rate: f64,
    },
    /// A link went down or up during the load.
    LinkFlap {
        /// The port.
        place: String,
    },
    /// The device whose counter replaces the receiver did not report the frames that left.
    Uncounted {
        /// The flow.
        flow: u16,
        /// The device's port.
        place: String,
    },
    /// A NAT gave the flow another address or port during the load, or let its mapping expire.
    MappingChanged {
        /// The flow.
        flow: u16,
        /// Requests that came by another mapping than the first, and had no answer.
        frames: u64,
    },
    /// The device's counter moved by more than was sent, and by more than others send at rest.
    Overcounted {
        /// The flow.
        flow: u16,
        /// The device's port.
        place: String,
        /// Frames that left the port.
        counted: u64,
        /// Frames sent.
        sent: u64,
    },
    /// The peer received nothing at all.
    NothingReceived {
        /// The flow.
        flow: u16,
    },
}
