//! What happened to a watched testbed: changes that belong together, and ways that answered
//! nothing.
//!
//! Owns which changes are one incident, and the evidence of whose doing it is. The culprit is
//! `comparison::whose`'s to name.

use std::collections::VecDeque;

use measure::change::{Amount, Change, Direction};
use measure::ranks::Shift;
use serde::{Deserialize, Serialize};

use super::plan::WatchSpec;
use super::series::Quantity;
use crate::comparison::{Doing, Path, whose};

/// With fewer visits after a change nobody can say of a way that it changed as well.
const FEWEST_AFTER: usize = 4;
/// So many visits before a change are enough to compare with.
const BEFORE: usize = 60;
/// Of what the first series changed by, a way's own has to have changed by so much.
const LIKE: f64 = 0.5;
/// Of a way that is said to have changed as well.
const CONFIDENCE: f64 = 0.95;

/// A change of one series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// By its place among the watch's ways.
    pub way: usize,
    /// Of what.
    pub quantity: Quantity,
    /// When, how much.
    pub change: Change,
}

/// Changes with one cause, as far as their moments tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// From 1, in the order in which they were found.
    pub number: u32,
    /// The first that was found comes first.
    pub members: Vec<Member>,
    /// Whose doing it is, as far as is known now.
    pub doing: Doing,
}

/// A way that answered nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// By its place among the watch's ways.
    pub way: usize,
    /// Of the last visit that was answered, nanoseconds since 1970; of the first that was not,
    /// where none was before.
    pub after_unix_ns: u64,
    /// Of the first that was not answered.
    pub from_unix_ns: u64,
    /// Of the first that was answered again; none while it lasts.
    pub to_unix_ns: Option<u64>,
}

impl Incident {
    /// Whether a change may have the same cause: the moments overlap, within so much.
    pub fn may_have(&self, change: &Change, slack: u64) -> bool {
        self.members.iter().any(|member| {
            let (own, other) = (&member.change, change);
            own.earliest.unix_ns <= other.latest.unix_ns.saturating_add(slack)
                && other.earliest.unix_ns <= own.latest.unix_ns.saturating_add(slack)
        })
    }

    /// The first change that was found.
    pub fn lead(&self) -> &Member {
        &self.members[0]
    }

    /// Whether all that changed, changed for the worse or for the better; none where it is mixed.
    pub fn is_worse(&self) -> Option<bool> {
        let worse = |member: &Member| {
            (member.change.direction == Direction::Up) != member.quantity.more_is_better()
        };
        let first = worse(self.lead());
        self.members.iter().all(|member| worse(member) == first).then_some(first)
    }
}

/// The latest visits of one series: when, and how much.
pub(super) type Recent = VecDeque<(u64, f64)>;

/// Whose doing it is, from the changes that were found and from what the other ways' own visits
/// tell.
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

/// Whether a series changed with another: the same way, at the same time, by half as much or more.
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
