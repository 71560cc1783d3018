//! How many bytes wait before an output: the estimators, what the buffer is made of, and for how
//! long a path it is enough. Pure.

use std::collections::BTreeSet;

use page::{Figure, Metric, Unit};

use super::grid::Grid;
use super::{Footnotes, Titled, condition, test};
use crate::terminal::numbers;

/// One row an estimate.
pub fn estimators(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("estimator")
        .words("output")
        .words("fed")
        .numbers("frame")
        .numbers("buffer")
        .numbers("interval")
        .words("limited by");
    for figure in test(figures, "depth").into_iter().filter(|f| f.metric == Metric::Buffer) {
        let value = figure.value.map_or_else(|| "–".to_owned(), |v| numbers::value(figure.unit, v));
        let bound = if condition(figure, "bound").is_empty() { "" } else { "≥ " };
        let of = condition(figure, "of");
        grid.row(vec![
            condition(figure, "estimator"),
            if of.is_empty() { condition(figure, "to") } else { of },
            match condition(figure, "reason") {
                reason if reason.is_empty() => condition(figure, "feeding"),
                _ => String::new(),
            },
            condition(figure, "frame_size"),
            format!("{bound}{value}"),
            match (figure.low, figure.high) {
                (Some(_), None) if bound.is_empty() => {
                    between(figure, |end| numbers::value(figure.unit, end))
                }
                _ => numbers::interval(figure),
            },
            notes.limit(figure, &[figure]),
        ]);
    }
    Some(("What can wait before an output".to_owned(), grid.render()?))
}

/// `0.5…0.6`; of what is bounded on one side only `≥ 0.5`, `≤ 0.6`.
fn between(figure: &Figure, end: impl Fn(f64) -> String) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{}…{}", end(low), end(high)),
        (Some(low), None) => format!("≥ {}", end(low)),
        (None, Some(high)) => format!("≤ {}", end(high)),
        (None, None) => String::new(),
    }
}

/// Units, sharing, threshold.
pub fn made_of(figures: &[Figure]) -> Option<Titled> {
    let mut grid = Grid::new().words("what").words("found").words("interval");
    for figure in test(figures, "depth") {
        let plain = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), numbers::plain);
        let ends = match figure.metric {
            Metric::BufferReserve => between(figure, |end| numbers::value(figure.unit, end)),
            _ => between(figure, numbers::plain),
        };
        let (what, found) = match figure.metric {
            Metric::Cell => match condition(figure, "limit").as_str() {
                "cells" => ("counted in cells of octets", plain(figure.value)),
                limit => ("counted in", limit.to_owned()),
            },
            Metric::BufferShared => {
                let told = figure.value.map(|value| numbers::value(Unit::Flag, value));
                ("outputs share it", told.unwrap_or_else(|| "–".to_owned()))
            }
            Metric::Alpha => ("alpha of its threshold", plain(figure.value)),
            Metric::BufferReserve => {
                let told = figure.value.map(|value| numbers::value(figure.unit, value));
                ("reserve of each queue", told.unwrap_or_else(|| "–".to_owned()))
            }
            _ => continue,
        };
        grid.row(vec![what.to_owned(), found, ends]);
    }
    Some(("What the buffer is made of".to_owned(), grid.render()?))
}

/// Round trips down, flows across; of the first output.
pub fn enough(figures: &[Figure]) -> Option<Titled> {
    let all: Vec<&Figure> =
        test(figures, "depth").into_iter().filter(|f| f.metric == Metric::Enough).collect();
    let first = *all.first()?;
    let place = |f: &Figure| (condition(f, "to"), condition(f, "feeding"));
    let of_first = || all.iter().copied().filter(|f| place(f) == place(first));
    let number = |f: &Figure, key: &str| condition(f, key).parse::<u64>().unwrap_or(0);
    let trips: BTreeSet<u64> = of_first().map(|f| number(f, "rtt_ns")).collect();
    let flows: BTreeSet<u64> = of_first().map(|f| number(f, "flows")).collect();
    let mut grid = Grid::new().words("round trip");
    for flows in &flows {
        grid = grid.words(match flows {
            1 => "one flow",
            _ => "100 flows",
        });
    }
    for rtt in &trips {
        let mut row = vec![numbers::value(Unit::Nanoseconds, *rtt as f64)];
        for flows in &flows {
            let here = |f: &&Figure| number(f, "rtt_ns") == *rtt && number(f, "flows") == *flows;
            let told = of_first().find(here).map_or("", |f| match f.value {
                Some(1.0) => "enough",
                Some(_) => "not enough",
                None => "can't be told",
            });
            row.push(told.to_owned());
        }
        grid.row(row);
    }
    let rate: f64 = condition(first, "rate_bits_per_second").parse().unwrap_or(0.0);
    let title = format!("Enough for paths of {}", numbers::value(Unit::BitsPerSecond, rate));
    Some((title, grid.render()?))
}
