//! iperf's text, of versions 2 and 3, and version 2's comma-separated lines: intervals and their
//! sum.
//!
//! Owns the choice of the result among many lines: the receiver's if reported, the sum of all
//! streams if there is one, otherwise the longest interval. Never adds a loss that the tool did not
//! report.

mod csv;
mod line;
mod stream;

use std::collections::{BTreeMap, BTreeSet};

use page::{Caveat, Key, Metric, Unit};

use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::moved::RoundTrips;
use crate::numbers::{Printed, number};
use crate::reader::Reader;
use crate::shapes::{Sheet, Values, is_around};
use line::{Heading, Line};
use stream::{Outcome, Stream, Test};

/// Maximum number of streams in a test.
const MOST_STREAMS: usize = 4096;

/// Reader of iperf's text.
#[derive(Debug, Default)]
pub(crate) struct Iperf {
    run: Run,
    /// True for the server's own output, repeated by its client.
    is_copy: bool,
    title: String,
    /// True if the command before the output requests SCTP.
    sctp: bool,
}

/// State of one test.
#[derive(Debug, Default)]
struct Run {
    /// Streams by direction and number.
    streams: BTreeMap<(Way, String), Stream>,
    heading: Heading,
    reversed: BTreeSet<String>,
    /// Evidence for version 3 if positive, for version 2 if negative.
    three: i32,
    client: bool,
    /// Values of the lines around the results: the port on which the same program listens beside
    /// its client (`-d`), the `target` that this client connects to, the payload of a datagram.
    told: Sheet,
    /// Port of a connection that is neither the client's nor to the port on which it listens.
    other_port: Option<f64>,
    /// Port of a connection that is not the one at which this program listens.
    other_local: Option<f64>,
    udp: bool,
    sctp: bool,
    interrupted: bool,
    report: bool,
    /// True for iperf 2.0's `--full-duplex`, which prints one line without naming the direction.
    full_duplex: bool,
    after_dashes: bool,
    /// True if the following lines are sums.
    is_summing: bool,
    /// Streams whose connection has a line.
    connected: BTreeSet<String>,
    /// Time of the last comma-separated line. `ports` are the client's ports in all such lines.
    second: Option<f64>,
    ports: BTreeSet<String>,
}

/// Direction in a test with both: from the client, or to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Forward,
    Reverse,
}

impl Reader for Iperf {
    fn begins(&self, line: &str) -> bool {
        let (_, line) = untitled(line);
        // A new client's first stream begins a new output.
        let is_first = |line: &Line| line.id != "SUM" && line.from <= 0.0 && !line.is_end();
        if let Some((own, stamp)) = csv::line(line) {
            let is_new = !self.run.ports.contains(&stamp.port);
            // Parallel streams end at once.
            let wait = 1.0 + own.to / 2.0;
            let later = self.run.second.is_some_and(|last| stamp.second - last >= wait);
            // One test numbers each stream once.
            let again = self.run.streams.contains_key(&(Way::Forward, own.id));
            return is_new && own.from <= 0.0 && (later || again);
        }
        let again = self.run.ended()
            && !self.is_copy
            && Line::parse(line, &self.run.heading).is_some_and(|line| is_first(&line));
        let starts = is_around("iperf.start", line) && !self.run.is_own_server(line);
        again || (starts && !self.run.streams.is_empty() && !self.is_copy)
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        let (title, line) = untitled(line);
        // A blank line repeats its title.
        if line.strip_suffix(':').is_some_and(|rest| !rest.is_empty() && rest == self.title) {
            return true;
        }
        if let Some((read, stamp)) = csv::line(line) {
            self.run.second = Some(stamp.second);
            if self.run.ports.len() < MOST_STREAMS {
                self.run.ports.insert(stamp.port);
            }
            self.run.take(read, found.at);
            return true;
        }
        if let Some(read) = Line::parse(line, &self.run.heading) {
            title.clone_into(&mut self.title);
            if !self.is_copy {
                self.run.take(read, found.at);
            }
            return true;
        }
        title.clone_into(&mut self.title);
        if line == "Server output:" {
            self.is_copy = true;
            return true;
        }
        if line.starts_with("iperf") && line.contains(" -c ") {
            self.sctp = line.contains("--sctp");
        }
        self.is_copy &= !line.starts_with("Connecting to host");
        self.run.sctp |= self.sctp || line.contains("protocol: SCTP");
        let is_rule = || line.len() > 8 && line.chars().all(|c| matches!(c, '-' | ' '));
        let is_own = is_around("iperf", line) || is_rule();
        if is_own && !self.is_copy {
            self.run.note(line);
        }
        is_own
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(&mut self.run).add_to(found);
    }
}

