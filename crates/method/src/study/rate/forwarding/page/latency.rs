//! Latency at the throughput and at shares of it (RFC 2544 §26.2): typical and worst-case latency
//! and delay variation by frame size, as RFC 8219 §7 has them.
//!
//! Owns the load beside which a device's delay is told first. Never subtracts two values.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use page::{
    Answer, Axis, Block, Cell, Image, Picture, Plot, Point, Scale, Series, Table, Unit, Verdict,
    words,
};

use super::super::finding::{DelayLoad, DelaySide, Delays, ForwardingFinding, Traffic};
use super::super::rig::Direction;
use super::plot::{Line, Sizes};
use super::rate_cell;
use super::smallest::{Part, sentences};

/// Delays of one way under one load.
#[derive(Debug, Clone, Copy)]
struct Delayed<'a> {
    load: Option<DelayLoad>,
    traffic: &'a Traffic,
    direction: Option<Direction>,
    delays: &'a Delays,
}

/// Of every device and cable, by frames, load and place.
fn all(found: &ForwardingFinding) -> Vec<Delayed<'_>> {
    let mut all = Vec::new();
    for case in &found.latency {
        for side in std::iter::once(&case.device).chain(&case.cable) {
            let DelaySide { traffic, delays } = side;
            all.extend(delays.iter().map(|(direction, delays)| Delayed {
                load: case.load,
                traffic,
                direction: *direction,
                delays,
            }));
        }
    }
    all.sort_by_key(|one| {
        let percent = one.load.map(|load| Reverse(load.percent));
        (one.traffic.frames.clone(), percent, one.traffic.place(one.direction))
    });
    all
}

/// Typical latency at the smallest frames, with the worst case and the cable's.
pub(super) fn answers(found: &ForwardingFinding) -> Vec<Answer> {
    let mut parts = Vec::new();
    for case in &found.latency {
        let traffic = &case.device.traffic;
        for (direction, delays) in &case.device.delays {
            let Some(typical) = &delays.typical else { continue };
            let worst = delays.worst.as_ref().filter(|worst| worst.value.is_some());
            let cable = case.cable.as_ref().and_then(|cable| cable.delays.get(direction));
            let cable = cable.and_then(|delays| delays.typical.as_ref());
            let cable = cable.filter(|cable| cable.value.is_some());
            let time = |value: Option<f64>| value.map(words::time).unwrap_or_default();
            let beside = cable.map_or_else(String::new, |cable| {
                format!(" ({} over the direct cable)", time(cable.value))
            });
            let high = worst.map_or_else(String::new, |w| format!(", p99.9 {}", time(w.value)));
            // What the tester's own delay hides can only be less.
            let is_bound = typical.verdict == Verdict::TesterLimited;
            let most = if is_bound { "at most " } else { "" };
            let (typically, who) = (time(typical.value), traffic.place.who.in_words());
            parts.push(Part {
                percent: case.load.map(|load| load.percent),
                text: format!("{most}{typically} through {who}{high}{beside}"),
                others: worst.into_iter().chain(cable).collect(),
                ..Part::new(traffic, *direction, at_load(traffic, case.load), typical)
            });
        }
    }
    sentences("Latency of a load?", parts)
}

fn at_load(traffic: &Traffic, load: Option<DelayLoad>) -> String {
    let load = match load.map(|load| load.percent) {
        None | Some(100) => "at each device's throughput".to_owned(),
        Some(percent) => format!("at {percent} % of each device's throughput"),
    };
    format!("One-way delay of frames of {}, {load}", traffic.frames.in_words())
}

pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let all = all(found);
    let mut blocks = Vec::new();
    let percents: BTreeSet<Reverse<u32>> =
        all.iter().filter_map(|one| one.load).map(|load| Reverse(load.percent)).collect();
    let pictures = percents.into_iter().filter_map(|Reverse(percent)| picture(percent, &all));
    let pictures: Vec<Picture> = pictures.collect();
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    blocks.extend(table(&all).map(Block::Table));
    blocks
}

