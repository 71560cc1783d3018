//! Whose doing a difference is: the devices', or something else's that changed as well.
//!
//! Owns the reasons that forbid putting a difference down to a device. Never weighs them: one is
//! enough.

use measure::comparison::{Comparison, Decision};
use serde::Serialize;

use super::{Direct, Row};
use page::Verdict;

/// Fewer blocks than these never reach 95 %.
const FEWEST_BLOCKS: usize = 5;

/// Whether a difference may be put down to what is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// Why not; empty where it may.
    pub reasons: Vec<String>,
    /// One side is the direct cable itself: what the other adds to it, at another time.
    pub direct: bool,
}

impl Attribution {
    /// Whether it may.
    pub fn is_given(&self) -> bool {
        self.reasons.is_empty()
    }

    /// `not attributable: no bypass, one run`, or that it may be put down to the devices.
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

/// What a direct cable measured in a run of its own leaves open.
const ANOTHER_TIME: &str =
    "measured at another time: what the hosts changed by in between is in the difference";

/// How both sides were measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) interleaved: bool,
    /// In how many figures the A/A control came out different, and of how many.
    pub(super) control: (usize, usize),
    pub(super) direct: Option<Direct>,
    /// A side's direct cable was measured at another time than its device.
    pub(super) another_time: bool,
}

/// What the cable did has to be certain for the figure that the question is about: of `primary`,
/// the place of its row. Others that are only not shown to be the same forbid nothing.
pub(super) fn attribute(
    (rows, primary): (&[Row], Option<usize>),
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

/// Whether the direct cable is shown to have been the same in the question's own figure, or what it
/// varies by is not in it.
fn same(rows: &[Row], primary: Option<usize>) -> bool {
    let Some(row) = primary.and_then(|at| rows.get(at)) else { return false };
    let is_same = |control: Comparison| control.decision == Decision::Equivalent;
    row.clear_of_tester || row.control.is_some_and(is_same)
}
