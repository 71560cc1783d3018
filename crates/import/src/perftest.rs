//! perftest's text (`ib_send_lat`, `ib_write_bw`…): its tables of latency and of bandwidth.
//!
//! Owns the doubling: for sends and writes it prints half of the round trip, for reads and atomics
//! all of it.

use page::{Caveat, Key, Metric};

use crate::around::is_around;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, number};
use crate::reader::Reader;

/// Columns of a table, as its headings name them.
const COLUMNS: [(&str, Column); 11] = [
    ("#bytes", Column::Bytes),
    ("#iterations", Column::Iterations),
    ("t_min[", Column::Quantile(0.0)),
    ("t_max[", Column::Quantile(1.0)),
    ("t_typical[", Column::Quantile(0.5)),
    ("t_avg[", Column::Mean),
    ("t_stdev[", Column::Deviation),
    ("99% percentile[", Column::Quantile(0.99)),
    ("99.9% percentile[", Column::Quantile(0.999)),
    ("BW average[", Column::Bandwidth),
    ("MsgRate[Mpps]", Column::Rate),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Bytes,
    Iterations,
    Quantile(f64),
    Mean,
    Deviation,
    Bandwidth,
    /// Messages per second, in millions.
    Rate,
    Other,
}

/// Reader of perftest's text.
#[derive(Debug, Default)]
pub(crate) struct Perftest {
    /// Name of the test: `Send Latency`.
    test: String,
    columns: Vec<Column>,
    has_rows: bool,
    /// Bits per second of the bandwidth's unit.
    unit: f64,
}

impl Reader for Perftest {
    fn tool(&self) -> &'static str {
        "perftest"
    }

    fn begins(&self, line: &str) -> bool {
        line.strip_suffix(" Test").is_some_and(is_test)
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(test) = line.strip_suffix(" Test").filter(|test| is_test(test)) {
            *self = Self { test: test.to_owned(), ..Self::default() };
            return true;
        }
        // Only the title identifies a table's operation, and half or whole round trips.
        if self.test.is_empty() {
            return false;
        }
        if line.starts_with("#bytes") {
            return self.head(line);
        }
        let values: Option<Vec<f64>> = line.split_whitespace().map(number).collect();
        let values =
            values.filter(|values| !values.is_empty() && values.len() == self.columns.len());
        if let Some(values) = values {
            self.add_to(&values, found);
            self.has_rows = true;
            return true;
        }
        // A line of dashes ends the table, and the next one has its own title.
        if self.has_rows && line.starts_with("-----") {
            *self = Self::default();
            return true;
        }
        is_line(line)
    }
}

fn is_test(name: &str) -> bool {
    const TESTS: [&str; 5] = ["Send", "RDMA_Write", "RDMA_Read", "Atomic", "Raw"];
    let kinds = ["Latency", "BW", "Lat"];
    TESTS.iter().any(|test| name.starts_with(test)) && kinds.iter().any(|kind| name.contains(kind))
}

fn is_line(line: &str) -> bool {
    is_around("perftest", line)
        || (line.len() > 8 && line.chars().all(|c| matches!(c, '-' | '*' | ' ')))
}

impl Perftest {
    /// True for a heading whose columns are all known.
    fn head(&mut self, line: &str) -> bool {
        const OTHERS: [&str; 3] = ["BW peak[", "tps average", "CPU_Util["];
        let known = COLUMNS.iter().filter_map(|(name, column)| Some((line.find(name)?, *column)));
        let others = OTHERS.iter().filter_map(|name| Some((line.find(name)?, Column::Other)));
        let mut columns: Vec<(usize, Column)> = known.chain(others).collect();
        columns.sort_by_key(|(at, _)| *at);
        self.columns = columns.into_iter().map(|(_, column)| column).collect();
        // The MB of older versions is 2^20 octets too.
        let mega = 8.0 * 1024.0 * 1024.0;
        self.unit = if line.contains("BW average[Gb/sec]") { 1e9 } else { mega };
        self.columns.len() == line.matches(['[', '#']).count() + line.matches("tps average").count()
    }

    fn add_to(&self, values: &[f64], found: &mut Found) {
        let all = || self.columns.iter().zip(values);
        let of = |wanted: Column| all().find(|(column, _)| **column == wanted).map(|(_, v)| *v);
        let half = self.test.starts_with("Send") || self.test.contains("Write");
        let row = Row::new("perftest")
            .with(Key::Test, self.test.to_ascii_lowercase())
            .with_known(Key::Message, of(Column::Bytes).map(|octets| octets.max(0.0) as u64))
            .with_known(Key::Direction, self.test.contains("Bidirectional").then_some("total"))
            .on_line(found.at)
            .samples(of(Column::Iterations).unwrap_or(1.0).max(0.0) as u64);
        if let Some(rate) = of(Column::Bandwidth) {
            let counted = of(Column::Bytes).zip(of(Column::Rate)).map(|(octets, millions)| {
                Printed::near(8e6 * octets * millions, 0.01).plus_step(8.0 * octets)
            });
            let said = Printed { value: rate * self.unit, step: 0.01 * self.unit };
            let row = row.clone().unless_same("rate-of-octets", said, counted);
            found.goodput(&row.doubting(Caveat::SenderOnly), rate * self.unit);
        }
        let scale = if half { 2e3 } else { 1e3 };
        let row = row.doubting_if(half, Caveat::HalfRoundTrip).doubting(Caveat::SoftwareTimestamps);
        let point = |(column, value): (&Column, &f64)| match column {
            Column::Quantile(q) => Some((*q, value * scale)),
            _ => None,
        };
        let points: Vec<(f64, f64)> = all().filter_map(point).collect();
        let told = |column| of(column).map(|us| us * scale);
        let described = Described::new(&points, told(Column::Mean));
        let described = described.with(told(Column::Deviation), 0.01 * scale);
        found.distribution(&row, Metric::Rtt, &described);
    }
}
