//! Reads and writes behind the network: what was done, where its time went, what a device adds, and
//! what there would be with another network.
//!
//! Owns the section. Never reckons: every number is a figure's.

mod answers;

use std::borrow::Borrow;
use std::collections::BTreeSet;

use page::{
    Axis, Block, Cell, Column, Figure, Image, Key, Metric, Picture, Plot, Point, Scale, Section,
    Series, Table, Unit,
};
use trial::FlowKind;
use trial::Trial;

use super::reading;
use super::subject::{self, Who};
use page::words;

pub(super) use answers::answers;

/// What tells one cell from another.
const CELL: [Key; 4] = [Key::Engine, Key::BlockSize, Key::Jobs, Key::IoDepth];

/// Whether a trial is the study's: the round trips beside a job are that job's.
pub(super) fn is_own(trial: &Trial) -> bool {
    trial.flows.iter().any(|flow| match &flow.kind {
        FlowKind::Storage(_) => true,
        // Messages have sizes of their own where they are an operation's.
        FlowKind::Echo(echo) => echo.messages.is_some(),
        _ => false,
    })
}

/// An estimate, where the figure is one.
fn estimate(figure: &Figure) -> String {
    reading::text(figure, Key::Estimate).unwrap_or_default()
}

fn is(figure: &Figure, name: impl Borrow<Key>, said: &str) -> bool {
    reading::text(figure, name).as_deref() == Some(said)
}

/// What was measured and is no estimate, no part and no point of a distribution.
fn is_plain(figure: &Figure) -> bool {
    estimate(figure).is_empty()
        && figure.quantile.is_none()
        && reading::text(figure, Key::Part).is_none()
}

/// The section; `None` where no storage was measured.
pub(super) fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
    let own: Vec<&Figure> = figures.iter().filter(|f| f.is_of("storage")).collect();
    if own.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Paragraph(LEAD.to_owned())];
    blocks.push(Block::Table(done(&own)));
    blocks.push(Block::Table(budget(&own)));
    blocks.extend(added(&own).map(Block::Table));
    let pictures = what_if(&own);
    if !pictures.is_empty() {
        blocks.push(Block::Paragraph(WHAT_IF.to_owned()));
        blocks.push(Block::Pictures(pictures));
    }
    blocks.extend(what_if_table(&own).map(Block::Table));
    Some(Section { id: format!("{prefix}-storage"), heading: "Storage".to_owned(), blocks })
}

const LEAD: &str = "fio did the reads and writes, or the model's client in a simulation; beside them, and \
    alone before, TCP messages of an operation's own sizes went the same way. By Little's law IOPS are \
    the queue depth over the mean latency, so the two check each other. The network's \
    time is that of the messages, less what they waited for an operation where it waits for the others alone; what neither they nor the client, the server nor its disk account for is the rest.";

const WHAT_IF: &str = "What if the network were otherwise: all of an operation's time but its round trips \
    as measured, the blocks' time on the wire as well, and small round trips, as ping shows them, of the length below. Dashed: replicated writes, each of which waits \
    for a copy on another node, one round trip more. A larger queue depth than was measured is an upper bound, since \
    a storage slows down at some depth; a smaller one is a lower bound, since operations may have waited for each other. \
    Nothing exceeds what the link carries.";

/// A line each for reads, writes and both.
fn done(own: &[&Figure]) -> Table {
    let head = [
        "path",
        "engine",
        "size",
        "jobs x QD",
        "of",
        "IOPS",
        "latency",
        "p50",
        "p99",
        "RTT",
        "network",
        "limited by",
    ];
    let rates = own.iter().filter(|f| f.metric == Metric::Iops && is_plain(f));
    let rows = rates.map(|rate| {
        let beside = |metric, quantile: Option<f64>| {
            let found = own.iter().find(|f| {
                f.metric == metric
                    && f.quantile == quantile
                    && estimate(f).is_empty()
                    && reading::text(f, Key::Part).is_none()
                    && is_beside(f, rate)
            });
            Cell::value_or_missing(found.copied())
        };
        let text = |name| reading::text(rate, name).unwrap_or_default();
        vec![
            subject::cell(rate),
            Cell::text(text(Key::Engine)).with_note(text(Key::Pattern)),
            Cell::number(text(Key::BlockSize)),
            Cell::number(under_way(rate)),
            Cell::text(text(Key::Operation)),
            Cell::value(rate),
            beside(Metric::IoLatency, None),
            beside(Metric::IoLatency, Some(0.5)),
            beside(Metric::IoLatency, Some(0.99)),
            beside(Metric::Rtt, None),
            beside(Metric::NetworkShare, None),
            Cell::limit(&[*rate]),
        ]
    });
    Table::new("Reads and writes: means, and the network's share of them", head)
        .sparing(&["p50", "engine", "p99"])
        .with_rows(rows)
}

