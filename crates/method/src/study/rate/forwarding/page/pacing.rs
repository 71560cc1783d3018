//! How the load was made: which backend sent and which receiver counted, with the recorded reasons,
//! and how even the paced loads were: gaps between departures and between arrivals.
//!
//! Shows the gaps of single trials and the study's own quantiles. Never judges a trial by them.

use std::collections::BTreeMap;

use measure::Histogram;
use page::{
    Axis, Block, Cell, Column, Figure, Image, Picture, Plot, Point, Scale, Series, Style, Table,
    Unit, words,
};

use super::super::finding::{ForwardingFinding, Loads, LosslessLoad, OneWay};
use crate::study::rate::pacing::{PacingValues, QUANTILES};
use crate::study::view::{Frames, Who};

/// The share of gaps at which a pointer finds a value.
const MARKED: [f64; 6] = [0.01, 0.1, 0.5, 0.9, 0.99, 0.999];

pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let mut blocks: Vec<Block> = makers(&found.loads).map(Block::Table).into_iter().collect();
    let best = found.loads.best.iter();
    let pictures: Vec<Picture> = best.map(|(frames, loads)| picture(frames, loads)).collect();
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    blocks.extend(table(found).map(Block::Table));
    blocks
}

/// Sender and receiver with their reasons, over all trials that ran.
fn makers(loads: &Loads) -> Option<Table> {
    let named = |name: &str, why: &str| {
        let name = if name.is_empty() { "not recorded" } else { name };
        Cell::text(name).with_note(why).with_style(Style::Long)
    };
    let rows = loads.makers.iter().map(|(maker, made)| {
        let whos: Vec<String> = made.through.iter().map(Who::name).collect();
        vec![
            named(&maker.backend, &maker.backend_reason),
            named(&maker.receiver, &maker.receiver_reason),
            Cell::text(whos.join(", ")),
            Cell::number(words::count(made.flows)),
        ]
    });
    let head = ["sent by", "counted by", "on", "flows"];
    let note = "Each with the reason recorded, and in how many flows.";
    Table::new("What put the frames on the wire and what counted them", head)
        .page_only(&head)
        .with_note(note)
        .with_rows(rows)
        .unless_empty()
}

/// The highest paced load of a size that lost nothing, on each path.
fn picture(frames: &Frames, loads: &BTreeMap<Who, LosslessLoad>) -> Picture {
    let mut series: Vec<Series> = Vec::new();
    for (colour, (who, load)) in loads.iter().enumerate() {
        let sides = [("departures", false, &load.departures), ("arrivals", true, &load.arrivals)];
        for (side, dashed, gaps) in sides.into_iter().filter(|(.., gaps)| !gaps.is_empty()) {
            let name = format!("{}, {side}", who.name());
            let (line, points) = curve(gaps, 1e9 / load.rate.0);
            series.push(Series { name, colour: Some(colour), dashed, line, points });
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
    let rate = |(who, load): (&Who, &LosslessLoad)| {
        let rate = words::value(Unit::FramesPerSecond, load.rate.0);
        format!("{} at {rate} (gap {})", who.name(), words::time(1e9 / load.rate.0))
    };
    let rates: Vec<String> = loads.iter().map(rate).collect();
    let caption = format!(
        "{title}: the share of gaps no longer than so many nominal gaps, at the highest paced load \
         that lost nothing: {}. A perfect load is a step at 1. Dashed and hollow: arrivals.",
        rates.join("; ")
    );
    Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
}

/// Gaps of zero, frames of one batch, stand at a thousandth of the nominal gap.
fn curve(gaps: &Histogram, nominal_ns: f64) -> (Vec<(f64, f64)>, Vec<Point>) {
    let at = |q: f64| ((gaps.quantile(q).0 as f64 / nominal_ns).max(0.001), q);
    let line = (0..=200).map(|i| at(f64::from(i) / 200.0 * 0.999)).collect();
    let point = |q: f64| {
        let (x, y) = at(q);
        let gap = words::time(gaps.quantile(q).0 as f64);
        let text = format!("{} of gaps are at most {gap}", words::percent(q));
        Point { x, y, whisker: None, text, row: None }
    };
    (line, MARKED.map(point).into())
}

/// The study's quantiles of gaps at the throughput, and the burst fraction.
fn table(found: &ForwardingFinding) -> Option<Table> {
    let loads = found.throughput.iter().flat_map(|case| case.traffic.each(&case.pacing));
    let mut loads: Vec<OneWay<'_, PacingValues>> = loads.collect();
    loads.sort_by_key(OneWay::order);
    let rows = loads.into_iter().flat_map(|way| {
        let PacingValues { nominal_ns, departures, arrivals, bursts } = way.found;
        let row = |side: &str, gaps: &[Figure], bursts: Option<&Figure>| {
            let first = gaps.first()?;
            let nominal = Cell::quantity(Unit::Nanoseconds, Some(*nominal_ns));
            let cells = [Cell::text(side), nominal].into_iter().chain(gaps.iter().map(Cell::value));
            let last = [Cell::value_or_missing(bursts), Cell::samples(&[first])];
            Some(way.row(cells.chain(last)))
        };
        let departures = row("departures", departures, bursts.as_ref());
        departures.into_iter().chain(row("arrivals", arrivals, None))
    });
    let columns = ["octets", "device", "gaps between", "nominal"].map(Column::from);
    let quantiles = QUANTILES.map(|q| Column::from(words::quantile(q)));
    let last = ["in bursts", "gaps"].map(Column::from);
    let note =
        "In bursts: frames that left closer than half the nominal gap behind the one before.";
    let title = "How even the load was at which the throughput was found";
    Table::new(title, columns.into_iter().chain(quantiles).chain(last))
        .sparing(&["gaps"])
        .with_note(note)
        .with_rows(rows)
        .unless_empty()
}
