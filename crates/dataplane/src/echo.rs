//! Round trips: an [`Asker`] sends requests and times the answers of a [`Reflector`] (UDP, TCP) or of
//! the peer's kernel (ICMP), one after another or on a schedule.
//!
//! Owns its sockets and the thread that reflects. All times are the asker's own: the reflector never
//! reads a clock into a packet. A reflector answers nobody but the flow's asker.

use std::net::{IpAddr, SocketAddr};

use measure::reading::{Rejected, Stamps};
use measure::sequence::SequenceCounts;
use measure::{FrameSize, Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::{FlowError, Halt, Identity, Pace, Window};

/// What carries requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// ICMP echo; the peer's kernel answers, there is no reflector.
    Icmp,
    /// UDP datagrams, don't-fragment.
    Udp,
    /// One TCP connection with Nagle off; every message is a segment of its own.
    Tcp,
}

/// What a reflector answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReflectorSpec {
    /// UDP or TCP; the kernel answers ICMP.
    pub protocol: Carrier,
    /// The address to open the port on.
    pub local: IpAddr,
    /// The only address that is answered.
    pub peer: IpAddr,
    /// What a request must carry.
    pub identity: Identity,
    /// The size a request must have, and an answer has.
    pub frame_size: FrameSize,
}

/// The answering side. It answers learning frames from `bind` on, on a thread of its own.
#[derive(Debug)]
pub struct Reflector {
    port: u16,
}

/// What a reflector did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReflectorReport {
    /// Requests answered, learning frames apart.
    pub answered: u64,
    /// What else came to the port; never answered.
    pub rejected: Rejected,
}

impl Reflector {
    /// Opens an ephemeral port on `spec.local`.
    pub fn bind(_spec: &ReflectorSpec) -> Result<Self, FlowError> {
        Err(FlowError::Unsuitable("echo is under construction".into()))
    }

    /// The port it answers on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers until the window closes or `halt` is asked, and tells what it did.
    pub fn run(self, _window: Window, _halt: &Halt) -> Result<ReflectorReport, FlowError> {
        Err(FlowError::Unsuitable("echo is under construction".into()))
    }
}

/// Whom to ask, over what, how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskerSpec {
    /// Over what.
    pub carrier: Carrier,
    /// The address to send from.
    pub local: IpAddr,
    /// The reflector; port 0 for ICMP.
    pub remote: SocketAddr,
    /// What every request carries.
    pub identity: Identity,
    /// The frame asked for; see [`Asker::frame_size`] for what TCP makes of it.
    pub frame_size: FrameSize,
    /// Greedy: the next request leaves when the answer is in. Every: on schedule.
    pub pace: Pace,
}

/// The asking side.
#[derive(Debug)]
pub struct Asker {
    frame_size: FrameSize,
}

/// What an asker saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskerReport {
    /// What was really sent.
    pub frame_size: FrameSize,
    /// Requests that the kernel took, learning frames apart.
    pub sent: u64,
    /// Answers, by sequence number of the request.
    pub answers: SequenceCounts,
    /// Of each first answer: from (intended) send to receipt.
    pub rtt: Histogram,
    /// Upward differences of successive round trips.
    pub ipdv_up: Histogram,
    /// Downward differences of successive round trips, as magnitudes.
    pub ipdv_down: Histogram,
    /// How many independent samples the round trips are worth.
    pub effective_samples: f64,
    /// Who stamped.
    pub stamps: Stamps,
    /// What else came in.
    pub rejected: Rejected,
    /// From the load's start to its end, or to the last answer where that came later.
    pub elapsed: Nanos,
}

impl Asker {
    /// Opens the socket and learns the path with a few round trips that are not counted
    /// (RFC 2544 §23). [`FlowError::NoAnswer`] after about a second without any.
    pub fn connect(_spec: &AskerSpec) -> Result<Self, FlowError> {
        Err(FlowError::Unsuitable("echo is under construction".into()))
    }

    /// What is really sent: TCP's headers may leave no room in the frame asked for.
    pub fn frame_size(&self) -> FrameSize {
        self.frame_size
    }

    /// Asks from the window's start to its stop, and waits for stragglers until it closes.
    pub fn run(self, _window: Window, _halt: &Halt) -> Result<AskerReport, FlowError> {
        Err(FlowError::Unsuitable("echo is under construction".into()))
    }
}
