//! The time a reset interrupts forwarding (RFC 6201), by frame size and by both estimates.
//!
//! Owns which estimate is told first. Never takes one estimate for the other.

use page::{Answer, Cell, Table};

use super::super::finding::{ForwardingFinding, Outages};
use super::smallest::{Part, lasting, sentences};
use super::{listing, rate_cell};

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
    let outages = outages.into_iter().flat_map(|(load, way)| {
        let Outages { by_loss, by_gap, missing } = way.found;
        let all = [("frames lost", by_loss), ("longest gap", by_gap), ("", missing)];
        all.into_iter().filter_map(move |(by, outage)| Some((by, load, way.with(outage.as_ref()?))))
    });
    let note = "How long forwarding was interrupted at a constant load: the frames lost over the \
                rate, and the longest gap between arrivals.";
    listing("Reset (RFC 6201)", outages, |(.., way)| *way)
        .column("measured by", |(by, ..)| Cell::text(*by))
        .column("load, frames/s", |(_, load, _)| rate_cell(*load))
        .value("interrupted for", |(.., way)| way.found)
        .samples("resets", |(.., way)| vec![way.found])
        .limit(|(.., way)| vec![way.found])
        .table()
        .sparing(&["resets"])
        .with_note(note)
        .unless_empty()
}
