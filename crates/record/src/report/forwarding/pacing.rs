//! How the load was made: which backend sent and which receiver counted, with the recorded reasons,
//! and how even the paced loads were: gaps between departures and between arrivals.
//!
//! Shows the gaps of single trials and the study's own quantiles. Never judges a trial by them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use measure::Histogram;
use page::{
    Axis, Block, Cell, Column, Figure, Image, Key, Metric, Picture, Plot, Point, Scale, Series,
    Style, Table, Unit,
};
use trial::record::{DatagramsRecord, FlowRecord};
use trial::{FlowKind, Role, Schedule};
use trial::{Trial, TrialRecord};

use super::super::frames::{self, Frames};
use super::super::reading;
use super::super::subject::{self, Who};
use page::words;

/// No more pictures than this; the table has all.
const MOST_PICTURES: usize = 4;

/// The share of gaps at which a pointer finds a value.
const MARKED: [f64; 6] = [0.01, 0.1, 0.5, 0.9, 0.99, 0.999];

/// One trial's load and the gaps of what came of it.
#[derive(Debug)]
struct Paced {
    rate: f64,
    departures: Histogram,
    arrivals: Histogram,
}

impl Paced {
    fn new(rate: f64, done: &DatagramsRecord) -> Self {
        Self { rate, departures: done.departures.clone(), arrivals: done.arrivals.clone() }
    }
}

/// Who sent and who counted, and the best load of each size, over a run's trials.
#[derive(Debug, Default)]
pub(in crate::report) struct Pacing {
    makers: BTreeMap<[String; 4], (u64, BTreeSet<Who>)>,
    /// Of no more sizes than there are pictures: the smallest.
    best: BTreeMap<Frames, BTreeMap<Who, Paced>>,
}

impl Pacing {
    /// Adds a trial.
    pub(in crate::report) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        for (_, done) in datagrams(trial, record) {
            let made = [&done.backend, &done.backend_reason, &done.receiver, &done.receiver_reason];
            let (count, whos) = self.makers.entry(made.map(String::clone)).or_default();
            *count += 1;
            whos.insert(Who::of_trial(trial));
        }
        if record.outcome.is_valid() && trial.events.is_empty() {
            self.take_best(trial, record);
        }
    }

    fn take_best(&mut self, trial: &Trial, record: &TrialRecord) {
        for (asked, done) in datagrams(trial, record) {
            let Schedule::Paced(rate) = asked.schedule else { continue };
            if done.received.lost(done.sent) > 0 || done.departures.is_empty() {
                continue;
            }
            let of = self.best.entry(Frames::of_flow(asked)).or_default();
            match of.entry(Who::of_trial(trial)) {
                Entry::Occupied(mut known) if rate.0 > known.get().rate => {
                    known.insert(Paced::new(rate.0, done));
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => drop(free.insert(Paced::new(rate.0, done))),
            }
            if self.best.len() > MOST_PICTURES {
                self.best.pop_last();
            }
        }
    }
}

pub(super) fn blocks(figures: &[Figure], pacing: &Pacing) -> Vec<Block> {
    let mut blocks: Vec<Block> = makers(pacing).map(Block::Table).into_iter().collect();
    let each = pacing.best.iter();
    let pictures: Vec<Picture> = each.map(|(frames, of)| picture(frames, of)).collect();
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    blocks.extend(table(figures).map(Block::Table));
    blocks
}

fn datagrams<'a>(
    trial: &'a Trial,
    record: &'a TrialRecord,
) -> impl Iterator<Item = (&'a trial::Datagrams, &'a DatagramsRecord)> {
    let flows = trial.flows.iter().zip(&record.flows);
    flows.filter_map(|(flow, done)| match (flow.role, &flow.kind, done) {
        (Role::Measured, FlowKind::Datagrams(asked), FlowRecord::Datagrams(done)) => {
            Some((asked, done))
        }
        _ => None,
    })
}

/// Sender and receiver with their reasons, over all trials that ran.
fn makers(pacing: &Pacing) -> Option<Table> {
    let named = |name: &str, why: &str| {
        let name = if name.is_empty() { "not recorded" } else { name };
        Cell::text(name).with_note(why).with_style(Style::Long)
    };
    let rows: Vec<Vec<Cell>> = pacing
        .makers
        .iter()
        .map(|([sender, why, receiver, why_received], (count, whos))| {
            let whos: Vec<String> = whos.iter().map(Who::name).collect();
            vec![
                named(sender, why),
                named(receiver, why_received),
                Cell::text(whos.join(", ")),
                Cell::number(words::count(*count)),
            ]
        })
        .collect();
    let head = ["sent by", "counted by", "on", "flows"];
    let note = "Each with the reason recorded, and in how many flows.";
    Table::new("What put the frames on the wire and what counted them", head)
        .page_only(&head)
        .with_note(note)
        .with_rows(rows)
        .unless_empty()
}

