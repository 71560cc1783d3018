//! What an echo flow asks of a wire, by its orders: for who makes them and for who holds them to
//! its terms.
//!
//! Arithmetic only.

use dataplane::echo::Pace;
use measure::FrameSize;
use trial::{Messages, Protocol};

/// Of a frame with its FCS, on the wire: preamble, delimiter and gap (IEEE 802.3).
pub const WIRE_OCTETS: f64 = 20.0;

/// Bits on the wire that a request and its answer take, whichever way takes more. Over TCP with one
/// frame more of the least size: an acknowledgement that found no segment to go with.
pub fn echo_bits(protocol: Protocol, frame_size: FrameSize, messages: Option<Messages>) -> f64 {
    let octets = f64::from(frame_size.octets());
    // A message of its own size goes in as many frames of that size as it needs, and one more for
    // what their headers take.
    let frames = messages.map_or(1.0, |m| (m.request.max(m.answer).0 as f64 / octets).ceil() + 1.0);
    let least = f64::from(FrameSize::MIN.octets()) + WIRE_OCTETS;
    let acknowledged = if protocol == Protocol::Tcp { frames * least } else { 0.0 };
    (frames * (octets + WIRE_OCTETS) + acknowledged) * 8.0
}

/// How often, a second; none where nothing but the answers holds it.
pub fn per_second(pace: Pace) -> Option<f64> {
    match pace {
        Pace::Greedy => None,
        Pace::Within(gap_ns) | Pace::Every(gap_ns) => Some(1e9 / gap_ns.max(1e-3)),
    }
}
