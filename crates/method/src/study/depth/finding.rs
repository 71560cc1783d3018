//! What the depth study found: each output's estimates, the units in which the buffer is counted,
//! and who shares it.
//!
//! Owns the order of the values' rows. Never makes one, and never draws.

use std::collections::BTreeMap;

use measure::{FrameSize, Nanos};

use super::cells::Counting;
use super::outlets::Outlet;
use super::sharing::Point;
use crate::study::view::{Place, Values, values};
use page::{Figure, Key, phrase};

/// Code word of the reason why no class of service has an estimate.
pub(super) const NO_CLASSES: &str = "no-classes";

/// The reason why no class of service has an estimate.
pub(super) fn no_classes() -> String {
    phrase::code(&Key::Reason, NO_CLASSES)
}

/// Everything that was found.
#[derive(Debug)]
pub struct DepthFinding {
    pub(super) place: Place,
    /// The outputs in the order asked for.
    pub(super) outputs: Vec<OutputDepth>,
    /// The output by which the rest was found.
    pub(super) first: Outlet,
    pub(super) units: Option<BufferUnits>,
    pub(super) shared: Option<SharedBuffer>,
    /// No estimate for each class of service, and why.
    pub(super) by_class: Option<Figure>,
}

/// The buffer before one output.
#[derive(Debug)]
pub(super) struct OutputDepth {
    pub(super) outlet: Outlet,
    pub(super) size: FrameSize,
    /// Another queue than the output's in which frames wait.
    pub(super) waits: Option<Queue>,
    /// Without a value where it could not be filled.
    pub(super) one_shot: Option<Figure>,
    pub(super) burst: Option<Figure>,
    pub(super) delay: Option<Figure>,
    /// True if no more is known than that so much fits.
    pub(super) is_bound: bool,
    /// Code word of the reason why the estimators do not agree.
    pub(super) disagreement: Option<&'static str>,
    pub(super) paths: Option<LongPaths>,
}

/// The queues of a device that runs out of frames a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    BeforeDecision,
    /// The packet limit is just above the output's rate.
    Both,
}

impl Queue {
    pub(super) fn in_words(self) -> String {
        phrase::code(&Key::Waits, self.as_str())
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeDecision => "before-decision",
            Self::Both => "before-decision-and-at-output",
        }
    }
}

/// The paths for which a buffer is enough.
#[derive(Debug)]
pub(super) struct LongPaths {
    /// Bits a second.
    pub(super) rate: f64,
    pub(super) by_flows: Vec<FlowsPaths>,
}

/// Paths of so many flows.
#[derive(Debug)]
pub(super) struct FlowsPaths {
    pub(super) flows: u32,
    /// The longest round trip.
    pub(super) longest: Figure,
    pub(super) round_trips: Vec<RoundTrip>,
}

/// One round trip: is the buffer enough?
#[derive(Debug)]
pub(super) struct RoundTrip {
    pub(super) rtt: Nanos,
    /// Octets.
    pub(super) needed: f64,
    pub(super) enough: Figure,
}

/// Units in which a buffer is counted.
#[derive(Debug)]
pub(super) struct BufferUnits {
    pub(super) counting: Counting,
    /// Numbers of frames that waited, by their octets.
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

/// A dynamic threshold's parameters.
#[derive(Debug)]
pub(super) struct Threshold {
    pub(super) total: Figure,
    pub(super) alpha: Figure,
    pub(super) reserve: Figure,
}

impl OutputDepth {
    /// The reason why the estimators do not agree, where they do not.
    pub(super) fn disagreement_in_words(&self) -> Option<String> {
        self.disagreement.map(|reason| phrase::code(&Key::Disagreement, reason))
    }

    /// The estimates that there are, by name.
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
