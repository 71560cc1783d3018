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

/// Reader of the tables of one tool.
#[derive(Debug)]
pub(crate) struct Tables {
    tool: &'static str,
    /// Name of the test: `Send Latency`. Only it identifies a table's operation, and half or whole
    /// round trips.
    test: String,
    columns: Columns,
    has_rows: bool,
}

/// Reader of perftest's text.
pub(crate) fn perftest() -> Box<dyn Reader> {
    Box::new(Tables::new("perftest", String::new()))
}

/// Reader of OSU's text.
pub(crate) fn osu() -> Box<dyn Reader> {
    Box::new(Tables::new("osu", String::new()))
}

impl Tables {
    fn new(tool: &'static str, test: String) -> Self {
        Self { tool, test, columns: Columns::default(), has_rows: false }
    }
}

impl Reader for Tables {
    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        let tool = self.tool;
        let title = ["begin", "first"].map(|part| Values::read(&format!("{tool}.{part}"), line));
        if let Some(values) = title.into_iter().flatten().next() {
            let test = values.text("test").or(line.strip_suffix(" Test")).unwrap_or_default();
            *self = Self::new(tool, test.to_owned());
            return true;
        }
        if self.test.is_empty() && tool == "perftest" {
            return false;
        }
        if begins(&["#bytes", "# Size"], line) {
            self.columns = Columns::read(&format!("{tool}.columns"), line).unwrap_or_default();
            let needed: &[&str] = if tool == "osu" { &["mean", "mega"] } else { &["octets"] };
            return needed.iter().any(|name| self.columns.has(name));
        }
        if let Some(values) = self.columns.row(line) {
            self.has_rows = tool == "perftest";
            let is_total = self.test.starts_with("Bi-Dir") || self.test.contains("Bidirectional");
            let octets = values.get("octets").map(|octets| octets.max(0.0) as u64);
            let row = Row::new(tool)
                .with(Key::Test, self.test.to_ascii_lowercase())
                .with_known(Key::Message, octets)
                .with_known(Key::Direction, is_total.then_some("total"))
                .on_line(found.at);
            let add = if tool == "osu" { add_osu } else { add_perftest };
            add(&self.test, row, &values, found);
            return true;
        }
        // A line of dashes ends the table, and the next one has its own title.
        if self.has_rows && line.starts_with("-----") {
            *self = Self::new(tool, String::new());
            return true;
        }
        let is_rule = || line.len() > 8 && line.chars().all(|c| matches!(c, '-' | '*' | ' '));
        is_around(tool, line) || (tool == "perftest" && is_rule())
    }
}

fn add_perftest(test: &str, row: Row, values: &Numbers, found: &mut Found) {
    let of = |name: &str| values.get(name).copied();
    let is_half = test.starts_with("Send") || test.contains("Write");
    let row = row.samples(of("iterations").unwrap_or(1.0).max(0.0) as u64);
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

fn add_osu(test: &str, row: Row, values: &Numbers, found: &mut Found) {
    let of = |name: &str| values.get(name).copied();
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
