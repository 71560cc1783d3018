//! qperf's text: a test's name, then `name = value unit`.
//!
//! Owns the doubling: qperf divides the time by the messages of both ends, which is half a round
//! trip.

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::numbers::{Printed, bits, grouped, nanoseconds, prefix};
use crate::reader::Reader;

/// Reader of qperf's text.
#[derive(Debug, Default)]
pub(crate) struct Qperf {
    test: Option<Test>,
    /// True among lines that describe the hosts rather than a test.
    configuration: bool,
}

impl Reader for Qperf {
    fn begins(&self, line: &str) -> bool {
        is_header(line)
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if is_header(line) {
            self.configuration = line == "conf:";
            let name = line.trim_end_matches(':').to_owned();
            self.test = is_known(&name).then(|| Test { name, ..Test::default() });
            return self.test.is_some() || self.configuration;
        }
        (self.configuration && (line.starts_with("loc_") || line.starts_with("rem_")))
            || line.contains(" qperf ")
            || self.test.as_mut().is_some_and(|own| own.take(line))
    }

    fn end(&mut self, found: &mut Found) {
        if let Some(done) = self.test.take() {
            done.add_to(found);
        }
    }
}

/// True if figures of the test have names here: a transport's latency or bandwidth.
fn is_known(name: &str) -> bool {
    let transport = name.split('_').next().unwrap_or_default();
    let is_told = name.ends_with("_lat") || name.ends_with("_bw");
    is_told && ["tcp", "udp", "sctp", "rds", "sdp", "rc", "uc", "ud"].contains(&transport)
}

/// Reads `tcp_lat:` alone on its line, for known and unknown tests: the one before ends.
fn is_header(line: &str) -> bool {
    let of_name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    line.strip_suffix(':').is_some_and(|name| !name.is_empty() && name.bytes().all(of_name))
}

#[derive(Debug, Default)]
struct Test {
    name: String,
    latency_ns: Option<f64>,
    bits_per_second: Option<f64>,
    message: Option<f64>,
    received: Option<f64>,
    /// Messages a second.
    rate: Option<f64>,
}

impl Test {
    /// Reads a result; true if it belongs to the current test. Repeated values, and those of other
    /// tests, do not.
    fn take(&mut self, line: &str) -> bool {
        let Some((name, rest)) = line.split_once('=') else { return false };
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            return false;
        }
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.')));
        let (value, unit) = rest.split_at(end.unwrap_or(rest.len()));
        let (Some(value), unit) = (grouped(value), unit.trim()) else { return false };
        let is_latency = self.name.ends_with("_lat");
        let to = match name {
            "latency" => {
                (&mut self.latency_ns, nanoseconds(unit).map(|scale| value * scale), is_latency)
            }
            "bw" | "recv_bw" => {
                let each = unit.strip_suffix("/sec").and_then(bits);
                (&mut self.bits_per_second, each.map(|each| value * each), !is_latency)
            }
            "msg_size" => (&mut self.message, octets(value, unit), true),
            "loc_recv_msgs" => (&mut self.received, Some(value), true),
            "msg_rate" => (&mut self.rate, messages(value, unit), true),
            "send_bw" => return !is_latency,
            _ => return true,
        };
        let (place, value, fits) = to;
        let is_new = fits && value.is_some() && place.is_none();
        if is_new {
            *place = value;
        }
        is_new
    }

    fn add_to(self, found: &mut Found) {
        let kind = self.name.split('_').next().unwrap_or_default();
        let rdma = matches!(kind, "rc" | "uc" | "ud");
        let mut row = Row::new("qperf")
            .with_known(Key::Protocol, (!rdma).then_some(kind))
            .with_known(Key::Test, rdma.then_some(self.name.as_str()))
            .with_known(Key::Direction, self.name.contains("_bi_").then_some("total"));
        if let Some(octets) = self.message.filter(|octets| *octets >= 0.0) {
            row = row.with(Key::Message, octets as u64);
        }
        if let Some(told) = self.latency_ns {
            // A read has its answer, and is the whole round trip.
            let half = !self.name.contains("_read_");
            let n = self.received.unwrap_or(1.0).max(0.0) as u64;
            let row = row.clone().samples(n).doubting_if(half, Caveat::HalfRoundTrip);
            let row = row.doubting(Caveat::SoftwareTimestamps);
            let times = if half { 2.0 } else { 1.0 };
            let counted = self.rate.map(|rate| Printed::near(1e9 / rate, 0.02));
            let row = row.unless_same("mean-of-rate", told, counted);
            found.mean(&row, Metric::Rtt, Unit::Nanoseconds, times * told);
        }
        if let Some(bits) = self.bits_per_second {
            let counted = self.rate.zip(self.message);
            let counted = counted.map(|(rate, octets)| Printed::near(8.0 * rate * octets, 0.02));
            let row = row.unless_same("rate-of-octets", bits, counted);
            found.goodput(&row, bits);
        }
    }
}

/// Parses `117 K/sec`.
fn messages(value: f64, unit: &str) -> Option<f64> {
    Some(value * prefix(unit.strip_suffix("/sec")?.chars().next(), 1000.0)?)
}

/// Parses `1 bytes`, `64 KB`, `32 KiB (32,768)`.
fn octets(value: f64, unit: &str) -> Option<f64> {
    Some(value * bits(unit.split(' ').next()?)? / 8.0)
}
