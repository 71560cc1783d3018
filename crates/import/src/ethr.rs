//! ethr's text: bits and packets per second of its client, and its tables of latency.
//!
//! Never combines percentiles of several seconds. ethr prints two digits of a rate.

use page::{Caveat, Key, Metric, Unit};

use crate::around::is_around;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{behind, between, number, scaled, time};
use crate::reader::Reader;
use crate::series::Series;

/// Columns of a second's table of latency, after `Avg`.
const POINTS: [f64; 8] = [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

/// Reader of ethr's text.
#[derive(Debug, Default)]
pub(crate) struct Ethr {
    begun: bool,
    server: bool,
    protocol: Option<&'static str>,
    /// Rates per interval, of the sums or of the only stream.
    sums: Series,
    streams: Series,
    packets: Series,
    /// Seconds of all intervals, and of the whole run.
    seconds: f64,
    lasted: f64,
    streams_lasted: f64,
    duration: Option<f64>,
    counts: Option<(f64, f64)>,
    lost: Option<f64>,
    /// Round trips in each of its tables.
    asked: Option<f64>,
    test: Option<&'static str>,
}

impl Reader for Ethr {
    fn tool(&self) -> &'static str {
        "ethr"
    }

    fn begins(&self, line: &str) -> bool {
        line.starts_with("Ethr: Comprehensive Network")
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if self.begins(line) {
            self.begun = true;
            return true;
        }
        if !self.begun {
            return false;
        }
        self.interval(line) || self.delay(line, found) || self.note(line)
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(self).add_to(found);
    }
}

impl Ethr {
    /// Reads `[  SUM]     TCP      000-001 sec      7.1G`, `  UDP      000-001 sec    488.3K
    /// 61K`.
    fn interval(&mut self, line: &str) -> bool {
        let Some((before, after)) = line.split_once(" sec ") else { return false };
        let id = between(before, "[", "]").map(str::trim);
        let is_sum = id.is_none_or(|id| id == "SUM");
        self.protocol = ["UDP", "TCP"].into_iter().find(|name| before.contains(name));
        let mut values =
            after.split_whitespace().map(|word| scaled(word, 1000.0).map(|of| of.value));
        let Some(Some(bits)) = values.next() else { return false };
        if self.test == Some("connections") {
            return true;
        }
        let time = before.split_whitespace().last().and_then(|time| time.split_once('-'));
        let Some((from, to)) = time.and_then(|(from, to)| number(from).zip(number(to))) else {
            return false;
        };
        self.seconds = self.seconds.max(to);
        if is_sum {
            self.lasted += to - from;
            self.sums.push(bits);
        } else {
            self.streams_lasted += to - from;
            self.streams.push(bits);
        }
        if let Some(Some(packets)) = values.next().filter(|_| is_sum || self.sums.is_empty()) {
            self.packets.push(packets);
        }
        true
    }

    /// Reads `155.448us  22.263us  51.016us …`.
    fn delay(&self, line: &str, found: &mut Found) -> bool {
        let all: Option<Vec<f64>> = line.split_whitespace().map(time).collect();
        let Some(all) = all.and_then(|all| <[f64; 9]>::try_from(all).ok()) else { return false };
        let row = self.row().on_line(found.at).doubting(Caveat::SoftwareTimestamps);
        let points: Vec<(f64, f64)> = POINTS.into_iter().zip(all[1..].to_vec()).collect();
        let described = Described::new(&points, Some(all[0]));
        let n = self.counts.map(|(_, received)| received).or(self.asked).unwrap_or(0.0) as u64;
        found.distribution(&row, Metric::Rtt, &described.of_samples(Some(n)));
        true
    }

    fn note(&mut self, line: &str) -> bool {
        self.server |= line.starts_with("Listening on");
        self.duration = behind(line, "Ethr done, duration: ").or(self.duration);
        self.asked = behind(line, "Running latency test:").or(self.asked);
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
            self.lost = count("Lost =");
            return true;
        }
        let is_stream = line.starts_with('[') && (line.contains("] local ") || self.server);
        is_stream || is_around("ethr", line)
    }

    fn row(&self) -> Row {
        let protocol = self.protocol.unwrap_or("TCP").to_ascii_lowercase();
        Row::new("ethr").with(Key::Protocol, protocol).with_known(Key::Test, self.test)
    }

    fn add_to(self, found: &mut Found) {
        // A server's table has clients side by side, and no sum.
        if self.server {
            return;
        }
        let row = self.row();
        let rates = if self.sums.is_empty() { &self.streams } else { &self.sums };
        if let Some(bits) = rates.mean() {
            let lasted = if self.sums.is_empty() { self.streams_lasted } else { self.lasted };
            let lacks = lasted < self.seconds.max(self.duration.unwrap_or(0.0));
            let row = row.clone().samples(rates.count).doubting(Caveat::SenderOnly);
            let row = row.doubting_if(lacks, Caveat::UnreadLines);
            let row = row.doubting_if(self.duration.is_none(), Caveat::CutOff);
            found.goodput(&row.clone(), bits);
            if let Some(packets) = self.packets.mean() {
                found.add(&row, Metric::Sent, Unit::FramesPerSecond, packets);
            }
        }
        if let Some((sent, received)) = self.counts {
            found.loss(
                &row.unless_same("lost-of-counts", self.lost, sent - received),
                sent,
                received,
            );
        }
    }
}
