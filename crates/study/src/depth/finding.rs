//! Findings of the depth study: each output's estimates, the unit of the buffer, and whether
//! outputs share it.
//!
//! Owns the order of the values' rows. Never computes one, and never draws.

use std::collections::BTreeMap;

use measure::{FrameSize, Nanos};

use super::cells::Counting;
use super::outlets::Outlet;
use super::sharing::Point;
use crate::view::{Place, Values, values};
use page::{Figure, Key, phrase};

/// Code word of the reason why no class of service has an estimate.
pub(super) const NO_CLASSES: &str = "no-classes";

/// Reason why no class of service has an estimate.
pub(super) fn no_classes() -> String {
    phrase::code(&Key::Reason, NO_CLASSES)
}

/// All findings.
#[derive(Debug)]
pub struct DepthFinding {
    pub(super) place: Place,
    /// Outputs in the requested order.
    pub(super) outputs: Vec<OutputDepth>,
    /// Output on which the rest was measured.
    pub(super) first: Outlet,
    pub(super) units: Option<BufferUnits>,
    pub(super) shared: Option<SharedBuffer>,
    /// Row without an estimate for each class of service, with the reason.
    pub(super) by_class: Option<Figure>,
}

/// Buffer of one output.
#[derive(Debug)]
pub(super) struct OutputDepth {
    pub(super) outlet: Outlet,
    pub(super) size: FrameSize,
    /// Additional queue in which frames wait, besides the output's.
    pub(super) waits: Option<Queue>,
    /// One-shot estimate; without a value if the buffer could not be filled.
    pub(super) one_shot: Option<Figure>,
    pub(super) burst: Option<Figure>,
    pub(super) delay: Option<Figure>,
    /// True if the value is only a lower bound.
    pub(super) is_bound: bool,
    /// Code word of the reason why the estimators do not agree.
    pub(super) disagreement: Option<&'static str>,
    pub(super) paths: Option<LongPaths>,
}

/// Queues of a device that is limited in frames a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    BeforeDecision,
    /// Queues of both kinds: the packet limit is just above the output's rate.
    Both,
}

impl Queue {
    pub(super) fn to_words(self) -> String {
        phrase::code(&Key::Waits, self.as_str())
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeDecision => "before-decision",
            Self::Both => "before-decision-and-at-output",
        }
    }
}

/// Paths for which the buffer is large enough.
#[derive(Debug)]
pub(super) struct LongPaths {
    /// Rate in bits a second.
    pub(super) rate: f64,
    pub(super) by_flows: Vec<FlowsPaths>,
}

/// Paths for a number of flows.
#[derive(Debug)]
pub(super) struct FlowsPaths {
    pub(super) flows: u32,
    /// Longest RTT.
    pub(super) longest: Figure,
    pub(super) round_trips: Vec<RoundTrip>,
}

/// RTT, and whether the buffer is large enough for it.
#[derive(Debug)]
pub(super) struct RoundTrip {
    pub(super) rtt: Nanos,
    /// Octets that the flows need.
    pub(super) needed: f64,
    pub(super) enough: Figure,
}

/// Units in which a buffer is counted.
#[derive(Debug)]
pub(super) struct BufferUnits {
    pub(super) counting: Counting,
    /// Numbers of queued frames by frame size in octets.
    pub(super) frames: BTreeMap<u32, f64>,
    pub(super) cell: Figure,
}

/// Outputs that were overfilled together.
#[derive(Debug)]
pub(super) struct SharedBuffer {
    pub(super) size: FrameSize,
    pub(super) points: Vec<Point>,
    pub(super) shared: Figure,
    pub(super) threshold: Option<Threshold>,
}

/// Parameters of a dynamic threshold.
#[derive(Debug)]
pub(super) struct Threshold {
    pub(super) total: Figure,
    pub(super) alpha: Figure,
    pub(super) reserve: Figure,
}

impl OutputDepth {
    /// Reason why the estimators do not agree; `None` if they do.
    pub(super) fn disagreement_in_words(&self) -> Option<String> {
        self.disagreement.map(|reason| phrase::code(&Key::Disagreement, reason))
    }

    /// Estimates with a value, by name.
    pub(super) fn estimates(&self) -> impl Iterator<Item = (&'static str, &Figure)> {
        let all = [("one-shot", &self.one_shot), ("burst", &self.burst), ("delay", &self.delay)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }
}

values! {
    DepthFinding: outputs, units, shared, by_class;
    BufferUnits: cell;
    SharedBuffer: shared, threshold;
    Threshold: total, alpha, reserve;
}

impl Values for OutputDepth {
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
        all.extend([&mut self.one_shot, &mut self.burst, &mut self.delay].into_iter().flatten());
        let mut enough = Vec::new();
        for paths in self.paths.iter_mut().flat_map(|paths| &mut paths.by_flows) {
            all.push(&mut paths.longest);
            enough.extend(paths.round_trips.iter_mut().map(|trip| &mut trip.enough));
        }
        all.extend(enough);
    }
}