/// `8 x 4`: jobs, and operations of each.
fn under_way(figure: &Figure) -> String {
    let text = |name| reading::text(figure, name).unwrap_or_default();
    format!("{} x {}", text(Key::Jobs), text(Key::IoDepth))
}

/// Whether both are of one cell, on one way, of one kind of operation.
fn is_beside(a: &Figure, b: &Figure) -> bool {
    let names = CELL.into_iter().chain([
        Key::From,
        Key::To,
        Key::Device,
        Key::Variant,
        Key::Path,
        Key::Operation,
    ]);
    names.into_iter().all(|key| reading::text(a, &key) == reading::text(b, &key))
}

/// Where an operation's time goes, a column a part.
fn budget(own: &[&Figure]) -> Table {
    const PARTS: [&str; 5] = ["client", "network", "storage node", "disk", "rest"];
    let means = own
        .iter()
        .filter(|f| f.metric == Metric::IoLatency && is_plain(f) && !is(f, Key::Operation, "all"));
    let rows = means.map(|mean| {
        let part = |name: &&str| {
            let found = own.iter().find(|f| is(f, Key::Part, name) && is_beside(f, mean));
            found.map_or_else(
                || Cell::number("–").with_note("in the rest"),
                |f| {
                    let share = f.value.zip(mean.value).map(|(part, whole)| part / whole);
                    Cell::value(f).with_note(share.map_or_else(String::new, words::percent))
                },
            )
        };
        let text = |name| reading::text(mean, name).unwrap_or_default();
        let lead = [
            subject::cell(mean),
            Cell::number(text(Key::BlockSize)),
            Cell::number(under_way(mean)),
            Cell::text(text(Key::Operation)),
            Cell::value(mean),
        ];
        lead.into_iter().chain(PARTS.iter().map(part)).collect()
    });
    let head = ["path", "size", "jobs x QD", "of", "latency"];
    Table::new("Where is the time spent?", head.into_iter().chain(PARTS)).with_rows(rows)
}

/// What the device adds, observed and predicted; none without a direct cable.
fn added(own: &[&Figure]) -> Option<Table> {
    let observed =
        own.iter().filter(|f| f.metric == Metric::IoLatencyAdded && estimate(f).is_empty());
    let rows: Vec<Vec<Cell>> = observed
        .map(|seen| {
            let of = |name: &str| {
                own.iter().find(|f| {
                    f.metric == Metric::IoLatencyAdded && estimate(f) == name && is_beside(f, seen)
                })
            };
            let value = |figure: Option<&&Figure>| Cell::value_or_missing(figure.copied());
            let rest = of("observed less predicted");
            let agrees = rest.and_then(|f| reading::text(f, Key::Agrees)).unwrap_or_default();
            vec![
                subject::cell(seen),
                Cell::number(reading::text(seen, Key::BlockSize).unwrap_or_default()),
                Cell::number(under_way(seen)),
                Cell::text(reading::text(seen, Key::Operation).unwrap_or_default()),
                value(of("predicted from the round trips")),
                value(Some(seen)),
                value(rest),
                Cell::text(agrees),
                Cell::limit(&[*seen]),
            ]
        })
        .collect();
    let head = [
        "path",
        "size",
        "jobs x QD",
        "of",
        "predicted",
        "observed",
        "rest",
        "agrees",
        "limited by",
    ];
    let title = "Added by the device to an operation: through it less over the direct cable";
    Table::new(title, head).with_rows(rows).unless_empty()
}

/// Operations a second over the round trip, a plot a cell and path.
fn what_if(own: &[&Figure]) -> Vec<Picture> {
    let mut cells: Vec<(&Figure, Vec<&Figure>)> = Vec::new();
    for figure in own.iter().filter(|f| estimate(f) == "what if") {
        match cells.iter_mut().find(|(first, _)| is_beside(first, figure)) {
            Some((_, all)) => all.push(figure),
            None => cells.push((figure, vec![figure])),
        }
    }
    cells.iter().map(|(first, figures)| what_if_of(first, figures)).collect()
}

