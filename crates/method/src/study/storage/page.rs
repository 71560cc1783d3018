//! The storage study's page: what was done, where its time went, what a device adds, and what there
//! would be with another network.
//!
//! Owns the section. Never reckons: every number is a value's, but for the parts' shares.

mod answers;

use std::cmp::Ordering;

use page::{
    Axis, Block, Cell, Column, Figure, Image, Picture, Plot, Point, Scale, Series, Table, Unit,
    words,
};
use trial::{Pattern, Storage};

use super::budget::PARTS;
use super::finding::{Added, Operations, ROUND_TRIPS_NS, StorageCase, StorageFinding, WhatIf};
use crate::study::view::{Finding, StudyPage, Topic};

const LEAD: &str = "fio did the reads and writes, or the model's client in a simulation; beside them, and \
    alone before, TCP messages of an operation's own sizes went the same way. By Little's law IOPS are \
    the queue depth over the mean latency, so the two check each other. The network's \
    time is that of the messages, less what they waited for an operation where it waits for the others alone; what neither they nor the client, the server nor its disk account for is the rest.";

const WHAT_IF: &str = "What if the network were otherwise: all of an operation's time but its round trips \
    as measured, the blocks' time on the wire as well, and small round trips, as ping shows them, of the length below. Dashed: replicated writes, each of which waits \
    for a copy on another node, one round trip more. A larger queue depth than was measured is an upper bound, since \
    a storage slows down at some depth; a smaller one is a lower bound, since operations may have waited for each other. \
    Nothing exceeds what the link carries.";

impl Finding for StorageFinding {
    fn values(&mut self) -> Vec<&mut Figure> {
        self.values_mut()
    }

    fn page(&self) -> StudyPage {
        page(self)
    }
}

fn page(found: &StorageFinding) -> StudyPage {
    let all = || found.cases().flat_map(|case| case.operations().map(move |own| (case, own)));
    let kinds = found.cases().flat_map(|case| case.kinds().map(move |own| (case, own)));
    let done = table("Reads and writes: means, and the network's share of them", &DONE, all());
    let budget = table("Where is the time spent?", &BUDGET, kinds);
    let added = table(
        "Added by the device to an operation: through it less over the direct cable",
        &ADDED,
        all().filter(|(_, own)| own.added.is_some()),
    );
    let mut blocks = vec![
        Block::Paragraph(LEAD.to_owned()),
        Block::Table(done.sparing(&["p50", "engine", "p99"])),
        Block::Table(budget),
    ];
    blocks.extend(added.unless_empty().map(Block::Table));
    if let Some(table) = what_if_table(found) {
        let drawn = found.cases().filter(|case| !case.what_if.is_empty());
        blocks.push(Block::Paragraph(WHAT_IF.to_owned()));
        blocks.push(Block::Pictures(drawn.map(what_if_plot).collect()));
        blocks.push(Block::Table(table));
    }
    StudyPage::new("storage", "Storage", blocks)
        .with_answers(Topic::Storage, answers::answers(found))
}

/// A column of a table in which each row is about a case's operations.
type Shown = (&'static str, fn(&StorageCase, &Operations) -> Cell);

const PATH: Shown = ("path", |case, _| case.place.cell());
const ENGINE: Shown = ("engine", |case, _| {
    let pattern = match case.job.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    Cell::text(&case.job.ioengine).with_note(pattern)
});
const SIZE: Shown = ("size", |case, _| Cell::number(case.job.bs.0.to_string()));
const LOAD: Shown =
    ("jobs x QD", |case, _| Cell::number(format!("{} x {}", case.job.numjobs, case.job.iodepth)));
const KIND: Shown = ("of", |_, own| Cell::text(own.word));

/// Operations done, a row each for reads, writes and both.
const DONE: [Shown; 12] = [
    PATH,
    ENGINE,
    SIZE,
    LOAD,
    KIND,
    ("IOPS", |_, own| Cell::value(&own.rate)),
    ("latency", |_, own| Cell::value(&own.latency)),
    ("p50", |_, own| Cell::value_or_missing(own.quantiles.as_ref().map(|[_, p50, ..]| p50))),
    ("p99", |_, own| Cell::value_or_missing(own.quantiles.as_ref().map(|[_, _, p99, ..]| p99))),
    ("RTT", |_, own| Cell::value_or_missing(own.round_trips.as_ref().map(|[mean, ..]| mean))),
    ("network", |_, own| Cell::value_or_missing(own.network_share.as_ref())),
    ("limited by", |_, own| Cell::limit(&[&own.rate])),
];

/// An operation's time, a column a part.
const BUDGET: [Shown; 9] = [
    PATH,
    SIZE,
    LOAD,
    KIND,
    (PARTS[0], |_, own| part(own, 0)),
    (PARTS[1], |_, own| part(own, 1)),
    ("storage node", |_, own| part(own, 2)),
    (PARTS[3], |_, own| part(own, 3)),
    (PARTS[4], |_, own| part(own, 4)),
];

/// Time that the device adds, predicted and observed.
const ADDED: [Shown; 9] = [
    PATH,
    SIZE,
    LOAD,
    KIND,
    ("predicted", |_, own| added(own, |added| Cell::value(&added.predicted))),
    ("observed", |_, own| added(own, |added| Cell::value(&added.observed))),
    ("rest", |_, own| added(own, |added| Cell::value(&added.rest))),
    ("agrees", |_, own| added(own, |added| Cell::text(added.agrees.word()))),
    ("limited by", |_, own| added(own, |added| Cell::limit(&[&added.observed]))),
];

fn table<'a>(
    title: &str,
    columns: &[Shown],
    rows: impl Iterator<Item = (&'a StorageCase, &'a Operations)>,
) -> Table {
    let row = |(case, own)| columns.iter().map(|(_, cell)| cell(case, own)).collect();
    Table::new(title, columns.iter().map(|(name, _)| *name)).with_rows(rows.map(row))
}

