//! perftest's text (`ib_send_lat`, `ib_write_bw`…): its tables of latency and of bandwidth.
//!
//! Owns the doubling: of sends and writes it prints half of the round trip, of reads and atomics
//! all of it.

use page::{Caveat, Key, Metric};

use crate::found::{Found, Row};
use crate::numbers::number;
use crate::reader::Reader;

/// Its columns, as its headings name them.
const COLUMNS: [(&str, Column); 9] = [
    ("#bytes", Column::Bytes),
    ("#iterations", Column::Iterations),
    ("t_min[", Column::Quantile(0.0)),
    ("t_max[", Column::Quantile(1.0)),
    ("t_typical[", Column::Quantile(0.5)),
    ("t_avg[", Column::Mean),
    ("99% percentile[", Column::Quantile(0.99)),
    ("99.9% percentile[", Column::Quantile(0.999)),
    ("BW average[", Column::Bandwidth),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Bytes,
    Iterations,
    Quantile(f64),
    Mean,
    Bandwidth,
    Other,
}

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Perftest {
    /// `Send Latency`
    test: String,
    columns: Vec<Column>,
    /// Bits a second, of the bandwidth's unit.
    unit: f64,
}

impl Reader for Perftest {
    fn tool(&self) -> &'static str {
        "perftest"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(test) = line.strip_suffix(" Test").filter(|test| is_test(test)) {
            test.clone_into(&mut self.test);
            self.columns.clear();
            return true;
        }
        if line.starts_with("#bytes") {
            self.head(line);
            return true;
        }
        if self.columns.is_empty() {
            return !self.test.is_empty() && is_around(line);
        }
        let values: Option<Vec<f64>> = line.split_whitespace().map(number).collect();
        match values {
            Some(values) if values.len() >= 3 => {
                self.put(&values, found);
                true
            }
            _ => is_around(line),
        }
    }

    fn end(&mut self, _found: &mut Found) {}
}

fn is_test(name: &str) -> bool {
    const TESTS: [&str; 5] = ["Send", "RDMA_Write", "RDMA_Read", "Atomic", "Raw"];
    let kinds = ["Latency", "BW", "Lat"];
    TESTS.iter().any(|test| name.starts_with(test)) && kinds.iter().any(|kind| name.contains(kind))
}

fn is_around(line: &str) -> bool {
    const PARTS: [&str; 15] = [
        "Waiting for client",
        "PCIe relax order",
        "Dual-port",
        "Number of qps",
        "Connection type",
        "TX depth",
        "RX depth",
        "CQ Moderation",
        "Mtu ",
        "Link type",
        "GID index",
        "Max inline",
        "rdma_cm",
        "Data ex. method",
        "address:",
    ];
    PARTS.iter().any(|part| line.contains(part))
        || (line.len() > 8 && line.chars().all(|c| matches!(c, '-' | '*' | ' ')))
        || line.starts_with("GID:")
        || line.starts_with("Conflicting CPU frequency")
        || line.contains(" : ")
}

impl Perftest {
    fn head(&mut self, line: &str) {
        const OTHERS: [&str; 4] = ["BW peak[", "MsgRate[", "t_stdev[", "tps average"];
        let known = COLUMNS.iter().filter_map(|(name, column)| Some((line.find(name)?, *column)));
        let others = OTHERS.iter().filter_map(|name| Some((line.find(name)?, Column::Other)));
        let mut columns: Vec<(usize, Column)> = known.chain(others).collect();
        columns.sort_by_key(|(at, _)| *at);
        self.columns = columns.into_iter().map(|(_, column)| column).collect();
        // What older ones call MB is 2^20 octets too.
        let mega = 8.0 * 1024.0 * 1024.0;
        self.unit = if line.contains("BW average[Gb/sec]") { 1e9 } else { mega };
    }

    fn put(&self, values: &[f64], found: &mut Found) {
        let all = || self.columns.iter().zip(values);
        let of = |wanted: Column| all().find(|(column, _)| **column == wanted).map(|(_, v)| *v);
        let half = self.test.starts_with("Send") || self.test.contains("Write");
        let row = Row::of("perftest")
            .with(Key::Test, self.test.to_ascii_lowercase())
            .with_known(Key::Message, of(Column::Bytes).map(|octets| octets.max(0.0) as u64))
            .samples(of(Column::Iterations).unwrap_or(1.0).max(0.0) as u64);
        if let Some(rate) = of(Column::Bandwidth) {
            found.goodput(&row.clone().doubting(Caveat::SenderOnly), rate * self.unit);
        }
        let scale = if half { 2e3 } else { 1e3 };
        let row = row.doubting_if(half, Caveat::HalfRoundTrip).doubting(Caveat::SoftwareTimestamps);
        for (column, value) in all() {
            if let Column::Quantile(q) = column {
                found.at(&row, Metric::Rtt, *q, value * scale);
            }
        }
        if let Some(mean) = of(Column::Mean) {
            found.mean(&row, Metric::Rtt, page::Unit::Nanoseconds, mean * scale);
        }
    }
}
