//! The generator's calibration as tables and a list, and what follows for line rates. Never
//! computes.

use std::fmt::Write as _;

use super::screen::screen;
use crate::cli::{Cable, Calibration, LineRates, Most, Paced};
use page::Reply;
use page::numbers::{self, TimeUnit};
use render::text::Grid;

/// All of it.
pub fn render(of: &Calibration, line_rates: &LineRates) -> String {
    let mut out = format!("Generator on {}: {} -> {}\n\n", of.testbed, of.from, of.to);
    let filled = format!("Line rate, {}: received, frames/s", how(line_rates));
    let tables = [
        (filled.as_str(), filling(line_rates)),
        ("The highest rate, frames/s: median of floods", highest(of)),
        ("Pacing of 64-octet frames: gaps between departures, µs", pacing(&of.pacing)),
    ];
    for (title, table) in tables {
        if let Some(table) = table {
            let _ = writeln!(out, "{title}\n{table}\n");
        }
    }
    for note in notes(line_rates) {
        render::text::put_wrapped(&mut out, screen(), "", &note);
    }
    for missing in &of.unavailable {
        render::text::put_wrapped(
            &mut out,
            screen(),
            &format!("{:<9}", missing.backend),
            &missing.reason,
        );
    }
    out
}

/// One row of a table of machines, in Markdown.
pub fn markdown(of: &LineRates) -> String {
    let place = &of.place;
    let size = |size: &Most| {
        let replies: Vec<&str> = size.at.iter().map(|at| at.reply.word()).collect();
        format!(
            "{}: {}{} ({})",
            replies.join(", "),
            at_least(size),
            numbers::grouped(size.received),
            size.backend
        )
    };
    let meanwhile = of.taken.map_or_else(String::new, |taken| {
        format!(", others took up to {} % of the processors", numbers::plain(taken * 100.0))
    });
    let mut cells = vec![
        place.machine.clone(),
        place.kernel.clone(),
        env!("CARGO_PKG_VERSION").to_owned(),
        how(of) + &meanwhile,
    ];
    cells.extend(of.sizes.iter().map(size));
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Who sent to whom, over what.
fn how(of: &LineRates) -> String {
    let over = match of.place.cable {
        Cable::Virtual => "over a virtual cable".to_owned(),
        Cable::Of(rate) => format!("over a link of {rate}"),
        Cable::Unknown => "over a link of unknown rate".to_owned(),
    };
    let ends =
        if of.place.one_machine { "both ends on one machine" } else { "between two machines" };
    format!("{ends}, {over}")
}

const fn at_least(size: &Most) -> &'static str {
    if size.is_bound { "at least " } else { "" }
}

fn filling(of: &LineRates) -> Option<String> {
    let mut grid =
        Grid::new().numbers("size").words("backend").numbers("received").numbers("interval");
    for at in of.sizes.first().map(|size| size.at.as_slice()).unwrap_or_default() {
        grid = grid.words(&format!("at {}", at.speed));
    }
    for size in &of.sizes {
        let (low, high) = (size.interval.low, size.interval.high);
        let mut row = vec![
            size.frame_size.to_string(),
            size.backend.to_owned(),
            format!("{}{}", at_least(size), numbers::grouped(size.received)),
            format!("{}…{}", numbers::grouped(low), numbers::grouped(high)),
        ];
        row.extend(size.at.iter().map(|at| match at.reply {
            Reply::NotShown => at.reply.word().to_owned(),
            known => format!("{}, {} %", known.word(), numbers::plain(at.share * 100.0)),
        }));
        grid.row(row);
    }
    grid.render(screen().columns)
}

/// What limits the answers.
fn notes(of: &LineRates) -> Vec<String> {
    let mut notes = Vec::new();
    if of.place.one_machine {
        notes.push(
            "Sender and receiver share this machine's processors: as one end of two machines it \
             does at least as much.",
        );
    }
    if of.place.cable == Cable::Virtual {
        notes.push(
            "A virtual cable has neither card nor driver: yes is said of the processors alone, and \
             a card may carry less.",
        );
    }
    let mut notes: Vec<String> = notes.into_iter().map(str::to_owned).collect();
    for at in of.sizes.iter().flat_map(|size| &size.at) {
        let Some(why) = at.because.map(|why| format!("not shown: {why}")) else { continue };
        if !notes.contains(&why) {
            notes.push(why);
        }
    }
    if !notes.is_empty() {
        notes.push(String::new());
    }
    notes
}

