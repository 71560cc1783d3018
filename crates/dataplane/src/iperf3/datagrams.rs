//! UDP datagrams to an iperf3 server, paced here, or from one, paced there.
//!
//! Owns the handshake of the stream, the header of each datagram, and the counts of this end. A
//! number is used only once the kernel took its datagram. Never reports what arrived at the server:
//! its results do.

use std::io;
use std::net::UdpSocket;

use measure::reading::Rejected;
use measure::sequence::{SequenceCounts, SequenceTracker};
use measure::{ByteCount, Histogram, Nanos};
use nix::poll::PollFlags;
use trial::record::{DatagramsRecord, FlowRecord};

use super::agreement::{Agreement, joined};
use super::control::ANSWERING;
use super::fault::ServerFault;
use super::load::{LARGEST, Stream, Test};
use super::message::{Counted, Own, Parameters};
use crate::datagram::load::{GRACE, GRACE_SHARE};
use crate::datagram::pacer::Pacer;
use crate::socket::{TICK, enlarge_receive_buffer, is_away, is_pause, is_too_long};
use crate::stream::wait_for;
use crate::{End, FlowError, Halt, Window, clock};

/// Backend name in records, in place of one of ours.
const BACKEND: &str = "iperf3";
/// Octets that open a stream and answer it; they have no other meaning.
const HELLO: [u8; 4] = 0x3637_3839_u32.to_le_bytes();
/// Receive buffer for datagrams that arrive while the reader is busy, in octets.
const RECEIVE_OCTETS: usize = 4 << 20;
/// Factor by which a pacing server may send more than requested.
const SURPLUS: f64 = 1.25;

/// Counts of the datagrams that this end sent.
#[derive(Debug, Default)]
struct Sent {
    offered: u64,
    taken: u64,
    first: Option<Nanos>,
    last: Nanos,
    departures: Histogram,
    longest_burst: u64,
    late: u64,
}

/// Counts of the datagrams that this end received.
struct Got {
    counts: SequenceCounts,
    rejected: Rejected,
    first: Option<Nanos>,
    last: Nanos,
    arrivals: Histogram,
}

/// Datagram test that a server agreed to.
#[derive(Debug)]
pub(super) struct DatagramTest {
    agreement: Agreement,
    load: Stream,
    reverse: bool,
}

impl DatagramTest {
    pub(super) fn connect(
        end: &End<Test>,
        load: Stream,
        reverse: bool,
        halt: &Halt,
    ) -> Result<Self, FlowError> {
        let agreement = Agreement::with(end, &Parameters::udp(&load, reverse), halt)?;
        Ok(Self { agreement, load, reverse })
    }

    /// Runs the test. Its one stream opens at the load's start, because the server's clock runs
    /// from then on.
    pub(super) fn run(mut self, window: Window, halt: &Halt) -> Result<FlowRecord, FlowError> {
        let server = self.agreement.end.remote;
        self.agreement.wait_for(window, halt)?;
        let socket = self.open(halt)?;
        let began = self.agreement.start(window, halt)?;
        let load = self.load;
        let own = Halt::new();
        let (sent, got, ended) = std::thread::scope(|scope| {
            let (own, socket, reverse) = (&own, &socket, self.reverse);
            let sending = (!reverse).then(|| scope.spawn(move || load.send(socket, window, own)));
            let reading = reverse.then(|| scope.spawn(move || load.receive(socket, window, own)));
            // Residual frames have to be counted before the server closes.
            let until = if reverse { window.stop } else { window.closed };
            let ended = self.agreement.end_at(until, window, halt);
            if ended.is_err() {
                own.ask();
            }
            (sending.map(joined), reading.map(joined), ended)
        });
        ended?;
        let (sent, got) = (sent.transpose()?, got.transpose()?);
        let elapsed = window.stop.saturating_sub(began);
        let mut counts = Own::new(elapsed);
        let payload = u64::from(load.payload);
        if let Some(sent) = &sent {
            let octets = ByteCount(sent.taken * payload);
            counts.datagrams(octets, Counted { packets: sent.taken, errors: 0 });
        }
        if let Some(got) = &got {
            let packets = got.counts.highest.map_or(0, |highest| highest + 1);
            let errors = packets.saturating_sub(got.counts.unique);
            let octets = ByteCount(got.counts.unique * payload);
            counts.datagrams(octets, Counted { packets, errors });
        }
        let theirs = self.agreement.exchange(&counts, halt)?;
        let (far, told) = theirs.datagrams(server)?;
        let record = match (sent, got) {
            (Some(sent), _) => forward(sent, told),
            (_, Some(got)) => backward(got, told, far.elapsed),
            _ => None,
        };
        let record = record.ok_or_else(|| {
            ServerFault::strange(server, "it received more datagrams than were sent")
        })?;
        Ok(FlowRecord::Datagrams(record))
    }

