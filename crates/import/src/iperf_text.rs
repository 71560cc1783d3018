//! iperf's text, of versions 2 and 3: lines of an interval and its sum.
//!
//! Owns which of many lines is the result: the receiver's where it is told, the sum of all streams
//! where there is one, the longest interval. Never adds a loss to one that the tool did not see.

use std::collections::BTreeMap;

use page::{Caveat, Key, Metric, Unit};

use crate::found::{Found, Row};
use crate::lines::Lines;
use crate::numbers::{leading, number, prefix};

pub(crate) fn read(lines: &mut Lines<'_>, found: &mut Found) {
    let mut seen: Vec<Line> = Vec::new();
    for at in 0..lines.all.len() {
        let line = lines.all[at].trim();
        if line == "iperf Done." || line.starts_with("Connecting to host ") {
            lines.take(at);
        }
        if let Some(read) = Line::of(line) {
            // A new client's first stream begins a new output.
            if read.id != "SUM" && read.from <= 0.0 && !read.is_end() && ended(&seen) {
                put(found, &std::mem::take(&mut seen));
            }
            seen.push(read);
            lines.take(at);
        } else if is_chatter(line) {
            lines.take(at);
        }
    }
    put(found, &seen);
}

/// Whether an output has come to its end: nothing but summaries at its end.
fn ended(seen: &[Line]) -> bool {
    seen.last().is_some_and(Line::is_end)
}

/// One line of an interval.
#[derive(Debug, Clone)]
struct Line {
    id: String,
    from: f64,
    to: f64,
    bits_per_second: f64,
    bytes: f64,
    lost: Option<(f64, f64)>,
    retransmits: Option<f64>,
    cwnd: Option<f64>,
    receiver: bool,
    sender: bool,
}

impl Line {
    /// `[SUM] 0.00-60.00 sec 1.32 GBytes 190 Mbits/sec 0.016 ms 3584655/25799702 (14%) receiver`
    fn of(line: &str) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (from, rest) = rest.trim_start().split_once('-')?;
        let from = number(from)?;
        let (to, rest) = leading(rest)?;
        let rest = rest.trim_start().strip_prefix("sec")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let bytes = scaled(words.first()?, words.get(1)?, "Bytes", 1024.0)?;
        let bits_per_second = scaled(words.get(2)?, words.get(3)?, "bits/sec", 1000.0)?;
        let tail = &words[4..];
        let lost = tail.iter().find_map(|word| lost_of(word)).or_else(|| split_lost(tail));
        let udp = lost.is_some() || tail.contains(&"ms");
        let count = tail.first().filter(|_| !udp).and_then(|word| number(word));
        let cwnd = match tail {
            [_, value, unit, ..] if !udp => scaled(value, unit, "Bytes", 1024.0),
            _ => None,
        };
        Some(Self {
            id: id.trim().to_owned(),
            from,
            to,
            bits_per_second,
            bytes,
            lost,
            retransmits: count,
            cwnd,
            receiver: tail.contains(&"receiver"),
            sender: tail.contains(&"sender"),
        })
    }

    const fn is_end(&self) -> bool {
        self.receiver || self.sender
    }

    fn length(&self) -> f64 {
        self.to - self.from
    }
}

/// `1.32 GBytes`, `190 Mbits/sec`
fn scaled(value: &str, unit: &str, of: &str, step: f64) -> Option<f64> {
    let letter = unit.strip_suffix(of)?;
    Some(number(value)? * prefix(letter.chars().next(), step)?)
}

/// `3584655/25799702`
fn lost_of(word: &str) -> Option<(f64, f64)> {
    let (lost, all) = word.split_once('/')?;
    let (lost, all) = (number(lost)?, number(all)?);
    (lost >= 0.0 && all >= lost).then_some((lost, all))
}

/// `0/  893`, as iperf 2 aligns it.
fn split_lost(words: &[&str]) -> Option<(f64, f64)> {
    let pair = words.windows(2).find(|two| two[0].ends_with('/'))?;
    lost_of(&format!("{}{}", pair[0], pair[1]))
}

