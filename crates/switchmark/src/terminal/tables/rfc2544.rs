//! The tests whose load follows from the throughput: latency, bursts, recovery, reset, and how even
//! the load was. Pure.
//!
//! Times of one table have one unit, in its title. The device's row stands over its direct cable's.

use page::{Figure, Metric};

use super::grid::Grid;
use super::labels::{FRAMES, WAY};
use super::times::{ends, value as time};
use super::{Footnotes, Titled, condition, grouped, test, unless_repeated};
use crate::terminal::numbers::{self, TimeUnit};

/// One-way delay: typical and worst case, and variation (RFC 8219 §7.2).
pub fn latency(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = test(figures, "latency");
    let unit = unit(&of);
    let mut grid = Grid::new()
        .numbers("size")
        .words("path")
        .numbers("load %")
        .spare("frames/s", 2)
        .numbers("TL")
        .numbers("p1…p99")
        .numbers("WCL")
        .spare("p1…p99", 1)
        .numbers("PDV")
        .numbers("repeats")
        .words("limited by");
    for group in grouped(&of, &[FRAMES]) {
        for (at, row) in grouped(&group, &["load_percent", WAY]).iter().enumerate() {
            let typical = point(row, Metric::OneWayDelay, 0.5);
            let worst = point(row, Metric::OneWayDelay, 0.999);
            let variation = point(row, Metric::Pdv, 0.999);
            let leading = typical.or(variation).unwrap_or(row[0]);
            let mut cells = unless_repeated(at, vec![condition(leading, FRAMES)]);
            cells.extend([condition(leading, WAY), condition(leading, "load_percent")]);
            cells.push(rate(leading, "load_frames_per_s"));
            for figure in [typical, worst] {
                cells.extend([time(figure, unit), ends(figure, unit)]);
            }
            cells.push(time(variation, unit));
            cells.push(numbers::grouped(f64::from(leading.blocks)));
            cells.push(notes.limit(leading, row));
            // Where nothing was found, the place of the value says so.
            if typical.is_none() && variation.is_none() {
                "–".clone_into(&mut cells[4]);
            }
            grid.row(cells);
        }
    }
    let name = unit.name();
    let title = format!(
        "One-way delay at the throughput, {name}: typical (TL), worst case (WCL), variation (PDV)"
    );
    Some((title, grid.render()?))
}

/// The longest bursts without loss, and the buffer that they tell of (RFC 9004).
pub fn back_to_back(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = test(figures, "back-to-back");
    let unit = unit(&of);
    let mut grid = Grid::new()
        .numbers("size")
        .words("path")
        .numbers("frames")
        .numbers("min…max")
        .spare("s.d.", 1)
        .numbers("N")
        .spare("implied", 2)
        .numbers("corrected")
        .words("limited by");
    for group in grouped(&of, &[FRAMES]) {
        for (at, row) in grouped(&group, &[WAY]).iter().enumerate() {
            let burst = row.iter().find(|f| f.metric == Metric::BackToBack).copied();
            let leading = burst.unwrap_or(row[0]);
            let mut cells = unless_repeated(at, vec![condition(leading, FRAMES)]);
            cells.extend([condition(leading, WAY), whole(leading.value), range(leading)]);
            let deviation = condition(leading, "standard_deviation").parse().ok();
            cells.push(deviation.map_or_else(String::new, numbers::plain));
            cells.push(leading.value.map_or_else(String::new, |_| leading.blocks.to_string()));
            for estimate in ["implied", "corrected"] {
                cells.push(time(estimated(row, Metric::BufferTime, estimate), unit));
            }
            cells.push(notes.limit(leading, row));
            grid.row(cells);
        }
    }
    let name = unit.name();
    let title =
        format!("Back-to-back frames without loss, and the buffer's time in {name} (RFC 9004)");
    Some((title, grid.render()?))
}

/// How long a device went on losing after an overload.
pub fn recovery(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = test(figures, "recovery");
    let unit = unit(&of);
    let mut grid = Grid::new()
        .numbers("size")
        .words("path")
        .numbers("overload/s")
        .spare("% of throughput", 1)
        .numbers("then/s")
        .numbers("recovery")
        .numbers("interval")
        .spare("n", 2)
        .words("limited by");
    for group in grouped(&of, &[FRAMES]) {
        for (at, row) in grouped(&group, &[WAY]).iter().enumerate() {
            let leading = row[0];
            let mut cells = unless_repeated(at, vec![condition(leading, FRAMES)]);
            cells.extend([condition(leading, WAY), rate(leading, "overload_frames_per_s")]);
            cells.extend([rate(leading, "overload_percent"), rate(leading, "load_frames_per_s")]);
            cells.extend([time(Some(leading), unit), ends(Some(leading), unit)]);
            cells.extend([numbers::grouped(leading.n as f64), notes.limit(leading, row)]);
            grid.row(cells);
        }
    }
    let name = unit.name();
    let title = format!("System recovery, {name}: from the overload's end to the last loss");
    Some((title, grid.render()?))
}

