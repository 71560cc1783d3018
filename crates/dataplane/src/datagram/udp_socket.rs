//! A connected UDP socket, and the checks that a flow's frames fit it and the route.

use std::net::{SocketAddr, UdpSocket};

use super::layout::{layout, mtu};
use super::{Traffic, interface, ports, socket};
use crate::socket::{TICK, bound_waits};
use crate::unfit::Unfit;
use crate::{End, FlowError};

/// Refuses headers that a socket cannot send.
pub(super) fn check(spec: &End<Traffic>) -> Result<(), Unfit> {
    if spec.flow.asked.headers.vlan.is_some() {
        return Err(Unfit::NotHere("a udp socket sends no vlan tag".to_owned()));
    }
    if !spec.flow.is_plain() {
        return Err(Unfit::NotHere(
            "a udp socket sends from one port and address to one other".to_owned(),
        ));
    }
    Ok(())
}

/// Connects a socket from the flow's local address, at a port of the kernel's choice, to its
/// receiver. Returns it with its local address and port. The port is low enough for all source
/// ports.
pub(super) fn connect(spec: &End<Traffic>) -> Result<(UdpSocket, SocketAddr), FlowError> {
    let ipv6 = spec.remote.is_ipv6();
    if spec.local.is_ipv6() != ipv6 {
        return Err(FlowError::Unsuitable(format!(
            "send from {} to {}: their ip versions differ",
            spec.local, spec.remote
        )));
    }
    let udp = match spec.opening.called_at {
        0 => ports::reserve(spec.local, spec.flow.spread().source_ports)?,
        port => ports::take(spec.local, port)?,
    };
    udp.connect(spec.remote)
        .map_err(|e| FlowError::kernel("connect udp socket to", spec.remote, e))?;
    crate::socket::dont_fragment(&udp, ipv6)
        .and_then(|()| bound_waits(&udp, TICK))
        .map_err(|e| FlowError::kernel("set options of udp socket to", spec.remote, e))?;
    // What a tunnel's own queue drops is sent and lost on the path: the queue is the tunnel's.
    if !interface::is_tunnel(spec.local) {
        socket::tell_of_local_drops(&udp, ipv6)
            .map_err(|e| FlowError::kernel("set options of udp socket to", spec.remote, e))?;
    }
    socket::let_queue(&udp, spec.flow.asked.schedule);
    let mtu = socket::route_mtu(&udp, ipv6)
        .map_err(|e| FlowError::kernel("read the mtu of the route to", spec.remote, e))?;
    if self::mtu(layout(ipv6, spec.flow.asked.headers.vlan), spec.flow.asked.frames.largest()) > mtu
    {
        return Err(too_long(spec, Some(mtu)));
    }
    let from = udp
        .local_addr()
        .map_err(|e| FlowError::kernel("read the port of udp socket to", spec.remote, e))?;
    Ok((udp, from))
}

/// Error: the frames exceed an MTU on their path.
pub(super) fn too_long(spec: &End<Traffic>, mtu: Option<u32>) -> FlowError {
    let size = spec.flow.asked.frames.largest();
    let theirs = match mtu {
        Some(mtu) => format!("the mtu of the route is {mtu}"),
        None => "an mtu on the way is smaller".to_owned(),
    };
    let layout = layout(spec.remote.is_ipv6(), spec.flow.asked.headers.vlan);
    FlowError::Unsuitable(format!(
        "send frames of {size} octets to {}: they need an mtu of {}, and {theirs}",
        spec.remote,
        self::mtu(layout, size)
    ))
}