/// A row a cell, depth and way of writing, a column a round trip.
fn what_if_table(own: &[&Figure]) -> Option<Table> {
    let all: Vec<&Figure> = own.iter().copied().filter(|f| estimate(f) == "what if").collect();
    let trip = |f: &Figure| f.number(Key::WhatIfRtt).map(|ns| ns as u64);
    let trips: BTreeSet<u64> = all.iter().filter_map(|f| trip(f)).collect();
    let said = |f: &Figure, name: Key| reading::text(f, name).unwrap_or_default();
    let key = |f: &Figure| [Key::WhatIfIoDepth, Key::WhatIfCopied].map(|name| said(f, name));
    let mut rows: Vec<Vec<&Figure>> = Vec::new();
    for figure in &all {
        let row =
            rows.iter_mut().find(|row| is_beside(row[0], figure) && key(row[0]) == key(figure));
        match row {
            Some(row) => row.push(figure),
            None => rows.push(vec![figure]),
        }
    }
    let cells = |row: &Vec<&Figure>| {
        let bound = match reading::text(row[0], Key::Bound).as_deref() {
            Some("at most") => "≤ ",
            Some("at least") => "≥ ",
            _ => "",
        };
        let depth = said(row[0], Key::WhatIfIoDepth);
        let mut cells = vec![
            subject::cell(row[0]),
            Cell::number(said(row[0], Key::BlockSize)),
            Cell::number(format!("{bound}{} x {depth}", said(row[0], Key::Jobs))),
            Cell::text(said(row[0], Key::WhatIfCopied)),
        ];
        cells.extend(trips.iter().map(|ns| {
            let found = row.iter().find(|f| trip(f) == Some(*ns));
            found.map_or(Cell::Missing, |f| Cell::quantity(Unit::Count, f.value.map(f64::round)))
        }));
        cells
    };
    let mut columns: Vec<Column> =
        ["path", "size", "jobs x QD", "replicated writes"].map(Column::from).into();
    columns.extend(trips.iter().map(|ns| Column::from(words::time(*ns as f64))));
    Table::new("What if: IOPS by the network's RTT", columns)
        .with_note("≤: only if the storage keeps up. ≥: more if operations waited for each other.")
        .with_rows(rows.iter().map(cells))
        .unless_empty()
}

fn what_if_of(first: &Figure, figures: &[&Figure]) -> Picture {
    let title = format!(
        "{}, {} octets, {} jobs: IOPS by RTT",
        Who::of_figure(first).name(),
        reading::text(first, Key::BlockSize).unwrap_or_default(),
        reading::text(first, Key::Jobs).unwrap_or_default()
    );
    let point = |figure: &&&Figure| Some((figure.number(Key::WhatIfRtt)? / 1e3, figure.value?));
    let mut series: Vec<Series> = Vec::new();
    let mut lines: Vec<(String, bool)> = Vec::new();
    for figure in figures {
        let key = (
            reading::text(figure, Key::WhatIfIoDepth).unwrap_or_default(),
            reading::text(figure, Key::WhatIfCopied).as_deref() == Some("yes"),
        );
        if !lines.contains(&key) {
            lines.push(key);
        }
    }
    let mut depths: Vec<&String> = lines.iter().map(|(depth, _)| depth).collect();
    depths.sort_by_key(|depth| depth.parse::<u32>().unwrap_or(0));
    depths.dedup();
    for (depth, copied) in &lines {
        let of_line = |f: &&&Figure| {
            is(f, Key::WhatIfIoDepth, depth)
                && (reading::text(f, Key::WhatIfCopied).as_deref() == Some("yes")) == *copied
        };
        let points: Vec<(f64, f64)> =
            figures.iter().filter(of_line).filter_map(|f| point(&f)).collect();
        let bound = figures.iter().filter(of_line).find_map(|f| reading::text(f, Key::Bound));
        let bound = bound.map_or_else(String::new, |bound| format!("{bound}, "));
        let copy = if *copied { ", replicated" } else { "" };
        let name = format!("{bound}QD {depth}{copy}");
        let hover = |(x, y): &(f64, f64)| Point {
            x: *x,
            y: *y,
            whisker: None,
            row: None,
            text: format!(
                "{name}: {} at {}",
                words::value(Unit::OperationsPerSecond, *y),
                words::time(x * 1e3)
            ),
        };
        series.push(Series {
            colour: depths.iter().position(|known| *known == depth),
            dashed: *copied,
            points: points.iter().map(hover).collect(),
            line: points,
            name,
        });
    }
    let all = || series.iter().flat_map(|s| s.line.iter());
    let plot = Plot {
        x: Axis::over("RTT, µs", Scale::Linear, all().map(|p| p.0), |v| words::trimmed(v, 1)),
        y: Axis::over("IOPS", Scale::Log, all().map(|p| p.1), |v| words::count(v.max(0.0) as u64)),
        title: title.clone(),
        series,
    };
    Picture { image: Image::Plot(plot), caption: title }
}
