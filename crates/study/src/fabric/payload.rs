//! Payload that a link carries. Never knows a port.

use trial::Carrier;

/// Payload bits a second that a link carries in one direction, in the carrier's full frames and
/// without other traffic (docs/methods/tcp-model.md; TCP without options).
pub(super) fn wire_limit(link: f64, carrier: Carrier) -> f64 {
    const FRAME_AND_GAP: f64 = 1538.0;
    let payload = match carrier {
        Carrier::Tcp => 1460.0,
        Carrier::Datagrams { .. } => 1472.0,
    };
    link * payload / FRAME_AND_GAP
}
