//! Round trips: an [`EchoClient`] sends requests and times the answers of an [`EchoServer`] (UDP,
//! TCP) or of the peer's kernel (ICMP), one after another or on a schedule.
//!
//! Owns its sockets and the reflecting thread. All times are the client's own: the reflector never
//! writes its clock into a packet. A reflector answers only the flow's client.

mod closed;
mod icmp;
mod line;
mod open;
mod reflector;
mod tally;
mod tcp;
mod udp;
mod waiting;

use std::net::IpAddr;

use measure::reading::Rejected;
use measure::sequence::SequenceCounts;
use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};
use trial::record::EchoRecord;
use trial::{Echo, Protocol, Schedule};
use wire::{Ipv4Header, Ipv6Header};

use crate::{End, FlowError, Halt, Side, Window};
use line::Line;
use reflector::Worker;
use tally::{Departures, Tally};

/// Requests of an echo flow, as specified for both ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// Echo flow requested by the trial; see [`EchoClient::frame_size`] for its size over TCP.
    pub asked: Echo,
    /// Minimum gap between two requests of a closed loop, in nanoseconds.
    pub least_gap_ns: f64,
}

/// Answering side. Answers learning frames once it is open, on its own thread.
#[derive(Debug)]
pub struct EchoServer {
    port: u16,
    worker: Worker,
}

/// Results of a reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EchoServerReport {
    /// Requests answered, learning frames apart.
    pub answered: u64,
    /// Other packets received at the port; never answered.
    pub rejected: Rejected,
    /// Source of the requests, if it is not the client's own address.
    #[serde(default)]
    pub seen_from: Option<IpAddr>,
    /// Requests of the flow from another address or port than the first; never answered.
    #[serde(default)]
    pub remapped: u64,
}

impl From<EchoServerReport> for EchoRecord {
    /// The flow's record as its server knows it: its `answers` are those that left.
    fn from(report: EchoServerReport) -> Self {
        let answers = SequenceCounts { unique: report.answered, ..SequenceCounts::default() };
        let EchoServerReport { rejected, seen_from, remapped, .. } = report;
        Self { answers, rejected, seen_from, remapped, ..Self::default() }
    }
}

impl Side for EchoServer {
    type Flow = Requests;
    type Report = EchoServerReport;

    fn open(end: &End<Requests>, _halt: &Halt) -> Result<Self, FlowError> {
        let theirs = end.clone();
        let (address, worker) = match end.flow.asked.protocol {
            Protocol::Icmp => {
                let reason = "reflect icmp: the peer's kernel does, ask it without a reflector";
                return Err(FlowError::Unsuitable(reason.into()));
            }
            Protocol::Udp => {
                let socket = udp::bind(end)?;
                (socket.local_addr(), Worker::start(move |o| udp::reflect(&socket, &theirs, o))?)
            }
            Protocol::Tcp => {
                let listener = tcp::bind(end)?;
                (listener.local_addr(), Worker::start(move |o| tcp::reflect(listener, &theirs, o))?)
            }
        };
        let address = address.map_err(|e| FlowError::kernel("read port of", end.local, e))?;
        Ok(Self { port: address.port(), worker })
    }

    fn port(&self) -> u16 {
        self.port
    }

    /// Answers until the window closes.
    fn run(self, window: Window, halt: &Halt) -> Result<EchoServerReport, FlowError> {
        self.worker.finish(window, halt)
    }
}

/// The asking side.
pub struct EchoClient {
    line: Line,
    /// Nanoseconds between requests of an open loop.
    gap_ns: Option<f64>,
    /// The least of a closed one.
    least_gap: Nanos,
    learned: Nanos,
}

impl EchoClient {
    /// Frame size really sent: headers of TCP and IPv6 may leave no room in the requested frame.
    pub fn frame_size(&self) -> FrameSize {
        self.line.frame_size
    }
}

impl Side for EchoClient {
    type Flow = Requests;
    type Report = EchoRecord;

    /// Learns the path by a few round trips: [`FlowError::NoAnswer`] after about a second without
    /// any.
    fn open(end: &End<Requests>, _halt: &Halt) -> Result<Self, FlowError> {
        let (gap_ns, least_gap_ns) = (gap_ns(end.flow.asked.schedule)?, end.flow.least_gap_ns);
        let (asked, least) = gap_ns.map_or((least_gap_ns, 0.0), |gap| (gap, 1.0));
        if !(asked.is_finite() && asked >= least) {
            return Err(FlowError::Unsuitable(format!("ask every {asked} ns")));
        }
        // An open loop's receiving thread may wait for its turn; a closed loop's round trip is what
        // an application sees, its wake-up included.
        let stamped = gap_ns.is_some();
        let mut line = match end.flow.asked.protocol {
            Protocol::Icmp => icmp::connect(end)?,
            Protocol::Udp => udp::connect(end, stamped)?,
            Protocol::Tcp => tcp::connect(end, stamped)?,
        };
        let learned = line.learn()?;
        Ok(Self { line, gap_ns, least_gap: Nanos(least_gap_ns as u64), learned })
    }

    /// Asks from the window's start to its stop, and waits for stragglers until it closes.
    fn run(mut self, window: Window, halt: &Halt) -> Result<EchoRecord, FlowError> {
        let departures = match self.gap_ns {
            None => Departures::Greedy { last: None },
            Some(gap_ns) => Departures::Every { start: window.start, gap_ns },
        };
        let mut tally = Tally::new(departures, window);
        let (line, learned, gap) = (&mut self.line, self.learned, self.least_gap);
        let end = match self.gap_ns {
            None => closed::run(line, &mut tally, learned, gap, window, halt)?,
            Some(gap_ns) => open::run(line, &mut tally, gap_ns, window, halt)?,
        };
        let record = tally.close(self.line.frame_size, window.start, end);
        Ok(EchoRecord { segment: self.line.segment, ..record })
    }
}

impl std::fmt::Debug for EchoClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker")
            .field("remote", &self.line.remote)
            .field("frame_size", &self.line.frame_size)
            .field("gap_ns", &self.gap_ns)
            .finish_non_exhaustive()
    }
}

/// Nanoseconds between requests; none where the next goes out when the answer is in.
fn gap_ns(schedule: Schedule) -> Result<Option<f64>, FlowError> {
    match schedule {
        Schedule::Greedy => Ok(None),
        Schedule::Paced(rate) => Ok(Some(1e9 / rate.0)),
        Schedule::Burst(_) | Schedule::Falling { .. } => {
            let reason = "an echo flow sends no bursts and keeps one rate";
            Err(FlowError::Unsuitable(reason.to_owned()))
        }
    }
}

/// Frame size sent for the requested one, and the octets behind its IP header and `header` octets
/// more: at least `least`.
fn fit_frame(asked: FrameSize, peer: IpAddr, header: usize, least: usize) -> (FrameSize, usize) {
    let ip_header = if peer.is_ipv6() { Ipv6Header::LEN } else { Ipv4Header::LEN };
    let above = (asked.octets() - asked.ip_length()) as usize + ip_header + header;
    let smallest = FrameSize::new((above + least) as u32).expect("headers and a probe are short");
    let size = asked.max(smallest);
    (size, size.octets() as usize - above)
}
