//! Plots of a sweep: a metric over the first parameter, with one line per value of the second.
//! Draws what it is given.

use page::{Axis, Image, PALETTE, Picture, Plot, Point, Scale, Series, Unit};

use crate::sweep::SweptRun;
use crate::sweep::lines::Line;
use page::words;

/// Number of distinguishable lines; the table has all.
const MOST_LINES: usize = 2 * PALETTE;
/// Ratio of values beyond which the scale is logarithmic.
const WIDE: f64 = 8.0;

/// Plots one metric's lines; `None` if no point has a value.
pub(super) fn plot(lines: &[Line<'_>], points: &[&SweptRun]) -> Option<Picture> {
    let (of, unit) = (lines.first()?.of.replace('_', " "), lines.first()?.unit);
    let mut series: Vec<Series> = Vec::new();
    for line in lines {
        for (figure, point) in line.figures.iter().zip(points) {
            let (Some(figure), [first, rest @ ..]) = (figure, point.values()) else { continue };
            let Some(value) = figure.value.filter(|value| value.is_finite()) else { continue };
            let beside = rest.iter().map(|v| format!("{} {}", v.parameter, v.text));
            let words: Vec<String> =
                [line.name.clone()].into_iter().chain(beside).filter(|w| !w.is_empty()).collect();
            let name = if words.is_empty() { of.clone() } else { words.join(", ") };
            let known = series.iter().position(|s| s.name == name);
            let place = known.unwrap_or(series.len());
            if known.is_none() {
                let dashed = place >= PALETTE;
                let (line, points) = (Vec::new(), Vec::new());
                series.push(Series { name, colour: Some(place), dashed, line, points });
            }
            series[place].line.push((first.number, value));
            let told = words::with_interval(figure);
            series[place].points.push(Point {
                x: first.number,
                y: value,
                whisker: figure.low.zip(figure.high),
                row: None,
                text: format!("{} {}: {told}", first.parameter, first.text),
            });
        }
    }
    let left_out = series.len().saturating_sub(MOST_LINES);
    series.truncate(MOST_LINES);
    let first = points.first()?.values().first()?;
    let x: Vec<f64> = points.iter().filter_map(|p| Some(p.values().first()?.number)).collect();
    let drawn = series.iter().flat_map(|s| &s.points);
    let ends = |p: &Point| [Some(p.y), p.whisker.map(|w| w.0), p.whisker.map(|w| w.1)];
    let y: Vec<f64> = drawn.flat_map(ends).flatten().collect();
    if y.is_empty() {
        return None;
    }
    let caption = if left_out == 0 {
        format!("{of} over {}.", first.parameter)
    } else {
        format!("{of} over {}; {left_out} lines more are in the table.", first.parameter)
    };
    let plot = Plot {
        title: caption.clone(),
        x: Axis::over(&first.parameter, scale(&x), x.iter().copied(), |v| {
            unit_of(&first.condition).map_or_else(|| words::trimmed(v, 3), |u| words::tick(u, v))
        }),
        y: Axis::over(&of, scale(&y), y.iter().copied(), |v| words::tick(unit, v)),
        series,
    };
    Some(Picture { image: Image::Plot(plot), caption })
}

fn scale(values: &[f64]) -> Scale {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 && high / low > WIDE { Scale::Log } else { Scale::Linear }
}

/// Unit in the suffix of a condition's name; `None` without one.
fn unit_of(condition: &str) -> Option<Unit> {
    let ends = [
        ("_bytes", Unit::Bytes),
        ("_ns", Unit::Nanoseconds),
        ("_bits_per_s", Unit::BitsPerSecond),
        ("_frames_per_s", Unit::FramesPerSecond),
    ];
    ends.into_iter().find(|(end, _)| condition.ends_with(end)).map(|(_, unit)| unit)
}
