//! The time a device goes on losing frames after an overload (RFC 2544 §26.5), by frame size.
//!
//! Owns the words of an overload. Never says how long a device takes that was not overloaded.

use page::{Answer, Cell, Figure, Table, words};

use super::super::finding::{ForwardingFinding, RecoveryCase};
use super::super::rig::Direction;
use super::rate_cell;
use super::smallest::{Part, lasting, sentences};

/// The recovery at the smallest frames.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let mut parts = Vec::new();
    for case in &found.recovery {
        let percent = case.overload.map(|overload| words::trimmed(overload.percent, 1));
        let percent = percent.map_or_else(String::new, |percent| format!(" of {percent} %"));
        let frames = case.traffic.frames.in_words();
        let begins =
            format!("After an overload{percent} has ended, frames of {frames} go on being lost");
        parts.extend(case.times.iter().map(|(direction, time)| Part {
            text: lasting(&case.traffic, time),
            ..Part::new(&case.traffic, *direction, begins.clone(), time)
        }));
    }
    sentences("Recovery?", parts)
}

pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let mut times: Vec<(&RecoveryCase, Option<Direction>, &Figure)> = Vec::new();
    for case in &found.recovery {
        times.extend(case.times.iter().map(|(direction, time)| (case, *direction, time)));
    }
    times.sort_by_key(|(case, direction, _)| {
        (case.traffic.frames.clone(), case.traffic.place(*direction))
    });
    let row = |(case, direction, time): (&RecoveryCase, Option<Direction>, &Figure)| {
        let overload = case.overload;
        let note = overload.map(|overload| {
            let percent = words::trimmed(overload.percent, 1);
            let duration = words::time(overload.duration.0 as f64);
            format!("{percent}\u{a0}% of the throughput, for {duration}")
        });
        vec![
            case.traffic.frames.cell(),
            case.traffic.place(direction).cell(),
            rate_cell(overload.map(|overload| overload.from)).with_note(note.unwrap_or_default()),
            rate_cell(overload.map(|overload| overload.to)),
            Cell::value(time),
            Cell::samples(&[time]),
            Cell::limit(&[time]),
        ]
    };
    let head = [
        "octets",
        "device",
        "overload, frames/s",
        "then, frames/s",
        "recovery time",
        "trials",
        "limited by",
    ];
    let note = "From the end of an overload to the departure of the last frame lost.";
    Table::new("System recovery (RFC 2544 §26.5)", head)
        .sparing(&["trials"])
        .with_note(note)
        .with_rows(times.into_iter().map(row))
        .unless_empty()
}
