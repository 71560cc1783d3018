//! The generator's calibration as two tables and a list. Never computes.

use std::fmt::Write as _;

use super::screen::screen;
use crate::cli::{Calibration, Paced};
use record::text::Grid;
use record::text::numbers::{self, TimeUnit};

/// All of it.
pub fn render(of: &Calibration) -> String {
    let mut out = format!("Generator on {}: {} -> {}\n\n", of.testbed, of.from, of.to);
    let tables = [
        ("The highest rate, frames/s: median of floods", highest(of)),
        ("Pacing of 64-octet frames: gaps between departures, µs", pacing(&of.pacing)),
    ];
    for (title, table) in tables {
        if let Some(table) = table {
            let _ = writeln!(out, "{title}\n{table}\n");
        }
    }
    for missing in &of.unavailable {
        record::text::put_wrapped(
            &mut out,
            screen(),
            &format!("{:<9}", missing.backend),
            &missing.reason,
        );
    }
    out
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
    use crate::cli::{Highest, Unavailable};

    #[test]
    fn tables_fit_a_hundred_columns_and_tell_what_is_missing() {
        let highest = |backend, frame_size| Highest {
            backend,
            receiver: "xdp".to_owned(),
            frame_size,
            sent_frames_per_s: 14_880_952.4,
            received_frames_per_s: 14_870_000.0,
            loss_ratio: 0.000_7,
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
        let text = render(&of);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for words in ["14,880,952", "100,000", "99.5", "10.0", "1,235", "af-xdp   the kernel"] {
            assert!(text.contains(words), "{words} in:\n{text}");
        }
        assert_eq!(text.matches("xdp-live").count(), 2, "each table names it once:\n{text}");
    }
}
