//! Latency at the throughput and at shares of it (RFC 2544 §26.2): typical and worst-case latency
//! and delay variation by frame size, as RFC 8219 §7 has them. Never subtracts two figures.

use std::collections::{BTreeMap, BTreeSet};

use page::{
    Axis, Block, Cell, Column, Figure, Image, Key, Metric, Picture, Plot, Point, Scale, Series,
    Table, Unit,
};

use super::super::frames::{self, Frames};
use super::super::subject::{self, Who};
use super::super::{among, reading};
use super::{Lane, lane, lane_name};
use page::words;

/// What stands in a column, by RFC 8219's names.
const POINTS: [(Metric, f64, &str); 3] = [
    (Metric::OneWayDelay, 0.5, "typical (TL)"),
    (Metric::OneWayDelay, 0.999, "worst case (WCL)"),
    (Metric::Pdv, 0.999, "variation (PDV)"),
];

pub(super) fn blocks(figures: &[Figure]) -> Vec<Block> {
    let of: Vec<&Figure> =
        figures.iter().filter(|f| reading::is_test(f, "latency") && f.quantile.is_some()).collect();
    let mut blocks = Vec::new();
    let pictures = pictures(&of);
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    blocks.extend(table(figures).map(Block::Table));
    blocks
}

/// Typical and worst-case latency by frame size, one picture for each load.
fn pictures(figures: &[&Figure]) -> Vec<Picture> {
    let percents: BTreeSet<String> =
        figures.iter().filter_map(|f| reading::text(f, Key::LoadPercent)).collect();
    let mut pictures = Vec::new();
    for percent in &percents {
        let own: Vec<&Figure> = figures
            .iter()
            .copied()
            .filter(|f| reading::text(f, Key::LoadPercent).as_ref() == Some(percent))
            .filter(|f| f.metric == Metric::OneWayDelay && f.value.is_some())
            .collect();
        if !own.is_empty() {
            pictures.push(picture(percent, &own));
        }
    }
    pictures
}

fn picture(percent: &str, figures: &[&Figure]) -> Picture {
    let sizes: Vec<Frames> = among::all_frames(figures.iter().copied()).into_iter().collect();
    let lanes: Vec<Lane> =
        figures.iter().map(|f| lane(f)).collect::<BTreeSet<_>>().into_iter().collect();
    let mut series: Vec<Series> = Vec::new();
    // A cable asked for what each subject was has several values at one size: they are points
    // alone.
    for (colour, own) in lanes.iter().enumerate() {
        for (_, q, name) in POINTS.iter().take(2) {
            let mut of: Vec<&&Figure> = figures
                .iter()
                .filter(|f| lane(f) == *own && f.quantile.is_some_and(|x| (x - q).abs() < 1e-9))
                .collect();
            of.sort_by_key(|f| Frames::of_figure(f));
            let points: Vec<Point> = of.iter().map(|f| point(f, &sizes)).collect();
            let alone = of.len() > sizes.len();
            let line: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.y)).collect();
            series.push(Series {
                name: format!("{}, {name}", lane_name(own, &lanes)),
                colour: Some(colour),
                dashed: *q > 0.9,
                line: if alone { Vec::new() } else { line },
                points,
            });
        }
    }
    series.retain(|s| !s.points.is_empty());
    let ends = series.iter().flat_map(|s| s.points.iter().map(|p| p.y));
    let y = Axis::over("one-way delay, log scale", Scale::Log, ends, |v| {
        words::tick(Unit::Nanoseconds, v)
    });
    let names: Vec<String> = sizes.iter().map(Frames::label).collect();
    let x = Axis::names("frame size in octets, FCS included", &names);
    let title = format!("Latency by frame size at {percent} % of the throughput");
    let caption = format!(
        "{title}. Solid: the median frame (typical). Dashed and hollow: the 99.9th percentile (worst \
         case). Each is the median of the repeats, with their 1st and 99th percentile."
    );
    Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
}

fn point(figure: &Figure, sizes: &[Frames]) -> Point {
    let own = Frames::of_figure(figure);
    let x = sizes.iter().position(|size| Some(size) == own.as_ref()).unwrap_or(0) as f64;
    let whisker = figure.low.zip(figure.high).filter(|(low, _)| *low > 0.0);
    let size = own.map_or_else(String::new, |frames| frames.label());
    let text = format!("{size}: {}", words::with_interval(figure));
    Point { x, y: figure.value.unwrap_or(f64::NAN), whisker, text, row: None }
}

/// One row for each size, load and way.
fn table(figures: &[Figure]) -> Option<Table> {
    let mut rows: BTreeMap<_, Vec<&Figure>> = BTreeMap::new();
    for figure in figures.iter().filter(|f| reading::is_test(f, "latency")) {
        let percent = figure.number(Key::LoadPercent).map(|p| std::cmp::Reverse(p as u64));
        let way = (reading::way(figure), reading::direction(figure));
        let who = (Who::of_figure(figure), subject::beside(figure));
        rows.entry((Frames::of_figure(figure), percent, who, way)).or_default().push(figure);
    }
    let mut columns: Vec<Column> = vec!["octets".into(), "device".into(), "load".into()];
    columns.push("frames/s".into());
    columns.extend(["TL", "WCL", "PDV"].map(Column::from));
    columns.extend(["frames", "limited by"].map(Column::from));
    let rows = rows.into_values().map(|row| {
        let load = reading::text(row[0], Key::LoadPercent).map(|p| format!("{p}\u{a0}%"));
        let rate = row[0].number(Key::LoadRate);
        let mut cells = vec![
            frames::cell(row[0]),
            subject::cell(row[0]),
            Cell::number_or_missing(load),
            Cell::number_or_missing(rate.map(|rate| words::count(rate.round() as u64))),
        ];
        cells.extend(POINTS.map(|(metric, q, _)| {
            let is = |f: &&&Figure| f.metric == metric && f.quantile == Some(q);
            Cell::value_or_missing(row.iter().find(is).copied())
        }));
        cells.extend([Cell::samples(&row), Cell::limit(&row)]);
        cells
    });
    let title = "One-way delay at the throughput: typical (TL), worst case (WCL), variation (PDV)";
    let note = "At a share of the throughput found (RFC 2544 §26.2), every frame tagged. TL: the \
                median frame. WCL: the 99.9th percentile. PDV: the 99.9th percentile less the \
                smallest (RFC 8219 §7). Each value is the median of the repeats; beneath it their \
                1st and 99th percentile.";
    Table::new(title, columns)
        .sparing(&["frames", "frames/s"])
        .with_note(note)
        .with_rows(rows)
        .unless_empty()
}
