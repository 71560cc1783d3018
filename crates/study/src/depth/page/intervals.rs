//! Picture of the estimators' intervals side by side, relative to the first one's value, as their
//! differences are small. Never joins them into one.

use page::{Axis, Figure, Image, Picture, Plot, Point, Scale, Series, Unit, words};

use super::super::finding::DepthFinding;
use super::super::outlets::Outlet;

/// Maximum number of estimates in one picture.
const MOST: usize = 12;

/// Estimate, with its output.
struct Shown<'a> {
    outlet: &'a Outlet,
    name: &'static str,
    value: &'a Figure,
}

/// Picture with one row per estimate; `None` with fewer than two.
pub(super) fn picture(found: &DepthFinding) -> Option<Picture> {
    let shown = found.outputs.iter().flat_map(|output| {
        let of_output = |(name, value)| Shown { outlet: &output.outlet, name, value };
        output.estimates().map(of_output)
    });
    let ended = shown.filter(|one| one.value.low.is_some() && one.value.high.is_some());
    let shown: Vec<Shown<'_>> = ended.take(MOST).collect();
    if shown.len() < 2 {
        return None;
    }
    let first = shown[0].value.value.filter(|value| *value > 0.0)?;
    let against = |value: f64| value / first - 1.0;
    let several = shown.iter().any(|one| one.outlet.to != shown[0].outlet.to);
    let name = |one: &Shown<'_>| {
        let outlet = one.outlet;
        let place = if several { outlet.to.to_string() } else { outlet.feeding_in_words() };
        format!("{}, {place}", one.name)
    };
    let names: Vec<String> = shown.iter().map(name).collect();
    let point = |(at, Shown { value, .. }): (usize, &Shown<'_>)| Point {
        x: at as f64,
        y: against(value.value.unwrap_or(0.0)),
        whisker: value.low.zip(value.high).map(|(low, high)| (against(low), against(high))),
        row: value.id(),
        text: format!("{}: {}", names[at], words::with_interval(value)),
    };
    let points: Vec<Point> = shown.iter().enumerate().map(point).collect();
    let ends = shown.iter().flat_map(|one| [one.value.low, one.value.high]);
    let ends = ends.flatten().map(against);
    let label = format!("against {}", words::value(Unit::Bytes, first));
    let y = Axis::over(&label, Scale::Linear, ends, |v| words::tick(Unit::Ratio, v));
    let x = Axis::names("", &names);
    let name = "estimate and its interval".to_owned();
    let series = Series { line: Vec::new(), ..Series::through(name, Some(0), false, points) };
    let title = "The estimators side by side".to_owned();
    let plot = Plot { title: title.clone(), x, y, series: vec![series] };
    let caption = format!("{title}, each with its interval over repeats.");
    Some(Picture { image: Image::Plot(plot), caption })
}
