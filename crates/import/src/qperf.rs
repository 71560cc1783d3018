//! qperf's text: a test's name, then `name = value unit`.
//!
//! Owns the doubling: qperf divides the time by the messages of both ends, which is half a round
//! trip.

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::numbers::{leading, nanoseconds, prefix};
use crate::reader::Reader;

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Qperf {
    test: Option<Test>,
    /// Among lines that tell of the hosts and not of a test.
    configuration: bool,
}

impl Reader for Qperf {
    fn tool(&self) -> &'static str {
        "qperf"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(name) = header(line) {
            self.end(found);
            self.test = Some(Test { name, ..Test::default() });
            return true;
        }
        if line == "conf:" {
            self.end(found);
            self.configuration = true;
            return true;
        }
        (self.configuration && (line.starts_with("loc_") || line.starts_with("rem_")))
            || line.contains(" qperf ")
            || self.test.as_mut().is_some_and(|own| own.take(line))
    }

    fn end(&mut self, found: &mut Found) {
        if let Some(done) = std::mem::take(self).test {
            done.put(found);
        }
    }
}

/// `tcp_lat:` alone on its line.
fn header(line: &str) -> Option<&'static str> {
    const TESTS: [&str; 8] =
        ["tcp_lat", "tcp_bw", "udp_lat", "udp_bw", "sctp_lat", "sctp_bw", "rds_lat", "rds_bw"];
    let name = line.strip_suffix(':')?;
    TESTS.into_iter().find(|test| *test == name)
}

#[derive(Debug, Default)]
struct Test {
    name: &'static str,
    latency_ns: Option<f64>,
    bits_per_second: Option<f64>,
    message: Option<f64>,
    received: Option<f64>,
}

impl Test {
    /// Whether the line is one of its results.
    fn take(&mut self, line: &str) -> bool {
        let Some((name, rest)) = line.split_once('=') else { return false };
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            return false;
        }
        let Some((value, unit)) = leading(rest) else { return false };
        let unit = unit.trim();
        match name {
            "latency" => self.latency_ns = nanoseconds(unit).map(|scale| value * scale),
            "bw" | "recv_bw" => self.bits_per_second = bits(value, unit).or(self.bits_per_second),
            "msg_size" => self.message = octets(value, unit),
            "loc_recv_msgs" => self.received = Some(value),
            _ => {}
        }
        true
    }

    fn put(self, found: &mut Found) {
        let protocol = self.name.split('_').next().unwrap_or_default();
        let mut row = Row::of("qperf").with(Key::Protocol, protocol);
        if let Some(octets) = self.message.filter(|octets| *octets >= 0.0) {
            row = row.with(Key::Message, octets as u64);
        }
        if let Some(half) = self.latency_ns {
            let n = self.received.unwrap_or(1.0).max(0.0) as u64;
            let row = row.clone().samples(n).doubting(Caveat::HalfRoundTrip);
            let row = row.doubting(Caveat::SoftwareTimestamps);
            found.mean(&row, Metric::Rtt, Unit::Nanoseconds, 2.0 * half);
        }
        if let Some(bits) = self.bits_per_second {
            found.goodput(&row, bits);
        }
    }
}

/// `1.18 GB/sec`, `9.4 Gb/sec`, `117700000 bytes/sec`
fn bits(value: f64, unit: &str) -> Option<f64> {
    let unit = unit.strip_suffix("/sec")?;
    let (unit, each) = match unit {
        "bytes" => return Some(value * 8.0),
        "bits" => return Some(value),
        _ if unit.ends_with('B') => (unit.strip_suffix('B')?, 8.0),
        _ => (unit.strip_suffix('b')?, 1.0),
    };
    Some(value * each * prefix(unit.chars().next(), 1000.0)?)
}

/// `1 bytes`, `64 KB`, `9 KiB`
fn octets(value: f64, unit: &str) -> Option<f64> {
    if unit.starts_with("byte") {
        return Some(value);
    }
    let step = if unit.contains('i') { 1024.0 } else { 1000.0 };
    Some(value * prefix(unit.chars().next().filter(|c| *c != 'B'), step)?)
}
