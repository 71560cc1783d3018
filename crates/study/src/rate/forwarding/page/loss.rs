//! Frame loss by offered load (RFC 2544 §26.3): the curve from every valid paced trial, and the
//! table of loss ratios. The table has the study's own points, floods, and searches without a
//! limit.
//!
//! Owns the grouping of curves in pictures. Never fits one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use page::{
    Axis, Block, Cell, Figure, Image, Picture, Plot, Point, Scale, Series, Table, Unit, words,
};

use super::super::ForwardingTest;
use super::super::finding::{Curve, ForwardingFinding, LossLoad, Offered, OneWay, Traffic};
use super::{listing, quantity};
use crate::view::{Frames, Who};
use measure::FrameRate;

/// Maximum number of pictures; the table has all.
const MOST_PICTURES: usize = 8;

pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let pictures = Block::pictures(pictures(&found.curves.0));
    pictures.into_iter().chain(table(found).map(Block::Table)).collect()
}

/// Pictures: one with a colour for each size, or with several devices, one for each size with a
/// colour for each device.
fn pictures(curves: &BTreeMap<(Frames, Who), Curve>) -> Vec<Picture> {
    let sizes: BTreeSet<&Frames> = curves.keys().map(|(frames, _)| frames).collect();
    let whos: BTreeSet<&Who> = curves.keys().map(|(_, who)| who).collect();
    if curves.is_empty() {
        return Vec::new();
    }
    if whos.iter().filter(|who| !who.is_cable()).count() <= 1 {
        let series = curves.iter().map(|((frames, who), curve)| {
            let cable = if who.is_cable() { ", direct cable" } else { "" };
            let colour = sizes.iter().position(|size| *size == frames);
            series(format!("{}{cable}", frames.label()), colour, who, curve)
        });
        let colours = "One colour for each frame size in octets";
        return vec![picture("Loss by offered load", colours, series.collect())];
    }
    let of_size = |size: &Frames| {
        let own = curves.iter().filter(|((frames, _), _)| frames == size);
        let series = own.map(|((_, who), curve)| {
            series(who.name(), whos.iter().position(|other| *other == who), who, curve)
        });
        let title = format!("Loss by offered load, frames of {}", size.to_phrase());
        picture(&title, "One colour for each device", series.collect())
    };
    sizes.into_iter().take(MOST_PICTURES).map(of_size).collect()
}

fn series(name: String, colour: Option<usize>, who: &Who, curve: &Curve) -> Series {
    let points = curve.iter().map(|(rate, offered)| point(*rate, *offered));
    Series::through(name, colour, who.is_cable(), points.collect())
}

fn picture(title: &str, colours: &str, series: Vec<Series>) -> Picture {
    let label = "offered load, frames/s, log scale";
    let x = Axis::along(label, Scale::Log, Unit::FramesPerSecond, &series);
    let lost = series.iter().flat_map(|s| &s.points).map(|p| p.y).chain([0.0, 0.01]);
    let y = Axis::over("frames lost", Scale::Linear, lost, |v| words::tick(Unit::Ratio, v));
    let caption = format!(
        "{title}. {colours}; every valid paced trial, those of searches included, repeats at one \
         rate taken together."
    );
    Picture { image: Image::Plot(Plot { title: title.to_owned(), x, y, series }), caption }
}

fn point(rate: u64, Offered { sent, lost, trials }: Offered) -> Point {
    let share = if sent == 0 { 0.0 } else { lost as f64 / sent as f64 };
    let text = format!(
        "{} frames/s offered, {} of {} frames lost ({}), {trials} trials",
        words::count(rate),
        words::count(lost),
        words::count(sent),
        words::percent(share)
    );
    Point::plain(rate as f64, share, text)
}

/// Loss ratio found by any test.
struct Lost<'a> {
    way: OneWay<'a, Figure>,
    test: ForwardingTest,
    load: Option<LossLoad>,
    offered: Option<FrameRate>,
}

fn table(found: &ForwardingFinding) -> Option<Table> {
    let mut all: Vec<Lost<'_>> = Vec::new();
    for case in &found.floods {
        all.extend(case.traffic.each(&case.counts).map(|way| {
            let way = way.with(&way.found.loss_ratio);
            Lost { way, test: ForwardingTest::Flood, load: None, offered: None }
        }));
    }
    for case in &found.throughput {
        all.extend(case.goals.iter().filter_map(|goal| goal.loss.as_ref()).map(|at| {
            let (way, test) = (case.traffic.with(&at.ratio), ForwardingTest::Throughput);
            Lost { way, test, load: None, offered: at.offered }
        }));
    }
    for point in &found.loss {
        all.extend(point.traffic.each(&point.ratios).map(|way| {
            let (load, offered) = (point.load, way.found.offered);
            let way = way.with(&way.found.ratio);
            Lost { way, test: ForwardingTest::LossCurve, load, offered }
        }));
    }
    all.sort_by_key(|lost| {
        let Traffic { frames, place, .. } = lost.way.traffic;
        (frames.clone(), place.clone(), lost.load.map(|load| Reverse(load.percent)))
    });
    let title = "Loss by load, in percent of the highest rate (RFC 2544 §26.3), and under flood";
    let load = |Lost { test, load, .. }: &Lost<'_>| match load {
        Some(load) => Cell::text(format!("{}\u{a0}%", load.percent))
            .with_note(format!("of {}", load.reference_in_words())),
        None => Cell::text(test.as_str()),
    };
    listing(title, all, |lost| lost.way)
        .column("load", load)
        .column("offered", |lost| quantity(lost.offered.map(|rate| rate.0)))
        .value("lost", |lost| lost.way.found)
        .samples("n", |lost| vec![lost.way.found])
        .limit(|lost| vec![lost.way.found])
        .table()
        .sparing(&["n"])
        .unless_empty()
}
