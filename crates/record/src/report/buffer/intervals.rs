//! The estimators' intervals side by side, as a picture: against the first one's value, since what
//! they differ by is small beside it. Never joins them into one.

use page::{Axis, Figure, Image, Key, Picture, Plot, Point, Scale, Series, Unit};

use super::super::reading;
use page::words;

/// No more estimates than fit one picture.
const MOST: usize = 12;

/// One place for each estimate; `None` with fewer than two.
pub(super) fn picture(figures: &[&Figure]) -> Option<Picture> {
    let text = |figure: &Figure, key: Key| reading::text(figure, key).unwrap_or_default();
    // What all outputs share is another quantity.
    let own = |f: &&&Figure| {
        f.value.is_some() && f.low.is_some() && f.high.is_some() && text(f, Key::Of).is_empty()
    };
    let told: Vec<&&Figure> = figures.iter().filter(own).take(MOST).collect();
    if told.len() < 2 {
        return None;
    }
    let first = told[0].value.filter(|value| *value > 0.0)?;
    let against = |value: f64| value / first - 1.0;
    let several = told.iter().any(|f| text(f, Key::To) != text(told[0], Key::To));
    let name = |figure: &&&Figure| {
        let place = text(figure, if several { Key::To } else { Key::Feeding });
        format!("{}, {place}", text(figure, Key::Estimator))
    };
    let names: Vec<String> = told.iter().map(name).collect();
    let points = told.iter().enumerate().map(|(at, figure)| Point {
        x: at as f64,
        y: against(figure.value.unwrap_or(0.0)),
        whisker: figure.low.zip(figure.high).map(|(low, high)| (against(low), against(high))),
        row: figure.id(),
        text: format!("{}: {}", names[at], words::with_interval(figure)),
    });
    let points: Vec<Point> = points.collect();
    let ends = told.iter().flat_map(|f| [f.low, f.high]).flatten().map(against);
    let label = format!("against {}", words::value(Unit::Bytes, first));
    let y = Axis::over(&label, Scale::Linear, ends, |v| words::tick(Unit::Ratio, v));
    let x = Axis::names("", &names);
    let series = Series {
        name: "estimate and its interval".to_owned(),
        colour: Some(0),
        dashed: false,
        line: Vec::new(),
        points,
    };
    let title = "The estimators side by side".to_owned();
    let plot = Plot { title: title.clone(), x, y, series: vec![series] };
    let caption = format!("{title}, each with its interval over repeats.");
    Some(Picture { image: Image::Plot(plot), caption })
}
