//! Plots of RTTs: by percentile and as a cumulative distribution, for each protocol and load.
//!
//! Distributions are over all valid trials together; intervals come from the values, never from
//! here.

use std::collections::BTreeSet;

use measure::{FrameSize, Histogram};
use page::{Axis, Block, Image, Picture, Plot, Point, Scale, Series, Unit, words};

use super::Trips;
use crate::latency::finding::{LatencyCase, LatencyFinding, PathTrips};
use crate::view::{Place, Who};

/// Points of a percentile plot that can be hovered over.
const MARKED: [f64; 9] = [0.0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];

/// Shares of a cumulative distribution that can be hovered over.
const SHARES: [f64; 6] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99];

/// Distributions over the same axes.
struct Drawing<'a> {
    /// `UDP`, `64-octet UDP`
    name: String,
    /// `under load of 2 streams (cubic)`
    load: String,
    /// True for one colour per device; otherwise one per size.
    by_device: bool,
    curves: Vec<Curve<'a>>,
}

/// RTTs of one size on one path.
struct Curve<'a> {
    name: String,
    colour: usize,
    is_cable: bool,
    round_trips: &'a Histogram,
}

/// Two plots for each protocol and load, under a heading.
pub(super) fn blocks(found: &LatencyFinding) -> Vec<Block> {
    let mut cases: Vec<&LatencyCase> = found.cases.iter().collect();
    cases.sort_by_key(|case| (case.protocol, case.load.caption()));
    cases.into_iter().flat_map(of_case).collect()
}

/// One drawing of all sizes; with several devices, one for each size.
fn of_case(case: &LatencyCase) -> Vec<Block> {
    let mut trips: Vec<Trips<'_>> =
        Trips::of_case(case).filter(|trips| trips.path.round_trips.is_some()).collect();
    if trips.is_empty() {
        return Vec::new();
    }
    trips.sort_by_key(|trips| (trips.size.size, &trips.path.place));
    let (name, load) = (case.protocol.as_str().to_uppercase(), case.load.caption());
    let heading = format!("{name} RTT, {load}");
    let devices = trips.iter().map(|trips| &trips.path.place.who).filter(|who| !who.is_cable());
    let by_device = devices.collect::<BTreeSet<&Who>>().len() > 1;
    let drawing = |name: String, trips: &[Trips<'_>]| {
        let curves = if by_device { by_place(trips) } else { by_size(trips) };
        Drawing { name, load: load.clone(), by_device, curves }.pictures()
    };
    let pictures = if by_device {
        let sizes = trips.chunk_by(|one, next| one.size.size == next.size.size);
        sizes.flat_map(|own| drawing(format!("{}-octet {name}", own[0].size.size), own)).collect()
    } else {
        drawing(name, &trips).into()
    };
    vec![Block::Subheading(heading), Block::Pictures(pictures)]
}

fn by_place<'a>(trips: &[Trips<'a>]) -> Vec<Curve<'a>> {
    let cables = trips.iter().filter(|trips| trips.path.place.is_cable()).count();
    let name = |place: &Place| match place.who.name() {
        cable if place.is_cable() && cables > 1 => format!("{cable}, {}", place.ports()),
        name => name,
    };
    let trips = trips.iter().enumerate();
    trips.filter_map(|(at, trips)| Curve::new(name(&trips.path.place), at, trips.path)).collect()
}

fn by_size<'a>(trips: &[Trips<'a>]) -> Vec<Curve<'a>> {
    let sizes: BTreeSet<FrameSize> = trips.iter().map(|trips| trips.size.size).collect();
    let curve = |Trips { size, path, .. }: &Trips<'a>| {
        let cable = if path.place.is_cable() { ", direct cable" } else { "" };
        let colour = sizes.range(..size.size).count();
        Curve::new(format!("{}{cable}", size.size), colour, path)
    };
    trips.iter().filter_map(curve).collect()
}

impl<'a> Curve<'a> {
    fn new(name: String, colour: usize, path: &'a PathTrips) -> Option<Self> {
        let round_trips = path.round_trips.as_ref()?;
        Some(Self { name, colour, is_cable: path.place.is_cable(), round_trips })
    }
}

impl Drawing<'_> {
    fn pictures(&self) -> [Picture; 2] {
        [self.percentiles(), self.cumulative()]
    }

    /// RTT by percentile; on the axis, each further nine has the same width.
    fn percentiles(&self) -> Picture {
        let last = |h: &Histogram| (1.0 - 1.0 / h.count().max(1) as f64).clamp(0.0, 0.999_999);
        let highest = self.curves.iter().map(|curve| last(curve.round_trips)).fold(0.9, f64::max);
        let series = self.series(|h| {
            let at = |q: f64| (q, h.quantile(q).0 as f64);
            // Points are evenly spaced on the axis, which is logarithmic in 1 - q.
            let end = -(1.0 - last(h)).log10();
            let line = (0..=120).map(|i| at(1.0 - 10f64.powf(-end * f64::from(i) / 120.0)));
            let points = MARKED.into_iter().filter(|q| *q <= last(h)).map(|q| {
                let (x, y) = at(q);
                Point::plain(x, y, format!("{} {}", words::quantile(q), words::time(y)))
            });
            (line.collect(), points.collect())
        });
        let label = "round-trip time, log scale";
        let y = Axis::upwards(label, Scale::Log, Unit::Nanoseconds, &series);
        let x = Axis::percentiles("percentile (each further nine as wide as the last)", highest);
        let title = format!("{} round-trip time by percentile, {}", self.name, self.load);
        let coloured = if self.by_device {
            "One colour for each device"
        } else {
            "One colour for each frame size in octets"
        };
        let n: u64 = self.curves.iter().map(|curve| curve.round_trips.count()).sum();
        let caption = format!(
            "{title}. {coloured}; solid through the device, dashed over the direct cable. All \
             valid trials together, {} round trips.",
            words::count(n)
        );
        Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
    }

    /// Share of round trips up to a given RTT.
    fn cumulative(&self) -> Picture {
        let series = self.series(|h| {
            let at = |q: f64| (h.quantile(q).0 as f64, q);
            let line = (0..=199).map(|i| at(f64::from(i) / 200.0)).chain([at(0.999)]);
            let points = SHARES.map(|q| {
                let (x, y) = at(q);
                let (share, time) = (words::percent(q), words::time(x));
                Point::plain(x, y, format!("{share} of round trips take at most {time}"))
            });
            (line.collect(), points.into())
        });
        let label = "round-trip time, log scale, up to p99.9";
        let x = Axis::along(label, Scale::Log, Unit::Nanoseconds, &series);
        let y = Axis::shares("share of round trips");
        let title =
            format!("Cumulative distribution of the {} round-trip time, {}", self.name, self.load);
        let caption = format!("{title}. Steeper and further left is better.");
        Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
    }

    fn series(&self, draw: impl Fn(&Histogram) -> (Vec<(f64, f64)>, Vec<Point>)) -> Vec<Series> {
        let one_series = |curve: &Curve<'_>| {
            let (line, points) = draw(curve.round_trips);
            let (name, colour) = (curve.name.clone(), Some(curve.colour));
            Series { name, colour, dashed: curve.is_cable, line, points }
        };
        self.curves.iter().map(one_series).collect()
    }
}
