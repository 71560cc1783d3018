//! Frame rates: under flood, without loss, the loss by load, and the bit rates they come to. Pure.
//!
//! Frames a second in whole numbers, bit rates in Mbit/s. The device's row stands over its direct
//! cable's.

use measure::RateConvention;
use page::Condition;
use page::{Figure, Metric, Unit};

use super::grid::Grid;
use super::labels::{FRAMES, SUBJECT, WAY};
use super::{Footnotes, Titled, condition, grouped, path, test, unless_repeated};
use crate::terminal::numbers;

/// What was offered, and what became of it.
pub fn flood(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = test(figures, "flood");
    let mut grid = Grid::new()
        .numbers("size")
        .words("path")
        .spare("offered", 2)
        .numbers("sent")
        .numbers("received")
        .spare("interval", 1)
        .numbers("lost")
        .numbers("dup.")
        .numbers("reord.")
        .words("limited by");
    for group in grouped(&of, &[FRAMES]) {
        for (at, row) in grouped(&group, &[WAY]).iter().enumerate() {
            let received = frames(row, Metric::Received);
            let leading = received.unwrap_or(row[0]);
            let mut cells = unless_repeated(at, vec![condition(leading, FRAMES)]);
            cells.push(path(leading));
            cells.extend([Metric::Offered, Metric::Sent].map(|m| rate(frames(row, m))));
            cells.extend([rate(received), ends(received)]);
            let lost = [Metric::Lost, Metric::Duplicated, Metric::Reordered];
            cells.extend(lost.map(|m| rate(frames(row, m))));
            cells.push(notes.limit(leading, row));
            grid.row(cells);
        }
    }
    Some(("Flood, frames/s: all that the tester can send".to_owned(), grid.render()?))
}

/// What a search found, with its bracket.
pub fn throughput(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = test(figures, "throughput");
    let mut grid = Grid::new()
        .numbers("size")
        .words("path")
        .words("goal")
        .numbers("frames/s")
        .numbers("bracket")
        .spare("line rate", 1)
        .spare("of it %", 2)
        .spare("passed", 3)
        .spare("trials", 4)
        .words("limited by");
    for group in grouped(&of, &[FRAMES]) {
        for (at, row) in grouped(&group, &[WAY, "goal"]).iter().enumerate() {
            let found = frames(row, Metric::Throughput);
            let leading = found.unwrap_or(row[0]);
            let mut cells = unless_repeated(at, vec![condition(leading, FRAMES)]);
            cells.extend([path(leading), condition(leading, "goal"), rate(found), ends(found)]);
            cells.extend(theory(leading));
            cells.push(number(leading, "conditional_throughput_frames_per_s"));
            cells.extend([numbers::grouped(leading.n as f64), notes.limit(leading, row)]);
            grid.row(cells);
        }
    }
    Some((
        "Throughput, frames/s: the highest rate at which the goal held".to_owned(),
        grid.render()?,
    ))
}

/// A row for each size and load, both paths side by side.
pub fn loss_curve(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of = test(figures, "loss-curve");
    let mut grid = Grid::new()
        .numbers("size")
        .words("device")
        .numbers("load %")
        .numbers("frames/s")
        .numbers("lost %")
        .numbers("cable frames/s")
        .numbers("lost %")
        .words("limited by");
    for group in grouped(&of, &[FRAMES]) {
        let key = [SUBJECT, "direction", "load_percent"];
        for (at, row) in grouped(&group, &key).iter().enumerate() {
            let on = |name: &str| row.iter().find(|f| condition(f, "path") == name).copied();
            let leading = on("device").unwrap_or(row[0]);
            let mut cells = unless_repeated(at, vec![condition(leading, FRAMES)]);
            let words = [condition(leading, SUBJECT), condition(leading, "direction")];
            cells.push(words.join(" ").trim().to_owned());
            cells.push(condition(leading, "load_percent"));
            for figure in [on("device"), on("bypass")] {
                cells.extend([offered(figure), share(figure)]);
            }
            cells.push(notes.limit(leading, row));
            grid.row(cells);
        }
    }
    let title = "Loss by load, in percent of the highest rate (RFC 2544 section 26.3)".to_owned();
    Some((title, grid.render()?))
}

/// A frame rate is four bit rates.
pub fn bit_rates(figures: &[Figure]) -> Option<Titled> {
    let shown = |f: &&Figure| {
        f.unit == Unit::BitsPerSecond && matches!(f.metric, Metric::Received | Metric::Throughput)
    };
    let of: Vec<&Figure> = figures.iter().filter(shown).collect();
    let mut grid = Grid::new().words("what").numbers("size").words("path");
    for convention in RateConvention::ALL {
        grid = grid.numbers(convention.as_str());
    }
    for row in grouped(&of, &["test", FRAMES, WAY, "goal"]) {
        let mut cells = vec![condition(row[0], "test"), condition(row[0], FRAMES)];
        cells.push(path(row[0]));
        cells.extend(RateConvention::ALL.map(|convention| {
            let figure =
                row.iter().find(|f| condition(f, "rate_convention") == convention.as_str());
            let value = figure.and_then(|f| f.value);
            value.map_or_else(|| "–".to_owned(), |bits| numbers::plain(bits / 1e6))
        }));
        grid.row(cells);
    }
    let title = "The same in Mbit/s: on the wire, of frames with FCS, of packets, of UDP payload";
    Some((title.to_owned(), grid.render()?))
}

fn frames<'a>(row: &[&'a Figure], metric: Metric) -> Option<&'a Figure> {
    row.iter().find(|f| f.metric == metric && f.unit == Unit::FramesPerSecond).copied()
}

fn rate(figure: Option<&Figure>) -> String {
    match figure.map(|f| f.value) {
        None => String::new(),
        Some(None) => "–".to_owned(),
        Some(Some(value)) => numbers::grouped(value),
    }
}

fn ends(figure: Option<&Figure>) -> String {
    match figure.map(|f| (f.low, f.high)) {
        Some((Some(low), Some(high))) => {
            format!("{}…{}", numbers::grouped(low), numbers::grouped(high))
        }
        Some((None, Some(high))) => format!("< {}", numbers::grouped(high)),
        _ => String::new(),
    }
}

/// RFC 2544 §26.1: the theoretical rate beside the one found.
fn theory(figure: &Figure) -> [String; 2] {
    let Ok(line) = condition(figure, "line_rate_frames_per_s").parse::<f64>() else {
        return [String::new(), String::new()];
    };
    let share = figure.value.map_or_else(String::new, |rate| numbers::plain(rate / line * 100.0));
    [numbers::grouped(line.floor()), share]
}

fn number(figure: &Figure, key: &str) -> String {
    condition(figure, key).parse().map_or_else(|_| String::new(), numbers::grouped)
}

fn offered(figure: Option<&Figure>) -> String {
    match figure.and_then(|f| f.conditions.get("offered_frames_per_s")) {
        Some(Condition::Number(rate)) => numbers::grouped(*rate),
        Some(Condition::Integer(rate)) => numbers::grouped(*rate as f64),
        _ => String::new(),
    }
}

fn share(figure: Option<&Figure>) -> String {
    figure.map_or_else(String::new, |f| {
        f.value.map_or_else(|| "–".to_owned(), |share| numbers::plain(share * 100.0))
    })
}
