//! One line of an interval, as either version prints it. Pure.

use crate::counts::Counts;
use crate::numbers::{leading, number, prefix};

/// What it says.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub id: String,
    pub is_reverse: bool,
    pub is_three: bool,
    pub from: f64,
    pub to: f64,
    pub bits_per_second: f64,
    pub bytes: f64,
    pub counts: Option<Counts>,
    pub retransmits: Option<f64>,
    pub cwnd: Option<f64>,
    pub receiver: bool,
    pub sender: bool,
    pub omitted: bool,
}

/// The stream in front of a line: `[  5]`, `[ *1]`, `[SUM]`.
pub(super) fn id_of(line: &str) -> Option<String> {
    let (id, _) = line.strip_prefix('[')?.split_once(']')?;
    Some(id.trim().trim_start_matches('*').to_owned())
}

impl Line {
    /// `[SUM] 0.00-60.00 sec 1.32 GBytes 190 Mbits/sec 0.016 ms 3584655/25799702 (14%) receiver`,
    /// and between the brackets and the interval a role with both directions.
    pub(super) fn of(line: &str) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (role, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let (start, rest) = rest.trim_start().split_once('-')?;
        let from = number(start)?;
        let (to, rest) = leading(rest)?;
        let rest = rest.trim_start().strip_prefix("sec")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let bytes = octets(words.first()?, words.get(1)?)?;
        let bits_per_second = rate(words.get(2)?, words.get(3)?)?;
        let tail = &words[4..];
        let counts = counts(tail);
        let (retransmits, cwnd) =
            if counts.is_some() || tail.contains(&"pps") { (None, None) } else { again(tail) };
        Some(Self {
            id: id.trim().trim_start_matches('*').to_owned(),
            is_reverse: id.trim().starts_with('*') || matches!(role, "RX-C" | "TX-S"),
            // Version 2 writes one digit or four behind the point.
            is_three: start.split_once('.').is_some_and(|(_, digits)| digits.len() == 2),
            from,
            to,
            bits_per_second,
            bytes,
            counts,
            retransmits,
            cwnd,
            receiver: tail.contains(&"receiver"),
            sender: tail.contains(&"sender"),
            omitted: tail.contains(&"(omitted)"),
        })
    }

    pub(super) const fn is_end(&self) -> bool {
        self.receiver || self.sender
    }

    pub(super) fn length(&self) -> f64 {
        self.to - self.from
    }
}

/// `1.32 GBytes`
fn octets(value: &str, unit: &str) -> Option<f64> {
    let letter = unit.strip_suffix("Bytes").or_else(|| unit.strip_suffix("bits"))?;
    let each = if unit.ends_with("bits") { 0.125 } else { 1.0 };
    Some(number(value)? * each * prefix(letter.chars().next(), 1024.0)?)
}

/// `190 Mbits/sec`, `22.6 MBytes/sec`
fn rate(value: &str, unit: &str) -> Option<f64> {
    let value = number(value)?;
    if let Some(letter) = unit.strip_suffix("bits/sec") {
        return Some(value * prefix(letter.chars().next(), 1000.0)?);
    }
    let letter = unit.strip_suffix("Bytes/sec")?;
    Some(8.0 * value * prefix(letter.chars().next(), 1024.0)?)
}

/// Behind the jitter, where there is one: `0.016 ms 3584655/25799702 (14%)`, `0/  893 (0%)`
fn counts(tail: &[&str]) -> Option<Counts> {
    let jitter = tail.get(1) == Some(&"ms") && number(tail[0]).is_some();
    let rest = if jitter { tail.get(2..)? } else { tail };
    let end = rest.iter().position(|word| word.starts_with('(') && word.ends_with("%)"))?;
    let joined = rest[..end].concat();
    let (lost, all) = joined.split_once('/')?;
    let percent = rest[end].trim_matches(['(', ')']).strip_suffix('%').and_then(number);
    Some(Counts { lost: number(lost)?, all: number(all)?, percent })
}

/// Retransmits and the window: `30    895 KBytes` of version 3, `21238/0  0  895K/2055(3889) us` of
/// version 2.
fn again(tail: &[&str]) -> (Option<f64>, Option<f64>) {
    match tail {
        [writes, count, window, ..] if writes.contains('/') => {
            let window = window.split_once('/').and_then(|(window, _)| {
                let (value, letter) = leading(window)?;
                Some(value * prefix(letter.chars().next(), 1024.0)?)
            });
            (number(count), window)
        }
        [count, value, unit, ..] if unit.ends_with("Bytes") => (number(count), octets(value, unit)),
        [count, ..] => (number(count), None),
        [] => (None, None),
    }
}
