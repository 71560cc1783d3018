//! Attribution of a difference: to the devices, or to something else that changed as well.
//!
//! Owns the reasons against an attribution to a device. Never weighs them: one is enough.

use measure::comparison::{Comparison, Decision};
use serde::Serialize;

use super::{Direct, Row};
use page::Verdict;

/// Fewest blocks that reach 95 %.
const FEWEST_BLOCKS: usize = 5;

/// Attribution of a difference to the compared devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// Reasons against it; empty if it is allowed.
    pub reasons: Vec<String>,
    /// True if one side is the direct cable itself: the other's addition, measured at another time.
    pub direct: bool,
}

impl Attribution {
    /// True if the difference is attributable.
    pub fn is_given(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Attribution in words: `not attributable: no bypass, one run`, or the opposite.
    pub fn sentence(&self) -> String {
        if self.is_given() {
            return "attributable: a direct cable between the same hosts stood beside both"
                .to_owned();
        }
        if self.direct && self.reasons.len() == 1 {
            return format!("one side is the direct cable itself, {}", self.reasons[0]);
        }
        format!("not attributable: {}", self.reasons.join(", "))
    }
}

/// Reason against attribution if the direct cable was measured in a run of its own.
const ANOTHER_TIME: &str =
    "measured at another time: what the hosts changed by in between is in the difference";

/// Circumstances of the measurement of both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) interleaved: bool,
    /// Number of figures in which the A/A control differed, and their total.
    pub(super) control: (usize, usize),
    pub(super) direct: Option<Direct>,
    /// True if a side's direct cable was measured at another time than its device.
    pub(super) another_time: bool,
}

/// Decides on attribution. The direct cable must be known to be equal in the primary figure, the
/// row at `primary`. Other figures that are merely not shown to be equal are no obstacle.
pub(super) fn attribute(
    rows: &[Row],
    primary: Option<usize>,
    Measured { interleaved, control, direct, another_time }: Measured,
) -> Attribution {
    let mut reasons = Vec::new();
    if direct.is_some() {
        reasons.push(ANOTHER_TIME.to_owned());
    } else if another_time {
        reasons.push(format!("the direct cable was {ANOTHER_TIME}"));
    } else if rows
        .iter()
        .all(|row| row.bypass.is_empty() || !(interleaved || row.control.is_some()))
    {
        reasons.push("no bypass".to_owned());
    }
    let most = rows.iter().map(|row| row.comparison.blocks.0.min(row.comparison.blocks.1)).max();
    match most.unwrap_or(0) {
        0 => reasons.push("nothing that both have".to_owned()),
        1 => reasons.push("one run".to_owned()),
        few if few < FEWEST_BLOCKS => reasons.push(format!("only {few} blocks")),
        _ => {}
    }
    let controls: Vec<_> = rows.iter().filter_map(|row| row.control).collect();
    let changed = controls.iter().filter(|control| control.decision == Decision::Different).count();
    let is_unsure = |row: &&Row| {
        let control = row.control.map(|control| control.decision);
        control == Some(Decision::Inconclusive) && !row.clear_of_tester
    };
    let unsure = rows.iter().filter(is_unsure).count();
    if changed > 0 {
        reasons.push(format!(
            "the direct cable's own figures changed between the runs, in {changed} of {}",
            controls.len()
        ));
    } else if unsure > 0 && most.unwrap_or(0) > 1 && !same(rows, primary) {
        reasons.push(format!(
            "the direct cable is not shown to be the same in both runs, in {unsure} of {}",
            controls.len()
        ));
    }
    if control.0 > 0 {
        let (different, all) = control;
        reasons.push(format!("the A/A control came out different in {different} of {all} figures"));
    }
    let tester = |row: &Row| row.verdicts == (Verdict::TesterLimited, Verdict::TesterLimited);
    if !rows.is_empty() && rows.iter().all(tester) {
        reasons.push("the tester was the limit on both sides".to_owned());
    }
    Attribution { reasons, direct: direct.is_some() }
}

/// True if the direct cable is shown to be equal in the primary figure, or if its variation does
/// not matter there.
fn same(rows: &[Row], primary: Option<usize>) -> bool {
    let Some(row) = primary.and_then(|at| rows.get(at)) else { return false };
    let is_same = |control: Comparison| control.decision == Decision::Equivalent;
    row.clear_of_tester || row.control.is_some_and(is_same)
}
