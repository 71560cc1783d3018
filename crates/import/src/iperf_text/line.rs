//! Interval line of either version, with a table of possible columns after its rate. Pure.
//!
//! Never identifies a column by its position if its heading names it.

use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::numbers::{Printed, fits, leading, number, numbers, prefix, printed};

/// Contents of a line.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub id: String,
    pub number: usize,
    pub is_reverse: bool,
    /// True for version 3, false for version 2; `None` if the format does not show it.
    pub is_three: Option<bool>,
    pub from: f64,
    pub to: f64,
    /// True if its times have four digits.
    pub is_fine: bool,
    /// Error bound of its time.
    pub time_step: f64,
    pub bits_per_second: Printed,
    pub bytes: Printed,
    pub tail: Tail,
}

/// Columns after its rate.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
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
    pub receiver: bool,
    pub sender: bool,
    pub omitted: bool,
    /// True if only iperf 2 prints it.
    pub is_two: bool,
}

/// Round trips of a bounceback.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundTrips {
    pub count: f64,
    /// Minimum, mean, maximum and deviation in milliseconds.
    pub least: f64,
    pub mean: f64,
    pub most: f64,
    pub deviation: f64,
    pub per_second: f64,
}

/// Columns after the rate, as named by the last heading.
#[derive(Debug, Clone, Default)]
pub(super) struct Heading {
    pub retransmits: bool,
    pub datagrams: bool,
    /// Position of the window in iperf 2's `InF(pkts)/Cwnd(pkts)/RTT(var)`.
    pub window: Option<usize>,
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

/// Parses the stream before a line: `[  5]`, `[ *1]`, `[SUM]`.
pub(super) fn id_of(line: &str) -> Option<String> {
    let (id, _) = line.strip_prefix('[')?.split_once(']')?;
    Some(id.trim().trim_start_matches('*').to_owned())
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
        let tail = Tail::parse(rest.split_once(unit.1)?.1.trim(), heading)?;
        // Version 2 writes one digit or four after the point, version 3 pads its intervals.
        let two = start.split_once('.').is_some_and(|(_, digits)| digits.len() != 2);
        let is_three = if two || tail.is_two { Some(false) } else { (blanks > 1).then_some(true) };
        let id = id.trim();
        Some(Self {
            id: id.trim_start_matches('*').to_owned(),
            number: 0,
            is_reverse: id.starts_with('*') || matches!(role, "RX-C" | "TX-S"),
            is_three,
            from,
            to,
            is_fine: start.split_once('.').is_some_and(|(_, digits)| digits.len() == 4),
            time_step: 0.02,
            bits_per_second,
            bytes,
            tail,
        })
    }

    pub(super) const fn is_end(&self) -> bool {
        self.tail.receiver || self.tail.sender
    }

    pub(super) fn length(&self) -> f64 {
        self.to - self.from
    }

    /// Contradiction if its rate is not its octets over its time.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let seconds = self.length();
        if seconds < 0.5 {
            return None;
        }
        let counted = self.bytes.times(8.0 / seconds);
        let counted = counted.plus_step(counted.value * self.time_step / seconds);
        let rate = Contradiction::unless_same("rate-of-octets", self.bits_per_second, counted);
        let told = self.tail.per_second.filter(|rate| *rate > 0.0).zip(self.tail.counts);
        let of_counts = told.and_then(|(said, counts)| {
            let counted = Printed::near((counts.all - counts.lost) / seconds, 0.02).plus_step(1.0);
            Contradiction::unless_same("datagrams-of-count", said, counted)
        });
        rate.or(of_counts)
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

impl Tail {
    /// Parses the rest of a line: it matches one of these shapes to its end, or it is not iperf's.
    fn parse(text: &str, heading: &Heading) -> Option<Self> {
        let mut tail = Self::default();
        let ends: [(&str, &mut bool); 3] = [
            ("receiver", &mut tail.receiver),
            ("sender", &mut tail.sender),
            ("(omitted)", &mut tail.omitted),
        ];
        let mut text = text;
        for (end, is) in ends {
            if let Some(rest) = text.strip_suffix(end) {
                (text, *is) = (rest.trim_end(), true);
            }
        }
        if text.is_empty() {
            return Some(tail);
        }
        if let Some([count]) = numbers("#", text).as_deref() {
            // Only TCP has a single number in its sum of the sent data.
            tail.retransmits = (heading.retransmits || tail.sender).then_some(*count);
            tail.sends_datagrams = heading.datagrams;
            tail.datagrams = heading.datagrams.then_some(*count);
            return Some(tail);
        }
        if let Some([again, value, unit]) = fits("# # *", text).as_deref() {
            tail.retransmits = number(again);
            tail.cwnd = Some(octets(value, unit)?.value);
            return Some(tail);
        }
        tail.datagrams(text).or_else(|| tail.of_two(text, heading)).map(|()| tail)
    }

    /// Parses `0.016 ms 3584655/25799702 (14%)`, `0/  893 (0%)`, `(-nan%)` of none; iperf 2 adds
    /// delays.
    fn datagrams(&mut self, text: &str) -> Option<()> {
        let plain = || fits("# ms #/^# (*%)", text).or_else(|| fits("#/^# (*%)", text));
        let enhanced = fits("# ms #/^# (*%) */*/*/* ms # pps ~", text);
        self.per_second = enhanced.as_ref().and_then(|found| number(found[8]));
        let enhanced = enhanced.map(|found| found[..4].to_vec());
        self.is_two = enhanced.is_some();
        let found = enhanced.or_else(plain)?;
        let [.., lost, all, percent] = found[..] else { return None };
        let percent = number(percent);
        self.counts = Some(Counts { lost: number(lost)?, all: number(all)?, percent });
        Some(())
    }

    /// Parses `21238/0  0  127K(2)/1023K(16)/79(23) us  8154` and the other columns of version 2
    /// only.
    fn of_two(&mut self, text: &str, heading: &Heading) -> Option<()> {
        const OTHERS: [&str; 4] = [
            // Histogram of the receiver's reads.
            "#=#:#:#:#:#:#:#:#",
            // Delays of bursts, which involve two clocks.
            "#/^#/^#/^# ms (#/#) # * # #=#:#:#:#:#:#:#:#",
            "#/^#/^#/^# ms (#/#) # * #",
            "#/# # us #",
        ];
        self.is_two = true;
        if fits("#/# # pps", text).is_some() || fits("#/#/# # pps", text).is_some() {
            self.sends_datagrams = true;
        } else if let Some(found) = fits("#/# # * us *", text) {
            self.retransmits = number(found[2]);
            let window = heading.window.and_then(|at| found[3].split('/').nth(at));
            self.cwnd = window.and_then(window_octets);
        } else if let Some(found) = numbers("#=#/#/#/# ms # */# us # rps", text) {
            let [count, mean, least, most, deviation, again, ..] = found[..] else { return None };
            let per_second = *found.last()?;
            let round_trips = RoundTrips { count, least, mean, most, deviation, per_second };
            self.round_trips = Some(round_trips);
            self.retransmits = Some(again);
        } else if !crate::numbers::fits_any(&OTHERS, text) {
            return None;
        }
        Some(())
    }
}

/// Parses `1681K(1189)`, `895K`; `None` for `-1K` and `NA`, which mean unknown.
fn window_octets(text: &str) -> Option<f64> {
    let (value, rest) = leading(text)?;
    let letter = rest.chars().next().filter(char::is_ascii_alphabetic);
    Some(value * prefix(letter, 1024.0)?).filter(|octets| *octets >= 0.0)
}
