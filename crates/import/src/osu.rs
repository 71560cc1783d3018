//! OSU's benchmarks of MPI: tables of a size and its latency or bandwidth.
//!
//! Owns the doubling: between two processes it prints half of the round trip. Never reports
//! collectives, whose latency is not a round trip.

use page::{Caveat, Key, Metric, Unit};

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, number};
use crate::reader::Reader;

/// Quantity in a table's second column, by the test's name.
const TESTS: [(&str, Told); 6] = [
    ("MPI Latency Test", Told::HalfRoundTrip),
    ("MPI Multi Latency Test", Told::HalfRoundTrip),
    ("MPI Multi-threaded Latency Test", Told::HalfRoundTrip),
    ("MPI Bandwidth Test", Told::OneWay),
    ("MPI Bi-Directional Bandwidth Test", Told::BothWays),
    ("MPI Multiple Bandwidth / Message Rate Test", Told::OneWay),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    HalfRoundTrip,
    OneWay,
    BothWays,
}

/// Reader of OSU's text.
#[derive(Debug, Default)]
pub(crate) struct Osu {
    test: Option<(&'static str, Told)>,
    begun: bool,
    /// Column of latency or bandwidth in the heading, and the number of columns.
    column: Option<usize>,
    columns: usize,
    /// Columns of messages a second, and of the least and the most latency.
    messages: Option<usize>,
    least: Option<usize>,
    most: Option<usize>,
}

impl Reader for Osu {
    fn tool(&self) -> &'static str {
        "osu"
    }

    fn begins(&self, line: &str) -> bool {
        line.starts_with("# OSU MPI")
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        let title = line.strip_prefix("# OSU ").and_then(|rest| rest.rsplit_once(" v"));
        if let Some((title, _)) = title {
            let test = TESTS.into_iter().find(|(name, _)| *name == title);
            *self = Self { test, begun: true, ..Self::default() };
            return true;
        }
        if self.begun && line.starts_with("# Size") {
            return self.head(line);
        }
        if self.begun && begins(&["# Datatype", "# [ pairs:", "# Data Validation"], line) {
            return true;
        }
        let values: Option<Vec<f64>> = line.split_whitespace().map(number).collect();
        let values = values.filter(|values| self.columns == values.len());
        let Some((values, at)) = values.zip(self.column) else { return false };
        if let Some((name, told)) = self.test {
            let of = |column: Option<usize>| column.map(|at| values[at]);
            // In megabytes a second.
            let counted = of(self.messages).map(|rate| rate * values[0] / 1e6);
            let counted = counted.map(|rate| Printed::near(8e6 * rate, 0.01).plus_step(8e4));
            let rate = Contradiction::unless_same("rate-of-octets", 8e6 * values[at], counted);
            let ends = of(self.least).zip(of(self.most));
            let order = ends.and_then(|(least, most)| {
                Described::by_ends([least, values[at], most]).with(None, 0.01).contradiction(0)
            });
            add_result(name, told, values[0], values[at], rate.or(order), found);
        }
        true
    }

    fn end(&mut self, _found: &mut Found) {
        *self = Self::default();
    }
}

impl Osu {
    /// Reads `# Size          Latency (us)`, and with `-f` the minimum and maximum after the mean.
    fn head(&mut self, line: &str) -> bool {
        let line =
            line.replace(" (", "(").replace("Avg Lat", "AvgLat").replace("Min Lat", "MinLat");
        let line = line.replace("Max Lat", "MaxLat").replace("P50 Tail Lat", "P50TailLat");
        let names: Vec<&str> = line.trim_start_matches("# ").split_whitespace().collect();
        let of = |name: &str| names.iter().position(|other| *other == name);
        self.columns = names.len();
        self.messages = of("Messages/s");
        (self.least, self.most) = (of("MinLatency(us)"), of("MaxLatency(us)"));
        self.column =
            ["Latency(us)", "AvgLatency(us)", "Bandwidth(MB/s)", "MB/s"].into_iter().find_map(of);
        self.column.is_some()
    }
}

fn add_result(
    name: &'static str,
    told: Told,
    octets: f64,
    value: f64,
    contradiction: Option<Contradiction>,
    found: &mut Found,
) {
    let row = Row::new("osu")
        .with(Key::Test, name.trim_start_matches("MPI ").trim_end_matches(" Test").to_lowercase())
        .with(Key::Message, octets.max(0.0) as u64)
        .with_known(Key::Direction, (told == Told::BothWays).then_some("total"))
        .contradicted(contradiction)
        .on_line(found.at);
    if told == Told::HalfRoundTrip {
        let row = row.doubting(Caveat::HalfRoundTrip).doubting(Caveat::SoftwareTimestamps);
        found.mean(&row, Metric::Rtt, Unit::Nanoseconds, 2e3 * value);
    } else {
        found.goodput(&row, 8e6 * value);
    }
}