/// Title (`-T`) before a line.
fn untitled(line: &str) -> (&str, &str) {
    match line.split_once(":  ") {
        Some((title, rest)) if !title.contains(['[', ' ']) && title != "Bursting" => {
            (title, rest.trim_start())
        }
        _ => ("", line),
    }
}

/// True for a line that only iperf 3 prints, false for one that only iperf 2 prints.
fn is_version_three(line: &str) -> Option<bool> {
    Values::read("iperf.version", line).map(|values| values.text("three").is_some())
}

impl Run {
    /// True if only summaries came last.
    fn ended(&self) -> bool {
        self.streams.values().any(|stream| stream.is_ended)
    }

    /// True for a connection to the port on which this client listens itself.
    fn is_own_server(&self, line: &str) -> bool {
        let ports = Values::read("iperf.connected", line).filter(|_| self.client);
        ports.and_then(|of| of.number("local").zip(of.number("remote"))).is_some_and(|ports| {
            self.told.number("listening") == Some(ports.0)
                || self.told.number("target").is_some_and(|target| (target - ports.1).abs() > 0.5)
        })
    }

    /// Reads a line around the results.
    fn note(&mut self, line: &str) {
        self.told.take("iperf.note", line);
        self.three += is_version_three(line).map_or(0, |three| if three { 10 } else { -10 });
        self.client |= self.told.has("client");
        self.udp |= line.contains("Datagrams") || line.contains("UDP");
        self.full_duplex |= line.contains("(full-duplex)");
        self.interrupted |= line.contains("interrupt - the client has terminated")
            || (line.starts_with("iperf3: ") && !self.ended() && !self.streams.is_empty());
        self.report |= line.ends_with("Server Report:");
        if line.starts_with('[') && line.contains("Interval") {
            self.heading = Heading::parse(line);
            // Another heading after a line of dashes begins the sums.
            self.is_summing = self.after_dashes;
        }
        self.after_dashes = line.starts_with("- - - -") || line.starts_with("Test Complete");
        self.connection(line);
    }

    /// Reads a line about a stream's connection.
    fn connection(&mut self, line: &str) {
        let Some(values) = Values::read("iperf.connected", line) else { return };
        let id = values.text("id").unwrap_or_default().trim().trim_start_matches('*').to_owned();
        if let Some(sent) = values.text("sent") {
            for (_, stream) in self.streams.iter_mut().filter(|((_, of), _)| *of == id) {
                (stream.sent_datagrams, stream.sent) = (true, number(sent));
            }
            return;
        }
        let (listening, target) = (self.told.number("listening"), self.told.number("target"));
        let local = values.number("local");
        // A program that listens at one port and connects from another is a client too.
        let other_local = local.filter(|local| listening != Some(*local));
        self.client |= other_local.is_some() && listening.is_some();
        self.other_local = self.other_local.or(other_local);
        let remote = values.number("remote").filter(|_| self.client && other_local.is_some());
        let other = remote.filter(|port| target.is_some() && target != Some(*port));
        self.other_port = self.other_port.or(other);
        if self.connected.len() < MOST_STREAMS {
            self.connected.insert(id.clone());
        }
        if line.contains("(reverse)") || self.is_own_server(line) {
            self.reversed.insert(id);
        }
    }

