//! Round trips: an [`EchoClient`] sends requests and times the answers of a [`EchoServer`] (UDP,
//! TCP) or of the peer's kernel (ICMP), one after another or on a schedule.
//!
//! Owns its sockets and the thread that reflects. All times are the asker's own: the reflector
//! never reads a clock into a packet. A reflector answers nobody but the flow's asker.

mod closed;
mod icmp;
mod line;
mod open;
mod reflector;
mod tally;
mod tcp;
mod udp;
mod waiting;

use std::net::{IpAddr, Ipv4Addr};

use measure::reading::Rejected;
use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};
use trial::record::EchoRecord;
use trial::{Messages, Protocol};

use crate::{End, FlowError, Halt, Window};
use line::Line;
use reflector::Worker;
use tally::{Departures, Tally};

/// When requests go out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// The next when the answer is in.
    #[default]
    Greedy,
    /// The same, and no sooner than so many nanoseconds after the last.
    Within(f64),
    /// One every so many nanoseconds (a fraction matters at high rates).
    Every(f64),
}

/// The requests of an echo flow, as both ends are told of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// Over what; the kernel answers ICMP.
    pub protocol: Protocol,
    /// The size that a request and its answer have; see [`EchoClient::frame_size`] for what TCP
    /// makes of it.
    pub frame_size: FrameSize,
    /// When they go out.
    pub pace: Pace,
    /// TCP only: what requests and answers carry instead of a frame.
    #[serde(default)]
    pub messages: Option<Messages>,
}

/// The answering side. It answers learning frames from `bind` on, on a thread of its own.
#[derive(Debug)]
pub struct EchoServer {
    port: u16,
    worker: Worker,
}

/// What a reflector did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EchoServerReport {
    /// Requests answered, learning frames apart.
    pub answered: u64,
    /// What else came to the port; never answered.
    pub rejected: Rejected,
}

impl EchoServer {
    /// Opens an ephemeral port on `end.local`.
    pub fn bind(end: &End<Requests>) -> Result<Self, FlowError> {
        demand_v4(end.local)?;
        demand_v4(end.peer())?;
        let theirs = end.clone();
        let (address, worker) = match end.flow.protocol {
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

    /// The port it answers on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers until the window closes or `halt` is asked, and tells what it did.
    pub fn run(self, window: Window, halt: &Halt) -> Result<EchoServerReport, FlowError> {
        self.worker.finish(window, halt)
    }
}

/// The asking side.
pub struct EchoClient {
    line: Line,
    pace: Pace,
    learned: Nanos,
}

impl EchoClient {
    /// Opens the socket and learns the path with a few round trips that are not counted
    /// (RFC 2544 §23). [`FlowError::NoAnswer`] after about a second without any.
    pub fn connect(end: &End<Requests>) -> Result<Self, FlowError> {
        let local = demand_v4(end.local)?;
        let remote = demand_v4(end.remote.ip())?;
        // An open loop's receiving thread may wait for its turn; a closed loop's round trip is what
        // an application sees, its wake-up included.
        let stamped = match end.flow.pace {
            Pace::Greedy => false,
            Pace::Within(gap_ns) if gap_ns.is_finite() && gap_ns >= 0.0 => false,
            Pace::Every(gap_ns) if gap_ns.is_finite() && gap_ns >= 1.0 => true,
            Pace::Within(gap_ns) | Pace::Every(gap_ns) => {
                return Err(FlowError::Unsuitable(format!("ask every {gap_ns} ns")));
            }
        };
        let mut line = match end.flow.protocol {
            Protocol::Icmp => icmp::connect(end, local, remote)?,
            Protocol::Udp => udp::connect(end, stamped)?,
            Protocol::Tcp => tcp::connect(end, stamped)?,
        };
        let learned = line.learn()?;
        Ok(Self { line, pace: end.flow.pace, learned })
    }

    /// What is really sent: TCP's headers may leave no room in the frame asked for.
    pub fn frame_size(&self) -> FrameSize {
        self.line.frame_size
    }

    /// Asks from the window's start to its stop, and waits for stragglers until it closes.
    pub fn run(mut self, window: Window, halt: &Halt) -> Result<EchoRecord, FlowError> {
        let departures = match self.pace {
            Pace::Greedy | Pace::Within(_) => Departures::Greedy { last: None },
            Pace::Every(gap_ns) => Departures::Every { start: window.start, gap_ns },
        };
        let mut tally = Tally::new(departures, window);
        let end = match self.pace {
            Pace::Greedy => self.closed(Nanos::ZERO, &mut tally, window, halt)?,
            Pace::Within(gap_ns) => self.closed(Nanos(gap_ns as u64), &mut tally, window, halt)?,
            Pace::Every(gap_ns) => open::run(&mut self.line, &mut tally, gap_ns, window, halt)?,
        };
        let record = tally.close(self.line.frame_size, window.start, end);
        Ok(EchoRecord { segment: self.line.segment, ..record })
    }

    fn closed(
        &mut self,
        gap: Nanos,
        tally: &mut Tally,
        window: Window,
        halt: &Halt,
    ) -> Result<Nanos, FlowError> {
        closed::run(&mut self.line, tally, (self.learned, gap), window, halt)
    }
}

impl std::fmt::Debug for EchoClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker")
            .field("remote", &self.line.remote)
            .field("frame_size", &self.line.frame_size)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

/// Frame sizes are converted for IPv4 headers only, as yet.
fn demand_v4(address: IpAddr) -> Result<Ipv4Addr, FlowError> {
    match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(_) => {
            Err(FlowError::Unsuitable(format!("echo to or from {address}: IPv4 only")))
        }
    }
}
