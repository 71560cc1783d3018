//! Interval line of either version; the columns after its rate are shapes. Pure.
//!
//! Never identifies a column by its position if its heading names it.

use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::numbers::{Printed, leading, number, prefix, printed};
use crate::shapes::Values;

/// Contents of a line.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub id: String,
    pub is_reverse: bool,
    /// True for version 3, false for version 2; `None` if the format does not show it.
    pub is_three: Option<bool>,
    pub from: f64,
    pub to: f64,
    /// True if its times have four digits.
    pub is_fine: bool,
    /// Error bound of its time.
    pub time_step: f64,
    pub receiver: bool,
    pub sender: bool,
    pub omitted: bool,
    pub moved: Moved,
}

/// Data that was moved, according to a line or to several together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    /// Number of the line, if it is one.
    pub number: Option<usize>,
    pub seconds: f64,
    pub bits_per_second: Printed,
    pub bytes: Printed,
    pub counts: Option<Counts>,
    pub retransmits: Option<f64>,
    pub cwnd: Option<f64>,
    pub round_trips: Option<RoundTrips>,
    /// Number of datagrams that their sender counts.
    pub datagrams: Option<f64>,
    /// Datagrams that arrived in a second.
    pub per_second: Option<f64>,
    /// True if a sender of datagrams prints these counts.
    pub sends_datagrams: bool,
}

/// Round trips of a bounceback.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundTrips {
    pub count: f64,
    /// Minimum, mean and maximum in milliseconds.
    pub ends: [f64; 3],
    pub deviation: f64,
    pub per_second: f64,
}

/// Columns after the rate, as named by the last heading.
#[derive(Debug, Clone, Default)]
pub(super) struct Heading {
    retransmits: bool,
    datagrams: bool,
    /// Position of the window in iperf 2's `InF(pkts)/Cwnd(pkts)/RTT(var)`.
    window: Option<usize>,
}

impl Heading {
    pub(super) fn parse(line: &str) -> Self {
        let parts =
            line.split_whitespace().find(|word| word.contains("Cwnd") && word.contains('/'));
        let window = |word: &str| word.split('/').position(|part| part.starts_with("Cwnd"));
        Self {
            retransmits: line.contains(" Retr"),
            datagrams: line.contains("Total Datagrams") && !line.contains('/'),
            window: parts.and_then(window),
        }
    }
}

impl Line {
    /// Parses `[SUM] 0.00-60.00 sec 1.32 GBytes 190 Mbits/sec 0.016 ms 3584655/25799702 (14%)
    /// receiver`. With both directions a role stands between the brackets and the interval.
    pub(super) fn parse(line: &str, heading: &Heading) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (role, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let (start, rest) = rest.trim_start().split_once('-')?;
        let from = number(start)?;
        let (to, rest) = leading(rest)?;
        let blanks = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start().strip_prefix("sec")?;
        let mut words = rest.split_whitespace();
        let bytes = octets(words.next()?, words.next()?)?;
        let unit = (words.next()?, words.next()?);
        let bits_per_second = rate(unit.0, unit.1)?;
        // Version 2 writes one digit or four after the point, version 3 pads its intervals.
        let digits = start.split_once('.').map(|(_, digits)| digits.len());
        let is_three = if digits.is_some_and(|digits| digits != 2) { Some(false) } else { None };
        let id = id.trim();
        let mut own = Self {
            id: id.trim_start_matches('*').to_owned(),
            is_reverse: id.starts_with('*') || matches!(role, "RX-C" | "TX-S"),
            is_three: is_three.or((blanks > 1).then_some(true)),
            from,
            to,
            is_fine: digits == Some(4),
            time_step: 0.02,
            moved: Moved { seconds: to - from, bits_per_second, bytes, ..Moved::default() },
            ..Self::default()
        };
        own.tail(rest.split_once(unit.1)?.1.trim(), heading)?;
        Some(own)
    }

