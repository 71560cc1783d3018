//! The storage study's page: operations, their latency budget, the latency added by a device, and
//! predictions for another network.
//!
//! Owns the section. Never computes: every number is a value's, except for the parts' shares.

mod answers;

use std::cmp::Ordering;

use page::{
    Axis, Block, Cell, Figure, Image, Listing, Picture, Plot, Point, Scale, Series, Table, Unit,
    words,
};
use trial::{Pattern, Storage};

use super::finding::{Operations, ROUND_TRIPS_NS, StorageCase, StorageFinding, WhatIf, part_names};
use crate::view::{Finding, StudyPage, Topic};

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
    fn page(&self) -> StudyPage {
        let all = || self.cases().flat_map(|case| case.operations().map(move |own| (case, own)));
        let kinds = self.cases().flat_map(|case| case.kinds().map(move |own| (case, own)));
        let mut blocks = vec![
            Block::Paragraph(LEAD.to_owned()),
            Block::Table(done(all())),
            Block::Table(budget(kinds)),
        ];
        blocks.extend(added(all()).map(Block::Table));
        if let Some(table) = what_if_table(self) {
            let drawn = self.cases().filter(|case| !case.what_if.is_empty());
            blocks.push(Block::Paragraph(WHAT_IF.to_owned()));
            blocks.push(Block::Pictures(drawn.map(what_if_plot).collect()));
            blocks.push(Block::Table(table));
        }
        StudyPage::new("storage", "Storage", blocks)
            .with_answers(Topic::Storage, answers::answers(self))
    }
}

/// Operations of a case.
type Shown<'a> = (&'a StorageCase, &'a Operations);

/// Table of operations, one row each for reads, writes and both.
fn done<'a>(rows: impl Iterator<Item = Shown<'a>>) -> Table {
    let title = "Reads and writes: means, and the network's share of them";
    let paths = Listing::new(title, rows).column("path", |(case, _)| case.place.cell());
    let engines = paths.column("engine", |(StorageCase { job, .. }, _)| {
        Cell::text(&job.ioengine).with_note(match job.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        })
    });
    with_job(engines, |shown| *shown)
        .value("IOPS", |(_, own)| &own.rate)
        .value("latency", |(_, own)| &own.latency)
        .value_or_missing("p50", |(_, own)| Some(&own.quantiles.as_ref()?[1]))
        .value_or_missing("p99", |(_, own)| Some(&own.quantiles.as_ref()?[2]))
        .value_or_missing("RTT", |(_, own)| Some(&own.round_trips.as_ref()?[0]))
        .value_or_missing("network", |(_, own)| own.network_share.as_ref())
        .limit(|(_, own)| vec![&own.rate])
        .table()
        .sparing(&["p50", "engine", "p99"])
}

/// Table of an operation's latency, one column for each part.
fn budget<'a>(rows: impl Iterator<Item = Shown<'a>>) -> Table {
    let paths = Listing::new("Where the time is spent", rows);
    let paths = paths.column("path", |(case, _)| case.place.cell());
    with_job(paths, |shown| *shown).columns(part_names(), |(_, own), at| part(own, at)).table()
}

/// Table of the latency added by the device, predicted and observed.
fn added<'a>(rows: impl Iterator<Item = Shown<'a>>) -> Option<Table> {
    let title = "Added by the device to an operation: through it less over the direct cable";
    let rows = rows.filter_map(|(case, own)| Some((case, own, own.added.as_ref()?)));
    let paths = Listing::new(title, rows).column("path", |(case, ..)| case.place.cell());
    with_job(paths, |(case, own, _)| (case, own))
        .value("predicted", |(.., added)| &added.predicted)
        .value("observed", |(.., added)| &added.observed)
        .value("rest", |(.., added)| &added.rest)
        .column("agrees", |(.., added)| Cell::text(added.agrees.word()))
        .limit(|(.., added)| vec![&added.observed])
        .table()
        .unless_empty()
}

/// Adds the columns of the job and the kind of operation.
fn with_job<R>(table: Listing<R>, shown: impl Fn(&R) -> Shown<'_>) -> Listing<R> {
    table
        .column("size", |row| Cell::number(shown(row).0.job.bs.0.to_string()))
        .column("jobs x QD", |row| {
            let job = &shown(row).0.job;
            Cell::number(format!("{} x {}", job.numjobs, job.iodepth))
        })
        .column("of", |row| Cell::text(shown(row).1.word))
}

fn part(own: &Operations, at: usize) -> Cell {
    let Some(part) = &own.parts[at] else { return Cell::number("–").with_note("in the rest") };
    let share = part.value.zip(own.latency.value).map(|(part, whole)| part / whole);
    Cell::value(part).with_note(share.map_or_else(String::new, words::percent))
}

/// Table with a row for each case, depth and kind of write, and a column for each RTT.
fn what_if_table(found: &StorageFinding) -> Option<Table> {
    let lines = found.cases().flat_map(|case| case.what_if.iter().map(move |line| (case, line)));
    Listing::new("What if: IOPS by the network's RTT", lines)
        .column("path", |(case, _)| case.place.cell())
        .column("size", |(case, _)| Cell::number(case.job.bs.0.to_string()))
        .column("jobs x QD", |(case, line)| {
            let bound = match line.depth.cmp(&case.job.iodepth.get()) {
                Ordering::Greater => "≤ ",
                Ordering::Less => "≥ ",
                Ordering::Equal => "",
            };
            Cell::number(format!("{bound}{} x {}", case.job.numjobs, line.depth))
        })
        .column("replicated writes", |(_, line)| Cell::text(if line.copied { "yes" } else { "no" }))
        .columns(ROUND_TRIPS_NS.map(words::time), |(_, line), at| Cell::value(&line.rates[at]))
        .table()
        .with_note("≤: only if the storage keeps up. ≥: more if operations waited for each other.")
        .stating(Unit::OperationsPerSecond)
        .unless_empty()
}

/// Plot of operations a second by RTT, with one colour for each depth.
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
    let x = Axis::over("RTT, µs", Scale::Linear, all().map(|p| p.0), |v| words::trimmed(v, 1));
    let count = |v: f64| words::count(v.max(0.0) as u64);
    let y = Axis::over("IOPS", Scale::Log, all().map(|p| p.1), count);
    let plot = Plot { title: title.clone(), x, y, series };
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
    let points = ROUND_TRIPS_NS.into_iter().zip(&line.rates).filter_map(point).collect();
    Series::through(name.clone(), colour, line.copied, points)
}