    /// Opens the stream: the server answers the first datagram, and accepts only this socket from
    /// then on.
    fn open(&self, halt: &Halt) -> Result<UdpSocket, FlowError> {
        const DEED: &str = "open a udp stream to";
        let Agreement { end, .. } = &self.agreement;
        let server = end.remote;
        let failed = |deed| move |e| FlowError::kernel(deed, server, e);
        let socket = UdpSocket::bind((end.local, 0))
            .map_err(|e| FlowError::kernel("bind udp socket to", end.local, e))?;
        socket.connect(server).map_err(failed("connect udp socket to"))?;
        socket.set_nonblocking(true).map_err(failed("set options of udp socket to"))?;
        enlarge_receive_buffer(&socket, RECEIVE_OCTETS);
        socket.send(&HELLO).map_err(failed("greet the iperf3 server at"))?;
        let until = clock::monotonic() + ANSWERING;
        loop {
            match socket.recv(&mut [0; 64]) {
                Ok(_) => return Ok(socket),
                Err(e) if is_pause(&e) => {}
                Err(e) => return Err(failed(DEED)(e)),
            }
            if halt.is_requested() {
                return Err(ServerFault::Halted { server }.into());
            }
            if clock::monotonic() >= until {
                return Err(ServerFault::Silent { deed: DEED, server, waited: ANSWERING }.into());
            }
            wait_for(&socket, PollFlags::POLLIN, until).map_err(failed(DEED))?;
        }
    }
}

impl Stream {
    fn send(&self, socket: &UdpSocket, window: Window, halt: &Halt) -> Result<Sent, FlowError> {
        let mut schedule = Pacer::new(&window, self.gap_ns, self.limit, self.burst_limit);
        let mut sent = Sent::default();
        let mut octets = vec![0; self.payload as usize];
        // A sender that was delayed near the end catches up while the server still counts.
        let residual = window.closed.saturating_sub(window.stop);
        let end = window.stop + GRACE.min(residual / GRACE_SHARE);
        loop {
            let now = clock::monotonic();
            let ended = halt.is_requested() || now >= end;
            let due = if ended { 0 } else { schedule.due(now) };
            for _ in 0..due {
                self.stamp(&mut octets, sent.taken + 1, clock::realtime());
                sent.count(socket.send(&octets))?;
            }
            if due > 0 {
                schedule.take(due, now);
            }
            if ended || schedule.is_over() {
                sent.offered = schedule.come(now);
                sent.longest_burst = schedule.longest_burst();
                sent.late = schedule.late();
                return Ok(sent);
            }
            // Limits the wait to a tick, so that a halt is noticed even with long gaps.
            clock::wait_until(schedule.next_look(now).min(now + TICK));
        }
    }