/// Typical and worst-case latency by frame size under one load.
fn picture(percent: u32, all: &[Delayed<'_>]) -> Option<Picture> {
    let has_value = |one: &&Delayed<'_>| {
        let delays = [&one.delays.typical, &one.delays.worst];
        delays.into_iter().flatten().any(|delay| delay.value.is_some())
    };
    let under = |one: &&Delayed<'_>| one.load.is_some_and(|load| load.percent == percent);
    let own: Vec<&Delayed<'_>> = all.iter().filter(under).filter(has_value).collect();
    let sizes = Sizes::new(own.iter().map(|one| one.traffic));
    let lines: BTreeSet<Line> = own.iter().map(|one| Line::new(one.traffic)).collect();
    let lines: Vec<Line> = lines.into_iter().collect();
    let mut series: Vec<Series> = Vec::new();
    for (colour, line) in lines.iter().enumerate() {
        let of_line = own.iter().filter(|one| Line::new(one.traffic) == *line);
        let mut points: [Vec<Point>; 2] = [Vec::new(), Vec::new()];
        for one in of_line {
            let delays = [&one.delays.typical, &one.delays.worst];
            for (points, delay) in points.iter_mut().zip(delays) {
                let delay = delay.iter().filter(|delay| delay.value.is_some());
                points.extend(delay.map(|delay| sizes.point(&one.traffic.frames, delay)));
            }
        }
        let [typical, worst] = points;
        let name = line.name(&lines);
        let curves = [("typical (TL)", false, typical), ("worst case (WCL)", true, worst)];
        for (what, dashed, points) in curves {
            // A cable measured under each subject's load has several values at one size.
            let alone = points.len() > sizes.count();
            let line: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.y)).collect();
            series.push(Series {
                name: format!("{name}, {what}"),
                colour: Some(colour),
                dashed,
                line: if alone { Vec::new() } else { line },
                points,
            });
        }
    }
    series.retain(|s| !s.points.is_empty());
    if series.is_empty() {
        return None;
    }
    let ends = series.iter().flat_map(|s| s.points.iter().map(|p| p.y));
    let y = Axis::over("one-way delay, log scale", Scale::Log, ends, |v| {
        words::tick(Unit::Nanoseconds, v)
    });
    let title = format!("Latency by frame size at {percent} % of the throughput");
    let caption = format!(
        "{title}. Solid: the median frame (typical). Dashed and hollow: the 99.9th percentile \
         (worst case). Each is the median of the repeats, with their 1st and 99th percentile."
    );
    Some(Picture { image: Image::Plot(Plot { title, x: sizes.axis(), y, series }), caption })
}

/// One row for each size, load and way.
fn table(all: &[Delayed<'_>]) -> Option<Table> {
    let row = |one: &Delayed<'_>| {
        let Delays { typical, worst, variation, .. } = one.delays;
        let values = one.delays.all();
        vec![
            one.traffic.frames.cell(),
            one.traffic.place(one.direction).cell(),
            Cell::number_or_missing(one.load.map(|load| format!("{}\u{a0}%", load.percent))),
            rate_cell(one.load.map(|load| load.rate)),
            Cell::value_or_missing(typical.as_ref()),
            Cell::value_or_missing(worst.as_ref()),
            Cell::value_or_missing(variation.as_ref()),
            Cell::samples(&values),
            Cell::limit(&values),
        ]
    };
    let head = ["octets", "device", "load", "frames/s", "TL", "WCL", "PDV", "frames", "limited by"];
    let title = "One-way delay at the throughput: typical (TL), worst case (WCL), variation (PDV)";
    let note = "At a share of the throughput found (RFC 2544 §26.2), every frame tagged. TL: the \
                median frame. WCL: the 99.9th percentile. PDV: the 99.9th percentile less the \
                smallest (RFC 8219 §7). Each value is the median of the repeats; beneath it their \
                1st and 99th percentile.";
    Table::new(title, head)
        .sparing(&["frames", "frames/s"])
        .with_note(note)
        .with_rows(all.iter().map(row))
        .unless_empty()
}
