//! ping's text: of Linux (iputils), of BSD, macOS and GNU, of busybox, and of Windows.
//!
//! Owns the reading of its summary and of its replies' lines. Never trusts a mean to be a median:
//! only replies give quantiles; and never takes whole milliseconds for exact ones.

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Contradiction, Found, Row};
use crate::numbers::{behind, leading, number};
use crate::reader::Reader;
use crate::series::Series;

const MS: f64 = 1e6;

/// Reads it: one ping, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Ping {
    begun: bool,
    windows: bool,
    ipv6: bool,
    /// Of the IP packet's payload.
    data_octets: Option<f64>,
    replies: Series,
    /// Sent and received, as the summary has them.
    counts: Option<(f64, f64)>,
    summary: Option<[f64; 3]>,
}

impl Reader for Ping {
    fn tool(&self) -> &'static str {
        "ping"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if line.starts_with("PING ") || line.starts_with("Pinging ") || line.starts_with("PING6") {
            self.end(found);
            return self.begin(line);
        }
        self.reply(line) || self.counted(line) || self.summed_up(line) || self.is_around(line)
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(self).put(found);
    }
}

impl Ping {
    /// `56(84) bytes of data` (Linux), `56 data bytes` (BSD, busybox), `32 bytes of data` (Windows)
    fn begin(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let sized = words.windows(2).find(|two| {
            matches!(two[1], "bytes" | "data") && two[0].starts_with(|c: char| c.is_ascii_digit())
        });
        self.data_octets = sized.and_then(|two| leading(two[0])).map(|(octets, _)| octets);
        self.windows = line.starts_with("Pinging ");
        self.ipv6 = line.starts_with("PING6") || words.iter().skip(1).take(2).any(|w| is_ipv6(w));
        self.begun = true;
        true
    }

    fn reply(&mut self, line: &str) -> bool {
        let numbered = line.starts_with(|c: char| c.is_ascii_digit());
        let unix = numbered && line.contains(" bytes from ") && line.contains("seq=");
        // `Reply from 10.0.0.1: bytes=32 time<1ms TTL=128`
        let windows = line.starts_with("Reply from ") && line.contains("TTL=");
        let ipv6 = line.starts_with("Reply from ") && line.contains("time") && !windows;
        if !(unix || windows || ipv6) {
            return false;
        }
        self.windows |= windows || ipv6;
        let time = line.split_once("time=").and_then(|(_, rest)| leading(rest));
        // A second answer to one request is no round trip of its own.
        if let Some((time, unit)) = time.filter(|_| !self.windows && !line.contains("DUP!")) {
            let scale = if unit.trim_start().starts_with("us") { 1e3 } else { MS };
            self.replies.push(time * scale);
        }
        true
    }

    /// `100 packets transmitted, 100 received, +2 duplicates, 0% packet loss, time 101357ms`;
    /// `Packets: Sent = 4, Received = 4, Lost = 0 (0% loss),`
    fn counted(&mut self, line: &str) -> bool {
        if line.starts_with("Packets: Sent =") {
            self.counts = behind(line, "Sent =").zip(behind(line, "Received ="));
            return true;
        }
        if !line.contains("packets transmitted,") {
            return false;
        }
        let part = |at: usize| line.split(',').nth(at).and_then(leading).map(|(count, _)| count);
        let counts = part(0).zip(part(1));
        self.counts = counts.or(self.counts);
        counts.is_some()
    }

    /// `rtt min/avg/max/mdev = 0.029/0.042/0.068/0.013 ms`; `Minimum = 0ms, Maximum = 1ms, …`
    fn summed_up(&mut self, line: &str) -> bool {
        if line.starts_with("Minimum =") {
            let told = [behind(line, "Minimum ="), behind(line, "Average =")];
            if let ([Some(least), Some(mean)], Some(most)) = (told, behind(line, "Maximum =")) {
                self.summary = Some([least, mean, most]);
                return true;
            }
            return false;
        }
        if !(line.starts_with("rtt min/avg/max") || line.starts_with("round-trip min/avg/max")) {
            return false;
        }
        let Some((_, values)) = line.split_once('=') else { return false };
        let numbers = values.split_whitespace().next().unwrap_or_default();
        let values: Option<Vec<f64>> = numbers.split('/').map(number).collect();
        let Some([least, mean, most, ..]) = values.as_deref() else { return false };
        // mdev is the population's deviation; nothing is made of it.
        self.summary = Some([*least, *mean, *most]);
        true
    }

