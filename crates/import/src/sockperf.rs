//! sockperf's text, of ping-pong, under load and of throughput.
//!
//! Owns the doubling: its latency is half the round trip, unless it was asked for all of it. Never
//! takes what was sent for what arrived.

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::numbers::{behind, number};
use crate::reader::Reader;

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Sockperf {
    seen: Seen,
    begun: bool,
}

impl Reader for Sockperf {
    fn tool(&self) -> &'static str {
        "sockperf"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if line.starts_with("sockperf:") || line.starts_with("sockperf[") {
            self.seen.take(line, found);
            self.begun = true;
            return true;
        }
        // `--full-log`: each packet's times; the summary above them has their points.
        let is_packet = line.splitn(5, ',').filter(|field| number(field).is_some()).count() == 4;
        line.starts_with("[ 0] IP =")
            || line.starts_with("test was performed using the following parameters")
            || line.starts_with("packet, txTime")
            || (self.begun && (is_packet || line.chars().all(|c| c == '-')))
            || line == "------------------------------"
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(&mut self.seen).put(found);
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// Half round trips in microseconds, or whole ones.
    mean: Option<f64>,
    points: Vec<(f64, f64)>,
    n: u64,
    tcp: bool,
    message: Option<f64>,
    lost: f64,
    /// `--full-rtt`: the whole round trip.
    whole: bool,
    /// Of the throughput test: sent, a second.
    messages: Option<f64>,
    octets: Option<f64>,
}

impl Seen {
    fn take(&mut self, line: &str, found: &mut Found) {
        if line.contains("== version") {
            std::mem::take(self).put(found);
        }
        self.tcp |= line.ends_with("# TCP");
        if line.contains("Summary: Latency is") {
            self.mean = behind(line, "Latency is");
        } else if line.contains("====> avg-latency=") {
            self.mean = behind(line, "avg-latency=");
        } else if line.contains("====> avg-rtt=") {
            self.mean = behind(line, "avg-rtt=");
            self.whole = true;
        } else if line.contains("Summary: Round trip is") {
            self.mean = behind(line, "Round trip is");
            self.whole = true;
        } else if line.contains("Summary: Message Rate is") {
            self.messages = behind(line, "Message Rate is");
        } else if line.contains("Summary: BandWidth is") {
            self.octets = behind(line, "BandWidth is").map(|mega| mega * 1024.0 * 1024.0);
        } else if line.contains("using msg-size=") {
            self.message = behind(line, "using msg-size=");
        } else if line.contains("observations;") {
            self.n = behind(line, "Total ").unwrap_or(0.0).max(0.0) as u64;
        } else if line.contains("<MAX> observation") {
            self.points.extend(behind(line, "=").map(|value| (1.0, value)));
        } else if line.contains("<MIN> observation") {
            self.points.extend(behind(line, "=").map(|value| (0.0, value)));
        } else if line.contains("---> percentile") {
            let both = behind(line, "percentile").zip(behind(line, "="));
            // 99.99 % are 0.9999, and no neighbour of it.
            let share = |percent: f64| (percent * 1e5).round() / 1e7;
            self.points.extend(both.map(|(percent, value)| (share(percent), value)));
        } else if line.contains("# dropped messages =") {
            self.lost = behind(line, "# dropped messages =").unwrap_or(0.0);
        }
        self.message = behind(line, "message size is").or(self.message);
    }

    fn put(self, found: &mut Found) {
        let protocol = if self.tcp { "tcp" } else { "udp" };
        let message = self.message.filter(|octets| *octets >= 0.0).map(|octets| octets as u64);
        let row = Row::of("sockperf").with(Key::Protocol, protocol);
        let row = row.with_known(Key::Message, message);
        if let (Some(messages), Some(octets)) = (self.messages, self.octets) {
            let row = row.clone().doubting(Caveat::SenderOnly);
            found.put(&row, Metric::Sent, Unit::FramesPerSecond, messages);
            found.goodput(&row, 8.0 * octets);
        }
        let Some(mean) = self.mean else { return };
        let row = row
            .samples(self.n)
            .doubting_if(!self.whole, Caveat::HalfRoundTrip)
            .doubting_if(self.lost > 0.0, Caveat::SomeLost)
            .doubting(Caveat::SoftwareTimestamps);
        let scale = if self.whole { 1e3 } else { 2e3 };
        found.mean(&row, Metric::Rtt, Unit::Nanoseconds, scale * mean);
        for (q, half) in self.points.into_iter().filter(|(q, _)| (0.0..=1.0).contains(q)) {
            found.at(&row, Metric::Rtt, q, scale * half);
        }
    }
}
