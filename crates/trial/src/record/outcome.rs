//! Whether a trial may be used, and which gate did not hold.
//!
//! Owns the numbers that a broken gate is told with. Never judges: [`crate::validity`] does.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Whether a trial may be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every gate held.
    Valid,
    /// It ran, but a gate did not hold: not a device loss, not a figure.
    Invalid {
        /// Each broken gate.
        reasons: Vec<Defect>,
    },
    /// It did not run to its end.
    Failed {
        /// What happened, in the failing part's own words.
        reason: String,
    },
}

impl Outcome {
    /// Whether figures may come from it.
    pub const fn is_valid(&self) -> bool {
        matches!(self, Self::Valid)
    }
}

/// A gate that did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Defect {
    /// What was sent differs from what was asked for by more than 0.1 %.
    OfferedLoad {
        /// The flow.
        flow: u16,
        /// Frames a second asked for.
        asked: f64,
        /// Frames a second sent.
        sent: f64,
    },
    /// The sender caught up with more frames back to back than allowed.
    Burst {
        /// The flow.
        flow: u16,
        /// Longest run.
        longest: u64,
        /// Allowed.
        limit: u32,
    },
    /// Not the whole burst left, or more than it.
    BurstLength {
        /// The flow.
        flow: u16,
        /// Frames asked for.
        asked: u64,
        /// Frames sent.
        sent: u64,
    },
    /// The sender was held up and caught up, and frames were lost: no more than it sent late, so
    /// that the loss may be its doing, or with so many sent late that how many are lost says
    /// little.
    Late {
        /// The flow.
        flow: u16,
        /// Frames sent late.
        late: u64,
        /// Frames lost.
        lost: u64,
    },
    /// The sender was held up in handing frames over, and handed its last ones over when half the
    /// residual time or more had passed: those lost may have come after the receivers had closed.
    Overrun {
        /// The flow.
        flow: u16,
        /// How long after the load's end.
        by: Nanos,
        /// Frames lost.
        lost: u64,
    },
    /// A counter on the tester's side moved.
    TesterCounter {
        /// The port, or `host` for counters of the whole host.
        place: String,
        /// The counter's name.
        counter: String,
        /// By how much.
        by: u64,
    },
    /// Frames were lost while other programs, or the hypervisor, had more of the tester's
    /// processors than was left over: the loss may be that of frames which nobody came to carrying.
    ForeignLoad {
        /// The host.
        host: String,
        /// Of all its processors' time, 0…1.
        share: f64,
    },
    /// Frames that were not the trial's crossed a port of its flows: see
    /// [`mod@crate::other_traffic`].
    OtherTraffic {
        /// The port.
        place: String,
        /// Frames a second of others.
        rate: f64,
    },
    /// A link went down or up while the load ran.
    LinkFlap {
        /// The port.
        place: String,
    },
    /// The device whose counter stands for the receiver did not tell what left.
    Uncounted {
        /// The flow.
        flow: u16,
        /// The device's port.
        place: String,
    },
    /// The device's counter moved by more than was sent, and by more than others speak at rest.
    Overcounted {
        /// The flow.
        flow: u16,
        /// The device's port.
        place: String,
        /// Frames that left there.
        counted: u64,
        /// Frames sent.
        sent: u64,
    },
    /// The peer saw nothing at all.
    NothingReceived {
        /// The flow.
        flow: u16,
    },
}
