//! What many lines of one stream come to, whatever their number. Pure.

use super::line::Line;
use crate::counts::Counts;
use crate::found::Contradiction;

/// One stream's lines so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// The lines that summed it up, by who counted.
    receiver: Option<Line>,
    sender: Option<Line>,
    /// Of its other lines the longest, and the longest that counted losses.
    longest: Option<Line>,
    counted: Option<Line>,
    /// iperf 2: what the server reported to its client.
    report: Option<Line>,
    /// The intervals that follow one another.
    parts: u64,
    first: f64,
    last: f64,
    bytes: f64,
    again: Option<f64>,
    apart: bool,
    cwnd: Option<f64>,
    pub is_ended: bool,
}

/// A stream's result, or several streams' together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Result {
    pub bits_per_second: f64,
    pub seconds: f64,
    pub counts: Option<Counts>,
    pub retransmits: Option<f64>,
    pub cwnd: Option<f64>,
    /// The sender's count stands for what arrived.
    pub of_sender: bool,
    pub is_report: bool,
    /// It was put together from what was printed before the end.
    pub is_cut: bool,
    pub contradiction: Option<Contradiction>,
}

impl Stream {
    pub(super) fn take(&mut self, line: Line, is_report: bool) {
        if line.omitted {
            return;
        }
        self.cwnd = self.cwnd.into_iter().chain(line.cwnd).reduce(f64::max);
        self.is_ended = line.is_end();
        if is_report {
            self.report = Some(line);
        } else if line.receiver {
            self.receiver = Some(line);
        } else if line.sender {
            self.sender = Some(line);
        } else {
            self.interval(line);
        }
    }

    fn interval(&mut self, line: Line) {
        if self.parts == 0 {
            (self.first, self.last) = (line.from, line.to);
            (self.parts, self.bytes, self.again) = (1, line.bytes, line.retransmits);
        } else if line.from >= self.last - 1e-6 {
            self.last = line.to;
            self.parts += 1;
            self.bytes += line.bytes;
            self.again = self.again.zip(line.retransmits).map(|(a, b)| a + b);
        } else {
            self.apart = true;
        }
        // Streams end a moment apart, and of equals the later one is the sum.
        let longer = |than: &Option<Line>| {
            than.as_ref().is_none_or(|than| line.length() >= 0.95 * than.length())
        };
        if line.counts.is_some() && longer(&self.counted) {
            self.counted = Some(line.clone());
        }
        if longer(&self.longest) {
            self.longest = Some(line);
        }
    }

    /// What arrived counts; without its line, what knows of losses; then the sender's, and last
    /// what the intervals come to.
    pub(super) fn result(&self, three: bool, udp: bool) -> Option<Result> {
        let all = self.longest.as_ref().map_or(0.0, Line::length);
        let counted = self.counted.as_ref().filter(|line| line.length() >= 0.95 * all);
        let sum = self.report.as_ref().or(self.receiver.as_ref()).or(counted);
        let sent = self.sender.as_ref();
        let again = sent.and_then(|line| line.retransmits);
        // A server that was not heard at the end is printed as one that received nothing.
        let unheard = |line: &Line| line.bytes <= 0.0 && sent.is_some_and(|sent| sent.bytes > 0.0);
        let mut result = match (sum, sent) {
            (Some(line), _) if !unheard(line) => Result {
                is_report: self.report.is_some(),
                retransmits: line.retransmits.or(again),
                is_cut: three && udp && self.receiver.is_none() && self.parts_exceed(line),
                ..Result::of(line)
            },
            (Some(line), Some(sent)) if udp && !unheard(sent) => Result {
                contradiction: Some(Contradiction {
                    code: "octets-of-sender",
                    said: line.bytes,
                    counted: sent.bytes,
                }),
                of_sender: true,
                counts: None,
                ..Result::of(sent)
            },
            (unheard, Some(sent)) => Result {
                of_sender: true,
                is_cut: unheard.is_some(),
                counts: None,
                ..Result::of(sent)
            },
            _ => self.of_intervals(three)?,
        };
        result.cwnd = self.cwnd;
        Some(result)
    }

    /// Whether the intervals go on behind it.
    fn parts_exceed(&self, line: &Line) -> bool {
        self.parts > 1 && !self.apart && self.last - self.first > 1.05 * line.length()
    }

    fn of_intervals(&self, three: bool) -> Option<Result> {
        let longest = self.longest.as_ref()?;
        let seconds = self.last - self.first;
        if self.parts < 2 || seconds <= 1.05 * longest.length() {
            return Some(Result { is_cut: three, ..Result::of(longest) });
        }
        let bits_per_second = 8.0 * self.bytes / seconds;
        let retransmits = self.again;
        Some(Result { bits_per_second, seconds, retransmits, is_cut: true, ..Result::default() })
    }
}

impl Result {
    fn of(line: &Line) -> Self {
        Self {
            bits_per_second: line.bits_per_second,
            seconds: line.length(),
            counts: line.counts,
            retransmits: line.retransmits,
            ..Self::default()
        }
    }

    /// Two streams' at once.
    pub(super) fn and(self, other: Self) -> Self {
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        let counts = self.counts.zip(other.counts).map(|(a, b)| Counts {
            lost: a.lost + b.lost,
            all: a.all + b.all,
            percent: None,
        });
        Self {
            bits_per_second: self.bits_per_second + other.bits_per_second,
            seconds: self.seconds.max(other.seconds),
            counts,
            retransmits: both(self.retransmits, other.retransmits),
            cwnd: self.cwnd.into_iter().chain(other.cwnd).reduce(f64::max),
            of_sender: self.of_sender || other.of_sender,
            is_report: self.is_report && other.is_report,
            is_cut: self.is_cut || other.is_cut,
            contradiction: self.contradiction.or(other.contradiction),
        }
    }
}
