//! Incidents of a watch: changes that belong together, and outages of paths.
//!
//! Owns which changes form an incident, and the evidence for its cause. `comparison::whose` names
//! the cause.

use std::collections::VecDeque;

use measure::change::{Amount, Change, Direction};
use measure::ranks::Shift;
use serde::{Deserialize, Serialize};

use super::plan::WatchSpec;
use super::series::Quantity;
use crate::comparison::{Doing, Path, whose};

/// Least number of visits after a change with which a path can be said to have changed as well.
const FEWEST_AFTER: usize = 4;
/// Number of visits before a change that suffice for a comparison.
const BEFORE: usize = 60;
/// Least change of another path, as a share of the first series' change.
const LIKE: f64 = 0.5;
/// Confidence that another path changed as well.
const CONFIDENCE: f64 = 0.95;

/// Change of one series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Index of the path in the watch.
    pub way: usize,
    /// Quantity that changed.
    pub quantity: Quantity,
    /// Moment and size of the change.
    pub change: Change,
}

/// Changes with a common cause, as far as their times show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Number, from 1, in the order of detection.
    pub number: u32,
    /// Changes, in the order of detection.
    pub members: Vec<Member>,
    /// Cause, as far as known.
    pub doing: Doing,
}

/// Path without answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// Index of the path in the watch.
    pub way: usize,
    /// Time of the last answered visit, in nanoseconds since 1970; of the first unanswered one if
    /// there was none before.
    pub after_unix_ns: u64,
    /// Time of the first unanswered visit, in nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// Time of the first visit that was answered again, in nanoseconds since 1970; `None` during
    /// the outage.
    pub to_unix_ns: Option<u64>,
}

impl Incident {
    /// True if a change may have the same cause: the times overlap, within `slack` nanoseconds.
    pub fn may_have(&self, change: &Change, slack: u64) -> bool {
        self.members.iter().any(|member| {
            let (own, other) = (&member.change, change);
            own.earliest.unix_ns <= other.latest.unix_ns.saturating_add(slack)
                && other.earliest.unix_ns <= own.latest.unix_ns.saturating_add(slack)
        })
    }

    /// Change that was detected first.
    pub fn lead(&self) -> &Member {
        &self.members[0]
    }

    /// True if everything changed for the worse, false if for the better; `None` if mixed.
    pub fn is_worse(&self) -> Option<bool> {
        let worse = |member: &Member| {
            (member.change.direction == Direction::Up) != member.quantity.more_is_better()
        };
        let first = worse(self.lead());
        self.members.iter().all(|member| worse(member) == first).then_some(first)
    }
}

/// Latest visits of one series: time and value.
pub(super) type Recent = VecDeque<(u64, f64)>;

/// Determines the cause from the detected changes, and from the visits of the other paths.
pub(super) fn doing<'r>(
    spec: &WatchSpec,
    members: &[Member],
    recent: impl Fn(usize, Quantity) -> Option<&'r Recent>,
) -> Doing {
    let lead = &members[0];
    let of = |(at, way): (usize, &super::WatchedWay)| {
        let found =
            members.iter().any(|m| m.way == at && m.quantity.family() == lead.quantity.family());
        Path {
            from: way.from.to_string(),
            to: way.to.to_string(),
            is_direct: way.is_direct(),
            uplinks: spec.uplinks(way),
            changed: found || recent(at, lead.quantity).is_some_and(|own| is_like(own, lead)),
        }
    };
    let paths: Vec<Path> = spec.ways.iter().enumerate().map(of).collect();
    whose(&paths)
}

/// True if a series changed together with another: in the same direction, at the same time, and at
/// least half as much.
fn is_like(own: &Recent, lead: &Member) -> bool {
    let change = &lead.change;
    let is_ratio = change.amount == Amount::Ratio;
    if is_ratio && own.iter().any(|(_, value)| *value <= 0.0) {
        return false;
    }
    let scaled = |value: f64| if is_ratio { value.ln() } else { value };
    let part = |is_after: bool| {
        let within =
            own.iter().rev().filter(move |(at, _)| (*at >= change.since.unix_ns) == is_after);
        within.map(|(_, value)| scaled(*value))
    };
    let after: Vec<f64> = part(true).take(BEFORE).collect();
    let before: Vec<f64> = part(false).take(BEFORE).collect();
    if after.len() < FEWEST_AFTER || before.len() < FEWEST_AFTER {
        return false;
    }
    let Some(shift) = Shift::of_sides(&after, &before) else { return false };
    let by = if is_ratio { scaled(change.value) } else { change.value };
    let (interval, estimate) = (shift.interval(CONFIDENCE), shift.estimate());
    let clear = if by > 0.0 { interval.low > 0.0 } else { interval.high < 0.0 };
    clear && estimate.abs() >= LIKE * by.abs()
}
