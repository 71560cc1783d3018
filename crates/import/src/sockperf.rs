//! sockperf's text, of ping-pong and under load.
//!
//! Owns the doubling: its latency is half the round trip. Never reads its throughput test.

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::lines::Lines;
use crate::numbers::behind;

pub(crate) fn read(lines: &mut Lines<'_>, found: &mut Found) {
    let mut seen = Seen::default();
    for at in 0..lines.all.len() {
        let line = plain(lines.all[at]);
        let line = line.trim();
        if line.starts_with("sockperf:")
            || line.starts_with("[ 0] IP =")
            || line.starts_with("sockperf[")
        {
            seen.take(line, found);
            lines.take(at);
        }
    }
    seen.put(found);
}

/// Without the terminal's colours.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in line.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (true, c) if c.is_ascii_alphabetic() => inside = false,
            (true, _) => {}
            (false, c) => out.push(c),
        }
    }
    out
}

#[derive(Debug, Default)]
struct Seen {
    /// Half round trips in microseconds.
    mean: Option<f64>,
    points: Vec<(f64, f64)>,
    n: u64,
    tcp: bool,
    message: Option<f64>,
    lost: f64,
}

impl Seen {
    fn take(&mut self, line: &str, found: &mut Found) {
        if line.contains("== version") {
            std::mem::take(self).put(found);
        }
        self.tcp |= line.ends_with("# TCP");
        if line.contains("Summary: Latency is") {
            self.mean = behind(line, "Latency is");
        } else if line.contains("observations;") {
            self.n = behind(line, "Total ").unwrap_or(0.0).max(0.0) as u64;
        } else if line.contains("<MAX> observation") {
            self.points.extend(behind(line, "=").map(|value| (1.0, value)));
        } else if line.contains("<MIN> observation") {
            self.points.extend(behind(line, "=").map(|value| (0.0, value)));
        } else if line.contains("---> percentile") {
            let both = behind(line, "percentile").zip(behind(line, "="));
            self.points.extend(both.map(|(percent, value)| (percent / 100.0, value)));
        } else if line.contains("# dropped messages =") {
            self.lost = behind(line, "# dropped messages =").unwrap_or(0.0);
        }
        self.message = behind(line, "message size is").or(self.message);
    }

    fn put(self, found: &mut Found) {
        let Some(mean) = self.mean else { return };
        let protocol = if self.tcp { "tcp" } else { "udp" };
        let mut row = Row::of("sockperf").with(Key::Protocol, protocol).samples(self.n);
        row = row.doubting(Caveat::HalfRoundTrip).doubting(Caveat::SoftwareTimestamps);
        if self.lost > 0.0 {
            row = row.doubting(Caveat::SomeLost);
        }
        if let Some(octets) = self.message.filter(|octets| *octets >= 0.0) {
            row = row.with(Key::Message, octets as u64);
        }
        found.mean(&row, Metric::Rtt, Unit::Nanoseconds, 2e3 * mean);
        for (q, half) in self.points.into_iter().filter(|(q, _)| (0.0..=1.0).contains(q)) {
            // Beyond the quantile there must lie samples.
            let few = q > 0.5 && q < 1.0 && self.n as f64 * (1.0 - q) < 20.0;
            let row = if few { row.clone().doubting(Caveat::FewSamples) } else { row.clone() };
            found.at(&row, Metric::Rtt, q, 2e3 * half);
        }
    }
}
