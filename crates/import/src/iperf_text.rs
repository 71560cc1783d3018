//! iperf's text, of versions 2 and 3: lines of an interval and its sum.
//!
//! Owns which of many lines is the result: the receiver's where it is told, the sum of all streams
//! where there is one, the longest interval. Never adds a loss to one that the tool did not see.

mod chatter;
mod line;
mod stream;

use std::collections::{BTreeMap, BTreeSet};

use page::{Caveat, Key, Metric, Unit};

use crate::counts::Counts;
use crate::found::{Found, Row};
use crate::reader::Reader;
use line::Line;
use stream::{Result, Stream};

/// No test has more streams.
const MOST_STREAMS: usize = 4096;

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Iperf {
    run: Run,
    /// The server's own output, repeated by its client.
    is_copy: bool,
    title: String,
}

/// One test.
#[derive(Debug, Default)]
struct Run {
    /// By direction and stream.
    streams: BTreeMap<(Way, String), Stream>,
    reversed: BTreeSet<String>,
    three: bool,
    client: bool,
    reverse: bool,
    udp: bool,
    paced: bool,
    interrupted: bool,
    report: bool,
    payload: Option<f64>,
    /// iperf 2.0's `--full-duplex`, which prints one line and does not say of what.
    full_duplex: bool,
}

/// Of one test with both: from the client, or to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Forward,
    Reverse,
}

impl Reader for Iperf {
    fn tool(&self) -> &'static str {
        "iperf"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        let (title, line) = chatter::untitled(line);
        // A blank line has its title too.
        if line.strip_suffix(':').is_some_and(|rest| !rest.is_empty() && rest == self.title) {
            return true;
        }
        if let Some(read) = Line::of(line) {
            title.clone_into(&mut self.title);
            if self.is_copy {
                return true;
            }
            // A new client's first stream begins a new output.
            if read.id != "SUM" && read.from <= 0.0 && !read.is_end() && self.run.ended() {
                self.end(found);
            }
            self.run.take(read);
            return true;
        }
        title.clone_into(&mut self.title);
        if line == "Server output:" {
            self.is_copy = true;
            return true;
        }
        if chatter::starts(line) && !self.run.streams.is_empty() && !self.is_copy {
            self.end(found);
        }
        self.is_copy &= !line.starts_with("Connecting to host");
        chatter::is(line) && (self.is_copy || self.run.note(line))
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(&mut self.run).put(found);
    }
}

impl Run {
    /// Whether nothing but summaries came last.
    fn ended(&self) -> bool {
        self.streams.values().any(|stream| stream.is_ended)
    }

    /// What a line around the results tells.
    fn note(&mut self, line: &str) -> bool {
        self.three |= line.starts_with("Connecting to host") || line.starts_with("iperf 3.");
        self.client |= line.starts_with("Connecting to host") || line.starts_with("Client connect");
        self.reverse |= line.starts_with("Reverse mode");
        self.udp |= line.contains("Datagrams") || line.contains("UDP");
        self.full_duplex |= line.contains("(full-duplex)");
        self.paced |= line.contains("Target Bitrate:");
        let ended = self.ended();
        self.interrupted |= line.contains("interrupt - the client has terminated")
            || (line.starts_with("iperf3: ") && !ended && !self.streams.is_empty());
        self.report |= line.ends_with("Server Report:");
        if let Some(id) = line::id_of(line).filter(|_| line.contains("(reverse)")) {
            self.reversed.insert(id);
        }
        let size = crate::numbers::between(line, "Sending ", " byte datagrams");
        let size = size.or_else(|| crate::numbers::between(line, "streams, ", " byte blocks"));
        self.payload = size.and_then(crate::numbers::number).or(self.payload);
        true
    }

