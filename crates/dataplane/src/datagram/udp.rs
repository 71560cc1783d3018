//! A connected UDP socket to send frames by, and the checks that they fit the route.
//!
//! Never fragments: what does not fit is an error before the first frame.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use measure::{FrameSize, Nanos};
use wire::Probe;

use super::output::Output;
use super::{SenderSpec, learning, socket};
use crate::FlowError;
use crate::socket::{TICK, bound_waits, dont_fragment};

/// Opens the UDP backend.
pub(super) fn open(spec: &SenderSpec) -> Result<Output, FlowError> {
    let socket = connect(spec)?;
    Ok(Output::udp(socket, &learning_probe(spec), spec.frames.largest().udp_payload_v4() as usize))
}

/// A socket from the flow's local address and a port of the kernel's choice to its receiver.
pub(super) fn connect(spec: &SenderSpec) -> Result<UdpSocket, FlowError> {
    check_version(spec.local)?;
    check_version(spec.remote.ip())?;
    let udp = UdpSocket::bind(SocketAddr::new(spec.local, 0))
        .map_err(|e| FlowError::kernel("bind udp socket to", spec.local, e))?;
    udp.connect(spec.remote)
        .map_err(|e| FlowError::kernel("connect udp socket to", spec.remote, e))?;
    dont_fragment(&udp)
        .and_then(|()| socket::tell_of_local_drops(&udp))
        .and_then(|()| bound_waits(&udp, TICK))
        .map_err(|e| FlowError::kernel("set options of udp socket to", spec.remote, e))?;
    let mtu = socket::route_mtu(&udp)
        .map_err(|e| FlowError::kernel("read the mtu of the route to", spec.remote, e))?;
    if spec.frames.largest().mtu() > mtu {
        return Err(too_long(spec.frames.largest(), spec.remote, Some(mtu)));
    }
    Ok(udp)
}

/// The flow's probe with a number that is never counted.
pub(super) fn learning_probe(spec: &SenderSpec) -> Probe {
    Probe {
        token: spec.identity.token,
        flow: spec.identity.flow,
        sequence: learning::sequence(0),
        time_ns: Nanos::ZERO.0,
    }
}

/// The frames exceed an MTU on their way.
pub(super) fn too_long(size: FrameSize, remote: SocketAddr, mtu: Option<u32>) -> FlowError {
    let theirs = match mtu {
        Some(mtu) => format!("the mtu of the route is {mtu}"),
        None => "an mtu on the way is smaller".to_owned(),
    };
    FlowError::Unsuitable(format!(
        "send frames of {size} octets to {remote}: they need an mtu of {}, and {theirs}",
        size.mtu()
    ))
}

/// Datagram flows are IPv4 for now.
pub(super) fn check_version(address: IpAddr) -> Result<(), FlowError> {
    if address.is_ipv4() {
        return Ok(());
    }
    Err(FlowError::Unsuitable(format!(
        "send datagrams over ipv6 ({address}): only ipv4 is supported"
    )))
}
