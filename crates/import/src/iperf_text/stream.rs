//! Result of one stream from any number of lines. Pure.
//!
//! Owns the choice of the result among them; one interval never represents the run.

use super::line::{Line, RoundTrips};
use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::numbers::Printed;

/// Lines of one stream so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// Summary lines, by the side that counted.
    receiver: Option<Line>,
    sender: Option<Line>,
    /// Summary line of an unknown side: after the intervals, and over all of their time.
    whole: Option<Line>,
    /// Server's report to its client (iperf 2).
    report: Option<Line>,
    intervals: Intervals,
    /// True if a client of datagrams said so after its sum (before 3.7).
    pub sent_datagrams: bool,
    /// Number of datagrams that the sender told beside its lines.
    pub sent: Option<f64>,
    pub is_ended: bool,
}

/// Consecutive intervals, possibly with some missing.
#[derive(Debug, Clone, Default)]
struct Intervals {
    only: Option<Line>,
    count: u64,
    first: f64,
    last: f64,
    seconds: f64,
    bytes: Printed,
    counts: Option<Counts>,
    datagrams: Option<f64>,
    again: Option<f64>,
    cwnd: Option<f64>,
    sends_datagrams: bool,
    /// First contradiction in one of them.
    broken: Option<Contradiction>,
    /// True if one is missing between two others.
    has_gap: bool,
    /// End of the omitted intervals, which do not count.
    omitted: f64,
}

/// Known facts about a test.
#[derive(Debug, Clone, Copy)]
pub(super) struct Test {
    /// True for version 3.
    pub three: bool,
    pub udp: bool,
    pub reverse: bool,
    /// Octets of a datagram.
    pub size: Option<f64>,
}

/// Result of one stream, or of several together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    pub bits_per_second: Printed,
    pub seconds: f64,
    pub counts: Option<Counts>,
    pub retransmits: Option<f64>,
    pub cwnd: Option<f64>,
    pub round_trips: Option<RoundTrips>,
    /// True if the sender's count stands for what arrived.
    pub of_sender: bool,
    pub is_report: bool,
    /// True if it was derived from output before a missing end.
    pub is_cut: bool,
    /// True if some intervals are missing.
    pub has_gap: bool,
    /// Number of intervals.
    pub intervals: u64,
    pub contradiction: Option<Contradiction>,
    /// Number of the line with the result, if there is one.
    pub number: Option<usize>,
}

impl Intervals {
    /// Adds an interval; returns it instead if it covers all of the time of those before it.
    fn take(&mut self, line: Line) -> Option<Line> {
        let covers = line.from <= self.first + 1e-6 && line.to >= self.last - 0.05 * line.length();
        if self.last > self.first && covers {
            return Some(line);
        }
        if self.count == 0 {
            (self.first, self.last) = (line.from, line.from);
            (self.counts, self.again) = (line.tail.counts, line.tail.retransmits);
            self.datagrams = line.tail.datagrams;
            self.only = Some(line.clone());
        } else {
            let counts = self.counts.zip(line.tail.counts);
            self.counts = counts.map(|(a, b)| Counts::sum(&[a, b]));
            self.again = self.again.zip(line.tail.retransmits).map(|(a, b)| a + b);
            self.datagrams = self.datagrams.zip(line.tail.datagrams).map(|(a, b)| a + b);
            self.only = None;
        }
        self.broken = self.broken.or_else(|| line.contradiction());
        self.has_gap |= (line.from - self.last).abs() > 0.02 + 0.01 * line.length();
        self.last = self.last.max(line.to);
        self.count += 1;
        self.seconds += line.length();
        self.bytes.value += line.bytes.value;
        self.bytes.step += line.bytes.step;
        self.cwnd = self.cwnd.into_iter().chain(line.tail.cwnd).reduce(f64::max);
        self.sends_datagrams |= line.tail.sends_datagrams;
        None
    }

    /// True if the intervals cover all of a line's time.
    fn cover(&self, line: &Line) -> bool {
        let slack = 0.02 + 0.002 * line.length();
        self.count > 0
            && !self.has_gap
            && self.first <= line.from.max(self.omitted) + 1e-6
            && (self.last - line.to).abs() <= slack
    }

    /// True if the intervals contain all of a line's octets; for datagrams, some of which are lost,
    /// if they cover all of its time.
    fn are_all_of(&self, line: &Line, udp: bool) -> bool {
        if udp { self.cover(line) } else { line.bytes.agrees(self.bytes) }
    }

    fn outcome(&self, is_cut: bool) -> Option<Outcome> {
        if let Some(only) = &self.only {
            return Some(Outcome { is_cut, ..Outcome::from_line(only) });
        }
        (self.count > 0 && self.seconds > 0.0).then(|| Outcome {
            bits_per_second: self.bytes.times(8.0 / self.seconds),
            seconds: self.seconds,
            counts: self.counts,
            retransmits: self.again,
            is_cut: true,
            ..Outcome::default()
        })
    }
}

