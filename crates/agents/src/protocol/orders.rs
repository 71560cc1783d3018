//! The ends of flows, as they are ordered from an agent.
//!
//! What a flow does is the trial's own word for it, with what the controller found out for its two
//! ends; this only gives one name to each, and says what requests take of a wire. Never runs one:
//! the agent does.

use dataplane::datagram::Traffic;
use dataplane::echo::Requests;
use dataplane::{End, iperf3};
use measure::FrameSize;
use serde::{Deserialize, Serialize};
use trial::{Bulk, Echo, Exchange, Protocol, Schedule, Storage};

/// An end of a flow: one that opens a data port and waits there, or one that begins to speak.
pub type Order = End<Work>;

/// What a flow does, as both its ends are told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Requests and answers.
    Echo(Requests),
    /// Frames one way.
    Datagrams(Traffic),
    /// TCP streams.
    Bulk(Bulk),
    /// Messages both ways.
    Exchange(Exchange),
    /// Reads and writes. The server's port is 0 where the storage exists.
    Storage(Storage),
    /// TCP streams to or from somebody else's iperf3 server, or both; only the end that begins.
    Iperf3(iperf3::Test),
}

impl Work {
    /// What people call the side that begins, or the one that waits.
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
            (Self::Iperf3(_), false) => "iperf3 server",
            (Self::Iperf3(_), true) => "iperf3 client",
        }
    }
}

/// Of a frame with its FCS, on the wire: preamble, delimiter and gap (IEEE 802.3).
pub const WIRE_OCTETS: f64 = 20.0;

/// Bits on the wire that a request and its answer take, whichever way takes more. Over TCP with one
/// frame more of the least size: an acknowledgement that found no segment to go with.
pub fn echo_bits(echo: &Echo) -> f64 {
    let octets = f64::from(echo.frame_size.octets());
    // A message of its own size goes in as many frames of that size as it needs, and one more for
    // what their headers take.
    let frames =
        echo.messages.map_or(1.0, |m| (m.request.max(m.answer).0 as f64 / octets).ceil() + 1.0);
    let least = f64::from(FrameSize::MIN.octets()) + WIRE_OCTETS;
    let acknowledged = if echo.protocol == Protocol::Tcp { frames * least } else { 0.0 };
    (frames * (octets + WIRE_OCTETS) + acknowledged) * 8.0
}

/// The same in a second of an open loop; none where the answers hold the requests.
pub fn echo_rate(echo: &Echo) -> Option<f64> {
    match echo.schedule {
        Schedule::Paced(rate) => Some(rate.0 * echo_bits(echo)),
        Schedule::Greedy | Schedule::Burst(_) | Schedule::Falling { .. } => None,
    }
}