    fn take(&mut self, mut line: Line, number: usize) {
        line.moved.number = Some(number);
        self.three += line.is_three.map_or(0, |three| if three { 1 } else { -1 });
        self.udp |= line.moved.counts.is_some() || line.moved.sends_datagrams;
        let reverse = line.is_reverse || self.reversed.contains(&line.id);
        let way = if reverse { Way::Reverse } else { Way::Forward };
        if self.streams.len() < MOST_STREAMS {
            let is_sum = self.is_summing && self.is_three();
            let of = self.streams.entry((way, line.id.clone())).or_default();
            of.take(line, std::mem::take(&mut self.report), is_sum);
        }
    }

    /// Adds one test's results: one, or one per direction.
    fn add_to(self, found: &mut Found) {
        let has =
            |way: Way| self.streams.keys().any(|(of, id)| *of == way && !id.starts_with("SUM"));
        let both = has(Way::Forward) && has(Way::Reverse);
        if self.full_duplex && !both {
            return;
        }
        for way in [Way::Forward, Way::Reverse] {
            let direction = match way {
                Way::Forward if both => Some("forward"),
                Way::Forward if !self.told.has("reverse") => None,
                _ => Some("reverse"),
            };
            if let Some(result) = self.result(way, both) {
                self.one(&result, direction, found);
            }
        }
    }

    /// True for version 3; without a sign of its version a text is taken for the more common one.
    const fn is_three(&self) -> bool {
        self.three >= 0
    }

    /// Octets of a datagram.
    fn payload(&self) -> Option<f64> {
        self.told.number("payload").filter(|_| self.udp)
    }

    fn result(&self, way: Way, both: bool) -> Option<Outcome> {
        let (three, reverse) = (self.is_three(), self.told.has("reverse"));
        let test = Test { three, udp: self.udp, reverse, size: self.payload() };
        let of = |sum: bool| {
            let own = self.streams.iter().filter(move |((of, id), _)| {
                *of == way && id.starts_with("SUM") == sum && !id.starts_with("FD")
            });
            own.filter_map(|(_, stream)| stream.result(&test))
        };
        let streams: Vec<Outcome> = of(false).collect();
        let all = streams.iter().copied().reduce(Outcome::and);
        // iperf 2 sums up both directions in one.
        let sum = of(true).next().filter(|_| three || !both);
        // A client has its server's reports of each stream, and sums up what it sent.
        let told = !streams.is_empty() && streams.iter().all(|one| one.moved.counts.is_some());
        let mut result = match sum {
            Some(sum) if sum.moved.counts.is_some() || !told => sum,
            _ => return all,
        };
        let own = &mut result.moved;
        let counts: Vec<Counts> = streams.iter().filter_map(|one| one.moved.counts).collect();
        let of_counts = own.counts.filter(|_| counts.len() == streams.len());
        let of_counts = of_counts.and_then(|sum| sum.against(&counts));
        let several = all.filter(|_| streams.len() > 1);
        let rates = several.filter(|all| all.of_sender == result.of_sender);
        let rates = rates.map(|all| all.moved.bits_per_second);
        // Streams do not end at exactly the same time.
        let apart = own.bits_per_second.plus_step(0.03 * own.bits_per_second.value);
        let of_rates = Contradiction::unless_same("rate-of-streams", apart, rates);
        let again = several.and_then(|all| all.moved.retransmits);
        let of_again = Contradiction::unless_same("retransmits-of-streams", own.retransmits, again);
        own.cwnd = all.and_then(|all| all.moved.cwnd).or(own.cwnd);
        result.contradiction = result.contradiction.or(of_counts).or(of_rates).or(of_again);
        result.has_gap |= all.is_some_and(|all| all.has_gap);
        Some(result)
    }