/// One output's result.
fn put(found: &mut Found, lines: &[Line]) {
    let longest = lines.iter().map(Line::length).fold(0.0, f64::max);
    // Streams end a moment apart.
    let whole: Vec<&Line> = lines.iter().filter(|l| l.length() >= 0.95 * longest).collect();
    let Some(result) = result(&whole, lines) else { return };
    let datagrams = result.lost.is_some();
    let mut row = Row::of("iperf").with(Key::Protocol, if datagrams { "udp" } else { "tcp" });
    if let (true, Some((_, all))) = (datagrams, result.lost) {
        row = row.doubting(Caveat::GapLoss).samples(all as u64);
    }
    let goodput = row.clone().with(Key::RateConvention, "payload");
    found.put(&goodput, Metric::Goodput, Unit::BitsPerSecond, result.bits_per_second);
    if let Some((lost, all)) = result.lost.filter(|(_, all)| *all > 0.0 && result.length() > 0.0) {
        let seconds = result.length();
        found.put(&row, Metric::Received, Unit::FramesPerSecond, (all - lost) / seconds);
        found.put(&row, Metric::Lost, Unit::FramesPerSecond, lost / seconds);
        found.put(&row, Metric::LossRatio, Unit::Ratio, lost / all);
    }
    if let Some(again) = result.retransmits {
        found.put(&row, Metric::Retransmits, Unit::Count, again);
    }
    let cwnd = lines.iter().filter_map(|line| line.cwnd).max_by(f64::total_cmp);
    if let Some(cwnd) = cwnd {
        found.put(&row, Metric::CwndMax, Unit::Bytes, cwnd);
    }
}

/// The line that sums an output up, or one made of its intervals where it was cut off.
fn result(whole: &[&Line], lines: &[Line]) -> Option<Line> {
    let pick = |wanted: &dyn Fn(&Line) -> bool| {
        let of =
            |sum: bool| whole.iter().rev().find(|l| wanted(l) && (l.id.starts_with("SUM") == sum));
        of(true).or_else(|| of(false)).map(|line| (*line).clone())
    };
    // What arrived counts; without its line, any that knows of losses; then the sender's.
    let mut best = pick(&|line: &Line| line.receiver)
        .or_else(|| pick(&|line: &Line| line.lost.is_some()))
        .or_else(|| pick(&|line: &Line| line.sender));
    if let (Some(line), Some(sent)) = (&mut best, pick(&|line: &Line| line.sender)) {
        line.retransmits = line.retransmits.or(sent.retransmits);
    }
    best.or_else(|| of_intervals(lines)).or_else(|| pick(&|_| true))
}

/// All intervals of one stream, where there are several in a row.
fn of_intervals(lines: &[Line]) -> Option<Line> {
    let mut streams: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        streams.entry(&line.id).or_default().push(line);
    }
    let own =
        streams.get("SUM").or_else(|| (streams.len() == 1).then(|| streams.values().next())?)?;
    let in_order = own.windows(2).all(|two| two[1].from >= two[0].to - 1e-6);
    let (first, last) = (own.first()?, own.last()?);
    if own.len() < 2 || !in_order || last.to <= first.from {
        return None;
    }
    let bytes: f64 = own.iter().map(|line| line.bytes).sum();
    let again: Option<f64> = own.iter().map(|line| line.retransmits).sum();
    let seconds = last.to - first.from;
    Some(Line {
        from: first.from,
        bits_per_second: 8.0 * bytes / seconds,
        bytes,
        retransmits: again,
        ..(*last).clone()
    })
}

fn is_chatter(line: &str) -> bool {
    let inside = line.strip_prefix('[').is_some_and(|rest| {
        ["] local ", "] Sent ", "] Server Report", "Interval", "Role"]
            .iter()
            .any(|w| rest.contains(w))
    });
    let around = [
        "Client connecting to",
        "Server listening on",
        "UDP buffer size",
        "TCP window size",
        "Sending ",
        "Accepted connection",
        "iperf3 -c ",
        "iperf -c ",
        "Time:",
        "Cookie:",
    ];
    inside
        || around.iter().any(|start| line.starts_with(start))
        || (line.len() > 8 && line.chars().all(|c| matches!(c, '-' | ' ')))
}