fn highest(of: &Calibration) -> Option<String> {
    let mut grid = Grid::new()
        .words("backend")
        .numbers("size")
        .numbers("sent")
        .numbers("received")
        .numbers("lost %")
        .words("receiver");
    let mut last = "";
    for row in &of.highest {
        grid.row(vec![
            if row.backend == last { String::new() } else { row.backend.to_owned() },
            row.frame_size.to_string(),
            numbers::grouped(row.sent_frames_per_s),
            numbers::grouped(row.received_frames_per_s),
            numbers::plain(row.loss_ratio * 100.0),
            row.receiver.clone(),
        ]);
        last = row.backend;
    }
    grid.render(screen().columns)
}

fn pacing(rows: &[Paced]) -> Option<String> {
    let unit = TimeUnit::Microseconds;
    let mut grid = Grid::new()
        .words("backend")
        .numbers("asked/s")
        .numbers("sent/s")
        .numbers("within 20 µs %")
        .numbers("p50")
        .numbers("p99")
        .numbers("p99.9")
        .numbers("bursts %")
        .numbers("lost");
    let mut last = "";
    for row in rows {
        grid.row(vec![
            if row.backend == last { String::new() } else { row.backend.to_owned() },
            numbers::grouped(row.asked_frames_per_s),
            numbers::grouped(row.sent_frames_per_s),
            numbers::plain(row.within_20us_ratio * 100.0),
            unit.number(row.gap_p50_ns as f64),
            unit.number(row.gap_p99_ns as f64),
            unit.number(row.gap_p999_ns as f64),
            numbers::plain(row.burst_ratio * 100.0),
            numbers::grouped(row.lost as f64),
        ]);
        last = row.backend;
    }
    grid.render(screen().columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Highest, Place, Unavailable};

    #[test]
    fn tables_fit_a_hundred_columns_and_tell_what_is_missing() {
        let highest = |backend, frame_size| Highest {
            sent_frames_per_s: 14_880_952.4,
            loss_ratio: 0.000_7,
            ..Highest::from_rates(backend, "xdp".to_owned(), frame_size, &[14_870_000.0])
        };
        let of = Calibration {
            testbed: "lab:cable".to_owned(),
            from: "h1/eth1".to_owned(),
            to: "h2/eth1".to_owned(),
            highest: vec![highest("xdp-live", 64), highest("xdp-live", 1518), highest("udp", 64)],
            pacing: vec![Paced {
                backend: "xdp-live",
                asked_frames_per_s: 1e5,
                sent_frames_per_s: 99_999.6,
                within_20us_ratio: 0.995,
                gap_p50_ns: 10_000,
                gap_p99_ns: 10_900,
                gap_p999_ns: 1_234_567,
                burst_ratio: 0.01,
                lost: 0,
            }],
            unavailable: vec![Unavailable {
                backend: "af-xdp",
                reason: "the kernel has no AF_XDP sockets ".repeat(5).trim().to_owned(),
            }],
        };
        let place = Place {
            machine: "a processor, 2 processors".to_owned(),
            kernel: "6.18.0".to_owned(),
            cable: Cable::Virtual,
            one_machine: true,
        };
        let line_rates = LineRates::of(&of, place);
        let text = render(&of, &line_rates);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for words in ["14,880,952", "100,000", "99.5", "10.0", "1,235", "af-xdp   the kernel"] {
            assert!(text.contains(words), "{words} in:\n{text}");
        }
        assert_eq!(text.matches("xdp-live").count(), 3, "each table names it once:\n{text}");
        assert!(text.contains("both ends on one machine, over a virtual cable"), "{text}");
        let row = markdown(&line_rates);
        assert_eq!((row.lines().count(), row.matches('|').count()), (1, 7), "{row}");
        let end = "not shown, not shown, not shown: at least 14,870,000 (xdp-live) |\n";
        assert!(row.ends_with(end), "{row}");
    }
}