    fn is_around(&self, line: &str) -> bool {
        const STARTS: [&str; 16] = [
            "ping -",
            "$ ping ",
            "ping: ",
            "no answer yet for icmp_seq",
            "Request timeout for icmp_seq",
            "Request timed out",
            "Ping statistics for ",
            "Approximate round trip times",
            "ping statistics",
            "WARNING: ",
            "Warning: ",
            "pipe ",
            "Vr HL TOS",
            "Control-C",
            "^C",
            "C:\\",
        ];
        // GNU's flood goes on in the line of its dots.
        let is_statistics = line.contains("--- ") && line.ends_with("statistics ---");
        let is_dots = self.begun
            && !line.is_empty()
            && line.chars().all(|c| matches!(c, '.' | ' ' | '!' | '\u{8}' | 'E'));
        let unreachable = (line.starts_with("From ") && line.contains("icmp_seq"))
            || (leading(line).is_some() && line.contains(" bytes from ") && self.begun)
            || line.starts_with("Reply from ");
        is_statistics || is_dots || unreachable || STARTS.iter().any(|s| line.starts_with(s))
    }

    fn row(&self) -> Row {
        let header = if self.ipv6 { 40 } else { 20 };
        // ICMP and IP headers, MAC header and FCS; a frame is at least 64.
        let data = self.data_octets.filter(|data| (0.0..=9_000.0).contains(data));
        Row::of("ping")
            .with(Key::Protocol, "icmp")
            .with_known(Key::FrameSize, data.map(|data| (data as u64 + 26 + header).max(64)))
            .with_known(Key::IpVersion, self.ipv6.then_some("ipv6"))
            .doubting(Caveat::SoftwareTimestamps)
    }

    /// One ping's results; without a summary it was cut off.
    fn put(self, found: &mut Found) {
        let received = self.counts.map_or(self.replies.count as f64, |(_, received)| received);
        let impossible = self.counts.filter(|(sent, received)| *sent < 0.0 || *received < 0.0);
        let row = self.row().samples(received.max(0.0) as u64);
        let cut = self.counts.is_none();
        let row = row.doubting_if(cut, Caveat::CutOff);
        let code = "negative-count";
        let impossible = impossible.map(|(sent, received)| Contradiction {
            code,
            said: received,
            counted: sent,
        });
        let row = row.contradicted(impossible.or_else(|| self.contradiction()));
        match (self.summary, self.windows) {
            _ if !self.replies.is_empty() => found.samples(&row, Metric::Rtt, &self.replies, 1.0),
            (Some(whole), true) => found.coarse(&row, Metric::Rtt, whole.map(|ms| ms * MS), MS),
            (Some(summary), false) => found.summary(&row, Metric::Rtt, summary.map(|ms| ms * MS)),
            (None, _) => {}
        }
        let Some((sent, received)) = self.counts.filter(|_| impossible.is_none()) else { return };
        // A request may be answered by several; those are duplicates.
        if sent > 0.0 {
            let lost = (1.0 - received / sent).max(0.0);
            let row = row.samples(sent as u64);
            found.put(&row, Metric::LossRatio, Unit::Ratio, lost);
        }
    }

    /// The summary's mean and that of the replies' lines, where all of them are there.
    fn contradiction(&self) -> Option<Contradiction> {
        let (printed, counted) = (self.summary?[1] * MS, self.replies.mean()?);
        let complete =
            self.counts.is_some_and(|(_, received)| received as u64 == self.replies.count);
        // A reply's time is rounded to three digits.
        let agree = (printed - counted).abs() <= 0.05 * counted.max(printed) + 2e3;
        let counted = (counted / MS * 1e3).round() / 1e3;
        (complete && !agree).then_some(Contradiction {
            code: "mean-ms-of-replies",
            said: printed / MS,
            counted,
        })
    }
}

fn is_ipv6(word: &str) -> bool {
    word.trim_matches(['(', ')', ':']).contains(':') || word.contains("::")
}
