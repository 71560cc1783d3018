//! Goodput over time: a picture for each test with all its paths, and each flow second by second,
//! from the cases' first valid trials.
//!
//! Never averages over trials.

use std::collections::BTreeSet;

use page::{Block, Image, PALETTE, Picture, Series, Unit};
use trial::record::BulkRecord;

use crate::rows::Direction;
use crate::tcp::cell::FirstFlow;
use crate::tcp::finding::{Part, TcpCase, TcpFinding};
use crate::view::{Place, Who, streams};

/// Factor above which a faster cable is left out, as it would hide the device's curve.
const TOO_FAST: f64 = 10.0;

/// Maximum number of points that can be hovered over; a longer line has none.
const MOST_POINTS: usize = 60;

/// Flow of a case's first valid trial.
struct Curve<'a> {
    label: &'a str,
    place: &'a Place,
    first: &'a FirstFlow,
}

impl<'a> Curve<'a> {
    fn from_case(case: &'a TcpCase) -> impl Iterator<Item = Self> {
        case.parts().filter_map(|Part { place, first, .. }| {
            Some(Self { label: &case.label, place, first: first.as_ref()? })
        })
    }

    fn mean(&self) -> f64 {
        let BulkRecord { received, elapsed, .. } = &self.first.done;
        received.0 as f64 / elapsed.as_secs_f64().max(1e-9)
    }
}

pub(super) fn blocks(found: &TcpFinding) -> Vec<Block> {
    let tests = found.cases.chunk_by(|a, b| a.test == b.test);
    let tests = tests.map(|cases| cases.iter().flat_map(Curve::from_case).collect::<Vec<_>>());
    let tests: Vec<Vec<Curve<'_>>> = tests.filter(|curves| !curves.is_empty()).collect();
    if tests.is_empty() {
        return Vec::new();
    }
    let pictures = tests.iter().map(|curves| picture(&comparable(curves)));
    let mut blocks = vec![Block::Pictures(pictures.collect())];
    blocks.extend(tests.iter().flatten().map(|Curve { label, place, first }| Block::Folded {
        summary: format!("{label}, {} ({}), second by second", place.hosts(), place.who.name()),
        table: streams::second_by_second(&first.bulk, &first.done),
    }));
    blocks
}

/// Curves that can be drawn together.
fn comparable<'a, 'b>(curves: &'b [Curve<'a>]) -> Vec<&'b Curve<'a>> {
    let through = curves.iter().filter(|curve| !curve.place.is_cable());
    let fastest = through.map(Curve::mean).fold(0.0, f64::max);
    let fits = |curve: &&Curve<'_>| {
        !curve.place.is_cable() || fastest <= 0.0 || curve.mean() <= TOO_FAST * fastest
    };
    curves.iter().filter(fits).collect()
}

/// Picture of all streams of a flow together; a colour for each flow, the direct cable dashed.
fn picture(curves: &[&Curve<'_>]) -> Picture {
    let whos: BTreeSet<&Who> = curves.iter().map(|curve| &curve.place.who).collect();
    let directions: BTreeSet<Option<Direction>> =
        curves.iter().map(|curve| curve.place.direction).collect();
    let hosts: BTreeSet<String> = curves.iter().map(|curve| curve.place.hosts()).collect();
    let series = curves.iter().map(|curve| {
        let Place { who, direction, .. } = curve.place;
        let colour = whos.iter().position(|other| *other == who).unwrap_or(0);
        let shade = directions.iter().position(|other| other == direction).unwrap_or(0);
        let colour = (colour * directions.len() + shade) % PALETTE;
        let name = match hosts.len() {
            1 => who.name(),
            _ => format!("{}, {}", curve.place.hosts(), who.name()),
        };
        let line = streams::goodput(&curve.first.bulk, &curve.first.done);
        let own = streams::one_series(name, colour, who.is_cable(), Unit::BitsPerSecond, line);
        let points = if own.line.len() > MOST_POINTS { Vec::new() } else { own.points };
        Series { points, ..own }
    });
    let longest = curves.iter().map(|curve| curve.first.done.elapsed.as_secs_f64());
    let (longest, label) = (longest.fold(0.0, f64::max), "TCP payload, all streams");
    let direction = match directions.len() {
        1 => hosts.iter().cloned().collect::<Vec<_>>().join(", "),
        _ => "both ways at once".to_owned(),
    };
    let title = format!("Goodput over time, {direction}");
    let caption = format!(
        "{title}: the first valid trial of each path, solid through the device, dashed over the \
         direct cable."
    );
    let plot = streams::over_time(&title, label, Unit::BitsPerSecond, longest, series.collect());
    Picture { image: Image::Plot(plot), caption }
}
