//! ethr's text: bits and packets a second of its client, and its tables of latency.
//!
//! Never puts percentiles of several seconds together. It prints two digits of a rate.

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::numbers::{begins, behind, between, scaled, time};
use crate::reader::Reader;
use crate::series::Series;

/// The columns of a table of latency, `Avg` and then these.
const POINTS: [f64; 8] = [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Ethr {
    begun: bool,
    server: bool,
    protocol: Option<&'static str>,
    /// Of the sums of intervals, or of the lone stream's.
    sums: Series,
    streams: Series,
    packets: Series,
    /// Each second's table: the mean, then [`POINTS`].
    delays: Vec<[f64; 9]>,
    counts: Option<(f64, f64)>,
    test: Option<&'static str>,
}

impl Reader for Ethr {
    fn tool(&self) -> &'static str {
        "ethr"
    }

    fn begins(&self, line: &str) -> bool {
        line.starts_with("Ethr: Comprehensive Network")
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if self.begins(line) {
            self.begun = true;
            return true;
        }
        if !self.begun {
            return false;
        }
        self.interval(line) || self.delay(line) || self.note(line)
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(self).put(found);
    }
}

impl Ethr {
    /// `[  SUM]     TCP      000-001 sec      7.1G`, `  UDP      000-001 sec    488.3K       61K`
    fn interval(&mut self, line: &str) -> bool {
        let Some((before, after)) = line.split_once(" sec ") else { return false };
        let id = between(before, "[", "]").map(str::trim);
        let is_sum = id.is_none_or(|id| id == "SUM");
        self.protocol = ["UDP", "TCP"].into_iter().find(|name| before.contains(name));
        let mut values = after.split_whitespace().map(|word| scaled(word, 1000.0));
        let Some(Some(bits)) = values.next() else { return false };
        if self.test == Some("connections") {
            return true;
        }
        if is_sum {
            self.sums.push(bits);
        } else {
            self.streams.push(bits);
        }
        if let Some(Some(packets)) = values.next().filter(|_| is_sum || self.sums.is_empty()) {
            self.packets.push(packets);
        }
        true
    }

    /// `155.448us  22.263us  51.016us …`
    fn delay(&mut self, line: &str) -> bool {
        let all: Option<Vec<f64>> = line.split_whitespace().map(time).collect();
        let Some(all) = all.and_then(|all| <[f64; 9]>::try_from(all).ok()) else { return false };
        if self.delays.len() < 100_000 {
            self.delays.push(all);
        }
        true
    }

    fn note(&mut self, line: &str) -> bool {
        const STARTS: [&str; 17] = [
            "Maintainer:",
            "Using destination",
            "[  ID ]",
            "Protocol ",
            "Ethr done",
            "Hint:",
            "- - -",
            "-----",
            "Running latency test",
            "Avg ",
            "Accepting IP",
            "Listening on",
            "Warning:",
            "Error ",
            "TCP connect statistics",
            "[RemoteAddress]",
            "Tracing route",
        ];
        self.server |= line.starts_with("Listening on");
        if line.starts_with("Protocol ") && line.contains("Conn/s") {
            self.test = Some("connections");
        }
        if line.starts_with("[tcp] ") || line.starts_with("[icmp] ") {
            self.test = Some("connect").filter(|_| line.starts_with("[tcp]"));
            self.protocol = Some(if line.starts_with("[tcp]") { "TCP" } else { "ICMP" });
            return true;
        }
        if line.starts_with("Sent = ") {
            let count = |name| behind(line, name);
            self.counts = count("Sent =").zip(count("Received ="));
            return true;
        }
        let is_stream = line.starts_with('[') && (line.contains("] local ") || self.server);
        is_stream || begins(&STARTS, line)
    }

    fn put(self, found: &mut Found) {
        // A server's table has clients beside each other, and no sum.
        if self.server {
            return;
        }
        let protocol = self.protocol.unwrap_or("TCP").to_ascii_lowercase();
        let row = Row::of("ethr").with(Key::Protocol, protocol).with_known(Key::Test, self.test);
        let rates = if self.sums.is_empty() { &self.streams } else { &self.sums };
        if let Some(bits) = rates.mean() {
            let row = row.clone().samples(rates.count).doubting(Caveat::SenderOnly);
            found.goodput(&row.clone(), bits);
            if let Some(packets) = self.packets.mean() {
                found.put(&row, Metric::Sent, Unit::FramesPerSecond, packets);
            }
        }
        let delays = row.clone().doubting(Caveat::SoftwareTimestamps);
        if let [only] = self.delays[..] {
            let points: Vec<(f64, f64)> = POINTS.into_iter().zip(only[1..].to_vec()).collect();
            found.distribution(&delays, Metric::Rtt, &points, Some(only[0]));
        } else if !self.delays.is_empty() {
            let fold = |at: usize, by: fn(f64, f64) -> f64| {
                self.delays.iter().map(|row| row[at]).reduce(by).unwrap_or(f64::NAN)
            };
            let mean = fold(0, |a, b| a + b) / self.delays.len() as f64;
            let (least, most) = (fold(1, f64::min), fold(8, f64::max));
            found.summary(&delays, Metric::Rtt, [least, mean, most]);
        }
        if let Some((sent, received)) = self.counts.filter(|(s, r)| *s > 0.0 && r <= s) {
            let row = row.samples(sent as u64);
            found.put(&row, Metric::LossRatio, Unit::Ratio, 1.0 - received / sent);
        }
    }
}
