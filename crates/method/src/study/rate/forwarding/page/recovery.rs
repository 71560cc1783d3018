//! The time a device goes on losing frames after an overload (RFC 2544 §26.5), by frame size.
//!
//! Owns the words of an overload. Never says how long a device takes that was not overloaded.

use page::{Answer, Figure, Table, words};

use super::super::finding::{ForwardingFinding, OneWay, Overload};
use super::smallest::{Part, lasting, sentences};
use super::{listing, rate_cell};

fn times(
    found: &ForwardingFinding,
) -> impl Iterator<Item = (Option<Overload>, OneWay<'_, Figure>)> {
    let cases = found.recovery.iter();
    cases.flat_map(|case| case.traffic.each(&case.times).map(|way| (case.overload, way)))
}

/// The recovery at the smallest frames.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let parts = times(found).map(|(overload, way)| {
        let percent = overload.map(|overload| words::trimmed(overload.percent, 1));
        let percent = percent.map_or_else(String::new, |percent| format!(" of {percent} %"));
        let frames = way.traffic.frames.in_words();
        let begins =
            format!("After an overload{percent} has ended, frames of {frames} go on being lost");
        Part { percent: None, begins, text: lasting(&way), way, others: Vec::new() }
    });
    sentences("Recovery?", parts.collect())
}

pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
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