/// The highest paced load of a size that lost nothing, on each path.
fn picture(frames: &Frames, of: &BTreeMap<Who, Paced>) -> Picture {
    let mut series: Vec<Series> = Vec::new();
    for (colour, (who, paced)) in of.iter().enumerate() {
        let sides = [("departures", &paced.departures), ("arrivals", &paced.arrivals)];
        for (side, gaps) in sides.into_iter().filter(|(_, gaps)| !gaps.is_empty()) {
            let name = format!("{}, {side}", who.name());
            series.push(curve(name, colour, side == "arrivals", gaps, 1e9 / paced.rate));
        }
    }
    let ends = series.iter().flat_map(|s| s.line.iter().map(|(x, _)| *x));
    let x = Axis::over("gap over the nominal gap, log scale", Scale::Log, ends, |v| {
        words::trimmed(v, 3)
    });
    let y = Axis::over("share of gaps", Scale::Linear, [0.0, 1.0].into_iter(), |v| {
        words::tick(Unit::Ratio, v)
    });
    let title = format!("Gaps of paced loads, frames of {}", frames.in_words());
    let rates: Vec<String> = of
        .iter()
        .map(|(who, paced)| {
            let rate = words::value(Unit::FramesPerSecond, paced.rate);
            format!("{} at {rate} (gap {})", who.name(), words::time(1e9 / paced.rate))
        })
        .collect();
    let caption = format!(
        "{title}: the share of gaps no longer than so many nominal gaps, at the highest paced load \
         that lost nothing: {}. A perfect load is a step at 1. Dashed and hollow: arrivals.",
        rates.join("; ")
    );
    Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
}

/// Gaps of zero, frames of one batch, stand at a thousandth of the nominal gap.
fn curve(name: String, colour: usize, dashed: bool, gaps: &Histogram, nominal_ns: f64) -> Series {
    let at = |q: f64| ((gaps.quantile(q).0 as f64 / nominal_ns).max(0.001), q);
    let line = (0..=200).map(|i| at(f64::from(i) / 200.0 * 0.999)).collect();
    let points = MARKED
        .iter()
        .map(|q| {
            let (x, y) = at(*q);
            let gap = words::time(gaps.quantile(*q).0 as f64);
            let text = format!("{} of gaps are at most {gap}", words::percent(*q));
            Point { x, y, whisker: None, text, row: None }
        })
        .collect();
    Series { name, colour: Some(colour), dashed, line, points }
}

fn time(nanoseconds: Option<f64>) -> Cell {
    Cell::quantity(Unit::Nanoseconds, nanoseconds)
}

/// The study's quantiles of gaps at the throughput, and the burst fraction.
fn table(figures: &[Figure]) -> Option<Table> {
    let mut rows: BTreeMap<_, Vec<&Figure>> = BTreeMap::new();
    let mut quantiles: Vec<f64> = Vec::new();
    for figure in figures {
        if let Metric::DepartureGap | Metric::ArrivalGap | Metric::BurstFraction = figure.metric {
            let way = (reading::way(figure), reading::direction(figure));
            let key = (Frames::of_figure(figure), Who::of_figure(figure), way);
            rows.entry(key).or_default().push(figure);
            quantiles.extend(figure.quantile);
        }
    }
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    let mut columns: Vec<Column> =
        ["octets", "device", "gaps between", "nominal"].map(Column::from).into();
    columns.extend(quantiles.iter().map(|q| Column::from(words::quantile(*q))));
    columns.extend(["in bursts", "gaps"].map(Column::from));
    let mut lines = Vec::new();
    for row in rows.values() {
        let sides = [(Metric::DepartureGap, "departures"), (Metric::ArrivalGap, "arrivals")];
        for (metric, side) in sides {
            let of: Vec<&&Figure> = row.iter().filter(|f| f.metric == metric).collect();
            let Some(first) = of.first() else { continue };
            let mut cells = vec![frames::cell(first), subject::cell(first), Cell::text(side)];
            cells.push(time(first.number(Key::NominalGap)));
            cells.extend(quantiles.iter().map(|q| {
                let found = of.iter().find(|f| f.quantile == Some(*q));
                time(found.and_then(|f| f.value))
            }));
            let bursts = row.iter().find(|f| f.metric == Metric::BurstFraction);
            let bursts = bursts.filter(|_| metric == Metric::DepartureGap).and_then(|f| f.value);
            cells.push(Cell::number_or_missing(bursts.map(words::percent)));
            cells.push(Cell::samples(&[first]));
            lines.push(cells);
        }
    }
    let note =
        "In bursts: frames that left closer than half the nominal gap behind the one before.";
    Table::new("How even the load was at which the throughput was found", columns)
        .sparing(&["gaps"])
        .with_note(note)
        .with_rows(lines)
        .unless_empty()
}