impl Stream {
    /// Adds a line: an interval, the server's report to its client, or a sum after all intervals.
    pub(super) fn take(&mut self, line: Line, is_report: bool, is_sum: bool) {
        if line.tail.omitted {
            self.intervals.omitted = line.to;
            return;
        }
        self.is_ended = line.is_end();
        if is_report {
            self.report = Some(line);
        } else if line.tail.receiver {
            self.receiver = Some(line);
        } else if line.tail.sender {
            self.sender = Some(line);
        } else if is_sum {
            self.whole = Some(line);
        } else if let Some(whole) = self.intervals.take(line) {
            self.whole = Some(whole);
        }
    }

    /// Result, from the first available source: the receiver's count, a line that reports losses,
    /// the sender's count, the intervals.
    pub(super) fn result(&self, test: &Test) -> Option<Outcome> {
        let Test { three, udp, reverse, size } = *test;
        let sent = self.sender.as_ref();
        let sum = self.report.as_ref().or(self.receiver.as_ref()).or(self.whole.as_ref());
        let again = sent.and_then(|line| line.tail.retransmits);
        // A server without a report at the end appears as one that received nothing.
        let unheard = |line: &Line| {
            line.bytes.value <= 0.0 && sent.is_some_and(|sent| sent.bytes.value > 0.0)
        };
        let mut result = match (sum, sent) {
            (Some(line), _) if !unheard(line) => Outcome {
                is_report: self.report.is_some(),
                retransmits: line.tail.retransmits.or(again),
                ..Outcome::from_line(line)
            },
            (Some(line), Some(sent)) if udp => {
                let both = (line.bytes.value, sent.bytes.value);
                let contradiction = Contradiction::new("octets-of-sender", both.0, both.1);
                let contradiction = Some(contradiction);
                Outcome { contradiction, of_sender: true, counts: None, ..Outcome::from_line(sent) }
            }
            (unheard, Some(sent)) => {
                let is_cut = unheard.is_some();
                Outcome { is_cut, of_sender: true, counts: None, ..Outcome::from_line(sent) }
            }
            // A sum of version 2 ends with the test, an interval on its grid.
            _ => {
                let is_part = |only: &Line| {
                    only.is_fine && (only.to * 100.0 - (only.to * 100.0).round()).abs() < 1e-6
                };
                let is_part = self.intervals.only.as_ref().is_some_and(is_part);
                self.intervals.outcome((three && !self.sent_datagrams) || is_part)?
            }
        };
        let is_unmarked = self.report.is_none() && self.receiver.is_none() && sent.is_none();
        let mut sums = [sum, sent].into_iter().flatten().peekable();
        result.intervals = self.intervals.count;
        result.has_gap = self.intervals.count > 0
            && sums.peek().is_some()
            && !sums.any(|line| self.intervals.are_all_of(line, udp));
        let is_sum = self.whole.is_some() || (self.sent_datagrams && !reverse);
        if three && udp && is_unmarked && is_sum {
            self.arrived(&mut result);
        }
        result = self.checked(result, three && udp, sum, size);
        result.cwnd = self.intervals.cwnd.into_iter().chain(result.cwnd).reduce(f64::max);
        Some(result)
    }

    /// Corrects the arrived data: before 3.7 a sum's octets are the sender's and its losses the
    /// receiver's.
    fn arrived(&self, result: &mut Outcome) {
        let own = Some(&self.intervals).filter(|own| own.counts.is_some() && own.count > 0);
        let own = own.filter(|own| self.whole.as_ref().is_some_and(|line| own.cover(line)));
        if let (Some(own), true) = (own, result.seconds > 0.0) {
            result.bits_per_second = own.bytes.times(8.0 / result.seconds);
        } else if let Some(share) = result.counts.and_then(|counts| counts.arrived()) {
            // Some servers print nothing for what arrived.
            let none = result.bits_per_second.value <= 0.0 && share > 0.0;
            let share = if none { f64::NAN } else { share };
            result.bits_per_second = result.bits_per_second.times(share);
        }
    }

    /// Checks the sum against its own numbers and against the intervals; of two contradictions the
    /// one derived from more of them is reported.
    fn checked(
        &self,
        result: Outcome,
        old: bool,
        sum: Option<&Line>,
        size: Option<f64>,
    ) -> Outcome {
        let own = &self.intervals;
        let counts = result.counts.zip(own.counts).filter(|_| sum.is_some());
        let of_counts = counts.and_then(|(sum, parts)| sum.against_intervals(&parts));
        if let (Some(contradiction), Some(parts)) = (of_counts, own.outcome(true)) {
            return Outcome { contradiction: Some(contradiction), ..parts };
        }
        let stuck = result.counts.and_then(|counts| counts.against_intervals(&Counts::default()));
        let of_line = |line: &Line| line.contradiction();
        let lines = [sum, self.sender.as_ref()];
        let mut of_lines = lines.into_iter().flatten().filter(|line| line.bytes.value > 0.0);
        let contradiction = result
            .contradiction
            .or_else(|| result.counts?.contradiction())
            .or_else(|| stuck.filter(|of| of.code == "stuck-counter"))
            .or_else(|| of_lines.find_map(of_line))
            .or(own.broken)
            .or_else(|| self.octets(old))
            .or_else(|| self.again())
            .or_else(|| self.datagrams(sum, size));
        let counts = result.counts.filter(|_| stuck.is_none_or(|of| of.code != "stuck-counter"));
        Outcome { counts, contradiction, ..result }
    }

