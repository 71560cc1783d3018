//! Plots of round trips: by percentile and as a cumulative distribution, for each protocol and
//! load.
//!
//! Distributions are of all valid trials together; intervals come from the values, never from here.

use std::collections::BTreeSet;

use measure::Histogram;
use page::{Axis, Block, Image, Picture, Plot, Point, Scale, Series, Unit, words};

use super::Trips;
use crate::study::latency::finding::{LatencyCase, LatencyFinding};
use crate::study::view::{Place, Who};

/// The points of a percentile plot that a pointer can find.
const MARKED: [f64; 9] = [0.0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];

/// Shares of a cumulative distribution that a pointer can find.
const SHARES: [f64; 6] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99];

/// One path's round trips of one size.
#[derive(Clone, Copy)]
struct Distribution<'a> {
    /// In octets.
    size: u32,
    place: &'a Place,
    round_trips: &'a Histogram,
}

/// Distributions over the same axes.
struct Drawing<'a> {
    /// `UDP`, `64-octet UDP`
    name: String,
    /// `under load of 2 streams (cubic)`
    load: String,
    /// One colour for each device, else for each size.
    by_device: bool,
    shown: Vec<Distribution<'a>>,
}

/// Two plots of each protocol and load, under a heading.
pub(super) fn blocks(found: &LatencyFinding) -> Vec<Block> {
    let mut cases: Vec<&LatencyCase> = found.cases.iter().collect();
    cases.sort_by_key(|case| (case.protocol, case.load.caption()));
    cases.into_iter().flat_map(of_case).collect()
}

fn of_case(case: &LatencyCase) -> Vec<Block> {
    let shown = distributions(case);
    if shown.is_empty() {
        return Vec::new();
    }
    let (name, load) = (case.protocol.as_str().to_uppercase(), case.load.caption());
    let heading = format!("{name} RTT, {load}");
    let devices = shown.iter().map(|one| &one.place.who).filter(|who| !who.is_cable());
    let drawings = if devices.collect::<BTreeSet<&Who>>().len() > 1 {
        by_size(&name, &load, &shown)
    } else {
        vec![Drawing { name, load, by_device: false, shown }]
    };
    let plots = drawings.iter().flat_map(|drawing| [drawing.percentiles(), drawing.cumulative()]);
    vec![Block::Subheading(heading), Block::Pictures(plots.collect())]
}

/// Distributions of each path that had a valid trial, smaller frames first.
fn distributions(case: &LatencyCase) -> Vec<Distribution<'_>> {
    let trips = case.sizes.iter().flat_map(|size| Trips::of_size(case, size));
    let shown = trips.filter_map(|Trips { size, path, .. }| {
        let round_trips = path.round_trips.as_ref().filter(|all| !all.is_empty())?;
        Some(Distribution { size: size.size.octets(), place: &path.place, round_trips })
    });
    let mut shown: Vec<Distribution<'_>> = shown.collect();
    shown.sort_by_key(|one| (one.size, one.place));
    shown
}

fn by_size<'a>(name: &str, load: &str, shown: &[Distribution<'a>]) -> Vec<Drawing<'a>> {
    let of_size = |shown: &[Distribution<'a>]| Drawing {
        name: format!("{}-octet {name}", shown[0].size),
        load: load.to_owned(),
        by_device: true,
        shown: shown.to_vec(),
    };
    shown.chunk_by(|one, next| one.size == next.size).map(of_size).collect()
}

impl Drawing<'_> {
    /// Round-trip time by percentile, an axis on which each further nine is as wide as the last.
    fn percentiles(&self) -> Picture {
        let last = |h: &Histogram| (1.0 - 1.0 / h.count().max(1) as f64).clamp(0.0, 0.999_999);
        let highest = self.shown.iter().map(|one| last(one.round_trips)).fold(0.9, f64::max);
        let series = self.series(|h| {
            let at = |q: f64| (q, h.quantile(q).0 as f64);
            // Evenly along the axis, which is logarithmic in 1 - q.
            let end = -(1.0 - last(h)).log10();
            let line = (0..=120).map(|i| at(1.0 - 10f64.powf(-end * f64::from(i) / 120.0)));
            let points = MARKED.into_iter().filter(|q| *q <= last(h)).map(|q| {
                let (x, y) = at(q);
                read_off(x, y, format!("{} {}", words::quantile(q), words::time(y)))
            });
            (line.collect(), points.collect())
        });
        let values = series.iter().flat_map(|s| s.line.iter().map(|(_, y)| *y));
        let y = Axis::over("round-trip time, log scale", Scale::Log, values, |v| {
            words::tick(Unit::Nanoseconds, v)
        });
        let x = Axis::percentiles("percentile (each further nine as wide as the last)", highest);
        let title = format!("{} round-trip time by percentile, {}", self.name, self.load);
        let coloured = if self.by_device {
            "One colour for each device"
        } else {
            "One colour for each frame size in octets"
        };
        let n: u64 = self.shown.iter().map(|one| one.round_trips.count()).sum();
        let caption = format!(
            "{title}. {coloured}; solid through the device, dashed over the direct cable. All \
             valid trials together, {} round trips.",
            words::count(n)
        );
        Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
    }

    /// Share of round trips that took at most so long.
    fn cumulative(&self) -> Picture {
        let series = self.series(|h| {
            let at = |q: f64| (h.quantile(q).0 as f64, q);
            let line = (0..=199).map(|i| at(f64::from(i) / 200.0)).chain([at(0.999)]);
            let points = SHARES.map(|q| {
                let (x, y) = at(q);
                let (share, time) = (words::percent(q), words::time(x));
                read_off(x, y, format!("{share} of round trips take at most {time}"))
            });
            (line.collect(), points.into())
        });
        let values = series.iter().flat_map(|s| s.line.iter().map(|(x, _)| *x));
        let x = Axis::over("round-trip time, log scale, up to p99.9", Scale::Log, values, |v| {
            words::tick(Unit::Nanoseconds, v)
        });
        let y = Axis::over("share of round trips", Scale::Linear, [0.0, 1.0].into_iter(), |v| {
            words::tick(Unit::Ratio, v)
        });
        let title =
            format!("Cumulative distribution of the {} round-trip time, {}", self.name, self.load);
        let caption = format!("{title}. Steeper and further left is better.");
        Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
    }

    fn series(&self, draw: impl Fn(&Histogram) -> (Vec<(f64, f64)>, Vec<Point>)) -> Vec<Series> {
        let sizes: BTreeSet<u32> = self.shown.iter().map(|one| one.size).collect();
        let cables = self.shown.iter().filter(|one| one.place.is_cable()).count();
        let one_series = |(at, one): (usize, &Distribution<'_>)| {
            let Distribution { size, place, round_trips } = *one;
            let (line, points) = draw(round_trips);
            let (name, colour) = match (self.by_device, place.is_cable()) {
                (true, true) if cables > 1 => (format!("direct cable, {}", place.ports()), at),
                (true, _) => (place.who.name(), at),
                (false, is_cable) => {
                    let cable = if is_cable { ", direct cable" } else { "" };
                    let colour = sizes.range(..size).count();
                    (format!("{size}{cable}"), colour)
                }
            };
            Series { name, colour: Some(colour), dashed: place.is_cable(), line, points }
        };
        self.shown.iter().enumerate().map(one_series).collect()
    }
}

/// A point of a distribution.
const fn read_off(x: f64, y: f64, text: String) -> Point {
    Point { x, y, whisker: None, text, row: None }
}
