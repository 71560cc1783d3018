//! Tables of RTTs, delay variation, and the TCP background load.
//!
//! Owns their columns and order. Never computes a value.

use page::{Cell, Column, Figure, Listing, Room, Table, words};

use super::Trips;
use crate::latency::finding::{Added, LatencyFinding};
use crate::rows::Direction;

/// Added latency, the cable's drift, RTTs and delay variation, as far as available.
pub(super) fn delays(found: &LatencyFinding) -> Vec<Table> {
    let mut trips: Vec<Trips<'_>> = found.cases.iter().flat_map(Trips::of_case).collect();
    trips.sort_by_key(|Trips { case, path, .. }| {
        (case.protocol.as_str(), case.load.describe(), &path.frames, &path.place)
    });
    let added_note = if found.is_cable_apart {
        "The direct cable was measured at another time: the interval holds what rounds of it \
         differ by."
    } else {
        "Block by block."
    };
    let tables = [
        table(
            "Added by the device to the round trip: through it less over the direct cable",
            added_note,
            &trips,
            |trips| trips.path.added.iter().flat_map(Added::at_quantiles).collect(),
        ),
        table(
            "Drift of the direct cable alone: its last round less its first",
            "An added latency that is no larger than this is undetermined.",
            &trips,
            |trips| trips.size.drift(trips.path),
        ),
        table("Round-trip time", "Under each value its interval.", &trips, |trips| {
            trips.path.rtt.iter().collect()
        }),
        table(
            "Delay variation, PDV (RFC 5481)",
            "Each round trip less the smallest.",
            &trips,
            |trips| trips.path.pdv.iter().collect(),
        ),
        table(
            "Delay variation, IPDV (RFC 5481)",
            "Each round trip less the one before it, signed.",
            &trips,
            |trips| trips.path.ipdv.iter().collect(),
        ),
    ];
    tables.into_iter().flatten().collect()
}

/// Table with one row for each path that has such values, and one column for each of their
/// quantiles.
fn table(
    title: &str,
    note: &str,
    trips: &[Trips<'_>],
    values: for<'a> fn(&Trips<'a>) -> Vec<&'a Figure>,
) -> Option<Table> {
    let rows = trips.iter().map(|trips| (*trips, values(trips)));
    let rows: Vec<_> = rows.filter(|(_, values)| !values.is_empty()).collect();
    let (_, first) = rows.first()?;
    let quantiles = first.iter().filter_map(|value| value.quantile);
    let quantiles: Vec<Column> =
        quantiles.map(|q| Column { name: words::quantile(q), room: room(q) }).collect();
    let table = Listing::new(title, rows)
        .column("protocol", |(trips, _)| Cell::text(trips.protocol()))
        .column("octets", |(trips, _)| trips.path.frames.cell())
        .column("load", |(trips, ..)| Cell::text(trips.case.load.abbreviate()))
        .column("device", |(trips, _)| trips.path.place.cell())
        .columns(quantiles, |(_, values), at| Cell::value(values[at]))
        .samples("n", |(_, values)| values.clone())
        .limit(|(_, values)| values.clone())
        .table();
    Some(table.sparing(&["n"]).with_note(note))
}

/// Priority of a quantile's column: medians and tails stay longest; extremes and values in between
/// go first.
fn room(quantile: f64) -> Room {
    match quantile {
        q if q <= 0.0 => Room::Spare(32),
        q if q < 0.5 => Room::Always,
        q if q >= 1.0 => Room::Spare(20),
        q if (0.6..0.95).contains(&q) => Room::Spare(31),
        _ => Room::Always,
    }
}

/// Queue behind the RTTs and round trips a minute, with TCP as the load.
pub(super) fn under_load(found: &LatencyFinding) -> Option<Table> {
    let loaded = found.cases.iter().flat_map(Trips::of_case);
    let loaded = loaded.filter_map(|trips| Some((trips, trips.path.under_load.as_ref()?)));
    Listing::new("What waits under the load", loaded)
        .column("load", |(trips, ..)| Cell::text(trips.case.load.abbreviate()))
        .column("beside", |(trips, _)| {
            Cell::text(format!("{} {}", trips.protocol(), trips.size.size))
        })
        .column("device", |(trips, _)| trips.path.place.cell())
        .optional("waiting, median", |(_, it)| it.waiting.first())
        .optional("waiting, p99", |(_, it)| it.waiting.get(1))
        .optional("RPM beside", |(_, it)| it.rpm.first())
        .optional("RPM inside", |(_, it)| it.rpm.get(1))
        .optional("RPM, both", |(_, it)| it.rpm.get(2))
        .limit(|(_, it)| it.rpm.iter().chain(&it.waiting).collect())
        .table()
        .sparing(&["RPM beside", "RPM inside"])
        .with_note(
            "Waiting: octets of frames, the RTT less the idle one times the load's rate. RPM: \
             round trips a minute of requests beside the load, of the load's own connections, and \
             their mean; the network's part only, without TLS and HTTP.",
        )
        .unless_empty()
}

/// Goodput and retransmits of TCP as a load.
pub(super) fn load(found: &LatencyFinding) -> Option<Table> {
    let values = found.cases.iter().flat_map(Trips::of_case).flat_map(|trips| {
        let loads = &trips.path.load;
        let each_way = [Direction::Forward, Direction::Reverse];
        let way = move |at: usize| each_way.get(at).filter(|_| loads.len() > 1).copied();
        loads.iter().enumerate().flat_map(move |(at, load)| {
            [&load.goodput, &load.retransmits].map(|value| (trips, way(at), value))
        })
    });
    Listing::new("The load beside the round trips", values)
        .column("metric", |(_, way, value)| Cell::text(metric(value, *way)))
        .column("load", |(trips, ..)| Cell::text(trips.case.load.abbreviate()))
        .column("beside", |(trips, ..)| {
            Cell::text(format!("{} {}", trips.protocol(), trips.size.size))
        })
        .column("device", |(trips, ..)| trips.path.place.cell())
        .value("value", |(.., value)| value)
        .samples("n", |(.., value)| vec![value])
        .limit(|(.., value)| vec![value])
        .table()
        .sparing(&["n"])
        .with_note("TCP payload a second at the receiver, and retransmits, per trial.")
        .unless_empty()
}

/// `goodput`, or with a load each way `goodput, reverse`.
fn metric(value: &Figure, way: Option<Direction>) -> String {
    let way = way.map(|way| format!(", {}", way.as_str()));
    value.metric.as_str().to_owned() + &way.unwrap_or_default()
}
