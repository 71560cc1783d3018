//! What emulated devices can do here, as a sentence and a table. Never computes.

use std::fmt::Write as _;

use super::screen::screen;
use crate::cli::{Kept, Limits};
use page::numbers::{self, TimeUnit};
use render::text::Grid;

/// All of it.
pub fn render(of: &Limits) -> String {
    let mut out = sentence(of);
    if let Some(table) = kept(&of.kept) {
        let _ = write!(out, "\n\nUnder a paced load of 64-octet frames, µs\n{table}");
    }
    out.push('\n');
    out
}

/// For people who only want to use one.
pub fn sentence(of: &Limits) -> String {
    let unit = TimeUnit::Microseconds;
    let most = numbers::grouped(of.most_frames_per_s);
    // What a round trip gains where the profile adds nothing is how well the two can be told apart.
    let added = |ns: f64| {
        if ns > 0.0 {
            format!("{} µs", unit.number(ns))
        } else {
            "nothing that can be told".to_owned()
        }
    };
    let mut out = format!(
        "Emulated devices here carry up to {most} frames/s of 64 octets, and add {}\n(99th \
         percentile: {}) to a round trip where the profile adds nothing.",
        added(of.added_p50_ns),
        added(of.added_p99_ns)
    );
    if let Some(last) = of.kept.last() {
        let _ = write!(
            out,
            "\nAt {} frames/s they were late by {} µs, {} µs (99th percentile) and {} µs at most.",
            numbers::grouped(last.asked_frames_per_s as f64),
            unit.number(last.late_p50_ns as f64),
            unit.number(last.late_p99_ns as f64),
            unit.number(last.late_max_ns as f64)
        );
    }
    out
}

fn kept(rows: &[Kept]) -> Option<String> {
    let unit = TimeUnit::Microseconds;
    let mut grid = Grid::new()
        .numbers("asked/s")
        .numbers("lost")
        .numbers("late p50")
        .numbers("p99")
        .numbers("most")
        .numbers("displaced")
        .numbers("away")
        .words("trial");
    for row in rows {
        grid.row(vec![
            numbers::grouped(row.asked_frames_per_s as f64),
            numbers::grouped(row.lost as f64),
            unit.number(row.late_p50_ns as f64),
            unit.number(row.late_p99_ns as f64),
            unit.number(row.late_max_ns as f64),
            unit.number(row.displaced_max_ns as f64),
            unit.number(row.away_max_ns as f64),
            if row.valid { "valid" } else { "invalid" }.to_owned(),
        ]);
    }
    grid.render(screen().columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_a_hundred_columns_and_tells_the_limits() {
        let kept = |asked_frames_per_s, valid| Kept {
            asked_frames_per_s,
            lost: 0,
            late_p50_ns: 12_345,
            late_p99_ns: 1_234_567,
            late_max_ns: 12_345_678,
            displaced_max_ns: 5_000,
            away_max_ns: 23_456_789,
            valid,
        };
        let limits = Limits {
            most_frames_per_s: 1_408_583.4,
            added_p50_ns: 24_000.0,
            added_p99_ns: 123_456.0,
            kept: vec![kept(1_000, true), kept(200_000, false)],
        };
        let text = render(&limits);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for words in ["1,408,583", "24.0 µs", "At 200,000 frames/s", "12.3", "invalid"] {
            assert!(text.contains(words), "{words} in:\n{text}");
        }
    }
}
