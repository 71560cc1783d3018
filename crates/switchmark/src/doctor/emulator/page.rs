//! The page of what emulated devices can do here. Never computes.

use page::numbers::{self, TimeUnit};
use page::{Answer, Block, Cell, Listing, Page, Section, Table, Unit};

use super::{Kept, Limits};

impl Limits {
    /// Returns the sentences, and a table of the paced rates.
    pub fn page(&self) -> Page {
        let section = Section {
            id: "paced".to_owned(),
            heading: "Paced loads".to_owned(),
            blocks: vec![Block::Table(self.table())],
        };
        let heading = "Limits of emulated devices".to_owned();
        Page { heading, sections: vec![section], ..self.summary() }
    }

    /// The sentences alone, for people who only want to use one.
    pub fn summary(&self) -> Page {
        let most = numbers::grouped(self.most_frames_per_s);
        // What an RTT gains where the profile adds nothing is how well the two can be told apart.
        let added = |ns: f64| {
            if ns > 0.0 {
                numbers::value(Unit::Nanoseconds, ns)
            } else {
                "no measurable time".to_owned()
            }
        };
        let carried = Answer::new(format!(
            "Emulated devices here carry up to {most} frames/s of 64 octets. They add {} to an RTT \
             where the profile adds nothing (99th percentile: {}).",
            added(self.added_p50_ns),
            added(self.added_p99_ns)
        ));
        let late = self.kept.last().map(|last| {
            let unit = TimeUnit::Microseconds;
            Answer::new(format!(
                "At {} frames/s they were late by {} µs, {} µs (99th percentile) and {} µs at most.",
                numbers::grouped(last.asked_frames_per_s as f64),
                unit.number(last.late_p50_ns as f64),
                unit.number(last.late_p99_ns as f64),
                unit.number(last.late_max_ns as f64)
            ))
        });
        Page { answers: [carried].into_iter().chain(late).collect(), ..Page::default() }
    }

    fn table(&self) -> Table {
        let count = |count: u64| Cell::number(numbers::grouped(count as f64));
        let time = |ns: u64| Cell::quantity(Unit::Nanoseconds, Some(ns as f64));
        Listing::new("Under a paced load of 64-octet frames", &self.kept)
            .column("asked/s", |row: &&Kept| count(row.asked_frames_per_s))
            .column("lost", |row| count(row.lost))
            .column("late p50", |row| time(row.late_p50_ns))
            .column("late p99", |row| time(row.late_p99_ns))
            .column("late max", |row| time(row.late_max_ns))
            .column("displaced", |row| time(row.displaced_max_ns))
            .column("away", |row| time(row.away_max_ns))
            .column("trial", |row| Cell::text(if row.valid { "valid" } else { "invalid" }))
            .table()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use render::Screen;

    #[test]
    fn it_fits_a_hundred_columns_and_names_the_limits() {
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
        let text = render::text(&limits.page(), Screen::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for words in ["1,408,583", "24.0 µs", "At 200,000 frames/s", "12.3", "invalid"] {
            assert!(text.contains(words), "{words} in:\n{text}");
        }
    }
}
