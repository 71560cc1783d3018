//! Result of one stream from any number of lines. Pure.
//!
//! Owns the choice of the result among them; one interval never represents the run.

use super::line::Line;
use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::moved::Moved;
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
    /// Data of all of them together.
    sum: Moved,
    count: u64,
    first: f64,
    last: f64,
    /// True if the last one has times of four digits, and ends on the grid of a longer test.
    is_part: bool,
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
    pub moved: Moved,
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
}

impl Intervals {
    /// Adds an interval; returns it instead if it covers all of the time of those before it.
    fn take(&mut self, line: Line) -> Option<Line> {
        let moved = line.moved;
        let covers = line.from <= self.first + 1e-6 && line.to >= self.last - 0.05 * moved.seconds;
        if self.last > self.first && covers {
            return Some(line);
        }
        if self.count == 0 {
            (self.first, self.last, self.sum) = (line.from, line.from, moved);
        } else {
            self.sum = self.sum.followed_by(moved);
        }
        self.broken = self.broken.or_else(|| line.contradiction());
        self.has_gap |= (line.from - self.last).abs() > 0.02 + 0.01 * moved.seconds;
        self.last = self.last.max(line.to);
        self.count += 1;
        let hundredths = line.to * 100.0;
        self.is_part = line.is_fine && (hundredths - hundredths.round()).abs() < 1e-6;
        None
    }

    /// The only interval.
    fn only(&self) -> Option<&Moved> {
        (self.count == 1).then_some(&self.sum)
    }

    /// True if the intervals cover all of a line's time.
    fn cover(&self, line: &Line) -> bool {
        let slack = 0.02 + 0.002 * line.moved.seconds;
        self.count > 0
            && !self.has_gap
            && self.first <= line.from.max(self.omitted) + 1e-6
            && (self.last - line.to).abs() <= slack
    }

    /// True if the intervals contain all of a line's octets; for datagrams, some of which are lost,
    /// if they cover all of its time.
    fn are_all_of(&self, line: &Line, udp: bool) -> bool {
        if udp { self.cover(line) } else { line.moved.bytes.agrees(self.sum.bytes) }
    }

    fn outcome(&self, is_cut: bool) -> Option<Outcome> {
        let is_cut = is_cut || self.count > 1;
        let is_told = self.count == 1 || (self.count > 0 && self.sum.seconds > 0.0);
        is_told.then(|| Outcome { is_cut, ..Outcome::from(self.sum) })
    }
}

