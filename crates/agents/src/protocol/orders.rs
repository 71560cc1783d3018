//! Orders to an agent for the ends of flows.
//!
//! The parameters of a flow are the trial's own, with the controller's additions for its two ends.
//! This file only gives each a common type, and computes the offered load of requests. Never runs
//! one: the agent does.

use dataplane::datagram::Traffic;
use dataplane::echo::Requests;
use dataplane::{End, iperf3};
use measure::FrameSize;
use serde::{Deserialize, Serialize};
use trial::{
    Bulk, Echo, Exchange, Hold, Opening, Protocol, SPEAKS_EVERY, Schedule, Sessions, Storage,
    Transport,
};

/// An end of a flow: one that opens a data port and waits there, or one that begins.
pub type Order = End<Work>;

/// Kind and parameters of a flow, as both its ends receive them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Requests and answers.
    Echo(Requests),
    /// Frames in one direction.
    Datagrams(Traffic),
    /// TCP streams.
    Bulk(Bulk),
    /// Messages in both directions.
    Exchange(Exchange),
    /// Reads and writes. The server's port is 0 if the storage exists already.
    Storage(Storage),
    /// Connections, opened at a rate.
    Sessions(Sessions),
    /// TCP streams to or from a third party's iperf3 server, or both; only the end that begins.
    Iperf3(iperf3::Test),
}

impl Work {
    /// Name of the side that begins, or of the one that waits.
    pub const fn side(&self, begins: bool) -> &'static str {
        match (self, begins) {
            (Self::Echo(_), false) => "echo server",
            (Self::Echo(_), true) => "echo client",
            (Self::Datagrams(_), false) => "receiver",
            (Self::Datagrams(_), true) => "sender",
            (Self::Bulk(_), false) => "sink",
            (Self::Bulk(_), true) => "source",
            (Self::Exchange(_), false) => "exchange responder",
            (Self::Exchange(_), true) => "exchange initiator",
            (Self::Storage(_), false) => "storage server",
            (Self::Storage(_), true) => "storage client",
            (Self::Sessions(_), false) => "acceptor",
            (Self::Sessions(_), true) => "opener",
            (Self::Iperf3(_), false) => "iperf3 server",
            (Self::Iperf3(_), true) => "iperf3 client",
        }
    }
}

/// Octets on the wire in addition to a frame with its FCS: preamble, delimiter and gap (IEEE
/// 802.3).
pub const WIRE_OCTETS: f64 = 20.0;

/// Bits on the wire for a request and its answer, in the busier direction. TCP adds one frame of
/// the minimum size: an acknowledgement without a segment to carry it.
pub fn echo_bits(echo: &Echo) -> f64 {
    let octets = f64::from(echo.frame_size.octets());
    // A message with a size of its own takes as many frames of that size as it needs, and one more
    // for their headers.
    let frames =
        echo.messages.map_or(1.0, |m| (m.request.max(m.answer).0 as f64 / octets).ceil() + 1.0);
    let least = f64::from(FrameSize::MIN.octets()) + WIRE_OCTETS;
    let acknowledged = if echo.protocol == Protocol::Tcp { frames * least } else { 0.0 };
    (frames * (octets + WIRE_OCTETS) + acknowledged) * 8.0
}

/// Frames of a connection in the busier direction: SYN, acknowledgement, message, reset.
const SESSION_FRAMES: f64 = 4.0;

/// Largest of them: a message with TCP's options.
const SESSION_OCTETS: f64 = 84.0;

/// Bits on the wire per second of paced connections; `None` if only answers limit them.
pub fn sessions_rate(sessions: &Sessions) -> Option<f64> {
    let speaking = match (sessions.transport, sessions.hold, sessions.most) {
        (Transport::Udp, Hold::UntilEnd, Some(most)) => most as f64 / SPEAKS_EVERY.as_secs_f64(),
        _ => 0.0,
    };
    match sessions.opening {
        Opening::Paced(rate) => {
            let frames = rate.0 * SESSION_FRAMES + speaking;
            Some(frames * (SESSION_OCTETS + WIRE_OCTETS) * 8.0)
        }
        Opening::Greedy(_) => None,
    }
}

/// Bits on the wire per second of an open loop; `None` if the answers limit the requests.
pub fn echo_rate(echo: &Echo) -> Option<f64> {
    match echo.schedule {
        Schedule::Paced(rate) => Some(rate.0 * echo_bits(echo)),
        Schedule::Greedy | Schedule::Burst(_) | Schedule::Falling { .. } => None,
    }
}
