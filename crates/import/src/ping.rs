//! ping's text: of Linux (iputils), of BSD and macOS, and of busybox.
//!
//! Owns the reading of its summary and of its replies' lines. Never trusts a mean to be a median:
//! only replies give quantiles.

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::lines::Lines;
use crate::numbers::{leading, number};

pub(crate) fn read(lines: &mut Lines<'_>, found: &mut Found) {
    let mut seen = Seen::default();
    for at in 0..lines.all.len() {
        if line(lines.all[at], &mut seen, found) {
            lines.take(at);
        }
    }
    seen.end(found);
}

/// One ping, as far as it was read.
#[derive(Debug, Default)]
struct Seen {
    /// Of the IP packet's payload.
    data_octets: Option<f64>,
    replies: Vec<f64>,
    received: u64,
    lost_share: Option<f64>,
}

impl Seen {
    fn row(&self) -> Row {
        let row = Row::of("ping").with(Key::Protocol, "icmp").doubting(Caveat::SoftwareTimestamps);
        match self.data_octets {
            // ICMP and IPv4 headers, MAC header and FCS; a frame is at least 64.
            Some(data) if (0.0..=9_000.0).contains(&data) => {
                row.with(Key::FrameSize, (data as u64 + 8 + 20 + 18).max(64))
            }
            _ => row,
        }
    }

    /// Replies without a summary: it was cut off, or interrupted.
    fn end(&mut self, found: &mut Found) {
        let replies = std::mem::take(&mut self.replies);
        if !replies.is_empty() {
            found.samples(&self.row(), Metric::Rtt, replies);
        }
        *self = Self::default();
    }
}

/// Whether the line is ping's.
fn line(line: &str, seen: &mut Seen, found: &mut Found) -> bool {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("PING ") {
        seen.end(found);
        // `56(84) bytes of data` (Linux), `56 data bytes` (BSD, busybox)
        let words: Vec<&str> = rest.split_whitespace().collect();
        let sized = words.windows(2).find(|two| matches!(two[1], "bytes" | "data"));
        seen.data_octets = sized.and_then(|two| leading(two[0])).map(|(octets, _)| octets);
        return true;
    }
    if line.contains(" bytes from ") && line.contains("seq=") {
        if let Some((time, unit)) = line.split_once("time=").and_then(|(_, rest)| leading(rest)) {
            let scale = if unit.trim_start().starts_with("us") { 1e3 } else { 1e6 };
            seen.replies.push(time * scale);
        }
        return true;
    }
    if line.starts_with("---") && line.ends_with("ping statistics ---") {
        return true;
    }
    if line.contains("packets transmitted,") {
        // `100 packets transmitted, 100 received, 0% packet loss, time 101357ms`, or `packets
        // received`
        let part = |at: usize| line.split(',').nth(at).and_then(leading).map(|(count, _)| count);
        if let (Some(sent), Some(received)) = (part(0), part(1)) {
            seen.received = received as u64;
            if sent > 0.0 && received <= sent {
                seen.lost_share = Some(1.0 - received / sent);
            }
        }
        return true;
    }
    if line.starts_with("rtt min/avg/max") || line.starts_with("round-trip min/avg/max") {
        return summary(line, seen, found);
    }
    line.starts_with("ping -") || line.starts_with("$ ping ")
}

fn summary(line: &str, seen: &mut Seen, found: &mut Found) -> bool {
    let Some((_, values)) = line.split_once('=') else { return false };
    let numbers = values.split_whitespace().next().unwrap_or_default();
    let values: Option<Vec<f64>> = numbers.split('/').map(number).collect();
    let Some([least, mean, most, ..]) = values.as_deref() else { return false };
    let row = seen.row().samples(seen.received);
    if seen.replies.is_empty() {
        found.at(&row, Metric::Rtt, 0.0, least * 1e6);
        found.at(&row, Metric::Rtt, 1.0, most * 1e6);
        found.mean(&row, Metric::Rtt, Unit::Nanoseconds, mean * 1e6);
    } else {
        found.samples(&seen.row(), Metric::Rtt, std::mem::take(&mut seen.replies));
    }
    if let Some(lost) = seen.lost_share {
        found.put(&row, Metric::LossRatio, Unit::Ratio, lost);
    }
    // mdev is the population's deviation; nothing is made of it.
    *seen = Seen::default();
    true
}