fn part(own: &Operations, at: usize) -> Cell {
    let Some(part) = &own.parts[at] else { return Cell::number("–").with_note("in the rest") };
    let share = part.value.zip(own.latency.value).map(|(part, whole)| part / whole);
    Cell::value(part).with_note(share.map_or_else(String::new, words::percent))
}

fn added(own: &Operations, cell: fn(&Added) -> Cell) -> Cell {
    own.added.as_ref().map_or(Cell::Missing, cell)
}

/// A row a case, depth and way of writing, a column a round trip.
fn what_if_table(found: &StorageFinding) -> Option<Table> {
    let row = |case: &StorageCase, line: &WhatIf| {
        let bound = match line.depth.cmp(&case.job.iodepth) {
            Ordering::Greater => "≤ ",
            Ordering::Less => "≥ ",
            Ordering::Equal => "",
        };
        let lead = [
            case.place.cell(),
            Cell::number(case.job.bs.0.to_string()),
            Cell::number(format!("{bound}{} x {}", case.job.numjobs, line.depth)),
            Cell::text(if line.copied { "yes" } else { "no" }),
        ];
        lead.into_iter().chain(line.rates.iter().map(Cell::value)).collect()
    };
    let rows = found.cases().flat_map(|case| case.what_if.iter().map(move |line| row(case, line)));
    let lead = ["path", "size", "jobs x QD", "replicated writes"].map(Column::from);
    let trips = ROUND_TRIPS_NS.map(|ns| Column::from(words::time(ns)));
    Table::new("What if: IOPS by the network's RTT", lead.into_iter().chain(trips))
        .with_note("≤: only if the storage keeps up. ≥: more if operations waited for each other.")
        .stating(Unit::OperationsPerSecond)
        .with_rows(rows)
        .unless_empty()
}

/// Operations a second by the round trip: a colour a depth.
fn what_if_plot(case: &StorageCase) -> Picture {
    let Storage { bs, numjobs, .. } = &case.job;
    let title = format!("{}, {} octets, {numjobs} jobs: IOPS by RTT", case.place.who.name(), bs.0);
    let mut depths: Vec<u16> = case.what_if.iter().map(|line| line.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let series: Vec<Series> = case
        .what_if
        .iter()
        .map(|line| what_if_series(line, depths.iter().position(|depth| *depth == line.depth)))
        .collect();
    let all = || series.iter().flat_map(|series| &series.line);
    let plot = Plot {
        x: Axis::over("RTT, µs", Scale::Linear, all().map(|p| p.0), |v| words::trimmed(v, 1)),
        y: Axis::over("IOPS", Scale::Log, all().map(|p| p.1), |v| words::count(v.max(0.0) as u64)),
        title: title.clone(),
        series,
    };
    Picture { image: Image::Plot(plot), caption: title }
}

fn what_if_series(line: &WhatIf, colour: Option<usize>) -> Series {
    let bound = line.bound_in_words().map_or_else(String::new, |bound| bound + ", ");
    let replicated = if line.copied { ", replicated" } else { "" };
    let name = format!("{bound}QD {}{replicated}", line.depth);
    let point = |(rtt_ns, rate): (f64, &Figure)| {
        let y = rate.value?;
        let value = words::value(rate.unit, y);
        let text = format!("{name}: {value} at {}", words::time(rtt_ns));
        Some(Point { x: rtt_ns / 1e3, y, whisker: None, row: rate.id(), text })
    };
    let points: Vec<Point> =
        ROUND_TRIPS_NS.into_iter().zip(&line.rates).filter_map(point).collect();
    let line_through = points.iter().map(|point| (point.x, point.y)).collect();
    Series { colour, dashed: line.copied, line: line_through, points, name }
}