    fn take(&mut self, line: Line) {
        self.three |= line.is_three;
        self.udp |= line.counts.is_some();
        let reverse = line.is_reverse || self.reversed.contains(&line.id);
        let way = if reverse { Way::Reverse } else { Way::Forward };
        if self.streams.len() < MOST_STREAMS {
            let of = self.streams.entry((way, line.id.clone())).or_default();
            of.take(line, std::mem::take(&mut self.report));
        }
    }

    /// One test's results: one, or one a direction.
    fn put(self, found: &mut Found) {
        let has =
            |way: Way| self.streams.keys().any(|(of, id)| *of == way && !id.starts_with("SUM"));
        let both = has(Way::Forward) && has(Way::Reverse);
        if self.full_duplex && !both {
            return;
        }
        for way in [Way::Forward, Way::Reverse] {
            let direction = match way {
                Way::Forward if both => Some("forward"),
                Way::Forward if !self.reverse => None,
                _ => Some("reverse"),
            };
            if let Some(result) = self.result(way, both) {
                self.one(&result, direction, found);
            }
        }
    }

    fn result(&self, way: Way, both: bool) -> Option<Result> {
        let of = |sum: bool| {
            let own = self.streams.iter().filter(move |((of, id), _)| {
                *of == way && id.starts_with("SUM") == sum && !id.starts_with("FD")
            });
            own.filter_map(|(_, stream)| stream.result(self.three, self.udp))
        };
        let streams: Vec<Result> = of(false).collect();
        // iperf 2 sums up both directions in one.
        let sum = of(true).next().filter(|_| self.three || !both);
        // A client has its server's reports of each stream, and sums up what it sent.
        let told = !streams.is_empty() && streams.iter().all(|one| one.counts.is_some());
        let mut result = match sum {
            Some(sum) if sum.counts.is_some() || !told => sum,
            _ => streams.iter().copied().reduce(Result::and)?,
        };
        let counts: Vec<Counts> = streams.iter().filter_map(|one| one.counts).collect();
        if let Some(sum) = result.counts.filter(|_| counts.len() == streams.len()) {
            result.contradiction = result.contradiction.or_else(|| sum.against(&counts));
        }
        Some(result)
    }

    fn one(&self, result: &Result, direction: Option<&str>, found: &mut Found) {
        let tool = if self.three { "iperf3" } else { "iperf" };
        let protocol = if self.udp { "udp" } else { "tcp" };
        let sender_only = result.of_sender || (!self.three && self.sends(result, direction));
        let contradiction = result.counts.and_then(|counts| counts.contradiction());
        // Payload, UDP, IPv4, MAC header and FCS.
        let size = self.payload.filter(|octets| self.udp && (0.0..=8_972.0).contains(octets));
        let row = Row::of(tool)
            .with(Key::Protocol, protocol)
            .with_known(Key::FrameSize, size.map(|octets| (octets as u64 + 46).max(64)))
            .with_known(Key::Direction, direction)
            .doubting_if(self.udp, Caveat::GapLoss)
            .doubting_if(self.paced, Caveat::LoadHeldBack)
            .doubting_if(result.is_cut || self.interrupted, Caveat::CutOff)
            .doubting_if(sender_only, Caveat::SenderOnly)
            .contradicted(contradiction)
            .contradicted(result.contradiction);
        found.goodput(&row, result.bits_per_second);
        if let Some(counts) = result.counts {
            counts.put(&row, result.seconds, found);
        }
        if let Some(again) = result.retransmits.filter(|again| !self.udp && *again >= 0.0) {
            found.put(&row, Metric::Retransmits, Unit::Count, again);
        }
        if let Some(cwnd) = result.cwnd.filter(|_| !self.udp) {
            found.put(&row, Metric::CwndMax, Unit::Bytes, cwnd);
        }
    }

    /// Whether iperf 2's line is that of the side that sends.
    fn sends(&self, result: &Result, direction: Option<&str>) -> bool {
        let to_client = direction == Some("reverse");
        !result.is_report && result.counts.is_none() && (self.client != to_client)
    }
}
