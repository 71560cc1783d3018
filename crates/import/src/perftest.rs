//! Tables of a message's size and its latency or bandwidth: perftest's text (`ib_send_lat`,
//! `ib_write_bw`…) and that of OSU's benchmarks of MPI.
//!
//! Owns the doubling: for sends and writes, and between two processes, they print half of the round
//! trip, for reads and atomics all of it. Never reports collectives, whose latency is not a round
//! trip.

use std::collections::BTreeMap;

use page::{Caveat, Key, Metric, Unit};

use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins};
use crate::reader::Reader;
use crate::shapes::{Columns, Values, is_around};

/// The MB of perftest's older versions is 2^20 octets too.
const MEBIBYTES: f64 = 8.0 * 1024.0 * 1024.0;

/// Row of a table, by the names of its columns.
type Numbers = BTreeMap<&'static str, f64>;

/// Reader of perftest's text.
#[derive(Debug, Default)]
pub(crate) struct Perftest {
    /// Name of the test: `Send Latency`.
    test: String,
    columns: Columns,
    has_rows: bool,
}

impl Reader for Perftest {
    fn begins(&self, line: &str) -> bool {
        const TESTS: [&str; 5] = ["Send", "RDMA_Write", "RDMA_Read", "Atomic", "Raw"];
        let name = line.strip_suffix(" Test").filter(|name| begins(&TESTS, name));
        name.is_some_and(|name| ["BW", "Lat"].iter().any(|kind| name.contains(kind)))
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if self.begins(line) {
            let test = line.trim_end_matches(" Test").to_owned();
            *self = Self { test, ..Self::default() };
            return true;
        }
        // Only the title identifies a table's operation, and half or whole round trips.
        if self.test.is_empty() {
            return false;
        }
        if line.starts_with("#bytes") {
            let columns = Columns::read("perftest.columns", line);
            let is_known = columns.is_some();
            self.columns = columns.unwrap_or_default();
            return is_known;
        }
        if let Some(values) = self.columns.row(line) {
            self.add_to(&values, found);
            self.has_rows = true;
            return true;
        }
        // A line of dashes ends the table, and the next one has its own title.
        if self.has_rows && line.starts_with("-----") {
            *self = Self::default();
            return true;
        }
        let is_rule = || line.chars().all(|c| matches!(c, '-' | '*' | ' '));
        is_around("perftest", line) || (line.len() > 8 && is_rule())
    }
}

impl Perftest {
    fn add_to(&self, values: &Numbers, found: &mut Found) {
        let of = |name: &str| values.get(name).copied();
        let is_half = self.test.starts_with("Send") || self.test.contains("Write");
        let is_total = self.test.contains("Bidirectional");
        let row = row("perftest", &self.test, values, is_total, found)
            .samples(of("iterations").unwrap_or(1.0).max(0.0) as u64);
        let giga = of("giga").map(|rate| (rate, 1e9));
        if let Some((rate, unit)) = giga.or(of("mega").map(|rate| (rate, MEBIBYTES))) {
            let counted = of("octets").zip(of("messages")).map(|(octets, millions)| {
                Printed::near(8e6 * octets * millions, 0.01).plus_step(8.0 * octets)
            });
            let said = Printed { value: rate * unit, step: 0.01 * unit };
            let row = row.clone().unless_same("rate-of-octets", said, counted);
            found.goodput(&row.doubting(Caveat::SenderOnly), rate * unit);
        }
        let scale = if is_half { 2e3 } else { 1e3 };
        let row = row.doubting_if(is_half, Caveat::HalfRoundTrip);
        // Columns of points are named by their quantiles.
        let point = |(name, value): (&&str, &f64)| Some((name.parse().ok()?, value * scale));
        let points: Vec<(f64, f64)> = values.iter().filter_map(point).collect();
        let described = Described::new(&points, of("mean").map(|us| us * scale))
            .with(of("deviation").map(|us| us * scale), 0.01 * scale);
        found.distribution(&row.doubting(Caveat::SoftwareTimestamps), Metric::Rtt, &described);
    }
}

/// Conditions of a table's row, which are those of its test and its line.
fn row(tool: &'static str, test: &str, values: &Numbers, is_total: bool, found: &Found) -> Row {
    let octets = values.get("octets").map(|octets| octets.max(0.0) as u64);
    Row::new(tool)
        .with(Key::Test, test.to_ascii_lowercase())
        .with_known(Key::Message, octets)
        .with_known(Key::Direction, is_total.then_some("total"))
        .on_line(found.at)
}

/// Reader of OSU's text.
#[derive(Debug, Default)]
pub(crate) struct Osu {
    /// Name of the test: `Latency`.
    test: String,
    columns: Columns,
}

impl Reader for Osu {
    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(values) = Values::read("osu.first", line) {
            values.text("test").unwrap_or_default().clone_into(&mut self.test);
            return true;
        }
        if line.starts_with("# Size") {
            self.columns = Columns::read("osu.columns", line).unwrap_or_default();
            return self.columns.has("mean") || self.columns.has("mega");
        }
        let Some(values) = self.columns.row(line) else { return is_around("osu", line) };
        add_osu(&self.test, &values, found);
        true
    }
}

fn add_osu(test: &str, values: &Numbers, found: &mut Found) {
    let of = |name: &str| values.get(name).copied();
    let row = row("osu", test, values, test == "Bi-Directional Bandwidth", found);
    match test {
        "Latency" | "Multi Latency" | "Multi-threaded Latency" => {
            let Some(mean) = of("mean") else { return };
            let ends = of("least").zip(of("most")).map(|(least, most)| [least, mean, most]);
            let order =
                ends.and_then(|ends| Described::by_ends(ends).with(None, 0.01).contradiction(0));
            let row = row.contradicted(order).doubting(Caveat::HalfRoundTrip);
            let row = row.doubting(Caveat::SoftwareTimestamps);
            found.mean(&row, Metric::Rtt, Unit::Nanoseconds, 2e3 * mean);
        }
        "Bandwidth" | "Bi-Directional Bandwidth" | "Multiple Bandwidth / Message Rate" => {
            let Some(bits) = of("mega").map(|mega| 8e6 * mega) else { return };
            let counted = of("messages")
                .zip(of("octets"))
                .map(|(rate, octets)| Printed::near(8.0 * rate * octets, 0.01).plus_step(8e4));
            found.goodput(&row.unless_same("rate-of-octets", bits, counted), bits);
        }
        _ => {}
    }
}