impl Stream {
    /// Adds a line: an interval, the server's report to its client, or a sum after all intervals.
    pub(super) fn take(&mut self, line: Line, is_report: bool, is_sum: bool) {
        if line.omitted {
            self.intervals.omitted = line.to;
            return;
        }
        self.is_ended = line.is_end();
        if is_report {
            self.report = Some(line);
        } else if line.receiver {
            self.receiver = Some(line);
        } else if line.sender {
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
        let octets = |line: &Line| line.moved.bytes.value;
        // A server without a report at the end appears as one that received nothing.
        let unheard = |line: &Line| octets(line) <= 0.0 && sent.is_some_and(|s| octets(s) > 0.0);
        let mut result = match (sum, sent) {
            (Some(line), _) if !unheard(line) => {
                let mut own = Outcome::from(line.moved);
                own.is_report = self.report.is_some();
                let again = sent.and_then(|line| line.moved.retransmits);
                own.moved.retransmits = own.moved.retransmits.or(again);
                own
            }
            (unheard, Some(sent)) => {
                let differs = |line: &Line| {
                    Contradiction::new("octets-of-sender", octets(line), octets(sent))
                };
                let mut own = Outcome { of_sender: true, ..Outcome::from(sent.moved) };
                own.moved.counts = None;
                own.contradiction = unheard.filter(|_| udp).map(differs);
                own.is_cut = unheard.is_some() && !udp;
                own
            }
            // A sum of version 2 ends with the test, an interval on its grid.
            _ => {
                let own = &self.intervals;
                own.outcome((three && !self.sent_datagrams) || own.is_part)?
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
            self.arrived(&mut result.moved);
        }
        result = self.checked(result, three && udp, sum, size);
        let cwnd = self.intervals.sum.cwnd.into_iter().chain(result.moved.cwnd);
        result.moved.cwnd = cwnd.reduce(f64::max);
        Some(result)
    }

    /// Corrects the arrived data: before 3.7 a sum's octets are the sender's and its losses the
    /// receiver's.
    fn arrived(&self, result: &mut Moved) {
        let own = &self.intervals;
        let has_all = own.count > 0 && self.whole.as_ref().is_some_and(|line| own.cover(line));
        if has_all && own.sum.counts.is_some() && result.seconds > 0.0 {
            result.bits_per_second = own.sum.bytes.times(8.0 / result.seconds);
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
        mut result: Outcome,
        old: bool,
        sum: Option<&Line>,
        size: Option<f64>,
    ) -> Outcome {
        let own = &self.intervals;
        let told = result.moved.counts;
        let counts = told.zip(own.sum.counts).filter(|_| sum.is_some());
        let of_counts = counts.and_then(|(sum, parts)| sum.against_intervals(&parts));
        if let (Some(contradiction), Some(parts)) = (of_counts, own.outcome(true)) {
            return Outcome { contradiction: Some(contradiction), ..parts };
        }
        let stuck = told.and_then(|counts| counts.against_intervals(&Counts::default()));
        let stuck = stuck.filter(|of| of.code == "stuck-counter");
        let lines = [sum, self.sender.as_ref()];
        let mut lines = lines.into_iter().flatten().filter(|line| line.moved.bytes.value > 0.0);
        result.contradiction = result
            .contradiction
            .or_else(|| told?.contradiction())
            .or(stuck)
            .or_else(|| lines.find_map(Line::contradiction))
            .or(own.broken)
            .or_else(|| self.octets(old))
            .or_else(|| self.again())
            .or_else(|| self.datagrams(sum, size));
        result.moved.counts = told.filter(|_| stuck.is_none());
        result
    }

    /// Contradiction if the summary has other retransmits than its intervals.
    fn again(&self) -> Option<Contradiction> {
        let own = &self.intervals;
        let mut sums = [self.sender.as_ref(), self.whole.as_ref()].into_iter().flatten();
        let told = sums.find(|line| own.cover(line))?.moved.retransmits;
        Contradiction::unless_same("retransmits-of-intervals", told, own.sum.retransmits)
    }

    /// Contradiction if more datagrams are counted than were sent, or if their number and size make
    /// other octets.
    fn datagrams(&self, sum: Option<&Line>, size: Option<f64>) -> Option<Contradiction> {
        let own = &self.intervals;
        let counts = |line: &Line| line.moved.counts;
        let of_sender = self.sender.as_ref().and_then(counts).map(|counts| counts.all);
        let sent = self.sent.or(of_sender).or(own.sum.datagrams);
        let told = sum.and_then(counts).filter(Counts::can_be);
        let more = told.zip(sent).filter(|(told, sent)| told.all > 1.01 * sent + 2.0);
        if let Some((told, sent)) = more {
            return Some(Contradiction::new("more-than-sent", told.all, sent));
        }
        let counted = own.sum.counts.filter(|_| sum.is_some_and(|sum| own.cover(sum)));
        let apart = told.zip(counted).filter(|(told, own)| {
            // The last interval may miss what came late.
            (told.all - own.all).abs() > 0.05 * own.all + 10.0
        });
        if let Some((told, own)) = apart {
            return Some(Contradiction::new("sent-of-intervals", told.all, own.all));
        }
        let line = sum.or(self.sender.as_ref()).map(|line| &line.moved).or(own.only())?;
        let (size, sent) = (size?, line.counts.map(|counts| counts.all).or(sent)?);
        let arrived = line.counts.map_or(sent, |counts| counts.all - counts.lost);
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
        // One of them may contain the data in flight at the end.
        let late = own.sum.bytes.plus_step(0.03 * own.sum.bytes.value);
        let differ =
            |line: &Line| Contradiction::unless_same("octets-of-intervals", line.moved.bytes, late);
        let all: Option<Vec<Contradiction>> =
            sums.filter(|line| own.cover(line)).map(differ).collect();
        all?.first().copied()
    }
}

impl From<Moved> for Outcome {
    fn from(moved: Moved) -> Self {
        Self { moved, of_sender: moved.sends_datagrams, ..Self::default() }
    }
}

impl Outcome {
    /// Merges the results of two streams.
    pub(super) fn and(self, other: Self) -> Self {
        // Streams do not end at the same time: uses all octets over the longest time.
        let seconds = self.moved.seconds.max(other.moved.seconds);
        let part = |of: &Moved| {
            of.bits_per_second.times(if seconds > 0.0 { of.seconds / seconds } else { 1.0 })
        };
        let bits_per_second = part(&self.moved).plus(part(&other.moved));
        Self {
            moved: Moved { seconds, bits_per_second, ..self.moved.and(other.moved) },
            of_sender: self.of_sender || other.of_sender,
            is_report: self.is_report && other.is_report,
            is_cut: self.is_cut || other.is_cut,
            has_gap: self.has_gap
                || other.has_gap
                || (self.intervals == 0) != (other.intervals == 0),
            intervals: self.intervals.max(other.intervals),
            contradiction: self.contradiction.or(other.contradiction),
        }
    }
}
