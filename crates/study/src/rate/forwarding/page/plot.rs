//! Plots of rates by frame size with the theoretical line: the graph of RFC 2544 §26.1, one for
//! each kind of rate if there are several devices.
//!
//! Owns the common parts of the study's plots by frame size. Never joins two goals.

use std::collections::BTreeSet;

use measure::Rate;
use page::{Axis, Figure, Image, Picture, Plot, Point, Scale, Series, Unit, words};

use super::super::finding::{OneWay, Traffic};
use super::rated::{Kind, Rated};
use crate::view::{Frames, Who};

/// Identity of a line's points: the device or cable, and the hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    who: Who,
    hosts: String,
}

impl Line {
    pub(super) fn new(traffic: &Traffic) -> Self {
        Self { who: traffic.place.who.clone(), hosts: traffic.place.hosts() }
    }

    /// Name in a legend, with the hosts if those of others differ.
    pub(super) fn name(&self, others: &[Self]) -> String {
        if others.iter().all(|other| other.hosts == self.hosts) {
            self.who.name()
        } else {
            format!("{} {}", self.who.name(), self.hosts)
        }
    }
}

/// Frame sizes along an axis.
pub(super) struct Sizes(Vec<Frames>);

impl Sizes {
    pub(super) fn new<'a>(all: impl IntoIterator<Item = &'a Traffic>) -> Self {
        let sizes: BTreeSet<&Frames> = all.into_iter().map(|traffic| &traffic.frames).collect();
        Self(sizes.into_iter().cloned().collect())
    }

    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn axis(&self) -> Axis {
        let names: Vec<String> = self.0.iter().map(Frames::label).collect();
        Axis::names("frame size in octets, FCS included", &names)
    }

    /// Point of a value at its size.
    pub(super) fn point(&self, way: &OneWay<'_, Figure>) -> Point {
        let (frames, value) = (&way.traffic.frames, way.found);
        Point {
            x: self.0.iter().position(|size| size == frames).unwrap_or(0) as f64,
            y: value.value.unwrap_or(f64::NAN),
            whisker: value.low.zip(value.high).filter(|(low, _)| *low > 0.0),
            text: format!("{}: {}", frames.label(), words::with_interval(value)),
            row: value.id(),
        }
    }
}

/// Pictures: one for all, or with several devices, one for each kind of rate.
pub(super) fn pictures(rates: &[Rated<'_>], link: Option<Rate>) -> Vec<Picture> {
    let shown: Vec<&Rated<'_>> = rates
        .iter()
        .filter(|rated| rated.way.place().is_whole() && rated.value().value.is_some())
        .collect();
    let lines: BTreeSet<Line> = shown.iter().map(|rated| Line::new(rated.traffic())).collect();
    let lines: Vec<Line> = lines.into_iter().collect();
    let title = "Frames a second by frame size";
    if shown.is_empty() {
        return Vec::new();
    }
    if lines.iter().filter(|line| !line.who.is_cable()).count() <= 1 {
        return vec![picture(title, &shown, &lines, link)];
    }
    let kinds: BTreeSet<Kind> = shown.iter().map(|rated| rated.kind()).collect();
    let of_kind = |kind: Kind| {
        let own: Vec<&Rated<'_>> = shown.iter().copied().filter(|r| r.kind() == kind).collect();
        picture(&format!("{title}, {}", kind.name()), &own, &lines, link)
    };
    kinds.into_iter().map(of_kind).collect()
}

fn picture(title: &str, shown: &[&Rated<'_>], lines: &[Line], link: Option<Rate>) -> Picture {
    let sizes = Sizes::new(shown.iter().map(|rated| rated.traffic()));
    let kinds: BTreeSet<Kind> = shown.iter().map(|rated| rated.kind()).collect();
    let theory = theoretical(shown, &sizes, link);
    let has_theory = theory.is_some();
    let mut series: Vec<Series> = theory.into_iter().collect();
    for (kind_at, kind) in kinds.iter().enumerate() {
        for (line_at, line) in lines.iter().enumerate() {
            let own = shown.iter().filter(|r| r.kind() == *kind && Line::new(r.traffic()) == *line);
            let point = |rated: &&Rated<'_>| sizes.point(&rated.way.with(rated.value()));
            let mut points: Vec<Point> = own.map(point).collect();
            if points.is_empty() {
                continue;
            }
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            // Colours distinguish kinds, or devices if there is a single kind.
            let (name, colour) = match line.name(lines) {
                name if kinds.len() > 1 => (format!("{}, {name}", kind.name()), kind_at),
                name => (name, line_at),
            };
            series.push(Series::through(name, Some(colour), line.who.is_cable(), points));
        }
    }
    let y = Axis::upwards("frames/s, log scale", Scale::Log, Unit::FramesPerSecond, &series);
    let theory = match link {
        _ if !has_theory => {
            "The link's rate is not known, so there is no theoretical line.".to_owned()
        }
        Some(link) => {
            format!("The thin line is what a {link} link carries: rate / (8 · (size + 20)).")
        }
        None => "The thin line is what the link carries.".to_owned(),
    };
    let caption =
        format!("{title}. Dashed and hollow: the same hosts over the direct cable. {theory}");
    let plot = Plot { title: title.to_owned(), x: sizes.axis(), y, series };
    Picture { image: Image::Plot(plot), caption }
}

fn theoretical(shown: &[&Rated<'_>], sizes: &Sizes, link: Option<Rate>) -> Option<Series> {
    let point = |(at, size): (usize, &Frames)| {
        let mut own = shown.iter().filter(|rated| rated.traffic().frames == *size);
        let y = own.find_map(|rated| rated.traffic().line)?.0;
        let text = format!("{} {}", size.label(), words::value(Unit::FramesPerSecond, y));
        Some(Point::plain(at as f64, y, text))
    };
    let points: Vec<Point> = sizes.0.iter().enumerate().filter_map(point).collect();
    let name = link.map_or_else(|| "line rate".to_owned(), |link| format!("line rate at {link}"));
    (!points.is_empty()).then(|| Series::through(name, None, false, points))
}