    fn receive(&self, socket: &UdpSocket, window: Window, halt: &Halt) -> Result<Got, FlowError> {
        let failed = |e| FlowError::kernel("receive frames by", "udp socket", e);
        let load = window.stop.saturating_sub(window.start).0 as f64;
        let limit = (load / self.gap_ns * SURPLUS) as u64 + 10_000;
        let mut tracker = SequenceTracker::new(limit);
        let mut got = Got {
            counts: SequenceCounts::default(),
            rejected: Rejected::default(),
            first: None,
            last: Nanos::ZERO,
            arrivals: Histogram::new(),
        };
        let mut octets = vec![0; LARGEST as usize];
        while clock::monotonic() < window.closed && !halt.is_requested() {
            match socket.recv(&mut octets) {
                Ok(length) => {
                    let number = self.number(&octets[..length]).and_then(|it| it.checked_sub(1));
                    let whole = length == self.payload as usize;
                    match number.filter(|_| whole) {
                        Some(number) => {
                            tracker.arrive(number);
                            got.stamp(clock::monotonic());
                        }
                        None => got.rejected.malformed += 1,
                    }
                }
                Err(e) if is_pause(&e) => {
                    wait_for(socket, PollFlags::POLLIN, window.closed).map_err(failed)?;
                }
                // The server closed its socket: the datagrams received so far count.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => break,
                Err(e) => return Err(failed(e)),
            }
        }
        got.counts = tracker.counts();
        Ok(got)
    }
}

impl Sent {
    /// Counts a datagram that the kernel took; one that it dropped is offered and not sent.
    fn count(&mut self, taken: io::Result<usize>) -> Result<(), FlowError> {
        let now = clock::monotonic();
        match taken {
            Ok(_) => {}
            Err(e) if is_pause(&e) || is_away(&e) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
            Err(e) if is_too_long(&e) => {
                let words = "send datagrams: they exceed what the path takes";
                return Err(FlowError::Unsuitable(words.to_owned()));
            }
            Err(e) => return Err(FlowError::kernel("send datagrams by", "udp socket", e)),
        }
        if self.first.is_some() {
            self.departures.record(now.saturating_sub(self.last));
        } else {
            self.first = Some(now);
        }
        self.taken += 1;
        self.last = now;
        Ok(())
    }
}

impl Got {
    fn stamp(&mut self, now: Nanos) {
        if self.first.is_some() {
            self.arrivals.record(now.saturating_sub(self.last));
        } else {
            self.first = Some(now);
        }
        self.last = now;
    }
}

/// Formats the reason of a backend: an iperf3 server reports less of datagrams than an agent.
fn reason(side: &str) -> String {
    format!("an iperf3 server {side}")
}

/// Builds the record of a forward flow; `None` if more datagrams arrived than were sent.
fn forward(sent: Sent, told: Counted) -> Option<DatagramsRecord> {
    let unique = told.packets.checked_sub(told.errors)?;
    let highest = told.packets.checked_sub(1);
    (told.packets <= sent.taken).then(|| DatagramsRecord {
        backend: BACKEND.to_owned(),
        backend_reason: reason("receives"),
        offered: sent.offered,
        sent: sent.taken,
        receiver: BACKEND.to_owned(),
        receiver_reason: reason("receives, and tells losses by gaps in the numbers"),
        received: SequenceCounts { unique, highest, ..SequenceCounts::default() },
        sending: sent.last.saturating_sub(sent.first.unwrap_or(sent.last)),
        departures: sent.departures,
        longest_burst: sent.longest_burst,
        late: sent.late,
        // The server does not report the first and last arrival, and receives until told of the
        // end.
        ..DatagramsRecord::default()
    })
}

fn backward(got: Got, told: Counted, elapsed: Nanos) -> Option<DatagramsRecord> {
    (got.counts.unique <= told.packets).then(|| DatagramsRecord {
        backend: BACKEND.to_owned(),
        backend_reason: reason("sends"),
        offered: told.packets,
        sent: told.packets,
        receiver: "udp".to_owned(),
        receiver_reason: reason("sends"),
        received: got.counts,
        rejected: got.rejected,
        sending: elapsed,
        receiving: got.last.saturating_sub(got.first.unwrap_or(got.last)),
        arrivals: got.arrivals,
        ..DatagramsRecord::default()
    })
}
