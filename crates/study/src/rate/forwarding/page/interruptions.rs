//! Interruptions of forwarding, by frame size: the recovery time after an overload (RFC 2544
//! §26.5), and the time of a reset (RFC 6201), by both estimates.
//!
//! Owns the wording of an overload, and the choice of a reset's first estimate. Never states the
//! recovery of a device that was not overloaded.

use page::{Answer, Block, Cell, Figure, Table, words};

use super::super::finding::{ForwardingFinding, OneWay, Outages, Overload};
use super::smallest::{self, Part};
use super::{listing, rate_cell};

/// Tables of recoveries and resets.
pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let tables = [recovery_table(found), reset_table(found)];
    tables.into_iter().flatten().map(Block::Table).collect()
}

fn times(
    found: &ForwardingFinding,
) -> impl Iterator<Item = (Option<Overload>, OneWay<'_, Figure>)> {
    let cases = found.recovery.iter();
    cases.flat_map(|case| case.traffic.each(&case.times).map(|way| (case.overload, way)))
}

/// Answers on the recovery at the smallest frames.
pub(super) fn recoveries(found: &ForwardingFinding) -> Vec<Answer> {
    let parts = times(found).map(|(overload, way)| {
        let percent = overload.map(|overload| words::trimmed(overload.percent, 1));
        let conditions = percent.map(|percent| format!("after {percent} % of the throughput"));
        part(way, conditions.unwrap_or_default())
    });
    smallest::answers("Recovery after overload", parts)
}

fn part(way: OneWay<'_, Figure>, conditions: String) -> Part<'_> {
    Part { way, cable: None, bound: None, percent: None, conditions }
}

fn recovery_table(found: &ForwardingFinding) -> Option<Table> {
    let mut times: Vec<_> = times(found).collect();
    times.sort_by_key(|(_, way)| way.order());
    let overload = |overload: &Option<Overload>| {
        let note = overload.map(|overload| {
            let percent = words::trimmed(overload.percent, 1);
            let duration = words::time(overload.duration.0 as f64);
            format!("{percent}\u{a0}% of the throughput, for {duration}")
        });
        rate_cell(overload.map(|overload| overload.from)).with_note(note.unwrap_or_default())
    };
    listing("System recovery (RFC 2544 §26.5)", times, |(_, way)| *way)
        .column("overload, frames/s", |(load, _)| overload(load))
        .column("then, frames/s", |(load, _)| rate_cell(load.map(|load| load.to)))
        .value("recovery time", |(_, way)| way.found)
        .samples("trials", |(_, way)| vec![way.found])
        .limit(|(_, way)| vec![way.found])
        .table()
        .sparing(&["trials"])
        .with_note("From the end of an overload to the departure of the last frame lost.")
        .unless_empty()
}

/// Answers on the outage at the smallest frames, by the frames lost.
pub(super) fn resets(found: &ForwardingFinding) -> Vec<Answer> {
    let outages = found.resets.iter().flat_map(|case| case.traffic.each(&case.outages));
    let parts = outages.filter_map(|outages| {
        let way = outages.with(outages.found.by_loss.as_ref()?);
        Some(part(way, String::new()))
    });
    smallest::answers("Outage by a reset", parts)
}

fn reset_table(found: &ForwardingFinding) -> Option<Table> {
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