/// How long a reset interrupted forwarding.
pub fn reset(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = test(figures, "reset");
    let unit = unit(&of);
    let mut grid = Grid::new()
        .numbers("size")
        .words("path")
        .numbers("load/s")
        .numbers("by loss")
        .numbers("interval")
        .numbers("by gap")
        .spare("interval", 1)
        .spare("n", 2)
        .words("limited by");
    for group in grouped(&of, &[FRAMES]) {
        for (at, row) in grouped(&group, &[WAY]).iter().enumerate() {
            let (loss, gap) = (
                estimated(row, Metric::ResetTime, "loss"),
                estimated(row, Metric::ResetTime, "gap"),
            );
            let leading = loss.unwrap_or(row[0]);
            let mut cells = unless_repeated(at, vec![condition(leading, FRAMES)]);
            cells.extend([condition(leading, WAY), rate(leading, "load_frames_per_s")]);
            cells.extend([time(Some(leading), unit), ends(Some(leading), unit)]);
            cells.extend([time(gap, unit), ends(gap, unit)]);
            cells.extend([numbers::grouped(leading.n as f64), notes.limit(leading, row)]);
            grid.row(cells);
        }
    }
    let name = unit.name();
    let title = format!("Reset, {name}: how long frames were not forwarded (RFC 6201)");
    Some((title, grid.render()?))
}

/// How even the load was at which the throughput was found.
pub fn pacing(figures: &[Figure]) -> Option<Titled> {
    const QUANTILES: [f64; 4] = [0.01, 0.5, 0.99, 0.999];
    let paced = |f: &&Figure| {
        matches!(f.metric, Metric::DepartureGap | Metric::ArrivalGap | Metric::BurstFraction)
    };
    let of: Vec<&Figure> = figures.iter().filter(paced).collect();
    let unit = unit(&of);
    let mut grid = Grid::new()
        .numbers("size")
        .words("path")
        .numbers("nominal")
        .spare("sent p1", 1)
        .numbers("p50")
        .numbers("p99")
        .numbers("p99.9")
        .numbers("bursts %")
        .spare("came p1", 3)
        .spare("p50", 2)
        .numbers("p99")
        .numbers("p99.9");
    for group in grouped(&of, &[FRAMES]) {
        for (at, row) in grouped(&group, &[WAY]).iter().enumerate() {
            let mut cells = unless_repeated(at, vec![condition(row[0], FRAMES)]);
            let nominal = condition(row[0], "nominal_gap_ns").parse().ok();
            cells.push(condition(row[0], WAY));
            cells.push(nominal.map_or_else(String::new, |ns| unit.number(ns)));
            let gaps = |metric| QUANTILES.map(|q| time(point(row, metric, q), unit));
            cells.extend(gaps(Metric::DepartureGap));
            let bursts = row.iter().find(|f| f.metric == Metric::BurstFraction);
            let bursts = bursts.and_then(|f| f.value).map(|share| numbers::plain(share * 100.0));
            cells.push(bursts.unwrap_or_default());
            cells.extend(gaps(Metric::ArrivalGap));
            grid.row(cells);
        }
    }
    let name = unit.name();
    Some((format!("Gaps of the load at the throughput, {name}: sent, and come"), grid.render()?))
}

fn unit(figures: &[&Figure]) -> TimeUnit {
    let times = figures.iter().filter(|f| f.unit == page::Unit::Nanoseconds);
    TimeUnit::fit(times.filter_map(|f| f.value))
}

fn point<'a>(row: &[&'a Figure], metric: Metric, q: f64) -> Option<&'a Figure> {
    let at =
        |f: &&&Figure| f.metric == metric && f.quantile.is_some_and(|own| (own - q).abs() < 1e-9);
    row.iter().find(at).copied()
}

fn estimated<'a>(row: &[&'a Figure], metric: Metric, estimate: &str) -> Option<&'a Figure> {
    row.iter().find(|f| f.metric == metric && condition(f, "estimate") == estimate).copied()
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), numbers::grouped)
}

fn range(figure: &Figure) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => {
            format!("{}…{}", numbers::grouped(low), numbers::grouped(high))
        }
        _ => String::new(),
    }
}

fn rate(figure: &Figure, key: &str) -> String {
    condition(figure, key).parse().map_or_else(|_| String::new(), numbers::grouped)
}
