//! Times: what the device adds, the round trips it is found from, and their variation. Pure.
//!
//! One unit for a whole table, in its title. The device's row stands over its direct cable's.

use page::{Figure, Metric};

use super::grid::Grid;
use super::labels::{SUBJECT, WAY};
use super::{Footnotes, Titled, condition, grouped, load, path, unless_repeated};
use crate::terminal::numbers::{self, TimeUnit};

/// What makes a case; its paths are rows of one group.
const CASE: [&str; 3] = ["protocol", "frame_size", "load"];

/// The headline: the device's path less the direct cable.
pub fn added(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = all(figures, &[Metric::RttAdded]);
    let unit = unit(&of);
    let mut grid = Grid::new()
        .words("proto")
        .numbers("size")
        .words("load")
        .words("device")
        .numbers("p50")
        .numbers("interval")
        .numbers("p99")
        .spare("interval", 1)
        .spare("n", 2)
        .words("limited by");
    let [protocol, size, load] = CASE;
    for row in grouped(&of, &[protocol, size, load, SUBJECT]) {
        let (p50, p99) = (point(&row, 0.5), point(&row, 0.99));
        let leading = p50.unwrap_or(row[0]);
        let mut cells = case(leading);
        cells.push(condition(leading, SUBJECT));
        for figure in [p50, p99] {
            cells.extend([value(figure, unit), ends(figure, unit)]);
        }
        cells.extend([numbers::short(leading.n as f64), notes.limit(leading, &row)]);
        grid.row(cells);
    }
    let name = unit.name();
    let title = format!("Added by the device to the round trip, {name}: through it less the cable");
    Some((title, grid.render()?))
}

/// Round trips on both paths.
pub fn rtt(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    const QUANTILES: [f64; 4] = [0.9, 0.99, 0.999, 1.0];
    let of = all(figures, &[Metric::Rtt]);
    let unit = unit(&of);
    let mut grid = Grid::new()
        .words("proto")
        .numbers("size")
        .words("load")
        .words("path")
        .numbers("p50")
        .numbers("interval")
        .spare("p90", 2)
        .numbers("p99")
        .numbers("p99.9")
        .spare("max", 1)
        .spare("n", 3)
        .words("limited by");
    for group in grouped(&of, &CASE) {
        for (at, row) in grouped(&group, &[WAY]).iter().enumerate() {
            let median = point(row, 0.5);
            let leading = median.unwrap_or(row[0]);
            let mut cells = unless_repeated(at, case(leading));
            cells.extend([path(leading), value(median, unit), ends(median, unit)]);
            cells.extend(QUANTILES.map(|q| value(point(row, q), unit)));
            cells.extend([numbers::short(leading.n as f64), notes.limit(leading, row)]);
            grid.row(cells);
        }
    }
    Some((format!("Round-trip time, {}", unit.name()), grid.render()?))
}

/// Both kinds of variation side by side.
pub fn variation(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = all(figures, &[Metric::Pdv, Metric::Ipdv]);
    let unit = unit(&of);
    let mut grid = Grid::new()
        .words("proto")
        .numbers("size")
        .words("load")
        .words("path")
        .numbers("PDV p99")
        .spare("interval", 1)
        .numbers("IPDV p1")
        .numbers("IPDV p99")
        .words("limited by");
    for group in grouped(&of, &CASE) {
        for (at, row) in grouped(&group, &[WAY]).iter().enumerate() {
            let of = |metric| -> Vec<&Figure> {
                row.iter().filter(|f| f.metric == metric).copied().collect()
            };
            let (above, between) = (of(Metric::Pdv), of(Metric::Ipdv));
            let pdv = point(&above, 0.99);
            let (fast, slow) = (point(&between, 0.01), point(&between, 0.99));
            let shown: Vec<&Figure> = [pdv, fast, slow].into_iter().flatten().collect();
            let Some(leading) = shown.first().copied() else { continue };
            let mut cells = unless_repeated(at, case(leading));
            cells.extend([path(leading), value(pdv, unit), ends(pdv, unit)]);
            cells.extend([value(fast, unit), value(slow, unit), notes.limit(leading, &shown)]);
            grid.row(cells);
        }
    }
    let name = unit.name();
    let title = format!("Variation, {name}: above the minimum (PDV), from packet to packet (IPDV)");
    Some((title, grid.render()?))
}

fn all<'a>(figures: &'a [Figure], metrics: &[Metric]) -> Vec<&'a Figure> {
    figures.iter().filter(|f| f.quantile.is_some() && metrics.contains(&f.metric)).collect()
}

/// Fit for the middle of what the table shows.
fn unit(figures: &[&Figure]) -> TimeUnit {
    TimeUnit::fit(figures.iter().filter_map(|f| f.value))
}

fn case(figure: &Figure) -> Vec<String> {
    vec![condition(figure, "protocol"), condition(figure, "frame_size"), load(figure)]
}

fn point<'a>(row: &[&'a Figure], q: f64) -> Option<&'a Figure> {
    row.iter().find(|f| f.quantile.is_some_and(|own| (own - q).abs() < 1e-9)).copied()
}

/// The figure in the unit, a dash where it has no value; nothing where there is no figure.
pub(super) fn value(figure: Option<&Figure>, unit: TimeUnit) -> String {
    figure
        .map_or_else(String::new, |f| f.value.map_or_else(|| "–".to_owned(), |ns| unit.number(ns)))
}

/// The interval's two ends in the unit, where there is one.
pub(super) fn ends(figure: Option<&Figure>, unit: TimeUnit) -> String {
    match figure.map(|f| (f.low, f.high)) {
        Some((Some(low), Some(high))) => format!("{}…{}", unit.number(low), unit.number(high)),
        _ => String::new(),
    }
}
