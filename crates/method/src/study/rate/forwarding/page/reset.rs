//! The time a reset interrupts forwarding (RFC 6201), by frame size and by both estimates.
//!
//! Owns which estimate is told first. Never takes one estimate for the other.

use page::{Answer, Cell, Figure, Table};

use super::super::finding::{ForwardingFinding, Outages};
use super::rate_cell;
use super::smallest::{Part, lasting, sentences};

/// The outage at the smallest frames, by the frames lost.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let outages = found.resets.iter().flat_map(|case| case.traffic.each(&case.outages));
    let parts = outages.filter_map(|outages| {
        let way = outages.with(outages.found.by_loss.as_ref()?);
        let begins = format!("A reset interrupts frames of {}", way.traffic.frames.in_words());
        Some(Part { percent: None, begins, text: lasting(&way), way, others: Vec::new() })
    });
    sentences("Reset?", parts.collect())
}

pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let cases = found.resets.iter();
    let outages =
        cases.flat_map(|case| case.traffic.each(&case.outages).map(|way| (case.load, way)));
    let mut outages: Vec<_> = outages.collect();
    outages.sort_by_key(|(_, way)| way.order());
    let rows = outages.into_iter().flat_map(|(load, way)| {
        let Outages { by_loss, by_gap, missing } = way.found;
        let row = |measured_by: &str, outage: &Figure| {
            let values = [Cell::value(outage), Cell::samples(&[outage]), Cell::limit(&[outage])];
            way.row([Cell::text(measured_by), rate_cell(load)].into_iter().chain(values))
        };
        [
            by_loss.as_ref().map(|outage| row("frames lost", outage)),
            by_gap.as_ref().map(|outage| row("longest gap", outage)),
            missing.as_ref().map(|outage| row("", outage)),
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
        .with_rows(rows.flatten())
        .unless_empty()
}
