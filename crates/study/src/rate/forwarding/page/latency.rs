//! Latency at the throughput and at shares of it (RFC 2544 §26.2): typical and worst-case latency
//! and delay variation by frame size, as in RFC 8219 §7.
//!
//! Owns the choice of the first load to state. Never subtracts two values.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use page::{
    Answer, Axis, Block, Bound, Cell, Figure, Image, Picture, Plot, Scale, Series, Table, Unit,
};

use super::super::finding::{DelayLoad, Delays, ForwardingFinding, OneWay};
use super::plot::{Line, Sizes};
use super::smallest::{self, Part};
use super::{listing, rate_cell, shows_bound};

/// Delays in one direction under one load.
#[derive(Debug, Clone, Copy)]
struct Delayed<'a> {
    load: Option<DelayLoad>,
    way: OneWay<'a, Delays>,
}

/// Delays of every device and cable, by frames, load and place.
fn all(found: &ForwardingFinding) -> Vec<Delayed<'_>> {
    let mut all = Vec::new();
    for case in &found.latency {
        for side in std::iter::once(&case.device).chain(&case.cable) {
            let ways = side.traffic.each(&side.delays);
            all.extend(ways.map(|way| Delayed { load: case.load, way }));
        }
    }
    all.sort_by_key(|one| {
        let (frames, place) = one.way.order();
        (frames, one.load.map(|load| Reverse(load.percent)), place)
    });
    all
}

/// Answers on the typical latency at the smallest frames, with the worst case and the cable's.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let mut parts = Vec::new();
    for case in &found.latency {
        let cables = case.cable.as_ref().map(|cable| &cable.delays);
        parts.extend(case.device.traffic.each(&case.device.delays).filter_map(|way| {
            let cable = cables.and_then(|delays| delays.get(&way.direction));
            part(case.load, way, cable.and_then(|delays| delays.typical.as_ref()))
        }));
    }
    smallest::answers("One-way delay at the throughput", parts)
}

fn part<'a>(
    load: Option<DelayLoad>,
    way: OneWay<'a, Delays>,
    cable: Option<&'a Figure>,
) -> Option<Part<'a>> {
    let way = way.with(way.found.typical.as_ref()?);
    let percent = load.map(|load| load.percent);
    let conditions = percent.filter(|percent| *percent != 100);
    Some(Part {
        // The tester's own delay can only reduce the device's.
        bound: shows_bound(&way).then_some(Bound::Most),
        cable,
        percent,
        conditions: conditions.map_or_else(String::new, |percent| format!("{percent} % of it")),
        way,
    })
}

pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let all = all(found);
    let percents: BTreeSet<Reverse<u32>> =
        all.iter().filter_map(|one| one.load).map(|load| Reverse(load.percent)).collect();
    let pictures = percents.into_iter().filter_map(|Reverse(percent)| picture(percent, &all));
    let pictures = Block::pictures(pictures);
    pictures.into_iter().chain(table(all).map(Block::Table)).collect()
}

/// Plot of typical and worst-case latency by frame size under one load.
fn picture(percent: u32, all: &[Delayed<'_>]) -> Option<Picture> {
    let has_value = |one: &&Delayed<'_>| {
        let Delays { typical, worst, .. } = one.way.found;
        [typical, worst].into_iter().flatten().any(|delay| delay.value.is_some())
    };
    let under = |one: &&Delayed<'_>| one.load.is_some_and(|load| load.percent == percent);
    let own: Vec<&Delayed<'_>> = all.iter().filter(under).filter(has_value).collect();
    let sizes = Sizes::new(own.iter().map(|one| one.way.traffic));
    let lines: BTreeSet<Line> = own.iter().map(|one| Line::new(one.way.traffic)).collect();
    let lines: Vec<Line> = lines.into_iter().collect();
    let mut series: Vec<Series> = Vec::new();
    for (colour, line) in lines.iter().enumerate() {
        let (mut typical, mut worst) = (Vec::new(), Vec::new());
        for one in own.iter().filter(|one| Line::new(one.way.traffic) == *line) {
            let point = |delay: &Figure| delay.value.map(|_| sizes.point(&one.way.with(delay)));
            typical.extend(one.way.found.typical.as_ref().and_then(point));
            worst.extend(one.way.found.worst.as_ref().and_then(point));
        }
        let name = line.name(&lines);
        let curves = [("typical (TL)", false, typical), ("worst case (WCL)", true, worst)];
        for (what, dashed, points) in curves {
            // A cable measured under each subject's load has several values at one size.
            let alone = points.len() > sizes.count();
            let name = format!("{name}, {what}");
            let mut own = Series::through(name, Some(colour), dashed, points);
            own.line.retain(|_| !alone);
            series.push(own);
        }
    }
    series.retain(|s| !s.points.is_empty());
    if series.is_empty() {
        return None;
    }
    let y = Axis::upwards("one-way delay, log scale", Scale::Log, Unit::Nanoseconds, &series);
    let title = format!("Latency by frame size at {percent} % of the throughput");
    let caption = format!(
        "{title}. Solid: the median frame (typical). Dashed and hollow: the 99.9th percentile \
         (worst case). Each is the median of the repeats, with their 1st and 99th percentile."
    );
    Some(Picture { image: Image::Plot(Plot { title, x: sizes.axis(), y, series }), caption })
}

/// Table with one row for each size, load and direction.
fn table(all: Vec<Delayed<'_>>) -> Option<Table> {
    let title = "One-way delay at the throughput: typical (TL), worst case (WCL), variation (PDV)";
    let note = "At a share of the throughput found (RFC 2544 §26.2), every frame tagged. TL: the \
                median frame. WCL: the 99.9th percentile. PDV: the 99.9th percentile less the \
                smallest (RFC 8219 §7). Each value is the median of the repeats; beneath it their \
                1st and 99th percentile.";
    listing(title, all, |one| one.way)
        .column("load", |one| {
            Cell::number_or_missing(one.load.map(|load| format!("{}\u{a0}%", load.percent)))
        })
        .column("frames/s", |one| rate_cell(one.load.map(|load| load.rate)))
        .value_or_missing("TL", |one| one.way.found.typical.as_ref())
        .value_or_missing("WCL", |one| one.way.found.worst.as_ref())
        .value_or_missing("PDV", |one| one.way.found.variation.as_ref())
        .samples("frames", |one| one.way.found.all())
        .limit(|one| one.way.found.all())
        .table()
        .sparing(&["frames", "frames/s"])
        .with_note(note)
        .unless_empty()
}