    fn one(&self, result: &Outcome, direction: Option<&str>, found: &mut Found) {
        let three = self.is_three();
        let own = &result.moved;
        let protocol = if self.sctp { "sctp" } else { "tcp" };
        // Payload, UDP, IPv4, MAC header and FCS.
        let row = Row::new(if three { "iperf3" } else { "iperf" })
            .with(Key::Protocol, if self.udp { "udp" } else { protocol })
            .with_frame(self.payload().filter(|octets| *octets <= 8_972.0), 46)
            .with_known(Key::Direction, direction)
            .doubting_if(self.udp, Caveat::GapLoss)
            .doubting_if(self.told.has("paced"), Caveat::LoadHeldBack)
            .doubting_if(result.is_cut || self.interrupted, Caveat::CutOff)
            .contradicted(own.counts.and_then(|counts| counts.contradiction()))
            .contradicted(result.contradiction)
            .contradicted(self.port());
        if let Some(told) = &own.round_trips {
            self.bounceback(row, told, found);
            return;
        }
        let sends = || !three && self.sends(result, direction);
        let row = row
            .doubting_if(result.of_sender || sends(), Caveat::SenderOnly)
            // Before 3.7 the intervals reported what arrived.
            .doubting_if(result.has_gap && self.udp && three, Caveat::UnreadLines)
            .doubting_if(self.lacks_lines(), Caveat::UnreadLines);
        let on_line = own.number.map_or_else(|| row.clone(), |at| row.clone().on_line(at));
        found.goodput(&on_line, own.bits_per_second.value);
        if let Some(counts) = own.counts {
            counts.add_to(&on_line, own.seconds, found);
        }
        if let Some(again) = own.retransmits.filter(|again| !self.udp && *again >= 0.0) {
            found.add(&row, Metric::Retransmits, Unit::Count, again);
        }
        if let Some(cwnd) = own.cwnd.filter(|_| !self.udp) {
            let row = row.doubting_if(result.has_gap, Caveat::UnreadLines);
            found.add(&row, Metric::CwndMax, Unit::Bytes, cwnd);
        }
    }

    /// Adds the round trips of a bounceback; a server that waits before it answers has none.
    fn bounceback(&self, row: Row, told: &RoundTrips, found: &mut Found) {
        if self.told.number("hold") > Some(0.0) {
            return;
        }
        let said = Printed { value: told.ends[1] * 1e6, step: 1e3 };
        let row = row
            .samples(told.count.max(0.0) as u64)
            .doubting(Caveat::SoftwareTimestamps)
            .unless_same("mean-of-rate", said, Printed::near(1e9 / told.per_second, 0.02));
        let described = Described::by_ends(told.ends.map(|ms| ms * 1e6));
        found.distribution(&row, Metric::Rtt, &described.with(Some(told.deviation * 1e6), 1e3));
    }

    /// True if a stream has a connection's line and no results, or the other way round: that line
    /// identifies its owner and direction.
    fn lacks_lines(&self) -> bool {
        let is_connected = |id: &String| id.starts_with("SUM") || self.connected.contains(id);
        let has_lines = |id: &String| self.streams.keys().any(|(_, of)| of == id);
        let is_whole = self.streams.keys().all(|(_, id)| is_connected(id))
            && self.connected.iter().all(has_lines);
        !self.connected.is_empty() && !is_whole
    }

    /// Contradiction if a client connects to another port than it says, or a server that is no
    /// client from another than it listens at.
    fn port(&self) -> Option<Contradiction> {
        let (listening, target) = (self.told.number("listening"), self.told.number("target"));
        let at_server = self.other_local.zip(listening).filter(|_| target.is_none());
        let (said, counted) = self.other_port.zip(target).or(at_server)?;
        Some(Contradiction { code: "port-of-server", said, counted })
    }

    /// True for iperf 2's line of the sending side.
    fn sends(&self, result: &Outcome, direction: Option<&str>) -> bool {
        let to_client = direction == Some("reverse");
        !result.is_report && result.moved.counts.is_none() && (self.client != to_client)
    }
}
