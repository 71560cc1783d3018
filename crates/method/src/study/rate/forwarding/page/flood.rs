//! Floods: what arrives, in sentences where no search says more, and every frame of it.
//!
//! Owns the table of counts. Never states what was received twice: the table of rates has it.

use page::{Answer, Cell, Column, Figure, Metric, Table, Unit, words};

use super::super::finding::{FloodCounts, ForwardingFinding, Traffic};
use super::super::rig::Direction;
use super::rates::{Origin, Rated};
use super::smallest::{several_devices, shown_sizes};
use crate::study::line_share::share;
use crate::study::view::{line_rate, stated};

/// Every rate that a flood brought.
pub(super) fn rates(found: &ForwardingFinding) -> Vec<Rated<'_>> {
    let cases = &found.floods;
    let mut all = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let cable = case.cable.map(|cable| &cases[cable].counts);
        for (direction, counts) in &case.counts {
            let beside = cases.iter().filter(|other| other.cable == Some(at));
            let is_beside = beside.into_iter().any(|other| other.counts.contains_key(direction));
            let cable = cable.and_then(|counts| counts.get(direction));
            all.push(Rated {
                origin: Origin::Flood(counts),
                traffic: &case.traffic,
                direction: *direction,
                rate: &counts.received,
                cable: cable.map(|counts| &counts.received.frames),
                is_beside,
            });
        }
    }
    all
}

/// One for each device, way and frame size, and only where no search said more.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    if !found.throughput.is_empty() {
        return Vec::new();
    }
    let rates: Vec<Rated<'_>> =
        rates(found).into_iter().filter(Rated::is_whole_of_device).collect();
    let (shown, several) = (shown_sizes(&rates), several_devices(&rates));
    let is_shown = |rated: &&Rated<'_>| {
        rated.value().value.is_some() && shown.iter().any(|size| *size == rated.traffic.frames)
    };
    rates.iter().filter(is_shown).map(|rated| answer(rated, several)).collect()
}

fn answer(rated: &Rated<'_>, several: bool) -> Answer {
    let (value, place) = (rated.value(), &rated.traffic.place);
    let who = place.who.in_words();
    let through = if several { format!(" through {who}") } else { String::new() };
    let path = format!("{}{through}", place.hosts());
    let (rate, line, beside) = (words::with_interval(value), rated.of_line(), rated.over_cable());
    let rate = format!("{rate} of {}", rated.traffic.frames.in_words());
    let arrive = if place.is_counted_by_device {
        format!("leave {who} by its own counter")
    } else {
        "arrive".to_owned()
    };
    let is_at_most = matches!(rated.origin, Origin::Flood(counts) if counts.is_at_most);
    let most = if is_at_most { "at most " } else { "" };
    let text = match rated.bound() {
        Some(why) => {
            format!("At least {rate} {arrive} under a flood{line}, {path}: {why}{beside}.")
        }
        None => format!("Under a flood {most}{rate} {arrive}{line}, {path}{beside}."),
    };
    line_rate(stated(text, value).stating(rated.cable), value, share(value), "Forwarding rate?")
}

/// Offered, sent, lost, duplicated and reordered of a flood.
pub(super) fn table(found: &ForwardingFinding) -> Option<Table> {
    let mut counted: Vec<(&Traffic, Option<Direction>, &FloodCounts)> = Vec::new();
    for case in &found.floods {
        counted.extend(case.counts.iter().map(|(way, counts)| (&case.traffic, *way, counts)));
    }
    counted.sort_by_key(|(traffic, way, _)| (traffic.frames.clone(), traffic.place(*way)));
    let row = |(traffic, way, counts): (&Traffic, Option<Direction>, &FloodCounts)| {
        let [duplicated, reordered] =
            counts.told_apart.as_ref().map_or([None, None], |two| two.each_ref().map(Some));
        let FloodCounts { offered, sent, lost, .. } = counts;
        let values = [Some(offered), Some(sent), Some(lost), duplicated, reordered];
        let all: Vec<&Figure> = values.into_iter().flatten().collect();
        let mut cells = vec![traffic.frames.cell(), traffic.place(way).cell()];
        cells.extend(values.map(Cell::value_or_missing));
        cells.push(Cell::samples(&all));
        cells
    };
    let [duplicated, reordered] = [Metric::Duplicated, Metric::Reordered].map(Metric::as_str);
    let metrics = [Metric::Offered, Metric::Sent, Metric::Lost].map(Metric::as_str);
    let mut columns = vec!["octets", "device"];
    columns.extend(metrics);
    columns.extend([duplicated, reordered, "n"]);
    Table::new("Every frame of a flood, frames/s", columns.into_iter().map(Column::from))
        .sparing(&["n", reordered, duplicated])
        .stating(Unit::FramesPerSecond)
        .with_rows(counted.into_iter().map(row))
        .unless_empty()
}