    /// Contradiction if the summary has other retransmits than its intervals.
    fn again(&self) -> Option<Contradiction> {
        let own = &self.intervals;
        let sums = [self.sender.as_ref(), self.whole.as_ref()];
        let sum = sums.into_iter().flatten().find(|line| own.cover(line))?;
        Contradiction::unless_same("retransmits-of-intervals", sum.tail.retransmits, own.again)
    }

    /// Contradiction if more datagrams are counted than were sent, or if their number and size make
    /// other octets.
    fn datagrams(&self, sum: Option<&Line>, size: Option<f64>) -> Option<Contradiction> {
        let counts = |line: &Line| line.tail.counts;
        let of_sender = self.sender.as_ref().and_then(counts).map(|counts| counts.all);
        let sent = self.sent.or(of_sender).or(self.intervals.datagrams);
        let told = sum.and_then(counts).filter(Counts::can_be);
        let more = told.zip(sent).filter(|(told, sent)| told.all > 1.01 * sent + 2.0);
        if let Some((told, sent)) = more {
            return Some(Contradiction::new("more-than-sent", told.all, sent));
        }
        let counted =
            self.intervals.counts.filter(|_| sum.is_some_and(|sum| self.intervals.cover(sum)));
        let apart = told.zip(counted).filter(|(told, own)| {
            // The last interval may miss what came late.
            (told.all - own.all).abs() > 0.05 * own.all + 10.0
        });
        if let Some((told, own)) = apart {
            return Some(Contradiction::new("sent-of-intervals", told.all, own.all));
        }
        let line = sum.or(self.sender.as_ref()).or(self.intervals.only.as_ref())?;
        let (size, sent) = (size?, counts(line).map(|counts| counts.all).or(sent)?);
        let arrived = counts(line).map_or(sent, |counts| counts.all - counts.lost);
        // Some versions write the sender's octets beside the receiver's losses.
        let differ = |count: f64| {
            let counted = Printed::near(count * size, 0.01).plus_step(2.0 * size);
            Contradiction::unless_same("octets-of-count", line.bytes, counted)
        };
        differ(sent).and_then(|_| differ(arrived))
    }

    /// Contradiction if the intervals' octets match neither the receiver's nor the sender's.
    fn octets(&self, old: bool) -> Option<Contradiction> {
        let own = &self.intervals;
        let sums = [self.report.as_ref(), self.receiver.as_ref(), self.sender.as_ref()];
        let sums = sums.into_iter().flatten().chain(self.whole.as_ref().filter(|_| !old));
        let covered: Vec<&Line> = sums.filter(|line| own.cover(line)).collect();
        // One of them may contain the data in flight at the end.
        let late = own.bytes.plus_step(0.03 * own.bytes.value);
        let differ =
            |line: &Line| Contradiction::unless_same("octets-of-intervals", line.bytes, late);
        let all: Option<Vec<Contradiction>> = covered.into_iter().map(differ).collect();
        all?.first().copied()
    }
}

impl Outcome {
    fn from_line(line: &Line) -> Self {
        Self {
            bits_per_second: line.bits_per_second,
            seconds: line.length(),
            counts: line.tail.counts,
            retransmits: line.tail.retransmits,
            cwnd: line.tail.cwnd,
            round_trips: line.tail.round_trips,
            of_sender: line.tail.sends_datagrams,
            number: Some(line.number),
            ..Self::default()
        }
    }

    /// Merges the results of two streams.
    pub(super) fn and(self, other: Self) -> Self {
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        // Streams do not end at the same time: uses all octets over the longest time.
        let seconds = self.seconds.max(other.seconds);
        let part = |of: &Self| {
            of.bits_per_second.times(if seconds > 0.0 { of.seconds / seconds } else { 1.0 })
        };
        let (own, of_other) = (part(&self), part(&other));
        let counts = self.counts.zip(other.counts).map(|(a, b)| Counts::sum(&[a, b]));
        Self {
            bits_per_second: Printed {
                value: own.value + of_other.value,
                step: own.step + of_other.step,
            },
            seconds,
            counts,
            retransmits: both(self.retransmits, other.retransmits),
            cwnd: self.cwnd.into_iter().chain(other.cwnd).reduce(f64::max),
            round_trips: None,
            of_sender: self.of_sender || other.of_sender,
            is_report: self.is_report && other.is_report,
            is_cut: self.is_cut || other.is_cut,
            has_gap: self.has_gap
                || other.has_gap
                || (self.intervals == 0) != (other.intervals == 0),
            intervals: self.intervals.max(other.intervals),
            contradiction: self.contradiction.or(other.contradiction),
            number: None,
        }
    }
}
