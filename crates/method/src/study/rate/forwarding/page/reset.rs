//! The time a reset interrupts forwarding (RFC 6201), by frame size and by both estimates.
//!
//! Owns which estimate is told first. Never takes one estimate for the other.

use page::{Answer, Cell, Figure, Table};

use super::super::finding::{ForwardingFinding, Outages, ResetCase};
use super::super::rig::Direction;
use super::rate_cell;
use super::smallest::{Part, lasting, sentences};

/// The outage at the smallest frames, by the frames lost.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let mut parts = Vec::new();
    for case in &found.resets {
        let begins = format!("A reset interrupts frames of {}", case.traffic.frames.in_words());
        let outages = case.outages.iter();
        let by_loss = outages.filter_map(|(way, outages)| Some((way, outages.by_loss.as_ref()?)));
        parts.extend(by_loss.map(|(direction, outage)| Part {
            text: lasting(&case.traffic, outage),
            ..Part::new(&case.traffic, *direction, begins.clone(), outage)
        }));
    }
    sentences("Reset?", parts)
}

/// One outage by one estimate.
struct Estimate<'a> {
    case: &'a ResetCase,
    direction: Option<Direction>,
    measured_by: &'static str,
    outage: &'a Figure,
}

fn estimates(found: &ForwardingFinding) -> Vec<Estimate<'_>> {
    let mut all = Vec::new();
    for case in &found.resets {
        for (direction, outages) in &case.outages {
            let Outages { by_loss, by_gap, missing } = outages;
            let named = [("frames lost", by_loss), ("longest gap", by_gap), ("", missing)];
            all.extend(named.into_iter().filter_map(|(measured_by, outage)| {
                let outage = outage.as_ref()?;
                Some(Estimate { case, direction: *direction, measured_by, outage })
            }));
        }
    }
    all.sort_by_key(|one| (one.case.traffic.frames.clone(), one.case.traffic.place(one.direction)));
    all
}

pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let estimates = estimates(found);
    let rows = estimates.iter().map(|one| {
        vec![
            one.case.traffic.frames.cell(),
            one.case.traffic.place(one.direction).cell(),
            Cell::text(one.measured_by),
            rate_cell(one.case.load),
            Cell::value(one.outage),
            Cell::samples(&[one.outage]),
            Cell::limit(&[one.outage]),
        ]
    });
    let head = [
        "octets",
        "device",
        "measured by",
        "load, frames/s",
        "interrupted for",
        "resets",
        "limited by",
    ];
    let note = "How long forwarding was interrupted at a constant load: the frames lost over the \
                rate, and the longest gap between arrivals.";
    Table::new("Reset (RFC 6201)", head)
        .sparing(&["resets"])
        .with_note(note)
        .with_rows(rows)
        .unless_empty()
}
