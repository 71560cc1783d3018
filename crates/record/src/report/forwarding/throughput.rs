//! Throughput and flood by frame size beside the theoretical line: the graph that RFC 2544 §26.1
//! asks for, one for each goal where several devices stand beside one another. Never joins two
//! goals.

use std::collections::BTreeSet;

use measure::Rate;
use page::{Axis, Block, Figure, Image, Key, Metric, Picture, Plot, Point, Scale, Series, Unit};

use super::super::frames::Frames;
use super::super::subject::Who;
use super::super::{among, reading};
use super::goal::{self, Kind};
use super::{Lane, lane, lane_name, rates};
use page::words;

/// A longer table of the same rates in bits is folded.
const MOST_OPEN: usize = 12;

pub(super) fn blocks(figures: &[Figure], link: Option<Rate>) -> Vec<Block> {
    let mut rates: Vec<&Figure> = figures
        .iter()
        .filter(|f| matches!(f.metric, Metric::Throughput | Metric::Received))
        .filter(|f| f.unit == Unit::FramesPerSecond)
        .collect();
    rates.sort_by_key(|f| {
        let kind = Kind::of(f);
        (kind, reading::hosts(f), Frames::of_figure(f), Who::of_figure(f), reading::direction(f))
    });
    let mut blocks = Vec::new();
    let pictures = pictures(&rates, link);
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    if !rates.is_empty() {
        blocks.push(Block::Table(rates::table(&rates, figures)));
        blocks.extend(goal::meant(&rates));
        blocks.extend(rates::searches(&rates));
        let table = rates::conventions(&rates, figures);
        let summary = "The same rates in bits a second".to_owned();
        blocks.push(if table.rows.len() > MOST_OPEN {
            Block::Folded { summary, table }
        } else {
            Block::Table(table)
        });
    }
    blocks.extend(rates::explained(&rates, link));
    blocks.extend(rates::counts(figures).map(Block::Table));
    blocks
}

/// One picture for all, or, where several devices stand beside one another, one for each kind of
/// rate.
fn pictures(rates: &[&Figure], link: Option<Rate>) -> Vec<Picture> {
    let shown: Vec<&Figure> = rates
        .iter()
        .copied()
        .filter(|f| reading::is_whole(f) && f.value.is_some() && Frames::of_figure(f).is_some())
        .collect();
    let lanes: Vec<Lane> =
        shown.iter().map(|f| lane(f)).collect::<BTreeSet<_>>().into_iter().collect();
    let kinds: BTreeSet<Kind> = shown.iter().map(|f| Kind::of(f)).collect();
    let devices = lanes.iter().filter(|(who, _)| !who.is_cable()).count();
    if devices <= 1 && !shown.is_empty() {
        return vec![picture("Frames a second by frame size", &shown, &lanes, link)];
    }
    let of_kind = |kind: &Kind| {
        let of: Vec<&Figure> = shown.iter().copied().filter(|f| Kind::of(f) == *kind).collect();
        picture(&format!("Frames a second by frame size, {}", kind.name()), &of, &lanes, link)
    };
    kinds.iter().map(of_kind).collect()
}

fn picture(title: &str, shown: &[&Figure], lanes: &[Lane], link: Option<Rate>) -> Picture {
    let sizes: Vec<Frames> = among::all_frames(shown.iter().copied()).into_iter().collect();
    let place = |f: &Figure| {
        let own = Frames::of_figure(f);
        sizes.iter().position(|size| Some(size) == own.as_ref()).unwrap_or(0) as f64
    };
    let mut series: Vec<Series> = theoretical(shown, &sizes, link).into_iter().collect();
    let kinds: Vec<Kind> =
        shown.iter().map(|f| Kind::of(f)).collect::<BTreeSet<_>>().into_iter().collect();
    for (kind_at, kind) in kinds.iter().enumerate() {
        for (lane_at, own) in lanes.iter().enumerate() {
            let mut of: Vec<&&Figure> =
                shown.iter().filter(|f| Kind::of(f) == *kind && lane(f) == *own).collect();
            of.sort_by_key(|f| Frames::of_figure(f));
            if of.is_empty() {
                continue;
            }
            let points: Vec<Point> = of.iter().map(|f| point(f, place(f))).collect();
            let who = lane_name(own, lanes);
            series.push(Series {
                name: if kinds.len() > 1 { format!("{}, {who}", kind.name()) } else { who },
                // Colour tells kinds apart, or devices where there is one kind.
                colour: Some(if kinds.len() > 1 { kind_at } else { lane_at }),
                dashed: own.0.is_cable(),
                line: points.iter().map(|p| (p.x, p.y)).collect(),
                points,
            });
        }
    }
    let ends = series.iter().flat_map(|s| s.points.iter().map(|p| p.y));
    let y = Axis::over("frames/s, log scale", Scale::Log, ends, |v| {
        words::tick(Unit::FramesPerSecond, v)
    });
    let names: Vec<String> = sizes.iter().map(Frames::label).collect();
    let x = Axis::names("frame size in octets, FCS included", &names);
    let line = match (series.first().map(|s| s.colour), link) {
        (Some(None), Some(link)) => {
            format!("The thin line is what a {link} link carries: rate / (8 · (size + 20)).")
        }
        (Some(None), None) => "The thin line is what the link carries.".to_owned(),
        _ => "The link's rate is not known, so there is no theoretical line.".to_owned(),
    };
    let caption =
        format!("{title}. Dashed and hollow: the same hosts over the direct cable. {line}");
    Picture { image: Image::Plot(Plot { title: title.to_owned(), x, y, series }), caption }
}

fn theoretical(shown: &[&Figure], sizes: &[Frames], link: Option<Rate>) -> Option<Series> {
    let points: Vec<Point> = sizes
        .iter()
        .enumerate()
        .filter_map(|(i, size)| {
            let mut of = shown.iter().filter(|f| Frames::of_figure(f).as_ref() == Some(size));
            let y = of.find_map(|f| f.number(Key::LineRate))?;
            let text = format!("{} {}", size.label(), words::value(Unit::FramesPerSecond, y));
            Some(Point { x: i as f64, y, whisker: None, text, row: None })
        })
        .collect();
    let name = link.map_or_else(|| "line rate".to_owned(), |link| format!("line rate at {link}"));
    let line = points.iter().map(|p| (p.x, p.y)).collect();
    (!points.is_empty()).then_some(Series { name, colour: None, dashed: false, line, points })
}

fn point(figure: &Figure, x: f64) -> Point {
    let whisker = figure.low.zip(figure.high).filter(|(low, _)| *low > 0.0);
    let size = Frames::of_figure(figure).map_or_else(String::new, |frames| frames.label());
    let text = format!("{size}: {}", words::with_interval(figure));
    Point { x, y: figure.value.unwrap_or(f64::NAN), whisker, text, row: None }
}
