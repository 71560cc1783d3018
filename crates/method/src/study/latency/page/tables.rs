//! Tables of round trips, delay variation, and the TCP load beside them.
//!
//! Owns their columns and order. Never works out a value.

use page::{Cell, Column, Figure, Room, Table, words};

use super::Trips;
use crate::study::latency::finding::{LatencyFinding, PathTrips};
use crate::study::view::Place;

/// A table's row: one kind of value at each of its quantiles.
struct Row<'a> {
    trips: Trips<'a>,
    place: &'a Place,
    values: Vec<&'a Figure>,
}

/// Time added, the cable's drift, round trips and delay variation, as far as there are any.
pub(super) fn delays(found: &LatencyFinding) -> Vec<Table> {
    let mut trips: Vec<Trips<'_>> = Trips::all(found).collect();
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
            &added_rows(&trips),
        ),
        table(
            "Drift of the direct cable alone: its last round less its first",
            "An added latency that is no larger than this is undetermined.",
            &drift_rows(&trips),
        ),
        table(
            "Round-trip time",
            "Under each value its interval.",
            &path_rows(&trips, |path| &path.rtt),
        ),
        table(
            "Delay variation, PDV (RFC 5481)",
            "Each round trip less the smallest.",
            &path_rows(&trips, |path| &path.pdv),
        ),
        table(
            "Delay variation, IPDV (RFC 5481)",
            "Each round trip less the one before it, signed.",
            &path_rows(&trips, |path| &path.ipdv),
        ),
    ];
    tables.into_iter().flatten().collect()
}

fn path_rows<'a>(trips: &[Trips<'a>], values: fn(&PathTrips) -> &[Figure]) -> Vec<Row<'a>> {
    let row = |trips: &Trips<'a>| Row {
        trips: *trips,
        place: &trips.path.place,
        values: values(trips.path).iter().collect(),
    };
    trips.iter().map(row).collect()
}

fn added_rows<'a>(trips: &[Trips<'a>]) -> Vec<Row<'a>> {
    let row = |trips: &Trips<'a>| {
        let points = trips.path.added.as_ref()?.points.iter();
        let values = points.map(|point| &point.value).collect();
        Some(Row { trips: *trips, place: &trips.path.place, values })
    };
    trips.iter().filter_map(row).collect()
}

/// A cable beside several subjects drifts once.
fn drift_rows<'a>(trips: &[Trips<'a>]) -> Vec<Row<'a>> {
    let row = |trips: &Trips<'a>| {
        let added = trips.path.added.as_ref()?;
        let values: Vec<&Figure> = added.points.iter().filter_map(|p| p.drift.as_ref()).collect();
        let place = &trips.size.over_cable(added).place;
        (!values.is_empty()).then_some(Row { trips: *trips, place, values })
    };
    let mut rows: Vec<Row<'a>> = trips.iter().filter_map(row).collect();
    let is_of_one_size =
        |one: &Row<'_>, other: &Row<'_>| std::ptr::eq(one.trips.size, other.trips.size);
    rows.dedup_by(|next, row| is_of_one_size(next, row) && next.place == row.place);
    rows
}

/// One column for each quantile.
fn table(title: &str, note: &str, rows: &[Row<'_>]) -> Option<Table> {
    let quantiles = rows.first()?.values.iter().filter_map(|value| value.quantile);
    let of_quantile = |q| Column { name: words::quantile(q), room: room(q) };
    let mut columns: Vec<Column> =
        ["protocol", "octets", "load", "device"].map(Column::from).into();
    columns.extend(quantiles.map(of_quantile));
    columns.extend(["n", "limited by"].map(Column::from));
    let cells = |row: &Row<'_>| {
        let Trips { case, path, .. } = row.trips;
        let mut cells = vec![
            Cell::text(case.protocol.as_str().to_uppercase()),
            path.frames.cell(),
            Cell::text(case.load.abbreviate()),
            row.place.cell(),
        ];
        cells.extend(row.values.iter().map(|value| Cell::value(value)));
        cells.extend([Cell::samples(&row.values), Cell::limit(&row.values)]);
        cells
    };
    let table = Table::new(title, columns).sparing(&["n"]).with_note(note);
    Some(table.with_rows(rows.iter().map(cells)))
}

/// Medians and tails stay; extremes and what lies between go first.
fn room(quantile: f64) -> Room {
    match quantile {
        q if q <= 0.0 => Room::Spare(32),
        q if q < 0.5 => Room::Always,
        q if q >= 1.0 => Room::Spare(20),
        q if (0.6..0.95).contains(&q) => Room::Spare(31),
        _ => Room::Always,
    }
}

/// Goodput and retransmits of TCP as a load.
pub(super) fn load(found: &LatencyFinding) -> Option<Table> {
    let row = |Trips { case, size, path }: Trips<'_>, value: &Figure| {
        let protocol = case.protocol.as_str().to_uppercase();
        vec![
            Cell::text(value.metric.as_str()),
            Cell::text(case.load.abbreviate()),
            Cell::text(format!("{protocol} {}", size.size)),
            path.place.cell(),
            Cell::value(value),
            Cell::samples(&[value]),
            Cell::limit(&[value]),
        ]
    };
    let rows = Trips::all(found).flat_map(|trips| {
        let values = trips.path.load.iter().flat_map(|load| [&load.goodput, &load.retransmits]);
        values.map(move |value| row(trips, value))
    });
    let head = ["metric", "load", "beside", "device", "value", "n", "limited by"];
    Table::new("The load beside the round trips", head)
        .sparing(&["n"])
        .with_note("TCP payload a second at the receiver, and retransmits, per trial.")
        .with_rows(rows)
        .unless_empty()
}
