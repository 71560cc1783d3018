//! Findings of the failover study: the effect of each deed, and of none, on the flows of each
//! direction.
//!
//! Owns the structure of its values and their order. Never computes a value: `rows` and `sharing`
//! do.

use page::Figure;

use super::sharing::Sharing;
use crate::view::{FirstOfEach, Place, values};

/// Cases, and the trials that are shown flow by flow.
#[derive(Debug)]
pub struct FailoverFinding {
    /// Cases of each path: one without a deed for each kind of flows, then one for each deed.
    pub(super) cases: Vec<FailoverCase>,
    /// First valid trial of each label and device.
    pub(super) firsts: FirstOfEach,
}

/// Flows of one direction, and the deed during their trial.
#[derive(Debug)]
pub(super) struct FailoverCase {
    pub(super) place: Place,
    /// Name of the deed, or of doing nothing.
    pub(super) deed: String,
    pub(super) flows: u64,
    /// `source ports`
    pub(super) told_apart: String,
    /// Interruption by the deed; `None` without one.
    pub(super) failure: Option<Interruption>,
    /// Interruption by the undoing; `None` if the deed is not undone.
    pub(super) restoration: Option<Interruption>,
    /// Lost frames of a whole trial; the next two are also over a whole trial.
    pub(super) lost: Figure,
    pub(super) reordered: Figure,
    pub(super) duplicated: Figure,
    /// Number of flows without a single received frame.
    pub(super) silent: Figure,
    /// Shares of several paths, if no deed is done and the device counts on them.
    pub(super) sharing: Option<Sharing>,
}

/// Interruption from one moment on. Values are over the trials, and times from that moment. Those
/// after `longest` are `None` if no interruption is shown.
#[derive(Debug)]
pub(super) struct Interruption {
    /// Longest outage of any flow.
    pub(super) longest: Figure,
    /// Median outage of the interrupted flows.
    pub(super) median: Option<Figure>,
    pub(super) first_lost: Option<Figure>,
    pub(super) all_back: Option<Figure>,
    /// Share of flows that were interrupted.
    pub(super) affected: Option<Figure>,
    pub(super) gone: Option<Figure>,
    /// True if other flows may have been interrupted between two frames.
    pub(super) is_least: bool,
    /// Number of trials in which a flow was interrupted for longer than in any without a deed.
    pub(super) trials: u64,
    /// Reason why its end is unknown; `None` if all flows recovered by themselves.
    pub(super) unseen_end: Option<UnseenEnd>,
}

/// Reason why the end of an interruption was not observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnseenEnd {
    /// Flows recovered only when the deed was undone.
    Undone,
    /// Flows did not recover within the trial.
    TrialOver,
}

values! {
    FailoverFinding: cases;
    FailoverCase: failure, restoration, lost, reordered, duplicated, silent, sharing;
    Interruption: longest, median, first_lost, all_back, affected, gone;
}

impl Interruption {
    /// Values, read-only.
    pub(super) fn figures(&self) -> Vec<&Figure> {
        let Self { longest, median, first_lost, all_back, affected, gone, .. } = self;
        let shown = [median, first_lost, all_back, affected, gone];
        std::iter::once(longest).chain(shown.into_iter().flatten()).collect()
    }
}
