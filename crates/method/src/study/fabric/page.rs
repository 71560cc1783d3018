//! A fabric on a page: whether it blocks, the goodput of pairs by nodes and by message size, and
//! pictures of its groups of ports and of its pairs.
//!
//! Owns the two tables. Never computes a value.

mod answers;
mod pictures;

use std::collections::BTreeMap;

use page::words::Scaled;
use page::{Block, Cell, Column, Figure, Room, Section, Table, Unit};

use super::Arrangement;
use super::finding::{Exchange, FabricFinding, Goodput, SceneFinding};
use crate::study::view::{StudyPage, Topic, Who, streams};

/// Megabytes of 10^6 octets, in which exchanges are told.
const MEGABYTES: Scaled = (8e6, "MB/s");

pub(super) fn page(found: &FabricFinding) -> StudyPage {
    let mut blocks: Vec<Block> =
        [by_nodes(found), by_message(found)].into_iter().flatten().map(Block::Table).collect();
    for pictures in [pictures::groups(found), pictures::pairs(found)] {
        if !pictures.is_empty() {
            blocks.push(Block::Pictures(pictures));
        }
    }
    let section = Section { id: "fabric".to_owned(), heading: "Fabric".to_owned(), blocks };
    let own = Some(section).filter(|section| !section.blocks.is_empty());
    let sections = own.into_iter().chain(streams::section(&found.streams, false, None));
    StudyPage { sections: sections.collect(), ..StudyPage::default() }
        .with_answers(Topic::NonBlocking, answers::nonblocking(found))
        .with_answers(Topic::Groups, answers::groups(found))
}

/// One arrangement's goodput in a table's row.
struct Entry<'a> {
    /// The row's place among the device's, and what it is called.
    order: u64,
    row: String,
    goodput: &'a Goodput,
    /// Which of several rounds it is.
    round: &'a str,
    cables: Option<&'a Goodput>,
}

/// A device's entries of one row, by arrangement.
struct Line<'a> {
    who: &'a Who,
    entries: BTreeMap<Arrangement, Entry<'a>>,
}

/// The mean over pairs of every number of nodes, and the worst round of arrangements that have
/// many.
fn by_nodes(found: &FabricFinding) -> Option<Table> {
    let message = found.message;
    let title =
        format!("Exchanges by nodes, MB/s each way: mean over pairs, messages of {message}");
    let table = table(found, title, "nodes", |exchange| {
        let (goodput, round) = match &exchange.worst_round {
            Some(worst) => (&worst.mean, &worst.name[..]),
            None if exchange.has_one_round() => (&exchange.mean, ""),
            None => return None,
        };
        (exchange.message == message).then(|| Entry {
            order: exchange.nodes as u64,
            row: exchange.nodes.to_string(),
            goodput,
            round,
            cables: found.over_cables(exchange).map(|cables| &cables.mean),
        })
    })?;
    Some(table.with_note("Of an arrangement of several rounds its worst round."))
}

/// The worst pair of every message size, at the most nodes.
fn by_message(found: &FabricFinding) -> Option<Table> {
    let exchanges = found.scenes.iter().flat_map(|scene| &scene.exchanges);
    let most = exchanges.filter(|e| e.has_one_round()).map(|e| e.nodes).max()?;
    let title = format!("Exchanges by message size, MB/s each way: the worst pair of {most} nodes");
    table(found, title, "message", |exchange| {
        (exchange.nodes == most && exchange.has_one_round()).then(|| Entry {
            order: exchange.message.0,
            row: exchange.message.to_string(),
            goodput: &exchange.minimum,
            round: "",
            cables: found.over_cables(exchange).map(|cables| &cables.minimum),
        })
    })
}

/// A row for each device and place in the order, a column for each arrangement.
fn table<'a>(
    found: &'a FabricFinding,
    title: String,
    head: &str,
    entry: impl Fn(&'a Exchange) -> Option<Entry<'a>>,
) -> Option<Table> {
    let mut arrangements: Vec<Arrangement> = Vec::new();
    let mut lines = Vec::new();
    for SceneFinding { who, exchanges, .. } in found.devices() {
        let mut own: BTreeMap<u64, BTreeMap<Arrangement, Entry<'_>>> = BTreeMap::new();
        let shown = exchanges.iter().filter_map(|e| Some((e.arrangement?, entry(e)?)));
        for (arrangement, entry) in shown {
            if !arrangements.contains(&arrangement) {
                arrangements.push(arrangement);
            }
            own.entry(entry.order).or_default().insert(arrangement, entry);
        }
        lines.extend(own.into_values().map(|entries| Line { who, entries }));
    }
    let mut columns = vec![Column::from("device"), head.into()];
    columns.extend(arrangements.iter().map(|arrangement| Column::from(arrangement.to_string())));
    // In a terminal they give way to the others' values, but not to the intervals of those.
    for (name, rank) in [("direct cables", 2), ("wire", 3)] {
        columns.push(Column { name: name.to_owned(), room: Room::Spare(rank) });
    }
    columns.push("worst limited by".into());
    Table::new(title, columns)
        .stating(Unit::BitsPerSecond)
        .written_in(MEGABYTES)
        .with_rows(lines.iter().filter_map(|line| line.cells(&arrangements)))
        .unless_empty()
}

impl Line<'_> {
    /// None without an entry.
    fn cells(&self, arrangements: &[Arrangement]) -> Option<Vec<Cell>> {
        let first = self.entries.values().next()?;
        let own = || arrangements.iter().map(|arrangement| self.entries.get(arrangement));
        let values: Vec<&Figure> = own().flatten().map(|entry| &entry.goodput.value).collect();
        let value = |figure: &Figure| figure.value.unwrap_or(f64::NEG_INFINITY);
        let slowest = values.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
        let cell = |entry: &Entry<'_>| Cell::value(&entry.goodput.value).with_note(entry.round);
        let cables = first.cables.map(|cables| Cell::value(&cables.value));
        let wire = first.goodput.wire.map(|wire| Cell::quantity(Unit::BitsPerSecond, Some(wire)));
        let mut cells = vec![Cell::path(self.who.name()), Cell::number(&first.row)];
        cells.extend(own().map(|entry| entry.map_or(Cell::Blank, cell)));
        cells.extend([cables, wire].map(Option::unwrap_or_default));
        cells.push(Cell::limit_of(slowest, &values));
        Some(cells)
    }
}
