//! Interval line of either version; the columns after its rate are shapes. Pure.
//!
//! Never identifies a column by its position if its heading names it.

use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::moved::{Moved, RoundTrips};
use crate::numbers::{Printed, bits, leading, number, prefix, printed};
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

    /// Contradiction if its rate is not its octets or its datagrams over its time.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let Moved { seconds, per_second, counts, .. } = self.moved;
        if seconds < 0.5 {
            return None;
        }
        let told = per_second.filter(|rate| *rate > 0.0).zip(counts);
        let of_counts = told.and_then(|(said, counts)| {
            let counted = Printed::near((counts.all - counts.lost) / seconds, 0.02).plus_step(1.0);
            Contradiction::unless_same("datagrams-of-count", said, counted)
        });
        self.moved.contradiction(self.time_step).or(of_counts)
    }
}

/// Parses `1.32 GBytes`.
fn octets(value: &str, unit: &str) -> Option<Printed> {
    Some(printed(value)?.times(bits(unit)? / 8.0))
}

/// Parses `190 Mbits/sec`, `22.6 MBytes/sec`.
fn rate(value: &str, unit: &str) -> Option<Printed> {
    Some(printed(value)?.times(bits(unit.strip_suffix("/sec")?)?))
}

/// Parses `1681K(1189)`, `895K`; `None` for `-1K` and `NA`, which mean unknown.
fn window_octets(text: &str) -> Option<f64> {
    let (value, rest) = leading(text)?;
    let letter = rest.chars().next().filter(char::is_ascii_alphabetic);
    Some(value * prefix(letter, 1024.0)?).filter(|octets| *octets >= 0.0)
}
