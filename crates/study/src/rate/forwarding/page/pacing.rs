//! Making of the loads: the senders and receivers, with the recorded reasons, and the pacing of the
//! loads by the gaps between departures and between arrivals.
//!
//! Shows the gaps of single trials and the study's own quantiles. Never judges a trial by them.

use std::collections::BTreeMap;

use measure::Histogram;
use page::{
    Axis, Block, Cell, Figure, Image, Listing, Picture, Plot, Point, Scale, Series, Style, Table,
    Unit, words,
};

use super::super::finding::{ForwardingFinding, Loads, LosslessLoad, Made, OneWay};
use super::listing;
use crate::rate::pacing::{PacingValues, QUANTILES};
use crate::view::{Frames, Who};

/// Shares of gaps that can be hovered over.
const MARKED: [f64; 6] = [0.01, 0.1, 0.5, 0.9, 0.99, 0.999];

pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let mut blocks: Vec<Block> = makers(&found.loads).map(Block::Table).into_iter().collect();
    let best = found.loads.best.iter();
    blocks.extend(Block::pictures(best.map(|(frames, loads)| picture(frames, loads))));
    blocks.extend(table(found).map(Block::Table));
    blocks
}

/// Table of senders and receivers with their reasons, over all trials that ran.
fn makers(loads: &Loads) -> Option<Table> {
    let named = |name: &str, why: &str| {
        let name = if name.is_empty() { "not recorded" } else { name };
        Cell::text(name).with_note(why).with_style(Style::Long)
    };
    let names = |made: &Made| made.through.iter().map(Who::name).collect::<Vec<_>>().join(", ");
    Listing::new("What put the frames on the wire and what counted them", &loads.makers)
        .column("sent by", |(maker, _)| named(&maker.backend, &maker.backend_reason))
        .column("counted by", |(maker, _)| named(&maker.receiver, &maker.receiver_reason))
        .column("on", |(_, made)| Cell::text(names(made)))
        .column("flows", |(_, made)| Cell::number(words::count(made.flows)))
        .table()
        .page_only(&["sent by", "counted by", "on", "flows"])
        .with_note("Each with the reason recorded, and in how many flows.")
        .unless_empty()
}

/// Gaps of the highest paced load of a size without loss, on each path.
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
    let label = "gap over the nominal gap, log scale";
    let x = Axis::over(label, Scale::Log, ends, |v| words::trimmed(v, 3));
    let y = Axis::shares("share of gaps");
    let title = format!("Gaps of paced loads, frames of {}", frames.to_phrase());
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

/// Curve of gaps. Gaps of zero, from frames of one batch, are drawn at a thousandth of the nominal
/// gap.
fn curve(gaps: &Histogram, nominal_ns: f64) -> (Vec<(f64, f64)>, Vec<Point>) {
    let at = |q: f64| ((gaps.quantile(q).0 as f64 / nominal_ns).max(0.001), q);
    let line = (0..=200).map(|i| at(f64::from(i) / 200.0 * 0.999)).collect();
    let point = |q: f64| {
        let (x, y) = at(q);
        let gap = words::time(gaps.quantile(q).0 as f64);
        let text = format!("{} of gaps are at most {gap}", words::percent(q));
        Point::plain(x, y, text)
    };
    (line, MARKED.map(point).into())
}

/// Table of the study's quantiles of gaps at the throughput, and the burst fraction.
fn table(found: &ForwardingFinding) -> Option<Table> {
    let loads = found.throughput.iter().flat_map(|case| case.traffic.each(&case.pacing));
    let mut loads: Vec<OneWay<'_, PacingValues>> = loads.collect();
    loads.sort_by_key(OneWay::order);
    let sides = loads.into_iter().flat_map(|way| {
        let PacingValues { departures, arrivals, bursts, .. } = way.found;
        let sides = [("departures", departures, bursts.as_ref()), ("arrivals", arrivals, None)];
        let known = sides.into_iter().filter(|(_, gaps, _)| !gaps.is_empty());
        known.map(move |(between, gaps, bursts)| Side { way, between, gaps, bursts })
    });
    let note =
        "In bursts: frames that left closer than half the nominal gap behind the one before.";
    let title = "How even the load was at which the throughput was found";
    listing(title, sides, |side| side.way)
        .column("gaps between", |side| Cell::text(side.between))
        .column("nominal", |side| {
            Cell::quantity(Unit::Nanoseconds, Some(side.way.found.nominal_ns))
        })
        .columns(QUANTILES.map(words::quantile), |side, at| Cell::value(&side.gaps[at]))
        .value_or_missing("in bursts", |side| side.bursts)
        .samples("gaps", |side| vec![&side.gaps[0]])
        .table()
        .sparing(&["gaps"])
        .with_note(note)
        .unless_empty()
}

/// Departures or arrivals of a load.
struct Side<'a> {
    way: OneWay<'a, PacingValues>,
    between: &'static str,
    gaps: &'a [Figure],
    bursts: Option<&'a Figure>,
}
