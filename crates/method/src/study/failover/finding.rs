//! What the failover study found: what each deed, and nothing, did to the flows of each direction.
//!
//! Owns the structure of its values and their order. Never makes a value: `rows` and `sharing` do.

use page::Figure;

use super::sharing::Sharing;
use crate::study::view::{FirstOfEach, Place, values};

/// All cases, and the trials that are shown flow by flow.
#[derive(Debug)]
pub struct FailoverFinding {
    /// Way by way: nothing for each way to tell flows apart, then each deed.
    pub(super) cases: Vec<FailoverCase>,
    /// The first valid trial of each label and device.
    pub(super) firsts: FirstOfEach,
}

/// Flows of one direction, and what is done meanwhile.
#[derive(Debug)]
pub(super) struct FailoverCase {
    pub(super) place: Place,
    /// The deed's name, or that of doing nothing.
    pub(super) deed: String,
    pub(super) flows: u64,
    /// `source ports`
    pub(super) told_apart: String,
    /// Flows interrupted by the deed; none where nothing is done.
    pub(super) failure: Option<Interruption>,
    /// Flows interrupted by its being undone; none where that is not done.
    pub(super) restoration: Option<Interruption>,
    /// Frames of a whole trial, as the next two.
    pub(super) lost: Figure,
    pub(super) reordered: Figure,
    pub(super) duplicated: Figure,
    /// Flows of which not one frame came.
    pub(super) silent: Figure,
    /// Shares of several paths, where nothing is done and the device counts on them.
    pub(super) sharing: Option<Sharing>,
}

/// Flows interrupted from one moment on. Values are over the trials, times from that moment; those
/// after `longest` are none where no interruption is shown.
#[derive(Debug)]
pub(super) struct Interruption {
    /// The longest outage of any flow.
    pub(super) longest: Figure,
    /// The median outage of those that were interrupted.
    pub(super) median: Option<Figure>,
    pub(super) first_lost: Option<Figure>,
    pub(super) all_back: Option<Figure>,
    /// The share of flows that were interrupted.
    pub(super) affected: Option<Figure>,
    pub(super) gone: Option<Figure>,
    /// Others may have been interrupted while no frame of theirs was due.
    pub(super) is_least: bool,
    /// Trials in which a flow was interrupted for longer than any is while nothing is done.
    pub(super) trials: u64,
    /// The reason why its end is not known; none where all flows came back by themselves.
    pub(super) unseen_end: Option<UnseenEnd>,
}

/// Reasons why nobody saw the end of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnseenEnd {
    /// Flows came back only as the deed was undone.
    Undone,
    /// Flows did not come back within the trial.
    TrialOver,
}

values! {
    FailoverFinding: cases;
    FailoverCase: failure, restoration, lost, reordered, duplicated, silent, sharing;
    Interruption: longest, median, first_lost, all_back, affected, gone;
}

impl Interruption {
    /// The values, to be read.
    pub(super) fn figures(&self) -> Vec<&Figure> {
        let Self { longest, median, first_lost, all_back, affected, gone, .. } = self;
        let shown = [median, first_lost, all_back, affected, gone];
        std::iter::once(longest).chain(shown.into_iter().flatten()).collect()
    }
}