    /// Reads the rest of a line: it has one of the shapes to its end, or it is not iperf's.
    fn tail(&mut self, text: &str, heading: &Heading) -> Option<()> {
        let ends: [(&str, &mut bool); 3] = [
            ("receiver", &mut self.receiver),
            ("sender", &mut self.sender),
            ("(omitted)", &mut self.omitted),
        ];
        let mut text = text;
        for (end, is) in ends {
            if let Some(rest) = text.strip_suffix(end) {
                (text, *is) = (rest.trim_end(), true);
            }
        }
        if text.is_empty() {
            return Some(());
        }
        let values = Values::read("iperf.tail", text)?;
        let of = |name| values.number(name);
        if values.text("two").is_some() {
            self.is_three = Some(false);
        }
        let percent = of("percent");
        let counts = of("lost").zip(of("all"));
        let single = of("single");
        // Only TCP has a single number in its sum of the sent data.
        let again = single.filter(|_| heading.retransmits || self.sender);
        let own = &mut self.moved;
        own.counts = counts.map(|(lost, all)| Counts { lost, all, percent });
        own.per_second = of("pps");
        own.retransmits = again.or(of("again"));
        own.datagrams = single.filter(|_| heading.datagrams);
        own.sends_datagrams = own.datagrams.is_some() || values.text("sends").is_some();
        if let Some((value, unit)) = values.text("window").zip(values.text("unit")) {
            own.cwnd = Some(octets(value, unit)?.value);
        } else if let Some((windows, at)) = values.text("windows").zip(heading.window) {
            own.cwnd = windows.split('/').nth(at).and_then(window_octets);
        }
        if let Some(count) = of("trips") {
            let ends = [of("least")?, of("mean")?, of("most")?];
            let (deviation, per_second) = (of("deviation")?, of("rps")?);
            own.round_trips = Some(RoundTrips { count, ends, deviation, per_second });
        }
        Some(())
    }

    pub(super) const fn is_end(&self) -> bool {
        self.receiver || self.sender
    }

    /// Contradiction if its rate is not its octets over its time.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let Moved { seconds, bytes, bits_per_second, per_second, counts, .. } = self.moved;
        if seconds < 0.5 {
            return None;
        }
        let counted = bytes.times(8.0 / seconds);
        let counted = counted.plus_step(counted.value * self.time_step / seconds);
        let rate = Contradiction::unless_same("rate-of-octets", bits_per_second, counted);
        let told = per_second.filter(|rate| *rate > 0.0).zip(counts);
        let of_counts = told.and_then(|(said, counts)| {
            let counted = Printed::near((counts.all - counts.lost) / seconds, 0.02).plus_step(1.0);
            Contradiction::unless_same("datagrams-of-count", said, counted)
        });
        rate.or(of_counts)
    }
}

impl Moved {
    /// Sums up the counts of two, whose rates and times are others' matter.
    pub(super) fn and(self, other: Self) -> Self {
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        let counts = self.counts.zip(other.counts);
        Self {
            bytes: self.bytes.plus(other.bytes),
            counts: counts.map(|(a, b)| Counts::sum(&[a, b])),
            retransmits: sum(self.retransmits, other.retransmits),
            datagrams: sum(self.datagrams, other.datagrams),
            cwnd: self.cwnd.into_iter().chain(other.cwnd).reduce(f64::max),
            ..Self::default()
        }
    }
}

/// Parses `1.32 GBytes`.
fn octets(value: &str, unit: &str) -> Option<Printed> {
    let letter = unit.strip_suffix("Bytes").or_else(|| unit.strip_suffix("bits"));
    let letter = letter.or_else(|| unit.strip_suffix("Byte"))?;
    let each = if unit.ends_with("bits") { 0.125 } else { 1.0 };
    Some(printed(value)?.times(each * prefix(letter.chars().next(), 1024.0)?))
}

/// Parses `190 Mbits/sec`, `22.6 MBytes/sec`.
fn rate(value: &str, unit: &str) -> Option<Printed> {
    let value = printed(value)?;
    if let Some(letter) = unit.strip_suffix("bits/sec") {
        return Some(value.times(prefix(letter.chars().next(), 1000.0)?));
    }
    let letter = unit.strip_suffix("Bytes/sec")?;
    Some(value.times(8.0 * prefix(letter.chars().next(), 1024.0)?))
}

/// Parses `1681K(1189)`, `895K`; `None` for `-1K` and `NA`, which mean unknown.
fn window_octets(text: &str) -> Option<f64> {
    let (value, rest) = leading(text)?;
    let letter = rest.chars().next().filter(char::is_ascii_alphabetic);
    Some(value * prefix(letter, 1024.0)?).filter(|octets| *octets >= 0.0)
}
